//! Signal handlers of the application.
//!
//! Python runs the handlers on the main thread, between two steps of Python code. But the main thread may sleep in the
//! event loop, or while other threads serve. Therefore Python writes each signal to a pipe (`signal.set_wakeup_fd`),
//! and the thread `adyton-signals` reads the pipe and wakes the main thread. This thread is started when the
//! application has a handler.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use adyton_log::{self as log, messages};
use adyton_server::{Pull, Reply, Server, Stream};
use adyton_sys::pipe;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::exceptions;
use crate::interpreter::forked;

/// The most exceptions of handlers in one check of signals: without a limit, a handler that sends its own signal and
/// raises would never end.
const RAISED_MAX: usize = 64;

/// Whether a signal has come since the last check of the main thread, which serves requests.
static CAME: AtomicBool = AtomicBool::new(false);

/// Runs the handlers of all signals that have come, if this is the main thread.
pub(crate) fn run_handlers(py: Python<'_>) {
    for _ in 0..RAISED_MAX {
        match forked::stay(py, py.check_signals()) {
            Ok(()) => return,
            Err(error) => exceptions::log(py, &error, "a signal handler of the application"),
        }
    }
}

/// A stream that runs the handlers when it is dropped; `None` if no signal has come. A thread that enters the
/// application drops the stream, as it drops payloads that have to be given back. If the application has only one
/// thread, the main thread drops the stream.
pub(crate) fn remains() -> Option<Box<dyn Stream>> {
    let came = CAME.load(Ordering::Relaxed) && CAME.swap(false, Ordering::SeqCst);
    came.then(|| Box::new(Look) as _)
}

/// Runs the handlers of signals when it is dropped, on the main thread.
struct Look;

impl Stream for Look {
    fn pull(&mut self, _reply: &mut Reply<'_>) -> Pull {
        Pull::End
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        // SAFETY: the loop drops streams between `attach` and `detach`.
        run_handlers(unsafe { Python::assume_attached() });
    }
}

/// The kind of the process that serves.
#[derive(Clone, Copy)]
pub(crate) struct ProcessKind {
    /// Whether the process is a worker, whose supervisor obeys some signals in its stead.
    pub(crate) is_worker: bool,
    /// Whether the main thread alone enters the application.
    pub(crate) is_main_alone: bool,
}

/// Keeps the server's own signals for the server, and has the application's handlers of other signals run, until
/// [`SignalHold::end`].
pub(crate) struct SignalHold {
    undo: Py<PyAny>,
    thread: Arc<Mutex<Option<SignalThread>>>,
}

impl SignalHold {
    /// Begins to keep signals, for a server that is about to run.
    ///
    /// # Errors
    ///
    /// A thread is needed, and cannot be started.
    pub(crate) fn begin(py: Python<'_>, server: &Arc<Server>, kind: ProcessKind) -> PyResult<Self> {
        let thread: Arc<Mutex<Option<SignalThread>>> = Arc::default();
        let (own, server) = (Arc::clone(&thread), Arc::downgrade(server));
        let hear = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<i32> {
            let begun = SignalThread::begin(Weak::clone(&server), kind.is_main_alone)?;
            let number = begun.writer.as_raw_fd();
            *lock(&own) = Some(begun);
            Ok(number)
        };
        let tell = |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
            log::write(&messages::HANDLER_LOST, format_args!("{}", arguments.get_item(0)?));
            Ok(())
        };
        let (hear, tell) = (
            PyCFunction::new_closure(py, None, None, hear)?,
            PyCFunction::new_closure(py, None, None, tell)?,
        );
        let arguments = (kind.is_worker, kind.is_main_alone, hear, tell);
        let undo = py.import("adyton._process.signals")?.call_method1("keep", arguments)?.unbind();
        Ok(Self { undo, thread })
    }

    /// Restores the signals.
    ///
    /// # Errors
    ///
    /// None that a correct program sees.
    pub(crate) fn end(self, py: Python<'_>) -> PyResult<()> {
        self.undo.call0(py)?;
        if let Some(thread) = lock(&self.thread).take() {
            py.detach(|| thread.end());
        }
        CAME.store(false, Ordering::SeqCst);
        Ok(())
    }
}

fn lock(thread: &Mutex<Option<SignalThread>>) -> MutexGuard<'_, Option<SignalThread>> {
    thread.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that is told of signals.
struct SignalThread {
    writer: File,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl SignalThread {
    fn begin(server: Weak<Server>, is_main_alone: bool) -> io::Result<Self> {
        // Children that the application forks may keep the pipe open: closing it would not tell the thread to end.
        let (reader, writer) = pipe::from_signals()?;
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let listen = move || listen(reader.into(), &server, &is_over, is_main_alone);
        let thread = std::thread::Builder::new().name("adyton-signals".into()).spawn(listen)?;
        Ok(Self { writer: writer.into(), ends, thread })
    }

    fn end(mut self) {
        self.ends.store(true, Ordering::SeqCst);
        // A full pipe wakes the thread as well.
        let _ = self.writer.write(&[0]);
        // A panic of the thread is already reported.
        let _ = self.thread.join();
    }
}

/// Summons the main thread for each signal.
fn listen(mut reader: File, server: &Weak<Server>, is_over: &AtomicBool, is_main_alone: bool) {
    // A profiler's timer may send many signals at once: one check handles all of them.
    let mut signals = [0; 512];
    loop {
        match reader.read(&mut signals) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) | Ok(0) => return,
            Ok(_) if is_over.load(Ordering::SeqCst) => return,
            Ok(_) => {}
        }
        if is_main_alone {
            CAME.store(true, Ordering::SeqCst);
        }
        match server.upgrade() {
            Some(server) => server.summon(),
            None => return,
        }
    }
}
