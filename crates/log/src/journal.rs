//! A log's queue, and the thread that writes it: a thread that logs never waits for a disk that hangs or a reader that
//! does not read.
//!
//! A chunk is an entry of the error log, or a batch of lines of the access log; it is written in one go. Chunks are
//! written in the order in which they came. A chunk that finds no room in the queue is lost, and so is a chunk that the
//! log refuses (a full disk, a pipe without a reader): keeping it would only move the limit. Losses are counted, and
//! reported when the log takes chunks again.
//!
//! The thread is woken only if it sleeps, so a busy log costs the logging threads nothing but a lock. An entry for a
//! pipe, a socket or a terminal is written by the thread that logs it, if nothing is queued before it: such a write
//! never waits, spares a switch of threads, and does not lose the last entry of a process that dies. Entries for a file
//! are noted in a place that outlives the process ([`EntryStore`]) until they are written.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adyton_sys::board::Board;
use adyton_sys::clock;

use crate::entry::{Entry, LOST_WORDS};
use crate::sink::{Destination, Sink};
use crate::{error_log, messages, original_stderr};

/// How long a server or a process that ends waits for a log that does not take the queued chunks.
pub const END_PATIENCE: Duration = Duration::from_secs(1);

/// How long the process then waits for the log's thread, which says how much of its chunk is written.
const CHUNK_PATIENCE: Duration = Duration::from_secs(1);

/// Least time between two reports of lost access log lines.
const TELL_EVERY_MS: u64 = 60_000;

/// Enough room for the entry that reports a loss.
const LOSS_BYTES: usize = 512;

/// The stack of the log's thread, which only writes chunks and reports losses.
const STACK_BYTES: usize = 256 << 10;

/// A place outside this process where entries are noted until they are written.
pub trait EntryStore: Send {
    /// Notes an entry.
    fn push(&mut self, entry: &[u8]);

    /// Forgets all entries: they are written.
    fn clear(&mut self);
}

/// A number on a board that other processes read.
pub struct Counter {
    board: Arc<Board>,
    cell: usize,
}

impl Counter {
    /// Names the number in `cell` of `board`.
    pub fn new(board: Arc<Board>, cell: usize) -> Self {
        Self { board, cell }
    }

    fn add(&self, count: u64) {
        self.board.cells()[self.cell].fetch_add(count, Ordering::Relaxed);
    }
}

/// A function to call when a log is open again.
pub(crate) type Then = Box<dyn FnOnce() + Send>;

/// Bytes that are written in one go.
struct Chunk {
    /// The bytes are shared: while the thread writes them, other threads can see how much is lost if that thread hangs.
    bytes: Arc<Vec<u8>>,
    /// How many bytes are written already.
    done: usize,
    kind: Kind,
    /// A value to drop when the chunk is written or lost.
    left: Option<Box<dyn Send>>,
}

#[derive(Clone, Copy)]
enum Kind {
    Lines,
    Entry,
    /// The entry that says how many entries were lost.
    Loss(u64),
}

impl Chunk {
    fn new(bytes: Vec<u8>, kind: Kind) -> Self {
        Self { bytes: Arc::new(bytes), done: 0, kind, left: None }
    }

    fn of_loss(lost: u64) -> Self {
        let text = format!("{lost} {LOST_WORDS}");
        let bytes = Entry::of_loss(clock::unix_ms()).line(&text);
        Self::new(bytes, Kind::Loss(lost))
    }

    /// Returns the part that is lost if no more of the chunk is written.
    fn rest(&self) -> Rest {
        Rest { bytes: Arc::clone(&self.bytes), done: self.done, kind: self.kind }
    }
}

/// The part of a chunk that is not written.
struct Rest {
    bytes: Arc<Vec<u8>>,
    done: usize,
    kind: Kind,
}

