//! `adyton top`: a live view of the events between two looks.

use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use adyton_sys::terminal::Size;
use serde_json::Value;

use crate::control::asking::{self, ask};
use crate::control::rounds::label;
use crate::view::screen::{Section, picture, printable, width};
use crate::view::status::{Counts, Memory, PrefixStatus, Status, WorkerStatus};
use crate::view::table::{Column, aligned, busy, heading, mib, rows};

/// How often the view looks at the server.
const LOOK: Duration = Duration::from_secs(1);

/// Two looks at a server, and the requests that run at the second look.
struct TwoLooks<'l> {
    before: &'l Status,
    now: &'l Status,
    running: &'l Value,
    /// The time between the two looks.
    seconds: f64,
}

/// Writes a JSON object on a line for each look: the status, with the requests that run.
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

/// Shows a live view, once a second, until Ctrl-C or until the server is gone.
pub(crate) fn top(path: &Path, color: bool) -> Result<(), String> {
    let nothing = Status::default();
    let mut before: Option<(Instant, Status)> = None;
    loop {
        let status = asking::status(path, ask(path, "GET", "/status")?)?;
        let running = ask(path, "GET", "/running")?;
        let now = Instant::now();
        let (earlier, seconds) = match &before {
            Some((then, last)) => (last, now.duration_since(*then).as_secs_f64()),
            // The first picture counts from the start of the server.
            None => (&nothing, status.uptime_s),
        };
        let looks = TwoLooks { before: earlier, now: &status, running: &running, seconds };
        let out = view(&looks, Size::of_stdout());
        // Without colours there is no terminal to redraw, or its user does not want it redrawn.
        let clear = if color { "\x1b[H\x1b[2J" } else { "" };
        let mut terminal = io::stdout();
        if write!(terminal, "{clear}{out}").and_then(|()| terminal.flush()).is_err() {
            return Ok(());
        }
        before = Some((now, status));
        sleep(LOOK);
    }
}

/// A worker, with its counts since the last look.
struct Live {
    worker: WorkerStatus,
    since: Counts,
    /// Requests for each second.
    rate: f64,
}

/// The columns of the live view: the counts since the last look, and the present state.
const LIVE: &[Column<Live>] = &[
    ("worker", |live| live.worker.label()),
    ("process", |live| live.worker.pid.to_string()),
    ("state", |live| live.worker.state.clone()),
    ("req/s", |live| format!("{:.0}", live.rate)),
    ("5xx", |live| live.since.errors.to_string()),
    ("in flight", |live| live.since.in_flight.to_string()),
    ("inline", |live| share(&live.since, live.since.inline)),
    ("handed", |live| share(&live.since, live.since.handed_over)),
    ("queued", |live| share(&live.since, live.since.queued)),
    ("queue wait", |live| mean(live.since.queue_wait_us, live.since.queue_waits)),
    ("interp. wait", |live| mean(live.since.interpreter_wait_us, live.since.interpreter_waits)),
    ("conns", |live| live.since.connections.to_string()),
    ("busy", |live| busy(&live.since)),
    ("queue", |live| live.since.queue_length.to_string()),
    ("rss", |live| mib(live.worker.rss_bytes)),
    ("pss", |live| mib(live.worker.pss_bytes.and_then(Memory::bytes))),
];

/// Columns that are left out, in this order, if a terminal is too narrow for all columns.
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

/// Returns the requests for each second.
fn rate(since: &Counts, seconds: f64) -> f64 {
    // The type holds this number exactly.
    #[expect(clippy::cast_precision_loss, reason = "requests between two looks")]
    let requests = since.requests as f64;
    requests / seconds.max(0.001)
}

/// Returns the share of the calls that took one way; `-` if there are no calls.
fn share(since: &Counts, way: u64) -> String {
    let calls = since.inline + since.handed_over + since.queued;
    (way * 100).checked_div(calls).map_or_else(|| "-".to_owned(), |part| format!("{part} %"))
}

/// Returns the mean wait; `-` when no request had to wait.
fn mean(sum_us: u64, waits: u64) -> String {
    sum_us.checked_div(waits).map_or_else(|| "-".to_owned(), |us| format!("{us} µs"))
}

/// Returns the view for a terminal of this size.
fn view(looks: &TwoLooks<'_>, size: Size) -> String {
    let TwoLooks { before, now, running, seconds } = *looks;
    let text = rates(&now.all_counts().since(&before.all_counts()), seconds) + &heading(now);
    let sections = vec![list(looks, size.columns), prefixes(before, now), slowest(running)];
    picture(&text, sections, size)
}

/// Returns a line for each worker, with the columns for which there is room.
fn list(looks: &TwoLooks<'_>, columns: usize) -> Section {
    let before = looks.before.all_workers();
    let live = looks.now.all_workers().into_iter().map(|worker| {
        let earlier = before.iter().find(|other| other.pid == worker.pid);
        let since =
            earlier.map_or_else(|| worker.counts.clone(), |earlier| worker.counts.since(&earlier.counts));
        Live { worker, rate: rate(&since, looks.seconds), since }
    });
    let live: Vec<Live> = live.collect();
    let (mut shown, mut spared) = (LIVE.to_vec(), SPARED.iter());
    let mut lines = rows(&shown, live.iter());
    while lines.iter().any(|line| width(line) > columns)
        && let Some(next) = spared.next()
    {
        shown.retain(|(title, _)| title != next);
        lines = rows(&shown, live.iter());
    }
    let rows = lines.split_off(1);
    Section::new([vec![String::new()], lines].concat(), rows, usize::MAX)
}

