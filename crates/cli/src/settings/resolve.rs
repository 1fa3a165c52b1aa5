//! Makes one `Settings` out of all sources: argument before variable before default.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::command::elsewhere::{self, Here};
use crate::command::failure::Failure;
use crate::command::nearest::nearest;
use crate::command::target::{Target, did_you_mean, is_absent, look_for_page, missing_folder};
use crate::lint;
use crate::rows::files::StaticMount;
use crate::rows::processes::ProcessCount;
use crate::rows::{ROWS, SettingRow};
use crate::settings::bind::{Bind, EVERY_ADDRESS};
use crate::settings::row::VARIABLE_PREFIX;
use crate::settings::said::{Fault, SaidAt, Sayings};
use crate::settings::typed::{Part, Settings};
use crate::sites::{self, Document, Lines, Mistake, ReadFile, Said};

/// Makes settings of the keywords that a program passes to `adyton.serve(application, keyword=...)`.
///
/// Keywords are the rows' names with underscores; each comes with its values as a user would write them, and without
/// values if it was `None`; `True` and `False` are `on` and `off`. Environment variables apply, too, but keywords take
/// precedence.
///
/// # Errors
///
/// A sentence about the first keyword, variable or folder that is wrong.
pub fn from_keywords(
    keywords: &[(String, Vec<String>)],
    environment: &[(String, String)],
) -> Result<Settings, Failure> {
    let mut given = Given::new(Source::Keyword);
    for (name, values) in keywords {
        let Some(index) = ROWS.iter().position(|row| row.keyword() == *name) else {
            return Err(unknown(Source::Keyword, name));
        };
        if values.len() > 1 && !ROWS[index].repeatable {
            return Err(Failure::usage(format!("{name} takes one value, not {}", values.len())));
        }
        given.values[index] = values.iter().map(String::as_str).collect();
    }
    resolve(given, None, environment, None)
}

/// A file of sites that another process has read, and the part of it that this process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed<'h> {
    /// The file.
    pub text: &'h str,
    /// The kind of this process; without groups, [`To::Door`] serves everything.
    pub to: To<'h>,
}

/// The kind of process that a file of sites was handed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To<'h> {
    /// A process that reads the whole file.
    Whole,
    /// A process that accepts connections.
    Door,
    /// A process of the group with this name.
    Group(&'h str),
}

impl<'h> From<&'h str> for Handed<'h> {
    /// Makes a file that is read as a whole.
    fn from(text: &'h str) -> Handed<'h> {
        Handed { text, to: To::Whole }
    }
}

/// Where a value comes from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The default of the row.
    Default,
    /// A variable of the platform, as `PORT`.
    Ambient,
    /// A file of sites.
    File,
    /// A variable `ADYTON_…`.
    Variable,
    /// A keyword of a program's call.
    Keyword,
    /// The command line.
    Flag,
}

/// Values from the command line or from a program's call, for each row; an empty list if the row was not mentioned.
pub(crate) struct Given<'a> {
    source: Source,
    /// The values of each row: as many lists as there are rows, in their order.
    pub(crate) values: Vec<Vec<&'a str>>,
}

/// The values of one row that apply.
struct Chosen<'a> {
    row: &'static SettingRow,
    source: Source,
    values: Vec<&'a str>,
}

