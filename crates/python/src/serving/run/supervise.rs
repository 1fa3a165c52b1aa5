//! `adyton serve` with workers: the supervisor's half, which runs no application code.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_cli::{Bind, Command, Control, Group, Pace, Part, ProcessCount, SaidAt, Settings, Sites};
use adyton_log::sink::Destination;
use adyton_log::{self as log, messages};
use adyton_process::grant::Grant;
use adyton_process::{
    Bounds, BranchPlan, BranchTold, Edition, End, GroupPlan, GroupSocket, GroupSockets, Limits, Note, Plan,
    Sockets, TRIAL, Taken, Version, control_folder,
};
use adyton_sys::child::Program;
use adyton_sys::socket::{self, Access};
use adyton_sys::user::Identity;
use adyton_sys::{process, user};
use pyo3::prelude::*;

use crate::serving::failure::Failure;
use crate::serving::faults::{check_log, check_settings, faults, warn_of_root};
use crate::serving::run::banner::{self, Crowd};
use crate::serving::run::listen::{self, Listening, OwnFiles, Sharing};
use crate::serving::settings::{config, identity, log_destination, log_queue_bytes_max, loops, open_log};
use crate::values::text::environment;

/// Connections that may wait at the sockets for programs and monitors.
const ADMIN_BACKLOG: u32 = 64;

/// Serves with workers until a signal stops it; returns the exit status.
///
/// `arguments` are the user's; a supervisor that replaces an earlier program gets the note that the program has left. A
/// trial returns after all steps that wrong settings can make fail.
pub(crate) fn supervise(
    py: Python<'_>,
    settings: &Settings,
    arguments: &[String],
    life: Life<'_>,
) -> Result<u8, Failure> {
    let Life::Group(told) = life else { return supervise_as(py, settings, arguments, life, None) };
    let (branch, bind) = branch(settings, told)?;
    // The sockets of a group that accepts connections itself are already open.
    let mut settings = settings.clone();
    settings.listening.bind = bind;
    supervise_as(py, &settings, arguments, life, Some(branch))
}

fn supervise_as(
    py: Python<'_>,
    settings: &Settings,
    arguments: &[String],
    life: Life<'_>,
    branch: Option<BranchPlan>,
) -> Result<u8, Failure> {
    let folder = current_folder().map_err(Failure::system)?;
    let program = program(py, arguments.len() + if life == Life::First { 0 } else { 2 })?;
    let note = if let Life::Next(note) = life { Some(note) } else { None };
    let is_trial = note == Some(TRIAL);
    let group = settle(settings, is_trial || note.is_none())?;
    let loops = loops_of_each(py, settings)?;
    if is_trial {
        return Ok(0);
    }
    let note = note.map(Note::read).transpose().map_err(Failure::system)?;
    let mut files = note.as_ref().map_or_else(OwnFiles::default, |_| OwnFiles::taken(settings));
    let open = match &note {
        Some(note) => Open::taken(note, &mut files)?,
        None => Open::fresh(settings, group, loops, &mut files)?,
    };
    let typed = Typed { arguments: arguments.to_vec(), folder };
    let is_branch = branch.is_some();
    let (edition, group_sockets) = edition_of(settings, is_branch, &program, note.as_ref(), typed)?;
    let python: String = py.import("adyton._process.interpreter")?.call_method0("described")?.extract()?;
    let of_settings = || bounds(settings, open.slots.len());
    let bounds = note.as_ref().and_then(Note::bounds).map_or_else(of_settings, Ok)?;
    let shown = listeners(&open.first, edition.as_ref());
    let on_ready = announce(settings, python, is_branch, shown, open.crowd(bounds));
    let Open { slots, first, control, admin, why: _ } = open;
    let entrances = first.iter().map(Listening::entrance).collect();
    let shares = first.iter().all(|one| one.is_shared);
    let plan = Plan {
        program: program.program,
        arguments: arguments.iter().map(OsString::from).collect(),
        preload: settings.processes.preload,
        processes: slots.len(),
        bounds,
        pace: pace(settings),
        limits: limits(settings),
        shares,
        open: Box::new(further(first, settings.listening.backlog, loops)),
        sockets: slots,
        control,
        admin,
        access: access(settings),
        on_ready,
        edition,
        group_sockets,
        entrances,
        branch,
        touch: watched(settings),
        develops: settings.processes.reload,
        note,
        access_logs: access_logs(settings),
        log_queue_bytes_max: log_queue_bytes_max(settings),
        drain_delay_ms: settings.processes.drain_delay_ms,
    };
    let plan = DetachedPlan(plan);
    let ended = py.detach(move || plan.run());
    Ok(match ended.map_err(Failure::system)? {
        End::Stopped => 0,
        End::NotStarted(status) => {
            say_not_started(settings, life);
            status
        }
    })
}

