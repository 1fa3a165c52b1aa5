//! A worker's half: obeys the supervisor's orders.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use adyton_log::{self as log, messages};
use adyton_process::{LeaveNotice, Orders, Source};
use adyton_server::{Ending, Server, StopRequest};
use adyton_sys::signal_handlers::Handlers;
use adyton_sys::wake::Wake;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::interpreter::held_stacks;
use crate::serving::run::reopen::reopen;

/// Time that a thread may keep the interpreter before the dump of the other threads' stacks is given up.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// The parts of a worker that the supervisor's orders reach.
pub(crate) struct Reach {
    pub(crate) server: Arc<Server>,
    pub(crate) ordered: Arc<Ordered>,
    pub(crate) wake: Arc<Wake>,
}

/// The way in which the supervisor wants this worker to end.
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

    /// Makes the function that tells a server to end: by the supervisor's order, or by a signal, which it reports to
    /// the supervisor.
    pub(crate) fn asked(
        self: &Arc<Self>,
        handlers: Handlers,
        leave_notice: Option<LeaveNotice>,
    ) -> StopRequest {
        let ordered = Arc::clone(self);
        Box::new(move || {
            if !handlers.stop_asked() {
                return ordered.ending();
            }
            if let Some(leave_notice) = &leave_notice {
                leave_notice.say();
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
        // A thread that never lets go of the interpreter blocks only this new thread for ever.
        let dump = move || {
            let stacks = Python::attach(|py| -> PyResult<String> {
                py.import("adyton._process.stacks")?.call_method0("stacks")?.extract()
            });
            // The thread that asked for the dump may have given up.
            let _ = sender.send(stacks.unwrap_or_else(|error| format!("the stacks cannot be read: {error}")));
        };
        match std::thread::Builder::new().name("adyton-dump".into()).spawn(dump) {
            Ok(_) => match receiver.recv_timeout(PATIENCE) {
                Ok(stacks) => Value::from(stacks),
                Err(_) => Value::from(match held_stacks::read() {
                    Some(stacks) => format!("a thread keeps the interpreter to itself:\n{stacks}"),
                    None => "a thread keeps the interpreter to itself: no stack can be read".to_owned(),
                }),
            },
            Err(error) => Value::from(format!("no thread could be started that reads the stacks: {error}")),
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

    fn beat(&self) {
        self.server.beat();
    }
}

/// The files that the application was imported from, or in which the import failed.
pub(crate) fn sources(py: Python<'_>) -> Vec<Source> {
    let found = || -> PyResult<Vec<(PathBuf, Option<u64>)>> {
        py.import("adyton._application.imported")?.call_method0("sources")?.extract()
    };
    let found =
        found().map(|all| all.into_iter().map(|(path, modified_ns)| Source { path, modified_ns }).collect());
    found.unwrap_or_else(|error| {
        log::write(&messages::SOURCES_UNKNOWN, format_args!("it is not known which files to watch: {error}"));
        Vec::new()
    })
}