/// Chooses the values of each row, reads them, and checks that the folders exist.
///
/// `handed` is the text of a file of sites that another process has read.
pub(crate) fn resolve(
    given: Given<'_>,
    target: Option<&str>,
    environment: &[(String, String)],
    handed: Option<Handed<'_>>,
) -> Result<Settings, Failure> {
    let file = target.filter(|target| sites::is_file(target));
    let file = file.map(|file| SitesFile::read(&given, file, environment, handed)).transpose()?;
    let mut settings = Settings::blank();
    let server = file.as_ref().map(|file| &file.document.server);
    let mut chosen = choose(given, environment, server)?;
    if let Some(file) = &file {
        settings.sayings = file.sayings(&chosen);
    }
    let mut faults = Vec::new();
    let from_parts = settle_address(&mut chosen).unwrap_or_else(|why| {
        faults.push(Fault { at: settings.said_at("bind"), what: why });
        false
    });
    for chosen in &chosen {
        for value in &chosen.values {
            let applied = chosen.row.apply(&mut settings, value);
            applied.map_err(|why| wrong(chosen, value, &why))?;
        }
    }
    settings.processes_source = source_of(&chosen, "processes");
    let handed = handed_over(environment);
    let names_descriptors = settings.listening.bind.iter().any(|bind| matches!(bind, Bind::Fd(_)));
    if handed > 0 && !names_descriptors {
        // These sockets replace addresses that were typed: clients that connect to them wait for this
        // program.
        settings.listening.bind = (FIRST_HANDED..FIRST_HANDED + handed).map(Bind::Fd).collect();
    } else if from_parts {
        settings.listening.bind =
            vec![Bind::Tcp { host: settings.listening.host.clone(), port: settings.listening.port }];
    }
    faults.extend(refuse_twice(&settings));
    if settings.processes.reload
        && let Some(why) = is_production(&settings, environment)
    {
        let what = format!("reload: it is for development, and {why}");
        faults.push(Fault { at: settings.said_at("reload"), what });
    }
    if settings.processes.processes == ProcessCount::None {
        faults.extend(refuse_for_workers(&chosen, &settings));
    }
    settings.target = target.map(str::to_owned);
    let says_addresses = says_addresses(&chosen) || handed > 0;
    match file {
        Some(file) => {
            faults.extend(file.complete(&mut settings));
            faults.extend(settle_own_addresses(&mut settings, says_addresses));
        }
        None => faults.extend(look_at_disk(&mut settings)),
    }
    faults.extend(settings.sites.iter().flat_map(|sites| lint::mistakes(sites)));
    if faults.is_empty() { Ok(settings) } else { Err(Failure::of(faults, settings)) }
}

/// A file of sites that has been read.
struct SitesFile {
    path: PathBuf,
    text: String,
    document: Document,
    /// Mistakes in the parts that were not understood.
    mistakes: Vec<Mistake>,
    /// The absolute path of the file; relative paths in the file are relative to its folder.
    place: PathBuf,
    part: Part,
}

impl SitesFile {
    fn read(
        given: &Given<'_>,
        target: &str,
        environment: &[(String, String)],
        handed: Option<Handed<'_>>,
    ) -> Result<SitesFile, Failure> {
        // The file's own `chdir` cannot say where the file itself is.
        let chdir = ROWS.iter().position(|row| row.name == "chdir").unwrap_or_default();
        let variable = || lookup(environment, &ROWS[chdir].variable());
        let base = given.values.get(chdir).and_then(|values| values.last().copied()).or_else(variable);
        let path = Path::new(base.unwrap_or_default()).join(target);
        let text = match handed {
            Some(handed) => handed.text.to_owned(),
            None => fs::read_to_string(&path).map_err(|error| unreadable(target, &path, &error))?,
        };
        let (document, mistakes) = Document::read(Path::new(target), &text)?;
        let place = std::path::absolute(&path).unwrap_or(path);
        let part = match handed.map_or(To::Whole, |handed| handed.to) {
            To::Whole => Part::Whole,
            To::Door => Part::Door,
            To::Group(name) => {
                let no_group = || Failure::usage(format!("{target} has no table [groups.{name}]"));
                Part::Group(document.group_named(name).ok_or_else(no_group)?)
            }
        };
        Ok(SitesFile { path: target.into(), text, document, mistakes, place, part })
    }