impl Rest {
    /// Returns how many lines or entries are lost with this rest. Lines are counted only when they are lost, because
    /// counting costs as much as all other work on a batch.
    fn count(&self) -> u64 {
        match self.kind {
            Kind::Lines => memchr::memchr_iter(b'\n', &self.bytes[self.done..]).count() as u64,
            Kind::Entry => 1,
            // The entries that this chunk reports were counted when they were lost.
            Kind::Loss(_) => 0,
        }
    }
}

/// The work that the thread is doing.
#[derive(Default)]
enum Activity {
    /// No work.
    #[default]
    Empty,
    /// Writing a chunk; this rest is the part that was not written when the thread took the chunk.
    Chunk(Rest),
    /// Writing a chunk whose rest is counted as lost already.
    GivenUp,
    /// Opening a file.
    File,
}

impl Activity {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

/// The access log or the error log.
enum Which {
    Access(Access),
    Errors,
}

/// The properties that only an access log has.
struct Access {
    destination: Destination,
    /// Whether the thread closes a file when it has nothing to write.
    is_passing: bool,
    told: Mutex<LastTold>,
}

/// When failures and losses were reported last, on the monotonic clock.
#[derive(Default)]
struct LastTold {
    failure_ms: Option<u64>,
    loss_ms: Option<u64>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Chunk>,
    /// Bytes in the queue, and of the chunk that the thread writes.
    bytes: usize,
    /// The log's output, while the thread writes no chunk.
    sink: Option<Sink>,
    activity: Activity,
    is_asleep: bool,
    is_renamed: bool,
    /// Functions to call when the file has been opened again under its name.
    then: Vec<Then>,
    has_ended: bool,
    /// A buffer for the next batch.
    spare: Vec<u8>,
    /// Lines or entries that were lost and are not reported yet.
    lost: u64,
    leaves: Option<Box<dyn EntryStore>>,
}

impl State {
    /// Keeps the buffer of a batch for the next one.
    fn recycle(&mut self, chunk: Chunk) {
        if matches!(chunk.kind, Kind::Lines) {
            // No other thread has the buffer any more.
            self.spare = Arc::try_unwrap(chunk.bytes).unwrap_or_default();
            self.spare.clear();
        }
    }
}

struct Shared {
    which: Which,
    bytes_max: usize,
    state: Mutex<State>,
    /// Signalled when there is work.
    work: Condvar,
    /// Signalled when all work is done.
    rest: Condvar,
    /// Set when the thread must not wait for a reader any more, because the file is to be opened again or time is up.
    is_pressed: AtomicBool,
    /// Set when the chunk that the thread writes is given up.
    is_over: AtomicBool,
    /// Lines or entries lost in all.
    lost: AtomicU64,
    counter: OnceLock<Counter>,
}

/// A log with a thread that writes it.
pub struct Journal {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Opens the access log at `destination`; at most `bytes_max` bytes may wait to be written.
    ///
    /// # Errors
    ///
    /// The log cannot be opened, or the process may not have another thread.
    pub fn access(destination: &Destination, bytes_max: usize) -> io::Result<Self> {
        let sink = Sink::open(destination)?;
        Self::start(Self::of_access(destination, false), Some(sink), bytes_max)
    }

    /// Makes the access log at `destination` for a process that seldom writes to it: the log's thread opens it when
    /// there are lines to write, and closes it afterwards if it is a file.
    ///
    /// # Errors
    ///
    /// The process may not have another thread.
    pub fn passing_access(destination: &Destination, bytes_max: usize) -> io::Result<Self> {
        Self::start(Self::of_access(destination, true), None, bytes_max)
    }

    fn of_access(destination: &Destination, is_passing: bool) -> Which {
        Which::Access(Access { destination: destination.clone(), is_passing, told: Mutex::default() })
    }

    /// Makes the queue of the error log.
    pub(crate) fn errors(sink: Sink, bytes_max: usize) -> io::Result<Self> {
        Self::start(Which::Errors, Some(sink), bytes_max)
    }

