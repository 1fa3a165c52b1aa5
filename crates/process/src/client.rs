//! `adyton status`, `reload`, `stop` and the other orders: a client of the control socket.

use std::borrow::Borrow;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use adyton_sys::process;
use serde_json::Value;

/// How long an order may take: a reload waits until the new workers serve.
const PATIENCE: Duration = Duration::from_secs(16 * 60);

/// How often `top` looks.
const LOOK: Duration = Duration::from_secs(1);

/// Where control sockets are that were given no path.
pub fn control_folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("RUNTIME_DIRECTORY") {
        return folder;
    }
    match process::user() {
        // Root's is the same for a service and for the shell of who looks at it, which alone has XDG_RUNTIME_DIR.
        0 => PathBuf::from("/run/adyton"),
        user => variable("XDG_RUNTIME_DIR").map_or_else(
            || std::env::temp_dir().join(format!("adyton-{user}")),
            |folder| folder.join("adyton"),
        ),
    }
}

/// Gives an order to a server that runs, and prints what it answers; the exit status of the program.
pub fn order(order: &str, about: Option<&str>, control: Option<&Path>, json: bool, color: bool) -> u8 {
    let done = find(control).and_then(|path| match order {
        "top" => top(&path, color),
        _ => give(&path, order, about, json),
    });
    match done {
        Ok(()) => 0,
        Err(sentence) => {
            eprintln!("adyton: {sentence}");
            1
        }
    }
}

/// The control socket of the only server that runs.
fn find(control: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = control {
        return Ok(path.to_owned());
    }
    let folder = control_folder();
    let entries =
        std::fs::read_dir(&folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut alive: Vec<PathBuf> = entries.unwrap_or_else(|_| Vec::new());
    alive.retain(|path| {
        path.extension().is_some_and(|end| end == "sock") && UnixStream::connect(path).is_ok()
    });
    alive.sort();
    let list = || {
        let lines: Vec<String> = alive.iter().map(|path| format!("  --control {}", path.display())).collect();
        lines.join("\n")
    };
    match alive.len() {
        0 => Err(format!("no server of this user runs: there is no control socket in {}", folder.display())),
        1 => Ok(alive.remove(0)),
        number => Err(format!("{number} servers run; say which one:\n{}", list())),
    }
}

/// Sends one request and takes the whole answer: its status and its body.
fn fetch(path: &Path, method: &str, target: &str) -> Result<(u16, Value), String> {
    let exchange = || -> io::Result<String> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: adyton\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer =
        exchange().map_err(|error| format!("the server at {} does not answer: {error}", path.display()))?;
    let whole = || {
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or_else(|_| Value::from(body))))
    };
    whole().ok_or_else(|| format!("what answers at {} is no control socket of Adyton", path.display()))
}

