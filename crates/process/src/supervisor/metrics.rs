//! What the supervisor says in metrics.

use adyton_server::prefixes::Asked;

use super::Supervisor;
use crate::cause::Cause;
use crate::metrics::{escaped, head, of_sample, row};
use crate::usage;

impl Supervisor {
    /// All metrics.
    pub(super) fn metrics(&self, now_ms: u64) -> String {
        let total = self.total();
        let mut out = of_sample(&total);
        let mut family = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
            head(&mut out, name, kind, help);
            for (labels, number) in rows {
                row(&mut out, name, labels, number);
            }
        };
        let serving = self.fleet.serving() as u64;
        family("adyton_workers", "gauge", "Workers that serve.", &[(String::new(), serving)]);
        let silent = self.fleet.silent() as u64;
        family(
            "adyton_workers_silent",
            "gauge",
            "Workers that give no sign of life.",
            &[(String::new(), silent)],
        );
        family(
            "adyton_workers_wanted",
            "gauge",
            "Workers that should.",
            &[(String::new(), self.fleet.wanted() as u64)],
        );
        family(
            "adyton_worker_starts_total",
            "counter",
            "Workers that were started.",
            &[(String::new(), self.fleet.starts())],
        );
        let deaths: Vec<(String, u64)> = Cause::ALL
            .into_iter()
            .map(|cause| {
                (format!("cause=\"{}\"", cause.word()), self.past.deaths().get(&cause).copied().unwrap_or(0))
            })
            .collect();
        family("adyton_worker_deaths_total", "counter", "Workers that have ended, by cause.", &deaths);
        family(
            "adyton_generation",
            "gauge",
            "Reloads, and one.",
            &[(String::new(), u64::from(self.reloads.generation()))],
        );
        let uptime_s = now_ms.saturating_sub(self.since_ms) / 1000;
        family("adyton_uptime_seconds", "gauge", "Since the supervisor began.", &[(String::new(), uptime_s)]);
        let rss: Vec<(String, u64)> = self
            .fleet
            .slots()
            .iter()
            .filter_map(|slot| slot.serving().map(|worker| (slot.number(), worker.pid())))
            .map(|(number, pid)| (format!("worker=\"{number}\""), usage::rss_bytes(pid)))
            .collect();
        family("adyton_worker_resident_bytes", "gauge", "Resident memory of each worker.", &rss);
        let by_prefix = |number: fn(&Asked) -> u64| -> Vec<(String, u64)> {
            let of =
                |(name, asked): (&String, &Asked)| (format!("prefix=\"{}\"", escaped(name)), number(asked));
            total.prefixes().iter().map(of).collect()
        };
        let requests = by_prefix(|asked| asked.requests);
        family("adyton_prefix_requests_total", "counter", "Answers by first path segment.", &requests);
        let errors = by_prefix(|asked| asked.errors);
        family("adyton_prefix_errors_total", "counter", "Answers with 5xx by first path segment.", &errors);
        let milliseconds = by_prefix(|asked| asked.duration_us / 1000);
        family(
            "adyton_prefix_duration_milliseconds_total",
            "counter",
            "Time of answers by first path segment.",
            &milliseconds,
        );
        out
    }
}
