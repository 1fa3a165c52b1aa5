//! `adyton.Request`: a request as a handler sees it; each part is made when the handler asks for this part.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use adyton_http::{self as http, Known, RequestHead, Version};
use adyton_log::request::RequestId;
use adyton_server::{Asker, Body, Call};
use percent_encoding::percent_decode;
use pyo3::exceptions::{PyRecursionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::values::path::decoded_path;
use crate::values::text::latin1;
use crate::wsgi::Input;

/// The request's head and the bytes that it points into.
enum View {
    /// The loop's own head, for as long as the handler runs.
    Lent { head: *const RequestHead, bytes: *const [u8] },
    /// Copies, because the handler has kept the request.
    Owned { head: Box<RequestHead>, bytes: Vec<u8> },
}

// SAFETY: the lent pointers are read under the request's lock, and `keep` replaces them under this lock before the lent
// memory ends.
unsafe impl Send for View {}

/// A request.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Request {
    view: Mutex<View>,
    peer: Option<SocketAddr>,
    id: RequestId,
    /// Facts about the client beyond the peer of the connection: its user, and what trusted proxies have told.
    asker: Option<Box<Asker>>,
    /// The length of a body that came in chunks and is whole.
    unchunked_bytes: Option<u64>,
    input: Mutex<Option<Py<Input>>>,
    body: Mutex<Option<Py<PyBytes>>>,
}

impl Request {
    /// Lends a call's head to a new request.
    ///
    /// # Safety
    ///
    /// Before the call's head and bytes end, [`Request::keep`] is called, or the request is gone.
    pub(crate) unsafe fn lend(py: Python<'_>, call: &mut Call<'_>) -> PyResult<Self> {
        let unchunked_bytes = call.unchunked_bytes();
        let body = std::mem::replace(&mut call.body, Body::Empty);
        let input = match body {
            Body::Empty => None,
            body => Some(Py::new(py, Input::new(body))?),
        };
        let view = View::Lent { head: call.request.head(), bytes: call.request.bytes() };
        let id = call.reply.request_id().clone();
        let (view, input) = (Mutex::new(view), Mutex::new(input));
        let asker = call.reply.asker().cloned().map(Box::new);
        Ok(Self { view, peer: call.peer, id, asker, unchunked_bytes, input, body: Mutex::new(None) })
    }

    /// Replaces the lent head and bytes by copies that the request owns.
    pub(crate) fn keep(&self) {
        let mut view = self.lock();
        if let View::Lent { head, bytes } = &*view {
            // SAFETY: still lent, as `lend` demands.
            let (head, bytes) = unsafe { (&**head, &**bytes) };
            *view = View::Owned { head: Box::new(head.clone()), bytes: bytes.to_vec() };
        }
    }

    /// Ends the request after its answer: its body can no longer be read from the connection.
    pub(crate) fn end(&self, py: Python<'_>) {
        if let Some(input) = self.input.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            input.bind(py).get().end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<R>(&self, read: impl FnOnce(http::Request<'_>) -> R) -> R {
        match &*self.lock() {
            // SAFETY: still lent, as `lend` demands; `keep` waits for this lock.
            View::Lent { head, bytes } => unsafe { read((**head).of(&**bytes)) },
            View::Owned { head, bytes } => read(head.of(bytes)),
        }
    }

    /// The value of the first field of this name.
    fn field(&self, known: Known) -> Option<Vec<u8>> {
        self.with(|request| request.first(known).map(<[u8]>::to_vec))
    }
}

/// Decodes bytes of a URL as UTF-8; invalid bytes become U+FFFD.
fn utf8<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyString> {
    PyString::new(py, &String::from_utf8_lossy(bytes))
}

/// A new object of a class of the package's Python half.
fn make<'py>(py: Python<'py>, class: &str, argument: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    py.import("adyton._request")?.getattr(class)?.call1((argument,))
}

#[pymethods]
impl Request {
    /// The id of the request in the logs: the value of the `--request-id-header` field, or 16 hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.id.to_string()
    }

    /// The name of the client, where the server authenticates its clients; else `None`.
    #[getter]
    fn user(&self) -> Option<&str> {
        self.asker.as_ref()?.user.as_ref().map(|user| &*user.name)
    }

