//! The plots of the page, as SVG: answers of each second, times of each second, times by percentile, and the frequency
//! of times.

use std::fmt::Write as _;

use crate::counting::counts::Second;
use crate::report::numbers::{float, grouped_whole, ms};
use crate::report::whole::{Report, whole_seconds};

/// Width and height of the area within the axes of a plot, in its own units: about those of a narrow window.
const SIZE: (f64, f64) = (340.0, 150.0);

/// Room for the labels at the left, above, at the right and below.
const MARGIN: (f64, f64, f64, f64) = (52.0, 8.0, 16.0, 22.0);

/// The largest number of labels of seconds, not counting the label of the first second.
const SECOND_LABELS_MAX: usize = 10;

/// The largest number of labels of an axis of times: if there are more decades, some have no label.
const TIME_LABELS_MAX: usize = 6;

/// The mapping of a figure to a place from 0 to 1 along an axis.
#[derive(Clone, Copy)]
enum Scale {
    /// From zero to `most`.
    Linear { most: f64 },
    /// Logarithmic between two times in microseconds, so that one plot can show a hundredth of a millisecond and ten
    /// seconds.
    Log { low: f64, high: f64 },
}

impl Scale {
    /// Returns the scale of these times: from a whole decade up to the longest.
    fn of_times(times: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for us in times.filter(|us| *us > 0.0) {
            (low, high) = (low.min(us), high.max(us));
        }
        let low = if low.is_finite() { 10.0_f64.powf(low.log10().floor()) } else { 1.0 };
        Self::Log { low, high: high.max(low * 10.0) }
    }

    fn place(self, figure: f64) -> f64 {
        match self {
            Self::Linear { most } => figure / most,
            Self::Log { low, high } => (figure.max(low) / low).log10() / (high / low).log10(),
        }
    }

    /// Returns the labels of an axis: both ends, or the decades.
    fn labels(self) -> Vec<(String, f64)> {
        match self {
            Self::Linear { most } => vec![(grouped_whole(most), 1.0), ("0".to_owned(), 0.0)],
            Self::Log { low, high } => {
                // If the axis spans less than two decades, there is room for labels within a decade.
                let digits: &[f64] = if high / low < 100.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let powers = (0..=9).map(|power| low * 10.0_f64.powi(power));
                let marks = powers.flat_map(|decade| digits.iter().map(move |digit| decade * digit));
                let decades: Vec<f64> = marks.take_while(|us| *us <= high * 1.001).collect();
                let step = decades.len().div_ceil(TIME_LABELS_MAX).max(1);
                decades.into_iter().step_by(step).map(|us| (decade_ms(us), self.place(us))).collect()
            }
        }
    }
}

/// Returns a label in milliseconds; `us` is one, two or five times a power of ten, so the label needs no rounding.
fn decade_ms(us: f64) -> String {
    if us < 1e3 { format!("{}", us / 1e3) } else { grouped_whole(us / 1e3) }
}

/// A line of a plot: its name, which is its class, and points from 0 to 1 along the axis, each with its height.
type Line = (&'static str, Vec<(f64, f64)>);

/// A plot of lines.
struct Plot {
    title: String,
    lines: Vec<Line>,
    labels: Vec<(String, f64)>,
    scale: Scale,
}

/// Plots the right answers of each whole second, if there are two, and the rate may be shown.
pub(crate) fn series(report: &Report) -> String {
    let seconds = whole_seconds(report);
    let right = |second: &Second| Some(float(second.right));
    let most = seconds.iter().map(|second| float(second.right)).fold(0.0, f64::max);
    let plot = Plot {
        title: "Right answers in each second".to_owned(),
        lines: vec![("right", of_seconds(seconds, right))],
        labels: second_labels(seconds.len()),
        scale: Scale::Linear { most },
    };
    if report.is_valid() && most > 0.0 { plot.svg() } else { String::new() }
}

/// Plots the times of the answers of each whole second.
pub(crate) fn times_of_seconds(report: &Report) -> String {
    let seconds = whole_seconds(report);
    let lines: Vec<Line> = vec![
        ("p50", of_seconds(seconds, |second| second.p50_us)),
        ("p99", of_seconds(seconds, |second| second.p99_us)),
        ("max", of_seconds(seconds, |second| (second.right > 0).then(|| float(second.max_us)))),
    ];
    let known: Vec<Line> = lines.into_iter().filter(|(_, points)| !points.is_empty()).collect();
    let names: Vec<String> =
        known.iter().map(|(name, _)| format!("<span class=\"{name}\">{name}</span>")).collect();
    let plot = Plot {
        title: format!("Times of the answers in each second, in milliseconds: {}", names.join(", ")),
        scale: Scale::of_times(known.iter().flat_map(|(_, points)| points).map(|point| point.1)),
        lines: known,
        labels: second_labels(seconds.len()),
    };
    if report.is_valid() && report.counts.right > 0 { plot.svg() } else { String::new() }
}

fn of_seconds(seconds: &[Second], figure: impl Fn(&Second) -> Option<f64>) -> Vec<(f64, f64)> {
    let count = seconds.len();
    seconds
        .iter()
        .enumerate()
        .filter_map(|(at, second)| Some((second_place(at, count), figure(second)?)))
        .collect()
}

fn second_place(at: usize, count: usize) -> f64 {
    float(at as u64) / float(count.saturating_sub(1).max(1) as u64)
}

fn second_labels(count: usize) -> Vec<(String, f64)> {
    let steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)));
    let step = steps.into_iter().find(|step| count / step <= SECOND_LABELS_MAX).unwrap_or(1);
    let labelled = (1..=count).filter(|second| *second == 1 || second % step == 0);
    labelled.map(|second| (format!("{second} s"), second_place(second - 1, count))).collect()
}

