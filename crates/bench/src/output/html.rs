//! A report as one page that needs nothing else: figures, plots, and the whole report as JSON within.

use std::fmt::Write as _;

use super::comparison::{ONE_RUN, comparison_rows, told};
use super::markdown::Judged;
use super::plot::{curve, histogram, series, times_of_seconds};
use super::texts::{
    URL_COLUMNS, asked, cell, errors, first_wrong, identity, interrupted, marks, megabytes, rate, sides,
    times, title, urls,
};
use crate::counting::latency::COLUMNS;
use crate::report::whole::Report;

const PAGE: &str = include_str!("report.html");

/// Returns the report as a page of HTML.
///
/// # Errors
///
/// None that is known: every field can be written as JSON.
pub fn html(report: &Report, judged: Judged<'_>) -> serde_json::Result<String> {
    let ([answer, load], [what, place]) = (asked(report), title(report));
    // `</script>` must not end the element that holds the JSON.
    let json = report.to_json()?.replace("</", "<\\/");
    let parts = [
        ("{{place}}", escaped(&place)),
        ("{{what}}", escaped(&what)),
        ("{{answer}}", escaped(&answer)),
        ("{{load}}", escaped(&load)),
        (
            "{{interrupted}}",
            interrupted(report).map_or(String::new(), |why| format!("<p class=\"bad\">{why}</p>")),
        ),
        ("{{headline}}", headline(report)),
        ("{{times}}", times_table(report)),
        ("{{urls}}", urls_table(report)),
        ("{{judged}}", of_judged(judged)),
        ("{{series}}", series(report)),
        ("{{seconds}}", times_of_seconds(report)),
        ("{{curve}}", curve(report)),
        ("{{histogram}}", histogram(report)),
        ("{{run}}", of_run(report)),
        ("{{identity}}", escaped(&identity(report))),
        ("{{sides}}", sides_list(report)),
        ("{{checked}}", escaped(report.asked.checked)),
        ("{{version}}", escaped(report.version)),
        ("{{json}}", json),
    ];
    // One pass replaces all placeholders, so that a placeholder within the text of a part is never replaced.
    let mut page = String::new();
    let mut rest = PAGE;
    while let Some(at) = rest.find("{{") {
        let Some((name, text)) = parts.iter().find(|(name, _)| rest[at..].starts_with(name)) else { break };
        page += &rest[..at];
        page += text;
        rest = &rest[at + name.len()..];
    }
    Ok(page + rest)
}

/// Tells when, where, and by which command line the run was made.
fn of_run(report: &Report) -> String {
    let run = &report.run;
    let parts = [("date", &run.date), ("machine", &run.machine), ("command", &run.command)];
    let mut out = String::new();
    for (name, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
        let _ = write!(out, "<p id=\"{name}\">{}</p>", escaped(text));
    }
    out
}

/// Shows the comparison with an earlier run, and the user's own conditions.
fn of_judged(judged: Judged<'_>) -> String {
    let mut out = String::new();
    if let Some(comparison) = judged.comparison {
        out += "<h2>Beside the run before</h2><div class=\"wide\"><table id=\"baseline\"><thead><tr><th></th><th>before</th>\
                <th>now</th><th>ratio</th></tr></thead><tbody>";
        for [name, cells @ ..] in comparison_rows(comparison) {
            let _ = write!(out, "<tr><th>{name}</th><td>{}</td></tr>", cells.join("</td><td>"));
        }
        let _ = write!(out, "</tbody></table></div><p>{}; {ONE_RUN}.</p>", escaped(&told(comparison)));
    }
    if !(judged.failures.is_empty() && judged.passed.is_empty()) {
        out += "<h2>Conditions</h2>";
    }
    for failure in judged.failures {
        let _ = write!(out, "<p class=\"bad condition\">{}</p>", escaped(failure));
    }
    for condition in judged.passed {
        let _ = write!(out, "<p class=\"condition\">passed: not {}</p>", escaped(condition));
    }
    out
}

