//! A slot: its sockets, and the workers that serve on them, one after the other.

use adyton_log::{self as log, messages};
use adyton_server::Ending;
use adyton_server::tally::{Cell, Tally};
use adyton_sys::child::{self, Kick};

use crate::cause::Reason;
use crate::limits::Limits;
use crate::message::{Channel, ToWorker};
use crate::ports::Sockets;
use crate::pulse::Pulse;
use crate::usage;

/// The longest that a slot waits before it tries again.
const BACKOFF_MS_MAX: u64 = 30_000;

/// How long it waits after the first failure; twice as long after each further one.
const BACKOFF_MS: u64 = 100;

/// A worker that has served for so long has proved itself.
const PROVEN_MS: u64 = 10_000;

/// A worker that does not end in time gets so much more to say where it is.
pub(crate) const LAST_WORDS_MS: u64 = 2_000;

/// What a worker needs to end by itself, beyond the time of its requests.
const ENDING_MS: u64 = 2_000;

/// The end of a worker that is in no hurry.
pub(crate) const UNHURRIED: Ending = Ending { is_patient: true, takes_queue: true };

/// The end of a worker that can no longer answer: what waits at its sockets waits for its successor.
pub(crate) const STUCK: Ending = Ending { is_patient: true, takes_queue: false };

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Starting,
    Serving,
    Draining,
    /// It was sent the signal that makes it say where it is, or the one that ends it.
    Doomed,
}

/// One worker process.
pub(crate) struct Staff {
    /// 0 while it is being forked.
    pub(crate) pid: u32,
    /// The process that is about to fork it, while it is there, with its birth.
    pub(crate) midwife: Option<(u32, u64)>,
    pub(crate) generation: u32,
    pub(crate) state: State,
    /// Where its connections are counted, for the others to see.
    pub(crate) seat: usize,
    pub(crate) channel: Channel,
    pub(crate) tally: Tally,
    pub(crate) started_ms: u64,
    /// When it began to serve.
    pub(crate) serving_ms: Option<u64>,
    /// Until when it has to be done with what its state is about.
    pub(crate) due_ms: Option<u64>,
    /// Why it is to be replaced.
    pub(crate) replace: Option<Reason>,
    /// Why it was told to drain.
    pub(crate) told: Option<Reason>,
    /// It was told to close what idles.
    pub(crate) hurried: bool,
    /// Why it was killed.
    pub(crate) doomed: Option<String>,
    /// Requests that it may serve, with its jitter; 0: any number.
    pub(crate) requests_max: u64,
    /// How long it may serve, with its jitter; 0: for ever.
    pub(crate) lifetime_max_ms: u64,
    /// Memory, when it was looked at last.
    pub(crate) rss_bytes: u64,
    /// CPU time, when it was looked at last.
    pub(crate) cpu_ms: u64,
    /// Whether it gives signs of life.
    pub(crate) pulse: Pulse,
}

impl Staff {
    /// What it is called in the log: its process, once there is one.
    pub(crate) fn process(&self) -> String {
        if self.pid == 0 { "not forked yet".to_owned() } else { format!("process {}", self.pid) }
    }

    /// Sends it a signal, or who is about to fork it.
    pub(crate) fn kick(&self, kick: Kick) {
        match self.midwife {
            _ if self.pid != 0 => child::kick(self.pid, kick),
            Some((pid, birth)) if usage::birth(pid) == Some(birth) => child::kick(pid, kick),
            _ => {}
        }
    }

    /// Tells a worker to take nothing more, finish, and end.
    pub(crate) fn drain(&mut self, why: Reason, ending: Ending, graceful_ms: u64, now_ms: u64) {
        let Ending { is_patient, takes_queue } = ending;
        let order = ToWorker::Drain { is_patient, takes_queue };
        if matches!(self.state, State::Draining | State::Doomed) {
            if !is_patient && self.state == State::Draining && !std::mem::replace(&mut self.hurried, true) {
                // It may have ended already.
                let _ = self.channel.send(&order);
            }
            return;
        }
        self.hurried = !is_patient;
        (self.state, self.told) = (State::Draining, Some(why));
        self.due_ms = Some(now_ms + graceful_ms + ENDING_MS);
        if self.channel.send(&order).is_err() {
            self.kick(Kick::Terminate);
        }
    }

    /// Ends a worker that starts, and has nothing to finish; or one that has to go at once.
    pub(crate) fn abandon(&mut self, why: Reason) {
        self.told.get_or_insert(why);
        self.hurried = true;
        self.kick(Kick::Kill);
    }

    /// A worker's time is over: it is made to say where it is, and then ended.
    pub(crate) fn press(&mut self, number: usize, limits: &Limits, now_ms: u64) {
        if self.state == State::Doomed {
            self.kick(Kick::Kill);
            self.due_ms = None;
            return;
        }
        let seconds = |ms: u64| ms / 1000;
        let why = match self.state {
            State::Starting => format!("was not ready after {} s", seconds(limits.startup_timeout_ms)),
            _ => format!("had not finished {} s after it was told to", seconds(limits.graceful_timeout_ms)),
        };
        log::write(
            &messages::WORKER_STUCK,
            format_args!("worker {number} ({}) {why}; this is where it is:", self.process()),
        );
        (self.state, self.doomed) = (State::Doomed, Some(why));
        self.due_ms = Some(now_ms + LAST_WORDS_MS);
        self.kick(Kick::Abort);
        // One that is stopped says nothing.
        self.kick(Kick::Continue);
    }

