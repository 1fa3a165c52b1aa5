//! `wsgi.errors` (PEP 3333, "Input and Error Streams"): text for the error log.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::logging;

/// A text stream that ends in the error log. It has what libraries ask `sys.stderr` for.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Errors;

#[pymethods]
#[expect(clippy::unused_self, reason = "Python's methods belong to an object")]
impl Errors {
    /// Writes text; what cannot be encoded is escaped. Says how many characters there were.
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

    /// The same stream for bytes.
    #[getter]
    fn buffer(&self) -> ErrorBytes {
        ErrorBytes
    }

    /// What `buffer` takes text to be.
    #[getter]
    fn encoding(&self) -> &'static str {
        "utf-8"
    }

    /// What becomes of text that cannot be encoded.
    #[getter]
    fn errors(&self) -> &'static str {
        "backslashreplace"
    }

    /// What it is called in messages.
    #[getter]
    fn name(&self) -> &'static str {
        "<wsgi.errors>"
    }

    /// It is never closed.
    #[getter]
    fn closed(&self) -> bool {
        false
    }

    /// It is a log, whatever stderr is: colours do not belong there.
    fn isatty(&self) -> bool {
        false
    }

    /// It is written to only.
    fn readable(&self) -> bool {
        false
    }

    /// It is written to.
    fn writable(&self) -> bool {
        true
    }

    /// What is written is written.
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
    /// Writes what has bytes; what is not UTF-8 is escaped. Says how many there were.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(py)?;
        let text = PyBytes::new(py, &bytes).call_method1("decode", ("utf-8", "backslashreplace"))?;
        logging::put_error(py, text.cast::<PyString>()?)?;
        Ok(bytes.len())
    }

    /// Does nothing: whole lines are never held back.
    fn flush(&self) {}

    /// It is a log.
    fn isatty(&self) -> bool {
        false
    }

    /// It is never closed.
    #[getter]
    fn closed(&self) -> bool {
        false
    }

    /// It is written to.
    fn writable(&self) -> bool {
        true
    }

    /// It is written to only.
    fn readable(&self) -> bool {
        false
    }

    /// What is written is written.
    fn seekable(&self) -> bool {
        false
    }
}
