//! The supervisor's report of its state.

use adyton_server::tally::Sample;
use adyton_sys::process;
use serde_json::Value;

use super::Supervisor;
use crate::groups::branches::{Branch, Standing};
use crate::groups::doorways::Doorway;
use crate::view::metrics;
use crate::view::status::{Counts, GroupStatus, Memory, Status, WorkerStatus, prefixes, seconds, sites};
use crate::view::usage;
use crate::workers::worker_process::{State, WorkerProcess};

impl Supervisor {
    /// Returns the state, as JSON. The `whole` state includes the proportional memory, which takes milliseconds for
    /// each worker.
    pub(super) fn status(&self, whole: bool, now_ms: u64) -> Value {
        serde_json::to_value(self.standing(&self.total(), whole, now_ms)).unwrap_or_default()
    }

    /// Returns all metrics, as text.
    pub(super) fn metrics(&self, now_ms: u64) -> String {
        let total = self.total();
        metrics::text(&self.standing(&total, false, now_ms), &total)
    }

    fn standing(&self, total: &Sample, whole: bool, now_ms: u64) -> Status {
        let deaths = self.ended_workers.deaths().iter();
        let workers = self.fleet.workers().filter_map(|worker| {
            let sample = self.links.get(worker.id())?.tally().sample();
            Some(of_worker(worker, &sample, whole, now_ms))
        });
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: process::id(),
            state: self.state().to_owned(),
            serves: self.serves.clone(),
            uptime_s: seconds(now_ms.saturating_sub(self.since_ms)),
            generation: self.reloads.generation(),
            processes: self.fleet.wanted(),
            serving: self.fleet.serving(),
            silent: self.fleet.silent(),
            starts: self.fleet.starts(),
            deaths: deaths.map(|(cause, count)| (cause.word().to_owned(), *count)).collect(),
            total: Counts::of(total),
            prefixes: prefixes(total),
            sites: sites(total),
            workers: workers.collect(),
            groups: self.branches.iter().map(|branch| self.of_group(branch)).collect(),
        }
    }

    fn of_group(&self, branch: &Branch) -> GroupStatus {
        let said = self.standing_of(branch.id).and_then(|said| serde_json::from_value(said.clone()).ok());
        let state = match branch.standing {
            Standing::Asleep => "asleep",
            Standing::Due { .. } if branch.is_open() => "starting",
            Standing::Due { .. } => "does not start",
            Standing::Starting { .. } => "starting",
            Standing::Serving { .. } => "serving",
            Standing::Leaving { .. } => "draining",
        };
        let doorway = self.doorways.get(branch.id);
        let sockets = doorway.into_iter().flat_map(|doorway| &doorway.plan.sockets);
        GroupStatus {
            group: branch.key.name.clone(),
            state: state.to_owned(),
            pid: branch.pid().unwrap_or(0),
            starts: branch.starts,
            waiting_bytes: doorway.map_or(0, Doorway::waiting_bytes),
            listens: sockets.map(|socket| socket.shown.clone()).collect(),
            status: said.map(Box::new),
        }
    }

    fn state(&self) -> &'static str {
        let serving = self.fleet.serving();
        if self.stopping.has_begun() {
            "stopping"
        } else if self.reloads.has_stalled() {
            "two versions"
        } else if serving == 0 && self.fleet.silent() > 0 {
            "silent"
        } else if serving == 0 {
            "starting"
        } else if self.fleet.slots().iter().any(|slot| slot.workers().len() > 1) {
            "reloading"
        } else if serving < self.fleet.wanted() {
            "short of workers"
        } else {
            "serving"
        }
    }
}

fn of_worker(worker: &WorkerProcess, sample: &Sample, whole: bool, now_ms: u64) -> WorkerStatus {
    let (pid, pulse) = (worker.pid(), worker.pulse());
    WorkerStatus {
        group: String::new(),
        worker: worker.number(),
        pid,
        generation: worker.generation(),
        state: state_word(worker.state(), pulse.is_silent).to_owned(),
        silent_s: seconds(pulse.silent_ms),
        age_s: seconds(now_ms.saturating_sub(worker.started_ms())),
        rss_bytes: Some(usage::rss_bytes(pid)),
        cpu_ms: usage::cpu_ms(pid),
        pss_bytes: whole.then(|| usage::pss_bytes(pid).map_or(Memory::Unknown, Memory::Known)),
        counts: Counts::of(sample),
    }
}

fn state_word(state: State, is_silent: bool) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Serving if is_silent => "silent",
        State::Serving => "serving",
        State::Draining => "draining",
        State::Doomed => "being ended",
    }
}
