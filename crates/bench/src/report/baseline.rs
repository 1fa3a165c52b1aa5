//! The comparison of a report with an earlier one: what has changed, and what is only noise.

use serde::Deserialize;

use crate::generator::random::Random;
use crate::plan::{Plan, WeightedRequest};
use crate::report::numbers::float;
use crate::report::whole::{Report, count_whole, whole_seconds};

/// The parts of an earlier report that are compared.
#[derive(Clone, Debug, Deserialize)]
pub struct Baseline {
    schema: String,
    invalid: Vec<serde::de::IgnoredAny>,
    /// Absent in reports of earlier versions.
    #[serde(default)]
    interrupted: bool,
    #[serde(default)]
    disturbed: Vec<serde::de::IgnoredAny>,
    asked: BaselineAsked,
    urls: Vec<ListedUrl>,
    slow: Vec<BaselineSlow>,
    rate: f64,
    seconds: f64,
    service: BaselineTimes,
    response: Option<BaselineTimes>,
    series: Vec<Count>,
    server: Option<Cpu>,
}

/// The parts of the earlier request and load that determine the figures.
#[derive(Clone, Debug, Deserialize)]
struct BaselineAsked {
    url: String,
    method: String,
    connections: u32,
    keep_alive: bool,
    pipeline: u32,
    load: String,
    rate: Option<f64>,
}

/// One of several URLs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct ListedUrl {
    url: String,
    method: String,
    weight: u32,
}

/// Slow clients of one kind.
#[derive(Clone, Debug, Deserialize)]
struct BaselineSlow {
    kind: String,
    clients: u32,
    bytes_per_second: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "as the report has them")]
struct BaselineTimes {
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Count {
    right: u64,
    sum_us: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Cpu {
    cpu_us_per_request: f64,
}

/// The comparison of two reports, figure by figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The figures that both have.
    pub rows: Vec<Row>,
    /// The figure that `between` is about: in a closed loop the rate; in an open loop the mean time, because there the
    /// plan sets the rate.
    pub judged: &'static str,
    /// Bounds of the ratio of that figure's value now to its earlier value, with 95 % confidence, from the variation
    /// between the seconds of each run; `None` if there are too few seconds. The bounds do not cover differences from
    /// run to run.
    pub between: Option<(f64, f64)>,
    /// Whether at least one of the two runs was disturbed and the user has accepted that.
    pub is_disturbed: bool,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the figure, and its unit.
    pub name: &'static str,
    pub(crate) unit: Unit,
    /// The earlier value; a time is in microseconds.
    pub before: f64,
    /// The value in this report.
    pub now: f64,
}

/// The unit in which a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number a second.
    PerSecond,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
}

/// Seconds that each run needs for an interval.
const SECONDS_MIN: usize = 5;

/// Samples that are drawn for an interval.
const DRAWS: usize = 2_000;

impl Baseline {
    /// Reads a report that [`Report::to_json`] has written.
    ///
    /// # Errors
    ///
    /// A sentence: the text is no report, or a report of another schema, or a report whose figures must not be used.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let baseline: Self =
            serde_json::from_str(text).map_err(|error| format!("it is no report: {error}"))?;
        if baseline.schema != crate::report::whole::SCHEMA {
            return Err(format!(
                "it is of the schema {}, not {}",
                baseline.schema,
                crate::report::whole::SCHEMA
            ));
        }
        if !baseline.invalid.is_empty() {
            return Err("that run was invalid: measure it again".to_owned());
        }
        if baseline.interrupted {
            return Err("that run was interrupted: measure it again".to_owned());
        }
        Ok(baseline)
    }

    /// Checks that a plan asks for the same load as the earlier run: a difference between figures of different loads
    /// says nothing about the server.
    ///
    /// # Errors
    ///
    /// A sentence that tells in what the two differ.
    pub fn check(&self, plan: &Plan) -> Result<(), String> {
        let asked = &self.asked;
        let rows = [
            ("The URL", asked.url.clone(), plan.url.to_string()),
            ("The method", asked.method.clone(), plan.method.clone()),
            ("The list of URLs", list(&self.urls), list(&listed(plan))),
            ("Connections", asked.connections.to_string(), plan.connections.to_string()),
            ("Connections", kept(asked.keep_alive).to_owned(), kept(plan.keep_alive).to_owned()),
            ("Requests at once", asked.pipeline.to_string(), plan.pipeline.to_string()),
            ("The loop", offered(&asked.load, asked.rate), offered(plan.load.word(), plan.load.rate())),
            ("Slow clients", slow(&self.slow), slow(&slow_clients(plan))),
        ];
        rows.iter().find(|(_, before, now)| before != now).map_or(Ok(()), |(what, before, now)| {
            Err(format!("it cannot be compared, for it is of another load. {what}: {before} then, {now} now"))
        })
    }

    /// Compares a report with this one; `None` when the report's figures must not be used.
    pub fn compare(&self, report: &Report) -> Option<Comparison> {
        if !report.is_valid() {
            return None;
        }
        let before = self.response.unwrap_or(self.service);
        let now = report.response.unwrap_or(report.service);
        let mut rows = vec![
            Row { name: "requests/s", unit: Unit::PerSecond, before: self.rate, now: report.rate },
            Row { name: "mean ms", unit: Unit::Ms, before: before.mean_us, now: now.mean_us },
            Row { name: "p50 ms", unit: Unit::Ms, before: before.p50_us, now: now.p50_us },
            Row { name: "p99 ms", unit: Unit::Ms, before: before.p99_us, now: now.p99_us },
        ];
        if let (Some(before), Some(now)) = (self.server, report.server) {
            let (before, now) = (before.cpu_us_per_request, now.cpu_us_per_request);
            rows.push(Row { name: "CPU us", unit: Unit::Us, before, now });
        }
        let earlier = &self.series[..count_whole(self.series.len(), self.seconds)];
        let present = whole_seconds(report).iter().map(|second| (second.right, second.sum_us));
        let is_open = report.asked.rate.is_some();
        let earlier = judged(is_open, earlier.iter().map(|second| (second.right, second.sum_us)));
        let between = ratio_between(&earlier, &judged(is_open, present));
        let is_disturbed = !self.disturbed.is_empty() || !report.disturbed.is_empty();
        Some(Comparison { rows, judged: if is_open { "mean time" } else { "rate" }, between, is_disturbed })
    }
}

