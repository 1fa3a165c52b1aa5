//! What the supervisor measures of its workers at each look.

use adyton_server::pulse::Ailment;
use adyton_server::tally::Cell;

use super::Supervisor;
use crate::action::Id;
use crate::demand::Seen;
use crate::slot::Slot;
use crate::staff::{Measured, State};
use crate::usage;

impl Supervisor {
    /// Starts one worker more or gives one up, as the requests that there are demand.
    pub(super) fn look_at_demand(&mut self, elapsed_ms: u64, now_ms: u64) {
        let bounds = self.plan.bounds;
        if bounds.least == bounds.most || self.stopping.has_begun() {
            return;
        }
        let mut seen = Seen { elapsed_ms, workers: self.fleet.wanted(), ..Seen::default() };
        let lasting = self.fleet.slots().iter().filter(|slot| !slot.is_retiring());
        for worker in lasting.flat_map(Slot::workers) {
            let link = self.links.get_mut(worker.id()).filter(|_| worker.state() == State::Serving);
            let Some(link) = link else { continue };
            seen.cpu_ms += link.new_cpu_ms(usage::cpu_ms(worker.pid()));
            seen.queued += link.tally().get(Cell::QueueLength);
            seen.busy += link.tally().get(Cell::ThreadsBusy);
            seen.threads += link.tally().get(Cell::Threads);
        }
        match self.demand.look(seen, bounds) {
            0 => {}
            by => self.scale(by, now_ms),
        }
    }

    /// Listens to the hearts of the workers. `elapsed_ms` is the time since the last look.
    pub(super) fn look_at_pulses(&mut self, elapsed_ms: u64, now_ms: u64) {
        if self.plan.limits.heartbeat_timeout_ms == 0 {
            return;
        }
        // Who was stopped itself, with all its workers, has heard nobody, and blames nobody.
        let heard_ms = elapsed_ms.min(2 * self.tick_ms());
        for id in self.fleet.ids() {
            let Some(link) = self.links.get(id) else { continue };
            let heart = (link.tally().get(Cell::Beats), Ailment::of(link.tally().get(Cell::Ailment)));
            self.decide(now_ms, |fleet, out| fleet.hear_pulse(id, heart, heard_ms, now_ms, out));
        }
    }

    /// Compares the workers that serve with their limits.
    pub(super) fn look_at_limits(&mut self, now_ms: u64) {
        let serving = self.fleet.workers().filter(|worker| worker.is_measured());
        let measured: Vec<(Id, Measured)> = serving
            .filter_map(|worker| Some((worker.id(), self.measured(worker.id(), worker.pid())?)))
            .collect();
        for (id, measured) in measured {
            self.decide(now_ms, |fleet, out| fleet.measure(id, measured, now_ms, out));
        }
    }

    fn measured(&self, id: Id, pid: u32) -> Option<Measured> {
        let tally = self.links.get(id)?.tally();
        Some(Measured {
            requests: tally.sample().answers(),
            is_stuck: tally.get(Cell::Stuck) > 0,
            rss_bytes: usage::rss_bytes(pid),
            // It is read only if it matters.
            cpu_ms: if self.plan.limits.cpu_max_ms > 0 { usage::cpu_ms(pid) } else { 0 },
        })
    }
}
