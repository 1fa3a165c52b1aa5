//! The server's threads, as Python knows them.
//!
//! Each one is a `threading.Thread`, so that applications, debuggers and profilers find it like all other threads. If
//! the application has one thread, it is the main thread, and the server's other threads never enter Python. If the
//! application has replaced Python's threads by greenlets (gevent, eventlet), the server starts threads of the kernel
//! without a `threading.Thread`: greenlets would never run, because the server never switches to a greenlet.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use adyton_log::{self as log, messages};
use adyton_server::{LateCall, Server};
use adyton_sys::{forks, process};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyFrame, PyList, PyTuple};

use crate::interpreter::own_stack::{self, CodePlace};
use crate::interpreter::{held_stacks, thread_state};

/// Time that threads may still be inside the application after every loop has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// Usual number of Python frames of a request in an application with a framework.
const FRAMES_USUAL: usize = 64;

/// Time that the server, at its end, waits to attach to the interpreter after `PATIENCE`.
const INTERPRETER_PATIENCE: Duration = Duration::from_millis(2_500);

/// The server that runs in this process.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// The place that a supervisor has given this process: its number, the number of workers, the generation.
static PLACE: OnceLock<WorkerPlace> = OnceLock::new();

/// The place of a worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerPlace {
    /// The number of the worker, from 1 on.
    pub(crate) number: usize,
    /// The count of workers.
    pub(crate) of: usize,
    /// The worker's version of the application.
    pub(crate) generation: u32,
    /// The group of the worker, if it has one.
    pub(crate) group: Option<String>,
}

/// Makes this process a worker at this place.
pub(crate) fn take_place(place: WorkerPlace) {
    // A process has one place for its whole life.
    let _ = PLACE.set(place);
}

/// The place of this process, if it is a worker.
pub(crate) fn place() -> Option<WorkerPlace> {
    PLACE.get().cloned()
}

struct Running {
    server: Arc<Server>,
    /// The threads that were started and may still run.
    started: Vec<Started>,
    /// Number of threads started so far.
    count: usize,
}

/// A thread of the server that may run Python.
enum Started {
    /// A `threading.Thread`.
    Python(Py<PyAny>),
    /// A thread of the kernel, where a `threading.Thread` would be a greenlet.
    Kernel(JoinHandle<()>),
}

impl Started {
    fn is_alive(&self, py: Python<'_>) -> PyResult<bool> {
        match self {
            Started::Python(thread) => thread.call_method0(py, "is_alive")?.extract(py),
            Started::Kernel(thread) => Ok(!thread.is_finished()),
        }
    }

    /// Waits for the thread's end. The caller is attached, and detaches meanwhile.
    fn join(self, py: Python<'_>) -> PyResult<()> {
        match self {
            Started::Python(thread) => thread.call_method0(py, "join").map(|_| ()),
            Started::Kernel(thread) => {
                thread_state::detach();
                // A thread that has panicked has ended the process.
                let _ = thread.join();
                thread_state::attach();
                Ok(())
            }
        }
    }
}

/// The server that runs in this process.
pub(crate) fn running() -> Option<Arc<Server>> {
    if forks::is_child() {
        // In a forked child, the thread that had locked `RUNNING` may be gone.
        return None;
    }
    lock().as_ref().map(|running| Arc::clone(&running.server))
}

fn lock() -> std::sync::MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of this thread in `sys._current_frames`; `threading.get_ident` may be replaced to return greenlets.
#[allow(clippy::useless_conversion, reason = "C's unsigned long has 32 bits elsewhere")]
fn ident() -> u64 {
    PyThread_get_thread_ident().into()
}

// SAFETY: declared as in CPython's `pythread.h`; it asks for a number, on any thread, attached or not.
unsafe extern "C" {
    /// `pyo3-ffi` does not declare this function.
    safe fn PyThread_get_thread_ident() -> std::ffi::c_ulong;
}

/// Whether the application has replaced Python's threads by greenlets.
fn are_greenlets(threading: &Bound<'_, PyModule>) -> PyResult<bool> {
    // CPython 3.13 has the first name, older versions have the second; the original function is written in C.
    for name in ["_start_joinable_thread", "_start_new_thread"] {
        if let Some(start) = threading.getattr_opt(name)? {
            return Ok(!start.is_instance_of::<PyCFunction>());
        }
    }
    Ok(false)
}

