//! The supervisor: hears what has happened, looks at what is due, and acts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use adyton_server::Ending;
use adyton_server::log::{self, Level};
use adyton_server::share;
use adyton_server::tally::{Cell, Sample, Tally};
use adyton_sys::board::Board;
use adyton_sys::child::{self, Exit, Kick};
use adyton_sys::signals::{Signal, Signals};
use adyton_sys::{clock, pass, socket};
use serde_json::{Value, json};

use crate::admin;
use crate::cause::{Cause, Known, NOT_LOADED, cause};
use crate::demand::{Demand, Seen};
use crate::message::{Channel, FromWorker, ToWorker};
use crate::notify::Manager;
use crate::plan::{Pace, Plan, Sockets};
use crate::prototype::Prototype;
use crate::question::{Answer, Ask, Desk, Question};
use crate::slot::{Slot, Staff, State};
use crate::succession::Note;
use crate::usage;
use crate::watch::Watch;
use crate::worker::Place;

/// How often it looks at its workers while nothing happens.
const TICK_MS: u64 = 1_000;

/// In development somebody waits for it.
const DEVELOPING_TICK_MS: u64 = 300;

/// And while one of them is between two states.
const QUICK_TICK_MS: u64 = 50;

/// A worker that does not end in time gets so much more to say where it is.
const LAST_WORDS_MS: u64 = 2_000;

/// What a worker needs to end by itself, beyond the time of its requests.
const ENDING_MS: u64 = 2_000;

/// How long a slot that is given up still accepts: handshakes that had begun are over by then.
const RETIRING_MS: u64 = 500;

/// The end of a worker whose successor serves at the same sockets.
const SUCCEEDED: Ending = Ending { is_patient: true, takes_queue: false };

/// The end of a worker without successor.
const ALONE: Ending = Ending { is_patient: true, takes_queue: true };

/// How long nobody is started in the place of a prototype that could not import the application.
const PROTOTYPE_PAUSE_MS: u64 = 1_000;

/// Children of others whose end is remembered for a moment.
const STRANGERS_MAX: usize = 64;

/// Sockets of others that a worker gets at most: a message carries so many.
const OTHERS_MAX: usize = 128;

/// How long workers may take to answer a question.
const ANSWER_MS: u64 = 3_000;

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
    /// Workers are told from then on: readiness fails first.
    at_ms: u64,
    fast: bool,
    failed: Option<u8>,
}

/// A question to all workers.
struct Round {
    number: u64,
    due_ms: u64,
    /// By slot.
    waiting: Vec<u32>,
    answers: Vec<Value>,
    reply: Sender<Answer>,
}

/// A supervisor at work.
pub(crate) struct Supervisor {
    pub(crate) plan: Plan,
    pub(crate) slots: Vec<Slot>,
    pub(crate) generation: u32,
    /// The last generation of which a worker has served.
    pub(crate) proven: u32,
    /// The last generation that served in all workers.
    announced: u32,
    /// What workers have done that are gone.
    pub(crate) past: Sample,
    pub(crate) deaths: BTreeMap<Cause, u64>,
    pub(crate) starts: u64,
    pub(crate) since_ms: u64,
    pub(crate) serves: String,
    pub(crate) stop: Option<Stop>,
    signals: Signals,
    manager: Manager,
    desk: Arc<Desk>,
    /// Where workers count their connections, for each other to see.
    pub(crate) shares: Board,
    /// Sockets of slots that there are no more, for the next ones: who is still in their queues is served by others.
    pub(crate) spare: Vec<Sockets>,
    pub(crate) control: Option<OwnedFd>,
    pub(crate) admin: Option<OwnedFd>,
    /// The process that shows whether the program can be started at all.
    trial: Option<u32>,
    /// Another program is to take the place of this one.
    succession: bool,
    /// The processes that workers are forked from: of this generation, and of the one before while it is needed.
    prototypes: Vec<Prototype>,
    prototype_not_before_ms: u64,
    /// Children that have ended before they could say who they are.
    strangers: Vec<(u32, Exit)>,
    /// Who waits for the end of a reload, with when it began.
    reloads: Vec<(Sender<Answer>, u64)>,
    rounds: Vec<Round>,
    round: u64,
    watch: Watch,
    demand: Demand,
    oom_kills: u64,
    looked_ms: u64,
    random: u64,
}

