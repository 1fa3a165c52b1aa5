//! Loads the application with the help of the package's Python half, which does the imports.

use std::path::{Path, PathBuf};

use adyton_cli::{AppTarget, Interface, Part, SaidAt, Scripts, Settings, Sites, Target};
use adyton_files::scripts::Scripts as Files;
use adyton_log::{self as log, messages};
use adyton_sys::temp;
use pyo3::intern;
use pyo3::prelude::*;

use crate::interpreter::forked;
use crate::serving::authorities::Wanted;
use crate::serving::failure::Failure;

/// A Python object that answers requests, or that guards ask.
pub(crate) enum Callee {
    /// `application(environ, start_response)`.
    Wsgi(Py<PyAny>),
    /// `handler(request)`.
    Handler(Py<PyAny>),
    /// Scripts in a folder, each an application or a handler, and how they are called.
    Scripts(Scripts, Interface),
    /// A function that authenticates or admits clients, and the place in the settings that names it.
    Function(Py<PyAny>, Wanted),
}

/// A loaded application.
pub(crate) struct Application {
    pub(crate) callee: Callee,
    /// Name and kind, such as `mysite.wsgi:application (WSGI)`.
    pub(crate) description: String,
}

/// An application that settings name.
struct WantedApp<'s> {
    target: &'s Target,
    interface: Interface,
    /// Whether the object makes the application when it is called.
    factory: bool,
    /// Place in a file of sites that names the application.
    at: SaidAt,
}

/// Changes to the settings' folder, and loads the applications that the settings name: none if only folders are served;
/// of a file of sites, each application that this process runs. Then loads `functions`.
pub(crate) fn prepare(
    py: Python<'_>,
    settings: &Settings,
    functions: Vec<Wanted>,
) -> Result<Vec<Application>, Failure> {
    let module = py.import("adyton._application.load")?;
    let own = settings.own_folder();
    let python_path: Vec<PathBuf> =
        settings.application.python_path.iter().map(|place| settings.place_from_folder(place)).collect();
    module
        .call_method1(
            "prepare",
            (
                own.or(settings.application.chdir.as_deref()),
                python_path,
                settings.application.env.clone(),
                own.is_some(),
            ),
        )
        .map_err(|error| unprepared(settings, &error.value(py).to_string()))?;
    let own = match &settings.located {
        Some(target @ (Target::Module { .. } | Target::File { .. })) => {
            let (interface, factory) = (settings.application.interface, settings.application.factory);
            vec![WantedApp { target, interface, factory, at: SaidAt::default() }]
        }
        None | Some(Target::Folder(_) | Target::Scripts(_)) => Vec::new(),
    };
    let of_sites = settings.sites.iter().flat_map(|sites| sites.apps.iter().filter(|app| is_own(sites, app)));
    let of_sites = of_sites.map(|app| WantedApp {
        target: &app.target,
        interface: app.interface,
        factory: app.factory,
        at: app.said_at.clone(),
    });
    let apps: Vec<WantedApp<'_>> = own.into_iter().chain(of_sites).collect();
    if !apps.is_empty() {
        check_temp_dir(settings)?;
    }
    let applications = apps.into_iter().map(|app| load(&module, settings, &app));
    let all = applications.chain(functions.into_iter().map(|wanted| function(&module, settings, wanted)));
    let mut loaded = Vec::new();
    let mut failed: Option<Failure> = None;
    for one in all {
        match one {
            Ok(application) => loaded.push(application),
            Err(failure) => {
                failed = Some(match failed.take() {
                    Some(before) => before.and(failure),
                    None => failure,
                });
            }
        }
    }
    failed.map_or(Ok(loaded), Err)
}

/// The failure of a process that cannot change to the settings' folder: a sentence that begins with the setting's name.
fn unprepared(settings: &Settings, why: &str) -> Failure {
    let name = why.split(':').next().unwrap_or_default();
    Failure::Said(format!("{}{why}", settings.said_at(name)), 2)
}

