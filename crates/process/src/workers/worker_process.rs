//! One worker process: its state, and the consequences of events.
//!
//! This module does no I/O: it takes events with their times, and returns actions.

use adyton_log::messages;
use adyton_server::Ending;
use adyton_server::pulse::Ailment;
use adyton_sys::child::{Exit, Kick};
use serde::{Deserialize, Serialize};

use crate::workers::action::{Action, Id, Recipient};
use crate::workers::cause::{Cause, Known, Reason, cause};
use crate::workers::limits::Limits;
use crate::workers::pulse::{Heart, Pulse};

/// How much longer a worker that does not end in time may take to print its stack.
pub(crate) const LAST_WORDS_MS: u64 = 2_000;

/// The time that a worker needs to end by itself, beyond the time of its requests.
const ENDING_MS: u64 = 2_000;

/// The end of a worker that is in no hurry.
const UNHURRIED: Ending = Ending { is_patient: true, takes_queue: true };

/// The end of a worker that can no longer answer: connections at its sockets wait for its successor.
const STUCK: Ending = Ending { is_patient: true, takes_queue: false };

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Starting,
    Serving,
    Draining,
    /// The worker was sent SIGABRT, which makes it print its stack, or SIGKILL.
    Doomed,
}

/// The properties of a worker that is started, from the first moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub(crate) id: Id,
    /// The number of the worker's slot.
    pub(crate) number: usize,
    pub(crate) generation: u32,
    /// The row in which its connections are counted, for the other workers to see.
    pub(crate) row: usize,
    pub(crate) now_ms: u64,
    /// The time by which it has to serve.
    pub(crate) due_ms: Option<u64>,
    /// Requests that it may serve, with its jitter; 0 for any number.
    pub(crate) requests_max: u64,
    /// How long it may serve, with its jitter; 0 for ever.
    pub(crate) lifetime_max_ms: u64,
}

/// The measurements of a worker that serves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// Requests that it has answered.
    pub(crate) requests: u64,
    /// Whether a request in it does not end.
    pub(crate) is_stuck: bool,
    pub(crate) rss_bytes: u64,
    pub(crate) cpu_ms: u64,
}

/// A worker that serves or drains, for the note to another program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    pub(crate) generation: u32,
    pub(crate) drains: bool,
    /// The worker's row on the board on which all workers count their connections; an older program calls the row a
    /// seat.
    #[serde(alias = "seat")]
    pub(crate) row: usize,
    pub(crate) started_ms: u64,
    pub(crate) serving_ms: Option<u64>,
    pub(crate) due_ms: Option<u64>,
    pub(crate) replace: Option<Reason>,
    pub(crate) told: Option<Reason>,
    pub(crate) hurried: bool,
    pub(crate) requests_max: u64,
    pub(crate) lifetime_max_ms: u64,
}

/// One worker process.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    id: Id,
    number: usize,
    /// The process's number; 0 while it is being forked.
    pid: u32,
    /// The process that is about to fork the worker, while it exists.
    forker: Option<Recipient>,
    generation: u32,
    state: State,
    row: usize,
    started_ms: u64,
    /// The time when the worker began to serve.
    serving_ms: Option<u64>,
    /// The time by which its state has to end.
    due_ms: Option<u64>,
    /// Why the worker is to be replaced.
    replace: Option<Reason>,
    /// Why the worker was told to drain.
    told: Option<Reason>,
    /// Whether the worker was told to close idle connections.
    hurried: bool,
    /// Why the worker was killed.
    doomed: Option<String>,
    requests_max: u64,
    lifetime_max_ms: u64,
    /// Memory at the last look.
    rss_bytes: u64,
    /// The worker's signs of life.
    pulse: Pulse,
}

impl WorkerProcess {
    /// Makes a worker that starts.
    pub(crate) fn new(birth: &Birth) -> Self {
        Self {
            id: birth.id,
            number: birth.number,
            pid: 0,
            forker: None,
            generation: birth.generation,
            state: State::Starting,
            row: birth.row,
            started_ms: birth.now_ms,
            serving_ms: None,
            due_ms: birth.due_ms,
            replace: None,
            told: None,
            hurried: false,
            doomed: None,
            requests_max: birth.requests_max,
            lifetime_max_ms: birth.lifetime_max_ms,
            rss_bytes: 0,
            pulse: Pulse::default(),
        }
    }

