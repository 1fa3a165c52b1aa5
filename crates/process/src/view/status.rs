//! The state of a server: one structure that the supervisor fills.
//!
//! The JSON at `/status`, the metrics, `adyton status` and `adyton top` are made from this structure.
//! The program that reads may be of another version than the program that writes: a missing field is empty, or 0.

use std::collections::BTreeMap;

use adyton_server::prefixes::{PrefixCount, Prefixes};
use adyton_server::tally::{Cell, Histogram, Sample};
use serde::{Deserialize, Serialize};

/// The state of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) version: String,
    pub(crate) process: u32,
    pub(crate) state: String,
    pub(crate) serves: String,
    pub(crate) uptime_s: f64,
    pub(crate) generation: u32,
    /// Workers that are wanted.
    pub(crate) processes: usize,
    /// Workers that serve, for the metrics alone.
    #[serde(skip)]
    pub(crate) serving: usize,
    /// Workers that give no sign of life, for the metrics alone.
    #[serde(skip)]
    pub(crate) silent: usize,
    /// Workers that were started.
    pub(crate) starts: u64,
    /// Workers that have ended, by the words of the causes.
    pub(crate) deaths: BTreeMap<String, u64>,
    /// The counts of all workers, including workers that have ended.
    pub(crate) total: Counts,
    /// Requests by the first segment of their path, the most frequent first.
    pub(crate) prefixes: Vec<PrefixStatus>,
    /// Requests by their site, the most frequent first; empty if there is one site.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sites: Vec<SiteStatus>,
    pub(crate) workers: Vec<WorkerStatus>,
    /// Groups, whose workers are not in `workers`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) groups: Vec<GroupStatus>,
}

/// A group, or one of its versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GroupStatus {
    pub(crate) group: String,
    pub(crate) state: String,
    /// The group's supervisor; 0 if it has no process.
    pub(crate) pid: u32,
    /// How often the group was started.
    pub(crate) starts: u64,
    /// Bytes of connections that wait for the group in the kernel.
    pub(crate) waiting_bytes: u64,
    /// The addresses that the group has to itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) listens: Vec<String>,
    /// The state that the group has reported last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Box<Status>>,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkerStatus {
    /// The group that the worker belongs to, if workers of several groups are shown together.
    #[serde(skip)]
    pub(crate) group: String,
    /// The number of the worker's slot.
    pub(crate) worker: usize,
    pub(crate) pid: u32,
    pub(crate) generation: u32,
    pub(crate) state: String,
    /// How long the worker has given no sign of life.
    pub(crate) silent_s: f64,
    pub(crate) age_s: f64,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) cpu_ms: u64,
    /// The memory in which shared pages count in part (PSS), if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pss_bytes: Option<Memory>,
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

/// Counters and gauges of a worker, or of all workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) inline: u64,
    pub(crate) handed_over: u64,
    pub(crate) queued: u64,
    pub(crate) turned_away: u64,
    pub(crate) timed_out: u64,
    pub(crate) stuck: u64,
    pub(crate) connections: u64,
    pub(crate) idle: u64,
    pub(crate) in_flight: u64,
    pub(crate) threads: u64,
    pub(crate) threads_busy: u64,
    pub(crate) queue_length: u64,
    pub(crate) queue_waits: u64,
    pub(crate) queue_wait_us: u64,
    pub(crate) interpreter_waits: u64,
    pub(crate) interpreter_wait_us: u64,
    pub(crate) log_lines_lost: u64,
    pub(crate) log_entries_lost: u64,
    pub(crate) body_bytes: u64,
    /// Connections that have moved to another process: from the door to a group, or back.
    pub(crate) moved_away: u64,
    /// Connections that have moved here in the same way.
    pub(crate) moved_here: u64,
    /// Connections that wait for room on their way.
    pub(crate) moving: u64,
    /// Connections that have ended with a worker that died, in the middle of a request, or on their way.
    pub(crate) lost: u64,
}

/// Requests whose paths begin alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PrefixStatus {
    pub(crate) prefix: String,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) duration_us: u64,
}

/// Requests to one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SiteStatus {
    /// The site's name as in the access log: `-` if it has none, `*` stands for all sites for which there is no room.
    pub(crate) site: String,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) duration_us: u64,
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Memory {
    Known(u64),
    /// The memory of a process that is gone, or whose memory the kernel does not report: `null` in JSON.
    Unknown,
}

