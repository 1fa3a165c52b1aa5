//! Turns the value that a handler returned into an answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_files::{Ask, answer_file, mime_type};
use adyton_http::{BadResponse, BodySize, reason_phrase};
use adyton_server::{Call, Pull, Reply};
use adyton_sys::fs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString, PyTuple, PyType};

use crate::values::items::{self, Items, put};
use crate::values::text::{latin1_bytes, type_name};

const HTML: &[u8] = b"text/html; charset=utf-8";
const HTML_LINE: &[u8] = b"Content-Type: text/html; charset=utf-8\r\n";
const BYTES: &[u8] = b"application/octet-stream";
const BYTES_LINE: &[u8] = b"Content-Type: application/octet-stream\r\n";

/// A field of an answer.
type Field = (Vec<u8>, Vec<u8>);

/// The classes that a handler may return or raise.
pub(crate) struct Responses {
    response: Py<PyAny>,
    abort: Py<PyAny>,
}

/// The progress of an answer.
pub(crate) enum Answered {
    Whole,
    /// Some items are left, to be pulled when the client has taken the first ones.
    Partly(Items, Door),
}

/// The head of a streamed answer, written with the first item.
pub(crate) struct Door {
    status: u16,
    fields: Vec<Field>,
}

impl items::Door for Door {
    fn begin(&self, _py: Python<'_>, reply: &mut Reply<'_>, size: BodySize) -> PyResult<()> {
        write_head(reply, self.status, &self.fields, size)
    }

    fn is_coded(&self, _reply: &Reply<'_>) -> bool {
        // A handler's items are never files that the kernel could send.
        false
    }

    fn content_length(&self) -> Option<u64> {
        None
    }

    unsafe fn enter(&self, _reply: *mut Reply<'_>) {}

    fn leave(&self) {}
}

fn write_head(reply: &mut Reply<'_>, status: u16, fields: &[Field], size: BodySize) -> PyResult<()> {
    let written = reply.head(status, reason_phrase(status).as_bytes(), size, |head| {
        fields.iter().try_for_each(|(name, value)| head.field(name, value))
    });
    written.map_err(|error: BadResponse| PyValueError::new_err(error.to_string()))
}

impl Responses {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("adyton._response")?;
        Ok(Self { response: module.getattr("Response")?.unbind(), abort: module.getattr("Abort")?.unbind() })
    }

    /// Answers with what a handler returned.
    pub(crate) fn answer(
        &self,
        py: Python<'_>,
        value: Bound<'_, PyAny>,
        call: &mut Call<'_>,
    ) -> PyResult<Answered> {
        if let Ok(text) = value.cast::<PyString>() {
            let bytes = text.to_str()?.as_bytes();
            plain(&mut call.reply, HTML_LINE, bytes.len())?;
            call.reply.write(bytes);
            return Ok(Answered::Whole);
        }
        if let Ok(bytes) = value.cast_exact::<PyBytes>() {
            plain(&mut call.reply, BYTES_LINE, bytes.as_bytes().len())?;
            put(bytes, &mut call.reply);
            return Ok(Answered::Whole);
        }
        if value.is_instance(self.response.bind(py))? {
            return answer_response(py, &value, call);
        }
        let nonsense = value.is_none()
            || value.is_instance_of::<PyDict>()
            || value.is_instance_of::<PyTuple>()
            || value.is_instance_of::<PyByteArray>()
            || value.is_instance_of::<PyMemoryView>()
            || value.is_instance_of::<PyType>();
        if nonsense || value.getattr_opt(intern!(py, "__iter__"))?.is_none() {
            return Err(PyTypeError::new_err(format!(
                "a handler must return str, bytes, adyton.Response or an iterable of bytes, not {}{}",
                type_name(&value),
                if value.is_instance_of::<PyDict>() { " (use adyton.Response.json for JSON)" } else { "" }
            )));
        }
        let door = Door { status: 200, fields: vec![(b"Content-Type".to_vec(), BYTES.to_vec())] };
        stream(py, value, door, &mut call.reply)
    }

    /// Answers `adyton.abort(...)`; any other exception is the application's failure.
    pub(crate) fn abort(&self, py: Python<'_>, error: PyErr, reply: &mut Reply<'_>) -> PyResult<()> {
        let value = error.value(py);
        if reply.has_begun() || !value.is_instance(self.abort.bind(py))? {
            return Err(error);
        }
        let status: u16 = value.getattr(intern!(py, "status"))?.extract()?;
        let message: Option<String> = value.getattr(intern!(py, "message"))?.extract()?;
        reply.fail(status, message.as_deref().unwrap_or_default());
        Ok(())
    }
}

