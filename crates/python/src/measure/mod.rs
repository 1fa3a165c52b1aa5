//! `adyton bench` from the command line to the last line: plan, live line, report, exit status.

mod command_line;
mod files;
mod live;
mod outcome;
mod plan;

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::sync::Arc;

use adyton_bench::{Condition, Failure, Ink, Judged, Plan, Report, SEARCH_HEADING};
use adyton_cli::bench::Bench;
use adyton_sys::signal_handlers::Handlers;
use adyton_sys::stdio;
use adyton_sys::terminal::Size;
use adyton_sys::wake::Wake;

use self::live::Live;
use self::outcome::{BAD, GOOD, USAGE, Wrong, json};
use crate::values::text::one_line;

/// The width of a report if there is no terminal: most terminals are this wide.
const COLUMNS: usize = 80;

/// Runs `adyton bench`.
pub(crate) fn bench(bench: &Bench) -> u8 {
    match try_bench(bench) {
        Ok(status) => status,
        Err((message, status)) => {
            eprintln!("adyton bench: {}", one_line(&message));
            status
        }
    }
}

fn try_bench(bench: &Bench) -> Result<u8, Wrong> {
    let usage = |message: String| (message, USAGE);
    let plan = plan::of(bench).map_err(usage)?;
    let fail_if = plan::conditions("--fail-if", &bench.fail_if).map_err(usage)?;
    let searched = plan::search(bench).map_err(usage)?;
    let forms = bench.output.iter().map(|path| Ok((path.as_path(), files::Form::of(path)?)));
    let forms = forms.collect::<Result<Vec<_>, String>>().map_err(usage)?;
    let baseline =
        bench.baseline.as_deref().map(|name| files::kept(name, &plan)).transpose().map_err(usage)?;
    if bench.debug {
        return debug(&plan);
    }
    let signals = signals()?;
    let stop = || signals.stop_asked();
    if let Some(condition) = searched {
        return find(&plan, &condition, &signals, bench.json);
    }
    files::check(bench).map_err(usage)?;
    let mut live = Live::new(!bench.json && takes_escapes(&std::io::stderr()), plan.until);
    let report = adyton_bench::run(&plan, &stop, &mut |progress| live.show(progress));
    live.clear();
    let mut report = report.map_err(failed)?;
    (report.run.date, report.run.command) = (files::date(), command_line::told(std::env::args_os()));
    let comparison = baseline.and_then(|baseline| baseline.compare(&report));
    let failures: Vec<String> = fail_if.iter().filter_map(|condition| condition.failure(&report)).collect();
    let is_passed = |condition: &&Condition| condition.failure(&report).is_none();
    let passed: Vec<String> = fail_if.iter().filter(is_passed).map(ToString::to_string).collect();
    let judged = Judged { comparison: comparison.as_ref(), failures: &failures, passed: &passed };
    let columns = columns();
    let compared = comparison.as_ref().map_or_else(String::new, |it| adyton_bench::compared(it, columns));
    let text = if bench.json {
        json(report.to_json())
    } else {
        adyton_bench::table(&report, ink(), columns) + &compared
    };
    let printed = print(&text);
    if bench.json {
        // JSON has standard output to itself, so the comparison for people goes to standard error.
        eprint!("{compared}");
    }
    for (path, form) in forms {
        files::write(path, &form.render(&report, judged))?;
    }
    files::summarize(&report, judged)?;
    let status = conclude(bench, &failures, &report)?;
    // A report that cannot be printed is still kept in its files.
    printed?;
    Ok(interruption(&signals).filter(|_| report.interrupted).unwrap_or(status))
}

/// Keeps the report, if the user wants it and the run is good, and names the conditions by which it fails; returns the
/// exit status.
fn conclude(bench: &Bench, failures: &[String], report: &Report) -> Result<u8, Wrong> {
    match &bench.save {
        Some(name) if report.interrupted => {
            eprintln!("adyton bench: --save {name}: the run was interrupted, and is not kept");
        }
        Some(name) if report.is_valid() => files::keep(name, report)?,
        Some(name) => eprintln!("adyton bench: --save {name}: the run is invalid, and is not kept"),
        None => {}
    }
    for failure in failures {
        eprintln!("adyton bench: {failure}");
    }
    Ok(if report.is_valid() && failures.is_empty() { GOOD } else { BAD })
}