    /// Returns the settings of the file that apply, with their places.
    fn sayings(&self, chosen: &[Chosen<'_>]) -> Sayings {
        let lines = Lines::new(&self.text);
        let counts = |said: &&Said| chosen.get(said.row).is_some_and(|one| one.source == Source::File);
        let server = &self.document.server;
        let said = server.said.iter().filter(counts);
        let all = said
            .flat_map(|said| sites::sayings(said, &|at| lines.said_at(&self.path, at)).collect::<Vec<_>>())
            .collect();
        Sayings { all, unread: server.unread.clone() }
    }

    /// Adds the sites of the file to the settings; returns the faults in them.
    fn complete(self, settings: &mut Settings) -> Vec<Fault> {
        let SitesFile { path, text, document, mut mistakes, place, part } = self;
        let mut faults = Vec::new();
        if !settings.files.statics.is_empty() {
            let what =
                "static: a file of sites has routes for folders: path = \"/static/\", files = \"static\"";
            faults.push(Fault { at: SaidAt::default(), what: what.to_owned() });
        }
        let base = settings.application.chdir.take().unwrap_or_default();
        settings.application.chdir = Some(place.parent().map_or(base.clone(), |folder| folder.join(&base)));
        let base = settings.application.chdir.clone().unwrap_or_default();
        let lines = Lines::new(&text);
        let at = |at: usize| lines.said_at(&path, at);
        if base.is_dir() {
            if let Part::Group(number) = part {
                *settings = document.settings_of_group(number, settings, &at);
            }
            let (sites, missing) =
                document.complete(ReadFile { file: &path, place, text: text.clone(), part }, settings);
            mistakes.extend(missing);
            settings.sites = Some(Arc::new(sites));
        } else {
            let at = settings.said_at("chdir");
            faults.push(Fault { at, what: missing_folder("chdir", &base, Path::new(".")) });
        }
        faults.extend(mistakes.into_iter().map(|Mistake { at: place, what }| Fault { at: at(place), what }));
        faults
    }
}

fn unreadable(target: &str, path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let hint = did_you_mean(Path::new(target), Path::new("."));
            Failure::usage(format!("there is no file {}{hint}", path.display()))
        }
        io::ErrorKind::InvalidData => Failure::usage(format!("{target} is no TOML: it is not UTF-8")),
        _ => Failure::usage(format!("{target} cannot be read: {error}")),
    }
}

/// Refuses an address that is listened at twice; the kernel would only say that the address is in use, and not by which
/// process.
fn refuse_twice(settings: &Settings) -> Option<Fault> {
    let bound = |bind: &Bind| settings.listening.bind.iter().filter(|other| *other == bind).count();
    // For port 0 the kernel picks another port each time.
    let is_one = |bind: &&Bind| !matches!(bind, Bind::Tcp { port: 0, .. });
    if let Some(twice) = settings.listening.bind.iter().filter(is_one).find(|bind| bound(bind) > 1) {
        return Some(Fault { at: settings.said_at("bind"), what: format!("bind: {twice} is given twice") });
    }
    let admin = settings.processes.admin.as_ref().filter(is_one).filter(|admin| bound(admin) > 0)?;
    let what = format!("admin: requests are served at {admin} already (bind)");
    Some(Fault { at: settings.said_at("admin"), what })
}