    /// The method, such as `GET` (RFC 9110 section 9).
    #[getter]
    fn method<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.with(|request| latin1(py, request.method_name()))
    }

    /// The request target as it was sent (RFC 9112 section 3.2).
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.with(|request| latin1(py, request.target()))
    }

    /// The path, percent-decoded, as UTF-8.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.with(|request| utf8(py, &decoded_path(request.path(), false)))
    }

    /// The query, which follows the `?`, as it was sent; empty if there is none.
    #[getter]
    fn query_string<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.with(|request| latin1(py, request.query()))
    }

    /// The query's parameters, decoded (WHATWG URL, application/x-www-form-urlencoded).
    #[getter]
    fn query<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let query = self.with(|request| request.query().to_vec());
        let pairs = PyList::empty(py);
        for pair in query.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()) {
            let at = memchr::memchr(b'=', pair).unwrap_or(pair.len());
            let decode = |part: &[u8]| {
                let spaced: Vec<u8> =
                    part.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
                utf8(py, &percent_decode(&spaced).collect::<Vec<u8>>())
            };
            pairs.append((decode(&pair[..at]), decode(pair.get(at + 1..).unwrap_or_default())))?;
        }
        make(py, "Params", pairs.into_any())
    }

    /// The header fields; names without regard to case (RFC 9110 section 5). A complete body that came in chunks has
    /// `Content-Length` in the place of `Transfer-Encoding`.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = self.with(|request| {
            let pair = |field: &http::Field| match self.unchunked_bytes {
                Some(length) if field.known == Known::TransferEncoding => {
                    (Known::ContentLength.name().into(), length.to_string().into_bytes())
                }
                _ => (request.name(field).to_vec(), request.value(field).to_vec()),
            };
            let is_shown =
                |field: &&http::Field| self.asker.as_ref().is_none_or(|asker| asker.shows(field.known));
            let mut shown: Vec<_> = request.fields().iter().filter(is_shown).map(pair).collect();
            let rewritten = self.asker.iter().flat_map(|asker| &asker.rewritten);
            shown.extend(rewritten.map(|(known, value)| (known.name().into(), value.to_vec())));
            shown
        });
        let list = PyList::empty(py);
        for (name, value) in pairs {
            list.append(PyTuple::new(py, [latin1(py, &name)?, latin1(py, &value)?])?)?;
        }
        make(py, "Headers", list.into_any())
    }

    /// The cookies by name (RFC 6265 section 5.4); the first of a name counts.
    #[getter]
    fn cookies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields: Vec<Vec<u8>> =
            self.with(|request| request.all(Known::Cookie).map(<[u8]>::to_vec).collect());
        make(py, "parse_cookies", latin1(py, &fields.join(&b"; "[..]))?.into_any())
    }

    /// The whole body.
    #[getter]
    fn body(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        if let Some(body) = self.body.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            return Ok(body.clone_ref(py));
        }
        let input = self.input(py)?;
        let body: Py<PyBytes> = input.bind(py).call_method0("read")?.cast_into::<PyBytes>()?.unbind();
        let mut kept = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(kept.get_or_insert(body).clone_ref(py))
    }

    /// The body as text, in the charset that Content-Type names, else UTF-8.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let content_type = latin1(py, &self.field(Known::ContentType).unwrap_or_default())?;
        let body = self.body(py)?;
        py.import("adyton._request")?.call_method1("decode", (body, content_type))
    }

    /// The body, read as JSON (RFC 8259). A body that is not JSON ends the request with a 400.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let body = self.body(py)?;
        py.import("json")?.call_method1("loads", (body,)).map_err(|error| {
            // `RecursionError`: a client has nested lists or objects deeper than Python's limit.
            if !error.is_instance_of::<PyValueError>(py) && !error.is_instance_of::<PyRecursionError>(py) {
                return error;
            }
            let abort = py
                .import("adyton")
                .and_then(|module| module.call_method1("abort", (400, "The body is no JSON.")));
            abort.err().unwrap_or(error)
        })
    }

    /// The body as a file to read, for bodies that are too large for `body`.
    #[getter]
    fn input(&self, py: Python<'_>) -> PyResult<Py<Input>> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(input) = input.as_ref() {
            return Ok(input.clone_ref(py));
        }
        let empty = Py::new(py, Input::empty())?;
        Ok(input.insert(empty).clone_ref(py))
    }

    /// The client's address; empty on a unix socket.
    #[getter]
    fn remote(&self) -> String {
        self.peer.map(|peer| peer.ip().to_canonical().to_string()).unwrap_or_default()
    }

    /// The client's port; 0 on a unix socket.
    #[getter]
    fn remote_port(&self) -> u16 {
        self.peer.map_or(0, |peer| peer.port())
    }

    /// `http` or `https`.
    #[getter]
    fn scheme(&self) -> &'static str {
        let is_https = self.asker.as_ref().and_then(|asker| asker.is_https);
        if is_https == Some(true) { "https" } else { "http" }
    }

    /// The host and port that the client asked for (RFC 9110 section 7.2).
    #[getter]
    fn host<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        if let Some(host) = self.asker.as_ref().and_then(|asker| asker.host.as_ref()) {
            return latin1(py, host);
        }
        self.with(|request| latin1(py, request.host().unwrap_or_default()))
    }

    /// `HTTP/1.1` or `HTTP/1.0`.
    #[getter]
    fn version(&self) -> &'static str {
        self.with(|request| if request.version() == Version::Http10 { "HTTP/1.0" } else { "HTTP/1.1" })
    }

    fn __repr__(&self) -> String {
        self.with(|request| {
            let (method, target) = (request.method_name(), request.target());
            format!("<Request {} {}>", method.escape_ascii(), target.escape_ascii())
        })
    }

    #[new]
    fn new() -> PyResult<Self> {
        Err(PyRuntimeError::new_err("requests are made by the server"))
    }
}
