//! The supervisor's answers to questions from outside.

use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use super::Supervisor;
use crate::control::question::{AdminAnswer, Ask};
use crate::control::rounds::{Asked, Asker};
use crate::lines::message::{FromWorker, ToWorker};
use crate::workers::fleet::WORKERS_MAX;

impl Supervisor {
    pub(super) fn answer(&mut self, ask: Ask, reply: Sender<AdminAnswer>, now_ms: u64) {
        let answer = match ask {
            Ask::Status(whole) => AdminAnswer(200, self.status(whole, now_ms)),
            Ask::Metrics => AdminAnswer(200, Value::from(self.metrics(now_ms))),
            Ask::Live => AdminAnswer(200, json!("live")),
            Ask::Ready if self.stopping.has_begun() => AdminAnswer(503, json!("stopping")),
            Ask::Ready if self.fleet.serving() == 0 && self.fleet.silent() > 0 => {
                AdminAnswer(503, json!("no worker gives signs of life"))
            }
            Ask::Ready if self.fleet.serving() == 0 => AdminAnswer(503, json!("no worker serves")),
            Ask::Ready => AdminAnswer(200, json!("ready")),
            Ask::Reload | Ask::ReloadGroup(_) if self.stopping.has_begun() => {
                AdminAnswer(409, json!("the server is stopping"))
            }
            Ask::Reload => match self.reload(now_ms) {
                Ok(()) => return self.awaiting_reload.push((Asker::Client(reply), now_ms)),
                Err(why) => AdminAnswer(422, Value::from(why)),
            },
            Ask::ReloadGroup(name) => return self.reload_group(&name, reply, now_ms),
            Ask::Stop(fast) => {
                self.leave(fast, now_ms);
                AdminAnswer(202, json!("stopping"))
            }
            Ask::Scale(by) if by > 0 && !self.fleet.may_grow() => AdminAnswer(
                409,
                json!(format!("no further worker can be started: {WORKERS_MAX} are the most")),
            ),
            Ask::Scale(by) if by < 0 && self.fleet.wanted() <= 1 => {
                AdminAnswer(409, json!("there is only one worker, and one is the least"))
            }
            Ask::Scale(by) => {
                self.scale(by, now_ms);
                AdminAnswer(202, json!({"processes": self.fleet.wanted()}))
            }
            Ask::Dump => {
                let number = self.rounds.number();
                return self.ask_workers(number, &ToWorker::Dump(number), Asker::Client(reply), now_ms);
            }
            Ask::Running => {
                let number = self.rounds.number();
                return self.ask_workers(number, &ToWorker::Running(number), Asker::Client(reply), now_ms);
            }
            Ask::Reopened => {
                self.links.send_to_all(&ToWorker::Reopen);
                self.tell_branches(&ToWorker::Reopen);
                self.reopen_in_prototypes();
                AdminAnswer(200, json!("reopened"))
            }
            Ask::LogLevel(level) if self.set_log_level(&level) => {
                AdminAnswer(200, json!({"log_level": level}))
            }
            Ask::LogLevel(_) => AdminAnswer(400, json!("a level is debug, info, warning or error")),
        };
        // The client may have gone.
        let _ = reply.send(answer);
    }

    /// Sends the answer to a question.
    pub(super) fn tell(&self, asker: Asker, answer: AdminAnswer) {
        match asker {
            // The client may have gone.
            Asker::Client(reply) => drop(reply.send(answer)),
            Asker::Door(number) => self.tell_parent(&FromWorker::Answer(number, json!(answer))),
        }
    }

    /// Asks all workers, and the workers of groups through their supervisors.
    pub(super) fn ask_workers(&mut self, number: u64, message: &ToWorker, asker: Asker, now_ms: u64) {
        let hear = self
            .fleet
            .workers()
            .filter(|worker| worker.has_served() && self.links.send(worker.id(), message).is_ok());
        let mut waiting: Vec<Asked> =
            hear.map(|worker| Asked::Worker(worker.number(), worker.pid())).collect();
        waiting.extend(self.ask_branches(message));
        self.rounds.begin(number, waiting, asker, now_ms);
    }
}