impl Supervisor {
    fn new(mut plan: Plan) -> io::Result<Self> {
        let signals = Signals::block()?;
        let desk = Desk::new()?;
        if plan.preload {
            child::adopt_orphans()?;
        }
        let (control, admin) = (plan.control.take(), plan.admin.take());
        let again = |socket: &Option<OwnedFd>| socket.as_ref().map(OwnedFd::try_clone).transpose();
        admin::start(&desk, again(&control)?, again(&admin)?)?;
        let note = plan.note.take();
        let mut supervisor = Self {
            slots: Vec::new(),
            generation: 1,
            proven: 0,
            announced: 1,
            past: Sample::default(),
            deaths: BTreeMap::new(),
            starts: 0,
            since_ms: clock::monotonic_ms(),
            serves: String::new(),
            stop: None,
            signals,
            manager: Manager::find(),
            desk,
            shares: Board::new(share::CELLS)?,
            spare: Vec::new(),
            control,
            admin,
            trial: None,
            succession: false,
            prototypes: Vec::new(),
            prototype_not_before_ms: 0,
            strangers: Vec::new(),
            reloads: Vec::new(),
            rounds: Vec::new(),
            round: 0,
            watch: Watch::default(),
            demand: Demand::default(),
            oom_kills: usage::oom_kills(),
            looked_ms: 0,
            random: clock::monotonic_us() | 1,
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

    /// Goes on where another program has left off.
    fn go_on(&mut self, note: &Note) -> io::Result<()> {
        self.past = note.take_workers(&mut self.slots)?;
        (self.shares, self.spare) = (note.take_shares()?, note.take_spare()?);
        (self.generation, self.proven, self.announced) = (note.generation, note.proven, note.generation);
        (self.starts, self.since_ms, self.serves) = (note.starts, note.since_ms, note.serves.clone());
        let known =
            note.deaths.iter().filter_map(|(word, count)| Cause::named(word).map(|cause| (cause, *count)));
        self.deaths = known.collect();
        log::write(Level::Info, format_args!("the supervisor is version {} now", env!("CARGO_PKG_VERSION")));
        Ok(())
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
        Ok(())
    }

    /// Says to the workers how many they are.
    fn count_seats(&self) {
        let serving = self.workers().filter(|worker| worker.state == State::Serving).count();
        let used = self.workers().map(|worker| worker.seat + 1).max().unwrap_or(0);
        share::set_serving(&self.shares, serving, used);
    }

    fn free_seat(&self) -> usize {
        (0..share::SEATS).find(|seat| self.workers().all(|worker| worker.seat != *seat)).unwrap_or(0)
    }

    fn is_done(&self) -> bool {
        self.stop.is_some() && self.workers().next().is_none()
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Staff> {
        self.slots.iter().flat_map(|slot| &slot.workers)
    }

    fn wait(&self) -> io::Result<()> {
        let between = self.stop.is_some()
            || !self.rounds.is_empty()
            || self.slots.iter().any(|slot| {
                slot.retires_ms.is_some()
                    || slot.serving().is_none()
                    || slot.workers.iter().any(|worker| worker.due_ms.is_some())
            });
        let mut all: Vec<BorrowedFd<'_>> = vec![self.signals.as_fd(), self.desk.wake.as_fd()];
        let open = self.workers().filter(|worker| !worker.channel.has_ended());
        all.extend(open.map(|worker| worker.channel.as_fd()));
        let importing = self.prototypes.iter().filter(|prototype| !prototype.is_ready);
        all.extend(importing.map(AsFd::as_fd));
        let tick_ms = if between { QUICK_TICK_MS } else { self.tick_ms() };
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
        self.prototypes.iter_mut().for_each(Prototype::listen);
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
            Signal::Terminate | Signal::Interrupt => self.leave(self.stop.is_some(), now_ms),
            Signal::Quit => self.leave(true, now_ms),
            Signal::HangUp => self.reload(now_ms),
            Signal::User1 => self.tell_all(&ToWorker::Reopen),
            Signal::More => self.scale(1, now_ms),
            Signal::Fewer => self.scale(-1, now_ms),
            Signal::User2 => self.succession = true,
            Signal::Child | Signal::Other => {}
        }
    }

    /// Begins to stop, or stops faster.
    fn leave(&mut self, fast: bool, now_ms: u64) {
        let delay_ms = if fast { 0 } else { self.plan.drain_delay_ms };
        let how = if fast { "at once" } else { "when what runs is done" };
        log::write(Level::Info, format_args!("stopping {how}"));
        self.manager.stopping();
        let failed = self.stop.and_then(|stop| stop.failed);
        self.stop = Some(Stop { at_ms: now_ms + delay_ms, fast, failed });
    }

    fn reload(&mut self, now_ms: u64) {
        if self.stop.is_some() {
            return;
        }
        self.generation += 1;
        self.manager.reloading();
        log::write(Level::Info, format_args!("reloading: generation {}", self.generation));
        for slot in &mut self.slots {
            slot.not_before_ms = now_ms;
        }
    }

    /// A worker has said something.
    fn note(&mut self, at: usize, of: usize, message: FromWorker, now_ms: u64) {
        match message {
            FromWorker::Sources(files) => self.watch.add_sources(&files),
            FromWorker::Hello { pid } => self.slots[at].workers[of].pid = pid,
            FromWorker::Ready { serves } => self.note_ready(at, of, serves, now_ms),
            FromWorker::Answer(number, value) => {
                let slot = &self.slots[at];
                let (slot, pid) = (slot.number, slot.workers[of].pid);
                if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) {
                    round.waiting.retain(|&other| other != pid);
                    round.answers.push(json!({"worker": slot, "pid": pid, "answer": value}));
                }
            }
        }
    }

    fn note_ready(&mut self, at: usize, of: usize, serves: String, now_ms: u64) {
        let slot = &mut self.slots[at];
        let worker = &mut slot.workers[of];
        if worker.state != State::Starting {
            return;
        }
        let (number, generation, took_ms) = (slot.number, worker.generation, now_ms - worker.started_ms);
        (worker.state, worker.serving_ms, worker.due_ms) = (State::Serving, Some(now_ms), None);
        let level = if self.starts > self.plan.processes as u64 { Level::Info } else { Level::Debug };
        let pid = worker.pid;
        log::write(level, format_args!("worker {number} (process {pid}) serves, after {took_ms} ms"));
        for older in &mut slot.workers[..of] {
            let why = older.replace.clone().unwrap_or_else(|| "a new version serves".to_owned());
            drain(older, &why, SUCCEEDED, self.plan.limits.graceful_timeout_ms, now_ms);
        }
        if self.proven == 0 {
            (self.plan.on_ready)(&serves);
            self.manager.ready(&format!("serves {serves}"));
        }
        (self.serves, self.proven) = (serves, self.proven.max(generation));
        if let Some(stop) = self.stop {
            debug_assert!(stop.failed.is_none(), "a worker has served");
        }
    }

    /// Has the program that is on the disk now take the place of this one, if it can be started: not while workers
    /// are between two states.
    fn make_way(&mut self) {
        let is_calm = self.workers().all(|worker| worker.serving_ms.is_some());
        if !self.succession || !is_calm || self.trial.is_some() || self.stop.is_some() {
            return;
        }
        self.succession = false;
        match self.plan.program.spawn(&["succeed".into()], &[]) {
            Ok(pid) => self.trial = Some(pid),
            Err(error) => log::write(Level::Error, format_args!("the program cannot be started: {error}")),
        }
    }

    /// The trial is over.
    fn note_trial(&mut self, exit: Exit) {
        self.trial = None;
        let why = match exit {
            Exit::Status(0) if self.stop.is_none() => self.succeed().to_string(),
            Exit::Status(status) => format!("it ends with status {status}"),
            Exit::Signal(number) => format!("it ends by {}", child::signal_name(number)),
        };
        log::write(
            Level::Error,
            format_args!("the program cannot take this one's place, which goes on: {why}"),
        );
    }

    /// A child has ended.
    fn bury(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        if self.trial == Some(pid) {
            return self.note_trial(exit);
        }
        let found = self.slots.iter().enumerate().find_map(|(at, slot)| {
            slot.workers.iter().position(|worker| worker.pid == pid).map(|of| (at, of))
        });
        let Some((at, of)) = found else { return self.bury_other(pid, exit, now_ms) };
        let kills = usage::oom_kills();
        let memory_was_short = kills > self.oom_kills;
        self.oom_kills = kills;
        let slot = &mut self.slots[at];
        let worker = slot.workers.remove(of);
        let known = Known {
            served: worker.serving_ms.is_some(),
            told: worker.told.as_deref(),
            doomed: worker.doomed.as_deref(),
            memory_was_short,
            rss_bytes: worker.rss_bytes,
        };
        let (cause, words) = cause(exit, &known);
        // One that does not start at all says why, and its own words are enough.
        let is_said = self.proven == 0 && matches!(exit, Exit::Status(2 | NOT_LOADED));
        let level = if cause == Cause::Told || is_said { Level::Debug } else { Level::Error };
        log::write(level, format_args!("worker {} (process {pid}) {words}", slot.number));
        *self.deaths.entry(cause).or_default() += 1;
        share::clear(&self.shares, worker.seat);
        self.past.add_past(&worker.tally.sample());
        for round in &mut self.rounds {
            round.waiting.retain(|&other| other != pid);
        }
        if worker.told.is_none() {
            slot.note_failure(now_ms - worker.started_ms, now_ms);
            if worker.serving_ms.is_none() {
                self.note_not_started(worker.generation, exit, now_ms);
            }
        }
    }

    /// A child has ended that is no worker, or was not known as one yet.
    fn bury_other(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        if let Some(at) = self.prototypes.iter().position(|prototype| prototype.pid == pid) {
            let prototype = self.prototypes.remove(at);
            self.prototype_not_before_ms = now_ms + if prototype.is_ready { 0 } else { PROTOTYPE_PAUSE_MS };
            let known = Known {
                served: prototype.is_ready,
                told: (prototype.generation != self.generation).then_some("it is no longer needed"),
                doomed: None,
                memory_was_short: usage::oom_kills() > self.oom_kills,
                rss_bytes: 0,
            };
            let (cause, words) = cause(exit, &known);
            if cause != Cause::Told && self.stop.is_none() {
                log::write(Level::Error, format_args!("the prototype (process {pid}) {words}"));
            }
            if !prototype.is_ready {
                self.note_not_started(prototype.generation, exit, now_ms);
            }
            return;
        }
        // Process 1, and who adopts orphans, hears of everybody's children. Only a few can be workers.
        self.strangers.push((pid, exit));
        let surplus = self.strangers.len().saturating_sub(STRANGERS_MAX);
        self.strangers.drain(..surplus);
    }

    /// Forked workers that have ended before, or after, they said who they are.
    fn bury_nameless(&mut self, now_ms: u64) {
        for at in 0..self.slots.len() {
            while let Some(of) = self.slots[at].workers.iter().position(|worker| {
                worker.channel.has_ended()
                    && (worker.pid == 0 || self.strangers.iter().any(|(pid, _)| *pid == worker.pid))
            }) {
                let worker = &mut self.slots[at].workers[of];
                let known = self.strangers.iter().find(|(pid, _)| *pid == worker.pid);
                let exit = known.map_or(Exit::Status(1), |(_, exit)| *exit);
                // Nobody has this number, so that it names this worker for the moment.
                worker.pid = if worker.pid == 0 { u32::MAX } else { worker.pid };
                let pid = worker.pid;
                self.strangers.retain(|(other, _)| *other != pid);
                self.bury(pid, exit, now_ms);
            }
        }
    }

    /// Starts the process that workers of this generation are forked from; ends those that are no longer needed.
    fn keep_prototypes(&mut self, now_ms: u64) {
        if !self.plan.preload {
            return;
        }
        let (generation, proven) = (self.generation, self.proven);
        self.prototypes.retain(|prototype| prototype.generation == generation || generation > proven);
        for prototype in &mut self.prototypes {
            if prototype.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                let pid = prototype.pid;
                log::write(
                    Level::Error,
                    format_args!("the prototype (process {pid}) is not ready; this is where it is:"),
                );
                child::kick(pid, Kick::Abort);
                prototype.due_ms = Some(now_ms + LAST_WORDS_MS);
            }
        }
        let is_there = self.prototypes.iter().any(|prototype| prototype.generation == generation);
        let is_wanted = self.slots.iter().any(|slot| slot.wants_worker(generation, now_ms));
        if is_there || !is_wanted || now_ms < self.prototype_not_before_ms {
            return;
        }
        if let Err(error) = self.start_prototype(now_ms) {
            log::write(Level::Error, format_args!("the prototype cannot be started: {error}"));
            self.prototype_not_before_ms = now_ms + PROTOTYPE_PAUSE_MS;
        }
    }

