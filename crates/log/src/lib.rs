//! What is written down: the error log, the request that a line belongs to, and where lines go.
//!
//! An entry is one call of write(2), so that those of several processes stay apart. It may have several lines.

#![forbid(unsafe_code)]

mod entry;
pub mod escape;
pub mod messages;
mod output;
pub mod request;
pub mod sink;
pub mod stamp;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use adyton_sys::clock;

use crate::entry::{Entry, Source};
pub use crate::messages::Message;
pub use crate::output::{Stream, put_out};
use crate::sink::{Syslog, Target};

/// How much a message matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What helps to find a fault: each refused request, each connection that ended early.
    Debug,
    /// What the server does of its own accord.
    #[default]
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

    /// `debug`, `info`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);
static WORKER: AtomicUsize = AtomicUsize::new(0);
static JSON: AtomicBool = AtomicBool::new(false);
static FILE: OnceLock<PathBuf> = OnceLock::new();
static SYSLOG: OnceLock<Mutex<Syslog>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);

/// Leaves out what is below `level`, from now on and in the whole process.
pub fn set_level(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Says in each entry from now on that it comes from the worker with this number, from 1 on.
pub fn set_worker(number: usize) {
    WORKER.store(number, Ordering::Relaxed);
}

/// Writes each entry as one JSON object from now on.
pub fn set_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Whether entries are JSON.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Has entries go to `target` from now on. A file becomes this process's standard error, so that what the C library, a
/// fault or a child process says there arrives, too.
///
/// # Errors
///
/// It cannot be opened, or not be spoken to.
pub fn open(target: &Target) -> io::Result<()> {
    match target {
        Target::Standard => {}
        Target::File(path) => {
            adyton_sys::process::become_stderr(sink::open_file(path)?)?;
            // A process has one for its whole life.
            let _ = FILE.set(std::path::absolute(path)?);
        }
        Target::Syslog(address) => {
            // As above.
            let _ = SYSLOG.set(Mutex::new(Syslog::open(address)?));
        }
    }
    Ok(())
}

/// Opens the file again, under the same name: somebody has renamed it. What failed is told in the old one.
pub fn reopen() {
    let Some(path) = FILE.get() else { return };
    if let Err(error) = sink::open_file(path).and_then(adyton_sys::process::become_stderr) {
        let path = path.display();
        write(
            &messages::LOG_NOT_REOPENED,
            format_args!("the error log {path} cannot be opened again: {error}"),
        );
    }
}

/// Whether a message of this level is written; ask before making an expensive one.
pub fn wants(level: Level) -> bool {
    level as u8 >= LEAST.load(Ordering::Relaxed)
}

/// Writes a message of the server's. It may have several lines (a traceback); they stay together.
pub fn write(message: &Message, text: fmt::Arguments<'_>) {
    if wants(message.level) {
        put(&Source::Server(message), &text.to_string());
    }
}

/// Writes what the application's `logging` says; `name` is the logger's.
pub fn relay(level: Level, name: &str, text: &str) {
    if wants(level) {
        put(&Source::Logger(level, name), text.trim_end_matches('\n'));
    }
}

/// Writes one entry.
fn put(source: &Source<'_>, text: &str) {
    let worker = Some(WORKER.load(Ordering::Relaxed)).filter(|&number| number > 0);
    request::with_current(|request| {
        let entry = Entry { source, worker, request, text, unix_ms: clock::unix_ms() };
        if let Some(syslog) = SYSLOG.get() {
            // It has a time of its own.
            let line = if is_json() { entry.json() } else { entry.text_without_time() };
            let mut syslog = syslog.lock().unwrap_or_else(PoisonError::into_inner);
            return count(syslog.send(source.level(), source.code().as_deref(), &line).is_ok());
        }
        let mut line = if is_json() { entry.json() } else { entry.text() };
        line.push(b'\n');
        let lost = LOST.load(Ordering::Relaxed);
        if lost > 0 && io::stderr().lock().write_all(&entry::after_loss(lost, entry.unix_ms)).is_ok() {
            LOST.fetch_sub(lost, Ordering::Relaxed);
        }
        count(io::stderr().lock().write_all(&line).is_ok());
    });
}

/// A log that cannot be written must not stop the server: what was lost is told when it can be written again.
fn count(written: bool) {
    if !written {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}
