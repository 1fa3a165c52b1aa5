//! Whether a limit of memory leaves room for the threads.

use adyton_cli::Settings;
use adyton_sys::process;

use super::failure::Failure;
use crate::serving::run::banner::size;

/// Refuses a memory limit that leaves too little room for the stacks of so many threads beside the memory that this
/// process has already allocated; the kernel counts each stack in full. Python would only say that it cannot start a
/// thread.
pub(super) fn check(settings: &Settings, threads: usize) -> Result<(), Failure> {
    let limit = settings.processes.memory_limit_bytes;
    let (each, taken) = (process::stack_bytes(), process::data_bytes());
    let wanted = each.saturating_mul(threads as u64);
    if limit == 0 || taken.saturating_add(wanted) <= limit {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(Failure::system(format!(
        "memory-limit: {} is too small for the {threads} threads of --threads {}: each has a stack of {} (ulimit -s), and \
         {} MiB are taken already; it has to be above {}m (setting --memory-limit)",
        size(limit),
        settings.threads.threads,
        size(each),
        mebibytes(taken),
        mebibytes(taken + wanted),
    )))
}

/// The refused action as a failure. If there is a memory limit, the failure mentions it, because it may be the reason.
pub(super) fn blame(settings: &Settings, refused: impl std::fmt::Display) -> Failure {
    match settings.processes.memory_limit_bytes {
        0 => Failure::system(refused),
        limit => Failure::system(format!("{refused}: --memory-limit allows {} in all", size(limit))),
    }
}