/// Whether the user has set where the server listens.
fn says_addresses(chosen: &[Chosen<'_>]) -> bool {
    let is_said = |chosen: &Chosen<'_>| chosen.source > Source::Ambient;
    chosen.iter().any(|chosen| ["bind", "host", "port"].contains(&chosen.row.name) && is_said(chosen))
}

/// Removes the server's addresses if all sites have their own; refuses an address of a group that is also the server's.
fn settle_own_addresses(settings: &mut Settings, says_addresses: bool) -> Vec<Fault> {
    let Some(sites) = settings.sites.clone().filter(|_| !settings.listening.bind.is_empty()) else {
        return Vec::new();
    };
    let is_whole = !settings.is_any_unread(&["sites", "groups", "bind"]) && !sites.sites.is_empty();
    if is_whole && sites.sites.iter().all(|site| site.bound.is_some()) {
        let at = settings.said_at("bind");
        let bound = std::mem::take(&mut settings.listening.bind);
        if says_addresses {
            let shown: Vec<String> = bound.iter().map(ToString::to_string).collect();
            let what = format!(
                "bind: nothing is served at {}, because every site has addresses of its own (bind of the site): leave it out",
                shown.join(", ")
            );
            return vec![Fault { at, what }];
        }
    }
    let mut faults = Vec::new();
    for group in &sites.groups {
        for address in group.bind.iter().filter(|address| address.is_one()) {
            let (of, remedy) = if settings.processes.admin.as_ref() == Some(address) {
                ("of admin", "write another one")
            } else if !settings.listening.bind.contains(address) {
                continue;
            } else if says_addresses {
                ("of the server already (bind of [server])", "leave it out at one of the two")
            } else {
                ("of the server by default", "write another one, or set bind of [server]")
            };
            let what = format!("bind: {address} is the address {of}: {remedy}");
            faults.push(Fault { at: group.bind_said_at.clone(), what });
        }
    }
    faults
}

/// Returns the reason to believe that this is not a developer's own machine, if there is one.
fn is_production(settings: &Settings, environment: &[(String, String)]) -> Option<String> {
    if let Some(open) = settings.listening.bind.iter().find(|bind| !bind.is_local()) {
        return Some(format!("{open} can be reached from elsewhere"));
    }
    if let Some(unix) =
        settings.listening.bind.iter().find(|bind| matches!(bind, Bind::Unix(_) | Bind::Abstract(_)))
    {
        return Some(format!("{unix} is for a server in front"));
    }
    if lookup(environment, "NOTIFY_SOCKET").is_some_and(|name| !name.is_empty()) {
        return Some("a service manager has started this ($NOTIFY_SOCKET)".to_owned());
    }
    if is_service(environment, std::process::id(), std::os::unix::process::parent_id()) {
        return Some("systemd has started this".to_owned());
    }
    settings.processes.user.as_ref().map(|_| "--user is for services".to_owned())
}

/// Whether systemd has started this very process, whatever the type of its unit is. Terminals of a desktop are units,
/// too, and pass `$INVOCATION_ID` on to their children; `$SYSTEMD_EXEC_PID`, since version 248, names the process that
/// systemd has started.
fn is_service(environment: &[(String, String)], process: u32, parent: u32) -> bool {
    let is_set = |name| lookup(environment, name).is_some_and(|value| !value.is_empty());
    let started = lookup(environment, "SYSTEMD_EXEC_PID").and_then(|number| number.parse().ok());
    started == Some(process) || parent == 1 && is_set("INVOCATION_ID")
}

/// Refuses settings that would have no effect without a supervisor and workers.
fn refuse_for_workers(chosen: &[Chosen<'_>], settings: &Settings) -> Vec<Fault> {
    // A process without workers sets its own `umask`, and has a better message about `user` when it begins to serve.
    const OTHERS: [&str; 3] = ["processes", "umask", "user"];
    let is_asked = |chosen: &&Chosen<'_>| {
        let means_nothing = |value: &&str| ["0", "off", chosen.row.default].contains(value);
        chosen.source > Source::Default && !chosen.values.iter().all(means_nothing)
    };
    let ours = chosen.iter().filter(|one| one.row.group == "Processes" && !OTHERS.contains(&one.row.name));
    let fault = |wrong: &Chosen<'_>| Fault {
        at: settings.said_at(wrong.row.name),
        what: format!(
            "{}: it is for workers and their supervisor, and with --processes 0 there are none",
            spelled(wrong)
        ),
    };
    ours.filter(is_asked).map(fault).collect()
}

/// The first descriptor of `sd_listen_fds(3)`.
const FIRST_HANDED: i32 = 3;

/// Returns how many sockets a service manager has opened for this process (`sd_listen_fds(3)`).
fn handed_over(environment: &[(String, String)]) -> i32 {
    let number = |name| lookup(environment, name).and_then(|text| text.parse::<u32>().ok());
    let is_ours = number("LISTEN_PID") == Some(std::process::id());
    number("LISTEN_FDS").filter(|_| is_ours).and_then(|count| i32::try_from(count).ok()).unwrap_or(0)
}

/// Returns the setting's flag, or the variable of the platform that applies instead.
fn source_of(chosen: &[Chosen<'_>], name: &str) -> String {
    let found = chosen.iter().find(|chosen| chosen.row.name == name);
    let source = |chosen: &Chosen<'_>| match chosen.source {
        Source::Ambient => spelled(chosen),
        _ => chosen.row.flag(),
    };
    found.map(source).unwrap_or_default()
}

fn choose<'a>(
    given: Given<'a>,
    environment: &'a [(String, String)],
    file: Option<&'a sites::Given>,
) -> Result<Vec<Chosen<'a>>, Failure> {
    let variables = variables(environment)?;
    let mut chosen = Vec::with_capacity(ROWS.len());
    for ((row, arguments), variable) in ROWS.iter().zip(given.values).zip(variables) {
        let in_file = file.and_then(|file| file.of(row.name)).map(Said::texts);
        let ambient = row.ambient.and_then(|name| lookup(environment, name));
        let (source, values) = if !arguments.is_empty() {
            (given.source, arguments)
        } else if !variable.is_empty() {
            (Source::Variable, variable)
        } else if let Some(values) = in_file {
            (Source::File, values)
        } else if let Some(value) = ambient {
            (Source::Ambient, vec![value])
        } else {
            (Source::Default, present(row.default).into_iter().collect())
        };
        chosen.push(Chosen { row, source, values });
    }
    Ok(chosen)
}

