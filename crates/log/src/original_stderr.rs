//! Keeps the original standard error after an error log in a file has replaced it, so that a failed start, and the loss
//! of the log itself, are still reported there.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use adyton_sys::{clock, stream};

use crate::entry::{Entry, Source};
use crate::messages;

/// Least time between two reports of a loss: a full disk may have room for an entry now and then.
const TELL_EVERY_MS: u64 = 60_000;

static FORMER: OnceLock<File> = OnceLock::new();
static TOLD_MS: AtomicU64 = AtomicU64::new(0);
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Keeps standard error, unless it is this log already, as in a worker, whose supervisor has opened the log.
pub(crate) fn keep(log: &File) {
    // Without standard error there is nothing to keep.
    let Ok(former) = io::stderr().as_fd().try_clone_to_owned() else { return };
    let file = |file: &File| file.metadata().map(|found| (found.dev(), found.ino())).ok();
    let former = File::from(former);
    if file(&former) != file(log) {
        // Only the first standard error is kept, because somebody looks at it.
        let _ = FORMER.set(former);
    }
}

/// Reports that an entry could not be written. A caller that may not wait reports it only if a write to the original
/// standard error never waits.
pub(crate) fn lost(error: &io::Error, may_wait: bool) {
    if !may_wait && !FORMER.get().is_some_and(stream::has_reader) {
        return;
    }
    let now_ms = clock::monotonic_ms().max(1);
    let told_ms = TOLD_MS.load(Ordering::Relaxed);
    if told_ms > 0 && now_ms.saturating_sub(told_ms) < TELL_EVERY_MS {
        return;
    }
    TOLD_MS.store(now_ms, Ordering::Relaxed);
    IS_TOLD.store(true, Ordering::Relaxed);
    tell(&format!("the error log cannot be written, and entries are lost: {error}"));
}

/// Reports that the error log can be written again.
pub(crate) fn regained(entries_lost: u64) {
    if IS_TOLD.swap(false, Ordering::Relaxed) {
        tell(&format!("the error log can be written again; {entries_lost} entries were lost"));
    }
}

fn tell(text: &str) {
    let source = Source::Server(&messages::ERROR_LOG_LOST);
    let entry =
        Entry { source: &source, group: None, worker: None, request: None, unix_ms: clock::unix_ms() };
    write(&entry.line(text));
}

/// Writes bytes as they are. Bytes for which a reader has no room now are dropped: there is no other place to report
/// them.
pub(crate) fn write(bytes: &[u8]) {
    let Some(mut former) = FORMER.get() else { return };
    let _ = if stream::has_reader(former) { stream::write_now(former, bytes) } else { former.write(bytes) };
}
