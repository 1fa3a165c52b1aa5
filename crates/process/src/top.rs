//! `adyton top`: a live view of what has happened between two looks.

use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::fetch;
use crate::table::{Column, aligned, each, heading, mib, workers};

/// How often it looks.
const LOOK: Duration = Duration::from_secs(1);

/// A live view, once a second, until Ctrl-C or until the server is gone.
pub(crate) fn top(path: &Path, color: bool) -> Result<(), String> {
    let mut before: Option<(Instant, Value)> = None;
    loop {
        let (_, status) = fetch(path, "GET", "/status")?;
        let (_, running) = fetch(path, "GET", "/running")?;
        let now = Instant::now();
        let out = match &before {
            Some((then, last)) => view(last, &status, now.duration_since(*then).as_secs_f64()),
            // At first, what has happened since the server was started.
            None => view(&Value::Null, &status, status["uptime_s"].as_f64().unwrap_or(0.0)),
        } + &slowest(&running);
        // Without colours there is no terminal to redraw, or its user wants none of that.
        let clear = if color { "\x1b[H\x1b[2J" } else { "" };
        print!("{clear}{out}");
        if io::stdout().flush().is_err() {
            return Ok(());
        }
        before = Some((now, status));
        sleep(LOOK);
    }
}

/// The columns of the live view: what has happened since the last look, and how things stand.
const LIVE: &[Column] = &[
    ("worker", |worker| worker["worker"].to_string()),
    ("process", |worker| worker["pid"].to_string()),
    ("state", |worker| worker["state"].as_str().unwrap_or_default().to_owned()),
    ("req/s", |worker| format!("{:.0}", worker["rate"].as_f64().unwrap_or(0.0))),
    ("5xx", |worker| worker["errors"].to_string()),
    ("inline", |worker| share(worker, "inline")),
    ("handed", |worker| share(worker, "handed_over")),
    ("queued", |worker| share(worker, "queued")),
    ("queue wait", |worker| mean(worker, "queue_wait_us", "queue_waits")),
    ("interp. wait", |worker| mean(worker, "interpreter_wait_us", "interpreter_waits")),
    ("conns", |worker| worker["connections"].to_string()),
    ("busy", |worker| format!("{}/{}", worker["threads_busy"], worker["threads"])),
    ("queue", |worker| worker["queue_length"].to_string()),
    ("rss", |worker| mib(&worker["rss_bytes"])),
    ("pss", |worker| mib(&worker["pss_bytes"])),
];

/// What is only ever counted up.
const COUNTED: [&str; 9] = [
    "requests",
    "errors",
    "inline",
    "handed_over",
    "queued",
    "queue_waits",
    "queue_wait_us",
    "interpreter_waits",
    "interpreter_wait_us",
];

/// How things stand, with what was counted since the last look in place of what was counted in all, and a rate.
fn since(before: &Value, now: &Value, seconds: f64) -> Value {
    let mut since = now.clone();
    for name in COUNTED {
        since[name] = Value::from(count(now, name).saturating_sub(count(before, name)));
    }
    since["rate"] = Value::from(since["requests"].as_f64().unwrap_or(0.0) / seconds.max(0.001));
    since
}

/// A number of a look; none is 0.
fn count(look: &Value, name: &str) -> u64 {
    look[name].as_u64().unwrap_or(0)
}

/// Which part of the calls took that way; `-` without any.
fn share(since: &Value, way: &str) -> String {
    let calls = count(since, "inline") + count(since, "handed_over") + count(since, "queued");
    (count(since, way) * 100).checked_div(calls).map_or_else(|| "-".to_owned(), |part| format!("{part} %"))
}

/// The mean of what was waited; `-` when nobody had to.
fn mean(since: &Value, sum: &str, waits: &str) -> String {
    count(since, sum).checked_div(count(since, waits)).map_or_else(|| "-".to_owned(), |us| format!("{us} µs"))
}

/// What has happened between two looks.
fn view(before: &Value, now: &Value, seconds: f64) -> String {
    let live = each(now).map(|worker| {
        let earlier = each(before).find(|other| other["pid"] == worker["pid"]);
        since(earlier.unwrap_or(&Value::Null), worker, seconds)
    });
    let mut out = rates(&since(&before["total"], &now["total"], seconds));
    out += &heading(now);
    out += &workers(LIVE, live);
    out += &prefixes(before, now);
    out
}

/// The line of all workers together.
fn rates(total: &Value) -> String {
    format!(
        "{:.0} requests/s, {} in flight; inline {}, handed over {}, queued {}; 5xx {}; \
         mean waits: queue {}, interpreter {}\n",
        total["rate"].as_f64().unwrap_or(0.0),
        total["in_flight"],
        share(total, "inline"),
        share(total, "handed_over"),
        share(total, "queued"),
        total["errors"],
        mean(total, "queue_wait_us", "queue_waits"),
        mean(total, "interpreter_wait_us", "interpreter_waits")
    )
}