    fn start(which: Which, sink: Option<Sink>, bytes_max: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            which,
            bytes_max,
            state: Mutex::new(State { sink, ..State::default() }),
            work: Condvar::new(),
            rest: Condvar::new(),
            is_pressed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            counter: OnceLock::new(),
        });
        let journal = Self { shared, thread: Mutex::default() };
        journal.begin()?;
        Ok(journal)
    }

    /// Starts the thread, if there is none.
    ///
    /// # Errors
    ///
    /// The process may not have another thread.
    pub(crate) fn begin(&self) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let name =
                if matches!(shared.which, Which::Errors) { "adyton-errors" } else { "adyton-accesses" };
            let builder = std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
            shared.lock().has_ended = false;
            *thread = Some(builder.spawn(move || shared.run())?);
        }
        Ok(())
    }

    /// Ends the thread once everything is written; chunks that are not written in time are lost.
    pub(crate) fn end(&self) {
        self.settle(END_PATIENCE);
        let mut state = self.shared.lock();
        state.has_ended = true;
        // A thread that hangs in a write ends when the write ends.
        self.shared.is_over.store(!state.activity.is_empty(), Ordering::SeqCst);
        self.shared.wake(&mut state);
        let is_free = state.activity.is_empty();
        drop(state);
        if is_free && let Some(thread) = lock(&self.thread).take() {
            // Joining fails only if the thread has panicked, and a panic prints a message of its own.
            let _ = thread.join();
        }
    }

    /// Counts later losses in `counter`, too.
    pub fn count_in(&self, counter: Counter) {
        // A journal has one counter for its whole life.
        let _ = self.shared.counter.set(counter);
    }

    /// Returns how many lines or entries were lost in all.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Gives whole lines to the thread, and returns a buffer for the next ones. `left` is dropped when the lines are
    /// written or lost.
    pub fn put_lines(&self, bytes: Vec<u8>, left: Option<Box<dyn Send>>) -> Vec<u8> {
        let mut state = self.shared.lock();
        let spare = std::mem::take(&mut state.spare);
        let refused = self.shared.add(&mut state, Chunk { left, ..Chunk::new(bytes, Kind::Lines) }).err();
        drop(state);
        self.shared.bewail(refused, false);
        spare
    }

    /// Writes an entry, at once or in its turn. Returns it if there is no thread.
    pub(crate) fn put_entry(&self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let mut state = self.shared.lock();
        if state.has_ended {
            return Some(bytes);
        }
        let mut refused = self.shared.regain(&mut state);
        if let Err(error) = self.shared.write_or_add(&mut state, Chunk::new(bytes, Kind::Entry)) {
            refused = Some(error);
        }
        drop(state);
        self.shared.bewail(refused, false);
        None
    }

    /// Notes entries from now on in `leaves`, a store that outlives this process.
    pub(crate) fn leave_in(&self, leaves: Box<dyn EntryStore>) {
        self.shared.lock().leaves = Some(leaves);
    }

    /// Has the thread open the file again, under the same name, after it was renamed.
    pub fn reopen(&self) {
        self.reopen_then(Box::new(|| ()));
    }

    /// Has the thread open the file again like [`Journal::reopen`]; `then` is called when it is done, or has failed.
    pub(crate) fn reopen_then(&self, then: Then) {
        let mut state = self.shared.lock();
        state.then.push(then);
        state.is_renamed = true;
        self.shared.is_pressed.store(true, Ordering::SeqCst);
        self.shared.wake(&mut state);
    }

    /// Waits until everything is written, for at most `patience`; chunks that are not written by then are lost.
    pub fn settle(&self, patience: Duration) {
        let shared = &self.shared;
        let has_rest =
            |state: &State| state.queue.is_empty() && state.activity.is_empty() && !state.is_renamed;
        let state = shared.wait_for(shared.lock(), patience, has_rest);
        if has_rest(&state) {
            drop(state);
            return shared.tell_loss(true);
        }
        drop(state);
        shared.is_over.store(true, Ordering::SeqCst);
        shared.is_pressed.store(true, Ordering::SeqCst);
        let mut state = shared.wait_for(shared.lock(), CHUNK_PATIENCE, |state| state.activity.is_empty());
        let why = io::Error::other("the log does not take what is written");
        for chunk in std::mem::take(&mut state.queue) {
            state.bytes -= chunk.bytes.len();
            shared.lose(&mut state, &chunk);
        }
        // The write that hangs may still end later, when no thread waits for it any more: its rest counts as lost.
        if let Activity::Chunk(rest) = &state.activity {
            let missing = rest.count();
            state.activity = Activity::GivenUp;
            shared.count_lost(&mut state, missing);
        }
        shared.rest(&mut state);
        drop(state);
        // Later chunks have their own chance.
        shared.is_over.store(false, Ordering::SeqCst);
        shared.bewail(Some(why), false);
        shared.tell_loss(true);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'s>(
        &self,
        mut state: MutexGuard<'s, State>,
        patience: Duration,
        is_so: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        let end = Instant::now() + patience;
        while !is_so(&state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.rest.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    fn wake(&self, state: &mut State) {
        if std::mem::take(&mut state.is_asleep) {
            self.work.notify_one();
        }
    }

    /// Puts a chunk behind the others, if there is room. An empty queue always has room.
    fn add(&self, state: &mut State, chunk: Chunk) -> io::Result<()> {
        if state.bytes > 0 && chunk.bytes.len() > self.bytes_max.saturating_sub(state.bytes) {
            self.lose(state, &chunk);
            state.recycle(chunk);
            return Err(io::Error::other("the log does not take what is written as fast as it comes"));
        }
        if let (Kind::Entry, Some(leaves)) = (chunk.kind, &mut state.leaves) {
            leaves.push(&chunk.bytes);
        }
        state.bytes += chunk.bytes.len();
        state.queue.push_back(chunk);
        self.wake(state);
        Ok(())
    }

    /// Writes an entry at once if no chunk is queued before it and the write never waits for a reader; else queues it.
    fn write_or_add(&self, state: &mut State, mut chunk: Chunk) -> io::Result<()> {
        let is_next = state.queue.is_empty() && state.activity.is_empty() && !state.is_renamed;
        let Some(sink) = state.sink.as_mut().filter(|sink| is_next && sink.is_stream()) else {
            return self.add(state, chunk);
        };
        match sink.write(&chunk.bytes, &mut chunk.done) {
            Ok(()) => {
                done_with(&chunk);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let added = self.add(state, chunk);
                if let (Err(_), Some(sink)) = (&added, &mut state.sink) {
                    sink.lose();
                }
                added
            }
            Err(error) => {
                sink.lose();
                self.lose(state, &chunk);
                Err(error)
            }
        }
    }

    /// Writes or queues the entry that reports a loss, so that it comes before the next entry.
    fn regain(&self, state: &mut State) -> Option<io::Error> {
        state.lost += error_log::take_lost();
        if state.lost == 0 || state.bytes + LOSS_BYTES > self.bytes_max {
            return None;
        }
        let lost = std::mem::take(&mut state.lost);
        self.write_or_add(state, Chunk::of_loss(lost)).err()
    }

    /// Counts the rest of a chunk as lost.
    fn lose(&self, state: &mut State, chunk: &Chunk) {
        if let Kind::Loss(lost) = chunk.kind {
            state.lost += lost;
        }
        self.count_lost(state, chunk.rest().count());
    }

    fn count_lost(&self, state: &mut State, missing: u64) {
        state.lost += missing;
        self.lost.fetch_add(missing, Ordering::Relaxed);
        if let Some(counter) = self.counter.get() {
            counter.add(missing);
        }
    }

    /// Reports a loss, but not too often; `may_wait` says whether the report may wait for a reader.
    fn bewail(&self, why: Option<io::Error>, may_wait: bool) {
        let Some(why) = why else { return };
        match &self.which {
            Which::Errors => original_stderr::lost(&why, may_wait),
            Which::Access(access) => {
                if is_due(&mut lock(&access.told).failure_ms) {
                    error_log::write(
                        &messages::ACCESS_LOG_LOST,
                        format_args!("the access log cannot be written, and lines are lost: {why}"),
                    );
                }
            }
        }
    }

    /// Reports how many lines of the access log were lost, once the log takes lines again. Reports are at least a
    /// minute apart, except for the last one (`at_last`).
    fn tell_loss(&self, at_last: bool) {
        let Which::Access(access) = &self.which else { return };
        let mut state = self.lock();
        if state.lost == 0 || !is_due(&mut lock(&access.told).loss_ms) && !at_last {
            return;
        }
        let lost = std::mem::take(&mut state.lost);
        drop(state);
        error_log::write(
            &messages::ACCESS_LINES_LOST,
            format_args!("{lost} lines of the access log were lost: the log did not take them"),
        );
    }

    /// Runs the thread until the log ends.
    fn run(&self) {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.is_renamed) {
                state.activity = Activity::File;
                let former = state.sink.take();
                drop(state);
                let sink = self.opened_again(former);
                state = self.lock();
                (state.sink, state.activity) = (sink, Activity::Empty);
            } else if let Some(chunk) = state.queue.pop_front() {
                state.activity = Activity::Chunk(chunk.rest());
                let sink = state.sink.take();
                drop(state);
                let (sink, chunk, failure) = self.write(sink, chunk);
                state = self.lock();
                state.sink = sink;
                state = self.finish(state, chunk, failure);
            } else if state.has_ended {
                return;
            } else {
                state = self.sleep(state);
            }
        }
    }

    /// Waits for something to do.
    fn sleep<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if matches!(&self.which, Which::Access(access) if access.is_passing) {
            // Streams stay open: when the last descriptor of a pipe is closed, data that waits in it for a reader is
            // lost.
            state.sink.take_if(|sink| !sink.is_stream());
        }
        self.rest(&mut state);
        state.is_asleep = true;
        // A loss that may not be reported yet is reported later, even if no line comes until then.
        let patience = Duration::from_millis(TELL_EVERY_MS);
        if state.lost > 0 && matches!(self.which, Which::Access(_)) {
            state = self.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
            let is_idle = std::mem::take(&mut state.is_asleep);
            drop(state);
            if is_idle {
                self.tell_loss(false);
            }
            return self.lock();
        }
        while state.is_asleep {
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Writes a chunk, however long that takes.
    fn write(&self, sink: Option<Sink>, mut chunk: Chunk) -> (Option<Sink>, Chunk, Option<io::Error>) {
        let opened = match (sink, &self.which) {
            (Some(sink), _) => Ok(sink),
            (None, Which::Access(access)) => Sink::open(&access.destination),
            (None, Which::Errors) => Err(io::Error::other("it is not open")),
        };
        let mut sink = match opened {
            Ok(sink) => sink,
            Err(error) => return (None, chunk, Some(error)),
        };
        loop {
            match sink.write(&chunk.bytes, &mut chunk.done) {
                Ok(()) => return (Some(sink), chunk, None),
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock && !self.is_over.load(Ordering::SeqCst) =>
                {
                    if self.is_pressed.swap(false, Ordering::SeqCst)
                        && std::mem::take(&mut self.lock().is_renamed)
                    {
                        match self.opened_again(Some(sink)) {
                            Some(again) => sink = again,
                            None => return (None, chunk, Some(error)),
                        }
                    } else {
                        sink.wait();
                    }
                }
                Err(error) => {
                    sink.lose();
                    return (Some(sink), chunk, Some(error));
                }
            }
        }
    }

    /// Notes that nothing is queued.
    fn rest(&self, state: &mut State) {
        if let Some(leaves) = &mut state.leaves {
            leaves.clear();
        }
        self.rest.notify_all();
    }

    /// Finishes a chunk, which is written or lost.
    fn finish<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        mut chunk: Chunk,
        failure: Option<io::Error>,
    ) -> MutexGuard<'s, State> {
        let is_given_up = matches!(std::mem::take(&mut state.activity), Activity::GivenUp);
        state.bytes -= chunk.bytes.len();
        drop(chunk.left.take());
        let is_written = failure.is_none();
        if is_written {
            if state.queue.is_empty() && state.lost > 0 && matches!(self.which, Which::Errors) {
                let lost = std::mem::take(&mut state.lost);
                // The queue is empty, so there is room.
                let _ = self.add(&mut state, Chunk::of_loss(lost));
            }
        } else if !is_given_up {
            self.lose(&mut state, &chunk);
        }
        if state.queue.is_empty() {
            self.rest(&mut state);
        }
        drop(state);
        if is_written {
            done_with(&chunk);
            self.tell_loss(false);
        }
        self.bewail(failure, true);
        let mut state = self.lock();
        state.recycle(chunk);
        state
    }

    /// Opens the file under the log's name again, and keeps the former file if that fails. A failure is reported.
    fn opened_again(&self, former: Option<Sink>) -> Option<Sink> {
        let sink = self.open_again(former);
        let then = std::mem::take(&mut self.lock().then);
        for then in then {
            then();
        }
        sink
    }

    fn open_again(&self, former: Option<Sink>) -> Option<Sink> {
        match &self.which {
            Which::Errors => error_log::open_again().map(Sink::of_entries).or(former),
            // A log of `passing_access` is opened again for its next lines anyway.
            Which::Access(Access { is_passing: true, .. }) => None,
            Which::Access(access) => match Sink::open(&access.destination) {
                Ok(sink) => Some(sink),
                Err(error) => {
                    error_log::write(
                        &messages::LOG_NOT_REOPENED,
                        format_args!("the access log cannot be opened again: {error}"),
                    );
                    former
                }
            },
        }
    }
}

