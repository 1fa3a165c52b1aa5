//! A report for people: lines that line up, and INVALID in the place of figures that must not be used.

use std::fmt::Write as _;
use std::iter;

use super::{URL_COLUMNS, asked, errors, grouped, identity, megabytes, ms, sides, times, urls};
use crate::latency::COLUMNS;
use crate::report::Report;

/// Whether a terminal shows the text.
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

/// The report as a table.
pub fn table(report: &Report, ink: Ink) -> String {
    let [answer, load] = asked(report);
    let mut out = format!("{} {}: {answer}\n{load}\n\n", report.asked.method, ink.bold(&report.asked.url));
    if report.is_valid() {
        let _ = writeln!(out, "{:12}{}", "requests/s", ink.bold(&grouped(report.rate)));
        let _ = writeln!(out, "{:12}{} of bodies\n", "MB/s", megabytes(report));
        out += &latencies(report);
    } else {
        let _ = writeln!(out, "{:12}{}", "requests/s", ink.red("INVALID"));
        for reason in &report.invalid {
            let _ = writeln!(out, "{:12}{}", "", reason.why);
        }
    }
    out += &of_urls(report);
    let _ = writeln!(out, "\n{}", identity(report));
    for (name, text) in errors(report).into_iter().chain(sides(report)) {
        let _ = writeln!(out, "{name:12}{text}");
    }
    out
}

fn latencies(report: &Report) -> String {
    let mut out = format!("{:16}", "ms");
    for (title, _) in COLUMNS {
        let _ = write!(out, "{title:>10}");
    }
    out += "\n";
    for (name, latency) in times(report) {
        let _ = write!(out, "{name:16}");
        for (_, of) in COLUMNS {
            let _ = write!(out, "{:>10}", ms(of(&latency)));
        }
        out += "\n";
    }
    out
}

/// A line for each URL of a list; the last column is of any width.
fn of_urls(report: &Report) -> String {
    let rows = urls(report);
    if rows.is_empty() {
        return String::new();
    }
    let mut out = "\n".to_owned();
    for [numbers @ .., url] in iter::once(URL_COLUMNS.map(str::to_owned)).chain(rows) {
        for cell in numbers {
            let _ = write!(out, "{cell:>10}");
        }
        let _ = writeln!(out, "  {url}");
    }
    out
}