/// What is asked for most, by the first segment of the path, since the last look.
fn prefixes(before: &Value, now: &Value) -> String {
    const SHOWN: usize = 10;
    const TITLES: [&str; 4] = ["requests", "5xx", "mean ms", "path"];

    let numbers = |one: &Value| ["requests", "errors", "duration_us"].map(|name| count(one, name));
    let list = |status: &Value| status["prefixes"].as_array().cloned().unwrap_or_default();
    let earlier = list(before);
    let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
    for one in list(now) {
        let then = earlier.iter().find(|other| other["prefix"] == one["prefix"]).map_or([0; 3], numbers);
        let now = numbers(&one);
        let [requests, errors, us] = [0, 1, 2].map(|at| now[at].saturating_sub(then[at]));
        let mean = us.checked_div(requests).map_or_else(String::new, milliseconds);
        let path = one["prefix"].as_str().unwrap_or_default().to_owned();
        rows.push((requests, vec![requests.to_string(), errors.to_string(), mean, path]));
    }
    rows.retain(|(requests, _)| *requests > 0);
    rows.sort_by_key(|(requests, _)| std::cmp::Reverse(*requests));
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = rows.into_iter().take(SHOWN).map(|(_, row)| row).collect();
    let mut out = "\nmost asked for\n".to_owned();
    aligned(&mut out, &TITLES.map(str::to_owned), &rows);
    out
}

/// Microseconds as milliseconds: `0.3`.
fn milliseconds(us: u64) -> String {
    format!("{}.{}", us / 1000, us % 1000 / 100)
}

/// The requests that run longest.
fn slowest(running: &Value) -> String {
    const SHOWN: usize = 10;

    let mut all: Vec<(u64, String)> = Vec::new();
    for worker in running.as_array().into_iter().flatten() {
        for task in worker["answer"].as_array().into_iter().flatten() {
            let request = task["request"].as_str().unwrap_or_default();
            let line = format!("worker {}  {request}", worker["worker"]);
            all.push((task["for_ms"].as_u64().unwrap_or(0), line));
        }
    }
    all.sort_by(|one, other| other.cmp(one));
    let lines = all.iter().take(SHOWN).map(|(ms, line)| format!("{ms:>9} ms  {line}\n"));
    let lines: String = lines.collect();
    if lines.is_empty() { String::new() } else { format!("\nslowest requests that run\n{lines}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{prefixes, slowest, view};

    /// Rates, shares and means are of what has happened between two looks, for all workers and for each.
    #[test]
    fn between_two_looks() {
        let counted = |pid: u64, times: u64| {
            json!({"worker": 1, "pid": pid, "state": "serving", "requests": 200 * times, "inline": 50 * times,
                   "queued": 150 * times, "queue_waits": 150 * times, "queue_wait_us": 3_000 * times, "in_flight": 3,
                   "errors": times})
        };
        let look = |pid, times| json!({"total": counted(0, times), "workers": [counted(pid, times)]});
        let expected = "100 requests/s, 3 in flight; inline 25 %, handed over 0 %, queued 75 %; 5xx 1; \
                        mean waits: queue 20 µs, interpreter -\n";
        let line = |text: &str| {
            let shown = text.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap_or_default();
            shown.split_whitespace().take(11).collect::<Vec<_>>().join(" ")
        };

        let text = view(&look(7, 1), &look(7, 2), 2.0);

        assert!(text.starts_with(expected), "{text}");
        assert_eq!("1 7 serving 100 1 25 % 0 % 75 %", line(&text), "{text}");

        let replaced = view(&look(7, 1), &look(8, 1), 1.0);

        assert_eq!("1 8 serving 200 1 25 % 0 % 75 %", line(&replaced), "{replaced}");
    }

    #[test]
    fn longest_first() {
        let task = |ms: u64| json!({"request": format!("GET /{ms}"), "for_ms": ms});
        let running = json!([{"worker": 1, "answer": [task(5)]}, {"worker": 2, "answer": [task(70)]}]);

        let text = slowest(&running);

        assert!(text.find("GET /70") < text.find("GET /5\n"), "{text}");
        assert_eq!("", slowest(&json!([])));
    }

    /// What was asked for most since the last look comes first, and what was not is left out.
    #[test]
    fn most_asked_for() {
        let status = |shop: u64, api: u64| {
            json!({"prefixes": [
                {"prefix": "/shop", "requests": shop, "errors": 1, "duration_us": shop * 250},
                {"prefix": "/api", "requests": api, "errors": 0, "duration_us": api * 1_500},
                {"prefix": "/", "requests": 3, "errors": 0, "duration_us": 30},
            ]})
        };
        let expected = "\nmost asked for\nrequests  5xx  mean ms   path\n     200    0      1.5   /api\n      \
                        10    0      0.2  /shop\n";

        assert_eq!(expected, prefixes(&status(10, 100), &status(20, 300)));
        assert_eq!("", prefixes(&status(1, 1), &status(1, 1)));
    }
}
