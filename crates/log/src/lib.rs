//! What is written down: the error log, the request that a line belongs to, and where lines go.
//!
//! An entry is one call of write(2), so that those of several processes stay apart. It may have several lines.

#![forbid(unsafe_code)]

mod entry;
pub mod escape;
mod former;
pub mod messages;
mod output;
pub mod request;
pub mod sink;
pub mod stamp;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::{fmt, io};

use adyton_sys::user::Identity;
use adyton_sys::{clock, process};

use crate::entry::{Entry, Source};
pub use crate::messages::Message;
pub use crate::output::{Stream, end_lines, put_out};
use crate::request::RequestId;
use crate::sink::{Syslog, Target, open_file_for};

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
/// What was standard error before a file took its place, until the server serves: somebody may be looking at it.
static OTHERS: OnceLock<(Identity, Vec<PathBuf>)> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);
static IS_CUT: AtomicBool = AtomicBool::new(false);

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
/// It is a file that cannot be opened.
pub fn open(target: &Target) -> io::Result<()> {
    match target {
        Target::Standard => {}
        Target::File(path) => {
            let path = std::path::absolute(path)?;
            let file = open_file(&path)?;
            former::keep(&file);
            process::become_stderr(file)?;
            // A process has one for its whole life.
            let _ = FILE.set(path);
        }
        Target::Syslog(address) => {
            // As above.
            let _ = SYSLOG.set(Mutex::new(Syslog::open(address)));
        }
    }
    Ok(())
}

/// Makes these files of logs for another user, now and whenever they are opened again, so that processes of that user
/// can open them. For a supervisor that is root.
///
/// # Errors
///
/// One cannot be opened.
pub fn make_for(identity: Identity, files: Vec<PathBuf>) -> io::Result<()> {
    // As above.
    let (identity, files) = OTHERS.get_or_init(|| (identity, files));
    files.iter().try_for_each(|path| open_file_for(path, identity, 0).map(|_| ()))
}

fn open_file(path: &Path) -> io::Result<File> {
    open_file_with(path, 0)
}

/// Opens the file of a log, with further flags of open(2).
fn open_file_with(path: &Path, flags: i32) -> io::Result<File> {
    match OTHERS.get() {
        Some((identity, _)) => open_file_for(path, identity, flags),
        None => sink::open_file(path, flags),
    }
}

/// Opens the file again, under the same name: somebody has renamed it. What failed is told in the old one.
pub fn reopen() {
    for path in OTHERS.get().map_or(&[][..], |(_, files)| files) {
        let made = open_file(path);
        told(path, made.map(|_| ()));
    }
    if let Some(path) = FILE.get() {
        told(path, open_file(path).and_then(process::become_stderr));
    }
}

fn told(path: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        let path = path.display();
        write(&messages::LOG_NOT_REOPENED, format_args!("the log {path} cannot be opened again: {error}"));
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

/// Writes a message about a request that this thread does not serve, if it is known which.
pub fn write_about(request: Option<&RequestId>, message: &Message, text: fmt::Arguments<'_>) {
    if wants(message.level) {
        put_about(request, &Source::Server(message), &text.to_string());
    }
}

/// Writes what the application's `logging` says; `name` is the logger's.
pub fn relay(level: Level, name: &str, text: &str) {
    if wants(level) {
        put(&Source::Logger(level, name), text.trim_end_matches('\n'));
    }
}

/// Says something to whoever looks on, as it is, and to programs that read entries.
pub fn announce(message: &Message, text: &str) {
    let collected = SYSLOG.get().is_some();
    if is_json() || collected {
        put(&Source::Server(message), text.trim_end());
    }
    if !is_json() || collected {
        count(&process::write_stderr(text.as_bytes()));
    }
}

/// Says why nothing is served: to whoever has started this as it is, and where entries go as one.
pub fn complain(message: &Message, text: &str) {
    let collected = SYSLOG.get().is_some();
    if is_json() || collected || FILE.get().is_some() {
        put(&Source::Server(message), text.strip_prefix("adyton: ").unwrap_or(text).trim_end());
    }
    if collected || !is_json() && FILE.get().is_none() {
        count(&process::write_stderr(text.as_bytes()));
    }
    tell_onlooker(text);
}

/// Says something to whoever has started this, if that is not seen where entries go.
pub fn tell_onlooker(text: &str) {
    former::write(text.as_bytes());
}

/// Writes one entry.
fn put(source: &Source<'_>, text: &str) {
    request::with_current(|request| put_about(request, source, text));
}

fn put_about(request: Option<&RequestId>, source: &Source<'_>, text: &str) {
    let worker = Some(WORKER.load(Ordering::Relaxed)).filter(|&number| number > 0);
    let unix_ms = clock::unix_ms();
    let lost = LOST.swap(0, Ordering::Relaxed);
    if lost > 0 {
        match send(&Entry::of_loss(unix_ms), &format!("{lost} {}", entry::LOST_WORDS)) {
            Ok(()) => former::regained(lost),
            Err(_) => drop(LOST.fetch_add(lost, Ordering::Relaxed)),
        }
    }
    count(&send(&Entry { source, worker, request, unix_ms }, text));
}

fn send(entry: &Entry<'_>, text: &str) -> io::Result<()> {
    if let Some(syslog) = SYSLOG.get() {
        // It has a time of its own.
        let line = if is_json() { entry.json(text) } else { entry.text_without_time(text) };
        let code = entry.source.code();
        return try_lock(syslog)?.send(entry.source.level(), code.as_deref(), &line);
    }
    let mut line = Vec::new();
    if IS_CUT.load(Ordering::Relaxed) {
        // What comes now is not the rest of an entry that a full disk has cut.
        line.push(b'\n');
    }
    line.append(&mut if is_json() { entry.json(text) } else { entry.text(text) });
    line.push(b'\n');
    let written = process::write_stderr(&line);
    IS_CUT.store(written.is_err(), Ordering::Relaxed);
    written
}

/// The connection to syslog. In a child that was forked while another thread had it, it never comes free.
fn try_lock(syslog: &Mutex<Syslog>) -> io::Result<MutexGuard<'_, Syslog>> {
    for _ in 0..TRIES_MAX {
        match syslog.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// How often syslog is tried.
const TRIES_MAX: u32 = 1_000;

/// A log that cannot be written must not stop the server: what was lost is told when it can be written again.
fn count(written: &io::Result<()>) {
    if let Err(error) = written {
        LOST.fetch_add(1, Ordering::Relaxed);
        former::lost(error);
    }
}
