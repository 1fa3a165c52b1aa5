//! `adyton serve` and `adyton check`: from settings to a running loop.

mod authorities;
mod failure;
mod faults;
mod folder_pages;
mod folder_runs;
mod folders;
mod groups;
mod guards;
mod memory;
mod plan;
mod prepared;
mod run;
mod run_files;
mod scripts;
mod settings;

use self::run::{banner, listen, load, supervise, work};
use std::io::IsTerminal as _;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use adyton_cli::{CaptureOutput, Fault, ProcessCount, Settings};
use adyton_log as log;
use adyton_log::messages;
use adyton_process::{
    Entrance, Line, Orders as _, Parts as WorkerParts, Place, PrototypeOrders, Source, Worker,
};
use adyton_server::share::Share;
use adyton_server::tally::Tally;
use adyton_server::{App, Authority, Config, Ending, Parts, Passage, SealKey, Server};
use adyton_sys::signal_handlers::{self, Handlers};
use adyton_sys::wake::Wake;
use adyton_sys::{child, forks, process, stdio, user};
use pyo3::prelude::*;

use self::authorities::Wanted;
pub(crate) use self::failure::Failure;
use self::faults::{check_log, check_settings, faults, tell_doubts, warn_of_root};
use self::plan::plan;
use self::prepared::Prepared;
use self::run::banner::Crowd;
use self::run::listen::{Listening, OwnFiles};
pub(crate) use self::run::load::{Application, examine};
use self::run::load::{Callee, is_of_group, scripts_of, word};
use self::run::reopen::Reopener;
pub(crate) use self::run::supervise::{Life, supervise};
use self::run::work::{Ordered, Reach};
use self::settings::{
    config, folders, identity, log_queue_bytes_max, loops, open_folders, open_log, programs,
};
use crate::authority::Function;
use crate::handler::Handler;
use crate::hosted::{self, interpreter};
use crate::interpreter::signals::{self, ProcessKind, SignalHold};
use crate::interpreter::threads::{self, WorkerPlace};
use crate::interpreter::{forked, held_stacks, own_stack};
use crate::programs;
use crate::scripts::Scripts;
use crate::wsgi::{Caller, Concurrency, Listener, Wsgi};

/// Checks the settings like [`serve`] and [`supervise()`], except for refusals that only serving meets, loads the
/// target and describes it.
pub(crate) fn check(py: Python<'_>, settings: &Settings) -> Result<String, Failure> {
    check_log(settings)?;
    let checked = check_settings(settings);
    if checked.is_err() {
        tell_doubts(settings);
    }
    let processes = match settings.processes.processes {
        ProcessCount::None => check_alone(settings).map(|()| 1),
        _ => supervise::check_bounds(py, settings),
    };
    let mut of_groups = groups::look(py, settings)?;
    let wrong = [checked.err(), of_groups.take_wrong()].into_iter().flatten().reduce(Failure::and);
    let (wrong, processes) = match (wrong, processes) {
        (wrong, Ok(processes)) => (wrong, processes),
        (Some(wrong), Err(other)) => (Some(wrong.and(other)), 1),
        (None, Err(other)) => (Some(other), 1),
    };
    let applications = match (wrong, &settings.sites) {
        (None, _) => load::prepare(py, settings, programs(settings))?,
        (Some(wrong), None) => return Err(wrong),
        // Loading errors are reported with the other faults.
        (Some(wrong), Some(_)) => {
            let loaded = load::prepare(py, settings, Vec::new());
            return Err(loaded.err().into_iter().fold(wrong, Failure::and));
        }
    };
    for application in &applications {
        load::warn_of_memory(py, application, processes)?;
    }
    if !applications.is_empty() {
        load::warn_of_process(py, settings)?;
    }
    let faults = load::script_faults(py, settings, &applications)?;
    if !faults.is_empty() {
        return Err(Failure::Mistakes(faults, 3));
    }
    warn_of_root(settings, settings.processes.processes != ProcessCount::None);
    let found = match (&settings.sites, applications.is_empty()) {
        (Some(sites), _) => {
            let (routes, groups, file) = (sites.table(), of_groups.text, sites.file.display());
            return Ok(format!("{routes}\n{groups}adyton: {file}: fine"));
        }
        (None, false) => descriptions(&applications),
        (None, true) => banner::folders(settings),
    };
    Ok(format!("adyton: {found}: fine"))
}