/// Loads a function that authenticates or admits clients.
fn function(
    module: &Bound<'_, PyModule>,
    settings: &Settings,
    wanted: Wanted,
) -> Result<Application, Failure> {
    // This process has already changed its folder, and a group's own folder is not the folder that the file means.
    let base = settings.own_folder().and(settings.application.chdir.as_deref()).unwrap_or(Path::new("."));
    let found = wanted.find(base).map_err(|fault| Failure::of(vec![fault]))?;
    let (place, attribute, is_file) = match found {
        Target::File { path, attribute } => {
            (settings.place_from_folder(&path).to_string_lossy().into_owned(), attribute, true)
        }
        Target::Module { module, attribute } => (module, attribute, false),
        Target::Folder(_) | Target::Scripts(_) => unreachable!("it is looked at where it is found"),
    };
    let attribute = attribute.unwrap_or_else(|| wanted.usual.to_owned());
    let py = module.py();
    let loaded = forked::stay(py, module.call_method1("load_function", (place, attribute, is_file)));
    let (callable, description) = loaded
        .and_then(|loaded| loaded.extract::<(Py<PyAny>, String)>())
        .map_err(|error| report_at(py, &error, &wanted.at))?;
    Ok(Application { callee: Callee::Function(callable, wanted), description })
}

/// Whether this process runs an application of a file of sites.
pub(crate) fn is_own(sites: &Sites, app: &AppTarget) -> bool {
    is_of(sites, app.group)
}

/// Whether this process runs everything that belongs to this group; `None` stands for everything that belongs to no
/// group.
pub(crate) fn is_of(sites: &Sites, group: Option<usize>) -> bool {
    match sites.part {
        Part::Whole | Part::Door => group.is_none(),
        Part::Group(own) => group == Some(own),
    }
}

/// Whether this process belongs to a group, and another process has given it the group's user.
pub(crate) fn is_of_group(settings: &Settings) -> bool {
    settings.sites.as_ref().is_some_and(|sites| matches!(sites.part, Part::Group(_)))
}

/// Opens a folder of scripts.
pub(crate) fn scripts_of(settings: &Settings, scripts: &Scripts) -> std::io::Result<Files> {
    Files::open(&settings.place(&scripts.folder), scripts.follow_symlinks, &scripts.index)
}

/// Loads an application.
fn load(
    module: &Bound<'_, PyModule>,
    settings: &Settings,
    app: &WantedApp<'_>,
) -> Result<Application, Failure> {
    let &WantedApp { target, interface, factory, ref at } = app;
    let (place, attribute, is_file) = match target {
        Target::Scripts(scripts) => {
            let shown = scripts.folder.display();
            // The folder is opened before anything serves, and as the user that will read it.
            scripts_of(settings, scripts).map_err(|error| {
                Failure::Said(format!("{at}the scripts in {shown} cannot be served: {error}"), 2)
            })?;
            let description = format!("{shown} (scripts)");
            return Ok(Application { callee: Callee::Scripts(scripts.clone(), interface), description });
        }
        Target::Module { module, attribute } => (module.clone(), attribute, false),
        Target::File { path, attribute } => (path.to_string_lossy().into_owned(), attribute, true),
        Target::Folder(folder) => {
            let what = format!("{at}{} is a folder, and no application", folder.display());
            return Err(Failure::Said(what, 2));
        }
    };
    let py = module.py();
    let loaded = module.call_method1("load", (place, attribute, is_file, factory));
    let loaded = forked::stay(py, loaded);
    let (object, name) = loaded
        .and_then(|loaded| loaded.extract::<(Py<PyAny>, String)>())
        .map_err(|error| report_at(py, &error, at))?;
    examine(py, object, &name, interface).map_err(|error| report_at(py, &error, at))
}

/// Checks that large bodies can be stored: otherwise only the first large body would show the fault. If no setting
/// names the folder, the server starts in spite of the fault ([`warn_of_process`]).
pub(crate) fn check_temp_dir(settings: &Settings) -> Result<(), Failure> {
    let named = adyton_cli::ROWS
        .iter()
        .any(|row| row.name == "temp-dir" && settings.messages.temp_dir.as_os_str() != row.default);
    match temp_dir_fault(settings) {
        Some(fault) if named => Err(Failure::Said(fault, 2)),
        _ => Ok(()),
    }
}

/// The reason why large bodies cannot be stored, if they cannot be.
fn temp_dir_fault(settings: &Settings) -> Option<String> {
    let folder = settings.place_from_folder(&settings.messages.temp_dir);
    let error = temp::unlinked(&folder).err()?;
    let at = settings.said_at("temp-dir");
    Some(format!("{at}large bodies cannot be stored in {}: {error} (setting --temp-dir)", folder.display()))
}

