//! Questions and orders to the supervisor from outside, and the queue in which they wait for it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adyton_sys::wake::Wake;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An order, or a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The server's state; `true` includes the parts that take long to find out.
    Status(bool),
    /// The metrics, as text.
    Metrics,
    /// Whether the server serves requests and wants new ones.
    Ready,
    /// Whether the supervisor itself does its work.
    Live,
    /// A reload of all workers; answered when the new ones serve.
    Reload,
    /// A reload of the group with this name; answered when its new workers serve.
    ReloadGroup(String),
    /// The server's end; `true` means at once.
    Stop(bool),
    /// One more worker, or one less.
    Scale(i8),
    /// The place in the code of every thread of every worker.
    Dump,
    /// The requests that run.
    Running,
    /// A new level for the log.
    LogLevel(String),
    /// Opening the logs of all processes again; this process has opened its own.
    Reopened,
}

/// An answer: an HTTP status, and a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AdminAnswer(pub(crate) u16, pub(crate) Value);

/// A question, and the channel for its answer.
pub(crate) struct Question {
    pub(crate) ask: Ask,
    pub(crate) reply: Sender<AdminAnswer>,
}

/// The queue of questions for the supervisor.
pub(crate) struct Questions {
    /// The questions that wait; `None` once questions are not answered any more.
    questions: Mutex<Option<Vec<Question>>>,
    wake: Wake,
}

impl Questions {
    pub(crate) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { questions: Mutex::new(Some(Vec::new())), wake: Wake::new()? }))
    }

    /// Asks, and waits for at most `patience`.
    pub(crate) fn ask(&self, ask: Ask, patience: Duration) -> AdminAnswer {
        let (reply, answer): (Sender<AdminAnswer>, Receiver<AdminAnswer>) = channel();
        match &mut *self.lock() {
            Some(questions) => questions.push(Question { ask, reply }),
            // The supervisor is gone: without the sender, the wait for its answer ends at once.
            None => drop(reply),
        }
        self.wake.wake();
        answer.recv_timeout(patience).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => {
                AdminAnswer(504, Value::from("the supervisor has not answered in time; its log may say why"))
            }
            RecvTimeoutError::Disconnected => AdminAnswer(503, Value::from("the server has stopped")),
        })
    }

    /// Sends a notice that has no answer.
    pub(crate) fn tell(&self, ask: Ask) {
        let (reply, _) = channel();
        if let Some(questions) = &mut *self.lock() {
            questions.push(Question { ask, reply });
        }
        self.wake.wake();
    }

    /// Takes all questions.
    pub(crate) fn take(&self) -> Vec<Question> {
        self.wake.clear();
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes no more questions: a thread that still waits, or asks later, is told at once that the server ends.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<Question>>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for Questions {
    /// Readable when there is a question.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use super::{Ask, Questions};

    /// A question after the end is refused, and not kept waiting.
    #[test]
    fn closed() -> io::Result<()> {
        let questions = Questions::new()?;
        questions.close();

        assert_eq!(503, questions.ask(Ask::Live, Duration::from_secs(60)).0);
        Ok(())
    }
}
