//! Scripts in a folder, each an application: found by the path, loaded when they are new or changed, and called.

mod edition;
mod registry;

use std::sync::Arc;
use std::time::Duration;

use adyton_files::error_page;
use adyton_files::programs::NoProgram;
use adyton_files::scripts::{Listed, Named, Scripts as Files, Stamp, Unnamed};
use adyton_log::{self as log, messages};
use adyton_route::{escaped, raw_bytes, spelled};
use adyton_server::{Call, MountPoint, Outcome};
use adyton_sys::fs::{Fault, Location};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use self::edition::Edition;
use self::registry::{Page, Registry, Turn};
use crate::exceptions;
use crate::handler::{self, Responses};
use crate::hosted::Callable;
use crate::interpreter::{forked, threads};
use crate::wsgi::Caller;

/// Time that a thread waits while another thread loads a script; after it, the waiting thread checks whether it is
/// interrupted.
const PATIENCE: Duration = Duration::from_millis(50);

/// The scripts of a folder.
pub(crate) struct Scripts {
    files: Files,
    interface: &'static str,
    registry: Registry<Version, Edition>,
    caller: Caller,
    responses: Responses,
    /// The module of the Python half that loads scripts.
    loader: Py<PyModule>,
}

/// A version of a script that is loaded.
struct Version {
    application: Py<PyAny>,
    is_handler: bool,
    /// The global names of the script.
    names: Py<PyDict>,
    /// Path of the script's file.
    path: Py<PyString>,
    place: Location,
    edition: Edition,
}

/// The reason why no script answers.
enum Refused {
    /// The path names no script.
    Unnamed(Unnamed),
    /// The script could not be loaded; the log says why.
    Broken,
}

impl Scripts {
    /// The scripts of a folder; `interface` says how they are called, as `adyton._application.kinds` names it.
    ///
    /// # Errors
    ///
    /// The package's Python half cannot be imported.
    pub(crate) fn new(
        py: Python<'_>,
        files: Files,
        interface: &'static str,
        caller: Caller,
    ) -> PyResult<Scripts> {
        Ok(Scripts {
            files,
            interface,
            registry: Registry::default(),
            caller,
            responses: Responses::new(py)?,
            loader: py.import("adyton._application.scripts")?.unbind(),
        })
    }

    /// Loads scripts before the first request for them; `shown` is the folder's name in the log. A script that fails is
    /// logged, and is no error here.
    ///
    /// # Errors
    ///
    /// The interpreter cannot go on.
    pub(crate) fn preload(&self, py: Python<'_>, patterns: &[String], shown: &str) -> PyResult<()> {
        let listed = py.detach(|| self.files.list(patterns)).unwrap_or_else(|error| {
            log::write(&messages::PAGES_LEFT, format_args!("the pages of {shown} cannot be listed: {error}"));
            Listed::default()
        });
        for file in &listed.files {
            let path = [b"/", &**file].concat();
            if let Err(Refused::Unnamed(Unnamed::Absent(why))) = self.page(py, &path)? {
                let path = self.files.path(file);
                log::write(
                    &messages::PAGE_NOT_LOADED,
                    format_args!("{} cannot be loaded: {}", path.display(), why.detail),
                );
            }
        }
        if listed.is_cut {
            let count = listed.files.len();
            log::write(
                &messages::PAGES_LEFT,
                format_args!(
                    "{shown}: {count} of the pages are loaded now, and the others when they are asked for"
                ),
            );
        }
        Ok(())
    }

    /// The script that a path names, and the length of the part of the path that names it.
    fn page(&self, py: Python<'_>, path: &[u8]) -> PyResult<Result<(Arc<Version>, usize), Refused>> {
        let mut outdated = None;
        let guess = self.files.guess(path);
        if let Some(Named { file, name_bytes }) = &guess
            && let Some(version) = self.registry.current(file)
            && let Some(stamp) = self.files.stamp(&version.place)
            && version.edition.is_in(&self.files, file, stamp)
        {
            if !version.wants_reload(py)? {
                return Ok(Ok((version, *name_bytes)));
            }
            outdated = Some(version);
        }
        match self.files.find(path) {
            Ok((named, stamp)) => {
                let found = self.loaded(py, &named.file, stamp, outdated.as_ref())?;
                Ok(found.map(|version| (version, named.name_bytes)))
            }
            Err(unnamed) => {
                if let (Some(named), Unnamed::Absent(NoProgram { status: 404, .. })) = (guess, unnamed) {
                    self.forget(py, &named.file)?;
                }
                Ok(Err(Refused::Unnamed(unnamed)))
            }
        }
    }