/// Returns our variables by row; an empty variable counts as absent, because wrappers unset variables in this
/// way.
fn variables(environment: &[(String, String)]) -> Result<Vec<Vec<&str>>, Failure> {
    let mut values = vec![Vec::new(); ROWS.len()];
    for (name, value) in environment {
        let Some(rest) = name.strip_prefix(VARIABLE_PREFIX) else { continue };
        if is_service_link(rest, value) {
            continue;
        }
        let Some(index) = ROWS.iter().position(|row| row.variable() == *name) else {
            return Err(unknown(Source::Variable, name));
        };
        if ROWS[index].repeatable {
            values[index] = value.split(',').filter_map(present).collect();
            if values[index].is_empty() && !value.is_empty() {
                let what = format!("{name}={value}: there is nothing between the commas");
                return Err(Failure::usage(what));
            }
        } else {
            values[index] = present(value).into_iter().collect();
        }
    }
    Ok(values)
}

/// Whether this is a variable that Kubernetes sets in every container when a service is called `adyton`:
/// `ADYTON_SERVICE_HOST`, `ADYTON_PORT=tcp://...`, `ADYTON_PORT_80_TCP_ADDR` and the like.
fn is_service_link(name: &str, value: &str) -> bool {
    name.starts_with("SERVICE_") || name.starts_with("PORT_") || (name == "PORT" && value.contains("://"))
}

