//! A report as CSV (RFC 4180): the names of the columns, a row for the run, and one for each URL of a list.

use std::collections::BTreeMap;

use crate::counting::latency::{COLUMNS, Column, Latency, told};
use crate::generator::slow_side::SlowSide;
use crate::plan::Slow;
use crate::report::numbers::float;
use crate::report::reason::Reason;
use crate::report::whole::{Report, ServerSide, UrlSide};

/// A column's name, which ends in the unit if the column has one, and the cell of the run in this column.
type Cell = (String, String);

/// Returns the report as CSV; figures that must not be used are left out.
pub fn csv(report: &Report) -> String {
    let names = |reasons: &[Reason]| reasons.iter().map(|reason| reason.gate).collect::<Vec<_>>().join(" ");
    let last = named([
        ("interrupted", report.interrupted.to_string()),
        ("disturbed", names(&report.disturbed)),
        ("warnings", names(&report.warnings)),
    ]);
    let columns =
        [asked(report), figures(report), counts(report), sides(report), parts(report), last].concat();
    let (names, run): (Vec<String>, Vec<String>) = columns.into_iter().unzip();
    let mut rows = vec![names.join(","), run.join(",")];
    for url in &report.urls {
        let mut known = of_url(report, url);
        let cells: Vec<String> = names.iter().map(|name| known.remove(name).unwrap_or_default()).collect();
        rows.push(cells.join(","));
    }
    rows.join("\r\n") + "\r\n"
}

fn asked(report: &Report) -> Vec<Cell> {
    let asked = &report.asked;
    let method = if report.urls.is_empty() { asked.method.clone() } else { String::new() };
    let invalid: Vec<&str> = report.invalid.iter().map(|reason| reason.gate).collect();
    let cells = [
        ("row", "run".to_owned()),
        ("url", quoted(&asked.url)),
        ("method", method),
        ("weight", String::new()),
        ("connections", asked.connections.to_string()),
        ("load", asked.load.to_owned()),
        ("offered_requests_per_second", shown(asked.rate)),
        ("deadline_ms", shown(asked.deadline_ms)),
        ("seconds", format!("{:.3}", report.seconds)),
        ("invalid", invalid.join(" ")),
    ];
    named(cells)
}

fn figures(report: &Report) -> Vec<Cell> {
    let cells = [
        ("requests_per_second", figure(report, report.has_rate().then_some(report.rate))),
        ("body_bytes_per_second", figure(report, report.has_rate().then_some(report.body_bytes_per_second))),
    ];
    let all = report.response.unwrap_or(report.service);
    let mut cells = named(cells);
    cells.extend(times(report, "", Some(all)));
    cells
}

fn counts(report: &Report) -> Vec<Cell> {
    let counts = &report.counts;
    let cells = [
        ("sent", counts.sent),
        ("right", counts.right),
        ("wrong", counts.wrong()),
        ("wrong_status", counts.wrong_status),
        ("wrong_body", counts.wrong_body),
        ("connection_error", counts.connection_error),
        ("timeout", counts.timeout),
        ("in_flight", counts.in_flight),
    ];
    named(cells.map(|(name, count)| (name, count.to_string())))
}

/// Returns the cells of the server, this program, the connections, and the counts that the user has additionally asked
/// for.
fn sides(report: &Report) -> Vec<Cell> {
    let (server, generator, fair) = (report.server.as_ref(), &report.generator, &report.fairness);
    let cells = [
        ("in_time", report.in_time.map(float)),
        ("server_pss_bytes", server.map(|server| float(server.pss_bytes))),
        ("fairness_min", Some(float(fair.min))),
        ("fairness_median", Some(float(fair.median))),
        ("fairness_max", Some(float(fair.max))),
    ];
    let mut cells = named(cells.map(|(name, count)| (name, shown(count.filter(|_| report.is_valid())))));
    let more = [
        ("fairness_jain", Some(fair.jain)),
        ("server_cpu_us_per_request", server.and_then(ServerSide::cpu_us)),
        ("server_cpus", server.map(|server| server.cpus)),
        ("generator_busy_percent", Some(100.0 * generator.busy)),
        ("generator_waiting_percent", Some(100.0 * generator.waiting)),
        ("generator_ceiling_requests_per_second", Some(generator.ceiling_rate)),
    ];
    cells.extend(named(more.map(|(name, number)| (name, figure(report, number)))));
    for (kind, _) in Slow::default().kinds() {
        cells.extend(slow(kind, report.slow.iter().find(|side| side.kind == kind)));
    }
    cells
}

fn slow(kind: &str, side: Option<&SlowSide>) -> Vec<Cell> {
    let counts = side.map(|side| side.counts);
    let cells = [
        ("right", counts.map(|counts| counts.right)),
        ("wrong", counts.map(|counts| counts.wrong)),
        ("cut_off", counts.map(|counts| counts.cut_off)),
        ("not_connected", counts.map(|counts| counts.not_connected)),
        ("under_way", counts.map(|counts| counts.under_way)),
    ];
    cells.map(|(name, count)| (format!("slow_{kind}_{name}"), shown(count))).into()
}

/// Returns the times of parts of each request.
fn parts(report: &Report) -> Vec<Cell> {
    let parts = [("first_byte_", Some(report.first_byte)), ("connect_", report.connect)];
    parts.into_iter().flat_map(|(part, latency)| times(report, part, latency)).collect()
}

/// Returns the cells of a URL, by the names of their columns.
fn of_url(report: &Report, side: &UrlSide) -> BTreeMap<String, String> {
    let cells = [
        ("row", "url".to_owned()),
        ("url", quoted(&side.url)),
        ("method", side.method.clone()),
        ("weight", side.weight.to_string()),
        ("sent", side.sent.to_string()),
        ("right", side.right.to_string()),
        ("wrong", side.wrong.to_string()),
    ];
    named(cells).into_iter().chain(times(report, "", Some(side.times))).collect()
}

/// Returns a column for each figure of the times: `p99.9` of the first byte is `first_byte_p999_us`.
fn times(report: &Report, part: &str, latency: Option<Latency>) -> Vec<Cell> {
    let cell = |column: &Column| {
        let name = format!("{part}{}_us", column.0.replace('.', ""));
        (name, figure(report, latency.and_then(|latency| told(column, &latency))))
    };
    COLUMNS.iter().map(cell).collect()
}

/// Shows a number, if there is one, and if it may be used.
fn figure(report: &Report, number: Option<f64>) -> String {
    shown(number.filter(|_| report.is_valid()).map(|number| format!("{number:.3}")))
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn named<const COUNT: usize>(cells: [(&str, String); COUNT]) -> Vec<Cell> {
    cells.map(|(name, cell)| (name.to_owned(), cell)).into()
}

/// Quotes a cell that may hold any text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