/// All faults of a refused command line or file. The settings that were understood are checked, too, and `adyton check`
/// loads their applications.
pub(crate) fn refusal(py: Python<'_>, mut refused: adyton_cli::Failure, is_check: bool) -> Failure {
    let understood = refused.understood.take();
    let mut failure = Failure::from(refused);
    let Some(settings) = understood else { return failure };
    let more = faults(&settings);
    if !more.is_empty() {
        failure = failure.and(Failure::of(more));
    }
    if !is_check {
        return failure;
    }
    tell_doubts(&settings);
    match groups::look(py, &settings).map(|mut of_groups| of_groups.take_wrong()) {
        Ok(None) => {}
        Ok(Some(wrong)) => failure = failure.and(wrong),
        Err(error) => failure = failure.and(error.into()),
    }
    // Without these settings, the places of modules may not be known.
    let is_found = ["env", "python-path"].into_iter().all(|name| !settings.is_unread(name));
    if settings.sites.is_some()
        && is_found
        && let Err(other) = load::prepare(py, &settings, Vec::new())
    {
        failure = failure.and(other);
    }
    failure
}

/// Descriptions of the applications, for people.
fn descriptions(applications: &[Application]) -> String {
    let all: Vec<&str> = applications.iter().map(|found| found.description.as_str()).collect();
    all.join(", ")
}

/// Serves in this process, as the settings say, until a signal stops it; returns whether the application has ended,
/// too.
pub(crate) fn serve(py: Python<'_>, settings: &Settings) -> Result<bool, Failure> {
    check_log(settings)?;
    open_log(settings)?;
    let prepared = check_settings(settings)?;
    check_alone(settings)?;
    capture_output(py, settings, false)?;
    forks::watch().for_good();
    let applications = load::prepare(py, settings, programs(settings))?;
    serve_opened(py, settings, applications, prepared)
}

/// Serves in the place that a supervisor has given this process.
pub(crate) fn work(py: Python<'_>, settings: &Settings, place: &str) -> Result<bool, Failure> {
    let place = Place::read(place).map_err(|error| Failure::Said(error, 2))?;
    let worker = Worker::new(place).map_err(Failure::system)?;
    // Until this worker serves, it has no request to finish, so it ends with its supervisor. Otherwise it would stay
    // without a supervisor, and hold the sockets.
    child::end_with_parent().map_err(Failure::system)?;
    settle(py, settings)?;
    let parts = worker.into_parts();
    take_place(&parts.place);
    forks::watch().for_good();
    let blame = |_: &Failure| blame(py, settings, |files| parts.line.blame(files));
    let applications = load::prepare(py, settings, programs(settings)).inspect_err(blame)?;
    serve_as(py, settings, applications, parts, false)
}

/// Imports the application, and forks a worker whenever the supervisor wants one. Returns in each worker like [`work()`],
/// and in this process when no more workers are wanted.
pub(crate) fn be_prototype(py: Python<'_>, settings: &Settings, line: &str) -> Result<bool, Failure> {
    let orders = PrototypeOrders::open(line).map_err(Failure::system)?;
    settle(py, settings)?;
    process::set_name("adyton-import");
    let module = py.import("adyton._process.forks")?;
    module.call_method0("before_preload")?;
    let watch = forks::watch();
    let blame = |_: &Failure| blame(py, settings, |files| orders.blame(files));
    let applications = load::prepare(py, settings, programs(settings)).inspect_err(blame)?;
    module.call_method0("after_preload")?;
    // A listener, which comes over the line, must not get the number of a standard stream that the import has closed.
    stdio::occupy().map_err(Failure::system)?;
    orders.ready().map_err(Failure::system)?;
    // Lines that the import has begun must not be repeated by every worker.
    log::request::leave();
    while let Some(worker) = py.detach(|| orders.next()).map_err(Failure::system)? {
        let forked = watch.except(|| module.call_method0("begin_fork"));
        let (midwife, says): (u32, i32) = forked?.extract()?;
        if midwife > 0 {
            // A supervisor that is gone, or knows already that this child has ended, needs no message.
            let _ = worker.say_forking(midwife);
            let pid: u32 = module.call_method1("end_fork", (midwife, says))?.extract()?;
            if pid > 0 {
                // The supervisor may be gone, as above.
                let _ = worker.say_hello(pid);
            }
            continue;
        }
        drop(orders);
        // The log may have been renamed since the import.
        log::reopen();
        worker.say_hello(process::id()).map_err(Failure::system)?;
        let parts = worker.into_parts();
        take_place(&parts.place);
        return serve_as(py, settings, applications, parts, true);
    }
    Ok(true)
}

