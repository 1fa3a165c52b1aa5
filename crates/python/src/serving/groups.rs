//! The report of `adyton check` on groups: user, Python and folder of each, and whether the user can read the group's
//! files.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use adyton_cli::{AppTarget, Fault, Group, SaidAt, Settings, SiteAction, Sites, Target};
use adyton_sys::user::Identity;
use pyo3::prelude::*;

use super::failure::Failure;
use super::settings::identity;
use crate::serving::run::supervise;

/// A report on the groups of a file of sites: text for the user, and mistakes.
#[derive(Default)]
pub(super) struct Looked {
    /// A paragraph for each group.
    pub(super) text: String,
    faults: Vec<Fault>,
}

impl Looked {
    /// Takes the faults: paths that a group's user may not use, and Pythons without the package `adyton`.
    pub(super) fn take_wrong(&mut self) -> Option<Failure> {
        let faults = std::mem::take(&mut self.faults);
        (!faults.is_empty()).then(|| Failure::of(faults))
    }
}

/// Makes the report. A process of root tries the paths of each group as the group's user.
pub(super) fn look(py: Python<'_>, settings: &Settings) -> PyResult<Looked> {
    let mut looked = Looked::default();
    let Some(sites) = &settings.sites else { return Ok(looked) };
    let mut groups: Vec<(usize, &Group)> = sites.groups.iter().enumerate().collect();
    groups.sort_by_key(|(_, group)| group.line);
    for (number, group) in groups {
        // An unknown user, and a setting that was not understood, are reported elsewhere.
        let is_known = NEEDED.iter().all(|name| !group.settings.is_unread(name));
        let found = identity(&group.settings).unwrap_or_default().filter(|_| is_known);
        let needs = needs(py, settings, sites, number)?;
        let tried = try_out(found.as_ref(), &needs);
        let user = group.settings.processes.user.clone().unwrap_or_default();
        if let Tried::Done(refusals) = &tried {
            looked.faults.extend(refusals.iter().map(|refusal| refusal.fault(&user)));
        }
        looked.faults.extend(lack(py, settings, group)?);
        let files: Vec<&str> = needs.iter().filter_map(|need| need.app).collect();
        let runs = runs(py, settings, group)?;
        let facts = Facts { user: &user, identity: found.as_ref(), runs, tried: &tried, files: &files };
        write_group(&mut looked.text, group, facts);
    }
    Ok(looked)
}

/// Settings that decide which user needs which paths.
const NEEDED: [&str; 4] = ["chdir", "group", "python-path", "user"];

/// A path that a group needs.
struct Need<'s> {
    /// Place in the settings that names the path.
    at: SaidAt,
    /// The beginning of a sentence about the path, such as `chdir: `.
    setting: &'static str,
    path: PathBuf,
    /// The path with all symbolic links followed.
    real: PathBuf,
    how: How,
    /// The application, as the file of sites names it, if this is the first of its files.
    app: Option<&'s str>,
}

/// The access that a group needs to a path.
#[derive(Clone, Copy)]
enum How {
    /// Every folder on the way can be entered.
    Reach,
    /// The folder itself can be entered, too.
    Enter,
    /// The folder can be listed: modules are looked for in it.
    List,
    /// The file can be read.
    Read,
}

/// An access that was refused to a user.
struct Refusal<'n> {
    need: &'n Need<'n>,
    /// The path itself, or a folder on the way to it.
    place: PathBuf,
    act: &'static str,
}

/// The outcome of trying a group's paths as its user.
enum Tried<'n> {
    /// No user is named: the user who starts the server has tried the paths already.
    Own,
    /// This process may not become the user.
    NotRoot,
    Done(Vec<Refusal<'n>>),
}

impl<'s> Need<'s> {
    fn new(at: SaidAt, setting: &'static str, path: PathBuf, how: How) -> Need<'s> {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        Need { at, setting, path, real, how, app: None }
    }

    /// The first access that is refused to the user of this thread.
    fn refusal(&self) -> Option<Refusal<'_>> {
        let refused = |place: &Path, act| Some(Refusal { need: self, place: place.to_owned(), act });
        if let Some(folder) = closed_on(&self.real).or_else(|| closed_on(&self.path)) {
            return refused(folder, "enter");
        }
        let path = &self.real;
        match self.how {
            How::Enter if is_refused(&fs::metadata(path.join("."))) => refused(path, "enter"),
            How::List if is_refused(&fs::read_dir(path)) => refused(path, "list"),
            How::Read if is_refused(&fs::File::open(path)) => refused(path, "read"),
            _ => None,
        }
    }
}

