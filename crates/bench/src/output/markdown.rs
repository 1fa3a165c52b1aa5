//! A report as Markdown, for a README or the summary of a job.

use std::fmt::Write as _;

use super::comparison::{ONE_RUN, comparison_rows, told};
use super::texts::{
    URL_COLUMNS, asked, cell, errors, first_wrong, identity, interrupted, marks, megabytes, rate as rate_of,
    sides, times, title, urls,
};
use crate::counting::latency::COLUMNS;
use crate::report::baseline::Comparison;
use crate::report::whole::Report;

/// The judgements of a report, besides its gates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judged<'a> {
    /// The comparison with an earlier report.
    pub comparison: Option<&'a Comparison>,
    /// The user's own conditions by which the report fails, in sentences.
    pub failures: &'a [String],
    /// The user's own conditions by which the report does not fail.
    pub passed: &'a [String],
}

/// Returns the report as Markdown.
pub fn markdown(report: &Report, judged: Judged<'_>) -> String {
    let ([answer, load], [what, place]) = (asked(report), title(report));
    let mut out = format!("### {what} {}\n\n{answer}.\n{load}.\n\n", code(&place));
    if let Some(why) = interrupted(report) {
        let _ = writeln!(out, "**{why}**\n");
    }
    if report.is_valid() {
        let (rate, megabytes) = (rate_of(report), megabytes(report));
        let mark = if report.disturbed.is_empty() { "" } else { " (DISTURBED)" };
        let _ = writeln!(out, "**{rate} requests/s**{mark}, {megabytes} MB/s of bodies\n");
        out += &marked(report);
        out += &table_head("ms", COLUMNS.iter().map(|(title, ..)| *title));
        for (name, latency) in times(report) {
            let cells: Vec<String> = COLUMNS.iter().map(|column| cell(column, &latency)).collect();
            let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
        }
    } else {
        out += "**INVALID**\n\n";
        for reason in &report.invalid {
            let _ = writeln!(out, "- {}", reason.why);
        }
        if !report.warnings.is_empty() {
            let _ = writeln!(out, "\n{}", marked(report).trim_end());
        }
    }
    out += &of_urls(report);
    let _ = writeln!(out, "\n{}.\n", identity(report));
    for (name, text) in errors(report).into_iter().chain(sides(report)) {
        let _ = writeln!(out, "- {name}: {text}");
    }
    if let Some((what, head)) = first_wrong(report) {
        let _ = writeln!(out, "- first wrong: {what}\n\n~~~\n{}\n~~~", head.join("\n"));
    }
    out + &of_judged(judged)
}

/// Shows the notes that a reader of the figures must know.
fn marked(report: &Report) -> String {
    let mut out = String::new();
    for (word, why) in marks(report) {
        let _ = writeln!(out, "- **{word}**: {why}");
    }
    if out.is_empty() { out } else { out + "\n" }
}

fn of_urls(report: &Report) -> String {
    if report.urls.is_empty() {
        return String::new();
    }
    let titles = URL_COLUMNS.join(" | ");
    let mut out = format!("\n| {titles} |\n|{} --- |\n", " ---: |".repeat(URL_COLUMNS.len() - 1));
    for [numbers @ .., url] in urls(report) {
        // A vertical bar ends a cell of a table, even within code.
        let _ = writeln!(out, "| {} | {} |", numbers.join(" | "), code(&url).replace('|', "\\|"));
    }
    out
}

fn of_judged(judged: Judged<'_>) -> String {
    let mut out = String::new();
    if let Some(comparison) = judged.comparison {
        out += "\n";
        out += &table_head("", ["before", "now", "ratio"].into_iter());
        for cells in comparison_rows(comparison) {
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        let _ = writeln!(out, "\n{}; {ONE_RUN}.", told(comparison));
    }
    if !judged.failures.is_empty() {
        out += "\n";
    }
    for failure in judged.failures {
        let _ = writeln!(out, "**{failure}**  ");
    }
    out
}

/// Returns the head of a table: the first column has names, the others numbers.
fn table_head<'a>(first: &str, titles: impl Iterator<Item = &'a str>) -> String {
    let titles: Vec<&str> = titles.collect();
    format!("| {first} | {} |\n| --- |{}\n", titles.join(" | "), " ---: |".repeat(titles.len()))
}

/// Returns text as a code span: it stands between more backticks than it contains in a row (section 6.1 of
/// `CommonMark`).
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A Markdown parser strips one blank at both ends.
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::baseline::{Row, Unit};
    use crate::report::verdict::tests::good;

    #[test]
    fn what_a_report_was_judged_by() {
        let row = |name, unit, before, now| Row { name, unit, before, now };
        let rows = vec![
            row("requests/s", Unit::PerSecond, 12_000.0, 24_000.0),
            row("p99 ms", Unit::Ms, 1_500_000.0, 750.0),
        ];
        let comparison = Comparison { rows, judged: "rate", between: Some((1.9, 2.1)), is_disturbed: false };
        let failures = ["failed, because rate<1".to_owned()];
        let judged = Judged { comparison: Some(&comparison), failures: &failures, passed: &[] };
        let alone = markdown(&good(), Judged::default());

        assert_eq!(
            Some(
                "\n|  | before | now | ratio |\n| --- | ---: | ---: | ---: |\n\
                 | requests/s | 12,000 | 24,000 | 2.000 |\n| p99 ms | 1,500.000 | 0.750 | 0.001 |\n\n\
                 the rate is between 1.900 and 2.100 times that of before; \
                 the other ratios are of one run each, and may be noise.\n\n**failed, because rate<1**  \n"
            ),
            markdown(&good(), judged).strip_prefix(&alone)
        );
    }

    #[test]
    fn backticks_end_no_code() {
        assert_eq!("`/a`", code("/a"));
        assert_eq!("``/a`b``", code("/a`b"));
        assert_eq!("``` `/a``b ```", code("`/a``b"));
    }
}
