//! Plain handlers: `handler(request)` returns a `str`, `bytes`, a `Response`, or an iterable of `bytes`.

mod request;
mod response;

use adyton_server::{Call, Outcome};
use pyo3::ffi;
use pyo3::prelude::*;

pub(crate) use self::request::Request;

pub(crate) use self::response::Responses;

use self::response::{Answered, Door};
use crate::hosted::Callable;
use crate::interpreter::forked;
use crate::values::streamed::{self, Streamed};

/// A handler, and the classes that its requests share.
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
}

impl Callable for Handler {
    #[inline]
    fn run(&self, py: Python<'_>, call: &mut Call<'_>) -> PyResult<Outcome> {
        ask(py, &self.function, &self.responses, call)
    }
}

/// Calls a handler and sends its answer.
#[inline]
pub(crate) fn ask(
    py: Python<'_>,
    function: &Py<PyAny>,
    responses: &Responses,
    call: &mut Call<'_>,
) -> PyResult<Outcome> {
    // SAFETY: before this function returns, the request is gone, or `keep` below has given it its own copies.
    let request = Py::new(py, unsafe { Request::lend(py, call)? })?;
    let returned = forked::stay(py, call_one(py, function, &request));
    let answered = match returned {
        Ok(value) => responses.answer(py, value, call),
        Err(error) => responses.abort(py, error, &mut call.reply).map(|()| Answered::Whole),
    };
    let over = !matches!(answered, Ok(Answered::Partly(..)));
    if over {
        request.get().end(py);
    }
    if request.get_refcnt(py) > 1 {
        request.get().keep();
    }
    match answered? {
        Answered::Whole => Ok(Outcome::Done),
        Answered::Partly(items, door) => {
            let streamed = Streamed::new(py, items, Kept { door, request })?;
            Ok(Outcome::Stream(Box::new(streamed)))
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

/// The part of a request that an unfinished answer keeps.
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