/// The first folder on the way to a path that the user of this thread may not enter.
fn closed_on(path: &Path) -> Option<&Path> {
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.into_iter().rev().find(|folder| is_refused(&fs::metadata(folder.join("."))))
}

fn is_refused<T>(tried: &io::Result<T>) -> bool {
    tried.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

impl Refusal<'_> {
    fn fault(&self, user: &str) -> Fault {
        let Refusal { need, place, act } = self;
        let (setting, shown) = (need.setting, place.display());
        let path = need.path.display();
        let way = match () {
            () if *place == need.path => String::new(),
            () if *place == need.real => format!(", to which {path} leads"),
            () => format!(", which is on the way to {path}"),
        };
        let right = if *act == "enter" { 'x' } else { 'r' };
        let what = format!(
            "{setting}the user {user} may not {act} {shown}{way}: let that user do so (chmod o+{right}, or setfacl -m \
             u:{user}:{right}), or keep it elsewhere"
        );
        Fault { at: need.at.clone(), what }
    }
}

/// Tries, as the user, the accesses that a group needs.
fn try_out<'n>(user: Option<&Identity>, needs: &'n [Need<'_>]) -> Tried<'n> {
    let Some(user) = user else { return Tried::Own };
    let tried = user.try_out(|| needs.iter().filter_map(Need::refusal).collect::<Vec<_>>());
    let Ok(refusals) = tried else { return Tried::NotRoot };
    // A closed folder refuses many accesses; further refusals show when it is open.
    let mut told: Vec<Refusal<'n>> = Vec::new();
    for refusal in refusals {
        if !told.iter().any(|other| other.place == refusal.place) {
            told.push(refusal);
        }
    }
    Tried::Done(told)
}

/// The paths that a group needs before it serves.
fn needs<'s>(
    py: Python<'_>,
    settings: &Settings,
    sites: &'s Sites,
    number: usize,
) -> PyResult<Vec<Need<'s>>> {
    let group = &sites.groups[number];
    let said = |name: &str| {
        let at = group.settings.said_at(name);
        if at.is_in_file() { at } else { group.said_at.clone() }
    };
    let folder = folder(settings, group);
    let (at, setting) = match &group.chdir {
        Some(_) => (said("chdir"), "chdir: "),
        None => (group.said_at.clone(), ""),
    };
    let mut needs = vec![Need::new(at, setting, folder.clone(), How::Enter)];
    let package: PathBuf = py.import("adyton")?.getattr("__file__")?.extract()?;
    needs.push(Need::new(said("user"), "user: ", package, How::Read));
    if let Some(python) = &group.python {
        needs.push(Need::new(said("python"), "python: ", settings.place(python), How::Reach));
    } else {
        let library: PathBuf = py.import("os")?.getattr("__file__")?.extract()?;
        needs.push(Need::new(said("user"), "user: ", library, How::Read));
    }
    let own = group.settings.application.python_path.iter().map(|place| settings.place(place));
    let places: Vec<PathBuf> = std::iter::once(folder).chain(own).collect();
    for app in sites.apps.iter().filter(|app| app.group == Some(number)) {
        needs.extend(of_app(app, settings, &places));
    }
    for route in sites.sites.iter().flat_map(|site| &site.routes) {
        if let SiteAction::Cgi(scripts) = &route.action
            && scripts.group == Some(number)
        {
            needs.push(Need::new(route.said_at("cgi"), "", settings.place(&scripts.folder), How::Enter));
        }
    }
    // A group with addresses of its own reads the files of its sites itself.
    for route in sites.sites.iter().filter(|site| site.bound == Some(number)).flat_map(|site| &site.routes) {
        if let SiteAction::Files(folder) = &route.action {
            needs.push(Need::new(route.said_at("files"), "", settings.place(folder), How::Enter));
        }
    }
    Ok(needs)
}

/// The files that a group needs for an application; modules are looked for in `places` before the installed modules.
fn of_app<'s>(app: &'s AppTarget, settings: &Settings, places: &[PathBuf]) -> Vec<Need<'s>> {
    let need = |path: PathBuf, how: How| Need::new(app.said_at.clone(), "", path, how);
    let mut needs = match &app.target {
        Target::File { path, .. } => vec![need(places[0].join(path), How::Read)],
        Target::Folder(folder) => vec![need(settings.place(folder), How::Enter)],
        Target::Scripts(scripts) => vec![need(settings.place(&scripts.folder), How::Enter)],
        Target::Module { module, .. } => {
            let found = places.iter().map(|place| of_module(module, place)).find(|files| !files.is_empty());
            found.unwrap_or_default().into_iter().map(|(path, how)| need(path, how)).collect()
        }
    };
    if let Some(first) = needs.first_mut() {
        first.app = Some(&app.text);
    }
    needs
}

