//! What the server says of itself when it starts.

use std::fmt::Write as _;

use adyton_cli::{Settings, Target, VERSION};
use adyton_server::Config;
use adyton_sys::process;
use pyo3::prelude::*;

use super::listen::Listening;
use super::{Application, Failure};

/// Prints the banner: what is served, where, by which Python, with which limits.
pub(crate) fn print(
    py: Python<'_>,
    settings: &Settings,
    application: Option<&Application>,
    config: &Config,
    listening: &[Listening],
    loops: usize,
) -> Result<(), Failure> {
    let python: String = py.import("adyton._load")?.call_method0("python")?.extract()?;
    let mut text = format!("adyton {VERSION} on {python}, process {}\n", process::id());
    if let Some(application) = application {
        let plural = |number: usize| if number == 1 { "" } else { "s" };
        let threads = config.threads;
        let _ = write!(text, "  serves   {}, {threads} thread{}", application.description, plural(threads));
        if loops > 1 {
            let _ = write!(text, ", {loops} event loops");
        }
        text.push('\n');
    }
    for (prefix, folder) in folder_list(settings) {
        let _ = writeln!(text, "  static   {prefix} -> {folder}");
    }
    let _ = writeln!(
        text,
        "  limits   body {}, head {}, {} connections, keep-alive {} s",
        size(config.body_bytes_max),
        size(config.head.head_bytes_max as u64),
        config.connections_max,
        config.keep_alive_timeout_ms / 1000
    );
    for listening in listening {
        let _ = writeln!(text, "adyton: listening on {}", listening.shown);
    }
    eprint!("{text}");
    Ok(())
}

/// The folders that are served, for a person.
pub(crate) fn folders(settings: &Settings) -> String {
    let list: Vec<String> =
        folder_list(settings).into_iter().map(|(prefix, folder)| format!("{prefix} -> {folder}")).collect();
    list.join(", ")
}

fn folder_list(settings: &Settings) -> Vec<(String, String)> {
    let root = match &settings.located {
        Some(Target::Folder(folder)) => Some((String::new(), folder)),
        _ => None,
    };
    let mounts = settings.statics.iter().map(|mount| (mount.prefix.clone(), &mount.dir));
    mounts.chain(root).map(|(prefix, folder)| (format!("{prefix}/"), folder.display().to_string())).collect()
}

/// A number of bytes in the largest unit that divides it.
fn size(bytes: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}
