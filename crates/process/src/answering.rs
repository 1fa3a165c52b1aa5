//! How the supervisor answers what it is asked from outside.

use std::sync::mpsc::Sender;

use adyton_log::{self as log, Level};
use serde_json::{Value, json};

use crate::message::ToWorker;
use crate::question::{Answer, Ask};
use crate::rounds::Round;
use crate::staffing::WORKERS_MAX;
use crate::supervisor::Supervisor;

/// How long workers may take to answer a question.
const ANSWER_MS: u64 = 3_000;

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
