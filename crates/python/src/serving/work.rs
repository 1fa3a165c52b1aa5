//! A worker's half: what the supervisor orders is done here.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use adyton_log::{self as log, messages};
use adyton_process::{Leaver, Orders, Source};
use adyton_server::{Asked, Ending, Server};
use adyton_sys::signal_handlers::{self, Handlers};
use adyton_sys::temp;
use adyton_sys::wake::Wake;
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::reopen::reopen;

/// How long a thread may keep the interpreter before the others' stacks are given up.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// What says where all threads are when none of ours gets the interpreter.
pub(crate) struct HeldStacks {
    file: File,
    signal: i32,
}

impl HeldStacks {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let file = temp::in_memory()?;
        let module = py.import("adyton._load")?;
        let signal = module.call_method1("write_stacks_at_signal", (file.as_raw_fd(),))?.extract()?;
        Ok(Self { file, signal })
    }

    /// The stacks, read without the interpreter; empty when the application has taken the signal for itself.
    fn read(&self) -> std::io::Result<String> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        // To this thread alone: another one could be in a call that a signal ends.
        signal_handlers::raise(self.signal)?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What the supervisor can reach of a worker.
pub(crate) struct Reach {
    pub(crate) held_stacks: HeldStacks,
    pub(crate) server: Arc<Server>,
    pub(crate) ordered: Arc<Ordered>,
    pub(crate) wake: Arc<Wake>,
}

/// How the supervisor wants this worker to end.
#[derive(Default)]
pub(crate) struct Ordered {
    drain: AtomicBool,
    in_a_hurry: AtomicBool,
    takes_queue: AtomicBool,
}

impl Ordered {
    /// The ending; `None` while the worker is to serve.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let is = |flag: &AtomicBool| flag.load(Ordering::SeqCst);
        is(&self.drain)
            .then(|| Ending { is_patient: !is(&self.in_a_hurry), takes_queue: is(&self.takes_queue) })
    }

    /// What tells a server to end: the supervisor, or a signal, of which the supervisor is told.
    pub(crate) fn asked(self: &Arc<Self>, handlers: Handlers, leaver: Option<Leaver>) -> Asked {
        let ordered = Arc::clone(self);
        Box::new(move || {
            if !handlers.stop_asked() {
                return ordered.ending();
            }
            if let Some(leaver) = &leaver {
                leaver.say();
            }
            Some(Ending::PROMPT)
        })
    }
}

impl Orders for Reach {
    fn drain(&self, ending: Ending) {
        self.ordered.in_a_hurry.store(!ending.is_patient, Ordering::SeqCst);
        self.ordered.takes_queue.store(ending.takes_queue, Ordering::SeqCst);
        self.ordered.drain.store(true, Ordering::SeqCst);
        self.wake.wake();
    }

    fn dump(&self) -> Value {
        let (sender, receiver) = channel();
        // A thread that never lets go of the interpreter keeps this one for ever, and no other.
        let dump = move || {
            let stacks = Python::attach(|py| -> PyResult<String> {
                py.import("adyton._load")?.call_method0("stacks")?.extract()
            });
            // Whoever asked may have given up.
            let _ = sender.send(stacks.unwrap_or_else(|error| format!("the stacks cannot be read: {error}")));
        };
        match std::thread::Builder::new().name("adyton-dump".into()).spawn(dump) {
            Ok(_) => match receiver.recv_timeout(PATIENCE) {
                Ok(stacks) => Value::from(stacks),
                Err(_) => match self.held_stacks.read() {
                    Ok(stacks) if !stacks.is_empty() => {
                        let stacks = without_idle(&stacks);
                        Value::from(format!("a thread keeps the interpreter to itself:\n{stacks}"))
                    }
                    Ok(_) => Value::from("a thread keeps the interpreter to itself: no stack can be read"),
                    Err(error) => Value::from(format!(
                        "a thread keeps the interpreter to itself, and no stack can be read: {error}"
                    )),
                },
            },
            Err(error) => Value::from(format!("there can be no thread that reads the stacks: {error}")),
        }
    }

    fn running(&self) -> Value {
        let running = self.server.running();
        running.into_iter().map(|(request, for_ms)| json!({"request": request, "for_ms": for_ms})).collect()
    }

    fn sources(&self) -> Vec<Source> {
        Python::attach(sources)
    }

    fn reopen(&self) {
        reopen(&self.server);
    }
}

/// The files that the application was imported from, or failed in.
pub(crate) fn sources(py: Python<'_>) -> Vec<Source> {
    let found = || -> PyResult<Vec<(PathBuf, Option<u64>)>> {
        py.import("adyton._load")?.call_method0("sources")?.extract()
    };
    let found =
        found().map(|all| all.into_iter().map(|(path, modified_ns)| Source { path, modified_ns }).collect());
    found.unwrap_or_else(|error| {
        log::write(&messages::SOURCES_UNKNOWN, format_args!("nobody knows which files to watch: {error}"));
        Vec::new()
    })
}

/// The stacks that faulthandler has written, without those of threads that idle, which are counted, and of threads that
/// run no Python, such as the one that asks.
fn without_idle(stacks: &str) -> String {
    let innermost = |stack: &&str| stack.lines().nth(1).unwrap_or_default().to_owned();
    let is_idle = |stack: &&str| {
        let frame = innermost(stack);
        let is_main = frame.contains("/adyton/__main__.py\"");
        is_main || frame.contains("threading.py\"") && frame.ends_with(" in run")
    };
    let (idle, busy): (Vec<&str>, Vec<&str>) = stacks
        .trim_end()
        .split("\n\n")
        .filter(|stack| !innermost(stack).contains("<no Python frame>"))
        .partition(is_idle);
    format!("{}\n\nThreads of the server that idle: {}\n", busy.join("\n\n"), idle.len())
}

#[cfg(test)]
mod tests {
    use super::without_idle;

    /// Who does nothing is only counted.
    #[test]
    fn idle() {
        let idle = "Thread 0x1 (most recent call first):\n  File \"/lib/threading.py\", line 982 in run\n  \
                    File \"/lib/threading.py\", line 1045 in _bootstrap_inner\n\n";
        let asks = "Current thread 0x2 (most recent call first):\n  <no Python frame>\n\n";
        let busy = "Thread 0x3 (most recent call first):\n  File \"app.py\", line 1 in run\n  \
                    File \"/lib/threading.py\", line 982 in run";

        assert_eq!(
            format!("{busy}\n\nThreads of the server that idle: 2\n"),
            without_idle(&format!("{asks}{idle}{busy}\n\n{idle}"))
        );
    }
}