    /// Why a worker has to be replaced; nothing if it may go on.
    pub(crate) fn past_limit(&self, limits: &Limits, now_ms: u64) -> Option<Reason> {
        let past = |number: u64, most: u64| most > 0 && number >= most;
        let served_ms = self.serving_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        let requests = self.tally.sample().answers();
        let limit = if self.tally.get(Cell::Stuck) > 0 {
            Some("a request in it does not end".to_owned())
        } else if past(requests, self.requests_max) {
            Some(format!("it has answered {requests} requests"))
        } else if past(served_ms, self.lifetime_max_ms) {
            Some(format!("it has served for {} s", served_ms / 1000))
        } else if past(self.rss_bytes, limits.rss_max_bytes) {
            Some(format!("it has {} MiB of memory", self.rss_bytes >> 20))
        } else if limits.cpu_max_ms > 0 && usage::cpu_ms(self.pid) >= limits.cpu_max_ms {
            Some(format!("it has used {} s of CPU time", limits.cpu_max_ms / 1000))
        } else {
            None
        };
        limit.map(|limit| Reason::Limit { limit })
    }
}

/// A slot.
pub(crate) struct Slot {
    /// From 1 on.
    pub(crate) number: usize,
    pub(crate) sockets: Sockets,
    /// The oldest first.
    pub(crate) workers: Vec<Staff>,
    /// Workers that have ended soon after they were started, one after the other.
    pub(crate) failures: u32,
    /// Nobody is started before.
    pub(crate) not_before_ms: u64,
    /// Set when there shall be fewer slots: it ends when what waits in its sockets is accepted.
    pub(crate) retires_ms: Option<u64>,
    /// It was given up, and is back only for who had come to its sockets too late.
    pub(crate) is_recalled: bool,
}

impl Slot {
    pub(crate) fn new(number: usize, sockets: Sockets) -> Self {
        Self {
            number,
            sockets,
            workers: Vec::new(),
            failures: 0,
            not_before_ms: 0,
            retires_ms: None,
            is_recalled: false,
        }
    }

    /// Whether new connections come to it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.retires_ms.is_none() && !self.is_recalled
    }

    /// The worker that serves and was not told to stop doing so.
    pub(crate) fn serving(&self) -> Option<&Staff> {
        self.workers.iter().rev().find(|worker| worker.state == State::Serving)
    }

    /// Whether one serves that gives signs of life.
    pub(crate) fn is_served(&self) -> bool {
        self.serving().is_some_and(|worker| !worker.pulse.is_silent)
    }

    /// Whether a worker starts, or was too slow to and has not ended yet.
    pub(crate) fn is_starting(&self) -> bool {
        self.workers.iter().any(|worker| match worker.state {
            State::Starting => true,
            State::Doomed => worker.serving_ms.is_none(),
            State::Serving | State::Draining => false,
        })
    }

    /// Whether a worker has to be started: there is none, or the one that serves is to be replaced.
    pub(crate) fn wants_worker(&self, generation: u32, now_ms: u64) -> bool {
        let wanted = match self.serving() {
            None => true,
            Some(worker) => worker.generation != generation || worker.replace.is_some(),
        };
        wanted && self.retires_ms.is_none() && !self.is_starting() && now_ms >= self.not_before_ms
    }

    /// Takes note that a worker has ended unasked, `age_ms` after it began: the next ones wait longer and longer.
    pub(crate) fn note_failure(&mut self, age_ms: u64, now_ms: u64) {
        self.failures = if age_ms >= PROVEN_MS { 0 } else { self.failures + 1 };
        // The first is replaced at once: whoever crashes once a day is not waited for.
        self.not_before_ms =
            now_ms + if self.failures < 2 { 0 } else { backoff_ms(BACKOFF_MS, self.failures - 1) };
    }

    /// When the next worker starts, in words, if that is not at once.
    pub(crate) fn said_of_next(&self, now_ms: u64) -> String {
        match self.not_before_ms.saturating_sub(now_ms) {
            0 => String::new(),
            wait_ms => format!("; the next one starts in {}.{} s", wait_ms / 1000, wait_ms % 1000 / 100),
        }
    }
}

/// How long nobody is started after so many failures, of which the first costs `first_ms`.
pub(crate) fn backoff_ms(first_ms: u64, failures: u32) -> u64 {
    (first_ms << failures.saturating_sub(1).min(16)).min(BACKOFF_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::{BACKOFF_MS_MAX, PROVEN_MS, Slot};

    /// One crash costs no time, a loop of them more and more, and a long life makes up for it.
    #[test]
    fn backoff() {
        let mut slot = Slot::new(1, Vec::new());
        let mut waits = Vec::new();
        for _ in 0..14 {
            slot.note_failure(1, 1_000);
            waits.push(slot.not_before_ms - 1_000);
        }

        assert_eq!([0, 100, 200, 400, 800], waits[..5]);
        assert_eq!(Some(&BACKOFF_MS_MAX), waits.last());

        slot.note_failure(PROVEN_MS, 1_000);

        assert_eq!(1_000, slot.not_before_ms);
        assert!(slot.wants_worker(1, 1_000));
    }
}
