//! Attaching to the interpreter and detaching from it, once for a batch of calls.

use std::cell::Cell;
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

thread_local! {
    /// This thread's state while it is detached; null while it is attached.
    static DETACHED: Cell<*mut ffi::PyThreadState> = const { Cell::new(null_mut()) };
}

/// Whether only one thread at a time runs Python. A free-threaded interpreter runs several, unless something has turned
/// its lock on.
///
/// # Errors
///
/// The interpreter has no `sys`.
pub(crate) fn has_lock(py: Python<'_>) -> PyResult<bool> {
    match py.import("sys")?.getattr_opt("_is_gil_enabled")? {
        Some(asks) => asks.call0()?.extract(),
        None => Ok(true),
    }
}

/// Detaches this thread: other threads may run Python until [`attach`].
///
/// The thread must be attached, and must touch no Python object until it is attached again.
pub(crate) fn detach() {
    debug_assert!(DETACHED.get().is_null(), "detached twice");
    // SAFETY: the caller is attached, as this function demands.
    DETACHED.set(unsafe { ffi::PyEval_SaveThread() });
}

/// Attaches this thread again, waiting for its turn; after [`detach`] on the same thread.
pub(crate) fn attach() {
    let state = DETACHED.replace(null_mut());
    debug_assert!(!state.is_null(), "attached twice");
    // SAFETY: `state` is this thread's own, from `PyEval_SaveThread`.
    unsafe { ffi::PyEval_RestoreThread(state) };
}
