//! `start_response` and the `write` that it returns (PEP 3333, "The `start_response()` Callable").
//!
//! Both are plain C functions, so that a call makes no argument tuple. `start_response` carries `(exchange, write)` as
//! its self, `write` carries the exchange, and nothing points back, so no cycle keeps a request's objects alive. If the
//! application has kept none of them, nor its input, they serve the next request as well.

use std::cell::Cell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use adyton_http::{BadResponse, BodySize, HeadFacts};
use adyton_http1 as http1;
use adyton_log::{self as log, messages};
use adyton_server::Reply;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::interpreter::forked;
use crate::values::items::{Detached, Door};
use crate::values::text::{latin1_bytes, type_name};
use crate::wsgi::Input;
use crate::wsgi::fields::Fields;

thread_local! {
    /// The exchange whose application this thread runs, and the answer that its `write` writes to.
    static CURRENT: Cell<(*const Exchange, *mut Reply<'static>)> = const { Cell::new((null(), null_mut())) };
}

struct ExchangeState {
    /// The rendered arguments of `start_response`: checked in the call, so that an error is raised there.
    head: Vec<u8>,
    facts: Option<HeadFacts>,
    begun: bool,
    over: bool,
    /// Checked fields of earlier answers.
    fields: Fields,
}

/// The `start_response` of a request, and the arguments that it got.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Exchange {
    state: Mutex<ExchangeState>,
}

/// Objects that a request lends to the application, and reuses unless the application keeps them.
pub(crate) struct Lent {
    exchange: Py<Exchange>,
    pub(crate) input: Py<Input>,
    pub(crate) start_response: Py<PyAny>,
    write: Py<PyAny>,
}

/// A function of the C API with a constant definition.
struct Definition(ffi::PyMethodDef);

// SAFETY: the definition is constant; its strings and functions are static.
unsafe impl Sync for Definition {}

static START_RESPONSE: Definition = Definition(ffi::PyMethodDef {
    ml_name: c"start_response".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: start_response },
    ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
    ml_doc: START_RESPONSE_DOC.as_ptr(),
});

const START_RESPONSE_DOC: &CStr =
    c"start_response(status, headers, exc_info=None)\n\nBegins the answer (PEP 3333). Returns write().";

static WRITE: Definition = Definition(ffi::PyMethodDef {
    ml_name: c"write".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer { PyCFunction: write },
    ml_flags: ffi::METH_O,
    ml_doc: c"write(data)\n\nSends a piece of the body at once (PEP 3333); for old applications.".as_ptr(),
});

impl Lent {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let state = ExchangeState {
            head: Vec::new(),
            facts: None,
            begun: false,
            over: false,
            fields: Fields::default(),
        };
        let exchange = Py::new(py, Exchange { state: Mutex::new(state) })?;
        let write = function(py, &WRITE, exchange.bind(py).as_any())?;
        let both = PyTuple::new(py, [exchange.bind(py).as_any(), write.bind(py)])?;
        let start_response = function(py, &START_RESPONSE, both.as_any())?;
        Ok(Self { exchange, input: Py::new(py, Input::empty())?, start_response, write })
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        self.exchange.get()
    }

    /// Whether only this crate holds the objects: `write` is held by us and by `start_response`'s self.
    pub(crate) fn is_unshared(&self, py: Python<'_>) -> bool {
        self.start_response.get_refcnt(py) == 1
            && self.write.get_refcnt(py) == 2
            && self.input.get_refcnt(py) == 1
    }

    /// Ends the request: objects that the application has kept stop working.
    pub(crate) fn end(&self) {
        self.exchange().lock().over = true;
        self.input.get().end();
    }
}

