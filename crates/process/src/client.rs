//! `adyton status`, `reload`, `stop` and the other orders: a client of the control socket.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adyton_sys::process;
use serde_json::Value;

use crate::table::{number_of_workers, table};
use crate::top::{record, top};

/// How long an order may take: a reload waits until the new workers serve.
const PATIENCE: Duration = Duration::from_secs(16 * 60);

/// More than a thousand workers with all their stacks.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

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
        "top" if json => record(&path),
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

/// Sends one request and takes the whole answer; a refusal is an error, and so is what does not answer the question:
/// who reads that a reload is done, deploys.
pub(crate) fn ask(path: &Path, method: &str, target: &str) -> Result<Value, String> {
    match fetch(path, method, target)? {
        (400.., value) => Err(harmless(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))),
        (_, value) if answers(target, &value) => Ok(value),
        _ => Err(stranger(path)),
    }
}

/// Sends one request and takes the whole answer: its status and its body.
fn fetch(path: &Path, method: &str, target: &str) -> Result<(u16, Value), String> {
    let exchange = || -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: adyton\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer =
        exchange().map_err(|error| format!("the server at {} does not answer: {error}", path.display()))?;
    let (status, length, body) = apart(&answer).ok_or_else(|| stranger(path))?;
    if body.len() < length {
        return Err(format!("the server at {} has ended in the middle of its answer", path.display()));
    }
    let value = serde_json::from_slice(body).map_err(|_| stranger(path))?;
    Ok((status, value))
}

/// Takes an answer of HTTP apart: its status, how long its body should be, and what there is of that.
fn apart(answer: &[u8]) -> Option<(u16, usize, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, length) = fields.find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"))?;
    Some((status, length.trim().parse().ok()?, &answer[end + 4..]))
}

/// Whether this is what the question at `target` is answered with.
fn answers(target: &str, value: &Value) -> bool {
    match target.split('?').next().unwrap_or_default() {
        "/status" => value["workers"].is_array(),
        "/dump" | "/running" => value.is_array(),
        "/reload" => value["generation"].is_number(),
        "/more" | "/fewer" => value["processes"].is_number(),
        "/log-level" => value["log_level"].is_string(),
        _ => value.is_string(),
    }
}

fn stranger(path: &Path) -> String {
    format!("what answers at {} is no control socket of Adyton", path.display())
}

/// A sentence of a stranger, perhaps, who must not give orders to this terminal.
fn harmless(sentence: &str) -> String {
    let escape = |letter: char| {
        if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
    };
    sentence.chars().map(escape).collect()
}

fn give(path: &Path, order: &str, about: Option<&str>, json: bool) -> Result<(), String> {
    let (method, target) = match (order, about) {
        ("status" | "dump", _) => ("GET", format!("/{order}")),
        ("stop", Some("fast")) => ("POST", "/stop?fast".to_owned()),
        ("workers", Some(how)) => ("POST", format!("/{how}")),
        ("log-level", Some(level)) => ("POST", format!("/log-level?{level}")),
        _ => ("POST", format!("/{order}")),
    };
    let value = ask(path, method, &target)?;
    let out = if json { format!("{value}\n") } else { in_words(order, &value) };
    // Who has seen enough of it, and closes the pipe, is right.
    let _ = io::stdout().write_all(out.as_bytes());
    Ok(())
}

/// What came of an order, for a person.
fn in_words(order: &str, value: &Value) -> String {
    match order {
        "status" => table(value),
        "dump" => stacks(value),
        "reload" => format!(
            "generation {} serves in {}, after {} ms\n",
            value["generation"],
            number_of_workers(&value["workers"]),
            value["took_ms"]
        ),
        "workers" => format!("{} wanted\n", number_of_workers(&value["processes"])),
        "log-level" => format!("logging from {} on\n", value["log_level"].as_str().unwrap_or_default()),
        _ => format!("{}\n", value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
    }
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