    /// Makes a worker of an earlier program.
    pub(crate) fn taken(id: Id, number: usize, record: Record) -> Self {
        Self {
            id,
            number,
            pid: record.pid,
            forker: None,
            generation: record.generation,
            state: if record.drains { State::Draining } else { State::Serving },
            row: record.row,
            started_ms: record.started_ms,
            serving_ms: record.serving_ms,
            due_ms: record.due_ms,
            replace: record.replace,
            told: record.told,
            hurried: record.hurried,
            doomed: None,
            requests_max: record.requests_max,
            lifetime_max_ms: record.lifetime_max_ms,
            rss_bytes: 0,
            pulse: Pulse::default(),
        }
    }

    /// Returns the worker's record for the next program.
    pub(crate) fn record(&self) -> Record {
        Record {
            pid: self.pid,
            generation: self.generation,
            drains: self.state != State::Serving,
            row: self.row,
            started_ms: self.started_ms,
            serving_ms: self.serving_ms,
            due_ms: self.due_ms,
            replace: self.replace.clone(),
            told: self.told.clone(),
            hurried: self.hurried,
            requests_max: self.requests_max,
            lifetime_max_ms: self.lifetime_max_ms,
        }
    }

    pub(crate) fn id(&self) -> Id {
        self.id
    }