/// Warns, once for all workers, of things that the process lacks, and of changes that the application has made to it.
pub(crate) fn warn_of_process(py: Python<'_>, settings: &Settings) -> PyResult<()> {
    if let Some(fault) = temp_dir_fault(settings) {
        log::write(
            &messages::BODIES_NOT_STORED,
            format_args!("{fault}; bodies that are too large for memory are refused"),
        );
    }
    let patched =
        py.import("adyton._application.patched")?.call_method1("report", (settings.threads.threads,))?;
    if let Some(report) = patched.extract::<Option<String>>()? {
        log::write(&messages::THREADS_PATCHED, format_args!("{report}"));
    }
    Ok(())
}

/// Wraps the application in development mode.
pub(crate) fn developed(py: Python<'_>, found: Application, generation: u32) -> PyResult<Application> {
    let module = py.import("adyton._application.develop")?;
    let wrap = |object: Py<PyAny>, kind: &str| -> PyResult<Py<PyAny>> {
        Ok(module.call_method1("wrap", (object, kind, generation))?.unbind())
    };
    let callee = match found.callee {
        Callee::Wsgi(object) => Callee::Wsgi(wrap(object, "wsgi")?),
        Callee::Handler(object) => Callee::Handler(wrap(object, "handler")?),
        other @ (Callee::Scripts(..) | Callee::Function(..)) => other,
    };
    Ok(Application { callee, ..found })
}

/// Warns of an application that keeps state in the memory of one process, although several workers would need the
/// state.
pub(crate) fn warn_of_memory(py: Python<'_>, application: &Application, processes: usize) -> PyResult<()> {
    let (Callee::Wsgi(object) | Callee::Handler(object)) = &application.callee else { return Ok(()) };
    if processes < 2 {
        return Ok(());
    }
    let single = py.import("adyton._application.single")?;
    let reasons: Vec<String> = single.call_method1("reasons", (object,))?.extract()?;
    for reason in reasons {
        let remedy = format!("with {processes} workers the others do not find it: --processes 1 has one");
        log::write(&messages::STATE_OF_ONE, format_args!("memory of one process: {reason}; {remedy}"));
    }
    Ok(())
}

/// Faults of scripts in folders, as far as their text alone shows them.
pub(crate) fn script_faults(
    py: Python<'_>,
    settings: &Settings,
    applications: &[Application],
) -> PyResult<Vec<String>> {
    let mut faults = Vec::new();
    for application in applications {
        // In a folder that itself decides which files are pages, the other files need not be Python.
        if let Callee::Scripts(scripts, _) = &application.callee
            && !scripts.is_asked_for
        {
            let module = py.import("adyton._application.scripts")?;
            let found = module.call_method1("faults", (settings.place(&scripts.folder),))?;
            faults.extend(found.extract::<Vec<String>>()?);
        }
    }
    Ok(faults)
}

/// Finds out what kind of application an object is.
pub(crate) fn examine(
    py: Python<'_>,
    object: Py<PyAny>,
    name: &str,
    interface: Interface,
) -> PyResult<Application> {
    let kind: String = py
        .import("adyton._application.kinds")?
        .call_method1(intern!(py, "kind_of"), (&object, name, word(interface)))?
        .extract()?;
    let (callee, shown) =
        if kind == "handler" { (Callee::Handler(object), "handler") } else { (Callee::Wsgi(object), "WSGI") };
    Ok(Application { callee, description: format!("{name} ({shown})") })
}

/// Name of an interface in the Python half of the package.
pub(crate) fn word(interface: Interface) -> &'static str {
    match interface {
        Interface::Auto => "auto",
        Interface::Wsgi => "wsgi",
        Interface::Handler => "handler",
    }
}

/// Prints the application's own traceback.
pub(crate) fn report(py: Python<'_>, error: &PyErr) -> Failure {
    report_at(py, error, &SaidAt::default())
}

/// Prints a traceback like [`report`], with the place in a file of sites that names the application.
fn report_at(py: Python<'_>, error: &PyErr, at: &SaidAt) -> Failure {
    let module = py.import("adyton._application.failed");
    let told = module.and_then(|module| module.call_method1("report", (error.value(py), at.to_string())));
    match told.and_then(|text| text.extract::<String>()) {
        Ok(text) => adyton_log::complain(&messages::NOT_LOADED, &text),
        Err(second) => return Failure::from(second),
    }
    Failure::Application
}
