//! A report for people: lines that line up, and INVALID in the place of figures that must not be used.

use std::fmt::Write as _;

use super::lines::{entry, grid, width};
use super::texts::{
    URL_COLUMNS, asked, cell, errors, first_wrong, identity, interrupted, marked_rate, marks, megabytes,
    sides, times, title, urls,
};
use crate::counting::latency::COLUMNS;
use crate::report::whole::Report;

/// Indent of texts that have a name.
const INDENT: usize = 12;

/// Indent of the rest of a long sentence without a name.
const URL_INDENT: usize = 4;

/// The means of emphasis in the text, which depend on whether a terminal shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Letters only.
    Plain,
    /// With the escape sequences of ECMA-48 for bold and red.
    Ansi,
}

impl Ink {
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Returns the report as a table, in lines of at most `columns`.
pub fn table(report: &Report, ink: Ink, columns: usize) -> String {
    let [answer, load] = asked(report);
    let [what, place] = title(report);
    let heading = entry("", 0, &format!("{what} {place}: {answer}"), columns);
    let mut out = heading.replacen(&place, &ink.bold(&place), 1) + &entry("", 0, &load, columns) + "\n";
    if let Some(why) = interrupted(report) {
        out += &ink.red(&entry("", 0, &why, columns));
        out.push('\n');
    }
    if report.is_valid() {
        let _ = writeln!(out, "{:INDENT$}{}", "requests/s", ink.bold(&marked_rate(report)));
        let _ = writeln!(out, "{:INDENT$}{} of bodies", "MB/s", megabytes(report));
        out += &marked(report, ink, columns);
        out.push('\n');
        out += &latencies(report);
    } else {
        let _ = writeln!(out, "{:INDENT$}{}", "requests/s", ink.red("INVALID"));
        out.extend(report.invalid.iter().map(|reason| entry("", INDENT, &reason.why, columns)));
        out += &marked(report, ink, columns);
    }
    out += &of_urls(report, columns);
    out.push('\n');
    out += &entry("", 0, &identity(report), columns);
    out.extend(
        errors(report)
            .into_iter()
            .chain(sides(report))
            .map(|(name, text)| entry(name, INDENT, &text, columns)),
    );
    if let Some((what, head)) = first_wrong(report) {
        out += &entry("first wrong", INDENT, &what, columns);
        out.extend(head.iter().map(|line| entry("<", URL_INDENT, line, columns)));
    }
    if report.is_valid() {
        out.push('\n');
        out.extend(GLOSSARY.iter().map(|(word, text)| entry(word, INDENT, text, columns)));
    }
    out
}

/// Meanings of the words in the tables, for a first reading.
const GLOSSARY: [(&str, &str); 5] = [
    ("response", "from when a request was due (--rate) to its last byte"),
    ("service", "from when it was begun to its last byte"),
    ("p99", "the time that 99 of 100 answers did not exceed"),
    ("in flight", "under way when the measurement ended"),
    ("PSS", "memory, of which shared pages count in parts"),
];

/// Shows the notes that a reader of the figures must know.
fn marked(report: &Report, ink: Ink, columns: usize) -> String {
    marks(report)
        .into_iter()
        .map(|(word, why)| entry(word, INDENT, &why, columns).replacen(word, &ink.red(word), 1))
        .collect()
}

/// Returns a table with a column for each kind of times.
fn latencies(report: &Report) -> String {
    let times = times(report);
    let mut rows = vec![row("ms", times.iter().map(|(name, _)| (*name).to_owned()))];
    for column in &COLUMNS {
        rows.push(row(column.0, times.iter().map(|(_, latency)| cell(column, latency))));
    }
    grid(&rows, 0).join("\n") + "\n"
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(format!("{name:width$}", width = INDENT - 2)).chain(cells).collect()
}

/// Returns a line for each URL of a list, and a second line for the URL itself if a URL does not fit beside the
/// numbers.
fn of_urls(report: &Report, columns: usize) -> String {
    if report.urls.is_empty() {
        return String::new();
    }
    let mut rows = vec![URL_COLUMNS.map(str::to_owned).to_vec()];
    rows.extend(urls(report).into_iter().map(Vec::from));
    let mut lines = grid(&rows, URL_COLUMNS.len() - 1);
    if lines.iter().any(|line| width(line) > columns) {
        let urls: Vec<String> = rows.iter_mut().filter_map(Vec::pop).collect();
        let below = |url: &String| entry("", URL_INDENT, url, columns).trim_end().to_owned();
        lines = grid(&rows, URL_COLUMNS.len())
            .into_iter()
            .zip(urls)
            .map(|(line, url)| line + "\n" + &below(&url))
            .collect();
    }
    format!("\n{}\n", lines.join("\n"))
}
