//! The plots of the page, as SVG: answers of each second, and times by percentile.

use std::fmt::Write as _;

use super::{grouped_whole, ms};
use crate::report::{Report, float};
use crate::verdict::whole_seconds;

/// Width and height of what is within the axes of a plot, in its own units.
const SIZE: (f64, f64) = (600.0, 160.0);

/// Room for the labels at the left, above, at the right and below.
const MARGIN: (f64, f64, f64, f64) = (88.0, 8.0, 24.0, 24.0);

/// Labels of seconds at most, besides that of the first.
const SECOND_LABELS_MAX: usize = 10;

/// What a plot shows: points from 0 to 1 along the axis, each with its height, and labels at places of the axis.
struct Plot {
    title: &'static str,
    points: Vec<(f64, f64)>,
    labels: Vec<(String, f64)>,
    /// How a height is written.
    height: fn(f64) -> String,
}

/// Right answers of each whole second, if there are two, and the rate may be shown.
pub(crate) fn series(report: &Report) -> String {
    let seconds = whole_seconds(report);
    let last = float(seconds.len().saturating_sub(1).max(1) as u64);
    let place = |second: usize| float((second - 1) as u64) / last;
    let steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)));
    let step = steps.into_iter().find(|step| seconds.len() / step <= SECOND_LABELS_MAX).unwrap_or(1);
    let labelled = (1..=seconds.len()).filter(|second| *second == 1 || second % step == 0);
    let plot = Plot {
        title: "Right answers in each second",
        points: seconds.iter().zip(1..).map(|(second, at)| (place(at), float(second.right))).collect(),
        labels: labelled.map(|second| (format!("{second} s"), place(second))).collect(),
        height: grouped_whole,
    };
    if report.is_valid() { plot.svg() } else { String::new() }
}

/// The times by percentile up to the longest, if they may be shown. Each nine takes as much room as the one before.
pub(crate) fn curve(report: &Report) -> String {
    let nines = |percentile: f64| -(1.0 - percentile / 100.0).log10();
    let below =
        report.curve.iter().map(|(percentile, _)| *percentile).filter(|percentile| *percentile < 100.0);
    // The longest time stands one nine behind the last that is whole. Rounding must not cost one.
    let end = (below.map(nines).fold(0.0, f64::max) + 1e-6).floor() + 1.0;
    let place = |percentile: f64| (nines(percentile) / end).min(1.0);
    let whole = ["0", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "p99.99999"];
    let marks = whole.iter().zip(0_u32..).map(|(name, count)| (*name, f64::from(count)));
    let mut labels: Vec<(String, f64)> = marks
        .take_while(|(_, count)| *count < end)
        .map(|(name, count)| (name.to_owned(), count / end))
        .collect();
    labels.push(("max".to_owned(), 1.0));
    let plot = Plot {
        title: "Time of an answer by percentile, in milliseconds",
        points: report.curve.iter().map(|(percentile, us)| (place(*percentile), *us)).collect(),
        labels,
        // Of what is longer than a second the label needs no microseconds, for which there is no room.
        height: |us| if us < 1e6 { ms(us) } else { grouped_whole(us / 1e3) },
    };
    if report.is_valid() { plot.svg() } else { String::new() }
}

impl Plot {
    /// A line over the points, between zero and the highest, which are written beside the plot.
    fn svg(&self) -> String {
        let ((width, height), (left, above, right, below)) = (SIZE, MARGIN);
        let most = self.points.iter().map(|point| point.1).fold(0.0, f64::max);
        if self.points.len() < 2 || most <= 0.0 {
            return String::new();
        }
        let at = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", x * width, height - y / most * height);
        let line: Vec<String> = self.points.iter().map(at).collect();
        let title = self.title;
        let mut out = format!(
            "<figure><figcaption>{title}</figcaption>\
             <svg viewBox=\"{} {} {} {}\" role=\"img\" aria-label=\"{title}\">\
             <path d=\"M0,0H{width}M0,{height}H{width}\"/>\
             <text class=\"height\" x=\"-8\" y=\"4\">{}</text><text class=\"height\" x=\"-8\" y=\"{}\">0</text>",
            -left,
            -above,
            left + width + right,
            above + height + below,
            (self.height)(most),
            height + 4.0,
        );
        for (label, place) in &self.labels {
            let _ = write!(
                out,
                "<text class=\"place\" x=\"{:.1}\" y=\"{}\">{label}</text>",
                place * width,
                height + 18.0
            );
        }
        out + "<polyline points=\"" + &line.join(" ") + "\"/></svg></figure>"
    }
}
