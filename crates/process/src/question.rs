//! What the supervisor is asked from outside, and how it is answered.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adyton_sys::wake::Wake;
use serde_json::Value;

/// An order, or a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// How things stand; `true`: with what takes long to find out.
    Status(bool),
    /// The metrics, as text.
    Metrics,
    /// Whether requests are served, and new ones wanted.
    Ready,
    /// Whether the supervisor itself does its work.
    Live,
    /// New workers in the place of all; answered when they serve.
    Reload,
    /// The end; `true`: at once.
    Stop(bool),
    /// One worker more, or one less.
    Scale(i8),
    /// Where every thread of every worker is.
    Dump,
    /// Which requests run.
    Running,
    /// Another level for the log.
    LogLevel(String),
    /// Open the logs again.
    Reopen,
}

/// What came of it: a status of HTTP, and what is to be said.
pub(crate) type Answer = (u16, Value);

/// A question, with the way back.
pub(crate) struct Question {
    pub(crate) ask: Ask,
    pub(crate) reply: Sender<Answer>,
}

/// Where questions wait for the supervisor.
pub(crate) struct Desk {
    questions: Mutex<Vec<Question>>,
    pub(crate) wake: Wake,
}

impl Desk {
    pub(crate) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { questions: Mutex::new(Vec::new()), wake: Wake::new()? }))
    }

    /// Asks, and waits for at most `patience`.
    pub(crate) fn ask(&self, ask: Ask, patience: Duration) -> Answer {
        let (reply, answer): (Sender<Answer>, Receiver<Answer>) = channel();
        self.lock().push(Question { ask, reply });
        self.wake.wake();
        answer.recv_timeout(patience).unwrap_or_else(|_| {
            (504, Value::from("the supervisor has not answered in time; its log may say why"))
        })
    }

    /// Takes all questions.
    pub(crate) fn take(&self) -> Vec<Question> {
        self.wake.clear();
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Question>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