fn function(py: Python<'_>, definition: &'static Definition, this: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    // SAFETY: attached; the definition is static, as the function object needs, and never written to.
    unsafe {
        let function =
            ffi::PyCFunction_NewEx((&raw const definition.0).cast_mut(), this.as_ptr(), null_mut());
        Ok(Bound::from_owned_ptr_or_err(py, function)?.unbind())
    }
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, ExchangeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares the exchange for another request.
    pub(crate) fn renew(&self) {
        let mut state = self.lock();
        state.head.clear();
        (state.facts, state.begun, state.over) = (None, false, false);
    }

    fn start(
        &self,
        status: &Bound<'_, PyAny>,
        headers: &Bound<'_, PyAny>,
        exc_info: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (code, reason) = status_of(status)?;
        let headers = headers.cast_exact::<PyList>().map_err(|_| {
            PyTypeError::new_err(format!("headers must be a list (PEP 3333), not {}", type_name(headers)))
        })?;
        let mut state = self.lock();
        if state.over {
            return Err(PyRuntimeError::new_err("start_response was called after its request was over"));
        }
        // A call that has failed has set nothing, so it does not count.
        if state.facts.is_some() || exc_info.is_some() {
            let begun = state.begun;
            drop(state);
            admit_again(begun, exc_info)?;
            state = self.lock();
        }
        state.facts = None;
        state.head.clear();
        // Rendering runs no Python code, so holding the lock is safe; describing an error may run some.
        let ExchangeState { head, fields, .. } = &mut *state;
        let rendered = render(head, fields, code, reason, headers);
        match rendered {
            Ok(facts) => {
                state.facts = Some(facts);
                Ok(())
            }
            Err(unfit) => {
                drop(state);
                Err(unfit.into())
            }
        }
    }

    /// Implements `write`: sends the head unless it was sent, then the data, without delay.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(data) = data.cast_exact::<PyBytes>() else {
            return Err(PyTypeError::new_err(format!(
                "write() takes bytes (PEP 3333), not {}",
                type_name(data)
            )));
        };
        let (exchange, reply) = CURRENT.get();
        if !std::ptr::eq(exchange, self) {
            return Err(PyRuntimeError::new_err(self.why_not_here()));
        }
        forked::refuse("the client")?;
        let begun = self.lock().begun;
        // SAFETY: between `enter` and `leave` the pointer is valid, and this is the thread that entered:
        // it is inside the application now and so does not use the reply itself.
        let reply: &mut Reply<'_> = unsafe { &mut *reply };
        if !begun {
            self.begin(py, reply, BodySize::Unknown)?;
        }
        reply.write(data.as_bytes());
        let sent = Detached(reply).run(py, Reply::send_now);
        // The application may run on for as long as it likes.
        reply.before_wait();
        sent.map_err(|error| PyOSError::new_err(format!("the client has not taken the answer: {error}")))
    }
}

impl Exchange {
    /// The reason why this thread, which is not inside this request's call, cannot write to its answer.
    fn why_not_here(&self) -> &'static str {
        if self.lock().over {
            "write() was called after its request was over"
        } else {
            "write() was called outside the call of the application, or on another thread: only the thread \
             that the server has called may write, so hand the data over to it, with a queue.Queue for example"
        }
    }
}

impl Door for Exchange {
    fn begin(&self, _py: Python<'_>, reply: &mut Reply<'_>, size: BodySize) -> PyResult<()> {
        let mut state = self.lock();
        let Some(facts) = state.facts else {
            return Err(PyRuntimeError::new_err(
                "the application returned a body without having called start_response (PEP 3333)",
            ));
        };
        state.begun = true;
        if facts.dropped() {
            log::write(
                &messages::FIELD_DROPPED,
                format_args!(
                    "an application's Connection, Transfer-Encoding or other field of the connection was dropped (PEP 3333)"
                ),
            );
        }
        reply.head_from(&state.head, facts, size);
        Ok(())
    }

    fn is_coded(&self, reply: &Reply<'_>) -> bool {
        reply.would_code(&self.lock().head)
    }

