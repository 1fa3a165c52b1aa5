//! The workers that there should be: slots and the workers in them, when each is started, replaced, told to end, or
//! killed.
//!
//! This module does no I/O: it takes events with their times, and returns actions.

use adyton_log::messages;
use adyton_server::share;
use adyton_sys::child::Exit;

use crate::plan::Pace;
use crate::workers::action::{Action, Id, Recipient};
use crate::workers::cause::Cause;
use crate::workers::jitter::Jitter;
use crate::workers::limits::Limits;
use crate::workers::pulse::Heart;
use crate::workers::slot::Slot;
use crate::workers::worker_process::{Birth, Measured, Record, State, WorkerProcess};

/// The most workers that settings and orders can ask for: each of these workers, and each worker that drains, needs a
/// row.
pub(crate) const WORKERS_MAX: usize = 1_024;

/// The conditions under which a worker is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The newest generation.
    pub(crate) generation: u32,
    /// Whether a worker of the newest generation has served.
    pub(crate) is_proven: bool,
    /// Whether workers can be made: if they are forked, a prototype has to be ready.
    pub(crate) may_fork: bool,
}

/// A slot for the next program: the time when it goes, and its workers.
pub(crate) type Leaving = (Option<u64>, Vec<(Id, Record)>);

/// A worker that has ended.
#[derive(Debug)]
pub(crate) struct Death {
    /// The number of the worker's slot.
    pub(crate) number: usize,
    pub(crate) pid: u32,
    pub(crate) process: String,
    pub(crate) generation: u32,
    pub(crate) row: usize,
    pub(crate) cause: Cause,
    /// How the worker has ended, in words.
    pub(crate) words: String,
    /// Whether the worker was not told to end.
    pub(crate) is_unasked: bool,
    pub(crate) has_served: bool,
    /// When the next worker starts, in words, if that is not at once.
    pub(crate) next: String,
}

/// All slots, with their workers.
#[derive(Debug)]
pub(crate) struct Fleet {
    slots: Vec<Slot>,
    limits: Limits,
    pace: Pace,
    jitter: Jitter,
    /// The number of workers to start at first.
    first: u64,
    /// Workers that were started.
    starts: u64,
    last: Id,
}

impl Fleet {
    /// Makes a fleet without slots.
    pub(crate) fn new(limits: Limits, pace: Pace, first: usize, seed: u64) -> Self {
        let jitter = Jitter::new(seed);
        Self { slots: Vec::new(), limits, pace, jitter, first: first as u64, starts: 0, last: Id(0) }
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &WorkerProcess> {
        self.slots.iter().flat_map(Slot::workers)
    }

    fn workers_mut(&mut self) -> impl Iterator<Item = &mut WorkerProcess> {
        self.slots.iter_mut().flat_map(Slot::workers_mut)
    }

    pub(crate) fn worker(&self, id: Id) -> Option<&WorkerProcess> {
        self.workers().find(|worker| worker.id() == id)
    }

    fn worker_mut(&mut self, id: Id) -> Option<&mut WorkerProcess> {
        self.workers_mut().find(|worker| worker.id() == id)
    }

    /// Returns the names of all workers, by their slots.
    pub(crate) fn ids(&self) -> Vec<Id> {
        self.workers().map(WorkerProcess::id).collect()
    }

    /// Returns how many workers were started.
    pub(crate) fn starts(&self) -> u64 {
        self.starts
    }

    /// Returns how many slots have a worker that serves, and gives signs of life.
    pub(crate) fn serving(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_served()).count()
    }

    /// Returns how many workers serve and give signs of life, and the number of rows up to the last row in use.
    pub(crate) fn rows(&self) -> (usize, usize) {
        let serves = |worker: &&WorkerProcess| worker.state() == State::Serving && !worker.pulse().is_silent;
        let used = self.workers().map(|worker| worker.row() + 1).max().unwrap_or(0);
        (self.workers().filter(serves).count(), used)
    }

    /// Returns how many workers give no sign of life.
    pub(crate) fn silent(&self) -> usize {
        self.workers().filter(|worker| worker.pulse().is_silent).count()
    }

