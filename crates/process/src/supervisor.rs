//! The supervisor: hears what has happened, looks at what is due, and acts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use adyton_log::{self as log, Journal, Level, messages};
use adyton_server::Ending;
use adyton_server::share;
use adyton_server::tally::{Cell, Sample, Tally};
use adyton_sys::board::Board;
use adyton_sys::child::{self, Exit, Kick};
use adyton_sys::signal_queue::{Signal, Signals};
use adyton_sys::{clock, socket};
use serde_json::json;

use crate::admin::AdminServers;
use crate::cause::{Cause, Reason};
use crate::demand::Demand;
use crate::jitter::Jitter;
use crate::message::{Channel, FromWorker, Source, ToWorker};
use crate::notify::Manager;
use crate::nursery::{Dismissed, Prototype};
use crate::place::Place;
use crate::plan::{Pace, Plan};
use crate::ports::Sockets;
use crate::pulse::Pulse;
use crate::question::{Answer, Ask, Desk, Question};
use crate::rounds::Round;
use crate::slot::{STUCK, Slot, Staff, State, UNHURRIED};
use crate::succession::Succession;
use crate::usage::{self, OomKills};
use crate::watch::Watch;

/// How often it looks at its workers while nothing happens.
const TICK_MS: u64 = 1_000;

/// In development somebody waits for it.
const DEVELOPING_TICK_MS: u64 = 300;

/// And while one of them is between two states.
const QUICK_TICK_MS: u64 = 50;

/// And while all that a reload waits for is that old workers stop to take connections, or another program that the last
/// questions are answered.
const CLOSING_TICK_MS: u64 = 2;

/// Two signals that are nearer to each other than this are one.
const TWICE_MS: u64 = 100;

/// How a supervisor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was told to stop, and has.
    Stopped,
    /// The first worker did not start; it has said why. The status for the process.
    NotStarted(u8),
}

/// Runs a plan to its end.
///
/// # Errors
///
/// The operating system refuses what a supervisor cannot do without.
pub fn run(plan: Plan) -> io::Result<End> {
    let mut supervisor = Supervisor::new(plan)?;
    supervisor.run()?;
    Ok(match supervisor.stop {
        Some(Stop { failed: Some(status), .. }) => End::NotStarted(status),
        _ => End::Stopped,
    })
}

/// A stop that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Since when.
    pub(crate) asked_ms: u64,
    /// Workers are told from then on: readiness fails first.
    pub(crate) at_ms: u64,
    pub(crate) fast: bool,
    pub(crate) failed: Option<u8>,
}

/// A supervisor at work.
pub(crate) struct Supervisor {
    pub(crate) plan: Plan,
    pub(crate) slots: Vec<Slot>,
    pub(crate) generation: u32,
    /// The last generation of which a worker has served.
    pub(crate) proven: u32,
    /// The last generation that served in all workers.
    pub(crate) announced: u32,
    /// Workers of this generation that did not start, one after the other.
    pub(crate) not_started: u32,
    /// The last generation that serves in some workers and does not start in others.
    pub(crate) stalled: u32,
    /// What workers have done that are gone.
    pub(crate) past: Sample,
    pub(crate) deaths: BTreeMap<Cause, u64>,
    /// Where the lines go that dead workers have left, once there were any.
    pub(crate) lines_left: Option<Journal>,
    pub(crate) starts: u64,
    pub(crate) since_ms: u64,
    pub(crate) serves: String,
    pub(crate) stop: Option<Stop>,
    pub(crate) signals: Signals,
    pub(crate) manager: Manager,
    /// From where on is logged, if somebody has changed that.
    pub(crate) log_level: Option<Level>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) admin_servers: AdminServers,
    /// Where workers count their connections, for each other to see.
    pub(crate) shares: Board,
    /// Sockets of slots that there are no more, for the next ones: who is still in their queues is served by others.
    pub(crate) spare: Vec<Sockets>,
    pub(crate) control: Option<OwnedFd>,
    pub(crate) admin: Option<OwnedFd>,
    /// Whether another program is to take the place of this one.
    pub(crate) succession: Succession,
    /// The processes that workers are forked from: of this generation, and of the one before while it is needed.
    pub(crate) prototypes: Vec<Prototype>,
    /// Those that are about to end.
    pub(crate) dismissed: Vec<Dismissed>,
    /// Prototypes that could not import the application, one after the other.
    pub(crate) prototype_failures: u32,
    pub(crate) prototype_not_before_ms: u64,
    /// Children that have ended before they could say who they are.
    pub(crate) strangers: Vec<(u32, Exit, u64)>,
    /// Who waits for the end of a reload, with when it began.
    pub(crate) reloads: Vec<(Sender<Answer>, u64)>,
    pub(crate) rounds: Vec<Round>,
    pub(crate) round: u64,
    pub(crate) watch: Watch,
    pub(crate) demand: Demand,
    pub(crate) oom_kills: OomKills,
    pub(crate) looked_ms: u64,
    pub(crate) jitter: Jitter,
}

