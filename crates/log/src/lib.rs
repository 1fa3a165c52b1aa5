//! What is written down: the error log, the request that a line belongs to, and where lines go.
//!
//! An entry is one call of write(2), so that those of several processes stay apart. It may have several lines. Where requests
//! are served, a thread for each log writes it (`journal.rs`).

#![forbid(unsafe_code)]

mod entry;
pub mod escape;
mod former;
mod journal;
pub mod messages;
mod output;
pub mod request;
pub mod sink;
pub mod stamp;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::{fmt, io};

use adyton_sys::stdio::Standard;
use adyton_sys::user::Identity;
use adyton_sys::{clock, forks, process, stdio};

use crate::entry::{Entry, Source};
pub use crate::journal::{Counter, END_PATIENCE, Journal, Leaves};
pub use crate::messages::Message;
pub use crate::output::{Stream, end_lines, put_out};
use crate::request::RequestId;
use crate::sink::{Sink, Syslog, Target, open_file_for};

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
/// The error log, whatever the application does to descriptor 2. It keeps its number when it is opened again.
static OWN: OnceLock<Arc<File>> = OnceLock::new();
/// Standard output, likewise.
static STDOUT: OnceLock<Arc<File>> = OnceLock::new();
static JOURNALS: OnceLock<Box<Link>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);
static IS_CUT: AtomicBool = AtomicBool::new(false);

/// The error log's queue in one process of those that were forked from each other.
struct Link {
    generation: u64,
    journal: Journal,
    next: OnceLock<Box<Link>>,
}

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

/// Has entries go to `target` from now on. A file becomes this process's standard error, too, so that what the C library, a
/// fault or a child process says there arrives. Call it before anything of an application runs: what that does to its
/// standard streams later changes nothing here.
///
/// # Errors
///
/// It is a file that cannot be opened.
pub fn open(target: &Target) -> io::Result<()> {
    stdio::occupy()?;
    set_file(&STDOUT, File::from(stdio::copy_of(Standard::Output)?))?;
    match target {
        Target::Standard => set_file(&OWN, File::from(stdio::copy_of(Standard::Error)?))?,
        Target::File(path) => {
            let path = std::path::absolute(path)?;
            let file = open_file(&path)?;
            former::keep(&file);
            process::become_stderr(&file)?;
            set_file(&OWN, file)?;
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

/// Sets a file once, and lets another one take its place later.
fn set_file(place: &OnceLock<Arc<File>>, file: File) -> io::Result<()> {
    if let Some(own) = place.get() {
        return stdio::replace(&**own, file);
    }
    // Nobody else opens a log at the same time.
    let _ = place.set(Arc::new(file));
    Ok(())
}

/// What was standard output when the logs were opened.
pub(crate) fn stdout() -> io::Result<Arc<File>> {
    match STDOUT.get() {
        Some(own) => Ok(Arc::clone(own)),
        None => Ok(Arc::new(File::from(stdio::copy_of(Standard::Output)?))),
    }
}

/// Has a thread of its own write the error log from now on, unless it is syslog, which never keeps anybody waiting: at most
/// `bytes_max` wait for it. Call it in the process that serves, because a thread does not live through a fork, when the
/// application was imported, which may fork.
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
    // As above.
    let _ = place.set(Box::new(Link { generation: forks::generation(), journal, next: OnceLock::new() }));
    process::at_exit(settle);
    Ok(())
}

/// Ends that thread, when what is queued is written: who forks from now on has no threads of the server's.
pub fn end_queue() {
    if let Some(journal) = journal() {
        journal.end();
    }
}

/// The error log's queue in this process. In a child it is another one, or none: the threads of its parent are not there, and
/// whatever was locked stays so.
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

/// Waits for a moment until all entries are written: for whoever is about to end the process.
pub fn settle() {
    if let Some(journal) = journal() {
        journal.settle(END_PATIENCE);
    }
}

/// Counts entries that are lost there, too, and notes those that are not written yet where they outlive this process.
pub fn leave_in(counter: Counter, leaves: Box<dyn Leaves>) {
    if let Some(journal) = journal() {
        journal.count_in(counter);
        journal.leave_in(leaves);
    }
}

/// How many entries this process has lost since it has a thread for them.
pub fn entries_lost() -> u64 {
    journal().map_or(0, Journal::lost)
}

/// Writes entries as another process has left them.
pub fn put_left(entries: Vec<u8>) {
    put_line(entries);
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
    files.iter().try_for_each(|path| open_file_for(path, identity).map(|_| ()))
}

/// Opens the file of a log.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    match OTHERS.get() {
        Some((identity, _)) => open_file_for(path, identity),
        None => sink::open_file(path, 0),
    }
}