/// Shows each request and its answer, up to the first incomplete answer: its bytes, and why it is incomplete.
fn debug(plan: &Plan) -> Result<u8, Wrong> {
    for exchange in adyton_bench::exchanges(plan).map_err(failed)? {
        print(&[shown("> ", &exchange.request), shown("< ", &exchange.answer)].concat())?;
        if let Some(fault) = exchange.fault {
            return Err((fault, BAD));
        }
    }
    Ok(GOOD)
}

fn failed(failure: Failure) -> Wrong {
    match failure {
        Failure::Plan(message) => (message, USAGE),
        Failure::Refused(message) => (message, BAD),
    }
}

/// Makes the first Ctrl-C or SIGTERM end a measurement early, with a report; the second one ends the program.
fn signals() -> Result<Handlers, Wrong> {
    let signals = Wake::new().and_then(|wake| Handlers::install(Arc::new(wake), None));
    signals.map_err(|error| (format!("no signal can be caught: {error}"), BAD))
}

/// The exit status that shells give a program ended by a signal, if a signal has come.
fn interruption(signals: &Handlers) -> Option<u8> {
    signals.stop_signal().and_then(|signal| u8::try_from(128 + signal).ok())
}

/// Searches for a rate, and prints a line for the closed loop and for each rate that it tries.
fn find(plan: &Plan, condition: &Condition, signals: &Handlers, is_json: bool) -> Result<u8, Wrong> {
    let mut head = SEARCH_HEADING;
    let stop = || signals.stop_asked();
    let found = adyton_bench::find_rate(plan, condition, &stop, &mut |step| {
        if !is_json {
            // The heading of the table is printed together with the first line.
            let line = std::mem::take(&mut head).to_owned() + &adyton_bench::tried(step, columns());
            // If printing fails, the print at the end of the search fails as well and says so.
            let _ = print(&line);
        }
    });
    let found = found.map_err(failed)?;
    let text = match found.rate {
        _ if is_json => json(found.to_json()),
        _ if found.interrupted => "\ninterrupted: nothing is found\n".to_owned(),
        _ if !found.invalid.is_empty() => {
            format!("\nINVALID\n{}", adyton_bench::reasons(&found.reasons, columns()))
        }
        None if found.steps.is_empty() => format!("\n{condition} holds at no rate: no rate was tried\n"),
        None => format!("\n{condition} holds at no rate that was tried\n"),
        Some(rate) if !found.disturbed.is_empty() => format!(
            "\n{condition} holds at {rate:.0} requests/s at least: DISTURBED, so the server may do more\n{}",
            adyton_bench::reasons(&found.disturbed, columns())
        ),
        Some(rate) => format!("\n{condition} holds up to {rate:.0} requests/s\n"),
    };
    print(&text)?;
    let status = if found.rate.is_some() && found.invalid.is_empty() { GOOD } else { BAD };
    Ok(interruption(signals).filter(|_| found.interrupted).unwrap_or(status))
}

/// Prints a result of a measurement.
fn print(text: &str) -> Result<(), Wrong> {
    stdio::print(text).map_err(|error| (error.to_string(), BAD))
}

/// The escape sequences for bold and red on a terminal, unless the user wants no colours (no-color.org).
fn ink() -> Ink {
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if takes_escapes(&std::io::stdout()) && !is_plain { Ink::Ansi } else { Ink::Plain }
}

/// Whether a stream is a terminal that knows escape sequences.
fn takes_escapes(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// The width of a report's lines: that of the terminal, if there is one.
fn columns() -> usize {
    let size = Size::of_stdout();
    if size == Size::ENDLESS { COLUMNS } else { size.columns }
}

/// Renders bytes of an exchange, each line marked; a long body is cut.
fn shown(mark: &str, bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 4096;
    let mut out = String::new();
    for line in String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]).lines() {
        // The bytes of a server must not steer the terminal.
        let _ = writeln!(out, "{mark}{}", one_line(line));
    }
    if bytes.len() > SHOWN_BYTES_MAX {
        let _ = writeln!(out, "{mark}... {} more bytes", bytes.len() - SHOWN_BYTES_MAX);
    }
    out + "\n"
}
