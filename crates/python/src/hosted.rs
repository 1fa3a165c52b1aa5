//! Interface between the event loop and every kind of Python application: threads attach to the interpreter, and errors
//! become answers.

use std::sync::Arc;

use adyton_server::{App, Call, Host, LateCall, Outcome, Stream};
use pyo3::prelude::*;

use crate::exceptions;
use crate::interpreter::{forked, held_stacks, signals, thread_state, threads};
use crate::values::payload;

/// A kind of Python application.
pub(crate) trait Callable: Send + Sync + 'static {
    /// Answers one request.
    ///
    /// # Errors
    ///
    /// The exception that the application has raised.
    fn run(&self, py: Python<'_>, call: &mut Call<'_>) -> PyResult<Outcome>;
}

/// The interpreter, and the threads that attach to it.
struct Interpreter;

impl Host for Interpreter {
    fn attach(&self) {
        thread_state::attach();
    }

    fn detach(&self) {
        thread_state::detach();
    }

    fn remains(&self) -> Option<Box<dyn Stream>> {
        signals::remains().or_else(payload::remains)
    }

    fn spawn(&self) -> bool {
        threads::spawn()
    }

    fn interrupt(&self, thread: u64, call: &mut dyn LateCall) -> Option<String> {
        threads::interrupt(thread, call)
    }

    fn held_stacks(&self) -> Option<String> {
        held_stacks::read()
    }

    fn absolve(&self, thread: u64) {
        threads::absolve(thread);
    }
}

/// An application of some kind.
struct HostedApplication<C>(C);

impl<C: Callable> App for HostedApplication<C> {
    fn call(&self, call: &mut Call<'_>) -> Outcome {
        // SAFETY: the loop calls between `attach` and `detach`.
        let py = unsafe { Python::assume_attached() };
        payload::give_back(py);
        forked::stay(py, self.0.run(py, call)).unwrap_or_else(|error| exceptions::outcome(py, &error, call))
    }
}

/// An application, in the interpreter of this process.
pub(crate) fn app(callable: impl Callable) -> Arc<dyn App> {
    Arc::new(HostedApplication(callable))
}

/// The interpreter of this process.
pub(crate) fn interpreter() -> Arc<dyn Host> {
    Arc::new(Interpreter)
}