/// Opens the file again, under the same name: somebody has renamed it. The log's thread does, if there is one.
pub fn reopen() {
    match journal() {
        Some(journal) => journal.reopen(),
        None => drop(open_again()),
    }
}

/// The same, never on the calling thread if there can be another; `then` is called when it is done.
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

/// Opens it, and has it take the place of the one before, of standard error as well, unless something else is there by now.
/// What failed is told in the old one.
pub(crate) fn open_again() -> Option<Arc<File>> {
    for path in OTHERS.get().map_or(&[][..], |(_, files)| files) {
        let made = open_file(path);
        told(path, made.map(|_| ()));
    }
    let own = OWN.get()?;
    if let Some(path) = FILE.get() {
        let open = || {
            let file = open_file(path)?;
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
        put_line(text.as_bytes().to_vec());
    }
}

/// Says why nothing is served: to whoever has started this as it is, and where entries go as one.
pub fn complain(message: &Message, text: &str) {
    let collected = SYSLOG.get().is_some();
    if is_json() || collected || FILE.get().is_some() {
        put(&Source::Server(message), text.strip_prefix("adyton: ").unwrap_or(text).trim_end());
    }
    if collected || !is_json() && FILE.get().is_none() {
        put_line(text.as_bytes().to_vec());
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
    let entry = Entry { source, worker, request, unix_ms: clock::unix_ms() };
    match SYSLOG.get() {
        None => put_line(line_of(&entry, text)),
        Some(syslog) => put_counted(|lost| match lost {
            Some(lost) => collect(syslog, &Entry::of_loss(entry.unix_ms), &lost),
            None => collect(syslog, &entry, text),
        }),
    }
}

/// Says something as it is, such as what an application writes to `wsgi.errors` that nobody collects.
pub fn put_plain(text: &str) {
    put_line(text.as_bytes().to_vec());
}

/// One entry with its end.
pub(crate) fn line_of(entry: &Entry<'_>, text: &str) -> Vec<u8> {
    let mut line = if is_json() { entry.json(text) } else { entry.text(text) };
    line.push(b'\n');
    line
}

/// Writes an entry, now or soon.
fn put_line(line: Vec<u8>) {
    let rest = match journal() {
        Some(journal) => journal.put_entry(line),
        None => Some(line),
    };
    let Some(line) = rest else { return };
    put_counted(|lost| match lost {
        Some(lost) => write_at_once(line_of(&Entry::of_loss(clock::unix_ms()), &lost)),
        None => write_at_once(line.clone()),
    });
}

/// Writes what was lost, and then what is to be written.
fn put_counted(send: impl Fn(Option<String>) -> io::Result<()>) {
    let lost = take_lost();
    if lost > 0 {
        match send(Some(format!("{lost} {}", entry::LOST_WORDS))) {
            Ok(()) => former::regained(lost),
            Err(_) => drop(LOST.fetch_add(lost, Ordering::Relaxed)),
        }
    }
    if let Err(error) = send(None) {
        // A log that cannot be written must not stop the server: what was lost is told when it can be written again.
        LOST.fetch_add(1, Ordering::Relaxed);
        former::lost(&error, true);
    }
}

/// What was lost without a queue, and not told.
pub(crate) fn take_lost() -> u64 {
    if LOST.load(Ordering::Relaxed) == 0 { 0 } else { LOST.swap(0, Ordering::Relaxed) }
}

/// Writes without a queue: when nothing is served yet, or in a child that the application has forked, which is a plain
/// program: what it says goes to its standard error.
fn write_at_once(mut line: Vec<u8>) -> io::Result<()> {
    if IS_CUT.load(Ordering::Relaxed) {
        // What comes now is not the rest of an entry that a full disk has cut.
        line.insert(0, b'\n');
    }
    let written = match OWN.get() {
        Some(own) if !forks::is_child() => process::write_at_once(&**own, &line),
        _ => process::write_stderr(&line),
    };
    IS_CUT.store(written.is_err(), Ordering::Relaxed);
    written
}

/// Sends an entry to syslog, which has a time of its own.
fn collect(syslog: &Mutex<Syslog>, entry: &Entry<'_>, text: &str) -> io::Result<()> {
    let line = if is_json() { entry.json(text) } else { entry.text_without_time(text) };
    let code = entry.source.code();
    try_lock(syslog)?.send(entry.source.level(), code.as_deref(), &line)
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