    /// The version that answers for a file with this stamp, unless that version is `outdated`. If there is none, loads
    /// the script. While another thread loads it, the earlier version answers.
    fn loaded(
        &self,
        py: Python<'_>,
        file: &[u8],
        stamp: Stamp,
        outdated: Option<&Arc<Version>>,
    ) -> PyResult<Result<Arc<Version>, Refused>> {
        let is_known = |page: &Page<Version, Edition>| {
            let is_outdated = |version| outdated.is_some_and(|outdated| Arc::ptr_eq(version, outdated));
            let mut current = page.current.iter().filter(|version| !is_outdated(version));
            let mut failed = page.failed.iter();
            current.any(|version| version.edition.is_in(&self.files, file, stamp))
                || failed.any(|edition| edition.is_in(&self.files, file, stamp))
        };
        let mut has_waited = false;
        loop {
            let page = self.registry.page(file);
            // If another thread has loaded the script during the wait, its result is good enough, even if the file has
            // changed again.
            let is_made = has_waited && !page.is_loading && (page.current.is_some() || page.failed.is_some());
            if is_made || is_known(&page) {
                return Ok(page.current.ok_or(Refused::Broken));
            }
            if let Some(turn) = self.registry.begin(file) {
                let page = self.registry.page(file);
                if is_known(&page) {
                    return Ok(page.current.ok_or(Refused::Broken));
                }
                return self.load(py, turn, file, page.current);
            }
            if let Some(version) = page.current {
                return Ok(Ok(version));
            }
            py.detach(|| self.registry.wait(file, PATIENCE));
            self.loader.bind(py).call_method0(intern!(py, "give_way"))?;
            has_waited = true;
        }
    }

    /// Loads a script. If that fails, the earlier version goes on answering.
    fn load(
        &self,
        py: Python<'_>,
        turn: Turn<'_, Version, Edition>,
        file: &[u8],
        before: Option<Arc<Version>>,
    ) -> PyResult<Result<Arc<Version>, Refused>> {
        let path = self.files.path(file);
        let (source, stamp) = match py.detach(|| self.files.read(file)) {
            Ok(read) => read,
            Err(error) => return Ok(before.ok_or_else(|| unreadable(&path, &error))),
        };
        let edition = Edition::of(&source, stamp);
        let path = path.into_os_string().into_pyobject(py)?;
        let arguments = (&path, PyBytes::new(py, &source), stamp.mtime_s(), self.interface);
        let loaded = self.loader.bind(py).call_method1(intern!(py, "load"), arguments);
        let loaded = forked::stay(py, loaded).and_then(|loaded| {
            let (application, kind, names): (Py<PyAny>, String, Py<PyDict>) = loaded.extract()?;
            let place = self.files.locate(file)?;
            let (is_handler, path) = (kind == "handler", path.clone().unbind());
            Ok((application, is_handler, names, path, place))
        });
        match loaded {
            Ok((application, is_handler, names, path, place)) => {
                let version = Arc::new(Version { application, is_handler, names, path, place, edition });
                turn.succeed(Arc::clone(&version));
                Ok(Ok(version))
            }
            // The request has run out of time, not the script: the next request tries again.
            Err(error) if threads::is_timeout(py, &error) => Err(error),
            Err(error) => {
                let follows = if before.is_some() { "; its earlier version goes on answering" } else { "" };
                let text: String = py
                    .import("adyton._application.failed")?
                    .call_method1("report", (error.value(py),))?
                    .extract()?;
                log::write(
                    &messages::PAGE_NOT_LOADED,
                    format_args!("{path} cannot be loaded{follows}:\n{}", text.trim_end()),
                );
                turn.fail(edition);
                Ok(before.ok_or(Refused::Broken))
            }
        }
    }