/// Plots the times by percentile up to the longest, if they may be shown. Each further nine, as from p99 to p99.9,
/// takes the same room.
pub(crate) fn curve(report: &Report) -> String {
    let nines = |percentile: f64| -(1.0 - percentile / 100.0).log10();
    let below =
        report.curve.iter().map(|(percentile, _)| *percentile).filter(|percentile| *percentile < 100.0);
    // The longest time stands one nine behind the last whole nine. The small addend keeps rounding from losing a whole
    // nine.
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
        title: "Time of an answer by percentile, in milliseconds".to_owned(),
        lines: vec![(
            "curve",
            report.curve.iter().map(|(percentile, us)| (place(*percentile), *us)).collect(),
        )],
        labels,
        scale: Scale::of_times(report.curve.iter().map(|(_, us)| *us)),
    };
    if report.is_valid() { plot.svg() } else { String::new() }
}

/// Plots how many answers took how long, with a bar for each interval of times; all intervals are equally wide on the
/// axis.
pub(crate) fn histogram(report: &Report) -> String {
    let bars = &report.histogram;
    let most = bars.iter().map(|(_, _, count)| float(*count)).fold(0.0, f64::max);
    if !report.is_valid() || most <= 0.0 {
        return String::new();
    }
    let axis = Scale::of_times(bars.iter().flat_map(|(from_us, to_us, _)| [*from_us, *to_us]));
    let (width, height) = SIZE;
    let mut drawn = String::new();
    for (from_us, to_us, count) in bars {
        let (from, to) = (axis.place(*from_us) * width, axis.place(*to_us) * width);
        // A bar of at least one answer is drawn at least as a line: the few slow answers are the interesting ones.
        let tall = (float(*count) / most * height).max(1.0);
        let _ = write!(
            drawn,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"><title>{count}: {} to {} ms</title></rect>",
            height - tall,
            (to - from).max(0.5),
            ms(*from_us),
            ms(*to_us)
        );
    }
    let scale = Scale::Linear { most };
    let plot = Plot {
        title: "How many answers took how long, in milliseconds".to_owned(),
        lines: Vec::new(),
        labels: axis.labels(),
        scale,
    };
    plot.around(&drawn)
}

impl Plot {
    /// Draws each line of the plot through its points.
    fn svg(&self) -> String {
        let (width, height) = SIZE;
        if self.lines.iter().all(|(_, points)| points.len() < 2) {
            return String::new();
        }
        let at =
            |(x, y): &(f64, f64)| format!("{:.1},{:.1}", x * width, height - self.scale.place(*y) * height);
        let mut drawn = String::new();
        for (name, points) in &self.lines {
            let line: Vec<String> = points.iter().map(at).collect();
            let _ = write!(drawn, "<polyline class=\"{name}\" points=\"{}\"/>", line.join(" "));
        }
        self.around(&drawn)
    }

    /// Puts axes and labels around a drawing.
    fn around(&self, drawn: &str) -> String {
        let ((width, height), (left, above, right, below)) = (SIZE, MARGIN);
        let title = &self.title;
        let mut out = format!(
            "<figure><figcaption>{title}</figcaption><svg viewBox=\"{} {} {} {}\" role=\"img\"><path d=\"M0,0V{height}H{width}\"/>",
            -left,
            -above,
            left + width + right,
            above + height + below,
        );
        for (label, place) in self.scale.labels() {
            let y = height - place * height;
            let _ = write!(out, "<path d=\"M0,{y:.1}H{width}\"/>");
            let _ = write!(out, "<text class=\"height\" x=\"-6\" y=\"{:.1}\">{label}</text>", y + 4.0);
        }
        for (label, place) in &self.labels {
            let (x, y) = (place * width, height + 16.0);
            let _ = write!(out, "<text class=\"place\" x=\"{x:.1}\" y=\"{y}\">{label}</text>");
        }
        out + drawn + "</svg></figure>"
    }
}