    fn start_prototype(&mut self, now_ms: u64) -> io::Result<()> {
        let (ours, theirs) = pass::pair()?;
        let mut arguments = vec!["prototype".into(), theirs.as_raw_fd().to_string().into()];
        arguments.extend(self.plan.arguments.iter().cloned());
        let pid = self.plan.program.spawn(&arguments, &[theirs.as_fd()])?;
        let timeout_ms = self.plan.limits.startup_timeout_ms;
        let due_ms = (timeout_ms > 0).then_some(now_ms + timeout_ms);
        self.prototypes.push(Prototype::new(pid, self.generation, ours, due_ms));
        Ok(())
    }

    /// The prototype of this generation, once it can fork.
    fn prototype(&self) -> Option<&Prototype> {
        self.prototypes.iter().find(|prototype| prototype.is_ready && prototype.generation == self.generation)
    }

    /// A worker has ended before it served.
    fn note_not_started(&mut self, generation: u32, exit: Exit, now_ms: u64) {
        if self.proven == 0 {
            let status = match exit {
                Exit::Status(status) if status == NOT_LOADED || status == 2 => {
                    u8::try_from(status).unwrap_or(1)
                }
                _ => 1,
            };
            self.stop.get_or_insert(Stop { at_ms: now_ms, fast: true, failed: Some(status) });
        } else if generation > self.proven && generation == self.generation {
            self.generation = self.proven;
            self.manager.ready("the last reload has failed; the old version serves on");
            log::write(Level::Error, format_args!("the new version does not start; the old one serves on"));
            for (reply, _) in self.reloads.drain(..) {
                // Whoever asked may have gone.
                let _ = reply.send((500, json!("the new version does not start; the old one serves on")));
            }
        }
    }

