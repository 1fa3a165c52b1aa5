//! The door's supervisor starts branches, hears from them, and ends them; the supervisor of a branch obeys the door's.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use adyton_log::{self as log, messages};
use adyton_server::tally::Cell;
use adyton_sys::child::{self, Exit, Kick};
use adyton_sys::socket;
use serde_json::Value;

use super::Supervisor;
use crate::control::question::AdminAnswer;
use crate::control::rounds::{Asked, Asker};
use crate::groups::branch::BranchTold;
use crate::groups::branches::{Act, Branch, BranchEnd, BranchId, Coming, Generations, Standing};
use crate::groups::doorways::{Doorway, GroupPlan};
use crate::lines::message::{Channel, FromWorker, ToWorker};
use crate::lines::place::{PassageEnd, Passages};
use crate::plan::OWN_VARIABLES;
use crate::versions::editions::Version;
use crate::workers::worker_process::WorkerProcess;

/// How much longer than its workers a branch may take to end.
pub(super) const LEAVE_MS: u64 = 5_000;

/// The name of the door's workers in the log of a group. They are at the other end of the group's passage.
const DOOR: &str = "the server itself";

impl Supervisor {
    /// Makes the passages of new branches.
    pub(super) fn add_ways(&mut self, groups: &[GroupPlan]) -> io::Result<()> {
        let new: Vec<_> =
            self.branches.iter().filter(|branch| self.doorways.get(branch.id).is_none()).collect();
        for branch in new {
            let plan = groups.iter().find(|group| group.key() == branch.key);
            let plan = plan.ok_or_else(|| io::Error::other("a group has no plan"))?;
            self.doorways.add(branch.id, plan.clone())?;
        }
        self.doorways.publish(&self.branches);
        Ok(())
    }

