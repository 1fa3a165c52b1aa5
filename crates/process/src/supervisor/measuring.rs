//! Measurements of workers at each look of the supervisor.

use adyton_server::pulse::Ailment;
use adyton_server::tally::Cell;

use super::Supervisor;
use crate::view::usage;
use crate::workers::demand::Seen;
use crate::workers::pulse::Heart;
use crate::workers::slot::Slot;
use crate::workers::worker_process::{Measured, State, WorkerProcess};

impl Supervisor {
    /// Starts one more worker or gives one up, as the load demands.
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

    /// Looks at the signs of life of the workers. `elapsed_ms` is the time since the last look.
    pub(super) fn look_at_pulses(&mut self, elapsed_ms: u64, now_ms: u64) {
        if self.plan.limits.heartbeat_timeout_ms == 0 {
            return;
        }
        // A supervisor that was stopped together with all its workers has heard from none of them, and blames none.
        let heard_ms = elapsed_ms.min(2 * self.tick_ms());
        let links = &self.links;
        let heart = |id| {
            let tally = links.get(id)?.tally();
            Some(Heart { beats: tally.get(Cell::Beats), ailment: Ailment::of(tally.get(Cell::Ailment)) })
        };
        let mut actions = Vec::new();
        self.fleet.hear_pulses(heart, heard_ms, now_ms, &mut actions);
        self.carry_out(actions, now_ms);
    }

    /// Compares the workers that serve with their limits.
    pub(super) fn look_at_limits(&mut self, now_ms: u64) {
        let links = &self.links;
        let cpu_matters = self.plan.limits.cpu_max_ms > 0;
        let measured = |worker: &WorkerProcess| {
            let (tally, pid) = (links.get(worker.id())?.tally(), worker.pid());
            Some(Measured {
                requests: tally.sample().answers(),
                is_stuck: tally.get(Cell::Stuck) > 0,
                rss_bytes: usage::rss_bytes(pid),
                cpu_ms: if cpu_matters { usage::cpu_ms(pid) } else { 0 },
            })
        };
        let mut actions = Vec::new();
        self.fleet.measure(measured, now_ms, &mut actions);
        self.carry_out(actions, now_ms);
    }
}
