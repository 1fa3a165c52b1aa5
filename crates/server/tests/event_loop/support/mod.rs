//! Helpers of the tests: a server on a thread, an application made of a closure, and a strict client.

mod application;
mod client;
mod gate;
mod server;

use std::time::{Duration, Instant};

pub(crate) use application::{Closure, SPAWN, Witness, begin, body_bytes, piece, stream, text};
pub(crate) use client::{Client, End, get};
pub(crate) use gate::Gate;
pub(crate) use server::{Server, config, limits};

/// The longest time to wait for anything that must happen: a failing test ends, too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The time for which a test watches that something does not happen.
pub(crate) const A_MOMENT: Duration = Duration::from_millis(150);

/// A short timeout in ms, for tests that wait for it: three ticks of the timer wheel.
pub(crate) const SHORT_MS: u64 = 300;

/// Far above [`SHORT_MS`], far below the other timeouts of [`config`]: a busy machine may be late by this much.
const LATE: Duration = Duration::from_secs(8);

/// Waits for a condition.
pub(crate) fn until(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < PATIENCE, "it does not happen");
        std::thread::yield_now();
    }
}

/// Asserts that a timeout of `timeout_ms` that began at `since` has just expired: not early, and not so late as other
/// timeouts.
pub(crate) fn assert_timed(since: Instant, timeout_ms: u64) {
    let (waited, timeout) = (since.elapsed(), Duration::from_millis(timeout_ms));

    // The loop's clock counts whole milliseconds, so both ends of the span are rounded down.
    assert!(waited + Duration::from_millis(2) >= timeout, "after {waited:?}, before {timeout:?}");
    assert!(waited < timeout + LATE, "after {waited:?}, long after {timeout:?}");
}
