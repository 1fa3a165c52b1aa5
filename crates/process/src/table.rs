//! How a server and its workers stand, in lines and tables for a person.

use std::borrow::Borrow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::screen::width;

/// The whole status, for a person.
pub(crate) fn table(status: &Value) -> String {
    let lines = workers(COLUMNS, each(status)).join("\n");
    format!("{}\n{lines}\n", heading(status))
}

/// One column: its title, and how it shows a worker.
pub(crate) type Column = (&'static str, fn(&Value) -> String);

const COLUMNS: &[Column] = &[
    ("worker", |worker| worker["worker"].to_string()),
    ("process", |worker| worker["pid"].to_string()),
    ("gen", |worker| worker["generation"].to_string()),
    ("state", |worker| worker["state"].as_str().unwrap_or_default().to_owned()),
    ("age", |worker| age(worker["age_s"].as_f64().unwrap_or(0.0))),
    ("requests", |worker| worker["requests"].to_string()),
    ("5xx", |worker| worker["errors"].to_string()),
    ("inline", |worker| worker["inline"].to_string()),
    ("handed", |worker| worker["handed_over"].to_string()),
    ("queued", |worker| worker["queued"].to_string()),
    ("conns", |worker| worker["connections"].to_string()),
    ("busy", |worker| format!("{}/{}", worker["threads_busy"], worker["threads"])),
    ("queue", |worker| worker["queue_length"].to_string()),
    ("rss", |worker| mib(&worker["rss_bytes"])),
    ("pss", |worker| mib(&worker["pss_bytes"])),
];

pub(crate) fn mib(bytes: &Value) -> String {
    bytes.as_u64().map_or_else(|| "-".to_owned(), |bytes| format!("{} MiB", bytes >> 20))
}

fn age(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{seconds:.1} s")
    } else if seconds < 6_000.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3_600.0)
    }
}

/// The workers of a status.
pub(crate) fn each(status: &Value) -> impl Iterator<Item = &Value> {
    status["workers"].as_array().into_iter().flatten()
}

/// The titles, and a line for each worker.
pub(crate) fn workers<T: Borrow<Value>>(columns: &[Column], workers: impl Iterator<Item = T>) -> Vec<String> {
    let cells = |worker: T| columns.iter().map(|(_, show)| show(worker.borrow())).collect();
    let rows: Vec<Vec<String>> = workers.map(cells).collect();
    let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    aligned(&titles, &rows)
}

/// `1 worker`, or `2 workers`.
pub(crate) fn number_of_workers(number: &Value) -> String {
    format!("{number} worker{}", if number == 1 { "" } else { "s" })
}

/// What stands above the workers.
pub(crate) fn heading(status: &Value) -> String {
    let text = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
    let mut out = format!(
        "adyton {}, process {}: {}, generation {}, up {}\n",
        text("version"),
        status["process"],
        text("state"),
        status["generation"],
        age(status["uptime_s"].as_f64().unwrap_or(0.0))
    );
    if !text("serves").is_empty() {
        let _ = writeln!(out, "serves {}", text("serves"));
    }
    let total = &status["total"];
    let _ = writeln!(
        out,
        "{} requests, {} of them 5xx, {} turned away, {} timed out; {} started",
        total["requests"],
        total["errors"],
        total["turned_away"],
        total["timed_out"],
        number_of_workers(&status["starts"])
    );
    let deaths: Vec<String> = status["deaths"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(cause, count)| format!("{count} {}", cause.replace('_', " ")))
        .collect();
    let lost = |name: &str| total[name].as_u64().unwrap_or(0);
    let (lines, entries) = (lost("log_lines_lost"), lost("log_entries_lost"));
    if lines + entries > 0 {
        let _ = writeln!(
            out,
            "logs have lost {lines} lines of the access log, {entries} entries of the error log"
        );
    }
    if !deaths.is_empty() {
        let _ = writeln!(out, "workers that have ended: {}", deaths.join(", "));
    }
    out
}

/// The lines of a table with its columns as wide as they have to be, numbers to the right.
pub(crate) fn aligned(titles: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).chain([width(&titles[at])]).max();
    let widths: Vec<usize> = (0..titles.len()).map(|at| widest(at).unwrap_or(0)).collect();
    let line = |row: &[String]| {
        let padded = |(cell, most): (&String, &usize)| " ".repeat(most - width(cell)) + cell;
        row.iter().zip(&widths).map(padded).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(titles).chain(rows.iter().map(Vec::as_slice)).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{age, table};

    /// A table lines up, whatever is in it.
    #[test]
    fn tables() {
        let worker = |number: u64, requests: u64| {
            json!({"worker": number, "pid": 10, "generation": 1, "state": "serving", "age_s": 1.25,
                   "requests": requests, "rss_bytes": 3 << 20})
        };
        let status = json!({"version": "1", "process": 9, "state": "serving", "generation": 1, "uptime_s": 1.0,
                            "workers": [worker(1, 5), worker(2, 123_456_789)], "deaths": {"out_of_memory": 2}});

        let text = table(&status);

        assert!(text.contains("2 out of memory"), "{text}");
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("worker ")).collect();
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    }

    #[test]
    fn ages() {
        assert_eq!(("1.2 s", "10 min", "2.8 h"), (&*age(1.25), &*age(600.0), &*age(10_000.0)));
    }
}
