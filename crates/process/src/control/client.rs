//! `adyton status`, `reload`, `stop` and the other orders: a client of the control socket.

use std::fmt::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use adyton_sys::{process, stdio};
use serde_json::Value;

use crate::control::asking::{ask, status};
use crate::control::rounds::label;
use crate::view::table::{number_of_workers, table};
use crate::view::top::{record, top};

/// Returns the folder of control sockets for which no path was set.
pub fn control_folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("RUNTIME_DIRECTORY") {
        return folder;
    }
    match process::user() {
        // The folder of root is the same for a service and for an administrator's shell, although only the shell has
        // XDG_RUNTIME_DIR.
        0 => PathBuf::from("/run/adyton"),
        user => variable("XDG_RUNTIME_DIR").map_or_else(
            || std::env::temp_dir().join(format!("adyton-{user}")),
            |folder| folder.join("adyton"),
        ),
    }
}

/// Gives an order to a running server, and prints the answer; returns the exit status of the program.
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

/// Finds the control socket of the only server that runs.
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

fn give(path: &Path, order: &str, about: Option<&str>, json: bool) -> Result<(), String> {
    let (method, target) = match (order, about) {
        ("status" | "dump", _) => ("GET", format!("/{order}")),
        ("stop", Some("fast")) => ("POST", "/stop?fast".to_owned()),
        ("reload", Some(group)) => ("POST", format!("/reload?{group}")),
        ("workers", Some(how)) => ("POST", format!("/{how}")),
        ("log-level", Some(level)) => ("POST", format!("/log-level?{level}")),
        _ => ("POST", format!("/{order}")),
    };
    let value = ask(path, method, &target)?;
    let out = if json { format!("{value}\n") } else { in_words(path, order, &value)? };
    stdio::print(&out).map_err(|error| error.to_string())
}

/// Returns the result of an order, in words for a person.
fn in_words(path: &Path, order: &str, value: &Value) -> Result<String, String> {
    Ok(match order {
        "status" => table(&status(path, value.clone())?),
        "dump" => stacks(value),
        "reload" => reloaded(value),
        "workers" => format!("{} wanted\n", number_of_workers(value["processes"].as_u64().unwrap_or(0))),
        "log-level" => format!("logging from {} on\n", value["log_level"].as_str().unwrap_or_default()),
        _ => format!("{}\n", value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
    })
}

fn reloaded(value: &Value) -> String {
    let group = value["group"].as_str().map_or(String::new(), |name| format!("group {name}: "));
    let serves = match (value["workers"].as_u64(), value["took_ms"].as_u64()) {
        (Some(workers), Some(ms)) => format!(
            "generation {} serves in {}, after {ms} ms",
            value["generation"],
            number_of_workers(workers)
        ),
        (None, Some(ms)) => format!("serves again, after {ms} ms"),
        _ => "has no process; the next request starts a new one".to_owned(),
    };
    let kept = value["kept_groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let kept = match kept.collect::<Vec<_>>()[..] {
        [] => String::new(),
        ref names => format!(
            "groups that have not changed keep their processes: {}\n(adyton reload NAME replaces those of a group)\n",
            names.join(", ")
        ),
    };
    format!("{group}{serves}\n{kept}")
}

fn stacks(value: &Value) -> String {
    let mut out = String::new();
    for worker in value.as_array().into_iter().flatten() {
        let _ = writeln!(out, "== {} (process {})", label(worker), worker["pid"]);
        let _ =
            writeln!(out, "{}", worker["answer"].as_str().unwrap_or("it did not answer in time").trim_end());
    }
    out
}