/// In development, tells the supervisor which files to watch although the application does not start.
fn blame(py: Python<'_>, settings: &Settings, tell: impl FnOnce(Vec<Source>)) {
    if settings.processes.reload {
        tell(work::sources(py));
    }
}

/// Prepares a process for the import of the application: its signals, limits, user and log.
fn settle(py: Python<'_>, settings: &Settings) -> Result<(), Failure> {
    signal_handlers::let_pass().map_err(Failure::system)?;
    process::lower_priority(settings.processes.nice);
    process::limit_data(settings.processes.memory_limit_bytes);
    become_user(py, settings)?;
    // The log is opened as the settings' user: in a folder of that user, root could be led anywhere.
    open_log(settings)?;
    py.import("adyton._process.stacks")?.call_method0("prepare_worker")?;
    if settings.processes.reload {
        py.import("adyton._application.imported")?.call_method0("note_imports")?;
    }
    capture_output(py, settings, false)?;
    Ok(())
}

fn take_place(place: &Place) {
    process::set_name(&format!("adyton-{}", place.number));
    let &Place { number, of, generation, ref group, .. } = place;
    threads::take_place(WorkerPlace { number, of, generation, group: group.clone() });
    if let Some(level) = place.log_level() {
        log::set_level(level);
    }
}

/// Serves as a worker; `forked`: whether a process that has imported the application has forked this one.
fn serve_as(
    py: Python<'_>,
    settings: &Settings,
    applications: Vec<Application>,
    parts: WorkerParts,
    forked: bool,
) -> Result<bool, Failure> {
    let WorkerParts { place, sockets, others, passages, seal_key, tally, share, line } = parts;
    let entrances = place.entrances.clone();
    let listening = sockets.into_iter().map(|all| all.into_iter().map(Listening::new).collect());
    let listening = listening.collect::<std::io::Result<Vec<Vec<Listening>>>>().map_err(Failure::system)?;
    let numbers = Numbers { number: place.number, of: place.of, generation: place.generation };
    let processes = numbers.of.max(usize::try_from(settings.processes.max_processes).unwrap_or(usize::MAX));
    for application in applications.iter().filter(|_| numbers.number == 1) {
        load::warn_of_memory(py, application, processes)?;
    }
    if numbers.number == 1 && !applications.is_empty() {
        load::warn_of_process(py, settings)?;
    }
    let events = [("on_fork", forked), ("on_reload", numbers.generation > 1)];
    for (event, _) in events.into_iter().filter(|(_, happens)| *happens) {
        hook(py, event, numbers).inspect_err(|_| blame(py, settings, |files| line.blame(files)))?;
    }
    let developed = |found| load::developed(py, found, numbers.generation);
    let applications = if settings.processes.reload {
        applications.into_iter().map(developed).collect::<PyResult<_>>()?
    } else {
        applications
    };
    let others = Some(Others { sockets: others, share });
    let sockets = Sockets { listening, others, passages };
    let position = Position { sockets, entrances, seal_key, tally, line: Some(line), numbers };
    serve_at(py, settings, applications, Prepared::of(settings)?, position)
}

/// Runs the application's hooks of one kind.
fn hook(py: Python<'_>, event: &str, numbers: Numbers) -> Result<(), Failure> {
    let Numbers { number, of, generation } = numbers;
    let module = py.import("adyton._process.hooks")?;
    let ran = forked::stay(py, module.call_method1("run_hooks", (event, (number, of, generation))));
    let failed: Vec<String> = ran.map_err(|error| load::report(py, &error))?.extract()?;
    for text in failed {
        log::write(&messages::ENDING_FAILED, format_args!("a hook of {event} failed:\n{}", text.trim_end()));
    }
    Ok(())
}

/// Becomes the user that the settings name, for good.
fn become_user(py: Python<'_>, settings: &Settings) -> Result<(), Failure> {
    let Some(user) = &settings.processes.user else { return Ok(()) };
    let before = process::user();
    let refused = |error| {
        let hint = if before == 0 { "" } else { "only root can; " };
        Failure::system(format!("a worker cannot become {user}: {error} ({hint}setting --user)"))
    };
    let identity = identity(settings).map_err(|fault| Failure::of(vec![fault]))?;
    identity.map_or(Ok(()), |identity| identity.become_for_good()).map_err(refused)?;
    if process::user() != before || is_of_group(settings) {
        py.import("adyton._process.user")?.call_method0("move_in")?;
    }
    if !settings.processes.new_privileges {
        user::gain_no_rights().map_err(refused)?;
    }
    check_python(py, user)
}

