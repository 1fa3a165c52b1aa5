//! Time: a monotonic clock for deadlines, the wall clock for dates.

use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of `CLOCK_MONOTONIC`; reads the vDSO, no system call.
pub fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The kernel's monotonic clock starts at boot: it is never negative.
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

/// Microseconds of `CLOCK_MONOTONIC`.
#[inline]
pub fn monotonic_us() -> u64 {
    us_of(ClockId::Monotonic)
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Microseconds of CPU time that this thread has used: a system call.
#[inline]
pub fn thread_us() -> u64 {
    us_of(ClockId::ThreadCPUTime)
}

/// Number of times that this thread has given up the CPU in order to wait (getrusage(2), `ru_nvcsw`): a system call.
pub fn thread_waits() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: zeros are an `rusage`, which the call fills; the call cannot fail for the calling thread itself.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nvcsw.unsigned_abs()
}

#[inline]
fn us_of(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000
}

/// Seconds since 1970, UTC.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs())
}

/// Milliseconds since 1970, UTC.
pub fn unix_ms() -> u64 {
    let age = SystemTime::now().duration_since(UNIX_EPOCH);
    age.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}