/// The access logs of the server and of each site.
fn access_logs(settings: &Settings) -> Vec<Destination> {
    let of_sites = settings.sites.iter().flat_map(|sites| &sites.sites).map(|site| &site.settings);
    let logs = std::iter::once(settings).chain(of_sites).filter_map(|one| {
        let destination = one.logging.access_log.as_ref()?;
        Some(log_destination(one, destination))
    });
    let mut all: Vec<Destination> = Vec::new();
    for log in logs {
        if !all.contains(&log) {
            all.push(log);
        }
    }
    all
}

/// Makes a function that opens further sockets at the addresses of `first`, for so many loops.
fn further(first: Vec<Listening>, backlog: u32, loops: usize) -> impl Fn() -> io::Result<Sockets> {
    move || {
        let again = || first.iter().map(|one| one.share(backlog).map(|one| one.socket)).collect();
        (0..loops).map(|_| again()).collect()
    }
}

/// The parts of a file of sites that workers get, if there is a file; and the sockets of groups that an earlier program
/// has left.
fn edition_of(
    settings: &Settings,
    is_branch: bool,
    programs: &Programs,
    note: Option<&Note>,
    typed: Typed,
) -> Result<(Option<Edition>, Vec<Arc<GroupSocket>>), Failure> {
    let Some(sites) = &settings.sites else { return Ok((None, Vec::new())) };
    if is_branch {
        return Ok((Some(edition_of_group(sites)), Vec::new()));
    }
    let left = note.map(Note::take_group_sockets).transpose().map_err(Failure::system)?.unwrap_or_default();
    let mut sockets = GroupSockets::knowing(&left);
    // An address that the earlier program had not opened is opened by the next reload: this start must not fail.
    let groups = group_plans(settings, programs, &mut sockets, note.is_none())?;
    Ok((Some(edition(settings, sites, groups, programs.clone(), sockets, typed)), left))
}

/// Addresses of the server, and of groups with addresses of their own, for people.
fn listeners(first: &[Listening], edition: Option<&Edition>) -> Vec<String> {
    let own = first.iter().map(|one| one.shown.clone());
    let of_group = |group: &GroupPlan| -> Vec<String> {
        group.sockets.iter().map(|socket| shown_of(&socket.shown, &group.name)).collect()
    };
    own.chain(edition.iter().flat_map(|edition| &edition.first.groups).flat_map(of_group)).collect()
}

fn shown_of(address: &str, group: &str) -> String {
    format!("{address} (group {group})")
}

