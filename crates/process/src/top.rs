//! `adyton top`: a live view of what has happened between two looks.

use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use adyton_sys::terminal::Size;
use serde_json::Value;

use crate::control::ask;
use crate::screen::{Section, picture, printable, width};
use crate::table::{Column, aligned, each, heading, mib, workers};

/// How often it looks.
const LOOK: Duration = Duration::from_secs(1);

/// Two looks at a server, and what runs at the second.
struct Looks<'l> {
    before: &'l Value,
    now: &'l Value,
    running: &'l Value,
    /// Between the two.
    seconds: f64,
}

/// An object of JSON on a line for each look: the status, with the requests that run.
pub(crate) fn record(path: &Path) -> Result<(), String> {
    loop {
        let mut status = ask(path, "GET", "/status")?;
        let running = ask(path, "GET", "/running")?;
        if let Some(object) = status.as_object_mut() {
            object.insert("running".to_owned(), running);
        }
        if writeln!(io::stdout(), "{status}").is_err() {
            return Ok(());
        }
        sleep(LOOK);
    }
}

/// A live view, once a second, until Ctrl-C or until the server is gone.
pub(crate) fn top(path: &Path, color: bool) -> Result<(), String> {
    let mut before: Option<(Instant, Value)> = None;
    loop {
        let status = ask(path, "GET", "/status")?;
        let running = ask(path, "GET", "/running")?;
        let now = Instant::now();
        let (earlier, seconds) = match &before {
            Some((then, last)) => (last, now.duration_since(*then).as_secs_f64()),
            // At first, what has happened since the server was started.
            None => (&Value::Null, status["uptime_s"].as_f64().unwrap_or(0.0)),
        };
        let looks = Looks { before: earlier, now: &status, running: &running, seconds };
        let out = view(&looks, Size::of_stdout());
        // Without colours there is no terminal to redraw, or its user wants none of that.
        let clear = if color { "\x1b[H\x1b[2J" } else { "" };
        let mut terminal = io::stdout();
        if write!(terminal, "{clear}{out}").and_then(|()| terminal.flush()).is_err() {
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
    ("in flight", |worker| worker["in_flight"].to_string()),
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

/// What is left away where a terminal is too narrow for all, in this order.
const SPARED: &[&str] = &[
    "pss",
    "interp. wait",
    "queue wait",
    "handed",
    "inline",
    "queued",
    "conns",
    "rss",
    "process",
    "state",
    "queue",
    "5xx",
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

/// What is to be seen, on a terminal of this size.
fn view(looks: &Looks<'_>, size: Size) -> String {
    let Looks { before, now, running, seconds } = *looks;
    let text = rates(&since(&before["total"], &now["total"], seconds)) + &heading(now);
    let sections = vec![list(looks, size.columns), prefixes(before, now), slowest(running)];
    picture(&text, sections, size)
}

/// A line for each worker, with the columns for which there is room.
fn list(looks: &Looks<'_>, columns: usize) -> Section {
    let live = each(looks.now).map(|worker| {
        let earlier = each(looks.before).find(|other| other["pid"] == worker["pid"]);
        since(earlier.unwrap_or(&Value::Null), worker, looks.seconds)
    });
    let live: Vec<Value> = live.collect();
    let (mut shown, mut spared) = (LIVE.to_vec(), SPARED.iter());
    let mut lines = workers(&shown, live.iter());
    while lines.iter().any(|line| width(line) > columns)
        && let Some(next) = spared.next()
    {
        shown.retain(|(title, _)| title != next);
        lines = workers(&shown, live.iter());
    }
    let rows = lines.split_off(1);
    Section::new([vec![String::new()], lines].concat(), rows, usize::MAX)
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
fn prefixes(before: &Value, now: &Value) -> Section {
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
        let path = printable(one["prefix"].as_str().unwrap_or_default());
        rows.push((requests, vec![requests.to_string(), errors.to_string(), mean, path]));
    }
    rows.retain(|(requests, _)| *requests > 0);
    rows.sort_by_key(|(requests, _)| std::cmp::Reverse(*requests));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    let mut lines = aligned(&TITLES.map(str::to_owned), &rows);
    let rows = lines.split_off(1);
    let titles = [String::new(), "most asked for".to_owned()].into_iter().chain(lines);
    Section::new(titles.collect(), rows, SHOWN)
}

/// Microseconds as milliseconds: `0.3`.
fn milliseconds(us: u64) -> String {
    format!("{}.{}", us / 1000, us % 1000 / 100)
}

/// The requests that run longest.
fn slowest(running: &Value) -> Section {
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
    let lines = all.iter().map(|(ms, line)| format!("{ms:>9} ms  {line}")).collect();
    Section::new(vec![String::new(), "slowest requests that run".to_owned()], lines, SHOWN)
}

#[cfg(test)]
mod tests {
    use adyton_sys::terminal::Size;
    use serde_json::{Value, json};

    use super::{LIVE, Looks, SPARED, prefixes, slowest, view};
    use crate::screen::{picture, width};

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
            shown.split_whitespace().take(12).collect::<Vec<_>>().join(" ")
        };

        let between = |before: Value, now: Value, seconds: f64| {
            let looks = Looks { before: &before, now: &now, running: &Value::Null, seconds };
            view(&looks, Size::ENDLESS)
        };
        let text = between(look(7, 1), look(7, 2), 2.0);

        assert!(text.starts_with(expected), "{text}");
        assert_eq!("1 7 serving 100 1 3 25 % 0 % 75 %", line(&text), "{text}");

        let replaced = between(look(7, 1), look(8, 1), 1.0);

        assert_eq!("1 8 serving 200 1 3 25 % 0 % 75 %", line(&replaced), "{replaced}");
    }

    #[test]
    fn longest_first() {
        let task = |ms: u64| json!({"request": format!("GET /{ms}"), "for_ms": ms});
        let running = json!([{"worker": 1, "answer": [task(5)]}, {"worker": 2, "answer": [task(70)]}]);

        let text = picture("", vec![slowest(&running)], Size::ENDLESS);

        assert!(text.find("GET /70") < text.find("GET /5\n"), "{text}");
        assert_eq!("", picture("", vec![slowest(&json!([]))], Size::ENDLESS));
    }

    /// What was asked for most since the last look comes first, and what was not is left out.
    #[test]
    fn most_asked_for() {
        let text = |before: &Value, now: &Value| picture("", vec![prefixes(before, now)], Size::ENDLESS);
        let status = |shop: u64, api: u64| {
            json!({"prefixes": [
                {"prefix": "/shop", "requests": shop, "errors": 1, "duration_us": shop * 250},
                {"prefix": "/api", "requests": api, "errors": 0, "duration_us": api * 1_500},
                {"prefix": "/", "requests": 3, "errors": 0, "duration_us": 30},
            ]})
        };
        let expected = "\nmost asked for\nrequests  5xx  mean ms   path\n     200    0      1.5   /api\n      \
                        10    0      0.2  /shop\n";

        assert_eq!(expected, text(&status(10, 100), &status(20, 300)));
        assert_eq!("", text(&status(1, 1), &status(1, 1)));
    }

    /// What is spared is a column.
    #[test]
    fn spared() {
        for title in SPARED {
            assert!(LIVE.iter().any(|(known, _)| known == title), "{title}");
        }
    }

    /// However small the terminal and however much there is: the headline stays, what is missing is counted, and no line is
    /// too long.
    #[test]
    fn small_terminals() {
        let worker = |number: u64| {
            json!({"worker": number, "pid": 4_000_000 + number, "state": "serving", "requests": 123_456, "inline": 99,
                   "in_flight": 1, "threads": 18, "threads_busy": 18, "connections": 1_000, "rss_bytes": 300 << 20,
                   "pss_bytes": 200 << 20, "queue_length": 5, "errors": 0})
        };
        let workers: Vec<Value> = (1..=30).map(worker).collect();
        let prefixes: Vec<Value> =
            (1..=30).map(|n| json!({"prefix": format!("/{n}"), "requests": n})).collect();
        let now = json!({"total": worker(0), "workers": workers, "prefixes": prefixes, "version": "1", "process": 1,
                         "state": "serving", "serves": "a.long.name.of:an_application (WSGI)"});
        let task = json!({"request": format!("GET /{}", "long/".repeat(30)), "for_ms": 1_000});
        let running = json!([{"worker": 1, "answer": vec![task; 30]}]);
        let looks = Looks { before: &Value::Null, now: &now, running: &running, seconds: 1.0 };
        for (columns, titles) in [
            (300, "worker  process    state   req/s  5xx  in flight  inline"),
            (80, "worker  process    state   req/s  5xx  in flight  conns   busy  queue      rss"),
            (60, "worker    state   req/s  5xx  in flight   busy  queue"),
            (40, "worker   req/s  5xx  in flight   busy"),
        ] {
            let text = view(&looks, Size { columns, rows: 24 });

            assert!(text.starts_with("123456 requests/s, 1 in flight"), "{text}");
            assert!(text.lines().any(|line| line.starts_with(titles)), "{text}");
            assert!(text.lines().all(|line| width(line) <= columns), "{text}");
            assert_eq!(23, text.lines().count(), "{text}");
            assert_eq!(3, text.lines().filter(|line| line.starts_with("... and ")).count(), "{text}");
        }
    }
}
