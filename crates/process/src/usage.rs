//! What a process uses, as proc(5) has it.

use std::fs;

/// Ticks of the CPU times in `/proc`: `USER_HZ`, which is 100 on every architecture of Linux.
const TICK_MS: u64 = 10;

const PAGE_BYTES: u64 = 4096;

/// CPU time of a process in milliseconds; 0 when it is gone.
pub(crate) fn cpu_ms(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let Some((_, rest)) = text.rsplit_once(')') else { return 0 };
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    (ticks(11) + ticks(12)) * TICK_MS
}

/// Resident memory of a process in bytes; 0 when it is gone.
pub(crate) fn rss_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}

/// Memory of a process in bytes, of which shared pages count in part (PSS): slow, it walks the page tables.
pub(crate) fn pss_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// How often the kernel has ended a process of this machine because memory was short.
pub(crate) fn oom_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill "))
        .and_then(|count| count.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{cpu_ms, pss_bytes, rss_bytes};

    /// This process has some of everything, and one that is not there has nothing.
    #[test]
    fn this_process() {
        let pid = std::process::id();

        assert!(rss_bytes(pid) > 100_000);
        assert!(pss_bytes(pid).is_some_and(|bytes| bytes > 100_000));
        assert_eq!((0, 0, None), (rss_bytes(u32::MAX), cpu_ms(u32::MAX), pss_bytes(u32::MAX)));
    }
}