    /// Forgets a script whose file is gone.
    fn forget(&self, py: Python<'_>, file: &[u8]) -> PyResult<()> {
        let Some(version) = self.registry.forget(file) else { return Ok(()) };
        let arguments = (&version.path, &version.names);
        self.loader.bind(py).call_method1(intern!(py, "forget"), arguments).map(|_| ())
    }

    /// Calls a script to answer; `name` is the decoded path of the script.
    fn ask(&self, py: Python<'_>, version: &Version, name: &[u8], call: &mut Call<'_>) -> PyResult<Outcome> {
        if version.is_handler {
            return handler::ask(py, &version.application, &self.responses, call);
        }
        let raw_bytes = raw_bytes(call.request.path(), name.len());
        let mount = MountPoint { path: name, raw_bytes };
        let environ = self.caller.environ(py, call, mount)?;
        environ.set_item(intern!(py, "SCRIPT_FILENAME"), &version.path)?;
        self.caller.ask(py, &version.application, environ, call)
    }
}

impl Callable for Scripts {
    fn run(&self, py: Python<'_>, call: &mut Call<'_>) -> PyResult<Outcome> {
        let request = call.request;
        let Ok(path) = spelled(request.path()) else {
            call.reply.fail(400, "The path has a . or .. as a segment.");
            return Ok(Outcome::Done);
        };
        let mount_bytes = call.mount.path.len();
        match self.page(py, path.get(mount_bytes..).unwrap_or_default())? {
            Ok((version, bytes)) => return self.ask(py, &version, &path[..mount_bytes + bytes], call),
            Err(Refused::Unnamed(Unnamed::Absent(why))) => call.reply.fail(why.status, why.detail),
            Err(Refused::Unnamed(Unnamed::Unslashed)) => add_slash(&path, call),
            Err(Refused::Broken) => call.reply.fail(500, "This page could not be loaded."),
        }
        Ok(Outcome::Done)
    }
}

impl Version {
    /// Whether the script wants to be loaded again although its file is the same, like scripts of `mod_wsgi`.
    fn wants_reload(&self, py: Python<'_>) -> PyResult<bool> {
        let names = self.names.bind(py);
        if !names.contains(intern!(py, "__mtime__"))? {
            return Ok(true);
        }
        let Some(asks) = names.get_item(intern!(py, "reload_required"))? else { return Ok(false) };
        let said = asks.call1((&self.path,)).and_then(|said| said.is_truthy());
        forked::stay(py, said).or_else(|error| {
            if threads::is_timeout(py, &error) {
                return Err(error);
            }
            exceptions::log(py, &error, &format!("reload_required() of {}", self.path.bind(py)));
            Ok(false)
        })
    }
}

/// The reason why an existing file could not be read.
fn unreadable(path: &std::path::Path, error: &std::io::Error) -> Refused {
    let why = match Fault::of(error) {
        Fault::Absent => NoProgram { status: 404, detail: "There is no such page." },
        Fault::Denied => NoProgram { status: 403, detail: "The server may not read this page." },
        _ => {
            let path = path.display();
            log::write(&messages::PAGE_NOT_LOADED, format_args!("{path} cannot be read: {error}"));
            return Refused::Broken;
        }
    };
    Refused::Unnamed(Unnamed::Absent(why))
}

/// Redirects a client to the path of a folder with a slash at its end: relative links of its page need the slash.
fn add_slash(path: &[u8], call: &mut Call<'_>) {
    let mut location = escaped(path);
    location.push(b'/');
    let query = call.request.query();
    if !query.is_empty() {
        location.extend([b"?", query].concat());
    }
    let page = call.reply.render(|out, asked, identity| {
        let detail = "This is a folder: its address ends with a slash.";
        error_page(out, asked, &identity, 308, detail, &[(b"Location", &location)])
    });
    call.reply.take(page);
}
