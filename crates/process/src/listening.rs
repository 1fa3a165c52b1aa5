//! How the supervisor listens to the hearts of its workers.

use adyton_log::{self as log, messages};
use adyton_server::pulse::Ailment;
use adyton_server::tally::Cell;

use crate::cause::Reason;
use crate::limits::Limits;
use crate::slot::{STUCK, Staff, State};
use crate::supervisor::Supervisor;

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
