//! Settings of the error log for the whole process: the least level, text or JSON, and the worker.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use crate::level::Level;

static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);
static WORKER: AtomicUsize = AtomicUsize::new(0);
static GROUP: OnceLock<String> = OnceLock::new();
static JSON: AtomicBool = AtomicBool::new(false);

/// Leaves out messages below `level`, from now on and in the whole process.
pub fn set_level(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Adds the number of this worker, from 1 on, to each entry from now on.
pub fn set_worker(number: usize) {
    WORKER.store(number, Ordering::Relaxed);
}

/// Adds the name of this process's group to each entry from now on. Called once: a process never changes its group.
pub fn set_group(name: &str) {
    // The first name counts.
    let _ = GROUP.set(name.to_owned());
}

/// Returns the group of this process; `None` in a process of the server itself.
pub fn group() -> Option<&'static str> {
    GROUP.get().map(String::as_str)
}

/// Writes each entry as one JSON object from now on.
pub fn set_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Whether entries are JSON.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Whether a message of this level is written; ask before making an expensive one.
pub fn wants(level: Level) -> bool {
    level as u8 >= LEAST.load(Ordering::Relaxed)
}

/// Returns the number of this worker; `None` in a process that is no worker.
pub(crate) fn worker() -> Option<usize> {
    Some(WORKER.load(Ordering::Relaxed)).filter(|&number| number > 0)
}
