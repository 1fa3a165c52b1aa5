//! The body of an answer, as an application returns it: an iterable of `bytes`.

use std::io;

use adyton_http::BodySize;
use adyton_log::{self as log, messages};
use adyton_server::{Pull, Reply, SHARE_BYTES_MIN};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};
use pyo3::{ffi, intern};

use crate::exceptions;
use crate::interpreter::forked;
use crate::values::file_wrapper::FileWrapper;
use crate::values::payload::{self, Borrowed};
use crate::values::text::{exact_bytes, type_name};

/// Smallest item that is compressed while the thread is detached: it takes 30 µs or more, in which other threads can
/// run Python.
const DETACH_BYTES_MIN: usize = 4 << 10;

/// The interface between a body and its reply: writes the head, and lets the application write to the reply meanwhile.
pub(crate) trait Door {
    /// Writes the head; `size` is the known size of the body.
    ///
    /// # Errors
    ///
    /// The application has not set the head yet.
    fn begin(&self, py: Python<'_>, reply: &mut Reply<'_>, size: BodySize) -> PyResult<()>;

    /// Whether the reply would be compressed.
    fn is_coded(&self, reply: &Reply<'_>) -> bool;

    /// The Content-Length that the application promises.
    fn content_length(&self) -> Option<u64>;

    /// Lets Python code write to `reply` until [`Door::leave`].
    ///
    /// # Safety
    ///
    /// - `reply` stays valid until `leave`.
    /// - Nothing else touches it while Python code runs.
    unsafe fn enter(&self, reply: *mut Reply<'_>);

    /// Ends what `enter` began.
    fn leave(&self);
}

/// Writes a list of `bytes`, which is a whole body: its length is known, and the body is sent together with the head.
pub(crate) fn write_list(
    py: Python<'_>,
    door: &impl Door,
    list: &Bound<'_, PyList>,
    reply: &mut Reply<'_>,
) -> PyResult<()> {
    let length = |item: Bound<'_, PyAny>| exact_bytes(&item).map_or(0, |bytes| bytes.as_bytes().len() as u64);
    let bytes = if list.len() == 1 { length(list.get_item(0)?) } else { list.iter().map(length).sum() };
    door.begin(py, reply, BodySize::Known(bytes))?;
    for item in list {
        if let Some(bytes) = exact_bytes(&item) {
            put(bytes, reply);
        }
    }
    warn_if_unequal(reply);
    Ok(())
}

pub(crate) fn put(bytes: &Bound<'_, PyBytes>, reply: &mut Reply<'_>) {
    if bytes.as_bytes().len() < DETACH_BYTES_MIN {
        reply.write(bytes.as_bytes());
    } else if reply.is_coded() {
        Detached(reply).write(bytes);
    } else if bytes.as_bytes().len() >= SHARE_BYTES_MIN {
        reply.share(Box::new(Borrowed::new(bytes)));
    } else {
        reply.write(bytes.as_bytes());
    }
}

/// Logs a body whose length differs from Content-Length: PEP 3333 wants them equal.
fn warn_if_unequal(reply: &Reply<'_>) {
    if reply.overran() {
        log::write(
            &messages::BODY_TOO_LONG,
            format_args!("an application's body was longer than its Content-Length; cut there"),
        );
    } else if let Some(left) = reply.left_bytes().filter(|&left| left > 0) {
        log::write(
            &messages::BODY_TOO_SHORT,
            format_args!(
                "an application's body was {left} bytes shorter than its Content-Length; connection closed"
            ),
        );
    }
}

/// The reply, used by the same thread while it is detached.
pub(crate) struct Detached<'a, 'c>(pub(crate) &'a mut Reply<'c>);

// SAFETY: `Python::detach` runs its closure on the calling thread, so no value changes threads.
unsafe impl Send for Detached<'_, '_> {}

impl<'c> Detached<'_, 'c> {
    /// Runs `wait` detached.
    pub(crate) fn run(self, py: Python<'_>, wait: fn(&mut Reply<'c>) -> io::Result<()>) -> io::Result<()> {
        // The closure captures all of `self`, which is `Send`, and not only the reference in it.
        py.detach(move || {
            let this = self;
            wait(this.0)
        })
    }

    /// Writes a piece of the body detached.
    fn write(self, bytes: &Bound<'_, PyBytes>) {
        // The object is kept for this long, and is immutable.
        let (py, bytes) = (bytes.py(), bytes.as_bytes());
        py.detach(move || {
            let this = self;
            this.0.write(bytes);
        });
    }
}

/// The body that an application returned, and how much of it was read.
pub(crate) struct Items {
    body: Option<Py<PyAny>>,
    iterator: Option<Py<PyIterator>>,
    /// A `contextvars.Context` in which the rest runs (PEP 567); `None` while it runs in the thread's own context.
    context: Option<Py<PyAny>>,
}

impl Items {
    /// Takes a body, without calling `iter()` on it yet: a file that the kernel sends is never iterated.
    pub(crate) fn new(body: Bound<'_, PyAny>) -> Self {
        Self { body: Some(body.unbind()), iterator: None, context: None }
    }

