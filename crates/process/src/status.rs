//! How things stand, as JSON: for `adyton status`, `adyton top` and the page of the admin listener.

use adyton_server::prefixes::Asked;
use adyton_server::tally::{Cell, Histogram, Sample};
use serde_json::{Value, json};

use crate::staff::{Staff, State};
use crate::usage;

pub(crate) fn seconds(ms: u64) -> f64 {
    // Milliseconds of a process's life are far below what the type holds exactly.
    std::time::Duration::from_millis(ms).as_secs_f64()
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Serving => "serving",
        State::Draining => "draining",
        State::Doomed => "being ended",
    }
}

pub(crate) fn of_worker(worker: &Staff, sample: &Sample, whole: bool, now_ms: u64) -> Value {
    let mut value = of_sample(sample);
    value["worker"] = json!(worker.number());
    value["pid"] = json!(worker.pid());
    value["generation"] = json!(worker.generation());
    value["state"] = json!(if worker.pulse().is_silent && worker.state() == State::Serving {
        "silent"
    } else {
        state_word(worker.state())
    });
    value["silent_s"] = json!(seconds(worker.pulse().silent_ms));
    value["age_s"] = json!(seconds(now_ms.saturating_sub(worker.started_ms())));
    value["rss_bytes"] = json!(usage::rss_bytes(worker.pid()));
    value["cpu_ms"] = json!(usage::cpu_ms(worker.pid()));
    if whole {
        value["pss_bytes"] = json!(usage::pss_bytes(worker.pid()));
    }
    value
}

pub(crate) fn of_sample(sample: &Sample) -> Value {
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
pub(crate) fn prefixes(sample: &Sample) -> Vec<Value> {
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