/// Makes sure that this user may read the interpreter's library: an import would only say that there is no such module.
fn check_python(py: Python<'_>, user: &str) -> Result<(), Failure> {
    let library: PathBuf = py.import("os")?.getattr("__file__")?.extract()?;
    std::fs::File::open(&library).map(|_| ()).map_err(|error| {
        let place = library.parent().unwrap_or(&library).display();
        Failure::system(format!(
            "{user} may not read this Python, which is in {place}: {error} (setting --user)"
        ))
    })
}

/// Serves an application that a program has loaded; says whether no thread was left inside it.
pub(crate) fn serve_application(
    py: Python<'_>,
    settings: &Settings,
    applications: Vec<Application>,
) -> Result<bool, Failure> {
    check_log(settings)?;
    open_log(settings)?;
    let prepared = check_settings(settings)?;
    check_alone(settings)?;
    capture_output(py, settings, true)?;
    load::check_temp_dir(settings)?;
    let _watch = forks::watch();
    let served = serve_opened(py, settings, applications, prepared);
    // The program goes on, and may fork.
    py.detach(log::end_queue);
    served
}

/// Serves without a supervisor, once the log is open.
fn serve_opened(
    py: Python<'_>,
    settings: &Settings,
    applications: Vec<Application>,
    prepared: Prepared,
) -> Result<bool, Failure> {
    // A listener must not get the number of a standard stream that the application has closed.
    stdio::occupy().map_err(Failure::system)?;
    if let Some(bits) = settings.processes.umask {
        user::set_umask(bits);
    }
    if applications.is_empty() && folders(settings).is_empty() && settings.sites.is_none() {
        let hint = "name an application, or a folder with --static PREFIX=DIR";
        return Err(Failure::Said(format!("there is nothing to serve: {hint}"), 2));
    }
    if !applications.is_empty() {
        load::warn_of_process(py, settings)?;
    }
    // One thread cannot wait for requests in two places.
    let loops = if !applications.is_empty() && settings.threads.threads > 1 { loops(py)? } else { 1 };
    let mut files = OwnFiles::default();
    let listening = listen::open(settings, loops, false, None, &mut files)?;
    let tally = Tally::new().map_err(Failure::system)?;
    let position = Position {
        sockets: Sockets { listening, others: None, passages: Vec::new() },
        entrances: Vec::new(),
        seal_key: None,
        tally,
        line: None,
        numbers: Numbers { number: 1, of: 1, generation: 1 },
    };
    serve_at(py, settings, applications, prepared, position)
}

/// The place of a process that serves: its sockets, and its line to the supervisor.
struct Position {
    sockets: Sockets,
    /// The door's listeners, for a worker of a group.
    entrances: Vec<Entrance>,
    /// The key of the seals on its passages.
    seal_key: Option<SealKey>,
    tally: Tally,
    /// The line to the supervisor, if there is one.
    line: Option<Line>,
    numbers: Numbers,
}

/// The sockets over which requests come in.
struct Sockets {
    /// The sockets of every address, for each loop.
    listening: Vec<Vec<Listening>>,
    others: Option<Others>,
    /// This process's ends of passages to other processes.
    passages: Vec<Passage>,
}

/// The sockets of other workers, and this worker's share of the connections.
struct Others {
    sockets: Vec<OwnedFd>,
    share: Share,
}

/// The numbers of a process that serves, for its hooks.
#[derive(Clone, Copy)]
struct Numbers {
    /// The worker's slot, from 1 on.
    number: usize,
    /// The count of slots.
    of: usize,
    /// The worker's version of the application.
    generation: u32,
}