/// The kind of a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life<'l> {
    /// The supervisor of a server.
    First,
    /// The supervisor of a server that replaces an earlier program, with the note that the program has left.
    Next(&'l str),
    /// The supervisor of a group, with the facts that it gets.
    Group(&'l str),
}

/// The command line of this supervisor.
struct Typed {
    /// The user's arguments.
    arguments: Vec<String>,
    /// The folder in which they were typed: paths in them are relative to it.
    folder: PathBuf,
}

impl Typed {
    /// Reads the command line once more, with the files that it names.
    ///
    /// # Errors
    ///
    /// A sentence with all faults of the command line and of its file.
    fn read_again(&self) -> Result<Box<Settings>, String> {
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        std::env::set_current_dir(&self.folder)
            .map_err(|error| format!("cannot go to {}: {error}", self.folder.display()))?;
        let parsed = adyton_cli::parse(&self.arguments, &environment(), false, None);
        std::env::set_current_dir(&here).map_err(|error| error.to_string())?;
        match parsed.map_err(|refused| refused_again(refused).into_sentence())? {
            Command::Serve(settings) => Ok(settings),
            _ => Err("the command line does not serve any more".to_owned()),
        }
    }
}

/// Commands that started this supervisor and that start groups with a Python of their own.
#[derive(Clone)]
struct Programs {
    program: Program,
    /// The script that brings the server's package along.
    bring: PathBuf,
}

/// The facts and the sockets that the supervisor of a group gets.
fn branch(settings: &Settings, told: &str) -> Result<(BranchPlan, Vec<Bind>), Failure> {
    let told = BranchTold::read(told).map_err(|error| Failure::Said(error, 2))?;
    log::set_group(&told.group);
    if let Some(level) = told.log_level() {
        log::set_level(level);
    }
    let idle_timeout_ms = settings.sites.as_ref().and_then(|sites| match sites.part {
        Part::Group(own) => sites.groups[own].idle_timeout_ms,
        _ => None,
    });
    let given = told.sockets.iter().map(|number| Bind::Fd(*number)).collect();
    told.take(idle_timeout_ms).map(|plan| (plan, given)).map_err(Failure::system)
}

/// Plans to start the groups of a file of sites. If `may_open`, opens the addresses that groups have to themselves.
fn group_plans(
    settings: &Settings,
    programs: &Programs,
    sockets: &mut GroupSockets,
    may_open: bool,
) -> Result<Vec<GroupPlan>, Failure> {
    let Some(sites) = settings.sites.as_ref().filter(|sites| !matches!(sites.part, Part::Group(_))) else {
        return Ok(Vec::new());
    };
    let base = settings.application.chdir.clone().unwrap_or_default();
    let mut refused = Vec::new();
    let mut plan = |number: usize, group: &Group| {
        let at = group.settings.said_at("user");
        let at = if at.is_in_file() { at } else { group.said_at.clone() };
        let wrong = |why: String| Failure::Said(format!("{at}groups.{}: {why}", group.name), 2);
        let identity = identity(&group.settings).map_err(|fault| wrong(fault.what))?;
        let is_other = identity.as_ref().is_some_and(|identity| identity.user() != process::user());
        if is_other && process::user() != 0 {
            let user = group.settings.processes.user.as_deref().unwrap_or_default();
            return Err(wrong(format!("only root can start processes of the user {user}")));
        }
        let program = match &group.python {
            None => programs.program.clone(),
            Some(python) => Program {
                path: base.join(python),
                arguments: vec![programs.bring.clone().into()],
                ..programs.program.clone()
            },
        };
        let opened = if may_open {
            let access = settings
                .listening
                .socket_mode
                .map(|mode| Access { mode, group: identity.as_ref().map(Identity::group) });
            listen::open_for_group(group, settings, access, sockets)
        } else {
            Ok(listen::held_for_group(group, sockets))
        };
        Ok(GroupPlan {
            name: group.name.clone(),
            sockets: opened.unwrap_or_else(|why| {
                refused.extend(why);
                Vec::new()
            }),
            program,
            fingerprint: format!("{} {identity:?} {}", env!("CARGO_PKG_VERSION"), group.fingerprint),
            identity,
            is_lazy: group.idle_timeout_ms.is_some(),
            text: sites.text_for(Part::Group(number)).into(),
        })
    };
    let plans = sites.groups.iter().enumerate().map(|(number, group)| plan(number, group));
    let plans = plans.collect::<Result<_, _>>()?;
    if refused.is_empty() { Ok(plans) } else { Err(Failure::Mistakes(refused, 1)) }
}

/// The parts of a file of sites that the workers of a group get: the parts that the group's supervisor itself has got.
fn edition_of_group(sites: &Sites) -> Edition {
    let version = Version { text: sites.text.clone(), groups: Vec::new(), access_logs: Vec::new() };
    let again = version.clone();
    Edition { first: version, read: Box::new(move || Ok(again.clone())) }
}

/// Files whose change triggers a reload; in development, the file of sites is among them.
fn watched(settings: &Settings) -> Vec<PathBuf> {
    let developed =
        settings.sites.iter().filter(|_| settings.processes.reload).map(|sites| sites.place.clone());
    settings.processes.touch_reload.iter().cloned().chain(developed).collect()
}

/// The parts of a file of sites that workers get: its text, and a function that reads and checks the file at a reload.
fn edition(
    settings: &Settings,
    sites: &Sites,
    groups: Vec<GroupPlan>,
    programs: Programs,
    mut sockets: GroupSockets,
    typed: Typed,
) -> Edition {
    let held = settings.clone();
    let read = move || {
        let now = typed.read_again()?;
        check_settings(&now).map_err(Failure::into_sentence)?;
        let waiting = adyton_cli::waiting(&held, &now);
        if !waiting.is_empty() {
            let names = waiting.join(", ");
            log::write(&messages::SETTING_WAITS, format_args!("{names}: reload does not change this"));
        }
        let text = now.sites.as_ref().map(|sites| sites.text_for(Part::Door));
        let text = text.ok_or_else(|| "no file of sites is served any more".to_owned())?;
        let before: Vec<String> = sockets.addresses().cloned().collect();
        let groups = group_plans(&now, &programs, &mut sockets, true).map_err(Failure::into_sentence)?;
        tell_opened(&groups, &before);
        Ok(Version { text, groups, access_logs: access_logs(&now) })
    };
    // The plan itself has the first access logs.
    let first = Version { text: sites.text_for(Part::Door), groups, access_logs: Vec::new() };
    Edition { first, read: Box::new(read) }
}

/// Logs which addresses of groups are open now and were not before.
fn tell_opened(groups: &[GroupPlan], before: &[String]) {
    for group in groups {
        for socket in group.sockets.iter().filter(|socket| !before.contains(&socket.address)) {
            let shown = shown_of(&socket.shown, &group.name);
            log::write(&messages::RELOADING, format_args!("listening on {shown}"));
        }
    }
}

/// All faults of a file that was read again.
fn refused_again(mut refused: adyton_cli::Failure) -> Failure {
    let more = refused.understood.take().map(|settings| faults(&settings)).unwrap_or_default();
    let failure = Failure::from(refused);
    if more.is_empty() { failure } else { failure.and(Failure::of(more)) }
}

/// Prepares a supervisor before it opens anything; with `is_first`, also checks its settings. Returns the group that
/// its workers change to, if they change the user.
fn settle(settings: &Settings, is_first: bool) -> Result<Option<u32>, Failure> {
    // The supervisor itself reports an unknown user, before any worker could.
    let identity = identity(settings).map_err(|fault| Failure::of(vec![fault]))?;
    if let Some(bits) = settings.processes.umask {
        user::set_umask(bits);
    }
    if let Some(folder) = &settings.application.chdir {
        std::env::set_current_dir(folder).map_err(|error| refused("cannot go to", folder, &error))?;
    }
    let group = identity.as_ref().map(Identity::group);
    open_logs(settings, identity, is_first)?;
    if is_first {
        // The first supervisor checks the settings, so that a fault is told before any worker begins.
        check_settings(settings)?;
    }
    Ok(group)
}

/// Tells the user who started this server that nothing is served, and where the reason stands.
fn say_not_started(settings: &Settings, life: Life<'_>) {
    // The server's own log reports a group that has not started, and the server serves.
    if matches!(life, Life::Group(_)) {
        return;
    }
    if matches!(settings.logging.error_log, Destination::File(_)) {
        // The worker's last messages may have been lost, which this process notices only when it logs something itself.
        log::write(&messages::CANNOT_START, format_args!("the first worker has not started"));
    }
    let destination = log_destination(settings, &settings.logging.error_log);
    adyton_log::tell_onlooker(&format!("adyton: nothing is served; the error log {destination} says why\n"));
}

/// The number of event loops of a worker.
fn loops_of_each(py: Python<'_>, settings: &Settings) -> PyResult<usize> {
    Ok(match (settings.threads.threads, settings.processes.processes) {
        // One thread cannot wait for requests in two places.
        (1, _) => 1,
        // The workers together have a loop for each CPU.
        (_, ProcessCount::Number(number)) => (loops(py)? / number).max(1),
        _ => loops(py)?,
    })
}

/// Opens the logs, and makes their files for the user that the workers become.
fn open_logs(settings: &Settings, identity: Option<Identity>, is_first: bool) -> Result<(), Failure> {
    if is_first {
        check_log(settings)?;
    }
    if let Some(identity) = identity {
        let all = settings.logging.access_log.iter().chain([&settings.logging.error_log]);
        let files = all.filter_map(|destination| match log_destination(settings, destination) {
            Destination::File(path) => std::path::absolute(path).ok(),
            _ => None,
        });
        let refused =
            |error| Failure::system(format!("workers of another user cannot have the logs: {error}"));
        log::make_for(identity, files.collect()).map_err(refused)?;
    }
    open_log(settings)
}

/// The sockets of a supervisor, opened or taken over.
struct Open {
    slots: Vec<Sockets>,
    /// Copies of one loop's listeners, for opening further listeners at the same addresses.
    first: Vec<Listening>,
    control: Option<OwnedFd>,
    admin: Option<OwnedFd>,
    /// The reason for the number of slots.
    why: String,
}

impl Open {
    fn fresh(
        settings: &Settings,
        group: Option<u32>,
        loops: usize,
        files: &mut OwnFiles,
    ) -> Result<Self, Failure> {
        let (processes, why) = processes(settings, loops);
        let mut listening = listen::open(settings, loops * processes, true, group, files)?;
        let first = listening[0].iter().map(Listening::again).collect::<Result<_, _>>()?;
        let mut slots = Vec::new();
        while !listening.is_empty() {
            let rest = listening.split_off(loops);
            slots.push(listening.into_iter().map(only_sockets).collect());
            listening = rest;
        }
        let (control, admin) = (control(settings, files)?, admin(settings, files)?);
        Ok(Self { slots, first, control, admin, why })
    }

    fn taken(note: &Note, files: &mut OwnFiles) -> Result<Self, Failure> {
        let mut taken = || -> io::Result<Self> {
            let Taken { slots, control, admin } = note.take_sockets()?;
            control.as_ref().and_then(socket::local_path).into_iter().for_each(|path| files.add(path));
            let again = |socket: &OwnedFd| socket.try_clone().and_then(Listening::new);
            let first = slots.first().and_then(|loops| loops.first());
            let first = first.map_or(Ok(Vec::new()), |all| all.iter().map(again).collect())?;
            Ok(Self { slots, first, control, admin, why: String::new() })
        };
        taken().map_err(Failure::system)
    }

    /// Counts of the workers, for the banner.
    fn crowd(&self, bounds: Bounds) -> Crowd {
        let admin = self.admin.as_ref();
        Crowd {
            processes: self.slots.len(),
            bounds,
            why: self.why.clone(),
            loops: self.slots.first().map_or(1, Vec::len),
            control: self.control.as_ref().and_then(socket::local_path),
            admin: admin
                .and_then(|socket| socket.try_clone().and_then(Listening::new).ok())
                .map(|listening| listening.shown),
        }
    }
}

/// Makes the function that prints the banner when the first worker has described what it serves; with `is_silent`, the
/// function prints nothing. `shown`: the addresses.
fn announce(
    settings: &Settings,
    python: String,
    is_silent: bool,
    shown: Vec<String>,
    crowd: Crowd,
) -> Box<dyn FnMut(&str)> {
    let config = config(settings, process::raise_descriptors_max(), Vec::new());
    let settings = settings.clone();
    Box::new(move |serves| {
        if is_silent {
            return;
        }
        warn_of_root(&settings, true);
        banner::print(&banner::text(&python, &settings, serves, &config, &shown, &crowd));
    })
}

/// A plan on its way through [`Python::detach`], on one thread.
struct DetachedPlan(Plan);

// SAFETY: `detach` runs its closure on the calling thread, so nothing is sent anywhere; it asks for `Send` to keep
// Python objects out, and a plan has none.
unsafe impl Send for DetachedPlan {}

impl DetachedPlan {
    fn run(self) -> io::Result<End> {
        adyton_process::run(self.0)
    }
}

fn only_sockets(all: Vec<Listening>) -> Vec<OwnedFd> {
    all.into_iter().map(|one| one.socket).collect()
}

fn pace(settings: &Settings) -> adyton_process::Pace {
    match settings.processes.reload_pace {
        Pace::All => adyton_process::Pace::All,
        Pace::One => adyton_process::Pace::One,
    }
}

pub(crate) fn limits(settings: &Settings) -> Limits {
    Limits {
        requests_max: settings.processes.max_requests,
        lifetime_max_ms: settings.processes.max_lifetime_ms,
        rss_max_bytes: settings.processes.max_rss_bytes,
        cpu_max_ms: settings.processes.cpu_limit_ms,
        heartbeat_timeout_ms: settings.processes.heartbeat_timeout_ms,
        startup_timeout_ms: settings.processes.startup_timeout_ms,
        graceful_timeout_ms: settings.timeouts.graceful_timeout_ms,
    }
}

/// The number of workers at the start, as far as these settings tell.
pub(crate) fn workers(py: Python<'_>, settings: &Settings) -> PyResult<usize> {
    Ok(processes(settings, loops(py)?).0)
}

/// The number of workers, and the reason for it.
fn processes(settings: &Settings, loops: usize) -> (usize, String) {
    match settings.processes.processes {
        ProcessCount::Number(number) => (number, format!("as {} says", settings.processes_source)),
        _ if loops > 1 => {
            let why = format!("its {loops} event loops use every CPU: this Python has no lock");
            within_bounds(settings, 1, why)
        }
        _ => {
            let (number, why) = Grant::ask().workers();
            within_bounds(settings, number, why)
        }
    }
}

/// Limits a number of workers that no setting gives to the bounds that the settings give.
fn within_bounds(settings: &Settings, number: usize, why: String) -> (usize, String) {
    let given = |number: u64| usize::try_from(number).ok().filter(|&number| number > 0);
    match (given(settings.processes.min_processes), given(settings.processes.max_processes)) {
        (Some(least), _) if number < least => (least, format!("as --min-processes says; {why}")),
        (_, Some(most)) if number > most => (most, format!("as --max-processes says; {why}")),
        _ => (number, why),
    }
}

/// The bounds within which the number of workers may change by itself.
fn bounds(settings: &Settings, processes: usize) -> Result<Bounds, Failure> {
    let number =
        |number: u64| if number == 0 { processes } else { usize::try_from(number).unwrap_or(processes) };
    let (least, most) = (number(settings.processes.min_processes), number(settings.processes.max_processes));
    if least <= processes && processes <= most {
        return Ok(Bounds { least, most });
    }
    let what = format!("min-processes, processes and max-processes are {least}, {processes} and {most}");
    let names = ["min-processes", "max-processes", "processes"];
    let at = names.iter().map(|name| settings.said_at(name)).find(SaidAt::is_in_file).unwrap_or_default();
    Err(Failure::Said(format!("{at}{what}: each must be at least the one before"), 2))
}

/// Checks that these numbers of workers fit together, and returns the largest number.
pub(crate) fn check_bounds(py: Python<'_>, settings: &Settings) -> Result<usize, Failure> {
    let (processes, _) = processes(settings, loops(py)?);
    bounds(settings, processes).map(|bounds| bounds.most)
}

/// The command that started this program, without the `count` arguments that the user typed.
fn program(py: Python<'_>, count: usize) -> PyResult<Programs> {
    let sys = py.import("sys")?;
    let words: Vec<OsString> = sys.getattr("orig_argv")?.extract()?;
    let kept = words.len().saturating_sub(count).max(1);
    let arguments = words[1..kept].to_vec();
    let path: PathBuf = sys.getattr("executable")?.extract()?;
    let package: PathBuf = py.import("adyton")?.getattr("__file__")?.extract()?;
    let bring = package.with_file_name("_bring.py");
    Ok(Programs { program: Program { path, arguments, folder: current_folder()? }, bring })
}

/// The current folder by the name that the user gave: if the name is a symbolic link that changes later, a reload must
/// follow it.
fn current_folder() -> io::Result<PathBuf> {
    let real = std::env::current_dir()?;
    let is_real =
        |named: &PathBuf| named.is_absolute() && named.canonicalize().is_ok_and(|found| found == real);
    Ok(std::env::var_os("PWD").map(PathBuf::from).filter(is_real).unwrap_or(real))
}

/// Opens the control socket; `files` records the file that this makes. If no setting asks for the socket and it cannot
/// be opened, the server starts without it.
fn control(settings: &Settings, files: &mut OwnFiles) -> Result<Option<OwnedFd>, Failure> {
    let (path, opened) = match &settings.processes.control {
        Control::Off => return Ok(None),
        Control::Path(path) => (path.clone(), open_control(path)),
        Control::Auto => {
            let folder = control_folder();
            let path = folder.join(format!("{}.sock", process::id()));
            let opened = own_folder(&folder).and_then(|()| {
                remove_stale(&folder);
                open_control(&path)
            });
            (path, opened)
        }
    };
    match opened {
        Ok(socket) => {
            files.add(path);
            Ok(Some(socket))
        }
        Err(error) => {
            let (at, path) = (settings.said_at("control"), path.display());
            let why = format!("{at}cannot listen for orders at {path}: {error} (setting --control)");
            if settings.processes.control != Control::Auto {
                return Err(Failure::system(why));
            }
            let lost = "adyton status, reload, stop and the like do not find this server";
            log::write(&messages::CONTROL_NOT_OPENED, format_args!("{why}; {lost}"));
            Ok(None)
        }
    }
}

fn open_control(path: &Path) -> io::Result<OwnedFd> {
    socket::listen_unix(path, ADMIN_BACKLOG, Some(Access { mode: 0o600, group: None }))
}

/// Removes the control sockets of servers that were killed: no process listens at them.
fn remove_stale(folder: &Path) {
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_socket = path.extension().is_some_and(|end| end == "sock");
        let pid = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        if is_socket && pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // A socket that stays does no harm, except that each start checks it again.
            let _ = socket::remove_stale(&path);
        }
    }
}

