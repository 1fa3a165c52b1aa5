//! `adyton bench` from the command line to the last line: the plan, the live line, the report, the exit status.

use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_bench::{Arrivals, Body, Check, Condition, Failure, Ink, Load, Plan, Progress, Report, Statuses, Until};
use adyton_cli::bench::{self, Bench, Data};
use adyton_sys::signal::Stop;
use adyton_sys::wake::Wake;

/// The figures are good, and nothing that was to fail has.
const GOOD: u8 = 0;
/// The run is invalid, a condition holds, or the server does not answer.
const BAD: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;

/// Runs `adyton bench`; `color` says whether standard error is a terminal that takes colours.
pub(crate) fn bench(bench: &Bench, color: bool) -> u8 {
    let (plan, conditions) = match plan_of(bench) {
        Ok(planned) => planned,
        Err(message) => return say(&message, USAGE),
    };
    match measure(&plan, color && !bench.json) {
        Ok(report) => tell(bench, &report, &conditions),
        Err(Failure::Plan(message)) => say(&message, USAGE),
        Err(Failure::Refused(message)) => say(&message, BAD),
    }
}

fn say(message: &str, status: u8) -> u8 {
    eprintln!("adyton bench: {}", crate::one_line(message));
    status
}

/// Measures, with a line on a terminal that says how far it is; the first Ctrl-C ends the measurement early.
fn measure(plan: &Plan, live: bool) -> Result<Report, Failure> {
    let stop = AtomicBool::new(false);
    let signals = Wake::new().and_then(|wake| Stop::install(Arc::new(wake)));
    let signals = signals.map_err(|error| Failure::Refused(format!("no signal can be caught: {error}")))?;
    let mut line = Live { shown: live, last: Progress { seconds: 0.0, right: 0, wrong: 0 } };
    let report = adyton_bench::run(plan, &stop, &mut |progress| {
        stop.store(signals.asked(), Ordering::Relaxed);
        line.show(progress);
    });
    line.clear();
    report
}

/// The line that changes.
struct Live {
    shown: bool,
    last: Progress,
}

impl Live {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    fn show(&mut self, now: Progress) {
        if self.shown && now.seconds < 0.0 {
            eprint!("\r\x1b[Kwarm-up, {:.0} s left", -now.seconds);
        } else if self.shown {
            let rate = (now.right - self.last.right) as f64 / (now.seconds - self.last.seconds).max(0.001);
            eprint!("\r\x1b[K{:4.0} s  {rate:9.0} requests/s  {} right, {} wrong", now.seconds, now.right, now.wrong);
            self.last = now;
        }
        let _ = std::io::stderr().flush();
    }

    fn clear(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

fn tell(bench: &Bench, report: &Report, conditions: &[Condition]) -> u8 {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let ink = if std::io::stdout().is_terminal() && !is_plain { Ink::Ansi } else { Ink::Plain };
    let text = if bench.json {
        report.to_json().map_or_else(|error| format!("{{\"error\": \"{error}\"}}\n"), |json| json + "\n")
    } else {
        adyton_bench::table(report, ink)
    };
    // A reader that has gone away, as `| head`, has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let mut status = if report.is_valid() { GOOD } else { BAD };
    for condition in conditions {
        match condition.holds(report) {
            Some(false) => {}
            Some(true) => status = say(&format!("failed, because {condition}"), BAD),
            None => status = say(&format!("failed: {condition} cannot be told of this server"), BAD),
        }
    }
    status
}

/// What the command line says, as the generator wants it.
fn plan_of(bench: &Bench) -> Result<(Plan, Vec<Condition>), String> {
    let url = bench.url.parse().map_err(|why| format!("{}: {why}", bench.url))?;
    let conditions: Result<Vec<Condition>, String> = bench
        .fail_if
        .iter()
        .map(|text| text.parse().map_err(|why| format!("--fail-if {text}: {why}")))
        .collect();
    let mut plan = Plan::new(url);
    if bench.data.is_some() {
        plan.method = "POST".to_owned();
    }
    if let Some(method) = &bench.method {
        plan.method.clone_from(method);
    }
    plan.headers.clone_from(&bench.headers);
    plan.body = match &bench.data {
        None => Vec::new(),
        Some(Data::Text(text)) => text.clone().into_bytes(),
        Some(Data::File(path)) => read("--data", path)?,
    };
    (plan.connections, plan.threads) = (bench.connections, bench.threads);
    (plan.keep_alive, plan.pipeline) = (bench.keep_alive, bench.pipeline);
    plan.load = match bench.rate {
        None => Load::Closed,
        Some(rate) => {
            let arrivals = if bench.poisson { Arrivals::Poisson } else { Arrivals::Constant };
            // At most 10⁸.
            let rate = f64::from(u32::try_from(rate).unwrap_or(u32::MAX));
            Load::Open { rate, arrivals, seed: bench.seed }
        }
    };
    plan.until = match bench.requests {
        0 => Until::Duration(bench.duration_ms),
        requests => Until::Requests(requests),
    };
    (plan.warm_up_ms, plan.timeout_ms) = (bench.warm_up_ms, bench.timeout_ms);
    if !bench.expect_status.is_empty() {
        plan.statuses = Statuses::Of(bench.expect_status.clone());
    }
    plan.check = match bench.check {
        bench::Check::Body => Check::Body,
        bench::Check::Length => Check::Length,
        bench::Check::Nothing => Check::Nothing,
    };
    plan.expected = match (&bench.expect_body, bench.expect_sha256) {
        (Some(path), _) => Body::Bytes(read("--expect-body", path)?.into()),
        (None, Some(hash)) => Body::Sha256(hash),
        (None, None) => Body::First,
    };
    Ok((plan, conditions?))
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{flag} {}: {error}", path.display()))
}
