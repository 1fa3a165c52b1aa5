//! `wsgi.file_wrapper` (PEP 3333, "Optional Platform-Specific File Handling").

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use adyton_sys::fs;
use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCFunction, PyTuple, PyType};

/// Bytes read at once from a file that the kernel cannot send.
const BLOCK_BYTES: isize = 8192;

/// A file as an answer's body: the kernel sends it if it can; otherwise it is read in blocks.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct FileWrapper {
    file: Py<PyAny>,
    block_bytes: isize,
}

/// A file that the kernel can send.
pub(crate) struct Sendable {
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) offset: u64,
    /// Length from `offset` to the end.
    pub(crate) bytes: u64,
}

impl FileWrapper {
    /// The file behind the wrapper, if its `read()` reads a regular file of the kernel, and nothing comes between the
    /// two.
    pub(crate) fn sendable(&self, py: Python<'_>) -> Option<Sendable> {
        let FileSpan { number, offset } = FileSpan::of(self.file.bind(py)).ok()??;
        // SAFETY: the file object, which we hold, says that this descriptor is its own and open; it is
        // only borrowed to make our own from it.
        let owned = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().ok()?;
        let bytes = fs::sendable_bytes(owned.as_fd())?;
        Some(Sendable { file: Arc::new(owned), offset, bytes: bytes.saturating_sub(offset) })
    }
}

/// Descriptor and offset at which `read()` would begin to read.
struct FileSpan {
    number: i32,
    offset: u64,
}

impl FileSpan {
    /// Finds the descriptor by the type of `read`, and not by `fileno()`, which for `gzip.open()` is the descriptor of
    /// the compressed file. A `read` method that is bound to a reader of `io` is the reader's own, whether it was
    /// looked up at the reader or at a proxy around it.
    ///
    /// Returns `None` if something comes between `read()` and the file.
    ///
    /// # Errors
    ///
    /// The exception of the file object, which may be closed.
    fn of(file: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = file.py();
        let [raw_type, buffered, random] = readers(py)?;
        let mut read = file.getattr(intern!(py, "read"))?;
        if is_temporary(file)? {
            // A temporary file wraps each method in a function, which keeps the file alive while the method is used.
            read = read.getattr(intern!(py, "__wrapped__"))?;
        }
        if !read.is_instance_of::<PyCFunction>() {
            return Ok(None);
        }
        let reader = read.getattr(intern!(py, "__self__"))?;
        let Some(kind) = [raw_type, buffered, random].into_iter().find(|kind| is_own(&read, kind, "read"))
        else {
            return Ok(None);
        };
        let raw = if kind.is(raw_type) {
            reader.clone()
        } else {
            let raw =
                kind.getattr(intern!(py, "raw"))?.call_method1(intern!(py, "__get__"), (&reader, kind))?;
            if !is_own(&raw.getattr(intern!(py, "readinto"))?, raw_type, "readinto") {
                return Ok(None);
            }
            raw
        };
        if !is_own(&raw.getattr(intern!(py, "tell"))?, raw_type, "tell") {
            return Ok(None);
        }
        if kind.is(random) {
            // Bytes that were written may not be in the file yet.
            random.call_method1(intern!(py, "flush"), (&reader,))?;
        }
        let number = raw_type.call_method1(intern!(py, "fileno"), (&raw,))?.extract()?;
        let offset = kind.call_method1(intern!(py, "tell"), (&reader,))?.extract()?;
        Ok(Some(Self { number, offset }))
    }
}

/// The types of `io` that read a descriptor: the raw type, the buffered type for reading, and the one for reading and
/// writing.
fn readers(py: Python<'_>) -> PyResult<[&Bound<'_, PyType>; 3]> {
    static RAW: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static BUFFERED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static RANDOM: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok([
        RAW.import(py, "io", "FileIO")?,
        BUFFERED.import(py, "io", "BufferedReader")?,
        RANDOM.import(py, "io", "BufferedRandom")?,
    ])
}

/// Whether `method` is the method `name` of exactly this type, bound to one of its objects, and not a method of a
/// subclass or a replacement.
fn is_own(method: &Bound<'_, PyAny>, of: &Bound<'_, PyType>, name: &str) -> bool {
    let own = || {
        let bound_to = method.getattr("__self__")?;
        // Since Python 3.12, `__get__` crashes without the second argument if the method needs its class.
        let own = of.getattr(name)?.call_method1("__get__", (&bound_to, of))?;
        own.eq(method)
    };
    // An error means that the method is bound to an object of another type.
    method.is_instance_of::<PyCFunction>() && own().unwrap_or(false)
}

/// Whether `file` is an object that `tempfile.NamedTemporaryFile` returns.
fn is_temporary(file: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = file.py();
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let Ok(module) = modules.get_item(intern!(py, "tempfile")) else { return Ok(false) };
    Ok(file.get_type().is(&module.getattr(intern!(py, "_TemporaryFileWrapper"))?))
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

    /// Whether [`FileWrapper::seek`] can be called. A framework that sends a part of a file (Werkzeug) asks, and would
    /// otherwise read everything before the part.
    fn seekable(&self, py: Python<'_>) -> PyResult<bool> {
        let file = self.file.bind(py);
        match file.getattr_opt(intern!(py, "seekable"))? {
            Some(seekable) => seekable.call0()?.is_truthy(),
            None => file.hasattr(intern!(py, "seek")),
        }
    }

    /// Moves the file to where the next block begins.
    #[pyo3(signature = (*arguments))]
    fn seek<'py>(&self, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = arguments.py();
        self.file.bind(py).getattr(intern!(py, "seek"))?.call1(arguments)
    }

    /// The offset at which the next block begins.
    fn tell<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.file.bind(py).call_method0(intern!(py, "tell"))
    }

    /// Closes the file, if it can be closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.file.bind(py).getattr_opt("close")? {
            Some(close) => close.call0().map(|_| ()),
            None => Ok(()),
        }
    }
}
