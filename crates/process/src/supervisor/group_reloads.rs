//! The reload of one group: new workers replace all its workers, while the rest of the server stays as it is.

use std::sync::mpsc::Sender;

use serde_json::json;

use super::Supervisor;
use crate::control::question::AdminAnswer;
use crate::groups::branches::{BranchId, Standing};
use crate::lines::message::ToWorker;

impl Supervisor {
    /// Has the group with this name replace all its workers. The client is answered when the new workers serve, or at
    /// once if the group has no process, because its next process begins anew anyway.
    pub(super) fn reload_group(&mut self, name: &str, reply: Sender<AdminAnswer>, now_ms: u64) {
        let found = self.branches.present().find(|branch| branch.key.name == name);
        let answer = match found.map(|branch| (branch.id, branch.standing)) {
            None => AdminAnswer(404, json!(self.no_such_group(name))),
            Some((branch, standing)) => match standing {
                Standing::Asleep | Standing::Serving { idles: true, .. } | Standing::Leaving { .. } => {
                    AdminAnswer(200, json!({"group": name}))
                }
                Standing::Due { .. } => {
                    self.branches.hasten(Some(branch), now_ms);
                    return self.await_group(branch, None, reply, now_ms);
                }
                Standing::Starting { .. } | Standing::Serving { .. } => {
                    let number = self.rounds.number();
                    let line = self.doorways.get(branch).and_then(|doorway| doorway.line.as_ref());
                    if line.is_some_and(|line| line.send(&ToWorker::Reload(number)).is_ok()) {
                        return self.await_group(branch, Some(number), reply, now_ms);
                    }
                    AdminAnswer(500, json!(format!("the group {name} takes no orders; its log says why")))
                }
            },
        };
        // The client may have gone.
        let _ = reply.send(answer);
    }

    fn await_group(
        &mut self,
        branch: BranchId,
        number: Option<u64>,
        reply: Sender<AdminAnswer>,
        since_ms: u64,
    ) {
        let name = self.doorways.get(branch).map(|doorway| doorway.plan.name.clone()).unwrap_or_default();
        self.group_reloads.begin(branch, name, number, reply, since_ms);
    }

    fn no_such_group(&self, name: &str) -> String {
        let names: Vec<&str> = self.branches.present().map(|branch| branch.key.name.as_str()).collect();
        match names[..] {
            [] => format!("there is no group {name:?}: this server has no groups"),
            _ => format!("there is no group {name:?}; there is {}", names.join(", ")),
        }
    }
}
