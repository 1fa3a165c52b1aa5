//! A bound on a figure, for scripts: `p99>50ms`, `rate<1000`, `errors>0`.

use std::fmt;
use std::str::FromStr;

use crate::counting::latency::{COLUMNS, Column, column, told};
use crate::report::numbers::{float, grouped, ms};
use crate::report::whole::Report;

/// A condition that may hold of a report.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    figure: Figure,
    is_above: bool,
    /// The bound; in microseconds for times.
    bound: f64,
}

/// The figure that is compared.
#[derive(Clone, Copy, Debug)]
enum Figure {
    /// A time of [`Latency`](crate::Latency); in an open loop, from when a request was due.
    Time(&'static Column),
    Rate,
    Errors,
    Cpu,
}

const UNITS: [(&str, f64); 3] = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];

impl Condition {
    /// Whether the condition holds; `None` when the report does not know the figure.
    pub fn holds(&self, report: &Report) -> Option<bool> {
        let figure = self.figure_of(report)?;
        Some(if self.is_above { figure > self.bound } else { figure < self.bound })
    }

    /// Tells why a report fails if this condition must not hold; `None` if the report does not fail.
    pub fn failure(&self, report: &Report) -> Option<String> {
        match self.holds(report) {
            // A count of wrong answers needs no minimum, so only other figures get here.
            Some(_) if report.is_valid() && self.lacks(report).is_some() => {
                Some(format!("failed: {self} cannot be told: {}", self.lacks(report)?))
            }
            Some(false) => None,
            None => Some(format!("failed: {self} cannot be told of this server")),
            // A figure of an invalid run must not be used; a count may.
            Some(true) if !report.is_valid() && !matches!(self.figure, Figure::Errors) => {
                Some(format!("failed, because {self}"))
            }
            Some(true) => {
                let mark = if report.disturbed.is_empty() { "" } else { " (DISTURBED)" };
                Some(format!("failed, because {self}: {}{mark}", self.seen(report)?))
            }
        }
    }

    /// Tells what the report has too little of for this figure; `None` if it has enough.
    fn lacks(&self, report: &Report) -> Option<String> {
        match self.figure {
            Figure::Time(column) => {
                let times = report.response.unwrap_or(report.service);
                let (title, _, least) = column;
                let is_untold = told(column, &times).is_none();
                is_untold.then(|| format!("{title} takes {least} answers, and there were {}", times.count))
            }
            Figure::Rate => (!report.has_rate())
                .then(|| format!("{:.1} ms are too short for a rate", report.seconds * 1e3)),
            Figure::Cpu => {
                report.server?.cpu_us().is_none().then(|| "there was too little CPU time".to_owned())
            }
            Figure::Errors => None,
        }
    }

    fn figure_of(&self, report: &Report) -> Option<f64> {
        Some(match self.figure {
            Figure::Time((_, of, _)) => of(&report.response.unwrap_or(report.service)),
            Figure::Rate => report.rate,
            Figure::Errors => float(report.counts.wrong()),
            Figure::Cpu => report.server?.cpu_us_per_request,
        })
    }

    /// Tells the figure in words.
    fn seen(&self, report: &Report) -> Option<String> {
        let figure = self.figure_of(report)?;
        let name = self.text.split(['<', '>']).next().unwrap_or_default().trim();
        Some(match self.figure {
            Figure::Time(_) => format!("{name} was {} ms", ms(figure)),
            Figure::Rate => format!("the rate was {} requests/s", grouped(figure)),
            Figure::Errors => format!("there were {figure:.0}"),
            Figure::Cpu => format!("it was {figure:.2} us of CPU a request"),
        })
    }

    /// Whether there can be a highest rate at which the condition holds, because the condition is an upper bound on a
    /// figure that grows with the rate.
    pub fn has_highest_rate(&self) -> bool {
        !self.is_above && !matches!(self.figure, Figure::Rate)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(['<', '>']).ok_or("write a condition as p99>50ms")?;
        let (name, bound) = (text[..at].trim(), text[at + 1..].trim());
        let figure = match name {
            "rate" => Figure::Rate,
            "errors" => Figure::Errors,
            "cpu" => Figure::Cpu,
            _ => {
                let names: Vec<&str> = COLUMNS.iter().map(|(time, ..)| *time).collect();
                let known = || {
                    format!("{name} is not a figure; there are {}, rate, errors and cpu", names.join(", "))
                };
                Figure::Time(column(name).ok_or_else(known)?)
            }
        };
        let bound = match figure {
            Figure::Time(_) => time_us(bound).ok_or("write the time as 50ms, 200us or 1.5s")?,
            _ => number(bound).ok_or("write the bound as a number")?,
        };
        Ok(Self { text: text.to_owned(), figure, is_above: text[at..].starts_with('>'), bound })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads a time such as `50ms`, and returns it in microseconds.
fn time_us(text: &str) -> Option<f64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (_, scale) = UNITS.iter().find(|(unit, _)| *unit == &text[end..])?;
    Some(number(&text[..end])? * scale)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::float_cmp,
        reason = "an error here is a failed test; the numbers are exact"
    )]

    use super::*;
    use crate::report::verdict::tests::good;

    #[test]
    fn what_a_failure_says() {
        let mut report = good();
        report.service.p99_us = 1_234_567.0;
        let failure = |text: &str, report: &Report| text.parse::<Condition>().unwrap().failure(report);

        assert_eq!(None, failure("p99>2s", &report));
        let told = |text: &str, end: &str| assert_eq!(Some(format!("failed{end}")), failure(text, &report));
        told("p99 > 1ms", ", because p99 > 1ms: p99 was 1,234.567 ms");
        told("rate<2000", ", because rate<2000: the rate was 1,000 requests/s");
        told("cpu>1", ": cpu>1 cannot be told of this server");
        report.counts.timeout = 3;
        report.judge(&[]);
        let told = |text: &str, end: &str| assert_eq!(Some(format!("failed{end}")), failure(text, &report));
        told("p99>1ms", ", because p99>1ms");
        told("errors>0", ", because errors>0: there were 3");
    }

    #[test]
    fn what_can_be_searched_for() {
        let can = |text: &str| text.parse::<Condition>().unwrap().has_highest_rate();

        assert!(["p99<50ms", "mean<1ms", "cpu<100", "errors<1"].into_iter().all(can));
        assert!(!["rate>5", "rate<5", "p99>50ms", "cpu>1"].into_iter().any(can));
    }

    #[test]
    fn what_is_understood() {
        let bound =
            |text: &str| text.parse::<Condition>().map(|condition| (condition.is_above, condition.bound));

        assert_eq!(Ok((true, 50_000.0)), bound("p99>50ms"));
        assert_eq!(Ok((true, 1_500_000.0)), bound("p99.9 > 1.5s"));
        assert_eq!(Ok((true, 1_000.0)), bound("p95>1ms"));
        assert_eq!(Ok((false, 1000.0)), bound("rate<1000"));
        assert_eq!(Ok((true, 0.0)), bound("errors>0"));
        for wrong in ["p99", "p98>1ms", "p99>50", "rate<1ms", "rate<-1", "p99>ms", "p99>infs"] {
            assert!(bound(wrong).is_err(), "{wrong}");
        }
    }
}
