//! What the whole process is told about its error log: from which level on, as text or JSON, and in which worker.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use crate::level::Level;

static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);
static WORKER: AtomicUsize = AtomicUsize::new(0);
static GROUP: OnceLock<String> = OnceLock::new();
static JSON: AtomicBool = AtomicBool::new(false);

/// Leaves out what is below `level`, from now on and in the whole process.
pub fn set_level(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Says in each entry from now on that it comes from the worker with this number, from 1 on.
pub fn set_worker(number: usize) {
    WORKER.store(number, Ordering::Relaxed);
}

/// Says in each entry from now on that it comes from a process of this group. Once: a process stays what it is.
pub fn set_group(name: &str) {
    // The first name counts.
    let _ = GROUP.set(name.to_owned());
}

/// The group of this process; `None` in one of the server itself.
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

/// The number of this worker; `None` in a process that is no worker.
pub(crate) fn worker() -> Option<usize> {
    Some(WORKER.load(Ordering::Relaxed)).filter(|&number| number > 0)
}