fn serve_at(
    py: Python<'_>,
    settings: &Settings,
    applications: Vec<Application>,
    mut prepared: Prepared,
    position: Position,
) -> Result<bool, Failure> {
    let Position { sockets, entrances, seal_key, tally, line, numbers } = position;
    hook(py, "on_worker_start", numbers).inspect_err(|_| {
        if let Some(line) = &line {
            blame(py, settings, |files| line.blame(files));
        }
    })?;
    let config =
        Config { seal_key, ..config(settings, process::raise_descriptors_max(), programs::command(py)?) };
    begin_logs(settings, line.is_some().then_some(&tally))?;
    let loops = sockets.listening.len();
    let names = names(&sockets.listening[0], entrances);
    let shown: Vec<String> = sockets.listening[0].iter().map(|listening| listening.shown.clone()).collect();
    let wake = Arc::new(Wake::new().map_err(Failure::system)?);
    let parts = parts(settings, sockets, names.len(), &mut prepared, &wake)?;
    // A worker's supervisor tells the worker when to open its logs again.
    let renamed = if line.is_none() { Some(Arc::new(Wake::new().map_err(Failure::system)?)) } else { None };
    let handlers = handlers(&wake, renamed.as_ref()).map_err(Failure::system)?;
    let has_applications = !applications.is_empty();
    let kind = ProcessKind { is_worker: line.is_some(), is_main_alone: settings.threads.threads == 1 };
    let description = descriptions(&applications);
    // A worker's supervisor prints one banner for all workers.
    let banner = line.is_none().then(|| -> PyResult<String> {
        warn_of_root(settings, false);
        let python: String =
            py.import("adyton._process.interpreter")?.call_method0("described")?.extract()?;
        Ok(banner::text(&python, settings, &description, &config, &shown, &Crowd::alone(loops)))
    });
    let banner = banner.transpose()?;
    let concurrency =
        Concurrency { has_threads: settings.threads.threads > 1, has_processes: line.is_some() };
    let threads = if applications.is_empty() { 1 } else { config.threads };
    let (mut apps, mut functions) = (Vec::new(), Vec::new());
    for found in applications {
        match made(py, found, &names, settings, concurrency)? {
            Made::App(app) => apps.push(app),
            Made::Function(wanted, function) => functions.push((wanted, function)),
        }
    }
    let plan = plan(settings, apps, &functions, prepared)?;
    let ordered = Arc::new(Ordered::default());
    let leave_notice = line.as_ref().map(Line::leave_notice).transpose().map_err(Failure::system)?;
    let asked = ordered.asked(handlers, leave_notice);
    let server = Server::new(config, plan, parts, asked, Some(interpreter()), tally);
    let server = Arc::new(server.map_err(|error| memory::blame(settings, error))?);
    let hold = prepare(py, settings, &server, has_applications.then_some(kind))?;
    let reach = Arc::new(Reach { server: Arc::clone(&server), ordered, wake });
    let beat_ms = supervise::limits(settings).beat_ms();
    let reopener = renamed.map(|wake| Reopener::start(wake, &server)).transpose().map_err(Failure::system)?;
    let done = threads::run(py, &server, threads, signals::run_handlers, move || {
        if let Some(text) = banner {
            banner::print(&text);
        }
        line.map_or(Ok(()), |line| obey(line, &description, beat_ms, &reach))
    });
    drop(reopener);
    // This thread is attached, so that the objects of the application that the loops still hold are given back here.
    server.clear();
    if let Some(hold) = hold {
        hold.end(py)?;
    }
    hook(py, "on_worker_stop", numbers)?;
    done.map_err(|error| memory::blame(settings, Failure::from(error).into_sentence()))
}

/// Addresses of this process, followed by addresses of other processes whose connections move to this process.
fn names(listening: &[Listening], entrances: Vec<Entrance>) -> Vec<Listener> {
    let entered = |entrance: Entrance| Listener { name: entrance.name, port: entrance.port };
    listening.iter().map(Listening::listener).chain(entrances.into_iter().map(entered)).collect()
}

/// Makes this process ready for the threads of its server. If there are no applications, nothing sets signal handlers.
fn prepare(
    py: Python<'_>,
    settings: &Settings,
    server: &Arc<Server>,
    kind: Option<ProcessKind>,
) -> Result<Option<SignalHold>, Failure> {
    memory::check(settings, server.threads())?;
    held_stacks::prepare(py)?;
    own_stack::prepare(py)?;
    Ok(kind.map(|kind| SignalHold::begin(py, server, kind)).transpose()?)
}

/// The parts of each loop; signals wake the first loop, through `wake`. `addresses`: the number of addresses at which
/// connections come in. The first loop gets the folders that were prepared.
fn parts(
    settings: &Settings,
    sockets: Sockets,
    addresses: usize,
    prepared: &mut Prepared,
    wake: &Arc<Wake>,
) -> Result<Vec<Parts>, Failure> {
    let Sockets { listening, others, passages } = sockets;
    let (mut others, share) = others.map(|others| (others.sockets, Arc::new(others.share))).unzip();
    let mut parts = Vec::new();
    for (home, listening) in listening.into_iter().enumerate() {
        let mut listeners: Vec<OwnedFd> = listening.into_iter().map(|listening| listening.socket).collect();
        listeners.extend(others.take().into_iter().flatten());
        let own = Arc::new(Wake::new().map_err(Failure::system)?);
        let wake = if home == 0 { Arc::clone(wake) } else { own };
        let folders = match home {
            0 => std::mem::take(&mut prepared.folders),
            _ => open_folders(settings, &prepared.cache_room)?,
        };
        let again = |one: &Passage| {
            let (name, open) = (Arc::clone(&one.name), one.open.clone());
            one.end.try_clone().map(|end| Passage { end, name, open })
        };
        let passages = passages.iter().map(again).collect::<std::io::Result<_>>().map_err(Failure::system)?;
        parts.push(Parts { listeners, addresses, passages, share: share.clone(), folders, wake });
    }
    Ok(parts)
}