    /// Returns how many workers are wanted.
    pub(crate) fn wanted(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_wanted()).count()
    }

    /// Whether there may be one more worker.
    pub(crate) fn may_grow(&self) -> bool {
        self.wanted() < WORKERS_MAX
    }

    /// Whether workers of this generation serve in all slots.
    pub(crate) fn is_renewed(&self, generation: u32) -> bool {
        self.slots.iter().filter(|slot| !slot.is_retiring()).all(|slot| slot.serves(generation))
    }

    /// Returns in how many slots this generation serves.
    pub(crate) fn served_by(&self, generation: u32) -> usize {
        self.slots.iter().filter(|slot| slot.serves(generation)).count()
    }

    /// Whether some slot wants a worker now.
    pub(crate) fn wants_worker(&self, generation: u32, now_ms: u64) -> bool {
        self.slots.iter().any(|slot| slot.wants_worker(generation, now_ms))
    }

    /// Whether some slot is given up, has no worker that serves, or has a worker with a deadline.
    pub(crate) fn is_between(&self) -> bool {
        self.slots.iter().any(Slot::is_between)
    }

    /// Keeps a slot that was about to go; returns whether there was one.
    pub(crate) fn keep_one(&mut self) -> bool {
        let leaving = self.slots.iter_mut().find(|slot| !slot.is_wanted());
        leaving.map(Slot::keep).is_some()
    }

    /// Adds a slot.
    pub(crate) fn add(&mut self) {
        self.slots.push(Slot::new(self.slots.len() + 1));
    }

    /// Gives a slot up, which ends once no connection comes to it any more; returns whether that is allowed.
    pub(crate) fn give_up_one(&mut self, now_ms: u64) -> bool {
        if self.wanted() <= 1 {
            return false;
        }
        let slot = self.slots.iter_mut().rfind(|slot| slot.is_wanted());
        slot.map(|slot| slot.give_up(now_ms)).is_some()
    }

    /// Brings back slots that were given up, because a client waits at their sockets although no worker listens there
    /// any more.
    pub(crate) fn recall(&mut self, number: usize) {
        for _ in 0..number {
            self.slots.push(Slot::recalled(self.slots.len() + 1));
        }
    }

    /// Ends the slots that are given up, once no client waits at their sockets: `is_waited_at` says whether a client
    /// waits at the slot at a position. Returns how many slots were removed, from the end.
    pub(crate) fn retire(
        &mut self,
        is_waited_at: impl Fn(usize) -> bool,
        now_ms: u64,
        out: &mut Vec<Action>,
    ) -> usize {
        for (at, slot) in self.slots.iter_mut().enumerate() {
            if slot.serves_recalled() && !is_waited_at(at) {
                slot.give_up(now_ms);
            }
        }
        let graceful_ms = self.limits.graceful_timeout_ms;
        for slot in self.slots.iter_mut().filter(|slot| slot.is_over(now_ms)) {
            for worker in slot.workers_mut() {
                worker.retire(graceful_ms, now_ms, out);
            }
        }
        // The last socket of a group that shares an address must go first, so that the other sockets keep their
        // numbers.
        let is_gone = |slot: &&Slot| slot.workers().is_empty() && slot.is_over(now_ms);
        let gone = self.slots.iter().rev().take_while(is_gone).count();
        self.slots.truncate(self.slots.len() - gone);
        gone
    }

    /// Starts a worker in the slot at this position, if that is due. The worker counts as started from now on; see
    /// [`Self::note_not_spawned`].
    pub(crate) fn start(&mut self, at: usize, wanted: Wanted, now_ms: u64) -> Option<Birth> {
        if !self.may_start(at, wanted, now_ms) {
            return None;
        }
        self.last = Id(self.last.0 + 1);
        let birth = Birth {
            id: self.last,
            number: self.slots[at].number(),
            generation: wanted.generation,
            row: self.free_row(),
            now_ms,
            due_ms: self.limits.startup_due_ms(now_ms),
            requests_max: self.jitter.add(self.limits.requests_max),
            lifetime_max_ms: self.jitter.add(self.limits.lifetime_max_ms),
        };
        self.slots[at].push(WorkerProcess::new(&birth));
        self.starts += 1;
        Some(birth)
    }

    fn may_start(&self, at: usize, wanted: Wanted, now_ms: u64) -> bool {
        let slot = &self.slots[at];
        let starting = || self.slots.iter().any(Slot::is_starting);
        slot.wants_worker(wanted.generation, now_ms)
            && wanted.may_fork
            // The first worker of a generation shows whether the generation can serve at all.
            && (wanted.is_proven || !starting())
            && (self.pace == Pace::All || slot.serving().is_none() || !starting())
    }

    fn free_row(&self) -> usize {
        (0..share::ROWS).find(|row| self.workers().all(|worker| worker.row() != *row)).unwrap_or(0)
    }

    /// Notes that the process of a worker has begun.
    pub(crate) fn note_spawned(&mut self, id: Id, pid: u32) {
        if let Some(worker) = self.worker_mut(id) {
            worker.note_spawned(pid);
        }
    }

    /// Notes that a worker could not be started.
    pub(crate) fn note_not_spawned(&mut self, id: Id, now_ms: u64) {
        if let Some((slot, _)) = self.remove(id) {
            slot.note_failure(0, now_ms);
            self.starts -= 1;
        }
    }

    /// Notes that a prototype has begun to fork a worker, by way of this process.
    pub(crate) fn note_forking(&mut self, id: Id, forker: Option<Recipient>) {
        if let Some(worker) = self.worker_mut(id) {
            worker.note_forking(forker);
        }
    }

    /// Notes that a forked worker is this process.
    pub(crate) fn note_hello(&mut self, id: Id, pid: u32, out: &mut Vec<Action>) {
        if let Some(worker) = self.worker_mut(id) {
            worker.note_hello(pid, out);
        }
    }

    /// Notes that a worker was told to end from outside.
    pub(crate) fn note_leaving(&mut self, id: Id, is_told: bool, now_ms: u64, out: &mut Vec<Action>) {
        let graceful_ms = self.limits.graceful_timeout_ms;
        if let Some(worker) = self.worker_mut(id) {
            worker.note_leaving(is_told, graceful_ms, now_ms, out);
        }
    }

    /// Notes that a worker serves: older workers in its slot end. Returns its generation, if the worker was awaited.
    pub(crate) fn note_ready(&mut self, id: Id, now_ms: u64, out: &mut Vec<Action>) -> Option<u32> {
        let graceful_ms = self.limits.graceful_timeout_ms;
        let again = self.starts > self.first;
        let is_its = |slot: &&mut Slot| slot.workers().iter().any(|worker| worker.id() == id);
        let slot = self.slots.iter_mut().find(is_its)?;
        let number = slot.number();
        let of = slot.workers().iter().position(|worker| worker.id() == id)?;
        let (older, newer) = slot.workers_mut().split_at_mut(of);
        let worker = newer.first_mut()?;
        let took_ms = worker.note_ready(now_ms)?;
        let message = if again { &messages::WORKER_SERVES_AGAIN } else { &messages::WORKER_SERVES };
        let text = format!("worker {number} ({}) serves, after {took_ms} ms", worker.process());
        out.push(Action::Log(message, text));
        for older in older {
            older.give_way(graceful_ms, now_ms, out);
        }
        Some(worker.generation())
    }

    /// Returns the generation of a worker.
    pub(crate) fn generation_of(&self, id: Id) -> Option<u32> {
        self.workers().find(|worker| worker.id() == id).map(WorkerProcess::generation)
    }

    /// Notes that a worker that ends has served, although it has not said so: its first request can end it before it
    /// says so.
    pub(crate) fn note_served(&mut self, id: Id, now_ms: u64) {
        if let Some(worker) = self.worker_mut(id) {
            worker.note_served(now_ms);
        }
    }

    /// Notes that a newer version is wanted.
    pub(crate) fn reload(&mut self, now_ms: u64, out: &mut Vec<Action>) {
        for slot in &mut self.slots {
            slot.reload(now_ms, out);
        }
    }

    /// Starts no worker before this time.
    pub(crate) fn hold_until(&mut self, not_before_ms: u64) {
        for slot in &mut self.slots {
            slot.hold_until(not_before_ms);
        }
    }

    /// Looks whether the time of a worker is over.
    pub(crate) fn look(&mut self, now_ms: u64, out: &mut Vec<Action>) {
        for worker in self.slots.iter_mut().flat_map(Slot::workers_mut) {
            worker.look(&self.limits, now_ms, out);
        }
    }

    /// Compares the workers that serve with their limits. `measured` measures one worker.
    pub(crate) fn measure(
        &mut self,
        measured: impl Fn(&WorkerProcess) -> Option<Measured>,
        now_ms: u64,
        out: &mut Vec<Action>,
    ) {
        for worker in self.slots.iter_mut().flat_map(Slot::workers_mut).filter(|worker| worker.is_measured())
        {
            if let Some(measured) = measured(worker) {
                worker.measure(measured, &self.limits, now_ms, out);
            }
        }
    }

    /// Takes note of signs of life, `elapsed_ms` after the last time. `heart` returns the signs of one worker.
    pub(crate) fn hear_pulses(
        &mut self,
        heart: impl Fn(Id) -> Option<Heart>,
        elapsed_ms: u64,
        now_ms: u64,
        out: &mut Vec<Action>,
    ) {
        for worker in self.slots.iter_mut().flat_map(Slot::workers_mut) {
            if let Some(heart) = heart(worker.id()) {
                worker.hear_pulse(heart, elapsed_ms, &self.limits, now_ms, out);
            }
        }
    }

    /// Tells all workers to end.
    pub(crate) fn stop(&mut self, fast: bool, now_ms: u64, out: &mut Vec<Action>) {
        let graceful_ms = self.limits.graceful_timeout_ms;
        for worker in self.workers_mut() {
            worker.stop(fast, graceful_ms, now_ms, out);
        }
    }

    /// Notes that a worker has ended; `exit` is unknown for a worker that had not said which process it is.
    pub(crate) fn note_end(
        &mut self,
        id: Id,
        exit: Option<Exit>,
        memory_was_short: bool,
        now_ms: u64,
    ) -> Option<Death> {
        let (slot, worker) = self.remove(id)?;
        let (cause, words) = worker.cause(exit, memory_was_short);
        let is_unasked = worker.is_unasked();
        let mut next = String::new();
        if is_unasked {
            slot.note_failure(now_ms - worker.started_ms(), now_ms);
            next = slot.said_of_next(now_ms);
        }
        Some(Death {
            number: slot.number(),
            pid: worker.pid(),
            process: worker.process(),
            generation: worker.generation(),
            row: worker.row(),
            cause,
            words,
            is_unasked,
            has_served: worker.has_served(),
            next,
        })
    }

    fn remove(&mut self, id: Id) -> Option<(&mut Slot, WorkerProcess)> {
        self.slots.iter_mut().find_map(|slot| {
            let worker = slot.remove(id)?;
            Some((slot, worker))
        })
    }

    /// Returns the records for the next program: for each slot, the time when it goes, and its workers.
    pub(crate) fn records(&self, now_ms: u64) -> Vec<Leaving> {
        let of = |worker: &WorkerProcess| (worker.id(), worker.record());
        let of_slot = |slot: &Slot| (slot.retires_ms(now_ms), slot.workers().iter().map(of).collect());
        self.slots.iter().map(of_slot).collect()
    }

    /// Takes over from an earlier program the number of workers that it had started, and the slots, each with the time
    /// when it goes and its workers. Returns the names of the workers.
    pub(crate) fn take(&mut self, starts: u64, slots: Vec<(Option<u64>, Vec<Record>)>) -> Vec<Id> {
        self.starts = starts;
        let mut ids = Vec::new();
        for (slot, (retires_ms, records)) in self.slots.iter_mut().zip(slots) {
            *slot = Slot::taken(slot.number(), retires_ms);
            for record in records {
                self.last = Id(self.last.0 + 1);
                ids.push(self.last);
                slot.push(WorkerProcess::taken(self.last, slot.number(), record));
            }
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use adyton_server::pulse::Ailment;
    use adyton_sys::child::Exit;

    use super::{Fleet, Wanted};
    use crate::plan::Pace;
    use crate::workers::action::{Id, Recipient, lines};
    use crate::workers::limits::Limits;
    use crate::workers::pulse::Heart;
    use crate::workers::worker_process::Measured;

    /// An event in a fleet. Workers are named by their numbers, in the order in which they were started.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// This time passes.
        Pass(u64),
        /// The supervisor starts the workers that are due, and looks for workers whose time is over. The process of
        /// worker 3 is 103.
        Act,
        /// An `Act` in which no process can be started.
        ActInVain,
        /// An `Act` with a prototype that forks: workers have no process yet.
        ActForking,
        Ready(u64),
        Forking(u64),
        Hello(u64),
        Leaving(u64),
        Ends(u64, Exit),
        /// A new generation is wanted.
        Reload,
        Measured(u64, Measured),
        /// A look at the heartbeat of this worker, a second after the last look: it has counted this many beats in all.
        Heard(u64, u64),
        Stop(bool),
        More,
        Fewer,
        /// A look at the slots that are given up. `true`: no client waits at their sockets, so they may end.
        Retire(bool),
        Recall,
    }

    use Event::{
        Act, ActForking, ActInVain, Ends, Fewer, Forking, Heard, Hello, Leaving, More, Pass, Ready, Recall,
        Reload, Retire, Stop,
    };

    const LIMITS: Limits = Limits {
        requests_max: 0,
        lifetime_max_ms: 0,
        rss_max_bytes: 0,
        cpu_max_ms: 0,
        heartbeat_timeout_ms: 30_000,
        startup_timeout_ms: 60_000,
        graceful_timeout_ms: 20_000,
    };

    const SEGV: Exit = Exit::Signal(11);
    const DONE: Exit = Exit::Status(0);

    struct Game {
        fleet: Fleet,
        now_ms: u64,
        generation: u32,
        proven: u32,
        seen: Vec<String>,
    }

    impl Game {
        fn new(pace: Pace, slots: usize, limits: &Limits) -> Self {
            let mut fleet = Fleet::new(limits.clone(), pace, slots, 1);
            for _ in 0..slots {
                fleet.add();
            }
            Self { fleet, now_ms: 1_000_000, generation: 1, proven: 0, seen: Vec::new() }
        }

        fn act(&mut self, can_start: bool, has_pid: bool) {
            let mut out = Vec::new();
            for at in 0..self.fleet.slots().len() {
                let is_proven = self.proven == self.generation;
                let wanted = Wanted { generation: self.generation, is_proven, may_fork: true };
                let Some(birth) = self.fleet.start(at, wanted, self.now_ms) else { continue };
                let (number, generation) = (birth.number, birth.generation);
                self.seen.push(format!("start #{} in slot {number}, generation {generation}", birth.id.0));
                if !can_start {
                    self.fleet.note_not_spawned(birth.id, self.now_ms);
                } else if has_pid {
                    self.fleet.note_spawned(birth.id, 100 + u32::try_from(birth.id.0).unwrap_or(0));
                }
            }
            self.fleet.look(self.now_ms, &mut out);
            self.seen.extend(lines(&out));
        }

        fn ends(&mut self, id: u64, exit: Exit) {
            if let Some(death) = self.fleet.note_end(Id(id), Some(exit), false, self.now_ms) {
                self.seen.push(format!(
                    "{}: worker {} {}{}",
                    death.cause.word(),
                    death.number,
                    death.words,
                    death.next
                ));
            }
        }

        fn happens(&mut self, event: Event) {
            let (mut out, now_ms) = (Vec::new(), self.now_ms);
            let fleet = &mut self.fleet;
            match event {
                Pass(ms) => self.now_ms += ms,
                Act => self.act(true, true),
                ActInVain => self.act(false, false),
                ActForking => self.act(true, false),
                Ready(id) => {
                    let generation = fleet.note_ready(Id(id), now_ms, &mut out);
                    self.proven = self.proven.max(generation.unwrap_or(0));
                }
                Forking(id) => fleet.note_forking(Id(id), Some(Recipient::Forker { pid: 7, birth: 1 })),
                Hello(id) => fleet.note_hello(Id(id), 100 + u32::try_from(id).unwrap_or(0), &mut out),
                Leaving(id) => fleet.note_leaving(Id(id), true, now_ms, &mut out),
                Ends(id, exit) => self.ends(id, exit),
                Reload => {
                    self.generation += 1;
                    fleet.reload(now_ms, &mut out);
                }
                Event::Measured(id, measured) => {
                    fleet.measure(|worker| (worker.id() == Id(id)).then_some(measured), now_ms, &mut out);
                }
                Heard(id, beats) => {
                    self.now_ms += 1_000;
                    let heart = |of| (of == Id(id)).then_some(Heart { beats, ailment: Ailment::Loop });
                    fleet.hear_pulses(heart, 1_000, self.now_ms, &mut out);
                }
                Stop(is_fast) => fleet.stop(is_fast, now_ms, &mut out),
                More if fleet.keep_one() => {}
                More => fleet.add(),
                Fewer => self.seen.extend((!fleet.give_up_one(now_ms)).then(|| "no".to_owned())),
                Retire(nobody_waits) => {
                    let gone = fleet.retire(|_| !nobody_waits, now_ms, &mut out);
                    self.seen.extend((gone > 0).then(|| format!("{gone} slots less")));
                }
                Recall => fleet.recall(1),
            }
            self.seen.extend(lines(&out));
        }

        /// Plays these events, without a look at the actions.
        fn after(&mut self, events: &[Event]) {
            for event in events {
                self.happens(*event);
            }
            self.seen.clear();
        }

        /// Plays a table of events and the expected actions.
        fn plays(&mut self, table: &[(Event, &[&str])]) {
            for (at, (event, expected)) in table.iter().enumerate() {
                self.happens(*event);
                assert_eq!(*expected, std::mem::take(&mut self.seen), "{at}: {event:?}");
            }
        }
    }

    /// The first worker of a generation shows whether the generation can serve at all; then all other workers start.
    #[test]
    fn starts() {
        for pace in [Pace::All, Pace::One] {
            Game::new(pace, 3, &LIMITS).plays(&[
                (Act, &["start #1 in slot 1, generation 1"]),
                (Act, &[]),
                (Pass(400), &[]),
                (Ready(1), &["log: worker 1 (process 101) serves, after 400 ms"]),
                (Ready(1), &[]),
                (Act, &["start #2 in slot 2, generation 1", "start #3 in slot 3, generation 1"]),
                (Act, &[]),
                (Ready(3), &["log: worker 3 (process 103) serves, after 0 ms"]),
                (Ready(2), &["log: worker 2 (process 102) serves, after 0 ms"]),
                (Act, &[]),
            ]);
        }
    }

    /// A worker that cannot be started is tried again at once, then later and later; the other slots do not wait for
    /// it.
    #[test]
    fn starts_in_vain() {
        let mut game = Game::new(Pace::All, 2, &LIMITS);
        let both: &[&str] = &["start #1 in slot 1, generation 1", "start #2 in slot 2, generation 1"];
        game.plays(&[
            (ActInVain, both),
            (ActInVain, &["start #3 in slot 1, generation 1", "start #4 in slot 2, generation 1"]),
            (ActInVain, &[]),
            (Pass(99), &[]),
            (ActInVain, &[]),
            (Pass(1), &[]),
            (Act, &["start #5 in slot 1, generation 1"]),
        ]);

        assert_eq!(1, game.fleet.starts(), "those that were started");
    }

    /// After one crash the next worker starts at once, after further crashes later and later, and a long life makes up
    /// for them; an end that was asked for is no crash.
    #[test]
    fn deaths() {
        let crashed = "crashed: worker 1 crashed with SIGSEGV; where Python was stands above";
        Game::new(Pace::All, 1, &LIMITS).plays(&[
            (Act, &["start #1 in slot 1, generation 1"]),
            (Ready(1), &["log: worker 1 (process 101) serves, after 0 ms"]),
            (Ends(1, SEGV), &[crashed]),
            (Ends(1, SEGV), &[]),
            (Act, &["start #2 in slot 1, generation 1"]),
            (Ends(2, SEGV), &[&format!("{crashed}; the next one starts in 0.1 s")]),
            (Act, &[]),
            (Pass(100), &[]),
            (Act, &["start #3 in slot 1, generation 1"]),
            (Ends(3, SEGV), &[&format!("{crashed}; the next one starts in 0.2 s")]),
            (Pass(200), &[]),
            (Act, &["start #4 in slot 1, generation 1"]),
            (Ready(4), &["log: worker 1 (process 104) serves, after 0 ms"]),
            (Pass(10_000), &[]),
            (Ends(4, SEGV), &[crashed]),
            (Act, &["start #5 in slot 1, generation 1"]),
            (Ready(5), &["log: worker 1 (process 105) serves, after 0 ms"]),
            (
                Leaving(5),
                &[
                    "log: worker 1 (process 105) was told to end by a signal from outside",
                    "drain #5, unhurried",
                ],
            ),
            (Leaving(5), &[]),
            (Act, &["start #6 in slot 1, generation 1"]),
            (Ends(5, DONE), &["told: worker 1 has ended: a signal told it to"]),
            (Ready(6), &["log: worker 1 (process 106) serves, after 0 ms"]),
        ]);
    }

    /// A reload replaces one worker after the other, or all at once when the first new worker serves; old workers go
    /// when their successors serve, in whatever order.
    #[test]
    fn reloads() {
        let ready: &[(Event, &[&str])] = &[
            (Act, &["start #1 in slot 1, generation 1"]),
            (Ready(1), &["log: worker 1 (process 101) serves, after 0 ms"]),
            (Act, &["start #2 in slot 2, generation 1", "start #3 in slot 3, generation 1"]),
            (Ready(2), &["log: worker 2 (process 102) serves, after 0 ms"]),
            (Ready(3), &["log: worker 3 (process 103) serves, after 0 ms"]),
            (Reload, &[]),
            (Act, &["start #4 in slot 1, generation 2"]),
            (Act, &[]),
            (Ready(4), &["log: worker 1 (process 104) serves, after 0 ms", "drain #1, unhurried"]),
        ];
        let mut all = Game::new(Pace::All, 3, &LIMITS);
        all.plays(ready);
        all.plays(&[
            (Act, &["start #5 in slot 2, generation 2", "start #6 in slot 3, generation 2"]),
            (Ready(6), &["log: worker 3 (process 106) serves, after 0 ms", "drain #3, unhurried"]),
        ]);

        assert!(!all.fleet.is_renewed(2));

        all.plays(&[(Ready(5), &["log: worker 2 (process 105) serves, after 0 ms", "drain #2, unhurried"])]);

        assert!(all.fleet.is_renewed(2));

        let mut one = Game::new(Pace::One, 3, &LIMITS);
        one.plays(ready);
        one.plays(&[
            (Act, &["start #5 in slot 2, generation 2"]),
            (Act, &[]),
            // An old worker that dies is replaced without waiting for its turn.
            (Ends(3, SEGV), &["crashed: worker 3 crashed with SIGSEGV; where Python was stands above"]),
            (Act, &["start #6 in slot 3, generation 2"]),
            // The next reload does not wait for workers that the last reload has started.
            (Reload, &["Kill 105", "Kill 106"]),
            (Act, &[]),
            (Ends(5, Exit::Signal(9)), &["told: worker 2 was ended: a newer version is wanted"]),
            (Ends(6, Exit::Signal(9)), &["told: worker 3 was ended: a newer version is wanted"]),
            (Act, &["start #7 in slot 1, generation 3"]),
        ]);
    }

    /// A worker that does not end in time, or is not ready in time, is made to print its stack, once, and is then
    /// killed, once.
    #[test]
    fn escalation() {
        let mut game = Game::new(Pace::All, 1, &LIMITS);
        game.plays(&[
            (Act, &["start #1 in slot 1, generation 1"]),
            (Ready(1), &["log: worker 1 (process 101) serves, after 0 ms"]),
            (Leaving(1), &["log: worker 1 (process 101) was told to end by a signal from outside", "drain #1, unhurried"]),
            (Act, &["start #2 in slot 1, generation 1"]),
            (Pass(21_999), &[]),
            (Act, &[]),
            (Pass(1), &[]),
            (
                Act,
                &[
                    "log: worker 1 (process 101) had not finished 20 s after it was told to; this is where it is:",
                    "Abort 101",
                    "Continue 101",
                ],
            ),
            (Act, &[]),
            (Pass(2_000), &[]),
            (Act, &["Kill 101"]),
            (Pass(60_000), &[]),
            (
                Act,
                &[
                    "log: worker 1 (process 102) was not ready after 60 s; this is where it is:",
                    "Abort 102",
                    "Continue 102",
                ],
            ),
            (Ends(1, Exit::Signal(9)), &["overdue: worker 1 was killed: it had not finished 20 s after it was told to"]),
            (Ready(2), &[]),
            (Act, &[]),
            (Ends(2, Exit::Signal(6)), &["overdue: worker 1 was killed: it was not ready after 60 s"]),
            (Act, &["start #3 in slot 1, generation 1"]),
        ]);
    }

    /// While a worker is being forked, the process that exists at that moment gets the worker's signals: no process,
    /// the process that forks, or the worker itself; a prototype that does not follow orders is given up.
    #[test]
    fn forks() {
        let late = "log: worker 1 (not forked yet) was not ready after 60 s; this is where it is:";
        let table: &[(&[Event], &[&str], &[&str])] = &[
            (&[], &["doom prototype of generation 1", late], &["Kill 101"]),
            (&[Forking(1)], &[late, "Abort forker 7", "Continue forker 7"], &["Kill 101"]),
            (
                &[Forking(1), Hello(1)],
                &[
                    "log: worker 1 (process 101) was not ready after 60 s; this is where it is:",
                    "Abort 101",
                    "Continue 101",
                ],
                &["Kill 101"],
            ),
        ];
        for (events, expected, late) in table {
            let mut game = Game::new(Pace::All, 1, &LIMITS);
            game.plays(&[(ActForking, &["start #1 in slot 1, generation 1"])]);
            events.iter().for_each(|event| game.plays(&[(*event, &[])]));
            game.plays(&[(Pass(60_000), &[]), (Act, expected), (Hello(1), late)]);
        }
    }

    /// A stop ends a worker that starts, lets a worker that serves finish, and hurries a worker that drains already,
    /// once.
    #[test]
    fn stops() {
        let mut game = Game::new(Pace::All, 3, &LIMITS);
        game.plays(&[
            (Act, &["start #1 in slot 1, generation 1"]),
            (Ready(1), &["log: worker 1 (process 101) serves, after 0 ms"]),
            (Act, &["start #2 in slot 2, generation 1", "start #3 in slot 3, generation 1"]),
            (Ready(2), &["log: worker 2 (process 102) serves, after 0 ms"]),
            (
                Leaving(2),
                &[
                    "log: worker 2 (process 102) was told to end by a signal from outside",
                    "drain #2, unhurried",
                ],
            ),
            (Stop(false), &["drain #1, prompt", "hurry #2, prompt", "Kill 103"]),
            (Stop(false), &["Kill 103"]),
            (Leaving(1), &[]),
            (Stop(true), &["Kill 101", "Kill 102", "Kill 103"]),
            (Ends(1, DONE), &["told: worker 1 has ended: the server stops"]),
            (Ends(2, Exit::Signal(9)), &["told: worker 2 was ended: a signal told it to"]),
            (Ends(3, Exit::Signal(9)), &["told: worker 3 was ended: the server stops"]),
        ]);
    }

    /// In every order of events that may end it, a worker is told to drain once, hurried at most once, and replaced by
    /// one successor.
    #[test]
    fn all_orders() {
        let stuck = Measured { is_stuck: true, ..Measured::default() };
        let events =
            [Leaving(1), Event::Measured(1, stuck), Reload, Act, Ready(2), Stop(false), Pass(22_000)];
        for order in permutations(events.len()) {
            let mut game = Game::new(Pace::All, 1, &LIMITS);
            game.after(&[Act, Ready(1)]);
            for at in &order {
                game.happens(events[*at]);
            }
            game.happens(Stop(false));
            let of = |what: &str| game.seen.iter().filter(|line| line.starts_with(what)).count();

            assert_eq!(1, of("drain #1"), "{order:?}: {:?}", game.seen);
            assert!(of("hurry #1") <= 1, "{order:?}: {:?}", game.seen);
            assert!(of("start #") <= 2, "{order:?}: {:?}", game.seen);
        }
    }

    /// Returns all orders of `number` things.
    fn permutations(number: usize) -> Vec<Vec<usize>> {
        let Some(last) = number.checked_sub(1) else { return vec![Vec::new()] };
        let with = |order: &Vec<usize>, at: usize| [&order[..at], &[last], &order[at..]].concat();
        let smaller = permutations(last);
        smaller.iter().flat_map(|order| (0..number).map(move |at| with(order, at))).collect()
    }

    /// Each limit is a reason of its own, found once; a worker that serves goes on until its successor serves, unless
    /// it can no longer answer.
    #[test]
    fn limits() {
        let limits = Limits {
            requests_max: 5,
            lifetime_max_ms: 9,
            rss_max_bytes: 2 << 20,
            cpu_max_ms: 3_000,
            ..LIMITS
        };
        let measured = Measured { requests: 4, is_stuck: false, rss_bytes: 1 << 20, cpu_ms: 2_999 };
        for (measured, ms, limit) in [
            (measured, 8, None),
            (Measured { requests: 5, ..measured }, 8, Some("it has answered 5 requests")),
            (measured, 9, Some("it has served for 0 s")),
            (Measured { rss_bytes: 2 << 20, ..measured }, 8, Some("it has 2 MiB of memory")),
            (Measured { cpu_ms: 3_000, ..measured }, 8, Some("it has used 3 s of CPU time")),
        ] {
            let mut game = Game::new(Pace::All, 1, &limits);
            game.after(&[Act, Ready(1), Pass(ms)]);
            game.happens(Event::Measured(1, measured));
            let said = std::mem::take(&mut game.seen);

            assert_eq!(
                limit.map(|limit| format!("log: worker 1 is replaced: {limit}")),
                said.first().cloned()
            );

            game.plays(&[(Event::Measured(1, measured), &[])]);
            let Some(limit) = limit else { continue };
            game.plays(&[
                (Act, &["start #2 in slot 1, generation 1"]),
                (Ready(2), &["log: worker 1 (process 102) serves, after 0 ms", "drain #1, unhurried"]),
                (Ends(1, DONE), &[&format!("limit: worker 1 has ended: {limit}")]),
            ]);
        }
        let stuck = Event::Measured(1, Measured { is_stuck: true, ..measured });
        let mut game = Game::new(Pace::All, 1, &limits);
        game.after(&[Act, Ready(1)]);
        game.plays(&[
            (stuck, &["log: worker 1 is replaced: a request in it does not end", "drain #1, stuck"]),
            (Act, &["start #2 in slot 1, generation 1"]),
        ]);
    }

    /// A worker without signs of life is named in the log, does not count as serving, and is given up in the end; a
    /// worker that is heard again is kept.
    #[test]
    fn silence() {
        let mut game = Game::new(Pace::All, 1, &LIMITS);
        game.after(&[Act, Ready(1)]);
        let silent = "log: worker 1 (process 101) has given no sign of life for 3 s: an event loop hangs; new connections go \
                      to the others, and it is replaced after 30 s (--heartbeat-timeout)";
        game.plays(&[(Heard(1, 1), &[]), (Heard(1, 1), &[]), (Heard(1, 1), &[]), (Heard(1, 1), &[silent])]);

        assert_eq!((0, 1, (0, 1)), (game.fleet.serving(), game.fleet.silent(), game.fleet.rows()));

        game.plays(&[(Heard(1, 2), &["log: worker 1 (process 101) gives signs of life again"])]);

        assert_eq!((1, 0, (1, 1)), (game.fleet.serving(), game.fleet.silent(), game.fleet.rows()));

        (0..29).for_each(|_| game.happens(Heard(1, 2)));
        game.seen.clear();
        let given_up =
            "log: worker 1 is replaced: it has given no sign of life for 30 s: an event loop hangs";
        game.plays(&[
            (Heard(1, 2), &[given_up, "drain #1, stuck"]),
            (Heard(1, 2), &[]),
            (Act, &["start #2 in slot 1, generation 1"]),
        ]);
    }

    /// Slots that are given up accept for a while, and come back if they are wanted again or a client waits there; the
    /// last slot is removed first.
    #[test]
    fn fewer_and_more() {
        let mut game = Game::new(Pace::All, 2, &LIMITS);
        game.after(&[Act, Ready(1), Act, Ready(2)]);
        game.plays(&[
            (Fewer, &[]),
            (Fewer, &["no"]),
            (Pass(3_499), &[]),
            (Retire(true), &[]),
            (More, &[]),
            (Pass(1), &[]),
            (Retire(true), &[]),
            (Fewer, &[]),
            (Pass(3_500), &[]),
            (Retire(true), &["drain #2, unhurried"]),
            (Act, &[]),
            (Ends(2, DONE), &["told: worker 2 has ended: there are to be fewer workers"]),
            (Retire(true), &["1 slots less"]),
            (Recall, &[]),
            (Act, &["start #3 in slot 2, generation 1"]),
            (Ready(3), &["log: worker 2 (process 103) serves, after 0 ms"]),
            (Retire(false), &[]),
        ]);

        assert_eq!(1, game.fleet.wanted(), "it is back for a moment");

        game.plays(&[
            (Retire(true), &[]),
            (Pass(3_500), &[]),
            (Retire(true), &["drain #3, unhurried"]),
            (Ends(3, DONE), &["told: worker 2 has ended: there are to be fewer workers"]),
            (Retire(true), &["1 slots less"]),
        ]);
    }

    /// Another program takes over the slots and workers of this one as they are.
    #[test]
    fn succession() {
        let mut game = Game::new(Pace::All, 2, &LIMITS);
        game.after(&[Act, Ready(1), Act, Ready(2), Leaving(2), Fewer]);
        let left = game.fleet.records(game.now_ms);
        let records = |left: &[super::Leaving]| -> Vec<_> {
            let of = |(at_ms, workers): &super::Leaving| {
                (*at_ms, workers.iter().map(|(_, record)| record.clone()).collect::<Vec<_>>())
            };
            left.iter().map(of).collect()
        };
        let mut next = Game::new(Pace::All, 2, &LIMITS);
        let ids = next.fleet.take(2, records(&left));

        assert_eq!(vec![Id(1), Id(2)], ids);
        assert_eq!(records(&left), records(&next.fleet.records(next.now_ms)));
        assert_eq!((2, 1, 1), (next.fleet.starts(), next.fleet.serving(), next.fleet.wanted()));
    }
}
