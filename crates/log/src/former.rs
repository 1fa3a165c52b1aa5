//! What was standard error before an error log in a file became it: there is told why nothing is served, and the loss of the
//! log itself.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use adyton_sys::{clock, stream};

use crate::entry::{Entry, Source};
use crate::messages;

/// How often it is told at most: a full disk may have room for an entry now and then.
const TELL_EVERY_MS: u64 = 60_000;

static FORMER: OnceLock<File> = OnceLock::new();
static TOLD_MS: AtomicU64 = AtomicU64::new(0);
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Keeps standard error, unless it is this log already, as in a worker, whose supervisor has opened it.
pub(crate) fn keep(log: &File) {
    // Without standard error there is nothing to keep.
    let Ok(former) = io::stderr().as_fd().try_clone_to_owned() else { return };
    let file = |file: &File| file.metadata().map(|found| (found.dev(), found.ino())).ok();
    let former = File::from(former);
    if file(&former) != file(log) {
        // The first one is the one that is looked at.
        let _ = FORMER.set(former);
    }
}

/// An entry could not be written. Told now, unless the caller may not wait, and what was standard error may make it wait.
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

/// It can be written again.
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

/// Writes something as it is. A reader that stands still is not waited for: there is no other place to tell of it.
pub(crate) fn write(bytes: &[u8]) {
    let Some(mut former) = FORMER.get() else { return };
    let _ = if stream::has_reader(former) { stream::write_now(former, bytes) } else { former.write(bytes) };
}
