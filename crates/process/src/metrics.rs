//! The metrics in Prometheus' text format, version 0.0.4.

use std::fmt::Write as _;

use adyton_server::tally::{BOUNDS_US, Cell, Histogram, Sample};

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
        "Calls that lost their thread the loop.",
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
            ("cause=\"unsupported\"", Cell::Unsupported),
        ],
    ),
    (
        "adyton_log_lines_lost_total",
        "counter",
        "Lines of the access log, and entries of the error log, that the log did not take.",
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
        "adyton_connections",
        "gauge",
        "Connections by what they wait for.",
        &[
            ("state=\"idle\"", Cell::Idle),
            ("state=\"receiving\"", Cell::Receiving),
            ("state=\"asking\"", Cell::Asking),
            ("state=\"answering\"", Cell::Answering),
            ("state=\"closing\"", Cell::Closing),
        ],
    ),
    ("adyton_body_bytes_total", "counter", "Bytes of bodies that were answered.", &[("", Cell::BodyBytes)]),
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
        "Static files given up for others.",
        &[("", Cell::StaticEvictions)],
    ),
    ("adyton_static_entries", "gauge", "Static files in the cache.", &[("", Cell::StaticEntries)]),
    ("adyton_static_bytes", "gauge", "Memory of the static cache.", &[("", Cell::StaticBytes)]),
];

const HISTOGRAMS: &[(&str, &str, Histogram)] = &[
    (
        "adyton_request_duration_seconds",
        "From a request's arrival until its answer was whole.",
        Histogram::Duration,
    ),
    ("adyton_queue_wait_seconds", "How long requests have waited for a thread.", Histogram::QueueWait),
    (
        "adyton_interpreter_wait_seconds",
        "How long threads have waited for the interpreter.",
        Histogram::InterpreterWait,
    ),
];

/// A label's value (Prometheus text format 0.0.4).
pub(crate) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub(crate) fn of_sample(sample: &Sample) -> String {
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

/// Microseconds as seconds, exactly: `0.00025`.
fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

pub(crate) fn row(out: &mut String, name: &str, labels: &str, number: &impl std::fmt::Display) {
    let _ = match labels {
        "" => writeln!(out, "{name} {number}"),
        labels => writeln!(out, "{name}{{{labels}}} {number}"),
    };
}

#[cfg(test)]
mod tests {
    use adyton_server::tally::Sample;

    use super::{escaped, of_sample, seconds};

    /// Classes are cumulative, and the last one has all.
    #[test]
    fn histograms() {
        let text = of_sample(&Sample::default());

        assert!(text.contains("adyton_request_duration_seconds_bucket{le=\"0.00025\"} 0\n"), "{text}");
        assert!(text.contains("adyton_request_duration_seconds_bucket{le=\"+Inf\"} 0\n"));
        assert!(text.contains("# TYPE adyton_request_duration_seconds histogram\n"));
        assert!(text.contains("adyton_requests_total{class=\"5xx\"} 0\n"));
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