/// Makes the folder of control sockets, for this user alone; refuses a folder of another user.
fn own_folder(folder: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != process::user() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(())
}

/// The hosts and the token of requests that the admin listener answers; its own host name is among the hosts.
fn access(settings: &Settings) -> adyton_process::Access {
    let own = settings.processes.admin.iter().filter_map(|bind| match bind {
        Bind::Tcp { host, .. } => Some(host.clone()),
        _ => None,
    });
    adyton_process::Access {
        token: settings.processes.admin_token.clone(),
        hosts: settings.processes.admin_hosts.iter().cloned().chain(own).collect(),
    }
}

/// Opens the listener for monitors; `files` records the file that this makes.
fn admin(settings: &Settings, files: &mut OwnFiles) -> Result<Option<OwnedFd>, Failure> {
    let Some(bind) = &settings.processes.admin else { return Ok(None) };
    let wrong = |error: io::Error| {
        let at = settings.said_at("admin");
        Failure::system(format!("{at}cannot listen at {bind}: {error} (setting --admin)"))
    };
    let mut all = listen::open_one(bind, ADMIN_BACKLOG, Sharing::default(), None, files).map_err(wrong)?;
    // A name may stand for several addresses: monitors need only one.
    all.truncate(1);
    Ok(all.pop().map(|one| one.socket))
}

fn refused(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::system(format!("{what} {}: {error}", path.display()))
}