/// Writes the head of an answer that is one piece of `length` bytes, with its Content-Type.
fn plain(reply: &mut Reply<'_>, content_type: &[u8], length: usize) -> PyResult<()> {
    let written = reply.head(200, b"OK", BodySize::Known(length as u64), |head| {
        head.raw(content_type);
        Ok(())
    });
    written.map_err(|error: BadResponse| PyValueError::new_err(error.to_string()))
}

fn answer_response(py: Python<'_>, value: &Bound<'_, PyAny>, call: &mut Call<'_>) -> PyResult<Answered> {
    let status: u16 = value.getattr(intern!(py, "status"))?.extract()?;
    let headers = value.getattr(intern!(py, "headers"))?;
    let mut fields = fields_of(&headers)?;
    let file: Option<PathBuf> = value.getattr(intern!(py, "_file"))?.extract()?;
    if let Some(path) = file {
        return answer_path(py, &path, &mut fields, call);
    }
    let has_type = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(b"Content-Type"));
    let mut default_type = |content_type: &[u8]| {
        if !has_type {
            fields.push((b"Content-Type".to_vec(), content_type.to_vec()));
        }
    };
    let body = value.getattr(intern!(py, "body"))?;
    if let Ok(text) = body.cast::<PyString>() {
        let bytes = text.to_str()?.as_bytes();
        default_type(HTML);
        write_head(&mut call.reply, status, &fields, BodySize::Known(bytes.len() as u64))?;
        call.reply.write(bytes);
        return Ok(Answered::Whole);
    }
    if let Ok(bytes) = body.cast_exact::<PyBytes>() {
        let length = bytes.as_bytes().len();
        if length > 0 {
            default_type(BYTES);
        }
        write_head(&mut call.reply, status, &fields, BodySize::Known(length as u64))?;
        put(bytes, &mut call.reply);
        return Ok(Answered::Whole);
    }
    default_type(BYTES);
    stream(py, body, Door { status, fields }, &mut call.reply)
}

fn stream(py: Python<'_>, body: Bound<'_, PyAny>, door: Door, reply: &mut Reply<'_>) -> PyResult<Answered> {
    let mut items = Items::new(body);
    match items.advance(py, &door, reply) {
        Ok(Pull::More) => Ok(Answered::Partly(items, door)),
        Ok(_) => {
            items.end(py, reply);
            Ok(Answered::Whole)
        }
        Err(error) => {
            items.end(py, reply);
            Err(error)
        }
    }
}

fn fields_of(headers: &Bound<'_, PyAny>) -> PyResult<Vec<Field>> {
    let list =
        headers.cast::<PyList>().map_err(|_| PyTypeError::new_err("Response.headers must be a list"))?;
    let mut fields = Vec::with_capacity(list.len() + 1);
    for pair in list {
        let (name, value): (Bound<'_, PyString>, Bound<'_, PyString>) = pair.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "each of Response.headers must be a pair of str, not {}",
                type_name(&pair)
            ))
        })?;
        let name = latin1_bytes(&name, "a header name")?.to_vec();
        fields.push((name, latin1_bytes(&value, "a header value")?.to_vec()));
    }
    Ok(fields)
}

/// Sends a file that the application has named, and honours conditions and ranges.
fn answer_path(
    py: Python<'_>,
    path: &Path,
    fields: &mut Vec<Field>,
    call: &mut Call<'_>,
) -> PyResult<Answered> {
    // A disk may be slow, and a network disk may hang for ever: other threads run Python meanwhile.
    let Some((file, meta)) = py.detach(|| fs::open_regular(path))? else {
        return Err(PyValueError::new_err(format!("{} is no regular file", path.display())));
    };
    let file = Arc::new(file);
    let at = fields.iter().position(|(name, _)| name.eq_ignore_ascii_case(b"Content-Type"));
    let content_type = match at.map(|at| fields.remove(at)) {
        Some((_, value)) => String::from_utf8_lossy(&value).into_owned(),
        None => mime_type(path).into_owned(),
    };
    let extra: Vec<(&[u8], &[u8])> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    let request = call.request;
    let made = call.reply.render(|out, asked, identity| {
        let mark = out.len();
        let ask = Ask {
            request,
            prefix: b"",
            asked,
            identity,
            fresh: 0,
            as_stored: false,
            names_others: false,
            indexes: None,
            is_absent: false,
            runs_page: None,
        };
        answer_file(&ask, &file, &meta, &content_type, &extra, out).inspect_err(|_| out.truncate(mark))
    });
    let answer = made.map_err(|error| PyValueError::new_err(error.to_string()))?;
    call.reply.take(answer);
    Ok(Answered::Whole)
}
