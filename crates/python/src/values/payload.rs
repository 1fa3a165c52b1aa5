//! `bytes` objects sent from where they are, without a copy.
//!
//! The loop drops a payload when the client has taken it, while its thread is detached from the interpreter. The
//! reference is then put aside, and given back when a thread attaches for another reason. If many bytes are put aside,
//! the loop has a thread attach only to give them back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use adyton_server::{Payload, Pull, Reply, Stream};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes that must have been sent before a thread attaches only to give them back.
const REMAINS_BYTES: usize = 1 << 20;

static SENT: Mutex<Vec<Py<PyBytes>>> = Mutex::new(Vec::new());

/// Bytes in `SENT`: reading this number needs no lock in the path of a request.
static SENT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A reference to a `bytes` object, which is immutable.
pub(crate) struct Borrowed {
    /// `None` only while this value is dropped.
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

    fn is_kept(&self) -> bool {
        // SAFETY: the object lives. Its count may change meanwhile, and the answer is an estimate: the application may
        // give its reference back a moment later.
        self.object.as_ref().is_some_and(|object| unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) > 1 })
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            let mut sent = SENT.lock().unwrap_or_else(PoisonError::into_inner);
            sent.push(object);
            SENT_BYTES.fetch_add(self.length, Ordering::Relaxed);
        }
    }
}

fn take() -> Vec<Py<PyBytes>> {
    let mut sent = SENT.lock().unwrap_or_else(PoisonError::into_inner);
    SENT_BYTES.store(0, Ordering::Relaxed);
    std::mem::take(&mut *sent)
}

/// Gives back the references put aside so far. The token proves that this thread is attached.
pub(crate) fn give_back(_py: Python<'_>) {
    if SENT_BYTES.load(Ordering::Relaxed) > 0 {
        drop(take());
    }
}

/// The references put aside, if they are enough for a thread to attach and give them back.
pub(crate) fn remains() -> Option<Box<dyn Stream>> {
    (SENT_BYTES.load(Ordering::Relaxed) >= REMAINS_BYTES).then(|| Box::new(DroppedReferences(take())) as _)
}

/// References that are given back when this is dropped.
struct DroppedReferences(#[expect(dead_code, reason = "it is there to be dropped")] Vec<Py<PyBytes>>);

impl Stream for DroppedReferences {
    fn pull(&mut self, _reply: &mut Reply<'_>) -> Pull {
        Pull::End
    }
}
