//! The error log, as the Python half of the package and `wsgi.errors` reach it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use adyton_log::{Level, Stream};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Whether the application's streams go to the error log.
static CAPTURES: AtomicBool = AtomicBool::new(false);

/// Sends the application's streams to the error log from now on.
#[pyfunction]
pub(crate) fn begin_capture() {
    CAPTURES.store(true, Ordering::Relaxed);
}

/// Whether this process is about to end.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Number of threads that have detached from the interpreter in order to write.
static ASIDE: AtomicUsize = AtomicUsize::new(0);

/// Time that the end of the process waits for threads that still write.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps threads attached while they write from now on, and waits for those that have detached: a detached thread
/// cannot attach again once the interpreter is taken down.
pub(crate) fn end(py: Python<'_>) {
    ENDS.store(true, Ordering::SeqCst);
    let start = Instant::now();
    while ASIDE.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
        py.detach(|| std::thread::sleep(Duration::from_millis(1)));
    }
}

/// Runs a write that may block; only this thread waits for it.
fn aside(py: Python<'_>, write: impl FnOnce() + Send) {
    ASIDE.fetch_add(1, Ordering::SeqCst);
    if ENDS.load(Ordering::SeqCst) {
        write();
    } else {
        py.detach(write);
    }
    ASIDE.fetch_sub(1, Ordering::SeqCst);
}

/// Ends the unfinished lines of this thread, so that they become entries.
#[pyfunction]
pub(crate) fn end_lines(py: Python<'_>) {
    aside(py, adyton_log::end_lines);
}

/// Takes what the application writes to descriptor 1 or 2.
#[pyfunction]
pub(crate) fn put_out(py: Python<'_>, descriptor: u8, text: &Bound<'_, PyString>) -> PyResult<()> {
    let text = text_of(text)?;
    let stream = if descriptor == 1 { Stream::Output } else { Stream::Error };
    aside(py, || adyton_log::put_out(stream, &text));
    Ok(())
}

/// Takes a record of `logging`: its level (as that module counts, up to 50), its logger's name, its text.
#[pyfunction]
pub(crate) fn relay(
    py: Python<'_>,
    level: i64,
    name: &Bound<'_, PyString>,
    text: &Bound<'_, PyString>,
) -> PyResult<()> {
    let level = match level {
        40.. => Level::Error,
        30.. => Level::Warning,
        20.. => Level::Info,
        _ => Level::Debug,
    };
    if adyton_log::wants(level) {
        let (name, text) = (text_of(name)?, text_of(text)?);
        aside(py, || adyton_log::relay(level, &name, &text));
    }
    Ok(())
}

/// The id of the request that this thread serves, as the logs have it; `None` elsewhere.
#[pyfunction]
pub(crate) fn request_id() -> Option<String> {
    adyton_log::request::current()
}

/// Writes text of `wsgi.errors`.
pub(crate) fn put_error(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<()> {
    if CAPTURES.load(Ordering::Relaxed) {
        return put_out(py, 2, text);
    }
    let text = text_of(text)?;
    // A log that cannot be written must not stop the application.
    aside(py, || adyton_log::put_plain(&text));
    Ok(())
}

/// The text, with characters that cannot be encoded escaped.
fn text_of<'t>(text: &'t Bound<'_, PyString>) -> PyResult<Cow<'t, str>> {
    if let Ok(text) = text.to_str() {
        return Ok(Cow::Borrowed(text));
    }
    let encoded = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
    let bytes: Vec<u8> = encoded.extract()?;
    Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
}
