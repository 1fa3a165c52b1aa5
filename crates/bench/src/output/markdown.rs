//! A report as Markdown, for a README or the summary of a job.

use std::fmt::Write as _;

use super::{URL_COLUMNS, asked, errors, grouped, identity, megabytes, ms, sides, times, urls};
use crate::latency::COLUMNS;
use crate::report::Report;

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let [answer, load] = asked(report);
    let mut out = format!("### {} `{}`\n\n{answer}.\n{load}.\n\n", report.asked.method, report.asked.url);
    if report.is_valid() {
        let (rate, megabytes) = (grouped(report.rate), megabytes(report));
        let _ = writeln!(out, "**{rate} requests/s**, {megabytes} MB/s of bodies\n");
        let titles: Vec<&str> = COLUMNS.iter().map(|(title, _)| *title).collect();
        let _ = writeln!(out, "| ms | {} |\n| --- |{}", titles.join(" | "), " ---: |".repeat(COLUMNS.len()));
        for (name, latency) in times(report) {
            let cells: Vec<String> = COLUMNS.iter().map(|(_, of)| ms(of(&latency))).collect();
            let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
        }
    } else {
        out += "**INVALID**\n\n";
        for reason in &report.invalid {
            let _ = writeln!(out, "- {}", reason.why);
        }
    }
    if !report.urls.is_empty() {
        let _ = writeln!(
            out,
            "\n| {} |\n|{} --- |",
            URL_COLUMNS.join(" | "),
            " ---: |".repeat(URL_COLUMNS.len() - 1)
        );
        for [numbers @ .., url] in urls(report) {
            let _ = writeln!(out, "| {} | `{}` |", numbers.join(" | "), url.replace('|', "\\|"));
        }
    }
    let _ = writeln!(out, "\n{}.\n", identity(report));
    for (name, text) in errors(report).into_iter().chain(sides(report)) {
        let _ = writeln!(out, "- {name}: {text}");
    }
    out
}