fn headline(report: &Report) -> String {
    if report.is_valid() {
        let mark = if report.disturbed.is_empty() { "" } else { " <b class=\"bad mark\">DISTURBED</b>" };
        return format!(
            "<p class=\"rate\"><b id=\"rate\">{}</b> requests/s{mark}, <span id=\"megabytes\">{}</span> MB/s of bodies</p>{}",
            rate(report),
            megabytes(report),
            marked(report)
        );
    }
    let mut out = "<p class=\"rate bad\"><b id=\"rate\">INVALID</b></p><ul class=\"bad\">".to_owned();
    for reason in &report.invalid {
        let _ = write!(out, "<li>{}</li>", escaped(&reason.why));
    }
    out + "</ul>" + &marked(report)
}

/// Shows the notes that a reader of the figures must know.
fn marked(report: &Report) -> String {
    let mut out = String::new();
    for (word, why) in marks(report) {
        let _ = write!(out, "<p class=\"bad\"><b>{word}</b>: {}</p>", escaped(&why));
    }
    out
}

/// Returns a table with a column for each kind of times, which fits a narrow window.
fn times_table(report: &Report) -> String {
    if !report.is_valid() {
        return String::new();
    }
    let times = times(report);
    let mut out = "<div class=\"wide\"><table id=\"times\"><thead><tr><th>ms</th>".to_owned();
    for (name, _) in &times {
        let _ = write!(out, "<th>{name}</th>");
    }
    out += "</tr></thead><tbody>";
    for column in &COLUMNS {
        let _ = write!(out, "<tr><th>{}</th>", column.0);
        for (_, latency) in &times {
            let _ = write!(out, "<td>{}</td>", cell(column, latency));
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}

fn urls_table(report: &Report) -> String {
    if report.urls.is_empty() {
        return String::new();
    }
    let mut out = "<h2>By URL</h2><div class=\"wide\"><table id=\"urls\"><thead><tr>".to_owned();
    for title in URL_COLUMNS {
        let _ = write!(out, "<th>{title}</th>");
    }
    out += "</tr></thead><tbody>";
    for cells in urls(report) {
        out += "<tr>";
        for cell in cells {
            let _ = write!(out, "<td>{}</td>", escaped(&cell));
        }
        out += "</tr>";
    }
    out + "</tbody></table></div>"
}

fn sides_list(report: &Report) -> String {
    let mut out = String::new();
    for (name, text) in errors(report).into_iter().chain(sides(report)) {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&text));
    }
    if let Some((what, head)) = first_wrong(report) {
        let head = escaped(&head.join("\n"));
        let _ = write!(out, "<dt>first wrong</dt><dd>{}<pre>{head}</pre></dd>", escaped(&what));
    }
    out
}

/// Escapes text for an element or an attribute in quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::baseline::{Comparison, Row, Unit};

    #[test]
    fn what_a_report_was_judged_by() {
        let rows = vec![Row { name: "requests/s", unit: Unit::PerSecond, before: 12_000.0, now: 24_000.0 }];
        let comparison = Comparison { rows, judged: "rate", between: Some((1.9, 2.1)), is_disturbed: true };
        let (failures, passed) = (["failed, because rate<1".to_owned()], ["p99>2s".to_owned()]);
        let page = of_judged(Judged { comparison: Some(&comparison), failures: &failures, passed: &passed });

        assert_eq!("", of_judged(Judged::default()));
        for part in [
            "<tr><th>requests/s</th><td>12,000</td><td>24,000</td><td>2.000</td></tr>",
            "<p>DISTURBED, of one run or both: the rate is between 1.900 and 2.100 times that of before; ",
            "<p class=\"bad condition\">failed, because rate&lt;1</p>",
            "<p class=\"condition\">passed: not p99&gt;2s</p>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