/// Returns the judged figure of each second, from its right answers and the sum of their times.
fn judged(is_open: bool, seconds: impl Iterator<Item = (u64, u64)>) -> Vec<f64> {
    let value = |(right, sum_us)| if is_open { float(sum_us) / float(right) } else { float(right) };
    seconds.filter(|(right, _)| !is_open || *right > 0).map(value).collect()
}

fn kept(is_kept: bool) -> &'static str {
    if is_kept { "kept alive" } else { "one for each request" }
}

fn offered(load: &str, rate: Option<f64>) -> String {
    rate.map_or_else(|| "closed".to_owned(), |rate| format!("{rate} requests/s ({load})"))
}

fn listed(plan: &Plan) -> Vec<ListedUrl> {
    let of = |request: &WeightedRequest| ListedUrl {
        url: request.url.to_string(),
        method: request.method.clone(),
        weight: request.weight,
    };
    plan.url_list.iter().map(of).collect()
}

fn list(listed: &[ListedUrl]) -> String {
    let lines: Vec<String> = listed
        .iter()
        .map(|request| format!("{} {} {}", request.weight, request.method, request.url))
        .collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join(", ") }
}

fn slow_clients(plan: &Plan) -> Vec<BaselineSlow> {
    let bytes_per_second = plan.slow.bytes_per_second;
    plan.slow
        .kinds()
        .into_iter()
        .filter(|(_, clients)| *clients > 0)
        .map(|(kind, clients)| BaselineSlow { kind: kind.to_owned(), clients, bytes_per_second })
        .collect()
}

fn slow(sides: &[BaselineSlow]) -> String {
    let texts: Vec<String> = sides
        .iter()
        .map(|side| format!("{} {} at {} bytes/s", side.clients, side.kind, side.bytes_per_second))
        .collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

impl Row {
    /// Returns the value now divided by the earlier value.
    pub fn ratio(&self) -> f64 {
        self.now / self.before
    }
}

/// Bootstraps: draws samples from the seconds of both runs, and returns the middle 95 % of the ratios of their means.
fn ratio_between(before: &[f64], now: &[f64]) -> Option<(f64, f64)> {
    if before.len().min(now.len()) < SECONDS_MIN {
        return None;
    }
    let mut random = Random::new(1);
    let mut mean = |values: &[f64]| {
        let sum: f64 = (0..values.len()).map(|_| values[random.below(values.len())]).sum();
        sum / float(values.len() as u64)
    };
    let mut ratios: Vec<f64> = (0..DRAWS).map(|_| mean(now) / mean(before)).collect();
    ratios.sort_by(f64::total_cmp);
    Some((ratios[DRAWS / 40], ratios[DRAWS - DRAWS / 40]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;
    use crate::report::verdict::tests::good;

    /// In a closed loop the rate must be judged, and in an open loop the mean time, because the plan sets the rate
    /// there.
    #[test]
    fn what_is_judged() {
        let mut report = good();
        let closed = Baseline::from_json(&report.to_json().unwrap()).unwrap();
        report.series.iter_mut().for_each(|second| second.right *= 2);
        let faster = closed.compare(&report).unwrap();
        assert_eq!(("rate", Some((2.0, 2.0))), (faster.judged, faster.between));

        report = good();
        (report.asked.rate, report.response) = (Some(1_000.0), Some(report.service));
        let open = Baseline::from_json(&report.to_json().unwrap()).unwrap();
        report.series.iter_mut().for_each(|second| second.sum_us *= 3);
        let slower = open.compare(&report).unwrap();
        assert_eq!(("mean time", Some((3.0, 3.0))), (slower.judged, slower.between));
        report.series.truncate(4);
        assert_eq!(None, open.compare(&report).unwrap().between);
    }

    #[test]
    fn what_was_interrupted_is_no_baseline() {
        let report = Report { interrupted: true, ..good() };
        let why = Baseline::from_json(&report.to_json().unwrap()).unwrap_err();

        assert_eq!("that run was interrupted: measure it again", why);
    }

    #[test]
    fn noise_is_no_difference() {
        let before = [100.0, 104.0, 96.0, 102.0, 98.0, 101.0];
        let (low, high) = ratio_between(&before, &[99.0, 103.0, 97.0, 101.0, 100.0, 98.0]).unwrap();
        assert!(low < 1.0 && high > 1.0, "{low} {high}");
        let (low, high) = ratio_between(&before, &before.map(|rate| rate * 1.2)).unwrap();
        assert!(low > 1.1 && high < 1.3, "{low} {high}");
        assert_eq!(None, ratio_between(&before[..4], &before));
    }
}