impl Supervisor {
    pub(crate) fn new(mut plan: Plan) -> io::Result<Self> {
        let signals = Signals::block()?;
        // A log that hangs keeps no worker waiting for its supervisor.
        log::begin_queue(plan.log_queue_bytes_max)?;
        let desk = Desk::new()?;
        if plan.preload {
            child::adopt_orphans()?;
        }
        let (control, admin) = (plan.control.take(), plan.admin.take());
        let admin_servers = AdminServers::open(&desk, control.as_ref(), admin.as_ref(), &plan.access)?;
        let note = plan.note.take();
        let mut supervisor = Self {
            slots: Vec::new(),
            generation: 1,
            proven: 0,
            announced: 1,
            not_started: 0,
            stalled: 0,
            past: Sample::default(),
            deaths: BTreeMap::new(),
            lines_left: None,
            starts: 0,
            since_ms: clock::monotonic_ms(),
            serves: String::new(),
            stop: None,
            signals,
            manager: Manager::find(),
            log_level: None,
            desk,
            admin_servers,
            shares: Board::new(share::CELLS)?,
            spare: Vec::new(),
            control,
            admin,
            succession: Succession::default(),
            prototypes: Vec::new(),
            dismissed: Vec::new(),
            prototype_failures: 0,
            prototype_not_before_ms: 0,
            strangers: Vec::new(),
            reloads: Vec::new(),
            rounds: Vec::new(),
            round: 0,
            watch: Watch::default(),
            demand: Demand::default(),
            oom_kills: OomKills::new(),
            looked_ms: 0,
            jitter: Jitter::new(clock::monotonic_us()),
            plan,
        };
        for _ in 0..supervisor.plan.processes {
            supervisor.add_slot()?;
        }
        if let Some(touch) = &supervisor.plan.touch {
            supervisor.watch.add(touch);
        }
        if let Some(note) = note {
            supervisor.go_on(&note)?;
        }
        Ok(supervisor)
    }

    fn run(&mut self) -> io::Result<()> {
        while !self.is_done() {
            let now_ms = clock::monotonic_ms();
            self.hear(now_ms);
            self.look(now_ms);
            self.act(now_ms);
            self.count_seats();
            self.manager.beat(now_ms);
            self.wait()?;
        }
        for (reply, _) in self.reloads.drain(..) {
            // Whoever asked may have gone.
            let _ = reply.send((409, json!("the server was stopped")));
        }
        self.desk.close();
        self.admin_servers.close();
        Ok(())
    }

    fn is_done(&self) -> bool {
        let helpers = self.prototypes.len() + self.dismissed.len();
        self.stop.is_some()
            && self.workers().next().is_none()
            && helpers == 0
            && self.succession.trial().is_none()
    }

    /// What all workers have done, those that are gone included.
    pub(crate) fn total(&self) -> Sample {
        let mut sum = self.past.clone();
        for worker in self.workers() {
            sum.add(&worker.tally.sample());
        }
        self.add_own_losses(&mut sum);
        sum
    }

    /// What this process itself could not log.
    pub(crate) fn add_own_losses(&self, sum: &mut Sample) {
        sum.count(Cell::LinesLost, self.lines_left.as_ref().map_or(0, Journal::lost));
        sum.count(Cell::EntriesLost, log::entries_lost());
    }

    /// How many slots have a worker that serves, and gives signs of life.
    pub(crate) fn serving(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_served()).count()
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Staff> {
        self.slots.iter().flat_map(|slot| &slot.workers)
    }

