//! `wsgi.errors` (PEP 3333, "Input and Error Streams"): text for the error log.

use std::io::Write;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// A text stream that ends in the error log.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Errors;

#[pymethods]
#[expect(clippy::unused_self, reason = "Python's methods belong to an object")]
impl Errors {
    /// Writes text; what cannot be encoded is escaped. Says how many characters there were.
    fn write(&self, py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<usize> {
        let encoded = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
        let bytes: &[u8] = encoded.extract()?;
        // A log that cannot be written must not stop the application.
        py.detach(|| std::io::stderr().lock().write_all(bytes)).ok();
        text.len()
    }

    /// Writes each of `lines`.
    fn writelines(&self, py: Python<'_>, lines: &Bound<'_, PyAny>) -> PyResult<()> {
        for line in lines.try_iter()? {
            self.write(py, line?.cast::<PyString>()?)?;
        }
        Ok(())
    }

    /// Does nothing: nothing is held back.
    fn flush(&self) {}
}
