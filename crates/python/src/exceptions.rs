//! Failures of an application, for the error log.

use adyton_http::Request;
use adyton_log::{self as log, Message, messages};
use adyton_server::{Call, Outcome};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyTraceback;

use crate::interpreter::threads;

/// Method and target of a request, escaped for the log.
pub(crate) fn request_line(request: Request<'_>) -> String {
    let (method, target) = (request.method_name(), request.target());
    format!("{} {}", method.escape_ascii(), target.escape_ascii())
}

/// Logs an application's exception, and returns the outcome of its request.
pub(crate) fn outcome(py: Python<'_>, error: &PyErr, call: &mut Call<'_>) -> Outcome {
    if threads::is_timeout(py, error) {
        // The log already says where the application was.
        return Outcome::TimedOut;
    }
    if error.is_instance_of::<PyOSError>(py) && call.reply.is_abandoned() {
        // `write()` has raised because the client is gone, which is not the application's fault.
        log::write(
            &messages::APPLICATION_GAVE_UP,
            format_args!("an application gave up because its client is gone: {error}"),
        );
        return Outcome::Failed;
    }
    log(py, error, &request_line(call.request));
    Outcome::Failed
}

/// Logs an exception with its traceback; `what` says where it happened.
pub(crate) fn log(py: Python<'_>, error: &PyErr, what: &str) {
    log_as(&messages::APPLICATION_FAILED, py, error, what);
}

/// Logs an exception like [`log()`], as a message of another kind.
pub(crate) fn log_as(message: &'static Message, py: Python<'_>, error: &PyErr, what: &str) {
    let text = traceback(py, error).unwrap_or_else(|_| error.to_string());
    log::write(message, format_args!("{what} failed:\n{}", text.trim_end()));
}

/// The traceback as the interpreter prints it, with chained exceptions and notes, without our frames above the
/// application's.
fn traceback(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    let all: Option<Bound<'_, PyTraceback>> = error.traceback(py);
    let own = py.import("adyton._application.failed")?.call_method1("without_ours", (&all,))?;
    let frames = if own.is_none() { all.into_pyobject(py)?.into_any() } else { own };
    let lines = py
        .import("traceback")?
        .call_method1("format_exception", (error.get_type(py), error.value(py), frames))?;
    let lines: Vec<String> = lines.extract()?;
    Ok(lines.concat())
}
