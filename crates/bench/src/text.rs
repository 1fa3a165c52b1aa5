//! A report for people: lines that line up, and INVALID in the place of figures that must not be used.

use std::fmt::Write as _;

use crate::latency::Latency;
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
    fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn red(self, text: &str) -> String {
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
    let mut out = head(report, ink);
    let _ = write!(out, "\n{:12}", "requests/s");
    if report.is_valid() {
        let _ = writeln!(out, "{}", ink.bold(&grouped(report.rate)));
    } else {
        let _ = writeln!(out, "{}", ink.red("INVALID"));
        for reason in &report.invalid {
            let _ = writeln!(out, "{:12}{}", "", reason.why);
        }
    }
    if report.is_valid() {
        out += &latencies(report);
    }
    out += "\n";
    out += &identity(report);
    out += &sides(report);
    out
}

fn head(report: &Report, ink: Ink) -> String {
    let asked = &report.asked;
    let mut out = format!(
        "{} {}: {}, {} + {} bytes; checked: {}\n",
        asked.method,
        ink.bold(&asked.url),
        asked.status,
        asked.answer_head_bytes,
        asked.answer_body_bytes,
        asked.checked
    );
    let load = match asked.rate {
        None => "closed loop".to_owned(),
        Some(rate) => format!("open loop, {} requests/s ({})", grouped(rate), asked.load),
    };
    let kept = if asked.keep_alive { "kept alive" } else { "one for each request" };
    let pipeline = if asked.pipeline > 1 { format!(", {} requests at once", asked.pipeline) } else { String::new() };
    let _ = writeln!(
        out,
        "{} {kept}{pipeline}, {}, {load}, {:.1} s after {:.1} s",
        plural(asked.connections, "connection", "connections"),
        plural(asked.threads, "thread", "threads"),
        report.seconds,
        f64::from(u32::try_from(asked.warm_up_ms).unwrap_or(u32::MAX)) / 1e3
    );
    out
}

fn latencies(report: &Report) -> String {
    let titles = ["mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
    let mut out = format!("\n{:12}", "ms");
    titles.iter().for_each(|title| out += &format!("{title:>10}"));
    out += "\n";
    let rows = [
        ("response", report.response),
        ("service", Some(report.service)),
        ("first byte", Some(report.first_byte)),
        ("connect", report.connect),
    ];
    for (name, latency) in rows.into_iter().filter_map(|(name, latency)| Some((name, latency?))) {
        let _ = writeln!(out, "{name:12}{}", figures(&latency));
    }
    out
}

fn figures(latency: &Latency) -> String {
    let Latency { mean_us, p50_us, p90_us, p99_us, p999_us, p9999_us, max_us, .. } = *latency;
    [mean_us, p50_us, p90_us, p99_us, p999_us, p9999_us, max_us]
        .iter()
        .map(|us| format!("{:>10.*}", if *us < 100_000.0 { 3 } else { 0 }, us / 1e3))
        .collect()
}

/// Where every request went.
fn identity(report: &Report) -> String {
    let counts = &report.counts;
    let mut out = format!(
        "sent {} = right {} + wrong status {} + wrong body {} + connection error {} + timeout {} + in flight {}\n",
        counts.sent,
        counts.right,
        counts.wrong_status,
        counts.wrong_body,
        counts.connection_error,
        counts.timeout,
        counts.in_flight
    );
    if counts.wrong_status > 0 {
        let statuses: Vec<String> =
            report.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
        let _ = writeln!(out, "{:12}{}", "statuses", statuses.join(", "));
    }
    for (cause, count) in &report.errors {
        let _ = writeln!(out, "{:12}{cause}: {count}", "");
    }
    if counts.timeout > 0 || counts.connection_error > 0 {
        let _ = writeln!(out, "{:12}the oldest was {} ms old", "", report.oldest_ms);
    }
    out
}

fn sides(report: &Report) -> String {
    let mut out = String::new();
    match &report.server {
        Some(server) => {
            let _ = writeln!(
                out,
                "{:12}{:.2} us of CPU a request, {:.2} CPUs, {:.1} MiB (PSS) in {}",
                "server",
                server.cpu_us_per_request,
                server.cpus,
                bytes(server.pss_bytes) / 1_048_576.0,
                plural(server.processes, "process", "processes")
            );
        }
        None => {
            let _ = writeln!(out, "{:12}not on this machine, or not ours to see", "server");
        }
    }
    let _ = writeln!(
        out,
        "{:12}{:.0} % busy; its ceiling is {} requests/s",
        "generator",
        100.0 * report.generator.busy,
        grouped(report.generator.ceiling_rate)
    );
    let fair = &report.fairness;
    let _ = writeln!(
        out,
        "{:12}{} to {} answers a connection, median {} (Jain's index {:.3})",
        "fairness", fair.min, fair.max, fair.median, fair.jain
    );
    out
}

#[expect(clippy::cast_precision_loss, reason = "memory of one machine")]
fn bytes(count: u64) -> f64 {
    count as f64
}

fn plural(count: u32, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// A number without its fraction, in groups of three digits; small ones keep one digit behind the point.
fn grouped(number: f64) -> String {
    if number < 1000.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        assert_eq!(["12.5", "1,000", "123,457", "1,234,567"].map(str::to_owned), [
            grouped(12.5),
            grouped(1000.0),
            grouped(123_456.7),
            grouped(1_234_567.0)
        ]);
    }
}
