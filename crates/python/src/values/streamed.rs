//! Answers whose items are pulled as the client takes them.

use adyton_server::{Pull, Reply, Stream};
use pyo3::prelude::*;

use crate::exceptions;
use crate::values::items::{Door, Items};

/// The part of a request that an unfinished answer still needs.
pub(crate) trait Request: Send {
    /// The interface between the body and the reply.
    type Door: Door;

    fn door(&self) -> &Self::Door;

    /// Called at least once, when the answer is over.
    fn ended(&self, py: Python<'_>);
}

/// The rest of an unfinished answer.
pub(crate) struct Streamed<R: Request> {
    items: Items,
    request: R,
}

impl<R: Request> Streamed<R> {
    /// Takes the rest of `items`, some of which have been written. The remaining items see the context variables as
    /// they are now, although the thread serves other requests in between.
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
            exceptions::log(py, &error, "an answer that had begun");
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