fn give(path: &Path, order: &str, about: Option<&str>, json: bool) -> Result<(), String> {
    let (method, target) = match (order, about) {
        ("status" | "dump", _) => ("GET", format!("/{order}")),
        ("stop", Some("fast")) => ("POST", "/stop?fast".to_owned()),
        ("workers", Some(how)) => ("POST", format!("/{how}")),
        ("log-level", Some(level)) => ("POST", format!("/log-level?{level}")),
        _ => ("POST", format!("/{order}")),
    };
    let (status, value) = fetch(path, method, &target)?;
    if status >= 400 {
        return Err(value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    if json {
        println!("{value}");
        return Ok(());
    }
    match order {
        "status" => print!("{}", table(&value)),
        "dump" => print!("{}", stacks(&value)),
        "reload" => println!(
            "generation {} serves in {} workers, after {} ms",
            value["generation"], value["workers"], value["took_ms"]
        ),
        "workers" => println!("{} workers wanted", value["processes"]),
        "log-level" => println!("logging from {} on", value["log_level"].as_str().unwrap_or_default()),
        _ => println!("{}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
    }
    Ok(())
}

fn stacks(value: &Value) -> String {
    let mut out = String::new();
    for worker in value.as_array().into_iter().flatten() {
        let _ = writeln!(out, "== worker {} (process {})", worker["worker"], worker["pid"]);
        let _ =
            writeln!(out, "{}", worker["answer"].as_str().unwrap_or("it did not answer in time").trim_end());
    }
    out
}

/// One column: its title, and how it shows a worker.
type Column = (&'static str, fn(&Value) -> String);

const COLUMNS: &[Column] = &[
    ("worker", |worker| worker["worker"].to_string()),
    ("process", |worker| worker["pid"].to_string()),
    ("gen", |worker| worker["generation"].to_string()),
    ("state", |worker| worker["state"].as_str().unwrap_or_default().to_owned()),
    ("age", |worker| age(worker["age_s"].as_f64().unwrap_or(0.0))),
    ("requests", |worker| worker["requests"].to_string()),
    ("5xx", |worker| worker["errors"].to_string()),
    ("inline", |worker| worker["inline"].to_string()),
    ("handed", |worker| worker["handed_over"].to_string()),
    ("queued", |worker| worker["queued"].to_string()),
    ("conns", |worker| worker["connections"].to_string()),
    ("busy", |worker| format!("{}/{}", worker["threads_busy"], worker["threads"])),
    ("queue", |worker| worker["queue_length"].to_string()),
    ("rss", |worker| mib(&worker["rss_bytes"])),
    ("pss", |worker| mib(&worker["pss_bytes"])),
];

fn mib(bytes: &Value) -> String {
    bytes.as_u64().map_or_else(|| "-".to_owned(), |bytes| format!("{} MiB", bytes >> 20))
}

fn age(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{seconds:.1} s")
    } else if seconds < 6_000.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3_600.0)
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

/// The whole status, for a person.
fn table(status: &Value) -> String {
    let mut out = heading(status);
    out += &workers(COLUMNS, each(status));
    out
}

/// The workers of a status.
fn each(status: &Value) -> impl Iterator<Item = &Value> {
    status["workers"].as_array().into_iter().flatten()
}

/// A line for each worker.
fn workers<T: Borrow<Value>>(columns: &[Column], workers: impl Iterator<Item = T>) -> String {
    let cells = |worker: T| columns.iter().map(|(_, show)| show(worker.borrow())).collect();
    let rows: Vec<Vec<String>> = workers.map(cells).collect();
    let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    let mut out = String::new();
    aligned(&mut out, &titles, &rows);
    out
}

/// What stands above the workers.
fn heading(status: &Value) -> String {
    let text = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
    let mut out = format!(
        "adyton {}, process {}: {}, generation {}, up {}\n",
        text("version"),
        status["process"],
        text("state"),
        status["generation"],
        age(status["uptime_s"].as_f64().unwrap_or(0.0))
    );
    if !text("serves").is_empty() {
        let _ = writeln!(out, "serves {}", text("serves"));
    }
    let total = &status["total"];
    let _ = writeln!(
        out,
        "{} requests, {} of them 5xx, {} turned away, {} timed out; {} workers started",
        total["requests"], total["errors"], total["turned_away"], total["timed_out"], status["starts"]
    );
    let deaths: Vec<String> = status["deaths"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(cause, count)| format!("{count} {}", cause.replace('_', " ")))
        .collect();
    if !deaths.is_empty() {
        let _ = writeln!(out, "workers that have ended: {}", deaths.join(", "));
    }
    out.push('\n');
    out
}

/// A table with its columns as wide as they have to be, numbers to the right.
fn aligned(out: &mut String, titles: &[String], rows: &[Vec<String>]) {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).chain([titles[at].len()]).max();
    let widths: Vec<usize> = (0..titles.len()).map(|at| width(at).unwrap_or(0)).collect();
    for row in std::iter::once(titles).chain(rows.iter().map(Vec::as_slice)) {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
}

/// A live view, once a second, until Ctrl-C or until the server is gone.
fn top(path: &Path, color: bool) -> Result<(), String> {
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

    use super::{age, prefixes, slowest, table, view};

    /// A table lines up, whatever is in it.
    #[test]
    fn tables() {
        let worker = |number: u64, requests: u64| {
            json!({"worker": number, "pid": 10, "generation": 1, "state": "serving", "age_s": 1.25,
                   "requests": requests, "rss_bytes": 3 << 20})
        };
        let status = json!({"version": "1", "process": 9, "state": "serving", "generation": 1, "uptime_s": 1.0,
                            "workers": [worker(1, 5), worker(2, 123_456_789)], "deaths": {"out_of_memory": 2}});

        let text = table(&status);

        assert!(text.contains("2 out of memory"), "{text}");
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("worker ")).collect();
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    }

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

    #[test]
    fn ages() {
        assert_eq!(("1.2 s", "10 min", "2.8 h"), (&*age(1.25), &*age(600.0), &*age(10_000.0)));
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
