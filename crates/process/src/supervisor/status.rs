//! What the supervisor says of how things stand.

use adyton_sys::process;
use serde_json::{Value, json};

use super::Supervisor;
use crate::status::{of_sample, of_worker, prefixes, seconds};

impl Supervisor {
    /// How things stand; `whole` has the proportional memory, too, which takes milliseconds for each worker.
    pub(super) fn status(&self, whole: bool, now_ms: u64) -> Value {
        let sum = self.total();
        let workers: Vec<Value> = self
            .fleet
            .workers()
            .filter_map(|worker| {
                let sample = self.links.get(worker.id())?.tally().sample();
                Some(of_worker(worker, &sample, whole, now_ms))
            })
            .collect();
        let deaths: serde_json::Map<String, Value> =
            self.past.deaths().iter().map(|(cause, count)| (cause.word().to_owned(), json!(count))).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "process": process::id(),
            "state": self.state(),
            "serves": self.serves,
            "uptime_s": seconds(now_ms.saturating_sub(self.since_ms)),
            "generation": self.reloads.generation(),
            "processes": self.fleet.wanted(),
            "starts": self.fleet.starts(),
            "deaths": deaths,
            "total": of_sample(&sum),
            "prefixes": prefixes(&sum),
            "workers": workers,
        })
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