    pub(crate) fn wait(&self) -> io::Result<()> {
        let between = self.stop.is_some()
            || !self.rounds.is_empty()
            || !self.dismissed.is_empty()
            || self.slots.iter().any(|slot| {
                !slot.is_wanted()
                    || slot.serving().is_none()
                    || slot.workers.iter().any(|worker| worker.due_ms.is_some())
            });
        let mut all: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd(), self.desk.wake.as_fd()];
        let open = self.workers().filter(|worker| !worker.channel.has_ended());
        all.extend(open.map(|worker| worker.channel.as_fd()));
        let importing = self.prototypes.iter().filter(|prototype| !prototype.is_ready);
        all.extend(importing.map(AsFd::as_fd));
        let tick_ms = match between {
            _ if self.generation > self.announced && self.is_renewed() => CLOSING_TICK_MS,
            _ if self.succession == Succession::Closing => CLOSING_TICK_MS,
            true => QUICK_TICK_MS,
            false => self.tick_ms(),
        };
        socket::wait_readable(&all, tick_ms.min(self.manager.patience_ms())).map(|_| ())
    }

    /// Takes note of what has happened.
    fn hear(&mut self, now_ms: u64) {
        while let Some(signal) = self.signals.next() {
            self.obey(signal, now_ms);
        }
        for at in 0..self.slots.len() {
            for of in 0..self.slots[at].workers.len() {
                for message in self.slots[at].workers[of].channel.receive() {
                    self.note(at, of, message, now_ms);
                }
            }
        }
        let blamed: Vec<Source> = self.prototypes.iter_mut().flat_map(Prototype::listen).collect();
        self.watch_sources(&blamed);
        while let Some((pid, exit)) = child::reap() {
            self.bury(pid, exit, now_ms);
        }
        self.bury_nameless(now_ms);
        for Question { ask, reply } in self.desk.take() {
            self.answer(ask, reply, now_ms);
        }
    }

    fn obey(&mut self, signal: Signal, now_ms: u64) {
        match signal {
            Signal::Terminate | Signal::Interrupt => {
                // A signal that a whole group gets may come twice: from the terminal, and from who passes it on.
                let is_second = self.stop.is_some_and(|stop| now_ms >= stop.asked_ms + TWICE_MS);
                self.leave(is_second, now_ms);
            }
            Signal::Quit => self.leave(true, now_ms),
            Signal::HangUp => self.reload(now_ms),
            Signal::User1 => {
                // Files in a folder that workers may not write are made for them before they hear of it.
                let desk = Arc::clone(&self.desk);
                log::reopen_then(Box::new(move || desk.tell(Ask::Reopened)));
            }
            Signal::More => self.scale(1, now_ms),
            Signal::Fewer => self.scale(-1, now_ms),
            // One that is tried out already is the one that is meant.
            Signal::User2 if self.succession.has_begun() => {}
            Signal::User2 => self.succession = Succession::Wanted,
            Signal::Child | Signal::Other => {}
        }
    }

    /// Begins to stop, or stops faster.
    pub(crate) fn leave(&mut self, fast: bool, now_ms: u64) {
        let mut stop = Stop { asked_ms: now_ms, at_ms: now_ms, fast, failed: None };
        if !fast {
            stop.at_ms += self.plan.drain_delay_ms;
        }
        if let Some(begun) = self.stop {
            // Once workers were told, the sockets are gone: there is no way back.
            let at_ms = stop.at_ms.min(begun.at_ms);
            stop = Stop { asked_ms: begun.asked_ms, at_ms, fast: fast || begun.fast, failed: begun.failed };
        }
        if self.stop.is_none_or(|begun| stop.fast && !begun.fast) {
            let how = if stop.fast { "at once" } else { "when what runs is done" };
            log::write(&messages::STOPPING, format_args!("stopping {how}"));
            self.manager.stopping();
        }
        self.stop = Some(stop);
    }

    pub(crate) fn reload(&mut self, now_ms: u64) {
        if self.stop.is_some() {
            return;
        }
        self.generation += 1;
        self.not_started = 0;
        self.manager.reloading();
        log::write(&messages::RELOADING, format_args!("reloading: generation {}", self.generation));
        (self.prototype_failures, self.prototype_not_before_ms) = (0, now_ms);
        for slot in &mut self.slots {
            slot.not_before_ms = now_ms;
            // What an older version may hang in is not waited for.
            for worker in slot.workers.iter_mut().filter(|worker| worker.state == State::Starting) {
                worker.abandon(Reason::other("a newer version is wanted"));
            }
            // Its old worker takes connections until then, and all would wait for it: who comes late has the others.
            slot.retires_ms = slot.retires_ms.map(|at_ms| at_ms.min(now_ms));
        }
    }

    /// A worker has said something.
    pub(crate) fn note(&mut self, at: usize, of: usize, message: FromWorker, now_ms: u64) {
        match message {
            FromWorker::Sources(files) => self.watch_sources(&files),
            FromWorker::Forking { pid } => self.note_forking(at, of, pid),
            FromWorker::Hello { pid } => self.note_hello(at, of, pid),
            FromWorker::Leaving => self.note_leaving(at, of, now_ms),
            FromWorker::Ready { serves } => self.note_ready(at, of, serves, now_ms),
            FromWorker::Answer(number, value) => {
                let slot = &self.slots[at];
                let (slot, pid) = (slot.number, slot.workers[of].pid);
                if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) {
                    round.waiting.retain(|&(_, other)| other != pid);
                    round.answers.push(json!({"worker": slot, "pid": pid, "answer": value}));
                }
            }
        }
    }

    /// A prototype has begun to fork a worker, by way of a process of its own.
    fn note_forking(&mut self, at: usize, of: usize, pid: u32) {
        let worker = &mut self.slots[at].workers[of];
        let birth = usage::birth(pid);
        let parent = usage::parent(pid);
        let is_of_prototype = self.prototypes.iter().any(|prototype| Some(prototype.pid) == parent)
            || self.dismissed.iter().any(|dismissed| Some(dismissed.pid) == parent);
        if worker.pid == 0 && is_of_prototype {
            worker.midwife = birth.map(|birth| (pid, birth));
        }
    }

    /// A forked worker says who it is. What it says is looked at: this process sends signals to whoever it names, mostly
    /// with more rights than it has itself.
    fn note_hello(&mut self, at: usize, of: usize, pid: u32) {
        let is_taken = self.succession.trial() == Some(pid)
            || self.workers().any(|worker| worker.pid == pid)
            || self.prototypes.iter().any(|prototype| prototype.pid == pid)
            || self.dismissed.iter().any(|dismissed| dismissed.pid == pid);
        let worker = &mut self.slots[at].workers[of];
        // One that has ended already is buried at once, and not sent anything.
        let has_ended =
            worker.channel.has_ended() && self.strangers.iter().any(|(stranger, ..)| *stranger == pid);
        if worker.pid != 0 || is_taken || !(has_ended || usage::is_our_child(pid)) {
            return;
        }
        worker.pid = pid;
        if worker.doomed.is_some() {
            // It was given up before it was there.
            worker.kick(Kick::Kill);
        }
        if !has_ended {
            usage::end_before_us(pid);
        }
    }

    /// Watches the files of the application, in development only: workers may say what they like.
    pub(crate) fn watch_sources(&mut self, files: &[Source]) {
        if self.plan.develops {
            self.watch.add_sources(files);
        }
    }

    /// Somebody else has told a worker to end. Another one takes its place, as if we had.
    fn note_leaving(&mut self, at: usize, of: usize, now_ms: u64) {
        let slot = &mut self.slots[at];
        let (number, worker) = (slot.number, &mut slot.workers[of]);
        if worker.state != State::Serving {
            return;
        }
        if self.stop.is_none() {
            log::write(
                &messages::WORKER_LEAVES,
                format_args!(
                    "worker {number} ({}) was told to end by a signal from outside",
                    worker.process()
                ),
            );
        }
        let why = Reason::other("a signal told it to");
        worker.drain(why, UNHURRIED, self.plan.limits.graceful_timeout_ms, now_ms);
    }

    fn note_ready(&mut self, at: usize, of: usize, serves: String, now_ms: u64) {
        let slot = &mut self.slots[at];
        let worker = &mut slot.workers[of];
        if worker.state != State::Starting {
            return;
        }
        let (number, generation, took_ms) = (slot.number, worker.generation, now_ms - worker.started_ms);
        (worker.state, worker.serving_ms, worker.due_ms) = (State::Serving, Some(now_ms), None);
        let again = self.starts > self.plan.processes as u64;
        let message = if again { &messages::WORKER_SERVES_AGAIN } else { &messages::WORKER_SERVES };
        let process = worker.process();
        log::write(message, format_args!("worker {number} ({process}) serves, after {took_ms} ms"));
        for older in &mut slot.workers[..of] {
            let why = older.replace.clone().unwrap_or_else(|| Reason::other("a new version serves"));
            older.drain(why, UNHURRIED, self.plan.limits.graceful_timeout_ms, now_ms);
        }
        if self.proven == 0 {
            (self.plan.on_ready)(&serves);
            self.manager.ready(&format!("serves {serves}"));
        }
        (self.serves, self.proven) = (serves, self.proven.max(generation));
        self.not_started = 0;
        if let Some(stop) = self.stop {
            debug_assert!(stop.failed.is_none(), "a worker has served");
        }
    }

    /// Looks at what is due.
    pub(crate) fn look(&mut self, now_ms: u64) {
        let fresh = now_ms >= self.looked_ms + self.tick_ms();
        if fresh {
            let elapsed_ms = now_ms.saturating_sub(std::mem::replace(&mut self.looked_ms, now_ms));
            self.look_at_files(now_ms);
            self.look_at_demand(elapsed_ms, now_ms);
            self.look_at_pulses(elapsed_ms, now_ms);
            self.recall();
            self.oom_kills.forget(now_ms);
        }
        let limits = self.plan.limits.clone();
        for slot in &mut self.slots {
            let number = slot.number;
            for worker in &mut slot.workers {
                if worker.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                    if worker.pid == 0 && worker.midwife.is_none() {
                        // The order to fork it was not followed.
                        let of = |prototype: &&mut Prototype| prototype.generation == worker.generation;
                        self.prototypes.iter_mut().filter(of).for_each(|prototype| prototype.doom(now_ms));
                    }
                    worker.press(number, &limits, now_ms);
                } else if fresh && worker.state == State::Serving && worker.replace.is_none() {
                    worker.rss_bytes = usage::rss_bytes(worker.pid);
                    worker.replace = worker.past_limit(&limits, now_ms);
                    if let Some(why) = worker.replace.clone() {
                        log::write(
                            &messages::WORKER_REPLACED,
                            format_args!("worker {number} is replaced: {}", why.words()),
                        );
                        if worker.tally.get(Cell::Stuck) > 0 {
                            // It would take requests that it can no longer answer. They wait for its successor.
                            worker.drain(why, STUCK, limits.graceful_timeout_ms, now_ms);
                        }
                    }
                }
            }
        }
        self.end_rounds(now_ms);
    }

    /// How often it looks while nothing happens.
    pub(crate) fn tick_ms(&self) -> u64 {
        if self.plan.develops { DEVELOPING_TICK_MS } else { TICK_MS }
    }

    /// Reloads when a file has changed that is watched.
    fn look_at_files(&mut self, now_ms: u64) {
        if self.plan.develops {
            // What was imported since the last look is watched from the next one on.
            for worker in self.slots.iter().filter_map(Slot::serving) {
                // One that is gone is noticed by its end.
                let _ = worker.channel.send(&ToWorker::Sources);
            }
        }
        if let Some(file) = self.watch.look() {
            log::write(&messages::FILE_CHANGED, format_args!("{} has changed", file.display()));
            self.reload(now_ms);
        }
    }

    /// Does what follows from how things stand.
    fn act(&mut self, now_ms: u64) {
        if let Some(stop) = self.stop
            && now_ms >= stop.at_ms
        {
            self.send_home(stop.fast, now_ms);
            return;
        }
        self.retire(now_ms);
        self.make_way(now_ms);
        self.keep_prototypes(now_ms);
        for at in 0..self.slots.len() {
            if self.may_start(at, now_ms)
                && let Err(error) = self.start(at, now_ms)
            {
                let slot = &mut self.slots[at];
                slot.note_failure(0, now_ms);
                let number = slot.number;
                log::write(
                    &messages::WORKER_NOT_STARTED,
                    format_args!("worker {number} cannot be started: {error}"),
                );
                self.note_not_started(self.generation, None, now_ms);
            }
        }
        self.end_reloads(now_ms);
    }

    fn may_start(&self, at: usize, now_ms: u64) -> bool {
        let slot = &self.slots[at];
        let starting = || self.slots.iter().any(Slot::is_starting);
        slot.wants_worker(self.generation, now_ms)
            && (!self.plan.preload || self.prototype().is_some())
            // The first of a generation shows whether it can serve at all.
            && (self.proven == self.generation || !starting())
            && (self.plan.pace == Pace::All || slot.serving().is_none() || !starting())
    }

    fn start(&mut self, at: usize, now_ms: u64) -> io::Result<()> {
        let (ours, theirs) = socket::pair()?;
        let tally = Tally::new()?;
        let slot = &self.slots[at];
        let seat = self.free_seat();
        let position = (slot.number, self.wanted(), self.generation, seat);
        let own = [theirs.as_fd(), tally.board().as_fd(), self.shares.as_fd()];
        let others = self.sockets_beside(at);
        let place = Place::new(position, own, &slot.sockets, &others, self.log_level);
        let mut kept = own.to_vec();
        kept.extend(slot.sockets.iter().flatten().map(OwnedFd::as_fd));
        kept.extend(&others);
        let pid = if let Some(prototype) = self.prototype() {
            prototype.fork(&place, &kept)?;
            // It says itself who it is.
            0
        } else {
            let arguments = self.plan.arguments_of("worker", place.written());
            let pid = self.plan.program.spawn(&arguments, &kept)?;
            usage::end_before_us(pid);
            pid
        };
        let limits = &self.plan.limits;
        let (requests_max, lifetime_max_ms) = (limits.requests_max, limits.lifetime_max_ms);
        let due_ms = limits.startup_due_ms(now_ms);
        self.starts += 1;
        let staff = Staff {
            pid,
            midwife: None,
            generation: self.generation,
            state: State::Starting,
            seat,
            channel: Channel::new(ours),
            tally,
            started_ms: now_ms,
            serving_ms: None,
            due_ms,
            replace: None,
            told: None,
            hurried: false,
            doomed: None,
            requests_max: self.jitter.add(requests_max),
            lifetime_max_ms: self.jitter.add(lifetime_max_ms),
            rss_bytes: 0,
            cpu_ms: 0,
            pulse: Pulse::default(),
        };
        self.slots[at].workers.push(staff);
        Ok(())
    }

    /// Whether workers of the newest generation serve in all slots.
    fn is_renewed(&self) -> bool {
        let mut lasting = self.slots.iter().filter(|slot| slot.retires_ms.is_none());
        lasting.all(|slot| slot.serving().is_some_and(|worker| worker.generation == self.generation))
    }

    fn end_reloads(&mut self, now_ms: u64) {
        // An old worker takes connections until it has done what it was told: who connects after the end of a reload
        // meets the new version.
        let takes_more =
            |old: &Staff| old.generation != self.generation && old.tally.get(Cell::Listening) > 0;
        if self.generation > self.announced && self.is_renewed() && !self.workers().any(takes_more) {
            self.announced = self.generation;
            let (generation, workers) = (self.generation, self.wanted());
            self.manager.ready(&format!("serves {}, generation {generation}", self.serves));
            log::write(
                &messages::RELOADED,
                format_args!("generation {generation} serves in all {workers} workers"),
            );
            for (reply, since_ms) in self.reloads.drain(..) {
                let took_ms = now_ms - since_ms;
                // Whoever asked may have gone.
                let _ = reply
                    .send((200, json!({"generation": generation, "workers": workers, "took_ms": took_ms})));
            }
        }
    }

    /// Tells all workers to end.
    fn send_home(&mut self, fast: bool, now_ms: u64) {
        self.dismiss_prototypes(|_| true, now_ms);
        if let Some(trial) = self.succession.trial() {
            child::kick(trial, Kick::Kill);
        }
        let graceful_ms = self.plan.limits.graceful_timeout_ms;
        // Once the workers have closed theirs, too, who connects is refused, and not kept waiting for the end.
        self.plan.open = Box::new(|| Err(io::Error::other("the server stops")));
        self.plan.sockets.clear();
        self.spare.clear();
        for slot in &mut self.slots {
            slot.sockets.clear();
        }
        for worker in self.slots.iter_mut().flat_map(|slot| &mut slot.workers) {
            if fast || worker.state == State::Starting {
                worker.abandon(Reason::other("the server stops"));
            } else {
                worker.drain(Reason::other("the server stops"), Ending::PROMPT, graceful_ms, now_ms);
            }
        }
    }
}