/// The files and folders of a module, if this place has it.
fn of_module(module: &str, place: &Path) -> Vec<(PathBuf, How)> {
    let mut folder = place.to_owned();
    let mut found = Vec::new();
    for name in module.split('.') {
        let (file, package) = (folder.join(format!("{name}.py")), folder.join(name));
        let begins = package.join("__init__.py");
        let listed = (folder.clone(), How::List);
        if begins.is_file() {
            found.extend([listed, (begins, How::Read)]);
        } else if file.is_file() {
            found.extend([listed, (file, How::Read)]);
        } else if package.is_dir() {
            found.push(listed);
        } else {
            break;
        }
        folder = package;
    }
    // A folder alone is a namespace package, which may continue elsewhere.
    if found.iter().any(|(_, how)| matches!(how, How::Read)) { found } else { Vec::new() }
}

fn folder(settings: &Settings, group: &Group) -> PathBuf {
    let folder = group.chdir.as_deref().or(settings.application.chdir.as_deref()).unwrap_or(Path::new("."));
    // Collecting the components drops a slash at the end.
    folder.components().collect()
}

/// The fault of a group's Python, if it is known without running this Python, which may be another user's program.
fn lack(py: Python<'_>, settings: &Settings, group: &Group) -> PyResult<Option<Fault>> {
    let Some(python) = &group.python else { return Ok(None) };
    let module = py.import("adyton._process.pythons")?;
    let version: Option<String> = module.call_method1("lacks", (settings.place(python),))?.extract()?;
    let at = group.settings.said_at("python");
    let shown = python.display();
    Ok(version.map(|version| Fault {
        at,
        what: format!(
            "python: {shown} is Python {version}, for which this server was not built: install adyton there, too"
        ),
    }))
}

/// Place, user and Python of a group: pairs of a word and its value.
fn runs(py: Python<'_>, settings: &Settings, group: &Group) -> PyResult<[(&'static str, String); 3]> {
    let python = match &group.python {
        Some(python) => settings.place(python).display().to_string(),
        None => "the server's own".to_owned(),
    };
    let processes = supervise::workers(py, &group.settings)?;
    let all = if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") };
    let threads = group.settings.threads.threads;
    let each = if threads == 1 { "1 thread each".to_owned() } else { format!("{threads} threads each") };
    let absent = if group.idle_timeout_ms.is_some() { ", and none while nothing is asked" } else { "" };
    let workers = format!("{all}, {each}{absent}");
    Ok([("python", python), ("folder", folder(settings, group).display().to_string()), ("workers", workers)])
}

/// Facts about a group, for its paragraph.
struct Facts<'n> {
    /// The user's name in the settings; empty if none is named.
    user: &'n str,
    identity: Option<&'n Identity>,
    /// Place, Python and workers, as [`runs`] returns them.
    runs: [(&'static str, String); 3],
    tried: &'n Tried<'n>,
    /// The applications whose files have been tried.
    files: &'n [&'n str],
}

/// Writes the paragraph of a group.
fn write_group(text: &mut String, group: &Group, facts: Facts<'_>) {
    let Facts { user, identity, runs, tried, files } = facts;
    let who = match identity {
        Some(found) => format!("{user} ({}), group {}", found.user(), found.group()),
        None => "whoever starts the server".to_owned(),
    };
    let reads = match tried {
        Tried::Own => None,
        Tried::NotRoot => Some(format!("not tried: only root can look as {user}")),
        Tried::Done(_) if files.is_empty() => None,
        Tried::Done(_) => Some(files.join(", ")),
    };
    let _ = writeln!(text, "group {} (line {})", group.name, group.line);
    let own: Vec<String> = group.bind.iter().map(ToString::to_string).collect();
    let accepts =
        (!own.is_empty()).then(|| ("accepts", format!("at {}, without the server", own.join(", "))));
    let rows = std::iter::once(("user", who)).chain(runs).chain(accepts);
    let rows = rows.chain(reads.map(|reads| ("can read", reads)));
    for (word, says) in rows {
        let _ = writeln!(text, "  {word:8}  {says}");
    }
    text.push('\n');
}
