//! What the machine did meanwhile: time that others took, and connections that the kernel dropped (proc(5)).

use std::collections::{HashMap, HashSet};
use std::fs;

/// The kernel's counters at one moment; those that cannot be read are zero.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine {
    /// CPU time of all programs together, in ticks: everything but idle and waiting for a disk.
    pub(crate) busy_ticks: u64,
    /// CPU time that the hypervisor gave to others, in ticks.
    pub(crate) steal_ticks: u64,
    /// All CPU time, in ticks.
    pub(crate) all_ticks: u64,
    /// Connections that found a listen queue full (`ListenOverflows`).
    pub(crate) listen_overflows: u64,
    /// Connections that were dropped by a listener for any reason (`ListenDrops`).
    pub(crate) listen_drops: u64,
}

/// Microseconds in one tick of proc(5): `USER_HZ` is 100 on every architecture that we know.
pub(crate) const TICK_US: u64 = 10_000;

impl Machine {
    /// Reads them.
    pub(crate) fn now() -> Self {
        let mut machine = Self::default();
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        if let Some(line) = stat.lines().next() {
            // user nice system idle iowait irq softirq steal; guest time is within user.
            let ticks: Vec<u64> =
                line.split_whitespace().skip(1).map(|text| text.parse().unwrap_or(0)).collect();
            let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
            machine.steal_ticks = at(7);
            machine.busy_ticks = at(0) + at(1) + at(2) + at(5) + at(6);
            machine.all_ticks = machine.busy_ticks + at(3) + at(4) + at(7);
        }
        let netstat = fs::read_to_string("/proc/net/netstat").unwrap_or_default();
        let counters = counters(&netstat);
        machine.listen_overflows = counters.get("ListenOverflows").copied().unwrap_or(0);
        machine.listen_drops = counters.get("ListenDrops").copied().unwrap_or(0);
        machine
    }

    /// What has happened since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            busy_ticks: self.busy_ticks.saturating_sub(before.busy_ticks),
            steal_ticks: self.steal_ticks.saturating_sub(before.steal_ticks),
            all_ticks: self.all_ticks.saturating_sub(before.all_ticks),
            listen_overflows: self.listen_overflows.saturating_sub(before.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(before.listen_drops),
        }
    }
}

/// For how long this thread was ready and waited for a CPU, in microseconds: the second number of `schedstat`. 0 where
/// the kernel does not count it.
pub(crate) fn thread_waited_us() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0_u64) / 1000
}

/// The CPUs on which a process may run, as `Cpus_allowed_list` of proc(5) has them: `0-3,8`.
pub(crate) fn cpus_of(pid: u32) -> HashSet<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    cpu_list(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default())
}

fn cpu_list(text: &str) -> HashSet<u32> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// The pairs of lines of /proc/net/netstat: names, and below them the numbers.
fn counters(text: &str) -> HashMap<&str, u64> {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .chunks_exact(2)
        .flat_map(|pair| pair[0].split_whitespace().zip(pair[1].split_whitespace()))
        .filter_map(|(name, number)| Some((name, number.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "TcpExt: A ListenOverflows B\nTcpExt: 1 7 3\nIpExt: C\nIpExt: 4\n";

        assert_eq!(Some(&7), counters(text).get("ListenOverflows"));
        assert_eq!(Some(&4), counters(text).get("C"));
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(HashSet::from([0, 1, 2, 8]), cpu_list("\t0-2,8\n"));
        assert!(cpu_list("").is_empty());
        assert!(!cpus_of(std::process::id()).is_empty());
    }
}
