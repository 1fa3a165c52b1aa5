//! The error log: its destination, its entries, which are written at once or by the log's thread, and the count of lost
//! entries.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::{fmt, io};

use adyton_sys::stdio::Standard;
use adyton_sys::{clock, forks, process, stdio};

use crate::entry::{Entry, LOST_WORDS, Source};
use crate::journal::{Counter, END_PATIENCE, EntryStore, Journal};
use crate::level::Level;
use crate::messages::{self, Message};
use crate::request_id::{self, RequestId};
use crate::settings::{self, wants};
use crate::sink::{Destination, Sink, Syslog};
use crate::{files, original_stderr};

static FILE: OnceLock<PathBuf> = OnceLock::new();
static SYSLOG: OnceLock<Mutex<Syslog>> = OnceLock::new();
/// The error log's own descriptor, which stays open whatever the application does to descriptor 2. It keeps its number
/// when the log is opened again.
static OWN: OnceLock<Arc<File>> = OnceLock::new();
static JOURNALS: OnceLock<Box<Link>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// The error log's queue in one process; `next` is the queue in a process that was forked from that process.
struct Link {
    generation: u64,
    journal: Journal,
    next: OnceLock<Box<Link>>,
}

/// Has entries go to `destination` from now on. A file becomes this process's standard error, too, so that messages of
/// the C library, of a fault or of a child process arrive there. Call it before any code of an application runs:
/// changes that the application makes to its standard streams later have no effect on the log.
///
/// # Errors
///
/// `destination` is a file that cannot be opened.
pub fn open(destination: &Destination) -> io::Result<()> {
    stdio::occupy()?;
    files::keep_stdout()?;
    match destination {
        Destination::Standard => files::set_file(&OWN, File::from(stdio::copy_of(Standard::Error)?))?,
        Destination::File(path) => {
            let path = std::path::absolute(path)?;
            let file = files::open_file(&path)?;
            original_stderr::keep(&file);
            process::become_stderr(&file)?;
            files::set_file(&OWN, file)?;
            // A process has one error log for its whole life.
            let _ = FILE.set(path);
        }
        Destination::Syslog(address) => {
            // Syslog, too, is set once.
            let _ = SYSLOG.set(Mutex::new(Syslog::open(address)));
        }
    }
    Ok(())
}

/// Has a thread of its own write the error log from now on, unless it is syslog, which never keeps a thread waiting; at
/// most `bytes_max` bytes wait to be written. Call it in the process that serves, because a thread does not survive a
/// fork, and after the import of the application, which may fork.
///
/// # Errors
///
/// The process may not have another thread.
pub fn begin_queue(bytes_max: usize) -> io::Result<()> {
    let Some(own) = OWN.get().filter(|_| SYSLOG.get().is_none()) else { return Ok(()) };
    if let Some(journal) = journal() {
        return journal.begin();
    }
    let journal = Journal::errors(Sink::of_entries(Arc::clone(own)), bytes_max)?;
    let mut place = &JOURNALS;
    while let Some(link) = place.get() {
        place = &link.next;
    }
    // No other thread begins a queue at the same time.
    let _ = place.set(Box::new(Link { generation: forks::generation(), journal, next: OnceLock::new() }));
    process::at_exit(settle);
    Ok(())
}

/// Ends the queue's thread when everything queued is written, so that a process that is forked from now on has no
/// thread of the server.
pub fn end_queue() {
    if let Some(journal) = journal() {
        journal.end();
    }
}

/// Returns the error log's queue in this process. A forked child has a queue of its own, or none: the threads of its
/// parent do not exist in it, and a lock that one of these threads held is never released.
fn journal() -> Option<&'static Journal> {
    let generation = forks::generation();
    let mut place = &JOURNALS;
    while let Some(link) = place.get() {
        if link.generation == generation {
            return Some(&link.journal);
        }
        place = &link.next;
    }
    None
}

/// Waits a moment for all entries to be written. A thread that is about to end the process calls this.
pub fn settle() {
    if let Some(journal) = journal() {
        journal.settle(END_PATIENCE);
    }
}

/// Counts lost entries in `counter`, too, and notes entries that are not written yet in `leaves`, a store that outlives
/// this process.
pub fn leave_in(counter: Counter, leaves: Box<dyn EntryStore>) {
    if let Some(journal) = journal() {
        journal.count_in(counter);
        journal.leave_in(leaves);
    }
}

/// Returns how many entries this process has lost since a thread began to write them.
pub fn entries_lost() -> u64 {
    journal().map_or(0, Journal::lost)
}

/// Writes entries that another process has left.
pub fn put_left(entries: Vec<u8>) {
    put_line(entries);
}

/// Opens the file again, under the same name, after it was renamed. The log's thread opens it, if there is one.
pub fn reopen() {
    match journal() {
        Some(journal) => journal.reopen(),
        None => drop(open_again()),
    }
}

/// Opens the file again like [`reopen`], but never on the calling thread if there can be another; `then` is called
/// afterwards.
pub fn reopen_then(then: Box<dyn FnOnce() + Send>) {
    if let Some(journal) = journal() {
        return journal.reopen_then(then);
    }
    let then = Arc::new(Mutex::new(Some(then)));
    let open = move || {
        open_again();
        let then = then.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(then) = then {
            then();
        }
    };
    if std::thread::Builder::new().name("adyton-reopen".into()).spawn(open.clone()).is_err() {
        open();
    }
}

/// Opens the file again and replaces the former file with it, also as standard error, unless standard error is another
/// file by now. A failure is reported in the former file.
pub(crate) fn open_again() -> Option<Arc<File>> {
    for (path, made) in files::open_for_others() {
        told(path, made);
    }
    let own = OWN.get()?;
    if let Some(path) = FILE.get() {
        let open = || {
            let file = files::open_file(path)?;
            stdio::replace_if_still(Standard::Error, &**own, &file)?;
            stdio::replace(&**own, file)
        };
        told(path, open());
    }
    Some(Arc::clone(own))
}