    fn content_length(&self) -> Option<u64> {
        self.lock().facts.and_then(|facts| facts.content_length())
    }

    unsafe fn enter(&self, reply: *mut Reply<'_>) {
        CURRENT.set((self, reply.cast()));
    }

    fn leave(&self) {
        CURRENT.set((null(), null_mut()));
    }
}

/// Refuses a second `start_response` that may not replace the first one's arguments.
fn admit_again(begun: bool, exc_info: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(exc_info) = exc_info else {
        return Err(PyRuntimeError::new_err(if begun {
            "start_response was called again after the answer had begun (PEP 3333)"
        } else {
            "start_response was called again without exc_info: only an error may replace what was said (PEP 3333)"
        }));
    };
    let tuple = exc_info.cast::<PyTuple>().map_err(|_| {
        PyTypeError::new_err(format!(
            "exc_info must be a tuple or None (PEP 3333), not {}",
            type_name(exc_info)
        ))
    })?;
    if tuple.len() != 3 {
        let length = tuple.len();
        return Err(PyValueError::new_err(format!(
            "exc_info must have three items (PEP 3333), not {length}"
        )));
    }
    if begun { Err(PyErr::from_value(tuple.get_item(1)?)) } else { Ok(()) }
}

/// The reason why a head could not be rendered.
enum Unfit<'py> {
    Response(BadResponse),
    Python(PyErr),
    /// An object that is no pair of `str`.
    Pair(Bound<'py, PyAny>),
}

impl From<BadResponse> for Unfit<'_> {
    fn from(bad: BadResponse) -> Self {
        Self::Response(bad)
    }
}

impl From<PyErr> for Unfit<'_> {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Unfit<'_>> for PyErr {
    fn from(unfit: Unfit<'_>) -> Self {
        match unfit {
            Unfit::Response(bad) => PyValueError::new_err(bad.to_string()),
            Unfit::Python(error) => error,
            Unfit::Pair(header) => {
                let shown = header.repr().map_or_else(|_| type_name(&header), |text| text.to_string());
                let message = format!("each header must be a tuple of two str (PEP 3333), not {shown}");
                // A tuple of a wrong length still has the right type, so the error is about its value, as with
                // mod_wsgi.
                match header.cast_exact::<PyTuple>() {
                    Ok(tuple) if tuple.len() != 2 => PyValueError::new_err(message),
                    _ => PyTypeError::new_err(message),
                }
            }
        }
    }
}

fn render<'py>(
    out: &mut Vec<u8>,
    fields: &mut Fields,
    code: u16,
    reason: &[u8],
    headers: &Bound<'py, PyList>,
) -> Result<HeadFacts, Unfit<'py>> {
    let mut head = http1::begin(out, code, reason)?;
    // Rendering runs no Python code: the list grows and shrinks only if another thread changes it.
    for index in 0..headers.len() {
        let header = headers.get_item(index)?;
        let Ok(pair) = header.cast_exact::<PyTuple>() else { return Err(Unfit::Pair(header)) };
        if let Some(field) = fields.find(pair) {
            head.checked(field)?;
            continue;
        }
        if pair.len() != 2 {
            return Err(Unfit::Pair(header));
        }
        let (name, value) = (pair.get_borrowed_item(0)?, pair.get_borrowed_item(1)?);
        let (Ok(name), Ok(value)) = (name.cast::<PyString>(), value.cast::<PyString>()) else {
            return Err(Unfit::Pair(header));
        };
        let (name, value) = (latin1_bytes(&name, "a header name")?, latin1_bytes(&value, "a header value")?);
        if !Fields::wants(pair) {
            head.field(name, value)?;
        } else if let Some(field) = head.check(name, value)? {
            fields.keep(pair, field);
        }
    }
    Ok(head.pause())
}

