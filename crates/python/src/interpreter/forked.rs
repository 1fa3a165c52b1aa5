//! Children that the application forks in a request, in a hook, or during its import: they never return from the call
//! that they were forked in, because all code behind that call is the server's.

use adyton_log::{self as log, messages};
use adyton_sys::forks;
use pyo3::exceptions::{PyOSError, PySystemExit};
use pyo3::prelude::*;

use crate::exceptions;
use crate::interpreter::threads;

/// The exit status of a program that an exception has ended.
const FAILED: i32 = 1;

/// Returns the result of a call of the application, in the process that has made the call. In a child that was forked
/// during the call, ends the process as Python ends a program: with status 0, with the code of a `SystemExit`, or with
/// a traceback and status 1.
#[inline]
pub(crate) fn stay<T>(py: Python<'_>, returned: PyResult<T>) -> PyResult<T> {
    if forks::is_child() { end(py, returned.err()) } else { returned }
}

/// Refuses an action in a child, because only the serving process can do it.
///
/// # Errors
///
/// This process is a child.
pub(crate) fn refuse(what: &str) -> PyResult<()> {
    if forks::is_child() {
        return Err(PyOSError::new_err(format!(
            "{what} belongs to the server that this process was forked from"
        )));
    }
    Ok(())
}

#[cold]
fn end(py: Python<'_>, error: Option<PyErr>) -> ! {
    let status = error.map_or(0, |error| status_of(py, &error));
    threads::leave(py, status)
}

fn status_of(py: Python<'_>, error: &PyErr) -> i32 {
    if !error.is_instance_of::<PySystemExit>(py) {
        exceptions::log(py, error, "a process that the application has forked");
        return FAILED;
    }
    match error.value(py).getattr("code") {
        Ok(code) if code.is_none() => 0,
        Ok(code) => code.extract::<i64>().map_or_else(
            |_| {
                log::write(&messages::APPLICATION_FAILED, format_args!("{code}"));
                FAILED
            },
            // The lowest byte, as exit(3) has it.
            |code| (code & 0xff) as i32,
        ),
        Err(_) => FAILED,
    }
}
