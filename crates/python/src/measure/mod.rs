//! `adyton bench` from the command line to the last line: the plan, the live line, the report, the exit status.

mod files;
mod live;
mod plan;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;

use adyton_bench::{Comparison, Condition, Failure, Ink, Latency, Plan, Reason, Step};
use adyton_cli::bench::Bench;
use adyton_sys::signal_handlers::Handlers;
use adyton_sys::wake::Wake;

use self::live::Live;

/// The figures are good, and nothing that was to fail has.
const GOOD: u8 = 0;
/// The run is invalid, a condition holds, or the server does not answer.
const BAD: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;

/// Runs `adyton bench`; `color` says whether standard error is a terminal that takes colours.
pub(crate) fn bench(bench: &Bench, color: bool) -> u8 {
    match try_bench(bench, color && !bench.json) {
        Ok(status) => status,
        Err((message, status)) => {
            eprintln!("adyton bench: {}", crate::one_line(&message));
            status
        }
    }
}

/// What went wrong, and the exit status.
type Wrong = (String, u8);

fn try_bench(bench: &Bench, live: bool) -> Result<u8, Wrong> {
    let usage = |message: String| (message, USAGE);
    let plan = plan::of(bench).map_err(usage)?;
    let fail_if = plan::conditions("--fail-if", &bench.fail_if).map_err(usage)?;
    let find_rate = plan::conditions("--find-rate", bench.find_rate.as_slice()).map_err(usage)?;
    plan::check_search(bench).map_err(usage)?;
    let forms = bench.output.iter().map(|path| Ok((path.as_path(), files::Form::of(path)?)));
    let forms = forms.collect::<Result<Vec<_>, String>>().map_err(usage)?;
    let baseline =
        bench.baseline.as_deref().map(|name| files::kept(name, &plan)).transpose().map_err(usage)?;
    if bench.debug {
        for (request, answer) in adyton_bench::exchanges(&plan).map_err(|message| (message, BAD))? {
            print(&[shown("> ", &request), shown("< ", &answer)].concat());
        }
        return Ok(GOOD);
    }
    let stop = stopper()?;
    if let Some(condition) = find_rate.first() {
        return find(&plan, condition, &stop, bench.json);
    }
    let mut progress_line = Live::new(live);
    let report = adyton_bench::run(&plan, &stop, &mut |progress| progress_line.show(progress));
    progress_line.clear();
    let report = report.map_err(failed)?;
    let text = if bench.json { json(report.to_json()) } else { adyton_bench::table(&report, ink()) };
    print(&text);
    for (path, form) in forms {
        files::write(path, &form.render(&report))?;
    }
    files::summarize(&report)?;
    if let Some(comparison) = baseline.and_then(|baseline| baseline.compare(&report)) {
        let text = compared(&comparison);
        // With JSON there is room for people beside it only.
        if bench.json { eprint!("{text}") } else { print(&text) }
    }
    let mut status = if report.is_valid() { GOOD } else { BAD };
    if let (Some(name), true) = (&bench.save, report.is_valid()) {
        files::keep(name, &report)?;
    }
    for condition in &fail_if {
        let why = match condition.holds(&report) {
            Some(false) => continue,
            Some(true) => format!("failed, because {condition}"),
            None => format!("failed: {condition} cannot be told of this server"),
        };
        eprintln!("adyton bench: {why}");
        status = BAD;
    }
    Ok(status)
}

fn failed(failure: Failure) -> Wrong {
    match failure {
        Failure::Plan(message) => (message, USAGE),
        Failure::Refused(message) => (message, BAD),
    }
}

/// Whether the user has pressed Ctrl-C: the first ends a measurement early, and what there is is reported.
fn stopper() -> Result<impl Fn() -> bool, Wrong> {
    let signals = Wake::new().and_then(|wake| Handlers::install(Arc::new(wake), None));
    let signals = signals.map_err(|error| (format!("no signal can be caught: {error}"), BAD))?;
    Ok(move || signals.stop_asked())
}

