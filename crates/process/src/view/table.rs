//! The state of a server and its workers, in lines and tables for a person.

use std::fmt::Write as _;

use crate::view::screen::width;
use crate::view::status::{Counts, GroupStatus, Memory, Status, WorkerStatus};

/// Returns the whole status, for a person.
pub(crate) fn table(status: &Status) -> String {
    let lines = rows(COLUMNS, status.all_workers().iter()).join("\n");
    format!("{}\n{lines}\n", heading(status))
}

/// A column: its title, and a function that shows a worker in it.
pub(crate) type Column<W> = (&'static str, fn(&W) -> String);

const COLUMNS: &[Column<WorkerStatus>] = &[
    ("worker", WorkerStatus::label),
    ("process", |worker| worker.pid.to_string()),
    ("gen", |worker| worker.generation.to_string()),
    ("state", |worker| worker.state.clone()),
    ("age", |worker| age(worker.age_s)),
    ("requests", |worker| worker.counts.requests.to_string()),
    ("5xx", |worker| worker.counts.errors.to_string()),
    ("inline", |worker| worker.counts.inline.to_string()),
    ("handed", |worker| worker.counts.handed_over.to_string()),
    ("queued", |worker| worker.counts.queued.to_string()),
    ("conns", |worker| worker.counts.connections.to_string()),
    ("busy", |worker| busy(&worker.counts)),
    ("queue", |worker| worker.counts.queue_length.to_string()),
    ("rss", |worker| mib(worker.rss_bytes)),
    ("pss", |worker| mib(worker.pss_bytes.and_then(Memory::bytes))),
];

/// Returns how many threads are in slow calls, of how many threads.
pub(crate) fn busy(counts: &Counts) -> String {
    format!("{}/{}", counts.threads_busy, counts.threads)
}

pub(crate) fn mib(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{} MiB", bytes >> 20))
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

/// Returns the titles, and a line for each worker.
pub(crate) fn rows<'w, W: 'w>(columns: &[Column<W>], workers: impl Iterator<Item = &'w W>) -> Vec<String> {
    let cells = |worker: &W| columns.iter().map(|(_, show)| show(worker)).collect();
    let rows: Vec<Vec<String>> = workers.map(cells).collect();
    let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    aligned(&titles, &rows)
}

/// Returns `1 worker`, or `2 workers`.
pub(crate) fn number_of_workers(number: u64) -> String {
    format!("{number} worker{}", if number == 1 { "" } else { "s" })
}

/// Returns the lines above the table of workers.
pub(crate) fn heading(status: &Status) -> String {
    let Status { version, process, state, serves, generation, .. } = status;
    let total = status.all_counts();
    let up = age(status.uptime_s);
    let mut out = format!("adyton {version}, process {process}: {state}, generation {generation}, up {up}\n");
    if !serves.is_empty() {
        let _ = writeln!(out, "serves {serves}");
    }
    let _ = writeln!(
        out,
        "{} requests, {} of them 5xx, {} turned away, {} timed out; {} started",
        total.requests,
        total.errors,
        total.turned_away,
        total.timed_out,
        number_of_workers(status.starts)
    );
    let (lines, entries) = (total.log_lines_lost, total.log_entries_lost);
    if lines + entries > 0 {
        let _ = writeln!(
            out,
            "logs have lost {lines} lines of the access log, {entries} entries of the error log"
        );
    }
    if total.lost > 0 {
        let _ = writeln!(out, "connections lost with workers that died: {}", total.lost);
    }
    for GroupStatus { group, state, pid, starts, waiting_bytes, listens, .. } in &status.groups {
        let process = if *pid > 0 { format!(", process {pid}") } else { String::new() };
        let times = if *starts == 1 { "once".to_owned() } else { format!("{starts} times") };
        let at = if listens.is_empty() { String::new() } else { format!(", at {}", listens.join(", ")) };
        let waits = if *waiting_bytes > 0 { ", and connections wait for it" } else { "" };
        let _ = writeln!(out, "group {group}: {state}{process}, started {times}{at}{waits}");
    }
    if total.moved_away > 0 {
        let Counts { moved_away, moved_here, .. } = total;
        let _ = writeln!(out, "{moved_away} connections have moved to groups, {moved_here} have come back");
    }
    let deaths = status.deaths.iter().map(|(cause, count)| format!("{count} {}", cause.replace('_', " ")));
    let deaths: Vec<String> = deaths.collect();
    if !deaths.is_empty() {
        let _ = writeln!(out, "workers that have ended: {}", deaths.join(", "));
    }
    out
}

/// Returns the lines of a table whose columns are as wide as they have to be, numbers to the right.
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

    use super::{Status, age, table};

    /// A table lines up, whatever its cells hold.
    #[test]
    fn tables() -> serde_json::Result<()> {
        let worker = |number: u64, requests: u64| {
            json!({"worker": number, "pid": 10, "generation": 1, "state": "serving", "age_s": 1.25,
                   "requests": requests, "rss_bytes": 3 << 20})
        };
        let status = json!({"version": "1", "process": 9, "state": "serving", "generation": 1, "uptime_s": 1.0,
                            "workers": [worker(1, 5), worker(2, 123_456_789)], "deaths": {"out_of_memory": 2}});

        let status: Status = serde_json::from_value(status)?;
        let text = table(&status);

        assert!(text.contains("2 out of memory"), "{text}");
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("worker ")).collect();
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        Ok(())
    }

    #[test]
    fn ages() {
        assert_eq!(("1.2 s", "10 min", "2.8 h"), (&*age(1.25), &*age(600.0), &*age(10_000.0)));
    }
}
