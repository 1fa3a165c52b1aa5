//! A report as one page that needs nothing else: figures, plots, and the whole report as JSON within.

use std::fmt::Write as _;

use super::{URL_COLUMNS, asked, errors, grouped, identity, megabytes, ms, sides, times, urls};
use crate::latency::COLUMNS;
use crate::report::{Report, float};
use crate::verdict::whole_seconds;

const PAGE: &str = include_str!("report.html");

/// Width and height of a plot, in its own units.
const PLOT: (f64, f64) = (600.0, 160.0);

/// The report as a page of HTML.
///
/// # Errors
///
/// None that is known: every field can be written as JSON.
pub fn html(report: &Report) -> serde_json::Result<String> {
    let [answer, load] = asked(report);
    // `</script>` must not end the element that holds the JSON.
    let json = report.to_json()?.replace("</", "<\\/");
    let parts = [
        ("{{url}}", escaped(&report.asked.url)),
        ("{{method}}", escaped(&report.asked.method)),
        ("{{answer}}", escaped(&answer)),
        ("{{load}}", escaped(&load)),
        ("{{headline}}", headline(report)),
        ("{{times}}", times_table(report)),
        ("{{urls}}", urls_table(report)),
        ("{{series}}", plot("Right answers in each second", &series(report), &[])),
        ("{{curve}}", plot("Time of an answer by percentile, in milliseconds", &curve(report), &CURVE_TICKS)),
        ("{{identity}}", escaped(&identity(report))),
        ("{{sides}}", sides_list(report)),
        ("{{version}}", escaped(report.version)),
        ("{{json}}", json),
    ];
    // In one pass, so that what a part holds is never taken for a place of its own.
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

fn headline(report: &Report) -> String {
    if report.is_valid() {
        return format!(
            "<p class=\"rate\"><b id=\"rate\">{}</b> requests/s, <span id=\"megabytes\">{}</span> MB/s of bodies</p>",
            grouped(report.rate),
            megabytes(report)
        );
    }
    let mut out = "<p class=\"rate bad\"><b id=\"rate\">INVALID</b></p><ul class=\"bad\">".to_owned();
    for reason in &report.invalid {
        let _ = write!(out, "<li>{}</li>", escaped(&reason.why));
    }
    out + "</ul>"
}

fn times_table(report: &Report) -> String {
    if !report.is_valid() {
        return String::new();
    }
    let mut out = "<table id=\"times\"><thead><tr><th>ms</th>".to_owned();
    for (title, _) in COLUMNS {
        let _ = write!(out, "<th>{title}</th>");
    }
    out += "</tr></thead><tbody>";
    for (name, latency) in times(report) {
        let _ = write!(out, "<tr><th>{name}</th>");
        for (_, of) in COLUMNS {
            let _ = write!(out, "<td>{}</td>", ms(of(&latency)));
        }
        out += "</tr>";
    }
    out + "</tbody></table>"
}

fn urls_table(report: &Report) -> String {
    if report.urls.is_empty() {
        return String::new();
    }
    let mut out = "<table id=\"urls\"><thead><tr>".to_owned();
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
    out + "</tbody></table>"
}

fn sides_list(report: &Report) -> String {
    let mut out = String::new();
    for (name, text) in errors(report).into_iter().chain(sides(report)) {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&text));
    }
    out
}

/// A point of a plot: where it is from 0 to 1 along the axis, and how high.
type Point = (f64, f64);

/// Right answers of each whole second, if the rate may be shown.
fn series(report: &Report) -> Vec<Point> {
    if !report.is_valid() {
        return Vec::new();
    }
    let whole = whole_seconds(report);
    let last = float(whole.len().saturating_sub(1).max(1) as u64);
    whole.iter().zip(0_u32..).map(|(second, at)| (f64::from(at) / last, float(second.right))).collect()
}

/// Where percentiles stand on the axis: each nine takes as much room as the one before.
const CURVE_TICKS: [(&str, f64); 5] =
    [("0", 0.0), ("p90", 0.25), ("p99", 0.5), ("p99.9", 0.75), ("p99.99", 1.0)];

/// Nines on the axis.
const NINES: f64 = 4.0;

/// The times, if they may be shown.
fn curve(report: &Report) -> Vec<Point> {
    if !report.is_valid() {
        return Vec::new();
    }
    let place = |percentile: f64| (-(1.0 - percentile / 100.0).max(1e-9).log10() / NINES).min(1.0);
    let within = report.curve.iter().take_while(|(percentile, _)| *percentile < 99.9905);
    within.map(|(percentile, us)| (place(*percentile), us / 1e3)).collect()
}

/// A line over the points, from zero to the highest, with the highest written at its side.
fn plot(title: &str, points: &[Point], ticks: &[(&str, f64)]) -> String {
    let (width, height) = PLOT;
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    if points.len() < 2 || most <= 0.0 {
        return String::new();
    }
    let line: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{:.1},{:.1}", x * width, height - y / most * (height - 10.0)))
        .collect();
    let mut out = format!(
        "<figure><figcaption>{title}</figcaption><svg viewBox=\"-4 -4 {} {}\" role=\"img\" aria-label=\"{title}\">\
         <polyline points=\"{}\"/><text x=\"2\" y=\"10\">{}</text>",
        width + 8.0,
        height + 22.0,
        line.join(" "),
        if most < 1000.0 { format!("{most:.2}") } else { grouped(most) }
    );
    for (name, at) in ticks {
        let anchor = if *at == 0.0 {
            "start"
        } else if *at >= 1.0 {
            "end"
        } else {
            "middle"
        };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{name}</text>",
            at * width,
            height + 14.0
        );
    }
    out + "</svg></figure>"
}

/// Text for an element or an attribute in quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
