//! The application: found by the Python half of the package, which knows imports best.

use adyton_cli::{Interface, Settings, Target};
use adyton_log::{self as log, messages};
use adyton_sys::temp;
use pyo3::intern;
use pyo3::prelude::*;

use super::failure::Failure;
use crate::forked;

/// How an application is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `application(environ, start_response)`.
    Wsgi,
    /// `handler(request)`.
    Handler,
}

/// A loaded application.
pub(crate) struct Application {
    pub(crate) object: Py<PyAny>,
    pub(crate) kind: Kind,
    /// Such as `mysite.wsgi:application (WSGI)`.
    pub(crate) description: String,
}

/// Goes where the settings say, and loads what they name: nothing when only folders are served, and for a file of sites each
/// application of its list.
pub(crate) fn prepare(py: Python<'_>, settings: &Settings) -> Result<Vec<Application>, Failure> {
    let module = py.import("adyton._load")?;
    let chdir = settings.chdir.as_deref();
    module
        .call_method1("prepare", (chdir, settings.python_path.clone(), settings.env.clone()))
        .map_err(|error| Failure::Said(error.value(py).to_string(), 2))?;
    let own = match &settings.located {
        Some(target @ (Target::Module { .. } | Target::File { .. })) => {
            vec![(target, settings.interface, settings.factory)]
        }
        None | Some(Target::Folder(_)) => Vec::new(),
    };
    let of_sites = settings.sites.iter().flat_map(|sites| &sites.apps);
    let of_sites = of_sites.map(|app| (&app.target, app.interface, app.factory));
    let wanted: Vec<_> = own.into_iter().chain(of_sites).collect();
    if !wanted.is_empty() {
        check_temp_dir(settings)?;
    }
    wanted
        .into_iter()
        .map(|(target, interface, factory)| load(py, &module, target, (interface, factory)))
        .collect()
}

fn load(
    py: Python<'_>,
    module: &Bound<'_, PyModule>,
    target: &Target,
    (interface, factory): (Interface, bool),
) -> Result<Application, Failure> {
    let (place, attribute, is_file) = match target {
        Target::Module { module, attribute } => (module.clone(), attribute, false),
        Target::File { path, attribute } => (path.to_string_lossy().into_owned(), attribute, true),
        Target::Folder(folder) => {
            let what = format!("{} is a folder, and no application", folder.display());
            return Err(Failure::Said(what, 2));
        }
    };
    let loaded = module.call_method1("load", (place, attribute, is_file, factory));
    let loaded = forked::stay(py, loaded);
    let (object, name) = loaded
        .and_then(|loaded| loaded.extract::<(Py<PyAny>, String)>())
        .map_err(|error| report(py, module, &error))?;
    examine(py, object, &name, interface).map_err(|error| report(py, module, &error))
}

/// Makes sure that large bodies can be stored, which would only be known when the first one comes.
pub(crate) fn check_temp_dir(settings: &Settings) -> Result<(), Failure> {
    let folder = &settings.temp_dir;
    let refused = |error| {
        let what = format!("large bodies cannot be stored in {}: {error}", folder.display());
        Failure::Said(format!("{what} (setting --temp-dir)"), 2)
    };
    temp::unlinked(folder).map(|_| ()).map_err(refused)
}

/// The application with what development adds to it.
pub(crate) fn developed(py: Python<'_>, found: Application, generation: u32) -> PyResult<Application> {
    let kind = match found.kind {
        Kind::Wsgi => "wsgi",
        Kind::Handler => "handler",
    };
    let module = py.import("adyton._develop")?;
    let object = module.call_method1("wrap", (&found.object, kind, generation))?.unbind();
    Ok(Application { object, ..found })
}

/// Warns of an application that keeps in the memory of one process what several workers would have to know.
pub(crate) fn warn_of_memory(py: Python<'_>, application: &Application, processes: usize) -> PyResult<()> {
    if processes < 2 {
        return Ok(());
    }
    let single = py.import("adyton._single")?;
    let reasons: Vec<String> = single.call_method1("reasons", (&application.object,))?.extract()?;
    for reason in reasons {
        let remedy = format!("with {processes} workers the others do not find it: --processes 1 has one");
        log::write(&messages::STATE_OF_ONE, format_args!("memory of one process: {reason}; {remedy}"));
    }
    Ok(())
}

/// Says what kind of application an object is.
pub(crate) fn examine(
    py: Python<'_>,
    object: Py<PyAny>,
    name: &str,
    interface: Interface,
) -> PyResult<Application> {
    let asked = match interface {
        Interface::Auto => "auto",
        Interface::Wsgi => "wsgi",
        Interface::Handler => "handler",
    };
    let kind: String = py
        .import("adyton._kinds")?
        .call_method1(intern!(py, "kind_of"), (&object, name, asked))?
        .extract()?;
    let (kind, shown) = if kind == "handler" { (Kind::Handler, "handler") } else { (Kind::Wsgi, "WSGI") };
    Ok(Application { object, kind, description: format!("{name} ({shown})") })
}

/// Prints the application's own traceback.
pub(crate) fn report(py: Python<'_>, module: &Bound<'_, PyModule>, error: &PyErr) -> Failure {
    let told = module.call_method1("report", (error.value(py),)).and_then(|text| text.extract::<String>());
    match told {
        Ok(text) => adyton_log::complain(&messages::NOT_LOADED, &text),
        Err(second) => return Failure::from(second),
    }
    Failure::Application
}