/// Tells the supervisor that this worker serves, and obeys its orders from now on.
fn obey(line: Line, description: &str, beat_ms: Option<u64>, reach: &Arc<Reach>) -> std::io::Result<()> {
    let begun =
        child::outlive_parent().and_then(|()| line.listen(description, beat_ms, Arc::clone(reach) as _));
    begun.inspect_err(|_| reach.drain(Ending::PROMPT))
}

/// The result of preparing a loaded application or function.
enum Made {
    App(Arc<dyn App>),
    Function(Wanted, Arc<dyn Authority>),
}

/// Prepares an application or function for the plan.
fn made(
    py: Python<'_>,
    found: Application,
    names: &[Listener],
    settings: &Settings,
    concurrency: Concurrency,
) -> PyResult<Made> {
    let caller = || Caller::new(py, names, settings, concurrency);
    Ok(Made::App(match found.callee {
        Callee::Handler(function) => hosted::app(Handler::new(py, function)?),
        Callee::Wsgi(application) => hosted::app(Wsgi::new(application, caller()?)),
        Callee::Scripts(scripts, interface) => {
            let files = scripts_of(settings, &scripts)?;
            let made = Scripts::new(py, files, word(interface), caller()?)?;
            if !scripts.preload.is_empty() {
                made.preload(py, &scripts.preload, &found.description)?;
            }
            hosted::app(made)
        }
        Callee::Function(callable, wanted) => {
            let function = Function::new(callable, found.description, caller()?);
            return Ok(Made::Function(wanted, Arc::new(function)));
        }
    }))
}

/// Takes over the signals. With `renamed`, this process also gets a signal when its logs are renamed; without
/// `renamed`, it is a worker.
fn handlers(stop: &Arc<Wake>, renamed: Option<&Arc<Wake>>) -> std::io::Result<Handlers> {
    let stop = Arc::clone(stop);
    match renamed {
        Some(renamed) => Handlers::install(stop, Some(Arc::clone(renamed))),
        None => Handlers::install_in_worker(stop),
    }
}

/// Has separate threads write the logs from now on; `tally`: the counters that a worker leaves to its supervisor.
fn begin_logs(settings: &Settings, tally: Option<&Tally>) -> Result<(), Failure> {
    // No file, and no queue of events, may get the number of a standard stream that the application has closed until
    // now.
    stdio::occupy().map_err(Failure::system)?;
    log::begin_queue(log_queue_bytes_max(settings)).map_err(|error| {
        memory::blame(settings, format!("no thread could be started for the error log: {error}"))
    })?;
    if let Some(tally) = tally {
        tally.keep_entries();
    }
    Ok(())
}

/// Checks the settings of a process that serves without a supervisor.
fn check_alone(settings: &Settings) -> Result<(), Failure> {
    if settings.sites.as_ref().is_some_and(|sites| !sites.groups.is_empty()) {
        let why =
            "the file has groups, whose workers need a supervisor, and with --processes 0 there is none";
        let fault = Fault { at: settings.said_at("processes"), what: why.to_owned() };
        return Err(Failure::of(vec![fault]));
    }
    if settings.processes.user.is_none() {
        return Ok(());
    }
    let why = "only workers become another user, and with --processes 0 there are none";
    Err(Failure::of(vec![settings.fault("user", why)]))
}

/// Sends the application's output to the error log, too. With `asked`, this happens only if the user has asked for it.
fn capture_output(py: Python<'_>, settings: &Settings, asked: bool) -> PyResult<()> {
    let captures = match settings.logging.capture_output {
        CaptureOutput::On => true,
        CaptureOutput::Off => false,
        CaptureOutput::Auto => !asked && !std::io::stderr().is_terminal(),
    };
    if captures {
        py.import("adyton.logs")?.call_method0("capture")?;
    }
    Ok(())
}