impl Status {
    /// Returns the workers of the server itself and of all groups.
    pub(crate) fn all_workers(&self) -> Vec<WorkerStatus> {
        let mut all = self.workers.clone();
        for group in &self.groups {
            let workers = group.status.iter().flat_map(|status| &status.workers).cloned();
            all.extend(workers.map(|worker| WorkerStatus { group: group.group.clone(), ..worker }));
        }
        all
    }

    /// Returns the requests of the server's own workers and of all groups, by the first segment of their path.
    pub(crate) fn all_prefixes(&self) -> Vec<PrefixStatus> {
        let mut all: BTreeMap<&str, PrefixStatus> = BTreeMap::new();
        let groups = self.groups.iter().filter_map(|group| group.status.as_ref());
        for one in self.prefixes.iter().chain(groups.flat_map(|group| &group.prefixes)) {
            let sum = all.entry(&one.prefix).or_default();
            sum.requests = sum.requests.wrapping_add(one.requests);
            sum.errors = sum.errors.wrapping_add(one.errors);
            sum.duration_us = sum.duration_us.wrapping_add(one.duration_us);
        }
        all.into_iter().map(|(prefix, sum)| PrefixStatus { prefix: prefix.to_owned(), ..sum }).collect()
    }

    /// Returns the counts of the server's own workers and of all groups.
    pub(crate) fn all_counts(&self) -> Counts {
        self.groups.iter().fold(self.total.clone(), |sum, group| sum.plus(&group.counts()))
    }
}

impl GroupStatus {
    /// Returns the counts of the group's workers that the group has reported last; 0 if it has reported nothing.
    pub(crate) fn counts(&self) -> Counts {
        self.status.as_ref().map_or_else(Counts::default, |status| status.total.clone())
    }
}

impl WorkerStatus {
    /// Returns the worker's number, behind the name of its group.
    pub(crate) fn label(&self) -> String {
        if self.group.is_empty() {
            self.worker.to_string()
        } else {
            format!("{} {}", self.group, self.worker)
        }
    }
}

impl Memory {
    pub(crate) fn bytes(self) -> Option<u64> {
        if let Self::Known(bytes) = self { Some(bytes) } else { None }
    }
}

impl Counts {
    /// Returns the counts on a board, or on several.
    pub(crate) fn of(sample: &Sample) -> Self {
        let handed_over = sample.get(Cell::HandedOver);
        let waits = |histogram| {
            let (counts, sum_us) = sample.histogram(histogram);
            (counts.iter().sum::<u64>(), sum_us)
        };
        let (queue_waits, queue_wait_us) = waits(Histogram::QueueWait);
        let (interpreter_waits, interpreter_wait_us) = waits(Histogram::InterpreterWait);
        Self {
            requests: sample.answers(),
            errors: sample.get(Cell::Answers5),
            inline: sample.get(Cell::Begun).saturating_sub(handed_over),
            handed_over,
            queued: sample.get(Cell::Queued),
            turned_away: sample.get(Cell::TurnedAway),
            timed_out: sample.get(Cell::TimedOut),
            stuck: sample.get(Cell::Stuck),
            connections: connections(sample),
            idle: sample.get(Cell::Idle),
            in_flight: sample.get(Cell::Asking),
            threads: sample.get(Cell::Threads),
            threads_busy: sample.get(Cell::ThreadsBusy),
            queue_length: sample.get(Cell::QueueLength),
            queue_waits,
            queue_wait_us,
            interpreter_waits,
            interpreter_wait_us,
            log_lines_lost: sample.get(Cell::LinesLost),
            log_entries_lost: sample.get(Cell::EntriesLost),
            body_bytes: sample.get(Cell::BodyBytes),
            moved_away: sample.get(Cell::PassedOn),
            moved_here: sample.get(Cell::Arrived),
            moving: sample.get(Cell::Moving),
            lost: sample.get(Cell::ConnectionsLost),
        }
    }

    /// Adds the numbers of `other`, but keeps the numbers of moved connections: `other` has counted the same
    /// connections, at the other end of their way.
    fn plus(mut self, other: &Self) -> Self {
        for (sum, number) in [
            (&mut self.requests, other.requests),
            (&mut self.errors, other.errors),
            (&mut self.inline, other.inline),
            (&mut self.handed_over, other.handed_over),
            (&mut self.queued, other.queued),
            (&mut self.turned_away, other.turned_away),
            (&mut self.timed_out, other.timed_out),
            (&mut self.stuck, other.stuck),
            (&mut self.connections, other.connections),
            (&mut self.idle, other.idle),
            (&mut self.in_flight, other.in_flight),
            (&mut self.threads, other.threads),
            (&mut self.threads_busy, other.threads_busy),
            (&mut self.queue_length, other.queue_length),
            (&mut self.queue_waits, other.queue_waits),
            (&mut self.queue_wait_us, other.queue_wait_us),
            (&mut self.interpreter_waits, other.interpreter_waits),
            (&mut self.interpreter_wait_us, other.interpreter_wait_us),
            (&mut self.log_lines_lost, other.log_lines_lost),
            (&mut self.log_entries_lost, other.log_entries_lost),
            (&mut self.body_bytes, other.body_bytes),
            (&mut self.moving, other.moving),
            (&mut self.lost, other.lost),
        ] {
            *sum = sum.wrapping_add(number);
        }
        self
    }

