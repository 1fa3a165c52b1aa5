//! The supervisor: takes note of events, looks which actions are due, and carries them out.
//!
//! Decisions are made elsewhere, without I/O: `workers/` decides which workers and which prototypes there should be;
//! `versions/` decides which version serves, whether another program takes the place of this one, and how the server
//! ends. The supervisor passes events to these modules and carries out the actions that they return. The files beside
//! this one are parts of the supervisor:
//!
//! | file | holds |
//! | --- | --- |
//! | `starting`, `preload` | workers and prototypes are started |
//! | `hearing`, `measuring` | messages of workers, and measurements of them |
//! | `ended` | the end of children |
//! | `branches`, `group_reloads` | supervisors of groups, and the reload of one group |
//! | `handover` | the program on the disk takes the place of this one |
//! | `answering`, `status` | questions from outside, and the report of the state |

mod answering;
mod branches;
mod ended;
mod group_reloads;
mod handover;
mod hearing;
mod measuring;
mod preload;
mod starting;
mod status;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use adyton_log::{self as log, Level, messages};
use adyton_server::share;
use adyton_server::tally::{Cell, Sample};
use adyton_sys::board::Board;
use adyton_sys::child::{self, Kick};
use adyton_sys::signal_queue::{Signal, Signals};
use adyton_sys::{clock, socket};
use serde_json::{Value, json};

use crate::control::admin::AdminServers;
use crate::control::notify::Manager;
use crate::control::question::{AdminAnswer, Ask, Question, Questions};
use crate::control::rounds::{Asker, Rounds};
use crate::groups::branch::BranchPlan;
use crate::groups::branches::{BranchId, Branches, Coming};
use crate::groups::doorways::{Doorways, GroupPlan};
use crate::groups::group_reloads::GroupReloads;
use crate::lines::links::{Link, Links};
use crate::lines::message::{Channel, FromWorker, ToWorker};
use crate::lines::ports::Ports;
use crate::lines::prototype_line::PrototypeLine;
use crate::plan::Plan;
use crate::versions::editions::Editions;
use crate::versions::note::Note;
use crate::versions::reloads::Reloads;
use crate::versions::stopping::{Said, Stopping};
use crate::versions::succession::Succession;
use crate::versions::watched_files::WatchedFiles;
use crate::view::usage::{self, OomKills};
use crate::workers::action::{Action, Recipient};
use crate::workers::demand::Demand;
use crate::workers::ended_workers::EndedWorkers;
use crate::workers::fleet::Fleet;
use crate::workers::prototypes::Prototypes;
use crate::workers::slot::Slot;
use crate::workers::unknown_children::UnknownChildren;
use crate::workers::worker_process::WorkerProcess;

/// How often the supervisor looks at its workers while nothing happens.
const TICK_MS: u64 = 1_000;

/// How often the supervisor looks in development: a person waits for the result.
const DEVELOPING_TICK_MS: u64 = 300;

/// How often the supervisor looks while a worker is between two states.
const QUICK_TICK_MS: u64 = 50;

/// How often the supervisor looks while a reload waits only for old workers to stop taking connections, or a change of
/// programs waits only for the last questions to be answered.
const CLOSING_TICK_MS: u64 = 2;

/// The way in which a supervisor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The supervisor was told to stop, and has stopped.
    Stopped,
    /// The first worker did not start, and has said why; the server ends with this status.
    NotStarted(u8),
}

/// Runs a plan to its end.
///
/// # Errors
///
/// The operating system refuses something that a supervisor cannot do without.
pub fn run(plan: Plan) -> io::Result<End> {
    let mut supervisor = Supervisor::new(plan)?;
    supervisor.run()?;
    Ok(supervisor.stopping.failed().map_or(End::Stopped, End::NotStarted))
}

