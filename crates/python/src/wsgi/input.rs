//! `wsgi.input` (PEP 3333, "Input and Error Streams"): the request body as a file to read.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adyton_server::{Body, Live, Stored};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// How much is read ahead of `readline` from a file.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// Where the bytes come from.
enum Source {
    /// Everything is in the buffer.
    Memory,
    /// More in an unlinked file.
    File(Stored),
    /// More on the connection, which only a blocking read brings.
    Live(Arc<Mutex<Live>>),
}

impl Source {
    /// A body's source, and what of it is in memory already.
    fn of(body: Body<'_>) -> (Self, Vec<u8>) {
        match body {
            Body::Empty => (Self::Memory, Vec::new()),
            Body::Bytes(bytes) => (Self::Memory, bytes.to_vec()),
            Body::File(stored) => (Self::File(stored), Vec::new()),
            Body::Live(live) => (Self::Live(live), Vec::new()),
        }
    }
}

struct State {
    source: Source,
    /// Bytes read from the source and not yet given away, from `at`.
    buffer: Vec<u8>,
    at: usize,
}

/// The request body. Reading past its end gives `b""` for ever; after the request it is an error.
#[pyclass(frozen, module = "adyton")]
pub(crate) struct Input {
    /// Kept for as long as a read takes, which is up to the client: a thread that has the interpreter must not wait for it.
    state: Mutex<State>,
    /// The request is over.
    over: AtomicBool,
    /// The client broke off inside its body: what the application makes of it is not the application's fault.
    broken: AtomicBool,
}

impl Input {
    pub(crate) fn empty() -> Self {
        Self::of(Source::Memory, Vec::new())
    }

    /// Takes a body; its bytes are copied out of the loop's buffer, which other requests need.
    pub(crate) fn new(body: Body<'_>) -> Self {
        let (source, buffer) = Source::of(body);
        Self::of(source, buffer)
    }

    /// Makes it the input of another request.
    pub(crate) fn begin(&self, body: Body<'_>) {
        let (source, buffer) = Source::of(body);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { source, buffer, at: 0 };
        self.over.store(false, Ordering::Relaxed);
        self.broken.store(false, Ordering::Relaxed);
    }

    fn of(source: Source, buffer: Vec<u8>) -> Self {
        let state = Mutex::new(State { source, buffer, at: 0 });
        Self { state, over: AtomicBool::new(false), broken: AtomicBool::new(false) }
    }

    /// The request is over: what the application still holds must not read the bytes of another request.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        // A thread that reads just now finds it so when it has read.
        if let Ok(mut state) = self.state.try_lock() {
            *state = State { source: Source::Memory, buffer: Vec::new(), at: 0 };
        }
    }

    /// Whether the client broke off inside its body.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Runs `read` on the state, detached: it may wait for a disk or a client.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&mut State) -> std::io::Result<R> + Send,
    ) -> PyResult<R> {
        let run = |mut state: MutexGuard<'_, State>| {
            let is_over = || self.over.load(Ordering::Relaxed);
            let made = if is_over() { None } else { Some(read(&mut state)) };
            let made = made
                .filter(|_| !is_over())
                .ok_or_else(|| PyRuntimeError::new_err("wsgi.input was used after its request was over"))?;
            made.map_err(|error| {
                self.broken.store(matches!(state.source, Source::Live(_)), Ordering::Relaxed);
                PyOSError::new_err(error.to_string())
            })
        };
        if let Ok(state) = self.state.try_lock()
            && matches!(state.source, Source::Memory)
        {
            return run(state);
        }
        py.detach(|| run(self.state.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl State {
    fn buffered(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Brings up to `bytes` more into the buffer; `false` at the end.
    fn fill(&mut self, bytes: usize) -> std::io::Result<bool> {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        match &mut self.source {
            Source::Memory => Ok(false),
            Source::File(stored) => {
                let share = u64::try_from(bytes).unwrap_or(u64::MAX);
                Ok(stored.take(share).read_to_end(&mut self.buffer)? > 0)
            }
            Source::Live(live) => {
                let piece = live.lock().unwrap_or_else(PoisonError::into_inner).read()?;
                self.buffer.extend_from_slice(&piece);
                Ok(!piece.is_empty())
            }
        }
    }

    /// Takes up to `size` bytes, all of them if `None`.
    fn take(&mut self, size: Option<usize>) -> std::io::Result<Vec<u8>> {
        let wanted = size.unwrap_or(usize::MAX);
        while self.buffered().len() < wanted {
            let missing = wanted - self.buffered().len();
            if !self.fill(missing)? {
                break;
            }
        }
        Ok(self.give(wanted))
    }

    /// Takes a line with its end, at most `size` bytes of it.
    fn take_line(&mut self, size: Option<usize>) -> std::io::Result<Vec<u8>> {
        let wanted = size.unwrap_or(usize::MAX);
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffered()[searched..]) {
                return Ok(self.give(wanted.min(searched + at + 1)));
            }
            searched = self.buffered().len();
            if searched >= wanted || !self.fill(READ_AHEAD_BYTES)? {
                return Ok(self.give(wanted));
            }
        }
    }

    fn give(&mut self, bytes: usize) -> Vec<u8> {
        let given = self.buffered()[..bytes.min(self.buffer.len() - self.at)].to_vec();
        self.at += given.len();
        if self.at == self.buffer.len() {
            self.buffer = Vec::new();
            self.at = 0;
        }
        given
    }
}

/// A size as files take it: `None` and negative numbers mean "all".
fn size_of(size: Option<isize>) -> Option<usize> {
    size.and_then(|size| usize::try_from(size).ok())
}

#[pymethods]
impl Input {
    /// Up to `size` bytes; all that is left without it. `b""` at the end.
    #[pyo3(signature = (size=None))]
    fn read<'py>(&self, py: Python<'py>, size: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |state| state.take(size_of(size)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A line with its end, at most `size` bytes of it. `b""` at the end.
    #[pyo3(signature = (size=None))]
    fn readline<'py>(&self, py: Python<'py>, size: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        let line = self.with(py, |state| state.take_line(size_of(size)))?;
        Ok(PyBytes::new(py, &line))
    }

    /// The lines that are left; no further ones once `hint` bytes are read.
    #[pyo3(signature = (hint=None))]
    fn readlines<'py>(&self, py: Python<'py>, hint: Option<isize>) -> PyResult<Bound<'py, PyList>> {
        // As io.IOBase.readlines: 0 and below mean all.
        let enough = size_of(hint).filter(|&hint| hint > 0).unwrap_or(usize::MAX);
        let lines = PyList::empty(py);
        let mut bytes = 0;
        while bytes < enough {
            let line = self.with(py, |state| state.take_line(None))?;
            if line.is_empty() {
                break;
            }
            bytes += line.len();
            lines.append(PyBytes::new(py, &line))?;
        }
        Ok(lines)
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let line = self.with(py, |state| state.take_line(None))?;
        Ok(if line.is_empty() { None } else { Some(PyBytes::new(py, &line)) })
    }
}