    /// Returns the passages for a worker of this generation.
    pub(super) fn passages(&self, generation: u32) -> Passages<'_> {
        if let Some((branch, _)) = &self.parent {
            return Passages {
                group: Some((branch.group.clone(), branch.entrances.clone())),
                ends: vec![PassageEnd { socket: branch.passage.as_fd(), cell: None, name: DOOR.to_owned() }],
                door: None,
            };
        }
        let own = self.branches.of(generation);
        let others = self.doorways.iter().map(|(id, _)| id).filter(|id| !own.contains(id));
        let doorways = own.iter().copied().chain(others).filter_map(|id| self.doorways.get(id));
        let ends: Vec<_> = doorways.map(end_of).collect();
        let door = (!ends.is_empty()).then(|| [self.doorways.board(), self.doorways.secret()]);
        Passages { group: None, ends, door }
    }

    /// Returns descriptors to watch for the branches: their lines, and the passages and sockets at which no other
    /// process listens.
    pub(super) fn watched_ways(&self, now_ms: u64) -> Vec<BorrowedFd<'_>> {
        let mut all = Vec::new();
        for (id, doorway) in self.doorways.iter() {
            all.extend(doorway.line.as_ref().filter(|line| !line.has_ended()).map(AsFd::as_fd));
            let is_ours = self.is_unattended(id) && !doorway.awaits_room;
            all.extend(is_ours.then_some(doorway.branch.as_fd()));
            if self.may_take_in(id, now_ms) && doorway.has_room() {
                all.extend(doorway.plan.sockets.iter().map(AsFd::as_fd));
            }
        }
        all.extend(self.parent.as_ref().filter(|(_, line)| !line.has_ended()).map(|(_, line)| line.as_fd()));
        all
    }

    /// Returns the ends of passages in which there is no room for connections that go back to the door.
    pub(super) fn full_ways(&self) -> Vec<BorrowedFd<'_>> {
        self.doorways
            .iter()
            .filter(|(_, doorway)| doorway.awaits_room)
            .map(|(_, doorway)| doorway.branch.as_fd())
            .collect()
    }

    /// Whether a branch sleeps, or does not start, so that the supervisor has to look after its connections.
    fn is_unattended(&self, id: BranchId) -> bool {
        let branch = self.branches.iter().find(|branch| branch.id == id);
        branch.is_some_and(|branch| branch.standing == Standing::Asleep || !branch.is_open())
    }

    /// Whether the supervisor takes care of clients at the own sockets of a branch: the branch sleeps, or does not
    /// start, and no other version of it serves.
    fn may_take_in(&self, id: BranchId, now_ms: u64) -> bool {
        let serves = |other: BranchId| {
            let is_serving = |branch: &Branch| matches!(branch.standing, Standing::Serving { .. });
            self.branches.iter().any(|branch| branch.id == other && is_serving(branch))
        };
        self.is_unattended(id)
            && self.branches.present().any(|branch| branch.id == id)
            && !self.doorways.is_served_by_another(id, serves)
            && self.doorways.get(id).is_some_and(|doorway| doorway.paused_until_ms <= now_ms)
    }

    /// Starts a branch for a client that waits at one of its own sockets; if it does not start, the door answers the
    /// client.
    fn take_in(&mut self, id: BranchId, now_ms: u64) {
        if !self.may_take_in(id, now_ms) || !self.doorways.get(id).is_some_and(Doorway::is_waited_at) {
            return;
        }
        self.branches.wake(id, now_ms);
        if self.branches.iter().any(|branch| branch.id == id && !branch.is_open())
            && let Err(error) = self.doorways.strand(id, now_ms)
        {
            log::write(
                &messages::NOT_PASSED,
                format_args!(
                    "clients at the address of a group that does not start cannot be answered: {error}"
                ),
            );
        }
    }

    /// Takes the messages of branches, and of the door's supervisor.
    pub(super) fn hear_branches(&mut self, now_ms: u64) {
        for id in self.doorways.ids() {
            let line = self.doorways.get_mut(id).and_then(|doorway| doorway.line.as_mut());
            for message in line.map(Channel::receive::<FromWorker>).unwrap_or_default() {
                match message {
                    FromWorker::Ready { .. } => self.note_branch_serves(id, now_ms),
                    FromWorker::Leaving => {
                        self.branches.note_idle(id);
                        if let Some(doorway) = self.doorways.get_mut(id) {
                            doorway.has_closed = true;
                        }
                    }
                    FromWorker::Answer(0, standing) => drop(self.standings.insert(id, standing)),
                    FromWorker::Answer(number, answers) => {
                        self.group_reloads.note_answer(number, &answers);
                        let pid = self.branches.iter().find(|branch| branch.id == id).and_then(Branch::pid);
                        self.rounds.note(number, pid.unwrap_or(0), &answers);
                    }
                    _ => {}
                }
            }
            self.look_after_waiting(id, now_ms);
            self.take_in(id, now_ms);
        }
        self.hear_parent(now_ms);
    }

    /// Wakes a branch for which connections wait, and hands back to the door the connections that no process takes.
    fn look_after_waiting(&mut self, id: BranchId, now_ms: u64) {
        let is_knocked_at = self.is_unattended(id) && self.is_knocked_at(id);
        if is_knocked_at {
            self.branches.wake(id, now_ms);
        }
        let is_closed = self.branches.iter().any(|branch| branch.id == id && !branch.is_open());
        let is_left = self.doorways.get(id).is_some_and(|doorway| doorway.awaits_room || doorway.is_over);
        if (is_knocked_at && is_closed) || is_left {
            self.turn_back(id);
        }
    }

    fn turn_back(&mut self, id: BranchId) {
        if let Err(error) = self.doorways.turn_back(id) {
            log::write(
                &messages::NOT_PASSED,
                format_args!("connections that wait for a group cannot be answered in its place: {error}"),
            );
        }
    }

    fn is_knocked_at(&self, id: BranchId) -> bool {
        let waits = |doorway: &Doorway| socket::wait_readable(&[doorway.branch.as_fd()], 0);
        self.doorways.get(id).is_some_and(|doorway| waits(doorway).is_ok_and(|readable| readable == [true]))
    }

    fn note_branch_serves(&mut self, id: BranchId, now_ms: u64) {
        self.branches.note_serving(id, now_ms);
        self.group_reloads.note_serving(id, now_ms);
        self.doorways.publish(&self.branches);
        if let Some(doorway) = self.doorways.get(id) {
            log::write(&messages::GROUP_SERVES, format_args!("the group {} serves", doorway.plan.name));
        }
    }

    /// Whether an earlier version of a group accepts at addresses of its own.
    pub(super) fn is_old_branch_met(&self) -> bool {
        let accepts = |id| self.doorways.get(id).is_some_and(|doorway| !doorway.has_closed);
        let mut old = self.branches.past().filter(|branch| branch.key.is_bound && branch.pid().is_some());
        old.any(|branch| accepts(branch.id))
    }

    /// Tells the door's supervisor once that no worker of this group accepts any more.
    pub(super) fn tell_closed(&mut self) {
        if self.owes_closed && !self.fleet.workers().any(|worker| self.listens(worker)) {
            self.owes_closed = false;
            self.tell_parent(&FromWorker::Leaving);
        }
    }

    /// Carries out the acts that are due for branches.
    pub(super) fn look_after_branches(&mut self, now_ms: u64) {
        let wanted = [self.reloads.generation(), self.reloads.proven()];
        let left: Vec<u32> = self.fleet.workers().map(WorkerProcess::generation).collect();
        let acts = if self.are_branches_stopped {
            self.branches.stop(now_ms)
        } else {
            self.branches.look(Generations { wanted: &wanted, left: &left }, now_ms)
        };
        self.act_on_branches(acts, now_ms);
        self.go_on_with_reload(now_ms);
    }

    /// Ends the branches, too, when the door answers nothing any more.
    pub(super) fn stop_branches(&mut self, is_fast: bool, now_ms: u64) {
        if is_fast {
            self.branches.hurry(now_ms + LEAVE_MS);
        }
        if self.are_branches_stopped || self.fleet.workers().next().is_some() {
            return;
        }
        self.are_branches_stopped = true;
        self.doorways.close_door();
        self.doorways.ids().into_iter().for_each(|id| self.doorways.close_sockets(id));
        self.look_after_branches(now_ms);
    }

    fn act_on_branches(&mut self, acts: Vec<Act>, now_ms: u64) {
        for act in acts {
            match act {
                Act::Start(id) => self.start_branch(id, now_ms),
                Act::Leave(id) => {
                    self.doorways.close_sockets(id);
                    self.tell_to_leave(id);
                }
                Act::Kill(pid) => child::kick(pid, Kick::Kill),
                Act::Drop(id) => {
                    self.doorways.retire(id);
                    self.standings.remove(&id);
                    self.turn_back(id);
                }
            }
        }
    }

    fn start_branch(&mut self, id: BranchId, now_ms: u64) {
        match self.spawn_branch(id) {
            Ok(pid) => self.branches.note_started(id, pid),
            Err(error) => {
                let again_ms = self.branches.note_not_started(id, now_ms);
                let name = self.doorways.get(id).map_or("", |doorway| &doorway.plan.name);
                let identity = self.doorways.get(id).and_then(|doorway| doorway.plan.identity.as_ref());
                let user = identity.map_or(String::new(), |identity| format!(" as user {}", identity.user()));
                let seconds = again_ms.map_or(0, |at_ms| at_ms.saturating_sub(now_ms).div_ceil(1_000));
                log::write(
                    &messages::GROUP_NOT_STARTED,
                    format_args!("the group {name} cannot be started{user}: {error}; again in {seconds} s"),
                );
                self.group_reloads
                    .note_end(id, &format!("the group {name} cannot be started{user}: {error}"));
                self.doorways.publish(&self.branches);
            }
        }
    }

    fn spawn_branch(&mut self, id: BranchId) -> io::Result<u32> {
        let level = self.log_level;
        let missing = || io::Error::other("its passage is gone");
        let (ours, theirs) = socket::pair()?;
        let doorway = self.doorways.get_mut(id).ok_or_else(missing)?;
        let own = [doorway.branch.as_fd(), theirs.as_fd(), doorway.edition.as_fd()];
        let sockets: Vec<BorrowedFd<'_>> = doorway.plan.sockets.iter().map(AsFd::as_fd).collect();
        // No client of a branch with sockets of its own comes in at the door.
        let entrances = if sockets.is_empty() { &*self.plan.entrances } else { &[] };
        let told = BranchTold::new(&doorway.plan.name, entrances, own, &sockets, level);
        let arguments = self.plan.arguments_of("group", told.written());
        let kept = [&own[..], &sockets].concat();
        let pid = doorway.plan.program.spawn_as(
            doorway.plan.identity.as_ref(),
            &OWN_VARIABLES,
            &arguments,
            &kept,
        )?;
        doorway.line = Some(Channel::new(ours));
        doorway.has_closed = false;
        Ok(pid)
    }

    /// Tells a branch to end when it has finished the requests that it has begun.
    fn tell_to_leave(&mut self, id: BranchId) {
        let order = ToWorker::Drain { is_patient: true, takes_queue: true };
        let line = self.doorways.get(id).and_then(|doorway| doorway.line.as_ref());
        let pid = self.branches.iter().find(|branch| branch.id == id).and_then(Branch::pid);
        if line.is_none_or(|line| line.send(&order).is_err())
            && let Some(pid) = pid
        {
            child::kick(pid, Kick::Terminate);
        }
    }

    /// Sends an order to all branches.
    pub(super) fn tell_branches(&self, order: &ToWorker) {
        for line in self.doorways.iter().filter_map(|(_, doorway)| doorway.line.as_ref()) {
            // If the branch is gone, the supervisor learns that by the end of its process.
            let _ = line.send(order);
        }
    }

    /// Asks the supervisors of the groups that serve; returns the ones that were asked.
    pub(super) fn ask_branches(&self, question: &ToWorker) -> Vec<Asked> {
        let serves =
            |branch: &&Branch| matches!(branch.standing, Standing::Serving { .. } | Standing::Leaving { .. });
        let is_asked = |branch: &&Branch| {
            let line = self.doorways.get(branch.id).and_then(|doorway| doorway.line.as_ref());
            line.is_some_and(|line| line.send(question).is_ok())
        };
        let asked = self.branches.iter().filter(serves).filter(is_asked);
        asked.map(|branch| Asked::Group(branch.key.name.clone(), branch.pid().unwrap_or(0))).collect()
    }

    /// Notes that the process of a branch has ended; `false` if it was no branch.
    pub(super) fn note_branch_end(&mut self, pid: u32, exit: Exit, now_ms: u64) -> bool {
        // The branch may have sent messages before its end.
        self.hear_branches(now_ms);
        self.rounds.forget(pid);
        let Some(BranchEnd { id, name, is_meant, is_failure, again_ms }) =
            self.branches.note_end(pid, now_ms)
        else {
            return false;
        };
        if let Some(doorway) = self.doorways.get_mut(id) {
            doorway.line = None;
        }
        self.standings.remove(&id);
        let how = if is_failure { "does not start" } else { "has ended" };
        self.group_reloads.note_end(id, &format!("the group {name} {how}; the log says why"));
        let words = match exit {
            Exit::Status(status) => format!("ended with status {status}"),
            Exit::Signal(number) => format!("was ended by {}", child::signal_name(number)),
        };
        let next = match again_ms.map(|at_ms| at_ms.saturating_sub(now_ms)) {
            None => String::new(),
            Some(0) => "; it is started again".to_owned(),
            Some(ms) => format!("; it is started again in {} s", ms.div_ceil(1_000)),
        };
        if is_failure {
            let answered = "its requests are answered 503 meanwhile";
            log::write(
                &messages::GROUP_NOT_STARTED,
                format_args!("the group {name} does not start: process {pid} {words}{next}; {answered}"),
            );
        } else {
            let message = if is_meant { &messages::GROUP_ENDED } else { &messages::GROUP_DIED };
            log::write(message, format_args!("the group {name}: process {pid} {words}{next}"));
        }
        self.doorways.publish(&self.branches);
        true
    }

    /// Goes on with a reload that has waited for the groups of the new version.
    fn go_on_with_reload(&mut self, now_ms: u64) {
        match self.branches.coming() {
            Coming::None | Coming::Waits => {}
            Coming::Ready => {
                let edition = self.read.take();
                self.begin_generation(edition, now_ms);
            }
            Coming::Fails(name) => {
                self.branches.abandon();
                self.read = None;
                let how = format!("the group {name} does not start; the old version serves on");
                self.manager.ready(&how);
                log::write(&messages::VERSION_NOT_STARTED, format_args!("{how}"));
                self.refuse_reloads(&how);
            }
        }
    }

    /// Begins the version of the file that was read, and starts its new groups.
    pub(super) fn begin_version(&mut self, read: Option<(OwnedFd, Version)>) -> Result<(), String> {
        let Some((edition, Version { groups, access_logs, .. })) = read else { return Ok(()) };
        self.branches.begin(groups.iter().map(GroupPlan::key).collect());
        if let Err(error) = self.add_ways(&groups) {
            self.branches.abandon();
            return Err(format!("a group cannot be begun: {error}"));
        }
        self.ended_workers.add_logs(access_logs);
        self.read = Some(edition);
        Ok(())
    }

    /// Takes the messages of the door's supervisor, and reports to it.
    fn hear_parent(&mut self, now_ms: u64) {
        let Some((_, line)) = &mut self.parent else { return };
        let (orders, has_ended) = (line.receive::<ToWorker>(), line.has_ended());
        for order in orders {
            match order {
                ToWorker::Drain { is_patient, .. } => {
                    self.owes_closed = true;
                    self.leave(!is_patient, now_ms);
                }
                ToWorker::Reopen => self.reopen_logs(),
                ToWorker::LogLevel(level) => drop(self.set_log_level(&level)),
                ToWorker::Dump(asked) => {
                    let number = self.rounds.number();
                    self.ask_workers(number, &ToWorker::Dump(number), Asker::Door(asked), now_ms);
                }
                ToWorker::Running(asked) => {
                    let number = self.rounds.number();
                    self.ask_workers(number, &ToWorker::Running(number), Asker::Door(asked), now_ms);
                }
                ToWorker::Reload(number) => match self.reload(now_ms) {
                    Ok(()) => self.awaiting_reload.push((Asker::Door(number), now_ms)),
                    Err(why) => self.tell(Asker::Door(number), AdminAnswer(422, Value::from(why))),
                },
                ToWorker::Sources => {}
            }
        }
        if has_ended && !self.stopping.has_begun() {
            log::write(
                &messages::SUPERVISOR_GONE,
                format_args!("the server that has started this group is gone: finishing running requests"),
            );
            self.leave(false, now_ms);
        }
    }

    /// Tells the door's supervisor something, if there is one.
    pub(super) fn tell_parent(&self, message: &FromWorker) {
        if let Some((_, line)) = &self.parent {
            // At the next receive, this supervisor notices that the door's supervisor is gone.
            let _ = line.send(message);
        }
    }

    /// Reports the state to the door's supervisor, and ends a branch that has idled for long enough.
    pub(super) fn report(&mut self, now_ms: u64) {
        let Some((branch, _)) = &self.parent else { return };
        let timeout_ms = branch.idle_timeout_ms;
        self.tell_parent(&FromWorker::Answer(0, self.status(false, now_ms)));
        let total = self.total();
        let (answers, asking) = (total.answers() + total.get(Cell::Arrived), total.get(Cell::Asking));
        if answers != self.idle.0 || asking > 0 || self.fleet.serving() == 0 {
            self.idle = (answers, now_ms);
        } else if timeout_ms.is_some_and(|timeout_ms| now_ms >= self.idle.1 + timeout_ms)
            && !self.stopping.has_begun()
        {
            log::write(&messages::GROUP_IDLES, format_args!("no request for a long time: the group ends"));
            self.tell_parent(&FromWorker::Leaving);
            self.leave(false, now_ms);
        }
    }

    /// Returns the state that a branch has reported last.
    pub(super) fn standing_of(&self, id: BranchId) -> Option<&Value> {
        self.standings.get(&id)
    }
}

/// Returns the door's end of a passage.
fn end_of(doorway: &Doorway) -> PassageEnd<'_> {
    let name = format!("the group {}", doorway.plan.name);
    PassageEnd { socket: doorway.door.as_fd(), cell: Some(doorway.cell), name }
}
