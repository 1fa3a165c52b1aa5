//! `wsgi.input` (PEP 3333, "Input and Error Streams"): the request body as a file to read.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use adyton_server::{Body, Live, Pieces, Stored};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::values::bytes::filled_bytes;

/// Bytes that `readline` reads ahead from a file.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// Smallest copy that is made detached from the interpreter: it takes longer than detaching.
const DETACH_BYTES_MIN: usize = 1 << 20;

/// Source of the bytes that are not in memory.
enum Source {
    /// All bytes are in memory.
    Memory,
    /// An unlinked file, and how many bytes of it are left.
    File(Stored, u64),
    /// The connection, on which only a blocking read gets more bytes.
    Live(Arc<Mutex<Live>>),
}

struct InputState {
    source: Source,
    /// The next bytes.
    pieces: Pieces,
}

impl InputState {
    fn of(body: Body<'_>) -> Self {
        let (source, pieces) = match body {
            Body::Empty => (Source::Memory, Pieces::default()),
            Body::Bytes(bytes) => (Source::Memory, Pieces::from(bytes.to_vec())),
            Body::Memory(pieces) => (Source::Memory, pieces),
            Body::File(stored) => {
                let bytes = stored.len();
                (Source::File(stored, bytes), Pieces::default())
            }
            Body::Live(live) => (Source::Live(live), Pieces::default()),
        };
        Self { source, pieces }
    }
}

/// The request body. Reading past its end gives `b""` for ever; after the request it is an error.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Input {
    /// Locked for as long as a read takes, which the client decides: an attached thread must not wait for it.
    state: Mutex<InputState>,
    /// Whether the request is over.
    over: AtomicBool,
    /// Whether the client broke off inside its body: a failure of the application is then not its fault.
    broken: AtomicBool,
}

impl Input {
    pub(crate) fn empty() -> Self {
        Self::new(Body::Empty)
    }

    /// Takes a body. Bytes in the loop's buffer, which other requests need, are copied.
    pub(crate) fn new(body: Body<'_>) -> Self {
        let state = Mutex::new(InputState::of(body));
        Self { state, over: AtomicBool::new(false), broken: AtomicBool::new(false) }
    }

    /// Makes this the input of another request.
    pub(crate) fn begin(&self, body: Body<'_>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = InputState::of(body);
        self.over.store(false, Ordering::Relaxed);
        self.broken.store(false, Ordering::Relaxed);
    }

    /// Ends the input with its request: an application that still holds it must not read the bytes of another request.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        // A thread that holds the lock and reads just now checks `over` when it has read.
        if let Ok(mut state) = self.state.try_lock() {
            *state = InputState::of(Body::Empty);
        }
    }

    /// Whether the client broke off inside its body.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Locks the state. While another thread reads, this one waits detached, because the reader needs the interpreter
    /// to go on.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, InputState> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return state,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => py.detach(|| drop(self.state.lock())),
            }
        }
    }

    /// Runs `read` on the state.
    fn with<'py>(
        &self,
        py: Python<'py>,
        read: impl FnOnce(&mut InputState) -> PyResult<Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut state = self.lock(py);
        let is_over = || self.over.load(Ordering::Relaxed);
        let made = if is_over() { None } else { Some(read(&mut state)) };
        let made = made
            .filter(|_| !is_over())
            .ok_or_else(|| PyRuntimeError::new_err("wsgi.input was used after its request was over"))?;
        if made.is_err() {
            self.broken.store(matches!(state.source, Source::Live(_)), Ordering::Relaxed);
        }
        made
    }
}

impl InputState {
    /// Reads more bytes into memory, from a file at most `bytes`; returns `false` at the end. The thread is detached
    /// meanwhile, because a disk or a client may be slow.
    fn fill(&mut self, py: Python<'_>, bytes: usize) -> PyResult<bool> {
        let piece = match &mut self.source {
            Source::Memory | Source::File(_, 0) => return Ok(false),
            Source::File(stored, left) => py.detach(|| {
                let mut piece = vec![0; bytes.min(usize::try_from(*left).unwrap_or(usize::MAX))];
                stored.read_exact(&mut piece)?;
                *left -= piece.len() as u64;
                Ok(piece)
            }),
            Source::Live(live) => py.detach(|| live.lock().unwrap_or_else(PoisonError::into_inner).read()),
        };
        let piece = piece.map_err(|error: io::Error| PyOSError::new_err(error.to_string()))?;
        let is_more = !piece.is_empty();
        self.pieces.push(piece);
        Ok(is_more)
    }

    /// Takes up to `wanted` bytes.
    fn take<'py>(&mut self, py: Python<'py>, wanted: usize) -> PyResult<Bound<'py, PyBytes>> {
        while matches!(self.source, Source::Live(_)) && self.pieces.len() < wanted {
            if !self.fill(py, wanted)? {
                break;
            }
        }
        let in_file = if let Source::File(_, left) = self.source { left } else { 0 };
        let in_file = usize::try_from(in_file).unwrap_or(usize::MAX);
        let bytes = wanted.min(self.pieces.len().saturating_add(in_file));
        filled_bytes(py, bytes, |target| {
            let mut read = move || {
                let taken = self.pieces.take(target);
                if let Source::File(stored, left) = &mut self.source {
                    stored.read_exact(&mut target[taken..])?;
                    *left -= (target.len() - taken) as u64;
                }
                Ok(())
            };
            let waits = in_file > 0 || bytes >= DETACH_BYTES_MIN;
            if waits { py.detach(read) } else { read() }
        })
    }

    /// Takes a line with its end, at most `wanted` bytes of it.
    fn take_line<'py>(&mut self, py: Python<'py>, wanted: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut searched = 0;
        let bytes = loop {
            if let Some(bytes) = self.pieces.up_to(b'\n', searched) {
                break bytes;
            }
            searched = self.pieces.len();
            if searched >= wanted || !self.fill(py, READ_AHEAD_BYTES)? {
                break searched;
            }
        };
        filled_bytes(py, bytes.min(wanted), |target| {
            self.pieces.take(target);
            Ok(())
        })
    }
}

/// A size argument as files take it: `None` and negative numbers mean "all".
fn size_of(size: Option<isize>) -> usize {
    size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX)
}

#[pymethods]
impl Input {
    /// Reads up to `size` bytes, or everything without it. `b""` at the end.
    #[pyo3(signature = (size=None))]
    fn read<'py>(&self, py: Python<'py>, size: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |state| state.take(py, size_of(size)))
    }

    /// Reads a line with its end, at most `size` bytes of it. `b""` at the end.
    #[pyo3(signature = (size=None))]
    fn readline<'py>(&self, py: Python<'py>, size: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |state| state.take_line(py, size_of(size)))
    }

    /// Reads the remaining lines; stops after the line that reaches `hint` bytes.
    #[pyo3(signature = (hint=None))]
    fn readlines<'py>(&self, py: Python<'py>, hint: Option<isize>) -> PyResult<Bound<'py, PyList>> {
        // As in io.IOBase.readlines, 0 and below mean all.
        let enough = size_of(hint.filter(|&hint| hint > 0));
        let lines = PyList::empty(py);
        let mut bytes = 0;
        while bytes < enough {
            let line = self.with(py, |state| state.take_line(py, usize::MAX))?;
            if line.as_bytes().is_empty() {
                break;
            }
            bytes += line.as_bytes().len();
            lines.append(line)?;
        }
        Ok(lines)
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let line = self.with(py, |state| state.take_line(py, usize::MAX))?;
        Ok(Some(line).filter(|line| !line.as_bytes().is_empty()))
    }
}