/// A supervisor at work.
struct Supervisor {
    plan: Plan,
    fleet: Fleet,
    prototypes: Prototypes,
    reloads: Reloads,
    editions: Editions,
    /// Whether another program is to take the place of this one.
    succession: Succession,
    stopping: Stopping,
    /// The lines to the workers, and their counts.
    links: Links,
    /// The lines to the prototypes, by their processes.
    prototype_lines: BTreeMap<u32, PrototypeLine>,
    ports: Ports,
    ended_workers: EndedWorkers,
    /// Children that have ended before they could say which worker they are.
    unknown_children: UnknownChildren,
    since_ms: u64,
    serves: String,
    signals: Signals,
    manager: Manager,
    /// The level of the log, if it was changed while the server ran.
    log_level: Option<Level>,
    questions: Arc<Questions>,
    admin_servers: AdminServers,
    /// The board on which each worker counts its connections, and sees the counts of the other workers.
    shares: Board,
    /// Receivers of the result of a reload, with the time when each reload began.
    awaiting_reload: Vec<(Asker, u64)>,
    /// Clients that wait for the end of the reload of a group.
    group_reloads: GroupReloads,
    /// The names of the groups whose processes the last reload has kept.
    kept_groups: Vec<String>,
    rounds: Rounds,
    watched: WatchedFiles,
    branches: Branches,
    doorways: Doorways,
    /// A version that was read, whose groups start before the door serves it.
    read: Option<OwnedFd>,
    /// The states of branches, as they have reported them.
    standings: BTreeMap<BranchId, Value>,
    are_branches_stopped: bool,
    /// The plan of a branch, and its line to the door's supervisor.
    parent: Option<(BranchPlan, Channel)>,
    /// For a branch: the number of answers at the last look at which it did not idle, and the time of that look.
    idle: (u64, u64),
    /// For a branch that was told to end: whether it still has to tell the door that no worker of the branch accepts
    /// connections any more.
    owes_closed: bool,
    demand: Demand,
    oom_kills: OomKills,
    looked_ms: u64,
}

impl Supervisor {
    fn new(mut plan: Plan) -> io::Result<Self> {
        let signals = Signals::block()?;
        // A log that hangs must not make workers wait for their supervisor.
        log::begin_queue(plan.log_queue_bytes_max)?;
        let questions = Questions::new()?;
        if plan.preload {
            child::adopt_orphans()?;
        }
        let (control, admin) = (plan.control.take(), plan.admin.take());
        let admin_servers = AdminServers::open(&questions, control, admin, std::mem::take(&mut plan.access))?;
        let (note, sockets) = (plan.note.take(), std::mem::take(&mut plan.sockets));
        let open = std::mem::replace(&mut plan.open, Box::new(|| Ok(Vec::new())));
        let groups = plan.edition.as_ref().map(|edition| edition.first.groups.clone()).unwrap_or_default();
        let leave_ms = plan.limits.graceful_timeout_ms.saturating_add(branches::LEAVE_MS);
        let parent = plan.branch.take().map(parent_of).transpose()?;
        let mut supervisor = Self {
            fleet: Fleet::new(plan.limits.clone(), plan.pace, plan.processes, clock::monotonic_us()),
            prototypes: Prototypes::new(plan.preload, plan.limits.clone()),
            reloads: Reloads::new(),
            editions: Editions::new(plan.edition.take())?,
            succession: Succession::default(),
            stopping: Stopping::new(plan.drain_delay_ms),
            links: Links::default(),
            prototype_lines: BTreeMap::new(),
            ports: Ports::new(sockets, open, plan.shares),
            ended_workers: EndedWorkers::new(std::mem::take(&mut plan.access_logs), plan.log_queue_bytes_max),
            unknown_children: UnknownChildren::default(),
            since_ms: clock::monotonic_ms(),
            serves: String::new(),
            signals,
            // The manager is told of the whole server only, and not of branches.
            manager: if parent.is_none() { Manager::find() } else { Manager::none() },
            log_level: None,
            questions,
            admin_servers,
            shares: Board::new(share::CELLS)?,
            awaiting_reload: Vec::new(),
            group_reloads: GroupReloads::default(),
            kept_groups: Vec::new(),
            rounds: Rounds::default(),
            watched: WatchedFiles::default(),
            branches: Branches::new(groups.iter().map(GroupPlan::key).collect(), leave_ms),
            doorways: Doorways::new()?,
            read: None,
            standings: BTreeMap::new(),
            are_branches_stopped: false,
            parent,
            idle: (0, clock::monotonic_ms()),
            owes_closed: false,
            demand: Demand::default(),
            oom_kills: OomKills::new(),
            looked_ms: 0,
            plan,
        };
        supervisor.begin(note, &groups)?;
        Ok(supervisor)
    }

    /// Makes the parts that a supervisor has from its beginning on, or takes them over.
    fn begin(&mut self, note: Option<Note>, groups: &[GroupPlan]) -> io::Result<()> {
        for _ in 0..self.plan.processes {
            self.add_slot()?;
        }
        for file in &self.plan.touch {
            self.watched.add(file);
        }
        if let Some(note) = note {
            return self.go_on(&note, groups);
        }
        self.add_ways(groups)
    }