/// Decides between `bind` and the pair of `host` and `port`: the stronger source applies.
///
/// Returns whether the address is made of the pair.
fn settle_address(chosen: &mut [Chosen<'_>]) -> Result<bool, String> {
    let index = |name| ROWS.iter().position(|row| row.name == name).unwrap_or_default();
    let (bind, host, port) = (index("bind"), index("host"), index("port"));
    let half = if chosen[host].source >= chosen[port].source { host } else { port };
    let (whole_source, half_source) = (chosen[bind].source, chosen[half].source);
    if whole_source == half_source && whole_source != Source::Default {
        let (whole, half) = (spelled(&chosen[bind]), spelled(&chosen[half]));
        return Err(format!("{whole} and {half} are both given; {whole} alone says host and port"));
    }
    if whole_source > half_source {
        for half in [host, port] {
            chosen[half].values = vec![chosen[half].row.default];
        }
        return Ok(false);
    }
    if chosen[port].source == Source::Ambient && chosen[host].source == Source::Default {
        chosen[host].values = vec![EVERY_ADDRESS];
    }
    chosen[bind].values.clear();
    Ok(true)
}

/// Reports missing folders before anything is started, and finds out what the target is.
fn look_at_disk(settings: &mut Settings) -> Vec<Fault> {
    let base = settings.application.chdir.clone().unwrap_or_else(|| ".".into());
    if !base.is_dir() {
        return vec![Fault::from(missing_folder("chdir", &base, Path::new(".")))];
    }
    let mut faults = Vec::new();
    for (index, mount) in settings.files.statics.iter().enumerate() {
        let place = base.join(&mount.dir);
        if !place.is_dir() && !is_absent(&place) {
            faults.push(missing_folder("static", &mount.dir, &base).into());
        }
        if settings.files.statics[..index].iter().any(|earlier| earlier.prefix == mount.prefix) {
            let what = format!("static: {}/ is given two folders; each prefix has one", mount.prefix);
            faults.push(what.into());
        }
    }
    match settings.target.as_deref().map(|target| Target::find(target, &base)).transpose() {
        Ok(located) => settings.located = located,
        Err(why) => faults.push(why.into()),
    }
    if let Some(Target::Folder(folder)) = &settings.located
        && settings.files.statics.iter().any(|mount| mount.prefix.is_empty())
    {
        let what = format!("static: / is given two folders; {} is there already", folder.display());
        faults.push(what.into());
    }
    if faults.is_empty() {
        faults.extend(look_for_pages(settings, &base).into_iter().map(Fault::from));
    }
    faults
}

/// Returns warnings of folders that are to be served and do not exist yet, one sentence for each.
pub fn absent_folders(settings: &Settings) -> Vec<String> {
    let base = settings.application.chdir.clone().unwrap_or_else(|| ".".into());
    let mounted = settings.files.statics.iter();
    let mounted = mounted.map(|StaticMount { prefix, dir }| (format!("{prefix}/"), dir, SaidAt::default()));
    let routed = settings.sites.iter().flat_map(|sites| sites.folders());
    let absent = mounted.chain(routed).filter(|(_, folder, _)| is_absent(&base.join(folder)));
    let sentence = |(place, folder, at): (String, &PathBuf, SaidAt)| {
        let name = if at.is_in_file() { "files" } else { "static" };
        let hint = did_you_mean(folder, &base);
        let folder = folder.display();
        format!("{at}{name}: there is no folder {folder} yet, so everything below {place} is a 404{hint}")
    };
    absent.map(sentence).collect()
}

/// Checks that a page for missing files exists in one of the folders at least.
fn look_for_pages(settings: &Settings, base: &Path) -> Vec<String> {
    let mut folders: Vec<PathBuf> =
        settings.files.statics.iter().map(|mount| base.join(&mount.dir)).collect();
    if let Some(Target::Folder(folder)) = &settings.located {
        folders.push(base.join(folder));
    }
    let pages =
        [("static-404", &settings.files.static_404), ("static-fallback", &settings.files.static_fallback)];
    pages.into_iter().filter_map(|(name, page)| look_for_page(name, page.as_ref()?, &folders)).collect()
}

/// Makes the sentence about a name that no row has: it names the counterpart, if another server has the name, or else
/// the nearest name.
pub(crate) fn unknown(source: Source, name: &str) -> Failure {
    let bare = match source {
        Source::Variable => name.strip_prefix(VARIABLE_PREFIX).unwrap_or(name).to_ascii_lowercase(),
        _ => name.trim_start_matches('-').to_owned(),
    };
    let bare = bare.replace('_', "-");
    let spelled = |name| SettingRow::find(name).map(|row| spell(row, source));
    let elsewhere = elsewhere::find(&bare).map(|here| match here {
        Here::Called(ours) => spelled(ours).map_or_else(
            || format!("a file of sites has {ours} for it"),
            |ours| format!("here it is {ours}"),
        ),
        Here::Said(sentence) => (*sentence).to_owned(),
    });
    let near = || nearest(&bare, ROWS.iter().map(|row| row.name)).and_then(spelled);
    let hint = elsewhere.or_else(|| near().map(|near| format!("did you mean {near}?")));
    let hint = hint.as_deref().unwrap_or("adyton serve --help lists them all");
    Failure::usage(format!("{name} is not a setting; {hint}"))
}

fn wrong(chosen: &Chosen<'_>, value: &str, why: &str) -> Failure {
    let separator = if chosen.source == Source::Flag { ' ' } else { '=' };
    Failure::usage(format!("{}{separator}{value}: {why}", spelled(chosen)))
}

fn spelled(chosen: &Chosen<'_>) -> String {
    spell(chosen.row, chosen.source)
}

/// Returns the row's name as the user of this source knows it.
fn spell(row: &SettingRow, source: Source) -> String {
    match (source, row.ambient) {
        (Source::Ambient, Some(name)) => name.to_owned(),
        (Source::Variable, _) => row.variable(),
        (Source::File, _) => row.name.to_owned(),
        (Source::Keyword, _) => row.keyword(),
        _ => row.flag(),
    }
}

fn lookup<'e>(environment: &'e [(String, String)], name: &str) -> Option<&'e str> {
    environment.iter().find(|(other, _)| other == name).and_then(|(_, value)| present(value))
}

fn present(text: &str) -> Option<&str> {
    if text.is_empty() { None } else { Some(text) }
}

impl Given<'_> {
    pub(crate) fn new(source: Source) -> Self {
        Given { source, values: vec![Vec::new(); ROWS.len()] }
    }
}
