//! A report as two lines of CSV (RFC 4180): the names of the columns, and the figures.

use crate::latency::{COLUMNS, Latency};
use crate::report::Report;

/// The report as CSV. Times are in microseconds; figures that must not be used are left out.
pub fn csv(report: &Report) -> String {
    let (asked, counts, server) = (&report.asked, &report.counts, report.server.as_ref());
    let figure = |number: f64| if report.is_valid() { format!("{number:.3}") } else { String::new() };
    let invalid: Vec<&str> = report.invalid.iter().map(|reason| reason.gate).collect();
    let mut columns = vec![
        ("url", quoted(&asked.url)),
        ("method", asked.method.clone()),
        ("connections", asked.connections.to_string()),
        ("load", asked.load.to_owned()),
        ("offered_rate", asked.rate.map_or(String::new(), |rate| rate.to_string())),
        ("seconds", format!("{:.3}", report.seconds)),
        ("invalid", invalid.join(" ")),
        ("rate", figure(report.rate)),
        ("body_bytes_per_second", figure(report.body_bytes_per_second)),
    ];
    let times = report.response.unwrap_or(report.service);
    columns.extend(COLUMNS.iter().map(|(title, of)| (*title, figure(of(&times)))));
    columns.extend([
        ("sent", counts.sent.to_string()),
        ("right", counts.right.to_string()),
        ("wrong_status", counts.wrong_status.to_string()),
        ("wrong_body", counts.wrong_body.to_string()),
        ("connection_error", counts.connection_error.to_string()),
        ("timeout", counts.timeout.to_string()),
        ("in_flight", counts.in_flight.to_string()),
        (
            "server_cpu_us_per_request",
            server.map_or(String::new(), |server| figure(server.cpu_us_per_request)),
        ),
        (
            "server_pss_bytes",
            server.filter(|_| report.is_valid()).map_or(String::new(), |server| server.pss_bytes.to_string()),
        ),
    ]);
    let parts = [("first_byte", Some(report.first_byte)), ("connect", report.connect)];
    let parts = parts.iter().flat_map(|(name, times)| part(name, times.filter(|_| report.is_valid())));
    let (names, cells): (Vec<String>, Vec<String>) =
        columns.into_iter().map(|(name, cell)| (name.to_owned(), cell)).chain(parts).unzip();
    format!("{}\r\n{}\r\n", names.join(","), cells.join(","))
}

/// The columns of the times of a part of each request, empty if there are none.
fn part(name: &str, times: Option<Latency>) -> impl Iterator<Item = (String, String)> {
    COLUMNS.iter().map(move |(title, of)| {
        (format!("{name}_{title}"), times.map_or(String::new(), |times| format!("{:.3}", of(&times))))
    })
}

/// A cell that may hold anything.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
