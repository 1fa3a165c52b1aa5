//! The Python module `adyton._core`: the only crate that knows Python.

mod failure;
mod handler;
mod interpreter;
mod items;
mod path;
mod payload;
mod serving;
mod streamed;
mod text;
mod threads;
mod wsgi;

use adyton_cli::{Command, Interface};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

use crate::serving::Failure;

/// The server, the classes that it hands to applications, and its command line.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::handler::Request;
    #[pymodule_export]
    use super::wsgi::{Errors, FileWrapper, Input};
    #[pymodule_export]
    use super::{counters, main, serve};
}

/// Runs the command line and returns its exit status: 0 after a clean stop, 1 when the operating
/// system refused something, 2 for a wrong setting, 3 when the application could not be loaded.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python gives is ours")]
fn main(py: Python<'_>, args: Vec<String>, color: bool) -> u8 {
    let done = match adyton_cli::parse(&args, &environment(), color) {
        Ok(Command::Done(text)) => {
            print!("{text}");
            Ok(())
        }
        Ok(Command::Serve(settings)) => serving::serve(py, &settings).map(|done| {
            if !done {
                threads::leave(py);
            }
        }),
        Ok(Command::Check(settings)) => {
            serving::check(py, &settings).map(|found| println!("adyton: {found}"))
        }
        Err(failure) => Err(Failure::Said(failure.message, failure.status)),
    };
    match done {
        Ok(()) => 0,
        Err(Failure::Application) => 3,
        Err(Failure::Said(message, status)) => {
            eprintln!("adyton: {}", one_line(&message));
            status
        }
    }
}

/// Serves an application of this program until a signal stops it; `settings` are the command line's,
/// with underscores in their names.
///
/// Raises `ValueError` for a wrong setting and `OSError` for what the operating system refuses.
#[pyfunction]
#[pyo3(signature = (app=None, /, **settings))]
fn serve(py: Python<'_>, app: Option<Py<PyAny>>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let keywords = settings.map_or_else(|| Ok(Vec::new()), keywords)?;
    let settings = adyton_cli::from_keywords(&keywords, &environment())
        .map_err(|failure| PyValueError::new_err(failure.message))?;
    let application = match app {
        Some(object) => Some(examine(py, object, settings.interface)?),
        None => None,
    };
    serving::serve_application(py, &settings, application).map(|_| ()).map_err(|failure| match failure {
        Failure::Said(message, 2) => PyValueError::new_err(message),
        Failure::Said(message, _) => PyOSError::new_err(message),
        Failure::Application => PyValueError::new_err("the application could not be loaded"),
    })
}

/// What the server of this process has done so far; zeros without one.
#[pyfunction]
fn counters(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let counters = threads::running().map(|server| server.counters()).unwrap_or_default();
    let named = [
        ("inline", counters.inline),
        ("handed_over", counters.handed_over),
        ("queued", counters.queued),
        ("turned_away", counters.turned_away),
        ("departed", counters.departed),
        ("timed_out", counters.timed_out),
        ("stuck", counters.stuck),
        ("threads", counters.threads),
        ("threads_busy", counters.threads_busy),
        ("queue_length", counters.queue_length),
    ];
    let dict = PyDict::new(py);
    named.into_iter().try_for_each(|(name, number)| dict.set_item(name, number))?;
    Ok(dict)
}

fn examine(py: Python<'_>, object: Py<PyAny>, interface: Interface) -> PyResult<serving::Application> {
    let name = object.getattr(py, "__name__").and_then(|name| name.extract::<String>(py));
    let name = name.unwrap_or_else(|_| text::type_name(object.bind(py)));
    serving::examine(py, object, &name, interface)
}

/// A message on one line, whatever was typed: a value may hold control characters.
fn one_line(message: &str) -> String {
    let escape =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    message.chars().map(escape).collect()
}

fn environment() -> Vec<(String, String)> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// Keywords of a call as settings take them: a list for each.
fn keywords(settings: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Vec<String>)>> {
    settings
        .iter()
        .map(|(name, value)| {
            let values = if value.is_none() {
                Vec::new()
            } else if let Ok(pairs) = value.cast::<PyDict>() {
                pairs.iter().map(|(key, value)| format!("{key}={value}")).collect()
            } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
                value.try_iter()?.map(|item| item.and_then(|item| written(&item))).collect::<PyResult<_>>()?
            } else {
                vec![written(&value)?]
            };
            Ok((name.extract()?, values))
        })
        .collect()
}

fn written(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyBool>() {
        Ok(switch) => Ok(if switch.is_true() { "on" } else { "off" }.to_owned()),
        Err(_) => Ok(value.str()?.to_string()),
    }
}
