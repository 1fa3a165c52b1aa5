//! Plain handlers: `handler(request)` returns a `str`, `bytes`, a `Response`, or an iterable of `bytes`.

mod request;
mod response;

use adyton_server::{App, Call, IfStill, Outcome, Stream};
use pyo3::ffi;
use pyo3::prelude::*;

pub(crate) use self::request::Request;

use self::response::{Answered, Door, Responses};
use crate::failure;
use crate::interpreter;
use crate::payload;
use crate::streamed::{self, Streamed};
use crate::threads;

/// A handler and what its requests share.
pub(crate) struct Handler {
    function: Py<PyAny>,
    responses: Responses,
}

impl Handler {
    /// # Errors
    ///
    /// The package's Python half cannot be imported.
    pub(crate) fn new(py: Python<'_>, function: Py<PyAny>) -> PyResult<Self> {
        Ok(Self { function, responses: Responses::new(py)? })
    }

    fn run(&self, py: Python<'_>, call: &mut Call<'_>) -> PyResult<Option<Streamed<Kept>>> {
        // SAFETY: below, the request either is gone or has its own copies before this returns.
        let request = Py::new(py, unsafe { Request::lend(py, call)? })?;
        let returned = call_one(py, &self.function, &request);
        let answered = match returned {
            Ok(value) => self.responses.answer(py, value, call),
            Err(error) => self.responses.abort(py, error, &mut call.reply).map(|()| Answered::Whole),
        };
        let over = !matches!(answered, Ok(Answered::Partly(..)));
        if over {
            request.get().end(py);
        }
        if request.get_refcnt(py) > 1 {
            request.get().keep();
        }
        match answered? {
            Answered::Whole => Ok(None),
            Answered::Partly(items, door) => Streamed::new(py, items, Kept { door, request }).map(Some),
        }
    }
}

/// `handler(request)` by vectorcall (PEP 590).
fn call_one<'py>(
    py: Python<'py>,
    function: &Py<PyAny>,
    request: &Py<Request>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: attached; both are live references, which the call borrows.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyObject_CallOneArg(function.as_ptr(), request.as_ptr())) }
}

impl App for Handler {
    fn attach(&self) {
        interpreter::attach();
    }

    fn detach(&self) {
        interpreter::detach();
    }

    fn remains(&self) -> Option<Box<dyn Stream>> {
        payload::remains()
    }

    fn spawn(&self) -> bool {
        threads::spawn()
    }

    fn interrupt(&self, thread: u64, if_still: IfStill<'_>) -> Option<String> {
        threads::interrupt(thread, if_still)
    }

    fn absolve(&self, thread: u64) {
        threads::absolve(thread);
    }

    fn call(&self, call: &mut Call<'_>) -> Outcome {
        // SAFETY: the loop calls between `attach` and `detach`.
        let py = unsafe { Python::assume_attached() };
        payload::give_back(py);
        match self.run(py, call) {
            Ok(None) => Outcome::Done,
            Ok(Some(streamed)) => Outcome::Stream(Box::new(streamed)),
            Err(error) => failure::outcome(py, &error, call),
        }
    }
}

/// What belongs to an answer that goes on.
struct Kept {
    door: Door,
    request: Py<Request>,
}

impl streamed::Request for Kept {
    type Door = Door;

    fn door(&self) -> &Door {
        &self.door
    }

    fn ended(&self, py: Python<'_>) {
        self.request.get().end(py);
    }
}