    fn answer(&mut self, ask: Ask, reply: Sender<Answer>, now_ms: u64) {
        let number = self.round + 1;
        let answer = match ask {
            Ask::Status(whole) => (200, self.status(whole, now_ms)),
            Ask::Metrics => (200, Value::from(self.metrics(now_ms))),
            Ask::Live => (200, json!("live")),
            Ask::Ready if self.stop.is_some() => (503, json!("stopping")),
            Ask::Ready if self.slots.iter().all(|slot| slot.serving().is_none()) => {
                (503, json!("no worker serves"))
            }
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
            Ask::Scale(by) => {
                self.scale(by, now_ms);
                (202, json!({"processes": self.wanted()}))
            }
            Ask::Dump => return self.ask_workers(&ToWorker::Dump(number), reply, now_ms),
            Ask::Running => return self.ask_workers(&ToWorker::Running(number), reply, now_ms),
            Ask::LogLevel(level) => match Level::named(&level) {
                Some(known) => {
                    log::set_level(known);
                    self.tell_all(&ToWorker::LogLevel(level.clone()));
                    (200, json!({"log_level": level}))
                }
                None => (400, json!("a level is debug, info, warning or error")),
            },
            Ask::Reopen => {
                self.tell_all(&ToWorker::Reopen);
                (200, json!("reopened"))
            }
        };
        // Whoever asked may have gone.
        let _ = reply.send(answer);
    }

