//! `bytes` objects sent from where they are, without a copy.
//!
//! The loop drops a payload when the client has taken it, at a moment when its thread is not
//! attached to the interpreter: the reference is put aside and given back at the next call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use adyton_server::Payload;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

static DONE: Mutex<Vec<Py<PyBytes>>> = Mutex::new(Vec::new());

/// Whether `DONE` has anything: a look at it costs the path of a request no lock.
static ANY_DONE: AtomicBool = AtomicBool::new(false);

/// A reference to a `bytes` object, which is immutable.
pub(crate) struct Borrowed {
    /// `None` only while it is dropped.
    object: Option<Py<PyBytes>>,
    data: *const u8,
    length: usize,
}

// SAFETY: `data` points into the immutable object that `object` keeps alive, whichever thread reads it.
unsafe impl Send for Borrowed {}

impl Borrowed {
    pub(crate) fn new(object: &Bound<'_, PyBytes>) -> Self {
        let bytes = object.as_bytes();
        Self { data: bytes.as_ptr(), length: bytes.len(), object: Some(object.clone().unbind()) }
    }
}

impl Payload for Borrowed {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `data` and `length` are those of a `bytes` object that lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.data, self.length) }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            DONE.lock().unwrap_or_else(PoisonError::into_inner).push(object);
            ANY_DONE.store(true, Ordering::Release);
        }
    }
}

/// Gives back what was sent since the last time. The token proves that this thread may.
pub(crate) fn give_back(_py: Python<'_>) {
    if !ANY_DONE.load(Ordering::Relaxed) || !ANY_DONE.swap(false, Ordering::Acquire) {
        return;
    }
    let done = std::mem::take(&mut *DONE.lock().unwrap_or_else(PoisonError::into_inner));
    drop(done);
}
