//! What the supervisor is asked from outside, and how it is answered.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adyton_log::{self as log, Level};
use adyton_sys::wake::Wake;
use serde_json::{Value, json};

use crate::message::ToWorker;
use crate::staffing::WORKERS_MAX;
use crate::supervisor::Supervisor;

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
    /// The logs of all: this process has opened its own again.
    Reopened,
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
    /// `None`: nobody answers any more.
    questions: Mutex<Option<Vec<Question>>>,
    pub(crate) wake: Wake,
}

impl Desk {
    pub(crate) fn new() -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { questions: Mutex::new(Some(Vec::new())), wake: Wake::new()? }))
    }

    /// Asks, and waits for at most `patience`.
    pub(crate) fn ask(&self, ask: Ask, patience: Duration) -> Answer {
        let (reply, answer): (Sender<Answer>, Receiver<Answer>) = channel();
        match &mut *self.lock() {
            Some(questions) => questions.push(Question { ask, reply }),
            // What nobody can answer is not waited for.
            None => drop(reply),
        }
        self.wake.wake();
        answer.recv_timeout(patience).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => {
                (504, Value::from("the supervisor has not answered in time; its log may say why"))
            }
            RecvTimeoutError::Disconnected => (503, Value::from("the server has stopped")),
        })
    }

    /// Says something that has no answer.
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

    /// Takes no more questions: whoever still waits, or asks from now on, is told at once that it is over.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<Question>>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long workers may take to answer a question.
const ANSWER_MS: u64 = 3_000;

/// A question to all workers.
pub(crate) struct Round {
    pub(crate) number: u64,
    pub(crate) due_ms: u64,
    /// Slots and processes.
    pub(crate) waiting: Vec<(usize, u32)>,
    pub(crate) answers: Vec<Value>,
    pub(crate) reply: Sender<Answer>,
}

impl Supervisor {
    pub(crate) fn answer(&mut self, ask: Ask, reply: Sender<Answer>, now_ms: u64) {
        let number = self.round + 1;
        let answer = match ask {
            Ask::Status(whole) => (200, self.status(whole, now_ms)),
            Ask::Metrics => (200, Value::from(self.metrics(now_ms))),
            Ask::Live => (200, json!("live")),
            Ask::Ready if self.stop.is_some() => (503, json!("stopping")),
            Ask::Ready if self.serving() == 0 && self.workers().any(|worker| worker.pulse.is_silent) => {
                (503, json!("no worker gives signs of life"))
            }
            Ask::Ready if self.serving() == 0 => (503, json!("no worker serves")),
            Ask::Ready => (200, json!("ready")),
            Ask::Reload if self.stop.is_some() => (409, json!("the server is stopping")),
            Ask::Reload => {
                self.reload(now_ms);
                return self.reloads.push((reply, now_ms));
            }
            Ask::Stop(fast) => {
                self.leave(fast, now_ms);
                (202, json!("stopping"))
            }
            Ask::Scale(by) if by > 0 && !self.may_grow() => {
                (409, json!(format!("there can be no worker more: {WORKERS_MAX} are the most")))
            }
            Ask::Scale(by) if by < 0 && self.wanted() <= 1 => {
                (409, json!("there can be no worker less: one is the least"))
            }
            Ask::Scale(by) => {
                self.scale(by, now_ms);
                (202, json!({"processes": self.wanted()}))
            }
            Ask::Dump => return self.ask_workers(&ToWorker::Dump(number), reply, now_ms),
            Ask::Running => return self.ask_workers(&ToWorker::Running(number), reply, now_ms),
            Ask::Reopened => {
                self.tell_all(&ToWorker::Reopen);
                self.reopen_in_prototypes();
                (200, json!("reopened"))
            }
            Ask::LogLevel(level) => match Level::named(&level) {
                Some(known) => {
                    log::set_level(known);
                    self.log_level = Some(known);
                    self.tell_all(&ToWorker::LogLevel(level.clone()));
                    (200, json!({"log_level": level}))
                }
                None => (400, json!("a level is debug, info, warning or error")),
            },
        };
        // Whoever asked may have gone.
        let _ = reply.send(answer);
    }

    pub(crate) fn tell_all(&self, message: &ToWorker) {
        for worker in self.workers() {
            // One that is gone is noticed by its end.
            let _ = worker.channel.send(message);
        }
    }

    fn ask_workers(&mut self, message: &ToWorker, reply: Sender<Answer>, now_ms: u64) {
        self.round += 1;
        let all =
            self.slots.iter().flat_map(|slot| slot.workers.iter().map(move |worker| (slot.number, worker)));
        let asked =
            all.filter(|(_, worker)| worker.serving_ms.is_some() && worker.channel.send(message).is_ok());
        let waiting = asked.map(|(slot, worker)| (slot, worker.pid)).collect();
        let due_ms = now_ms + ANSWER_MS;
        self.rounds.push(Round { number: self.round, due_ms, waiting, answers: Vec::new(), reply });
    }

    /// Answers the questions to which all workers have said something, or have had the time to.
    pub(crate) fn end_rounds(&mut self, now_ms: u64) {
        for round in std::mem::take(&mut self.rounds) {
            if round.waiting.is_empty() || round.due_ms <= now_ms {
                let silent = round
                    .waiting
                    .iter()
                    .map(|(slot, pid)| json!({"worker": slot, "pid": pid, "answer": null}));
                let mut answers = round.answers;
                answers.extend(silent);
                answers.sort_by_key(|answer| answer["worker"].as_u64());
                // Whoever asked may have gone.
                let _ = round.reply.send((200, Value::Array(answers)));
            } else {
                self.rounds.push(round);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use super::{Ask, Desk};

    /// Whoever asks when nobody answers any more is told so, and does not wait.
    #[test]
    fn closed() -> io::Result<()> {
        let desk = Desk::new()?;
        desk.close();

        assert_eq!(503, desk.ask(Ask::Live, Duration::from_secs(60)).0);
        Ok(())
    }
}
