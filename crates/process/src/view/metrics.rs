//! The metrics in Prometheus' text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use adyton_server::prefixes::PrefixCount;
use adyton_server::tally::{BOUNDS_US, Cell, Histogram, Sample};

use crate::view::status::{GroupStatus, SiteStatus, Status};
use crate::workers::cause::Cause;

/// Counters and gauges that are one cell each: name, type, help, and cells with their label.
type Family = (&'static str, &'static str, &'static str, &'static [(&'static str, Cell)]);

const FAMILIES: &[Family] = &[
    (
        "adyton_requests_total",
        "counter",
        "Answers by the class of their status.",
        &[
            ("class=\"1xx\"", Cell::Answers1),
            ("class=\"2xx\"", Cell::Answers2),
            ("class=\"3xx\"", Cell::Answers3),
            ("class=\"4xx\"", Cell::Answers4),
            ("class=\"5xx\"", Cell::Answers5),
        ],
    ),
    (
        "adyton_calls_begun_total",
        "counter",
        "Calls of the application that began on the loop's thread.",
        &[("", Cell::Begun)],
    ),
    (
        "adyton_calls_handed_over_total",
        "counter",
        "Calls that took so long that another thread took over the event loop.",
        &[("", Cell::HandedOver)],
    ),
    (
        "adyton_calls_queued_total",
        "counter",
        "Calls that waited in the queue for a thread.",
        &[("", Cell::Queued)],
    ),
    (
        "adyton_requests_turned_away_total",
        "counter",
        "Requests answered 503 for want of a thread.",
        &[("", Cell::TurnedAway)],
    ),
    (
        "adyton_requests_departed_total",
        "counter",
        "Requests in the queue whose client had gone.",
        &[("", Cell::Departed)],
    ),
    (
        "adyton_requests_refused_total",
        "counter",
        "Requests that the server itself has refused, by cause.",
        &[
            ("cause=\"malformed\"", Cell::Malformed),
            ("cause=\"head_too_slow\"", Cell::HeadTooSlow),
            ("cause=\"body_too_slow\"", Cell::BodyTooSlow),
            ("cause=\"body_too_large\"", Cell::BodyTooLarge),
            ("cause=\"line_too_long\"", Cell::LineTooLong),
            ("cause=\"head_too_large\"", Cell::HeadTooLarge),
            ("cause=\"no_room\"", Cell::NoRoom),
            ("cause=\"crowded\"", Cell::Crowded),
            ("cause=\"overload\"", Cell::Overload),
            ("cause=\"no_group\"", Cell::NoGroup),
            ("cause=\"unsupported\"", Cell::Unsupported),
        ],
    ),
    (
        "adyton_log_lines_lost_total",
        "counter",
        "Lines of the access log, and entries of the error log, that could not be written.",
        &[("log=\"access\"", Cell::LinesLost), ("log=\"error\"", Cell::EntriesLost)],
    ),
    ("adyton_requests_timed_out_total", "counter", "Calls that were interrupted.", &[("", Cell::TimedOut)]),
    (
        "adyton_requests_stuck_total",
        "counter",
        "Calls that went on although they were interrupted.",
        &[("", Cell::Stuck)],
    ),
    (
        "adyton_connections_accepted_total",
        "counter",
        "Connections that were accepted.",
        &[("", Cell::Accepted)],
    ),
    (
        "adyton_connections_moved_total",
        "counter",
        "Connections that moved between the processes that accept and those of a group, by direction.",
        &[("direction=\"away\"", Cell::PassedOn), ("direction=\"here\"", Cell::Arrived)],
    ),
    (
        "adyton_connections_lost_total",
        "counter",
        "Connections that ended with a worker that died, in the middle of a request, or on their way to another process.",
        &[("", Cell::ConnectionsLost)],
    ),
    (
        "adyton_connections",
        "gauge",
        "Connections by what they wait for.",
        &[
            ("state=\"idle\"", Cell::Idle),
            ("state=\"receiving\"", Cell::Receiving),
            ("state=\"asking\"", Cell::Asking),
            ("state=\"answering\"", Cell::Answering),
            ("state=\"moving\"", Cell::Moving),
            ("state=\"closing\"", Cell::Closing),
        ],
    ),
    ("adyton_body_bytes_total", "counter", "Bytes of the bodies of answers.", &[("", Cell::BodyBytes)]),
    ("adyton_received_bytes_total", "counter", "Bytes that clients have sent.", &[("", Cell::ReceivedBytes)]),
    ("adyton_threads", "gauge", "Threads that run the application or could.", &[("", Cell::Threads)]),
    (
        "adyton_threads_busy",
        "gauge",
        "Threads inside a slow call of the application.",
        &[("", Cell::ThreadsBusy)],
    ),
    ("adyton_queue_length", "gauge", "Requests that wait for a thread.", &[("", Cell::QueueLength)]),
    (
        "adyton_static_hits_total",
        "counter",
        "Static files answered from the cache.",
        &[("", Cell::StaticHits)],
    ),
    ("adyton_static_loads_total", "counter", "Static files opened.", &[("", Cell::StaticLoads)]),
    (
        "adyton_static_evictions_total",
        "counter",
        "Static files dropped from the cache to make room for others.",
        &[("", Cell::StaticEvictions)],
    ),
    ("adyton_static_entries", "gauge", "Static files in the cache.", &[("", Cell::StaticEntries)]),
    ("adyton_static_bytes", "gauge", "Memory of the static cache.", &[("", Cell::StaticBytes)]),
    (
        "adyton_cache_requests_total",
        "counter",
        "Requests of routes that keep answers, by outcome.",
        &[
            ("result=\"hit\"", Cell::CacheHits),
            ("result=\"stale\"", Cell::CacheStale),
            ("result=\"miss\"", Cell::CacheMisses),
        ],
    ),
    (
        "adyton_cache_collapsed_total",
        "counter",
        "Requests that have waited for the answer to another request.",
        &[("", Cell::CacheCollapsed)],
    ),
    ("adyton_cache_entries", "gauge", "Answers that are kept.", &[("", Cell::CacheEntries)]),
    ("adyton_cache_bytes", "gauge", "Memory of the answers that are kept.", &[("", Cell::CacheBytes)]),
];

const HISTOGRAMS: &[(&str, &str, Histogram)] = &[
    (
        "adyton_request_duration_seconds",
        "Time from a request's arrival until its answer was complete.",
        Histogram::Duration,
    ),
    ("adyton_queue_wait_seconds", "How long requests have waited for a thread.", Histogram::QueueWait),
    (
        "adyton_interpreter_wait_seconds",
        "How long threads have waited for the interpreter.",
        Histogram::InterpreterWait,
    ),
];

/// A family of metrics of groups: name, type, help, and the number.
type GroupFamily = (&'static str, &'static str, &'static str, fn(&GroupStatus) -> u64);

const GROUP_FAMILIES: &[GroupFamily] = &[
    ("adyton_group_serving", "gauge", "Whether a group has processes that serve.", |group| {
        u64::from(group.state == "serving")
    }),
    ("adyton_group_starts_total", "counter", "How often the supervisor of a group was started.", |group| {
        group.starts
    }),
    ("adyton_group_workers", "gauge", "Workers of a group that serve.", |group| {
        let workers = group.status.iter().flat_map(|status| &status.workers);
        workers.filter(|worker| SERVING.contains(&&*worker.state)).count() as u64
    }),
    ("adyton_group_worker_deaths_total", "counter", "Workers of a group that have ended.", |group| {
        group.status.as_ref().map_or(0, |status| status.deaths.values().sum())
    }),
    ("adyton_group_resident_bytes", "gauge", "Resident memory of the workers of a group.", |group| {
        let workers = group.status.iter().flat_map(|status| &status.workers);
        workers.filter_map(|worker| worker.rss_bytes).sum()
    }),
    ("adyton_group_requests_total", "counter", "Answers of a group, since its supervisor began.", |group| {
        group.counts().requests
    }),
    (
        "adyton_group_errors_total",
        "counter",
        "Answers of a group with 5xx, since its supervisor began.",
        |group| group.counts().errors,
    ),
    ("adyton_group_connections", "gauge", "Connections that a group has.", |group| {
        group.counts().connections
    }),
    (
        "adyton_group_connections_arrived_total",
        "counter",
        "Connections that have moved to a group, since its supervisor began.",
        |group| group.counts().moved_here,
    ),
    (
        "adyton_group_connections_left_total",
        "counter",
        "Connections that have moved on from a group.",
        |group| group.counts().moved_away,
    ),
    (
        "adyton_group_connections_lost_total",
        "counter",
        "Connections that ended with a worker of a group that died, in the middle of a request, since its supervisor began.",
        |group| group.counts().lost,
    ),
    (
        "adyton_group_waiting_bytes",
        "gauge",
        "Bytes of connections that wait in the kernel for a worker of a group.",
        |group| group.waiting_bytes,
    ),
    ("adyton_group_threads", "gauge", "Threads that run the application of a group or could.", |group| {
        group.counts().threads
    }),
    ("adyton_group_threads_busy", "gauge", "Threads of a group inside a slow call.", |group| {
        group.counts().threads_busy
    }),
    ("adyton_group_queue_length", "gauge", "Requests that wait for a thread of a group.", |group| {
        group.counts().queue_length
    }),
    (
        "adyton_group_requests_turned_away_total",
        "counter",
        "Requests of a group answered 503 for want of a thread, since its supervisor began.",
        |group| group.counts().turned_away,
    ),
    (
        "adyton_group_requests_timed_out_total",
        "counter",
        "Calls of a group that were interrupted, since its supervisor began.",
        |group| group.counts().timed_out,
    ),
];

/// The states of workers that serve.
const SERVING: [&str; 2] = ["serving", "silent"];

/// Returns all metrics, of the present state and of the total counts.
pub(crate) fn text(status: &Status, total: &Sample) -> String {
    let mut out = of_sample(total);
    let mut family = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
        family(&mut out, name, kind, help, rows);
    };
    family("adyton_workers", "gauge", "Workers that serve.", &[(String::new(), status.serving as u64)]);
    family(
        "adyton_workers_silent",
        "gauge",
        "Workers that give no sign of life.",
        &[(String::new(), status.silent as u64)],
    );
    family(
        "adyton_workers_wanted",
        "gauge",
        "Workers that should serve.",
        &[(String::new(), status.processes as u64)],
    );
    family(
        "adyton_worker_starts_total",
        "counter",
        "Workers that were started.",
        &[(String::new(), status.starts)],
    );
    let deaths: Vec<(String, u64)> = Cause::ALL
        .into_iter()
        .map(|cause| {
            (format!("cause=\"{}\"", cause.word()), status.deaths.get(cause.word()).copied().unwrap_or(0))
        })
        .collect();
    family("adyton_worker_deaths_total", "counter", "Workers that have ended, by cause.", &deaths);
    family(
        "adyton_generation",
        "gauge",
        "The number of reloads, plus one.",
        &[(String::new(), u64::from(status.generation))],
    );
    let uptime_s = Duration::try_from_secs_f64(status.uptime_s).unwrap_or_default().as_secs();
    family("adyton_uptime_seconds", "gauge", "Age of the supervisor.", &[(String::new(), uptime_s)]);
    let serving = status.workers.iter().filter(|worker| SERVING.contains(&&*worker.state));
    let rss: Vec<(String, u64)> = serving
        .map(|worker| (format!("worker=\"{}\"", worker.worker), worker.rss_bytes.unwrap_or(0)))
        .collect();
    family("adyton_worker_resident_bytes", "gauge", "Resident memory of each worker.", &rss);
    out.push_str(&of_groups(status));
    out.push_str(&of_sites(status));
    out.push_str(&of_prefixes(total));
    out
}

/// Appends a family of metrics: its head, and its rows.
fn family(out: &mut String, name: &str, kind: &str, help: &str, rows: &[(String, u64)]) {
    head(out, name, kind, help);
    for (labels, number) in rows {
        row(out, name, labels, number);
    }
}

/// Returns the metrics of groups, if there are any.
fn of_groups(status: &Status) -> String {
    let mut out = String::new();
    let label = |group: &GroupStatus| format!("group=\"{}\"", escaped(&group.group));
    for (name, kind, help, number) in GROUP_FAMILIES.iter().filter(|_| !status.groups.is_empty()) {
        let mut rows: Vec<(String, u64)> = Vec::new();
        // A group is listed twice while its processes are replaced.
        for (label, number) in status.groups.iter().map(|group| (label(group), number(group))) {
            match rows.iter_mut().find(|(other, _)| *other == label) {
                Some((_, sum)) => *sum = sum.wrapping_add(number),
                None => rows.push((label, number)),
            }
        }
        family(&mut out, name, kind, help, &rows);
    }
    out
}

/// Returns the metrics of each site, for the server's own workers and for the workers of each group; an empty text if
/// there is only one site.
fn of_sites(status: &Status) -> String {
    let mut counted: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let mut count = |site: &SiteStatus, group: &str| {
        let labels = format!("site=\"{}\",group=\"{}\"", escaped(&site.site), escaped(group));
        let sums = counted.entry(labels).or_default();
        for (sum, number) in sums.iter_mut().zip([site.requests, site.errors, site.duration_us / 1000]) {
            *sum = sum.wrapping_add(number);
        }
    };
    status.sites.iter().for_each(|site| count(site, ""));
    for group in &status.groups {
        let sites = group.status.iter().flat_map(|status| &status.sites);
        sites.for_each(|site| count(site, &group.group));
    }
    let mut out = String::new();
    let families = [
        ("adyton_site_requests_total", "Answers by site, and by the group that gave them."),
        ("adyton_site_errors_total", "Answers with 5xx by site and group."),
        ("adyton_site_duration_milliseconds_total", "Time of answers by site and group."),
    ];
    for (at, (name, help)) in families.into_iter().enumerate().filter(|_| !counted.is_empty()) {
        let rows: Vec<_> = counted.iter().map(|(labels, numbers)| (labels.clone(), numbers[at])).collect();
        family(&mut out, name, "counter", help, &rows);
    }
    out
}

/// Returns the metrics of requests by the first segment of their path.
fn of_prefixes(total: &Sample) -> String {
    let mut out = String::new();
    let by_prefix = |number: fn(&PrefixCount) -> u64| -> Vec<(String, u64)> {
        let of =
            |(name, asked): (&String, &PrefixCount)| (format!("prefix=\"{}\"", escaped(name)), number(asked));
        total.prefixes().iter().map(of).collect()
    };
    let requests = by_prefix(|asked| asked.requests);
    let name = "adyton_prefix_requests_total";
    family(&mut out, name, "counter", "Answers by first path segment.", &requests);
    let errors = by_prefix(|asked| asked.errors);
    let name = "adyton_prefix_errors_total";
    family(&mut out, name, "counter", "Answers with 5xx by first path segment.", &errors);
    let milliseconds = by_prefix(|asked| asked.duration_us / 1000);
    let name = "adyton_prefix_duration_milliseconds_total";
    family(&mut out, name, "counter", "Time of answers by first path segment.", &milliseconds);
    out
}

/// Returns a label's value, escaped (Prometheus text format 0.0.4).
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn of_sample(sample: &Sample) -> String {
    let mut out = String::new();
    for (name, kind, help, cells) in FAMILIES {
        head(&mut out, name, kind, help);
        for (labels, cell) in *cells {
            row(&mut out, name, labels, &sample.get(*cell));
        }
    }
    for (name, help, histogram) in HISTOGRAMS {
        head(&mut out, name, "histogram", help);
        let (classes, sum_us) = sample.histogram(*histogram);
        let mut count = 0;
        for (at, class) in classes.iter().enumerate() {
            count += class;
            let bound = BOUNDS_US.get(at).map_or("+Inf".to_owned(), |&us| seconds(us));
            row(&mut out, &format!("{name}_bucket"), &format!("le=\"{bound}\""), &count);
        }
        row(&mut out, &format!("{name}_sum"), "", &seconds(sum_us));
        row(&mut out, &format!("{name}_count"), "", &count);
    }
    out
}

/// Returns microseconds as seconds, exactly: `0.00025`.
fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn row(out: &mut String, name: &str, labels: &str, number: &impl std::fmt::Display) {
    let _ = match labels {
        "" => writeln!(out, "{name} {number}"),
        labels => writeln!(out, "{name}{{{labels}}} {number}"),
    };
}

#[cfg(test)]
mod tests {
    use adyton_server::tally::Sample;

    use super::{escaped, of_sample, seconds, text};
    use crate::view::status::{Status, WorkerStatus};

    /// The classes of a histogram are cumulative, and the last class counts all values.
    #[test]
    fn histograms() {
        let text = of_sample(&Sample::default());

        assert!(text.contains("adyton_request_duration_seconds_bucket{le=\"0.00025\"} 0\n"), "{text}");
        assert!(text.contains("adyton_request_duration_seconds_bucket{le=\"+Inf\"} 0\n"));
        assert!(text.contains("# TYPE adyton_request_duration_seconds histogram\n"));
        assert!(text.contains("adyton_requests_total{class=\"5xx\"} 0\n"));
    }

    /// There are metrics of every cause of a worker's death, and of the memory of each worker that serves.
    #[test]
    fn workers() {
        let worker = |worker, state: &str, rss_bytes| WorkerStatus {
            worker,
            state: state.to_owned(),
            rss_bytes: Some(rss_bytes),
            ..WorkerStatus::default()
        };
        let status = Status {
            serving: 2,
            silent: 1,
            processes: 3,
            generation: 4,
            uptime_s: 2.999,
            deaths: [("crashed".to_owned(), 5)].into(),
            workers: vec![worker(1, "draining", 7), worker(1, "serving", 8), worker(2, "silent", 9)],
            ..Status::default()
        };

        let out = text(&status, &Sample::default());

        for line in [
            "adyton_workers 2",
            "adyton_workers_silent 1",
            "adyton_workers_wanted 3",
            "adyton_worker_deaths_total{cause=\"crashed\"} 5",
            "adyton_worker_deaths_total{cause=\"told\"} 0",
            "adyton_generation 4",
            "adyton_uptime_seconds 2",
            "adyton_worker_resident_bytes{worker=\"1\"} 8",
            "adyton_worker_resident_bytes{worker=\"2\"} 9",
        ] {
            assert_eq!(1, out.lines().filter(|found| *found == line).count(), "{line}: {out}");
        }
        assert_eq!(2, out.matches("adyton_worker_resident_bytes{").count());
    }

    /// Quotes, backslashes and ends of lines are escaped, each once.
    #[test]
    fn labels() {
        assert_eq!(r#"/we\"ird\\\n"#, escaped("/we\"ird\\\n"));
    }

    #[test]
    fn exact_seconds() {
        assert_eq!("0.00025", seconds(250));
        assert_eq!("10", seconds(10_000_000));
        assert_eq!("1.5", seconds(1_500_000));
        assert_eq!("0", seconds(0));
    }
}