/// Reports that the log can be written again, if the chunk was the entry about a loss.
fn done_with(chunk: &Chunk) {
    if let Kind::Loss(lost) = chunk.kind {
        original_stderr::regained(lost);
    }
}

/// Whether a report may be made now; if so, it counts as made.
fn is_due(told_ms: &mut Option<u64>) -> bool {
    let now_ms = clock::monotonic_ms();
    let is_due = told_ms.is_none_or(|told_ms| now_ms.saturating_sub(told_ms) >= TELL_EVERY_MS);
    if is_due {
        *told_ms = Some(now_ms);
    }
    is_due
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

    use std::fs::File;
    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;
    use std::sync::mpsc::channel;

    use super::*;

    const BYTES_MAX: usize = 64 << 10;

    /// The writing thread gets a CPU within this time, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// More bytes than a pipe takes.
    const PIPE_BYTES: usize = 1 << 20;

    /// Makes a log, and the reader of its pipe.
    fn piped(is_access: bool) -> (PipeReader, Journal) {
        let (reader, writer) = io::pipe().unwrap();
        let file = Arc::new(File::from(OwnedFd::from(writer)));
        let sink = if is_access { Sink::of_lines(file) } else { Sink::of_entries(file) };
        let which = if is_access { Journal::of_access(&Destination::Standard, false) } else { Which::Errors };
        (reader, Journal::start(which, Some(sink), BYTES_MAX).unwrap())
    }

    fn read_all(mut reader: PipeReader) -> JoinHandle<String> {
        std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        })
    }

    fn line(number: usize) -> Vec<u8> {
        format!("{number} {}\n", "x".repeat(200)).into_bytes()
    }

    /// Lines are written whole and in their order, and the missing lines were counted.
    #[test]
    fn lines_are_written_or_counted() {
        let (reader, journal) = piped(true);
        let count = 2 * (PIPE_BYTES + BYTES_MAX) / line(0).len();
        for first in (0..count).step_by(100) {
            journal.put_lines((first..first + 100).flat_map(line).collect(), None);
        }
        let lost = journal.lost();
        let text = read_all(reader);
        journal.settle(PATIENCE);
        drop(journal);
        let text = text.join().unwrap();
        let numbers: Vec<usize> =
            text.lines().map(|line| line.split_once(' ').unwrap().0.parse().unwrap()).collect();

        assert!(lost > 0 && !numbers.is_empty());
        assert!(numbers.is_sorted_by(|one, next| one < next));
        assert_eq!(count.next_multiple_of(100), numbers.len() + usize::try_from(lost).unwrap());
    }

    /// In the place of missing entries, one entry says how many are missing, and no other entry is missing.
    #[test]
    fn entries_are_written_or_counted() {
        let (reader, journal) = piped(false);
        let count = 2 * (PIPE_BYTES + BYTES_MAX) / line(0).len();
        for number in 0..count {
            assert!(journal.put_entry(line(number)).is_none());
        }
        let lost = journal.lost();
        let text = read_all(reader);
        journal.settle(PATIENCE);
        drop(journal);
        let text = text.join().unwrap();
        let told: u64 = text
            .lines()
            .filter_map(|line| line.split_once("ADY403 error: ")?.1.split(' ').next()?.parse::<u64>().ok())
            .sum();
        let there = text.lines().filter(|line| line.ends_with('x')).count();

        assert!(lost > 0);
        assert_eq!((lost, count), (told, there + usize::try_from(lost).unwrap()));
    }

    /// Lines that nobody reads do not delay the end of the process, and are counted as lost.
    #[test]
    fn a_reader_that_stands_does_not_keep_the_end_waiting() {
        let (reader, journal) = piped(true);
        for first in 0..4 {
            journal.put_lines((0..PIPE_BYTES / 200).map(|_| first).flat_map(line).collect(), None);
        }
        journal.settle(Duration::from_millis(1));
        let lost = journal.lost();
        let text = read_all(reader);
        journal.settle(PATIENCE);
        drop(journal);

        let there = text.join().unwrap().lines().count();
        assert_eq!(4 * (PIPE_BYTES / 200), there + usize::try_from(lost).unwrap());
    }

    /// An entry that can be written is written when the call returns; without the log's thread the caller gets it back.
    #[test]
    fn entries_are_out_at_once() {
        let (mut reader, journal) = piped(false);
        let mut buffer = [0; 16];
        for _ in 0..3 {
            journal.put_entry(b"entry\n".to_vec());
            assert!(adyton_sys::socket::wait_readable(&[std::os::fd::AsFd::as_fd(&reader)], 0).unwrap()[0]);
            assert_eq!(6, reader.read(&mut buffer).unwrap());
        }

        journal.end();

        assert_eq!(Some(b"entry\n".to_vec()), journal.put_entry(b"entry\n".to_vec()));

        journal.begin().unwrap();

        assert_eq!(None, journal.put_entry(b"entry\n".to_vec()));
    }

    /// The value that a batch carries is dropped when the batch is written or lost, and not before.
    #[test]
    fn what_is_left_goes_with_its_batch() {
        struct Says(std::sync::mpsc::Sender<()>);

        impl Drop for Says {
            fn drop(&mut self) {
                self.0.send(()).unwrap();
            }
        }

        let (reader, journal) = piped(true);
        let (sender, dropped) = channel();
        journal.put_lines(vec![b'x'; PIPE_BYTES], Some(Box::new(Says(sender.clone()))));
        journal.put_lines(vec![b'y'; BYTES_MAX], Some(Box::new(Says(sender))));

        assert_eq!(Ok(()), dropped.recv(), "there was no room for the second one");
        assert!(dropped.try_recv().is_err(), "the first one is not written");

        let text = read_all(reader);

        assert_eq!(Ok(()), dropped.recv());
        drop(journal);
        assert_eq!(PIPE_BYTES, text.join().unwrap().len());
    }
}