/// Splits `"404 Not Found"` into number and phrase.
fn status_of<'s>(status: &'s Bound<'_, PyAny>) -> PyResult<(u16, &'s [u8])> {
    let Ok(text) = status.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!(
            "status must be a str (PEP 3333), not {}",
            type_name(status)
        )));
    };
    let bytes = latin1_bytes(text, "the status")?;
    let (code, reason) = bytes.split_at(bytes.len().min(3));
    if code.len() == 3 && code.iter().all(u8::is_ascii_digit) && (reason.is_empty() || reason[0] == b' ') {
        let code = code.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
        return Ok((code, reason.get(1..).unwrap_or_default()));
    }
    let shown = text.repr()?;
    Err(PyValueError::new_err(format!("status must be like '200 OK' (PEP 3333), not {shown}")))
}

/// Runs `body` and turns its error, or its panic, into a raised exception.
fn guarded(py: Python<'_>, body: impl FnOnce() -> PyResult<Py<PyAny>>) -> *mut ffi::PyObject {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        Err(PyRuntimeError::new_err("the server itself failed; its message is in the log"))
    });
    match result {
        Ok(object) => object.into_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}

/// `start_response(status, headers, exc_info=None)`.
///
/// # Safety
///
/// - The interpreter calls it, on an attached thread, as PEP 590 says: `args` holds `count` positional
///   arguments and those of `names`, which is null or a tuple.
/// - `this` is the tuple that [`Lent::new`] made.
unsafe extern "C" fn start_response(
    this: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls C functions attached.
    let py = unsafe { Python::assume_attached() };
    guarded(py, || {
        // SAFETY: `this` is the tuple that `Lent::new` made, alive during the call.
        let both = unsafe { Bound::from_borrowed_ptr(py, this).cast_into_unchecked::<PyTuple>() };
        let exchange = both.get_borrowed_item(0)?;
        let exchange = exchange.cast::<Exchange>()?;
        let exchange = exchange.get();
        let positional = usize::try_from(count).unwrap_or(0);
        // SAFETY: `names` is null or a tuple of the keywords' names.
        let keywords = if names.is_null() { 0 } else { unsafe { ffi::PyTuple_GET_SIZE(names) } };
        let given = positional + usize::try_from(keywords).unwrap_or(0);
        // SAFETY: the protocol (PEP 590) passes `given` borrowed references at `args`.
        let argument = |index: usize| unsafe { Bound::from_borrowed_ptr(py, *args.add(index)) };
        let by_keyword = given > positional;
        if !(2..=3).contains(&given) || positional < 2 || (by_keyword && !is_exc_info(py, names)?) {
            return Err(PyTypeError::new_err("start_response takes (status, headers, exc_info=None)"));
        }
        let exc_info = (given == 3).then(|| argument(2)).filter(|info| !info.is_none());
        exchange.start(&argument(0), &argument(1), exc_info.as_ref())?;
        Ok(both.get_item(1)?.unbind())
    })
}

fn is_exc_info(py: Python<'_>, names: *mut ffi::PyObject) -> PyResult<bool> {
    // SAFETY: only called with the non-null tuple of keyword names, alive during the call.
    let names = unsafe { Bound::from_borrowed_ptr(py, names) };
    names.get_item(0)?.eq("exc_info")
}

/// `write(data)`.
///
/// # Safety
///
/// - The interpreter calls it, on an attached thread, with one argument.
/// - `this` is the exchange that [`Lent::new`] gave.
unsafe extern "C" fn write(this: *mut ffi::PyObject, data: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls C functions attached.
    let py = unsafe { Python::assume_attached() };
    guarded(py, || {
        // SAFETY: `this` is the exchange that `Lent::new` gave, `data` the argument; both live
        // during the call.
        let (this, data) =
            unsafe { (Bound::from_borrowed_ptr(py, this), Bound::from_borrowed_ptr(py, data)) };
        this.cast::<Exchange>()?.get().write(py, &data)?;
        Ok(py.None())
    })
}
