//! `wsgi.file_wrapper` (PEP 3333, "Optional Platform-Specific File Handling").

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How much of a file that the kernel cannot send is read at once.
const BLOCK_BYTES: isize = 8192;

/// A file as an answer's body: sent by the kernel where it can be, read in blocks where not.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct FileWrapper {
    file: Py<PyAny>,
    block_bytes: isize,
}

/// A file that the kernel can send.
pub(crate) struct Sendable {
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) offset: u64,
    /// From `offset` to the end.
    pub(crate) bytes: u64,
}

impl FileWrapper {
    /// The file behind the wrapper, if it is a regular one that stands at a known place.
    pub(crate) fn sendable(&self, py: Python<'_>) -> Option<Sendable> {
        let file = self.file.bind(py);
        let number: i32 = file.call_method0("fileno").ok()?.extract().ok()?;
        let offset: u64 = file.call_method0("tell").ok()?.extract().ok()?;
        if number < 0 {
            return None;
        }
        // SAFETY: the file object, which we hold, says that this descriptor is its own and open; it is
        // only borrowed to make our own from it.
        let owned = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?;
        let metadata = std::fs::File::from(owned.try_clone().ok()?).metadata().ok()?;
        metadata.is_file().then(|| Sendable {
            file: Arc::new(owned),
            offset,
            bytes: metadata.len().saturating_sub(offset),
        })
    }
}

#[pymethods]
impl FileWrapper {
    #[new]
    #[pyo3(signature = (file, block_size=BLOCK_BYTES, /))]
    fn new(file: Py<PyAny>, block_size: isize) -> Self {
        Self { file, block_bytes: block_size }
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let block = self.file.bind(py).call_method1("read", (self.block_bytes,))?;
        match block.cast::<PyBytes>() {
            Ok(bytes) if bytes.as_bytes().is_empty() => Err(PyStopIteration::new_err(())),
            _ => Ok(block),
        }
    }

    /// Closes the file, if it can be closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.file.bind(py).getattr_opt("close")? {
            Some(close) => close.call0().map(|_| ()),
            None => Ok(()),
        }
    }
}