    fn run(&mut self) -> io::Result<()> {
        while !self.is_done() {
            let now_ms = clock::monotonic_ms();
            self.hear(now_ms);
            self.look(now_ms);
            self.act(now_ms);
            let (serving, used) = self.fleet.rows();
            share::set_serving(&self.shares, serving, used);
            self.manager.beat(now_ms);
            self.wait()?;
        }
        for (asker, _) in std::mem::take(&mut self.awaiting_reload) {
            self.tell(asker, AdminAnswer(409, json!("the server was stopped")));
        }
        self.group_reloads.end_all(&AdminAnswer(409, json!("the server was stopped")));
        self.questions.close();
        self.admin_servers.close();
        Ok(())
    }

    /// Whether this process is known: as a worker, a prototype, or another program that is to take over.
    fn knows(&self, pid: u32) -> bool {
        self.succession.trial() == Some(pid)
            || self.branches.of_process(pid).is_some()
            || self.fleet.workers().any(|worker| worker.pid() == pid)
            || self.prototypes.knows(pid)
    }

    fn is_done(&self) -> bool {
        self.stopping.has_begun()
            && self.fleet.workers().next().is_none()
            && self.prototypes.is_empty()
            && self.branches.iter().next().is_none()
            && self.succession.trial().is_none()
    }

    /// Returns the counts of all workers, including workers that have ended.
    fn total(&self) -> Sample {
        let mut sum = self.ended_workers.total();
        self.links.add_to(&mut sum);
        sum
    }