/// Searches for a rate, with a line for each that was tried.
fn find(
    plan: &Plan,
    condition: &Condition,
    stop: adyton_bench::Stop<'_>,
    is_json: bool,
) -> Result<u8, Wrong> {
    if !is_json {
        println!("{:>12}{:>12}{:>10}{:>10}{:>10}", "requests/s", "answered", "p50 ms", "p99 ms", "held");
    }
    let found = adyton_bench::find_rate(plan, condition, stop, &mut |step| {
        if !is_json {
            print(&tried(step));
        }
    });
    let found = found.map_err(failed)?;
    let text = match found.rate {
        _ if is_json => json(found.to_json()),
        _ if !found.invalid.is_empty() => format!("\nINVALID\n{}", indented(&found.reasons)),
        None => format!("\n{condition} holds at no rate that was tried\n"),
        Some(rate) => format!("\n{condition} holds up to {rate:.0} requests/s\n"),
    };
    print(&text);
    Ok(if found.rate.is_some() && found.invalid.is_empty() { GOOD } else { BAD })
}

/// The line of a rate that was tried: its figures, or INVALID in their place and why below.
fn tried(step: &Step) -> String {
    let held = if step.held { "yes" } else { "no" };
    if !step.reasons.is_empty() {
        let why = indented(&step.reasons);
        return format!("{:>12.0}{:>12}{:>10}{:>10}{held:>10}\n{why}", step.rate, "INVALID", "", "");
    }
    let ms = |of: fn(&Latency) -> f64| step.response.map_or(0.0, |times| of(&times) / 1e3);
    let (p50, p99) = (ms(|times| times.p50_us), ms(|times| times.p99_us));
    format!("{:>12.0}{:>12.0}{p50:>10.3}{p99:>10.3}{held:>10}\n", step.rate, step.answered)
}

/// A line for each reason.
fn indented(reasons: &[Reason]) -> String {
    let lines: Vec<String> =
        reasons.iter().map(|reason| format!("{:14}{}: {}\n", "", reason.gate, reason.why)).collect();
    lines.concat()
}

/// JSON, or in its place why there is none.
fn json(written: serde_json::Result<String>) -> String {
    written.map_or_else(|error| format!("{{\"error\": \"{error}\"}}\n"), |json| json + "\n")
}

/// Prints to standard output. A reader that has gone away, as `| head`, has seen enough.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn ink() -> Ink {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !is_plain { Ink::Ansi } else { Ink::Plain }
}

fn compared(comparison: &Comparison) -> String {
    let mut out = format!("\n{:12}{:>12}{:>12}{:>10}\n", "", "before", "now", "ratio");
    for row in &comparison.rows {
        let _ = writeln!(out, "{:12}{:>12.1}{:>12.1}{:>10.3}", row.name, row.before, row.now, row.ratio());
    }
    let what = comparison.judged;
    let told = match comparison.between {
        None => "too few seconds to tell a difference from noise".to_owned(),
        Some((low, high)) if low <= 1.0 && high >= 1.0 => {
            format!("no difference in the {what} (ratio between {low:.3} and {high:.3})")
        }
        Some((low, high)) => format!("the {what} is between {low:.3} and {high:.3} times that of before"),
    };
    out + &told + ONE_RUN
}

/// Of the percentiles there is one of each run, which says nothing of how far they differ by themselves.
const ONE_RUN: &str = "\nthe other ratios are of one run each, and may be noise\n";

/// Bytes of an exchange, each line marked; a long body is cut.
fn shown(mark: &str, bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 4096;
    let mut out = String::new();
    for line in String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]).lines() {
        // What a server sends must not steer the terminal.
        let _ = writeln!(out, "{mark}{}", crate::one_line(line));
    }
    if bytes.len() > SHOWN_BYTES_MAX {
        let _ = writeln!(out, "{mark}... {} more bytes", bytes.len() - SHOWN_BYTES_MAX);
    }
    out + "\n"
}
