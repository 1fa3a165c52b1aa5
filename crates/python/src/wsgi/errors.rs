//! `wsgi.errors` (PEP 3333, "Input and Error Streams"): text for the error log.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::logging;

/// A text stream that writes to the error log, with the attributes that libraries expect of `sys.stderr`.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Errors;

#[pymethods]
#[expect(clippy::unused_self, reason = "Python's methods belong to an object")]
impl Errors {
    /// Writes text, escapes characters that cannot be encoded, and returns the number of characters.
    fn write(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<usize> {
        logging::put_error(py, text)?;
        text.len()
    }

    /// Writes each of `lines`.
    fn writelines(&self, py: Python<'_>, lines: &Bound<'_, PyAny>) -> PyResult<()> {
        for line in lines.try_iter()? {
            self.write(py, line?.cast::<PyString>()?)?;
        }
        Ok(())
    }

    /// Does nothing: whole lines are never held back.
    fn flush(&self) {}

    /// A stream of bytes to the error log.
    #[getter]
    fn buffer(&self) -> ErrorBytes {
        ErrorBytes
    }

    /// The encoding of `buffer`.
    #[getter]
    fn encoding(&self) -> &'static str {
        "utf-8"
    }

    /// The error handler for text that cannot be encoded.
    #[getter]
    fn errors(&self) -> &'static str {
        "backslashreplace"
    }

    /// The name of the stream in messages.
    #[getter]
    fn name(&self) -> &'static str {
        "<wsgi.errors>"
    }

    /// False: the stream is never closed.
    #[getter]
    fn closed(&self) -> bool {
        false
    }

    /// False: a log has no use for colours, whatever stderr is.
    fn isatty(&self) -> bool {
        false
    }

    /// False: the stream is only written to.
    fn readable(&self) -> bool {
        false
    }

    /// True: the stream can be written to.
    fn writable(&self) -> bool {
        true
    }

    /// False: a log cannot be rewound.
    fn seekable(&self) -> bool {
        false
    }
}

/// `wsgi.errors.buffer`: bytes for the error log, taken as UTF-8.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct ErrorBytes;

#[pymethods]
#[expect(clippy::unused_self, reason = "Python's methods belong to an object")]
impl ErrorBytes {
    /// Writes a bytes-like object, escapes bytes that are not UTF-8, and returns the number of bytes.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        let text = PyBytes::new(py, &bytes).call_method1("decode", ("utf-8", "backslashreplace"))?;
        logging::put_error(py, text.cast::<PyString>()?)?;
        Ok(bytes.len())
    }

    /// Does nothing: whole lines are never held back.
    fn flush(&self) {}

    /// False: a log is no terminal.
    fn isatty(&self) -> bool {
        false
    }

    /// False: the stream is never closed.
    #[getter]
    fn closed(&self) -> bool {
        false
    }

    /// True: the stream can be written to.
    fn writable(&self) -> bool {
        true
    }

    /// False: the stream is only written to.
    fn readable(&self) -> bool {
        false
    }

    /// False: a log cannot be rewound.
    fn seekable(&self) -> bool {
        false
    }
}