    fn wait(&self) -> io::Result<()> {
        let between = self.stopping.has_begun()
            || !self.rounds.is_empty()
            || self.prototypes.has_dismissed()
            || self.fleet.is_between();
        let mut all: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd(), self.questions.as_fd()];
        all.extend(self.links.open());
        let importing = self.prototypes.pids(false).filter_map(|pid| self.prototype_lines.get(&pid));
        all.extend(importing.map(AsFd::as_fd));
        let tick_ms = match between {
            _ if self.is_old_awaited() || self.succession.is_closing() => CLOSING_TICK_MS,
            true => QUICK_TICK_MS,
            false => self.tick_ms(),
        };
        let now_ms = clock::monotonic_ms();
        all.extend(self.watched_ways(now_ms));
        let due_ms = self.branches.due_ms().map_or(u64::MAX, |due_ms| due_ms.saturating_sub(now_ms));
        let timeout_ms = tick_ms.min(due_ms).min(self.manager.patience_ms());
        socket::wait_ready(&all, &self.full_ways(), timeout_ms).map(|_| ())
    }

    /// Takes note of events.
    fn hear(&mut self, now_ms: u64) {
        while let Some(signal) = self.signals.next() {
            self.obey(signal, now_ms);
        }
        for id in self.fleet.ids() {
            let said = self.links.get_mut(id).map(Link::receive).unwrap_or_default();
            for message in said {
                self.note(id, message, now_ms);
            }
        }
        self.listen_to_prototypes();
        self.hear_branches(now_ms);
        while let Some((pid, exit)) = child::reap() {
            self.note_end(pid, exit, now_ms);
        }
        self.note_unnamed_ends(now_ms);
        for Question { ask, reply } in self.questions.take() {
            self.answer(ask, reply, now_ms);
        }
    }

    fn obey(&mut self, signal: Signal, now_ms: u64) {
        match signal {
            // A terminal sends these signals to all processes, so a branch ignores them: the door's supervisor says
            // when a branch is to end. A changed program on the disk is started with the next reload of the door.
            Signal::Interrupt | Signal::Quit | Signal::User2 if self.parent.is_some() => {}
            Signal::Terminate | Signal::Interrupt => {
                let said = self.stopping.interrupt(now_ms);
                self.say_stopping(said);
            }
            Signal::Quit => self.leave(true, now_ms),
            // The log says what is wrong.
            Signal::HangUp => drop(self.reload(now_ms)),
            Signal::User1 => self.reopen_logs(),
            Signal::More => self.scale(1, now_ms),
            Signal::Fewer => self.scale(-1, now_ms),
            Signal::User2 => self.succession.ask(),
            Signal::Child | Signal::Other => {}
        }
    }

    /// Opens the logs again, and has workers and branches do so.
    fn reopen_logs(&self) {
        // Workers may be unable to write to the folder of a file, so the files are made before the workers are told to
        // open them.
        let questions = Arc::clone(&self.questions);
        log::reopen_then(Box::new(move || questions.tell(Ask::Reopened)));
    }

    /// Sets the level of the log in all processes; `false` if there is no such level.
    fn set_log_level(&mut self, level: &str) -> bool {
        let Some(known) = Level::named(level) else { return false };
        log::set_level(known);
        self.log_level = Some(known);
        let order = ToWorker::LogLevel(level.to_owned());
        self.links.send_to_all(&order);
        self.tell_branches(&order);
        true
    }

    /// Begins to stop, or stops faster.
    fn leave(&mut self, fast: bool, now_ms: u64) {
        let said = self.stopping.ask(fast, now_ms);
        self.say_stopping(said);
    }

    fn say_stopping(&self, said: Option<Said>) {
        if let Some(said) = said {
            log::write(&messages::STOPPING, format_args!("stopping {}", said.words()));
            self.manager.stopping();
        }
    }

    /// Begins another generation. If its file of sites is wrong, the old generation serves on.
    fn reload(&mut self, now_ms: u64) -> Result<(), String> {
        if self.stopping.has_begun() {
            return Ok(());
        }
        let read = self.editions.read().and_then(|read| self.begin_version(read));
        self.branches.hasten(None, now_ms);
        read.inspect_err(|why| {
            log::write(
                &messages::VERSION_WRONG,
                format_args!("not reloaded, the old version serves on:\n{why}"),
            );
        })?;
        self.manager.reloading();
        if self.branches.coming() == Coming::Waits {
            log::write(
                &messages::RELOADING,
                format_args!("reloading: groups that have changed are started first"),
            );
            return Ok(());
        }
        let edition = self.read.take();
        self.begin_generation(edition, now_ms);
        Ok(())
    }

    /// Begins another generation, whose groups serve already.
    fn begin_generation(&mut self, edition: Option<OwnedFd>, now_ms: u64) {
        let proven = self.reloads.proven();
        let generation = self.reloads.begin();
        self.editions.begin(generation, proven, edition);
        self.kept_groups = self.branches.commit(generation);
        log::write(&messages::RELOADING, format_args!("reloading: generation {generation}"));
        self.prototypes.reload(now_ms);
        self.decide(now_ms, |fleet, out| fleet.reload(now_ms, out));
    }

    /// Looks whether anything is due.
    fn look(&mut self, now_ms: u64) {
        let is_fresh = now_ms >= self.looked_ms + self.tick_ms();
        if is_fresh {
            let elapsed_ms = now_ms.saturating_sub(std::mem::replace(&mut self.looked_ms, now_ms));
            self.look_at_files(now_ms);
            self.look_at_demand(elapsed_ms, now_ms);
            self.look_at_pulses(elapsed_ms, now_ms);
            self.fleet.recall(self.ports.recall());
            self.oom_kills.forget(now_ms);
            self.report(now_ms);
        }
        self.decide(now_ms, |fleet, out| fleet.look(now_ms, out));
        self.end_lost_workers();
        if is_fresh {
            self.look_at_limits(now_ms);
        }
        for (number, answers) in self.rounds.end(now_ms) {
            self.tell_parent(&FromWorker::Answer(number, answers));
        }
    }

    /// Returns how often the supervisor looks while nothing happens.
    fn tick_ms(&self) -> u64 {
        if self.plan.develops { DEVELOPING_TICK_MS } else { TICK_MS }
    }

    /// Reloads when a watched file has changed.
    fn look_at_files(&mut self, now_ms: u64) {
        if self.plan.develops {
            // Files that were imported since the last look are watched from the next look on.
            for worker in self.fleet.slots().iter().filter_map(Slot::serving) {
                // If the worker is gone, the supervisor learns that by the end of its process.
                let _ = self.links.send(worker.id(), &ToWorker::Sources);
            }
        }
        if let Some(file) = self.watched.look() {
            log::write(&messages::FILE_CHANGED, format_args!("{} has changed", file.display()));
            // The log says what is wrong.
            drop(self.reload(now_ms));
        }
    }

    /// Carries out the actions that the present state demands.
    fn act(&mut self, now_ms: u64) {
        if let Some(is_fast) = self.stopping.due(now_ms) {
            self.doorways.close_for_returning();
            self.stop_workers(is_fast, now_ms);
            self.tell_closed();
            self.stop_branches(is_fast, now_ms);
            self.look_after_branches(now_ms);
            return;
        }
        self.look_after_branches(now_ms);
        self.retire(now_ms);
        self.make_way(now_ms);
        self.keep_prototypes(now_ms);
        self.start_workers(now_ms);
        self.end_reloads(now_ms);
    }

    fn end_reloads(&mut self, now_ms: u64) {
        let generation = self.reloads.generation();
        let is_everywhere = self.is_old_awaited() && !self.is_old_met(generation);
        if !self.reloads.end(is_everywhere) {
            return;
        }
        let workers = self.fleet.wanted();
        self.manager.ready(&format!("serves {}, generation {generation}", self.serves));
        log::write(
            &messages::RELOADED,
            format_args!("generation {generation} serves in all {workers} workers"),
        );
        for (asker, since_ms) in std::mem::take(&mut self.awaiting_reload) {
            let kept = &self.kept_groups;
            let done = json!({
                "generation": generation, "workers": workers, "took_ms": now_ms - since_ms, "kept_groups": kept,
            });
            self.tell(asker, AdminAnswer(200, done));
        }
    }

    /// Whether a reload only waits for old workers to stop taking connections.
    fn is_old_awaited(&self) -> bool {
        self.reloads.is_open() && self.fleet.is_renewed(self.reloads.generation())
    }

    /// Whether an old worker still takes connections, because it has not obeyed its order to end yet. A reload ends
    /// only when no old worker takes connections any more, so that a client that connects afterwards meets the new
    /// version.
    fn is_old_met(&self, generation: u32) -> bool {
        let mut old = self.fleet.workers().filter(|worker| worker.generation() != generation);
        old.any(|worker| self.listens(worker)) || self.is_old_branch_met()
    }

    /// Whether a worker takes connections.
    fn listens(&self, worker: &WorkerProcess) -> bool {
        self.links.get(worker.id()).is_some_and(|link| link.tally().get(Cell::Listening) > 0)
    }

    /// Tells all workers to end.
    fn stop_workers(&mut self, is_fast: bool, now_ms: u64) {
        self.dismiss_prototypes(now_ms);
        if let Some(trial) = self.succession.trial() {
            child::kick(trial, Kick::Kill);
        }
        self.ports.close();
        self.decide(now_ms, |fleet, out| fleet.stop(is_fast, now_ms, out));
    }

    /// Has the fleet decide something, and carries out its actions.
    fn decide<T>(&mut self, now_ms: u64, decide: impl FnOnce(&mut Fleet, &mut Vec<Action>) -> T) -> T {
        let mut actions = Vec::new();
        let answer = decide(&mut self.fleet, &mut actions);
        self.carry_out(actions, now_ms);
        answer
    }

    fn carry_out(&mut self, actions: Vec<Action>, now_ms: u64) {
        for action in actions {
            match action {
                Action::Log(message, text) => log::write(message, format_args!("{text}")),
                Action::Drain(id, ending) => {
                    if self.links.send(id, &ToWorker::drain(ending)).is_err()
                        && let Some(recipient) = self.fleet.worker(id).and_then(WorkerProcess::recipient)
                    {
                        signal(recipient, Kick::Terminate);
                    }
                }
                Action::Hurry(id, ending) => {
                    // The worker may have ended already.
                    let _ = self.links.send(id, &ToWorker::drain(ending));
                }
                Action::Signal(recipient, kick) => signal(recipient, kick),
                Action::DoomPrototype(generation) => self.prototypes.doom(generation, now_ms),
                Action::Release(pid) => {
                    self.prototype_lines.remove(&pid);
                }
            }
        }
    }
}

/// Returns a branch's plan, and its line to the door's supervisor.
fn parent_of(branch: BranchPlan) -> io::Result<(BranchPlan, Channel)> {
    let line = branch.line.try_clone()?;
    Ok((branch, Channel::new(line)))
}

fn signal(recipient: Recipient, kick: Kick) {
    match recipient {
        Recipient::Child(pid) => child::kick(pid, kick),
        Recipient::Forker { pid, birth } if usage::birth(pid) == Some(birth) => child::kick(pid, kick),
        Recipient::Forker { .. } => {}
    }
}
