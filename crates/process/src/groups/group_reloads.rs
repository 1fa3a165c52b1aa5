//! Clients that wait until a group has been reloaded, and the answers to them: without I/O.

use std::sync::mpsc::Sender;

use serde_json::{Value, json};

use crate::control::question::AdminAnswer;
use crate::groups::branches::BranchId;

/// Clients of the control socket, each waiting for the reload of one group.
#[derive(Default)]
pub(crate) struct GroupReloads(Vec<Waiting>);

/// A client that waits for the reload of a group.
struct Waiting {
    branch: BranchId,
    name: String,
    /// The number that the answer of the group's supervisor carries; `None` if the group had no process, and is being
    /// started.
    number: Option<u64>,
    since_ms: u64,
    reply: Sender<AdminAnswer>,
}

impl Waiting {
    fn tell(self, answer: AdminAnswer) {
        let AdminAnswer(status, mut value) = answer;
        if let Some(members) = value.as_object_mut() {
            members.insert("group".to_owned(), json!(self.name));
        }
        // The client may have gone.
        let _ = self.reply.send(AdminAnswer(status, value));
    }
}

impl GroupReloads {
    /// Notes a client that waits for the reload of a group: for the answer with this number, or, without a number,
    /// until the group serves.
    pub(crate) fn begin(
        &mut self,
        branch: BranchId,
        name: String,
        number: Option<u64>,
        reply: Sender<AdminAnswer>,
        since_ms: u64,
    ) {
        self.0.push(Waiting { branch, name, number, since_ms, reply });
    }

    /// Passes the answer of a group's supervisor on to the client whose order had this number.
    pub(crate) fn note_answer(&mut self, number: u64, answer: &Value) {
        for waiting in self.0.extract_if(.., |waiting| waiting.number == Some(number)) {
            let answer = serde_json::from_value(answer.clone());
            waiting.tell(
                answer.unwrap_or_else(|_| AdminAnswer(500, json!("the group has not answered this order"))),
            );
        }
    }

    /// Answers the clients that wait until this group serves.
    pub(crate) fn note_serving(&mut self, branch: BranchId, now_ms: u64) {
        let is_started = |waiting: &mut Waiting| waiting.branch == branch && waiting.number.is_none();
        for waiting in self.0.extract_if(.., is_started) {
            let took_ms = now_ms - waiting.since_ms;
            waiting.tell(AdminAnswer(200, json!({"took_ms": took_ms})));
        }
    }

    /// Tells the clients of a group that it has ended, or has not started.
    pub(crate) fn note_end(&mut self, branch: BranchId, how: &str) {
        for waiting in self.0.extract_if(.., |waiting| waiting.branch == branch) {
            waiting.tell(AdminAnswer(500, json!(how)));
        }
    }

    /// Gives all clients this answer.
    pub(crate) fn end_all(&mut self, answer: &AdminAnswer) {
        self.0.drain(..).for_each(|waiting| waiting.tell(answer.clone()));
    }
}