    /// Copies the current context variables, with which the remaining items run.
    pub(crate) fn keep_context(&mut self, py: Python<'_>) -> PyResult<()> {
        // SAFETY: attached; what comes back is a new reference, or null with an exception.
        let context = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContext_CopyCurrent())? };
        self.context = Some(context.unbind());
        Ok(())
    }

    /// Has the kernel send a `FileWrapper`'s file; `false` if it cannot.
    pub(crate) fn send_file(
        &self,
        py: Python<'_>,
        door: &impl Door,
        reply: &mut Reply<'_>,
    ) -> PyResult<bool> {
        let Some(Ok(wrapper)) = self.body.as_ref().map(|body| body.bind(py).cast_exact::<FileWrapper>())
        else {
            return Ok(false);
        };
        // The kernel cannot send a file that the server compresses.
        if reply.has_begun() || door.is_coded(reply) {
            return Ok(false);
        }
        let Some(sendable) = wrapper.get().sendable(py) else { return Ok(false) };
        if door.content_length().is_some_and(|promised| promised > sendable.bytes) {
            return Ok(false);
        }
        reply.leave_uncoded();
        door.begin(py, reply, BodySize::Known(sendable.bytes))?;
        let bytes = reply.left_bytes().unwrap_or(sendable.bytes).min(sendable.bytes);
        reply.send_file(sendable.file, sendable.offset, bytes);
        Ok(true)
    }

    /// Writes items until none is left, or until the client must first take some.
    pub(crate) fn advance(
        &mut self,
        py: Python<'_>,
        door: &impl Door,
        reply: &mut Reply<'_>,
    ) -> PyResult<Pull> {
        let context = self.context.as_ref().map(|context| context.clone_ref(py));
        let _within = context.map(|context| Within::enter(context.into_bound(py))).transpose()?;
        loop {
            if reply.has_begun() && !reply.wants_body() {
                return Ok(Pull::End);
            }
            // This may be the only thread that attaches before the answer is over, so it gives references back.
            payload::give_back(py);
            let Some(item) = self.next(py, door, reply)? else {
                if !reply.has_begun() {
                    door.begin(py, reply, BodySize::Known(0))?;
                }
                warn_if_unequal(reply);
                return Ok(Pull::End);
            };
            let Some(bytes) = exact_bytes(&item) else {
                return Err(PyTypeError::new_err(format!(
                    "the application's body must yield bytes (PEP 3333), not {}",
                    type_name(&item)
                )));
            };
            if bytes.as_bytes().is_empty() {
                continue;
            }
            if !reply.has_begun() {
                door.begin(py, reply, BodySize::Unknown)?;
            }
            put(bytes, reply);
            // The item need not live through the wait below, unless the application or the output holds it.
            drop(item);
            if reply.overran() {
                warn_if_unequal(reply);
                return Ok(Pull::End);
            }
            // If the whole answer is written, there is no wait for the client, and the application's objects can be
            // dropped.
            if reply.left_bytes() != Some(0) && reply.is_backed_up() {
                if !reply.may_wait() {
                    return Ok(Pull::More);
                }
                if reply.hold() {
                    let _ = Detached(reply).run(py, Reply::store);
                    payload::give_back(py);
                }
                // The check below notices a client that is gone.
                let _ = Detached(reply).run(py, Reply::wait_for_reader);
            }
            if reply.is_abandoned() {
                return Ok(Pull::End);
            }
        }
    }

    fn next<'py>(
        &mut self,
        py: Python<'py>,
        door: &impl Door,
        reply: &mut Reply<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // SAFETY: `reply` outlives this function, which leaves before it returns and does not touch
        // the reply while Python code runs.
        unsafe { door.enter(reply) };
        reply.before_wait();
        let item = forked::stay(py, self.step(py));
        door.leave();
        item
    }

    fn step<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.iterator.is_none() {
            let Some(body) = &self.body else { return Ok(None) };
            let iterator = body.bind(py).try_iter().map_err(|_| {
                PyTypeError::new_err(format!(
                    "the application returned {}, which is no iterable of bytes (PEP 3333)",
                    type_name(body.bind(py))
                ))
            })?;
            self.iterator = Some(iterator.unbind());
        }
        let Some(iterator) = &self.iterator else { return Ok(None) };
        iterator.bind(py).clone().next().transpose()
    }

    /// Calls the body's `close`, which may run as long as any other code of the application.
    pub(crate) fn end(&mut self, py: Python<'_>, reply: &mut Reply<'_>) {
        reply.before_wait();
        self.close(py);
    }

    /// Calls the body's `close`, once (PEP 3333).
    pub(crate) fn close(&mut self, py: Python<'_>) {
        self.iterator = None;
        let Some(body) = self.body.take() else { return };
        let context = self.context.take().map(|context| Within::enter(context.into_bound(py))).transpose();
        let closed = context.and_then(|_within| match body.bind(py).getattr_opt(intern!(py, "close"))? {
            Some(close) => close.call0().map(|_| ()),
            None => Ok(()),
        });
        if let Err(error) = forked::stay(py, closed) {
            exceptions::log(py, &error, "the close() of an application's body");
        }
    }
}

/// Keeps the calling thread in a `contextvars.Context` until it is dropped. Entering once costs less than `Context.run`
/// for each item.
struct Within<'py>(Bound<'py, PyAny>);

impl<'py> Within<'py> {
    fn enter(context: Bound<'py, PyAny>) -> PyResult<Self> {
        // SAFETY: the token of `context` proves that this thread is attached; if it is no context, or a context that a
        // thread has already entered, the interpreter sets an exception.
        if unsafe { ffi::PyContext_Enter(context.as_ptr()) } == 0 {
            Ok(Self(context))
        } else {
            Err(PyErr::fetch(context.py()))
        }
    }
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `enter`; this thread has entered the context, and code that has run since has left every
        // context that it entered.
        if unsafe { ffi::PyContext_Exit(self.0.as_ptr()) } != 0 {
            drop(PyErr::take(self.0.py()));
        }
    }
}