    /// Returns the number of the worker's slot.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Returns the process's number; 0 while it is being forked.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn row(&self) -> usize {
        self.row
    }

    pub(crate) fn started_ms(&self) -> u64 {
        self.started_ms
    }

    pub(crate) fn pulse(&self) -> Pulse {
        self.pulse
    }

    /// Whether the worker serves or has served.
    pub(crate) fn has_served(&self) -> bool {
        self.serving_ms.is_some()
    }

    /// Whether the worker starts, or was too slow to start and has not ended yet.
    pub(crate) fn is_starting(&self) -> bool {
        match self.state {
            State::Starting => true,
            State::Doomed => self.serving_ms.is_none(),
            State::Serving | State::Draining => false,
        }
    }

    /// Whether the worker is to end, and its process is not known.
    pub(crate) fn is_lost(&self) -> bool {
        self.pid == 0 && (self.hurried || self.state == State::Doomed)
    }

    pub(crate) fn is_to_be_replaced(&self) -> bool {
        self.replace.is_some()
    }

    /// Whether the worker's state has to end by some time.
    pub(crate) fn has_deadline(&self) -> bool {
        self.due_ms.is_some()
    }

    /// Returns the worker's name in the log: its process, once there is one.
    pub(crate) fn process(&self) -> String {
        if self.pid == 0 { "not forked yet".to_owned() } else { format!("process {}", self.pid) }
    }

    /// Returns the process that gets the worker's signals: its own, or the prototype that is about to fork it.
    pub(crate) fn recipient(&self) -> Option<Recipient> {
        if self.pid == 0 { self.forker } else { Some(Recipient::Child(self.pid)) }
    }

    fn signal(&self, kick: Kick, out: &mut Vec<Action>) {
        out.extend(self.recipient().map(|recipient| Action::Signal(recipient, kick)));
    }

    /// Notes that the worker's process has begun.
    pub(crate) fn note_spawned(&mut self, pid: u32) {
        self.pid = pid;
    }

    /// Notes that a prototype has begun to fork the worker, by way of this process.
    pub(crate) fn note_forking(&mut self, forker: Option<Recipient>) {
        if self.pid == 0 {
            self.forker = forker;
        }
    }

    /// Notes that the worker was forked, and is this process.
    pub(crate) fn note_hello(&mut self, pid: u32, out: &mut Vec<Action>) {
        self.pid = pid;
        if self.doomed.is_some() {
            // The worker was given up before it was forked.
            self.signal(Kick::Kill, out);
        }
    }

    /// Notes that the worker was told to end from outside. Another worker takes its place, as if the supervisor had
    /// told it to end.
    pub(crate) fn note_leaving(
        &mut self,
        is_told: bool,
        graceful_ms: u64,
        now_ms: u64,
        out: &mut Vec<Action>,
    ) {
        if self.state != State::Serving {
            return;
        }
        if is_told {
            let text = format!(
                "worker {} ({}) was told to end by a signal from outside",
                self.number,
                self.process()
            );
            out.push(Action::Log(&messages::WORKER_LEAVES, text));
        }
        self.drain(Reason::other("a signal told it to"), UNHURRIED, graceful_ms, now_ms, out);
    }

    /// Notes that the worker serves from now on; returns how long its start took, or `None` if it was not awaited any
    /// more.
    pub(crate) fn note_ready(&mut self, now_ms: u64) -> Option<u64> {
        if self.state != State::Starting {
            return None;
        }
        (self.state, self.serving_ms, self.due_ms) = (State::Serving, Some(now_ms), None);
        Some(now_ms - self.started_ms)
    }

    /// Notes that the worker ends, and has served, although it has not said so.
    pub(crate) fn note_served(&mut self, now_ms: u64) {
        self.serving_ms.get_or_insert(now_ms);
    }

    /// Drains the worker: a newer one serves in its slot.
    pub(crate) fn give_way(&mut self, graceful_ms: u64, now_ms: u64, out: &mut Vec<Action>) {
        let why = self.replace.clone().unwrap_or_else(|| Reason::other("a new version serves"));
        self.drain(why, UNHURRIED, graceful_ms, now_ms, out);
    }

    /// Drains the worker: its slot is given up.
    pub(crate) fn retire(&mut self, graceful_ms: u64, now_ms: u64, out: &mut Vec<Action>) {
        let why = Reason::other("there are to be fewer workers");
        self.drain(why, UNHURRIED, graceful_ms, now_ms, out);
    }

    /// Drains or ends the worker: the server stops.
    pub(crate) fn stop(&mut self, fast: bool, graceful_ms: u64, now_ms: u64, out: &mut Vec<Action>) {
        let why = Reason::other("the server stops");
        if fast || self.state == State::Starting {
            self.abandon(why, out);
        } else {
            self.drain(why, Ending::PROMPT, graceful_ms, now_ms, out);
        }
    }

    /// Tells the worker to take nothing more, finish, and end.
    fn drain(&mut self, why: Reason, ending: Ending, graceful_ms: u64, now_ms: u64, out: &mut Vec<Action>) {
        if matches!(self.state, State::Draining | State::Doomed) {
            let is_news = !ending.is_patient && self.state == State::Draining;
            if is_news && !std::mem::replace(&mut self.hurried, true) {
                out.push(Action::Hurry(self.id, ending));
            }
            return;
        }
        self.hurried = !ending.is_patient;
        (self.state, self.told) = (State::Draining, Some(why));
        self.due_ms = Some(now_ms + graceful_ms + ENDING_MS);
        out.push(Action::Drain(self.id, ending));
    }

    /// Kills the worker, because it still starts and has nothing to finish, or because it has to go at once.
    pub(crate) fn abandon(&mut self, why: Reason, out: &mut Vec<Action>) {
        self.told.get_or_insert(why);
        self.hurried = true;
        self.signal(Kick::Kill, out);
    }

    /// If the worker's time is over, makes it print its stack, and then kills it.
    pub(crate) fn look(&mut self, limits: &Limits, now_ms: u64, out: &mut Vec<Action>) {
        if self.due_ms.is_none_or(|due_ms| due_ms > now_ms) {
            return;
        }
        if self.recipient().is_none() {
            // The prototype has not followed the order to fork the worker.
            out.push(Action::DoomPrototype(self.generation));
        }
        if self.state == State::Doomed {
            self.signal(Kick::Kill, out);
            self.due_ms = None;
            return;
        }
        let seconds = |ms: u64| ms / 1000;
        let why = match self.state {
            State::Starting => format!("was not ready after {} s", seconds(limits.startup_timeout_ms)),
            _ => format!("had not finished {} s after it was told to", seconds(limits.graceful_timeout_ms)),
        };
        let text = format!("worker {} ({}) {why}; this is where it is:", self.number, self.process());
        out.push(Action::Log(&messages::WORKER_STUCK, text));
        (self.state, self.doomed) = (State::Doomed, Some(why));
        self.due_ms = Some(now_ms + LAST_WORDS_MS);
        self.signal(Kick::Abort, out);
        // A process that is stopped says nothing until it goes on.
        self.signal(Kick::Continue, out);
    }

    /// Whether the worker's limits are to be looked at.
    pub(crate) fn is_measured(&self) -> bool {
        self.state == State::Serving && self.replace.is_none()
    }

    /// Compares the worker with its limits.
    pub(crate) fn measure(
        &mut self,
        measured: Measured,
        limits: &Limits,
        now_ms: u64,
        out: &mut Vec<Action>,
    ) {
        if !self.is_measured() {
            return;
        }
        self.rss_bytes = measured.rss_bytes;
        let Some(limit) = self.past_limit(measured, limits, now_ms) else { return };
        let text = format!("worker {} is replaced: {limit}", self.number);
        out.push(Action::Log(&messages::WORKER_REPLACED, text));
        let why = Reason::Limit { limit };
        self.replace = Some(why.clone());
        if measured.is_stuck {
            // A stuck worker would take requests that it can no longer answer. So these requests wait for its
            // successor.
            self.drain(why, STUCK, limits.graceful_timeout_ms, now_ms, out);
        }
    }

    /// Returns the limit that the worker has reached, in words.
    fn past_limit(&self, measured: Measured, limits: &Limits, now_ms: u64) -> Option<String> {
        let past = |number: u64, most: u64| most > 0 && number >= most;
        let served_ms = self.serving_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        let Measured { requests, is_stuck, rss_bytes, cpu_ms } = measured;
        if is_stuck {
            Some("a request in it does not end".to_owned())
        } else if past(requests, self.requests_max) {
            Some(format!("it has answered {requests} requests"))
        } else if past(served_ms, self.lifetime_max_ms) {
            Some(format!("it has served for {} s", served_ms / 1000))
        } else if past(rss_bytes, limits.rss_max_bytes) {
            Some(format!("it has {} MiB of memory", rss_bytes >> 20))
        } else if past(cpu_ms, limits.cpu_max_ms) {
            Some(format!("it has used {} s of CPU time", limits.cpu_max_ms / 1000))
        } else {
            None
        }
    }

    /// Takes note of the worker's signs of life.
    pub(crate) fn hear_pulse(
        &mut self,
        heart: Heart,
        elapsed_ms: u64,
        limits: &Limits,
        now_ms: u64,
        out: &mut Vec<Action>,
    ) {
        if self.state != State::Serving {
            return;
        }
        let changed = self.pulse.look(heart.beats, elapsed_ms, limits);
        let (number, process, ailment) = (self.number, self.process(), in_words(heart.ailment));
        let seconds = self.pulse.silent_ms / 1000;
        match (changed, self.pulse.is_silent) {
            (true, true) => out.push(Action::Log(
                &messages::WORKER_SILENT,
                format!(
                    "worker {number} ({process}) has given no sign of life for {seconds} s: {ailment}; new connections go \
                     to the others, and it is replaced after {} s (--heartbeat-timeout)",
                    limits.heartbeat_timeout_ms / 1000
                ),
            )),
            (true, false) => out.push(Action::Log(
                &messages::WORKER_HEARD,
                format!("worker {number} ({process}) gives signs of life again"),
            )),
            _ => {}
        }
        if self.pulse.silent_ms >= limits.heartbeat_timeout_ms {
            let limit = format!("it has given no sign of life for {seconds} s: {ailment}");
            let text = format!("worker {number} is replaced: {limit}");
            out.push(Action::Log(&messages::WORKER_REPLACED, text));
            let why = Reason::Limit { limit };
            self.replace = Some(why.clone());
            // The worker reads that order when it can. Other workers serve the connections at its sockets.
            self.drain(why, STUCK, limits.graceful_timeout_ms, now_ms, out);
        }
    }

    /// Returns why the worker has ended: for metrics, and in words.
    pub(crate) fn cause(&self, exit: Option<Exit>, memory_was_short: bool) -> (Cause, String) {
        let known = Known {
            served: self.serving_ms.is_some(),
            told: self.told.as_ref(),
            hurried: self.hurried,
            doomed: self.doomed.as_deref(),
            memory_was_short,
            rss_bytes: self.rss_bytes,
        };
        cause(exit, &known)
    }

    /// Whether the worker was not told to end.
    pub(crate) fn is_unasked(&self) -> bool {
        self.told.is_none()
    }
}

/// Returns the reason of a worker's silence, in words.
fn in_words(ailment: Ailment) -> &'static str {
    match ailment {
        Ailment::None => "its process is stopped, or gets no CPU",
        Ailment::Loop => "an event loop hangs",
        Ailment::Interpreter => "something in it keeps the interpreter",
    }
}
