//! The banner: lines about the server that it prints when it starts.

use std::fmt::Write as _;
use std::path::PathBuf;

use adyton_cli::{Settings, Target, VERSION};
use adyton_log::messages;
use adyton_process::Bounds;
use adyton_server::Config;
use adyton_sys::process;

/// Counts of the processes that serve, for the banner.
pub(crate) struct Crowd {
    pub(crate) processes: usize,
    /// The least and the most processes that there may be later.
    pub(crate) bounds: Bounds,
    /// The reason for the number of processes.
    pub(crate) why: String,
    pub(crate) loops: usize,
    pub(crate) control: Option<PathBuf>,
    pub(crate) admin: Option<String>,
}

impl Crowd {
    /// Counts of one process without a supervisor.
    pub(crate) fn alone(loops: usize) -> Self {
        let bounds = Bounds::default();
        Self { processes: 0, bounds, why: String::new(), loops, control: None, admin: None }
    }
}

/// Prints the banner.
pub(crate) fn print(text: &str) {
    adyton_log::announce(&messages::SERVES, text);
}

/// The banner's text: what is served, where, by which Python, with which limits.
pub(crate) fn text(
    python: &str,
    settings: &Settings,
    serves: &str,
    config: &Config,
    listening: &[String],
    crowd: &Crowd,
) -> String {
    let plural = |number: usize, of: &str| format!("{number} {of}{}", if number == 1 { "" } else { "s" });
    let mut text = format!("adyton {VERSION} on {python}, process {}\n", process::id());
    if !serves.is_empty() {
        let _ = write!(text, "  serves   {serves}, {}", plural(config.threads, "thread"));
        if crowd.loops > 1 {
            let _ = write!(text, ", {} event loops", crowd.loops);
        }
        text.push('\n');
    }
    if crowd.processes > 0 {
        let _ = writeln!(text, "  workers  {}: {}", workers(crowd.processes, crowd.bounds), crowd.why);
    }
    if settings.processes.reload {
        text.push_str("  reload   when a file changes: for development only\n");
    }
    for (prefix, folder) in folder_list(settings) {
        let _ = writeln!(text, "  static   {prefix} -> {folder}");
    }
    let _ = writeln!(
        text,
        "  limits   body {}, head {}, {} connections, keep-alive {} s",
        size(settings.messages.body_bytes_max),
        size(config.head.head_bytes_max as u64),
        config.connections_max,
        settings.timeouts.keep_alive_timeout_ms / 1000
    );
    if let Some(path) = &crowd.control {
        let _ = writeln!(text, "  control  {}", path.display());
    }
    if let Some(admin) = &crowd.admin {
        let _ = writeln!(text, "  admin    {admin}");
    }
    for shown in listening {
        let _ = writeln!(text, "adyton: listening on {shown}");
    }
    text
}

fn workers(number: usize, Bounds { least, most }: Bounds) -> String {
    let now = if number == 1 { "1 process".to_owned() } else { format!("{number} processes") };
    if least == most { now } else { format!("{now}, later {least} to {most}") }
}

/// The served folders, for a person.
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
    let mounts = settings.files.statics.iter().map(|mount| (mount.prefix.clone(), &mount.dir));
    mounts.chain(root).map(|(prefix, folder)| (format!("{prefix}/"), folder.display().to_string())).collect()
}

/// A number of bytes in the largest unit that divides it.
pub(crate) fn size(bytes: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}