fn told(path: &Path, done: io::Result<()>) {
    if let Err(error) = done {
        let path = path.display();
        write(&messages::LOG_NOT_REOPENED, format_args!("the log {path} cannot be opened again: {error}"));
    }
}

/// Writes a message of the server's. It may have several lines (a traceback); they stay together.
pub fn write(message: &Message, text: fmt::Arguments<'_>) {
    if wants(message.level) {
        put(&Source::Server(message), &text.to_string());
    }
}

/// Writes a message about `request`, which this thread does not serve; `None` if the request is unknown.
pub fn write_about(request: Option<&RequestId>, message: &Message, text: fmt::Arguments<'_>) {
    if wants(message.level) {
        put_about(request, &Source::Server(message), &text.to_string());
    }
}

/// Writes an entry of the application's `logging`; `name` is the logger's.
pub fn relay(level: Level, name: &str, text: &str) {
    if wants(level) {
        put(&Source::Logger(level, name), text.trim_end_matches('\n'));
    }
}

/// Says something in plain text to the user at the terminal, and as an entry to programs that read entries.
pub fn announce(message: &Message, text: &str) {
    let collected = SYSLOG.get().is_some();
    if settings::is_json() || collected {
        put(&Source::Server(message), text.trim_end());
    }
    if !settings::is_json() || collected {
        put_line(text.as_bytes().to_vec());
    }
}

/// Says why the server does not serve: in plain text to the user who started it, and as an entry if the log is a file,
/// syslog or JSON.
pub fn complain(message: &Message, text: &str) {
    let collected = SYSLOG.get().is_some();
    if settings::is_json() || collected || FILE.get().is_some() {
        put(&Source::Server(message), text.strip_prefix("adyton: ").unwrap_or(text).trim_end());
    }
    if collected || !settings::is_json() && FILE.get().is_none() {
        put_line(text.as_bytes().to_vec());
    }
    tell_onlooker(text);
}

/// Writes text to the standard error that the server was started with, if a log file has replaced it since.
pub fn tell_onlooker(text: &str) {
    original_stderr::write(text.as_bytes());
}

/// Writes one entry.
pub(crate) fn put(source: &Source<'_>, text: &str) {
    request_id::with_current(|request| put_about(request, source, text));
}

fn put_about(request: Option<&RequestId>, source: &Source<'_>, text: &str) {
    let entry = Entry {
        source,
        group: settings::group(),
        worker: settings::worker(),
        request,
        unix_ms: clock::unix_ms(),
    };
    match SYSLOG.get() {
        None => put_line(entry.line(text)),
        Some(syslog) => put_counted(|lost| match lost {
            Some(lost) => collect(syslog, &Entry::of_loss(entry.unix_ms), &lost),
            None => collect(syslog, &entry, text),
        }),
    }
}

/// Writes text as it is, such as an application's output to `wsgi.errors` if entries are not collected.
pub fn put_plain(text: &str) {
    put_line(text.as_bytes().to_vec());
}

/// Writes an entry, at once or through the queue.
fn put_line(line: Vec<u8>) {
    let rest = match journal() {
        Some(journal) => journal.put_entry(line),
        None => Some(line),
    };
    let Some(line) = rest else { return };
    put_counted(|lost| match lost {
        Some(lost) => write_at_once(Entry::of_loss(clock::unix_ms()).line(&lost)),
        None => write_at_once(line.clone()),
    });
}

/// Writes the count of lost entries, if any, and then the entry.
fn put_counted(send: impl Fn(Option<String>) -> io::Result<()>) {
    let lost = take_lost();
    if lost > 0 {
        match send(Some(format!("{lost} {LOST_WORDS}"))) {
            Ok(()) => original_stderr::regained(lost),
            Err(_) => drop(LOST.fetch_add(lost, Ordering::Relaxed)),
        }
    }
    if let Err(error) = send(None) {
        // A log that cannot be written must not stop the server: the loss is reported when it can be written again.
        LOST.fetch_add(1, Ordering::Relaxed);
        original_stderr::lost(&error, true);
    }
}

/// Takes the count of entries that were lost without a queue and are not reported yet.
pub(crate) fn take_lost() -> u64 {
    if LOST.load(Ordering::Relaxed) == 0 { 0 } else { LOST.swap(0, Ordering::Relaxed) }
}

/// Writes without a queue: before anything is served, or in a child that the application has forked. Such a child is a
/// plain program, whose entries go to its standard error.
fn write_at_once(mut line: Vec<u8>) -> io::Result<()> {
    if IS_CUT.load(Ordering::Relaxed) {
        // A line feed keeps this entry apart from an entry that a full disk has cut.
        line.insert(0, b'\n');
    }
    let written = match OWN.get() {
        Some(own) if !forks::is_child() => process::write_at_once(&**own, &line),
        _ => process::write_stderr(&line),
    };
    IS_CUT.store(written.is_err(), Ordering::Relaxed);
    written
}

/// Sends an entry to syslog, whose messages have a time of their own.
fn collect(syslog: &Mutex<Syslog>, entry: &Entry<'_>, text: &str) -> io::Result<()> {
    let line = if settings::is_json() { entry.json(text) } else { entry.text_without_time(text) };
    let code = entry.source.code();
    try_lock(syslog)?.send(entry.source.level(), code.as_deref(), &line)
}

/// Locks the connection to syslog. In a child that was forked while another thread had the lock, the lock is never
/// released.
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

/// How many times a thread tries to lock the connection to syslog.
const TRIES_MAX: u32 = 1_000;