/// Returns the line of all workers together.
fn rates(total: &Counts, seconds: f64) -> String {
    format!(
        "{:.0} requests/s, {} in flight; inline {}, handed over {}, queued {}; 5xx {}; \
         mean waits: queue {}, interpreter {}\n",
        rate(total, seconds),
        total.in_flight,
        share(total, total.inline),
        share(total, total.handed_over),
        share(total, total.queued),
        total.errors,
        mean(total.queue_wait_us, total.queue_waits),
        mean(total.interpreter_wait_us, total.interpreter_waits)
    )
}

/// Returns the most frequent requests since the last look, by the first segment of the path.
fn prefixes(before: &Status, now: &Status) -> Section {
    const SHOWN: usize = 10;
    const TITLES: [&str; 4] = ["requests", "5xx", "mean ms", "path"];

    let numbers = |one: &PrefixStatus| [one.requests, one.errors, one.duration_us];
    let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
    let earlier = before.all_prefixes();
    for one in &now.all_prefixes() {
        let earlier = earlier.iter().find(|other| other.prefix == one.prefix);
        let (then, now) = (earlier.map_or([0; 3], numbers), numbers(one));
        let [requests, errors, us] = [0, 1, 2].map(|at| now[at].saturating_sub(then[at]));
        let mean = us.checked_div(requests).map_or_else(String::new, milliseconds);
        rows.push((requests, vec![requests.to_string(), errors.to_string(), mean, printable(&one.prefix)]));
    }
    rows.retain(|(requests, _)| *requests > 0);
    rows.sort_by_key(|(requests, _)| std::cmp::Reverse(*requests));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    let mut lines = aligned(&TITLES.map(str::to_owned), &rows);
    let rows = lines.split_off(1);
    let titles = [String::new(), "most asked for".to_owned()].into_iter().chain(lines);
    Section::new(titles.collect(), rows, SHOWN)
}

/// Returns microseconds as milliseconds: `0.3`.
fn milliseconds(us: u64) -> String {
    format!("{}.{}", us / 1000, us % 1000 / 100)
}

/// Returns the requests that have run longest.
fn slowest(running: &Value) -> Section {
    const SHOWN: usize = 10;

    let mut all: Vec<(u64, String)> = Vec::new();
    for worker in running.as_array().into_iter().flatten() {
        for task in worker["answer"].as_array().into_iter().flatten() {
            let request = task["request"].as_str().unwrap_or_default();
            let line = format!("{}  {request}", label(worker));
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

    use super::{LIVE, SPARED, Status, TwoLooks, prefixes, slowest, view};
    use crate::view::screen::{picture, width};

    /// Makes a status with these fields, and no others.
    fn status(known: Value) -> Status {
        serde_json::from_value(known).unwrap_or_default()
    }

    /// Rates, shares and means count from look to look, for all workers together and for each worker.
    #[test]
    fn between_two_looks() {
        let counted = |pid: u64, times: u64| {
            json!({"worker": 1, "pid": pid, "state": "serving", "requests": 200 * times, "inline": 50 * times,
                   "queued": 150 * times, "queue_waits": 150 * times, "queue_wait_us": 3_000 * times, "in_flight": 3,
                   "errors": times})
        };
        let look = |pid, times| status(json!({"total": counted(0, times), "workers": [counted(pid, times)]}));
        let expected = "100 requests/s, 3 in flight; inline 25 %, handed over 0 %, queued 75 %; 5xx 1; \
                        mean waits: queue 20 µs, interpreter -\n";
        let line = |text: &str| {
            let shown = text.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap_or_default();
            shown.split_whitespace().take(12).collect::<Vec<_>>().join(" ")
        };

        let between = |before: Status, now: Status, seconds: f64| {
            let looks = TwoLooks { before: &before, now: &now, running: &Value::Null, seconds };
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

    /// The most frequent requests since the last look come first, and paths without requests are left out.
    #[test]
    fn most_asked_for() {
        let text = |before: &Status, now: &Status| picture("", vec![prefixes(before, now)], Size::ENDLESS);
        let look = |shop: u64, api: u64| {
            status(json!({"prefixes": [
                {"prefix": "/shop", "requests": shop, "errors": 1, "duration_us": shop * 250},
                {"prefix": "/api", "requests": api, "errors": 0, "duration_us": api * 1_500},
                {"prefix": "/", "requests": 3, "errors": 0, "duration_us": 30},
            ]}))
        };
        let expected = "\nmost asked for\nrequests  5xx  mean ms   path\n     200    0      1.5   /api\n      \
                        10    0      0.2  /shop\n";

        assert_eq!(expected, text(&look(10, 100), &look(20, 300)));
        assert_eq!("", text(&look(1, 1), &look(1, 1)));
    }

    /// Each name in the list is the title of a column.
    #[test]
    fn spared() {
        for title in SPARED {
            assert!(LIVE.iter().any(|(known, _)| known == title), "{title}");
        }
    }

    /// However small the terminal and however long the lists: the headline stays, missing rows are counted, and no line
    /// is too long.
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
        let now = status(
            json!({"total": worker(0), "workers": workers, "prefixes": prefixes, "version": "1", "process": 1,
                         "state": "serving", "serves": "a.long.name.of:an_application (WSGI)"}),
        );
        let task = json!({"request": format!("GET /{}", "long/".repeat(30)), "for_ms": 1_000});
        let running = json!([{"worker": 1, "answer": vec![task; 30]}]);
        let looks = TwoLooks { before: &Status::default(), now: &now, running: &running, seconds: 1.0 };
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
