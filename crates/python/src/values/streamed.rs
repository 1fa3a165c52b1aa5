//! Answers whose items are pulled as the client takes them.

use adyton_server::{Pull, Reply, Stream};
use pyo3::prelude::*;

use crate::failure;
use crate::values::items::{Door, Items};

/// What belongs to the request of an answer that goes on.
pub(crate) trait Request: Send {
    /// What stands between the body and the reply.
    type Door: Door;

    fn door(&self) -> &Self::Door;

    /// The answer is over. Called at least once.
    fn ended(&self, py: Python<'_>);
}

/// The rest of an answer.
pub(crate) struct Streamed<R: Request> {
    items: Items,
    request: R,
}

impl<R: Request> Streamed<R> {
    /// What is left of `items`, of which some have been asked for: what comes next finds the context variables as they
    /// are now, although other requests run on this thread before.
    ///
    /// # Errors
    ///
    /// The interpreter is out of memory.
    pub(crate) fn new(py: Python<'_>, mut items: Items, request: R) -> PyResult<Self> {
        match items.keep_context(py) {
            Ok(()) => Ok(Self { items, request }),
            Err(error) => {
                items.close(py);
                Err(error)
            }
        }
    }

    fn finish(&mut self, py: Python<'_>) {
        self.items.close(py);
        self.request.ended(py);
    }
}

impl<R: Request> Stream for Streamed<R> {
    fn pull(&mut self, reply: &mut Reply<'_>) -> Pull {
        // SAFETY: the loop pulls between `attach` and `detach`.
        let py = unsafe { Python::assume_attached() };
        let pulled = self.items.advance(py, self.request.door(), reply).unwrap_or_else(|error| {
            failure::log(py, &error, "an answer that had begun");
            Pull::Failed
        });
        if pulled != Pull::More {
            reply.before_wait();
            self.finish(py);
        }
        pulled
    }
}

impl<R: Request> Drop for Streamed<R> {
    fn drop(&mut self) {
        // SAFETY: the loop drops streams between `attach` and `detach`.
        let py = unsafe { Python::assume_attached() };
        self.finish(py);
    }
}
