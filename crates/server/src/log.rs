//! The error log: one line per message on standard error, with the time and a level.

use std::fmt;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::SystemTime;

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What helps to find a fault: each refused request, each connection that ended early.
    Debug,
    /// What the server does of its own accord.
    Info,
    /// Something that is probably not meant so.
    Warning,
    /// A request, or more, was not served as it should be.
    Error,
}

impl Level {
    /// The level with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Debug, Self::Info, Self::Warning, Self::Error].into_iter().find(|level| level.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Leaves out what is below `level`, from now on and in the whole process.
pub fn set_level(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

static ORIGIN: OnceLock<String> = OnceLock::new();

/// Says in each message from now on which process of several it comes from, such as `worker 2`.
pub fn set_origin(origin: String) {
    // A process has one for its whole life.
    let _ = ORIGIN.set(origin);
}

/// Whether a message of this level is written; ask before making an expensive one.
pub fn wants(level: Level) -> bool {
    level as u8 >= LEAST.load(Ordering::Relaxed)
}

/// Writes one message. It may have several lines (a traceback); they stay together.
pub fn write(level: Level, message: fmt::Arguments<'_>) {
    if !wants(level) {
        return;
    }
    let now = httpdate::fmt_http_date(SystemTime::now());
    let line = match ORIGIN.get() {
        Some(origin) => format!("[{now}] {origin} {}: {message}\n", level.name()),
        None => format!("[{now}] {}: {message}\n", level.name()),
    };
    // A log that cannot be written must not stop the server, and there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
