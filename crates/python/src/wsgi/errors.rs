//! `wsgi.errors` (PEP 3333, "Input and Error Streams"): text for the error log.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::logging;

/// A text stream that ends in the error log.
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
}
