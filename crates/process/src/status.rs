//! How things stand, as JSON: for `adyton status`, `adyton top` and the page of the admin listener.

use adyton_server::prefixes::Asked;
use adyton_server::tally::{Cell, Histogram, Sample};
use adyton_sys::process;
use serde_json::{Value, json};

use crate::slot::{Slot, Staff, State};
use crate::supervisor::Supervisor;
use crate::usage;

impl Supervisor {
    /// How things stand; `whole` has the proportional memory, too, which takes milliseconds for each worker.
    pub(crate) fn status(&self, whole: bool, now_ms: u64) -> Value {
        let sum = self.total();
        let workers: Vec<Value> = self
            .slots
            .iter()
            .flat_map(|slot| slot.workers.iter().map(move |worker| of_worker(slot, worker, whole, now_ms)))
            .collect();
        let deaths: serde_json::Map<String, Value> =
            self.deaths.iter().map(|(cause, count)| (cause.word().to_owned(), json!(count))).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "process": process::id(),
            "state": self.state(),
            "serves": self.serves,
            "uptime_s": seconds(now_ms.saturating_sub(self.since_ms)),
            "generation": self.generation,
            "processes": self.wanted(),
            "starts": self.starts,
            "deaths": deaths,
            "total": of_sample(&sum),
            "prefixes": prefixes(&sum),
            "workers": workers,
        })
    }

    fn state(&self) -> &'static str {
        let serving = self.serving();
        if self.stop.is_some() {
            "stopping"
        } else if self.stalled == self.generation && self.announced != self.generation {
            "two versions"
        } else if serving == 0 && self.workers().any(|worker| worker.pulse.is_silent) {
            "silent"
        } else if serving == 0 {
            "starting"
        } else if self.slots.iter().any(|slot| slot.workers.len() > 1) {
            "reloading"
        } else if serving < self.wanted() {
            "short of workers"
        } else {
            "serving"
        }
    }
}

fn seconds(ms: u64) -> f64 {
    // Milliseconds of a process's life are far below what the type holds exactly.
    std::time::Duration::from_millis(ms).as_secs_f64()
}

pub(crate) fn state_word(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Serving => "serving",
        State::Draining => "draining",
        State::Doomed => "being ended",
    }
}

fn of_worker(slot: &Slot, worker: &Staff, whole: bool, now_ms: u64) -> Value {
    let mut value = of_sample(&worker.tally.sample());
    value["worker"] = json!(slot.number);
    value["pid"] = json!(worker.pid);
    value["generation"] = json!(worker.generation);
    value["state"] = json!(if worker.pulse.is_silent && worker.state == State::Serving {
        "silent"
    } else {
        state_word(worker.state)
    });
    value["silent_s"] = json!(seconds(worker.pulse.silent_ms));
    value["age_s"] = json!(seconds(now_ms.saturating_sub(worker.started_ms)));
    value["rss_bytes"] = json!(usage::rss_bytes(worker.pid));
    value["cpu_ms"] = json!(usage::cpu_ms(worker.pid));
    if whole {
        value["pss_bytes"] = json!(usage::pss_bytes(worker.pid));
    }
    value
}

fn of_sample(sample: &Sample) -> Value {
    let handed_over = sample.get(Cell::HandedOver);
    let waits = |histogram| {
        let (counts, sum_us) = sample.histogram(histogram);
        (counts.iter().sum::<u64>(), sum_us)
    };
    let (queue_waits, queue_wait_us) = waits(Histogram::QueueWait);
    let (interpreter_waits, interpreter_wait_us) = waits(Histogram::InterpreterWait);
    json!({
        "requests": sample.answers(),
        "errors": sample.get(Cell::Answers5),
        "inline": sample.get(Cell::Begun).saturating_sub(handed_over),
        "handed_over": handed_over,
        "queued": sample.get(Cell::Queued),
        "turned_away": sample.get(Cell::TurnedAway),
        "timed_out": sample.get(Cell::TimedOut),
        "stuck": sample.get(Cell::Stuck),
        "connections": connections(sample),
        "idle": sample.get(Cell::Idle),
        "in_flight": sample.get(Cell::Asking),
        "threads": sample.get(Cell::Threads),
        "threads_busy": sample.get(Cell::ThreadsBusy),
        "queue_length": sample.get(Cell::QueueLength),
        "queue_waits": queue_waits,
        "queue_wait_us": queue_wait_us,
        "interpreter_waits": interpreter_waits,
        "interpreter_wait_us": interpreter_wait_us,
        "log_lines_lost": sample.get(Cell::LinesLost),
        "log_entries_lost": sample.get(Cell::EntriesLost),
        "body_bytes": sample.get(Cell::BodyBytes),
    })
}

/// Requests by the first segment of their path, the most frequent first.
fn prefixes(sample: &Sample) -> Vec<Value> {
    let mut all: Vec<_> = sample.prefixes().iter().collect();
    all.sort_by_key(|(_, asked)| std::cmp::Reverse(asked.requests));
    let shown = |(name, asked): (&String, &Asked)| {
        let Asked { requests, errors, duration_us } = *asked;
        json!({"prefix": name, "requests": requests, "errors": errors, "duration_us": duration_us})
    };
    all.into_iter().map(shown).collect()
}

fn connections(sample: &Sample) -> u64 {
    [Cell::Idle, Cell::Receiving, Cell::Asking, Cell::Answering, Cell::Closing]
        .into_iter()
        .map(|cell| sample.get(cell))
        .sum()
}