    fn tell_all(&self, message: &ToWorker) {
        for worker in self.workers() {
            // One that is gone is noticed by its end.
            let _ = worker.channel.send(message);
        }
    }

    fn ask_workers(&mut self, message: &ToWorker, reply: Sender<Answer>, now_ms: u64) {
        self.round += 1;
        let asked = self.workers().filter(|worker| worker.serving_ms.is_some());
        let waiting =
            asked.filter(|worker| worker.channel.send(message).is_ok()).map(|worker| worker.pid).collect();
        let due_ms = now_ms + ANSWER_MS;
        self.rounds.push(Round { number: self.round, due_ms, waiting, answers: Vec::new(), reply });
    }

    /// Looks at what is due.
    fn look(&mut self, now_ms: u64) {
        let fresh = now_ms >= self.looked_ms + self.tick_ms();
        if fresh {
            let elapsed_ms = now_ms.saturating_sub(std::mem::replace(&mut self.looked_ms, now_ms));
            self.look_at_files(now_ms);
            self.look_at_demand(elapsed_ms, now_ms);
        }
        let limits = self.plan.limits.clone();
        for slot in &mut self.slots {
            let number = slot.number;
            for worker in &mut slot.workers {
                if worker.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                    press(worker, number, &limits, now_ms);
                } else if fresh && worker.state == State::Serving && worker.replace.is_none() {
                    worker.rss_bytes = usage::rss_bytes(worker.pid);
                    worker.replace = past_limit(worker, &limits, now_ms);
                    if let Some(why) = worker.replace.clone() {
                        log::write(Level::Info, format_args!("worker {number} is replaced: {why}"));
                        if worker.tally.get(Cell::Stuck) > 0 {
                            // It would take requests that it can no longer answer. They wait for its successor.
                            drain(worker, &why, SUCCEEDED, limits.graceful_timeout_ms, now_ms);
                        }
                    }
                }
            }
        }
        for round in std::mem::take(&mut self.rounds) {
            if round.waiting.is_empty() || round.due_ms <= now_ms {
                let silent = round.waiting.iter().map(|pid| json!({"pid": pid, "answer": null}));
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

    /// How often it looks while nothing happens.
    fn tick_ms(&self) -> u64 {
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
            log::write(Level::Info, format_args!("{} has changed", file.display()));
            self.reload(now_ms);
        }
    }

    /// Starts one worker more or gives one up, as the requests that there are demand.
    fn look_at_demand(&mut self, elapsed_ms: u64, now_ms: u64) {
        let bounds = self.plan.bounds;
        if bounds.least == bounds.most || self.stop.is_some() {
            return;
        }
        let mut seen = Seen { elapsed_ms, ..Seen::default() };
        for slot in self.slots.iter_mut().filter(|slot| slot.retires_ms.is_none()) {
            for worker in slot.workers.iter_mut().filter(|worker| worker.state == State::Serving) {
                let cpu_ms = usage::cpu_ms(worker.pid);
                seen.cpu_ms += cpu_ms.saturating_sub(std::mem::replace(&mut worker.cpu_ms, cpu_ms));
                seen.queued += worker.tally.get(Cell::QueueLength);
                seen.busy += worker.tally.get(Cell::ThreadsBusy);
                seen.threads += worker.tally.get(Cell::Threads);
            }
        }
        seen.workers = self.wanted();
        match self.demand.look(seen, bounds) {
            0 => {}
            by => self.scale(by, now_ms),
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
        self.make_way();
        self.keep_prototypes(now_ms);
        for at in 0..self.slots.len() {
            if self.may_start(at, now_ms)
                && let Err(error) = self.start(at, now_ms)
            {
                let slot = &mut self.slots[at];
                slot.note_failure(0, now_ms);
                let number = slot.number;
                log::write(Level::Error, format_args!("worker {number} cannot be started: {error}"));
                if self.proven == 0 {
                    self.stop = Some(Stop { at_ms: now_ms, fast: true, failed: Some(1) });
                }
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
        let of = self.slots.iter().filter(|slot| slot.retires_ms.is_none()).count();
        let seat = self.free_seat();
        let position = (slot.number, of, self.generation, seat);
        let own = [theirs.as_fd(), tally.board().as_fd(), self.shares.as_fd()];
        let others = self.sockets_beside(at);
        let place = Place::new(position, own, &slot.sockets, &others);
        let mut kept = own.to_vec();
        kept.extend(slot.sockets.iter().flatten().map(OwnedFd::as_fd));
        kept.extend(&others);
        let pid = if let Some(prototype) = self.prototype() {
            prototype.fork(&place, &kept)?;
            // It says itself who it is.
            0
        } else {
            let mut arguments = vec!["worker".into(), place.written().into()];
            arguments.extend(self.plan.arguments.iter().cloned());
            self.plan.program.spawn(&arguments, &kept)?
        };
        let limits = &self.plan.limits;
        let (requests_max, lifetime_max_ms) = (limits.requests_max, limits.lifetime_max_ms);
        let due_ms = (limits.startup_timeout_ms > 0).then_some(now_ms + limits.startup_timeout_ms);
        self.starts += 1;
        let staff = Staff {
            pid,
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
            requests_max: self.jittered(requests_max),
            lifetime_max_ms: self.jittered(lifetime_max_ms),
            rss_bytes: 0,
            cpu_ms: 0,
        };
        self.slots[at].workers.push(staff);
        Ok(())
    }

    /// The sockets of the other slots, those that there are no more included, if workers may listen there.
    fn sockets_beside(&self, at: usize) -> Vec<BorrowedFd<'_>> {
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.map(|(_, slot)| &slot.sockets).chain(&self.spare);
        // One loop has all: those of a process with several have enough to share among themselves.
        let is_one = |sockets: &&Sockets| self.plan.shares && sockets.len() == 1;
        others.filter(is_one).flatten().flatten().map(AsFd::as_fd).take(OTHERS_MAX).collect()
    }

    /// A number up to a tenth larger: workers that were started together shall not end together.
    fn jittered(&mut self, number: u64) -> u64 {
        // A xorshift generator (Marsaglia 2003) is random enough for that.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        number + self.random % (number / 10 + 1)
    }

    fn end_reloads(&mut self, now_ms: u64) {
        let is_done = self
            .slots
            .iter()
            .filter(|slot| slot.retires_ms.is_none())
            .all(|slot| slot.serving().is_some_and(|worker| worker.generation == self.generation));
        if is_done && self.generation > self.announced {
            self.announced = self.generation;
            let (generation, workers) = (self.generation, self.wanted());
            self.manager.ready(&format!("serves {}, generation {generation}", self.serves));
            log::write(Level::Info, format_args!("generation {generation} serves in all {workers} workers"));
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
        self.prototypes.clear();
        let graceful_ms = self.plan.limits.graceful_timeout_ms;
        self.spare.clear();
        for slot in &mut self.slots {
            // Once the workers have closed theirs, too, nobody is kept waiting at them.
            slot.sockets.clear();
        }
        for worker in self.slots.iter_mut().flat_map(|slot| &mut slot.workers) {
            if fast {
                worker.told.get_or_insert_with(|| "the server stops at once".to_owned());
                child::kick(worker.pid, Kick::Kill);
            } else if worker.state == State::Starting {
                // It has nothing to finish.
                worker.told = Some("the server stops".to_owned());
                child::kick(worker.pid, Kick::Kill);
            } else {
                drain(worker, "the server stops", Ending::PROMPT, graceful_ms, now_ms);
            }
        }
    }

    /// How many workers are wanted.
    pub(crate) fn wanted(&self) -> usize {
        self.slots.iter().filter(|slot| slot.retires_ms.is_none()).count()
    }

    fn scale(&mut self, by: i8, now_ms: u64) {
        if by > 0 {
            match self.add_slot() {
                Ok(()) => log::write(Level::Info, format_args!("one worker more: {}", self.wanted())),
                Err(error) => log::write(Level::Error, format_args!("there can be no worker more: {error}")),
            }
        } else if self.wanted() > 1
            && let Some(slot) = self.slots.iter_mut().rfind(|slot| slot.retires_ms.is_none())
        {
            slot.retires_ms = Some(now_ms + RETIRING_MS);
            log::write(Level::Info, format_args!("one worker less: {}", self.wanted()));
        }
        self.spread();
    }

    fn add_slot(&mut self) -> io::Result<()> {
        // One that is about to go stays instead.
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.retires_ms.is_some()) {
            slot.retires_ms = None;
            return Ok(());
        }
        let sockets = match self.spare.pop() {
            Some(sockets) => sockets,
            None if self.plan.sockets.is_empty() => (self.plan.open)()?,
            None => self.plan.sockets.remove(0),
        };
        self.slots.push(Slot::new(self.slots.len() + 1, sockets));
        Ok(())
    }

    /// Lets new connections come to the slots that stay.
    fn spread(&self) {
        let Some(first) = self.slots.first() else { return };
        let loops = first.sockets.len();
        let count = u32::try_from(self.wanted() * loops).unwrap_or(u32::MAX);
        for socket in first.sockets.iter().flatten() {
            // One that is not ours alone is shared by all workers, who need no choice among them.
            let _ = socket::choose_among(socket, count);
        }
    }

    /// Ends the slots that are given up, once nothing comes to them any more.
    fn retire(&mut self, now_ms: u64) {
        let graceful_ms = self.plan.limits.graceful_timeout_ms;
        for slot in &mut self.slots {
            if slot.retires_ms.is_some_and(|at_ms| at_ms <= now_ms) {
                for worker in &mut slot.workers {
                    drain(worker, "there are to be fewer workers", ALONE, graceful_ms, now_ms);
                }
            }
        }
        // The last socket of a group that shares an address must go first, so that the others keep their numbers.
        while self.slots.last().is_some_and(|slot| {
            slot.workers.is_empty() && slot.retires_ms.is_some_and(|at_ms| at_ms <= now_ms)
        }) {
            let slot = self.slots.pop();
            self.spare.extend(slot.map(|slot| slot.sockets));
        }
    }
}

/// Tells a worker to take nothing more, finish, and end.
fn drain(worker: &mut Staff, why: &str, ending: Ending, graceful_ms: u64, now_ms: u64) {
    let Ending { is_patient, takes_queue } = ending;
    let order = ToWorker::Drain { is_patient, takes_queue };
    if matches!(worker.state, State::Draining | State::Doomed) {
        if !is_patient && worker.state == State::Draining && !std::mem::replace(&mut worker.hurried, true) {
            // It may have ended already.
            let _ = worker.channel.send(&order);
        }
        return;
    }
    worker.hurried = !is_patient;
    (worker.state, worker.told) = (State::Draining, Some(why.to_owned()));
    worker.due_ms = Some(now_ms + graceful_ms + ENDING_MS);
    if worker.channel.send(&order).is_err() {
        child::kick(worker.pid, Kick::Terminate);
    }
}

/// A worker's time is over: it is made to say where it is, and then ended.
fn press(worker: &mut Staff, number: usize, limits: &crate::plan::Limits, now_ms: u64) {
    if worker.state == State::Doomed {
        child::kick(worker.pid, Kick::Kill);
        worker.due_ms = None;
        return;
    }
    let seconds = |ms: u64| ms / 1000;
    let why = match worker.state {
        State::Starting => format!("was not ready after {} s", seconds(limits.startup_timeout_ms)),
        _ => format!("had not finished {} s after it was told to", seconds(limits.graceful_timeout_ms)),
    };
    log::write(
        Level::Error,
        format_args!("worker {number} (process {}) {why}; this is where it is:", worker.pid),
    );
    (worker.state, worker.doomed) = (State::Doomed, Some(why));
    worker.due_ms = Some(now_ms + LAST_WORDS_MS);
    child::kick(worker.pid, Kick::Abort);
}

/// Why a worker has to be replaced; nothing if it may go on.
fn past_limit(worker: &Staff, limits: &crate::plan::Limits, now_ms: u64) -> Option<String> {
    let past = |number: u64, most: u64| most > 0 && number >= most;
    let served_ms = worker.serving_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
    let requests = worker.tally.sample().answers();
    if worker.tally.get(Cell::Stuck) > 0 {
        Some("a request in it does not end".to_owned())
    } else if past(requests, worker.requests_max) {
        Some(format!("it has answered {requests} requests"))
    } else if past(served_ms, worker.lifetime_max_ms) {
        Some(format!("it has served for {} s", served_ms / 1000))
    } else if past(worker.rss_bytes, limits.rss_max_bytes) {
        Some(format!("it has {} MiB of memory", worker.rss_bytes >> 20))
    } else if limits.cpu_max_ms > 0 && usage::cpu_ms(worker.pid) >= limits.cpu_max_ms {
        Some(format!("it has used {} s of CPU time", limits.cpu_max_ms / 1000))
    } else {
        None
    }
}