/// Runs a server to its end; returns whether no thread is left inside the application. The caller is attached, before
/// and after.
///
/// `attend` is called, attached, when this thread is summoned while others serve. `announce` is called when all threads
/// have started. If `announce` fails, it has already told the server to end, and this function waits for the end: no
/// thread may be left when the interpreter is finalized.
///
/// # Errors
///
/// The process may not start another thread, or `announce` has failed.
pub(crate) fn run(
    py: Python<'_>,
    server: &Arc<Server>,
    threads: usize,
    attend: fn(Python<'_>),
    announce: impl FnOnce() -> io::Result<()>,
) -> PyResult<bool> {
    *lock() = Some(Running { server: Arc::clone(server), started: Vec::new(), count: 0 });
    let started =
        if threads == 1 { start_beside_main(server).map_err(PyErr::from) } else { start_all(py, server) };
    let ran = started.and_then(|()| {
        let announced = announce();
        let ran = if threads == 1 { run_on_main(server) } else { wait_on_main(server, attend) };
        announced?;
        Ok(ran)
    });
    let started = lock().take().map(|running| running.started).unwrap_or_default();
    if matches!(ran, Ok(true)) {
        // The threads have nothing left to do, and none may run while the interpreter is finalized.
        started.into_iter().try_for_each(|thread| thread.join(py))?;
    }
    ran
}

/// Starts threads that only drive the event loop: the application's one thread is the calling thread.
fn start_beside_main(server: &Arc<Server>) -> io::Result<()> {
    for _ in 1..server.threads() {
        let server = Arc::clone(server);
        std::thread::Builder::new().name("adyton-driver".into()).spawn(move || {
            server.work(false, 0);
            if server.has_ended() && !server.wait(PATIENCE) {
                log::write(
                    &messages::LEFT_INSIDE,
                    format_args!("stopped while the application was in a request"),
                );
                await_interpreter(&server, |arrived| {
                    Python::attach(|py| {
                        drop(arrived);
                        server.clear();
                        leave(py, 0)
                    })
                });
            }
        })?;
    }
    Ok(())
}

fn run_on_main(server: &Arc<Server>) -> bool {
    thread_state::detach();
    server.work(true, ident());
    let done = server.wait(PATIENCE);
    await_interpreter(server, |_arrived| thread_state::attach());
    done
}

/// Calls `attach` after every loop has ended: `attach` attaches to the interpreter, and then drops its argument. If the
/// application never releases the interpreter, the process ends without attaching, because no thread could end in an
/// orderly way.
fn await_interpreter<R>(server: &Arc<Server>, attach: impl FnOnce(Sender<()>) -> R) -> R {
    let (attached, waits) = channel::<()>();
    let server = Arc::downgrade(server);
    let end = move || {
        if waits.recv_timeout(INTERPRETER_PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let stacks = held_stacks::read().map(|stacks| format!("; this is where all threads are:\n{stacks}"));
        log::write(
            &messages::LEFT_INSIDE,
            format_args!(
                "stopped while the application kept the interpreter to itself: its hooks for the end did not run{}",
                stacks.as_deref().unwrap_or_default().trim_end()
            ),
        );
        if let Some(server) = server.upgrade() {
            server.settle_log();
        }
        log::settle();
        process::exit_now(0);
    };
    // If the thread cannot be started, the wait for the interpreter has no limit.
    let _ = std::thread::Builder::new().name("adyton-end".into()).spawn(end);
    attach(attached)
}

/// Starts the application's many threads, besides this one.
fn start_all(py: Python<'_>, server: &Arc<Server>) -> PyResult<()> {
    // No thread drives the event loop before all have started. Otherwise a first request that never releases the
    // interpreter could keep the other threads from starting, and no thread would drive the loop during that request.
    let all = Arc::new(Barrier::new(server.threads()));
    for _ in 0..server.threads() {
        start(py, server, Some(&all))?;
    }
    Ok(())
}

fn wait_on_main(server: &Arc<Server>, attend: fn(Python<'_>)) -> bool {
    thread_state::detach();
    server.wait_attentively(|| {
        thread_state::attach();
        // SAFETY: this thread has just attached.
        attend(unsafe { Python::assume_attached() });
        thread_state::detach();
    });
    let done = server.wait(PATIENCE);
    await_interpreter(server, |_arrived| thread_state::attach());
    if !done {
        log::write(&messages::LEFT_INSIDE, format_args!("stopped while the application was in a request"));
    }
    done
}

/// Ends a process without finalizing the interpreter, because threads may still be inside the application. Handlers of
/// `atexit` run before the end, on the calling thread, whichever it is.
pub(crate) fn leave(py: Python<'_>, status: i32) -> ! {
    let say = |what: &str, done: PyResult<()>| {
        if let Err(error) = done {
            log::write(&messages::ENDING_FAILED, format_args!("{what} failed: {error}"));
        }
    };
    say("the wait for threads", wait_for_threads(py));
    let run = |atexit: Bound<'_, PyModule>| atexit.call_method0("_run_exitfuncs").map(|_| ());
    say("a handler of atexit", py.import("atexit").and_then(run));
    for stream in ["stdout", "stderr"] {
        // An error could not be reported any more.
        let _ = py.import("sys").and_then(|sys| sys.getattr(stream)?.call_method0("flush"));
    }
    log::settle();
    process::exit_now(status)
}

/// Waits for the application's own threads, except daemons, like the interpreter at its end.
fn wait_for_threads(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let (main, this) = (threading.call_method0("main_thread")?, threading.call_method0("current_thread")?);
    if this.is(&main) {
        return threading.call_method0("_shutdown").map(|_| ());
    }
    // `_shutdown` on another thread would wait for the main thread. The calls in the loop below end the threads of
    // pools.
    for call in py
        .import("builtins")?
        .call_method1("reversed", (threading.getattr("_threading_atexits")?,))?
        .try_iter()?
    {
        call?.call0()?;
    }
    for thread in threading.call_method0("enumerate")?.try_iter()? {
        let thread = thread?;
        if !thread.is(&main) && !thread.is(&this) && !thread.getattr("daemon")?.is_truthy()? {
            thread.call_method0("join")?;
        }
    }
    Ok(())
}

/// Starts a thread of the server, which waits until `all` have been started.
fn start(py: Python<'_>, server: &Arc<Server>, all: Option<&Arc<Barrier>>) -> PyResult<()> {
    let number = lock().as_mut().map_or(0, |running| {
        running.count += 1;
        running.count
    });
    let (server, all) = (Arc::downgrade(server), all.map(Arc::clone));
    let work = move || {
        if let Some(server) = server.upgrade() {
            thread_state::detach();
            if let Some(all) = &all {
                all.wait();
            }
            server.work(true, ident());
            drop(server);
            thread_state::attach();
        }
    };
    let name = format!("adyton-{number}");
    let threading = py.import("threading")?;
    let thread = if are_greenlets(&threading)? {
        Started::Kernel(std::thread::Builder::new().name(name).spawn(move || Python::attach(|_| work()))?)
    } else {
        Started::Python(start_python(&threading, &name, work)?)
    };
    // Threads that have ended are forgotten, outside the lock, because `is_alive` runs Python code.
    let mut started = lock().as_mut().map(|running| std::mem::take(&mut running.started)).unwrap_or_default();
    started.retain(|thread| thread.is_alive(py).unwrap_or(true));
    started.push(thread);
    if let Some(running) = lock().as_mut() {
        running.started.append(&mut started);
    }
    Ok(())
}

/// Starts a `threading.Thread`.
fn start_python(
    threading: &Bound<'_, PyModule>,
    name: &str,
    work: impl Fn() + Send + 'static,
) -> PyResult<Py<PyAny>> {
    let py = threading.py();
    let work = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
        work();
        PyResult::Ok(())
    };
    let arguments = PyDict::new(py);
    arguments.set_item("target", PyCFunction::new_closure(py, None, None, work)?)?;
    arguments.set_item("name", name)?;
    arguments.set_item("daemon", true)?;
    let thread = threading.getattr("Thread")?.call((), Some(&arguments))?;
    thread.call_method0("start")?;
    Ok(thread.unbind())
}

/// Starts another thread for the running server; `false` if none could be started. The caller is detached.
pub(crate) fn spawn() -> bool {
    let started = running().map(|server| Python::attach(|py| start(py, &server, None)));
    if let Some(Err(error)) = &started {
        log::write(&messages::THREAD_NOT_STARTED, format_args!("another thread cannot be started: {error}"));
    }
    matches!(started, Some(Ok(())))
}

fn timeout(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("adyton._response")?.getattr("RequestTimeout")
}

/// Whether a request was ended by its timeout.
pub(crate) fn is_timeout(py: Python<'_>, error: &PyErr) -> bool {
    timeout(py).is_ok_and(|class| error.is_instance(py, &class))
}

/// Raises `RequestTimeout` in a thread that is still in its request, and returns where the thread was.
pub(crate) fn interrupt(thread: u64, call: &mut dyn LateCall) -> Option<String> {
    let mut asked = None;
    if own_stack::is_needed() {
        // SAFETY: the thread is in its call, which does not end meanwhile.
        call.while_in(&mut || asked = Some(unsafe { own_stack::ask(thread) }));
    }
    Python::attach(|py| {
        let stack = asked.map_or_else(|| stack(py, thread), |asked| Ok(asked?));
        let mut is_raised = false;
        match timeout(py) {
            Ok(class) => call.end(&mut || {
                raise(thread, class.as_ptr());
                is_raised = true;
            }),
            Err(error) => log::write(
                &messages::NOT_INTERRUPTED,
                format_args!("a request cannot be interrupted: {error}"),
            ),
        }
        is_raised.then(|| {
            let text = stack.and_then(|places| print(py, &places));
            text.unwrap_or_else(|error| format!("(its stack cannot be read: {error})"))
        })
    })
}

/// Takes back an exception that a thread has not noticed yet. The caller is attached.
pub(crate) fn absolve(thread: u64) {
    raise(thread, std::ptr::null_mut());
}

fn raise(thread: u64, class: *mut ffi::PyObject) {
    let thread = thread.cast_signed();
    // SAFETY: both callers are attached; `class` is null or an exception class, of which the call takes a reference.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread, class) };
}

/// The stack of a thread, the outermost call first. Source files are read only later, so that the thread has hardly
/// moved on when it is interrupted. The interpreter's lock keeps the frames of the thread from changing.
fn stack(py: Python<'_>, thread: u64) -> PyResult<Vec<CodePlace>> {
    let mut at =
        py.import("sys")?.call_method0("_current_frames")?.get_item(thread)?.cast_into::<PyFrame>().ok();
    let mut places = Vec::with_capacity(FRAMES_USUAL);
    while let Some(frame) = at {
        let (code, line, back) = look(&frame);
        places.push((code.getattr("co_filename")?.extract()?, line, code.getattr("co_name")?.extract()?));
        at = back;
    }
    places.reverse();
    Ok(places)
}

/// A frame's code, its line, and the frame that called it.
fn look<'py>(frame: &Bound<'py, PyFrame>) -> (Bound<'py, PyAny>, i32, Option<Bound<'py, PyFrame>>) {
    let (py, this) = (frame.py(), frame.as_ptr().cast());
    // SAFETY: `this` is a frame, and the thread is attached; the first call and the last give a reference of their own,
    // the last one perhaps null, and a frame always has its code.
    unsafe {
        let code = Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(this).cast());
        let back = Bound::from_owned_ptr_or_opt(py, ffi::PyFrame_GetBack(this).cast());
        (code, ffi::PyFrame_GetLineNumber(this), back.map(|back| back.cast_into_unchecked()))
    }
}

/// A stack as the interpreter prints it, with its lines of source.
fn print(py: Python<'_>, places: &[CodePlace]) -> PyResult<String> {
    let traceback = py.import("traceback")?;
    let summary = traceback.getattr("FrameSummary")?;
    let keywords = PyDict::new(py);
    keywords.set_item("lookup_line", false)?;
    let frames = PyList::empty(py);
    for (file, line, name) in places {
        frames.append(summary.call((file, line, name), Some(&keywords))?)?;
    }
    let stack = traceback.getattr("StackSummary")?.call_method1("from_list", (frames,))?;
    let lines: Vec<String> = stack.call_method0("format")?.extract()?;
    Ok(lines.concat())
}
