//! Workers that give no sign of life: one that is stopped, gets no CPU, or hangs.
//!
//! Each worker counts on its board while its loops and its interpreter go on (`pulse.rs` in `server`). One that does
//! not is named and no longer counted on, and given up after `--heartbeat-timeout`: its successor starts at once, and the
//! order to finish what runs waits for it, should it come to itself.

use adyton_log::{self as log, messages};
use adyton_server::pulse::Ailment;
use adyton_server::tally::Cell;

use crate::cause::Reason;
use crate::plan::Limits;
use crate::slot::{STUCK, Staff, State};
use crate::supervisor::Supervisor;

/// So many signs of life are expected in the time after which a worker is given up.
const BEATS: u64 = 30;

/// So many of them may fail to come before a worker is called silent.
const MISSED_MAX: u64 = 3;

/// The quickest heart: each beat wakes a thread, and each loop.
const BEAT_MS_MIN: u64 = 50;

/// Whether somebody hears a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pulse {
    /// Its signs of life, when it was looked at last.
    beats: u64,
    /// For how long there was no further one.
    pub(crate) silent_ms: u64,
    /// It is not counted on.
    pub(crate) is_silent: bool,
}

impl Pulse {
    /// Takes note of what the board says `elapsed_ms` after the last look; says whether that changes anything.
    fn look(&mut self, beats: u64, elapsed_ms: u64, limits: &Limits) -> bool {
        let has_beaten = std::mem::replace(&mut self.beats, beats) != beats;
        self.silent_ms = if has_beaten { 0 } else { self.silent_ms + elapsed_ms };
        let is_silent = self.silent_ms >= limits.silence_ms();
        std::mem::replace(&mut self.is_silent, is_silent) != is_silent
    }
}

impl Limits {
    /// How often a worker gives a sign of life; `None`: it need not.
    pub fn beat_ms(&self) -> Option<u64> {
        let timeout_ms = self.heartbeat_timeout_ms;
        (timeout_ms > 0).then(|| (timeout_ms / BEATS).max(BEAT_MS_MIN))
    }

    /// When a worker is called silent.
    fn silence_ms(&self) -> u64 {
        self.beat_ms().map_or(u64::MAX, |beat_ms| beat_ms * MISSED_MAX)
    }
}

impl Supervisor {
    /// Listens to the hearts of the workers that serve. `elapsed_ms` is the time since the last look.
    pub(crate) fn look_at_pulses(&mut self, elapsed_ms: u64, now_ms: u64) {
        let limits = self.plan.limits.clone();
        if limits.heartbeat_timeout_ms == 0 {
            return;
        }
        // Who was stopped itself, with all its workers, has heard nobody, and blames nobody.
        let heard_ms = elapsed_ms.min(2 * self.tick_ms());
        for slot in &mut self.slots {
            let number = slot.number;
            for worker in slot.workers.iter_mut().filter(|worker| worker.state == State::Serving) {
                worker.look_at_pulse(number, heard_ms, &limits, now_ms);
            }
        }
    }
}

impl Staff {
    fn look_at_pulse(&mut self, number: usize, elapsed_ms: u64, limits: &Limits, now_ms: u64) {
        let process = self.process();
        let changed = self.pulse.look(self.tally.get(Cell::Beats), elapsed_ms, limits);
        let seconds = self.pulse.silent_ms / 1000;
        match (changed, self.pulse.is_silent) {
            (true, true) => log::write(
                &messages::WORKER_SILENT,
                format_args!(
                    "worker {number} ({process}) has given no sign of life for {seconds} s: {}; new connections go to the \
                     others, and it is replaced after {} s (--heartbeat-timeout)",
                    self.ailment(),
                    limits.heartbeat_timeout_ms / 1000
                ),
            ),
            (true, false) => log::write(
                &messages::WORKER_HEARD,
                format_args!("worker {number} ({process}) gives signs of life again"),
            ),
            _ => {}
        }
        if self.pulse.silent_ms >= limits.heartbeat_timeout_ms {
            let limit = format!("it has given no sign of life for {seconds} s: {}", self.ailment());
            log::write(&messages::WORKER_REPLACED, format_args!("worker {number} is replaced: {limit}"));
            let why = Reason::Limit { limit };
            self.replace = Some(why.clone());
            // It reads that when it can. What waits at its sockets is served by others.
            self.drain(why, STUCK, limits.graceful_timeout_ms, now_ms);
        }
    }

    /// What a silent worker suffers from, in words.
    pub(crate) fn ailment(&self) -> &'static str {
        match Ailment::of(self.tally.get(Cell::Ailment)) {
            Ailment::None => "its process is stopped, or gets no CPU",
            Ailment::Loop => "an event loop hangs",
            Ailment::Interpreter => "something in it keeps the interpreter",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pulse;
    use crate::plan::Limits;

    /// A worker is silent after three beats that have not come, and is heard at the next one.
    #[test]
    fn silence() {
        let limits = Limits { heartbeat_timeout_ms: 30_000, ..Limits::default() };
        let mut pulse = Pulse::default();

        assert_eq!(Some(1_000), limits.beat_ms());
        assert!(!pulse.look(1, 1_000, &limits));
        assert!(!pulse.look(1, 1_000, &limits));
        assert!(!pulse.look(1, 1_999, &limits));
        assert!(pulse.look(1, 1, &limits));
        assert!(!pulse.look(1, 1_000, &limits), "that is known");
        assert_eq!((4_000, true), (pulse.silent_ms, pulse.is_silent));
        assert!(pulse.look(2, 1_000, &limits));
        assert_eq!((0, false), (pulse.silent_ms, pulse.is_silent));
        assert_eq!(None, Limits::default().beat_ms());
    }
}