    /// Returns the present gauges, and the counters since an earlier look.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut since = self.clone();
        for (now, before) in [
            (&mut since.requests, before.requests),
            (&mut since.errors, before.errors),
            (&mut since.inline, before.inline),
            (&mut since.handed_over, before.handed_over),
            (&mut since.queued, before.queued),
            (&mut since.queue_waits, before.queue_waits),
            (&mut since.queue_wait_us, before.queue_wait_us),
            (&mut since.interpreter_waits, before.interpreter_waits),
            (&mut since.interpreter_wait_us, before.interpreter_wait_us),
        ] {
            *now = now.saturating_sub(before);
        }
        since
    }
}

/// Returns milliseconds as seconds.
pub(crate) fn seconds(ms: u64) -> f64 {
    // The type holds the milliseconds of a process's life exactly.
    std::time::Duration::from_millis(ms).as_secs_f64()
}

/// Returns the requests by the first segment of their path, the most frequent first.
pub(crate) fn prefixes(sample: &Sample) -> Vec<PrefixStatus> {
    let shown = |(name, asked): (&String, &PrefixCount)| {
        let PrefixCount { requests, errors, duration_us } = *asked;
        PrefixStatus { prefix: name.clone(), requests, errors, duration_us }
    };
    most_frequent_first(sample.prefixes()).map(shown).collect()
}

/// Returns the requests by their site, the most frequent first.
pub(crate) fn sites(sample: &Sample) -> Vec<SiteStatus> {
    let shown = |(name, asked): (&String, &PrefixCount)| {
        let PrefixCount { requests, errors, duration_us } = *asked;
        SiteStatus { site: name.clone(), requests, errors, duration_us }
    };
    most_frequent_first(sample.sites()).map(shown).collect()
}

fn most_frequent_first(table: &Prefixes) -> impl Iterator<Item = (&String, &PrefixCount)> {
    let mut all: Vec<_> = table.iter().collect();
    all.sort_by_key(|(_, asked)| std::cmp::Reverse(asked.requests));
    all.into_iter()
}

fn connections(sample: &Sample) -> u64 {
    [Cell::Idle, Cell::Receiving, Cell::Asking, Cell::Answering, Cell::Moving, Cell::Closing]
        .into_iter()
        .map(|cell| sample.get(cell))
        .sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Counts, Memory, Status, WorkerStatus};

    /// Each written field is read again, except the fields for the metrics alone; memory that was not asked for is left
    /// out.
    #[test]
    fn both_ways() -> serde_json::Result<()> {
        let counts = Counts { requests: 7, queue_length: 2, ..Counts::default() };
        let worker = WorkerStatus { worker: 1, pid: 9, counts: counts.clone(), ..WorkerStatus::default() };
        let status = Status { process: 5, total: counts, workers: vec![worker.clone()], ..Status::default() };

        let written = serde_json::to_value(Status { serving: 1, silent: 1, ..status.clone() })?;

        assert_eq!(json!(7), written["workers"][0]["requests"]);
        assert_eq!(None, written["workers"][0].get("pss_bytes"));
        assert_eq!(None, written.get("serving"));
        assert_eq!(status, serde_json::from_value(written)?);

        for (pss_bytes, expected) in [(Memory::Unknown, json!(null)), (Memory::Known(3), json!(3))] {
            let written =
                serde_json::to_value(WorkerStatus { pss_bytes: Some(pss_bytes), ..worker.clone() })?;

            assert_eq!(expected, written["pss_bytes"]);
        }
        Ok(())
    }

    /// The status of a server of another version may lack fields, and have others.
    #[test]
    fn other_versions() -> serde_json::Result<()> {
        let status: Status =
            serde_json::from_value(json!({"state": "serving", "news": [1], "workers": [{"pid": 3}]}))?;

        assert_eq!(
            ("serving", 3, 0),
            (&*status.state, status.workers[0].pid, status.workers[0].counts.requests)
        );
        Ok(())
    }
}
