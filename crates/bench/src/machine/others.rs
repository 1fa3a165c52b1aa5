//! The machine during the measurement: the CPU time that other programs and other virtual machines took (proc(5)).

use std::collections::HashSet;
use std::fs;

/// CPU time until some moment, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticks {
    /// Time of all programs together: all time except idle time and waiting for a disk.
    pub(crate) busy: u64,
    /// Time that the hypervisor gave to other virtual machines.
    pub(crate) steal: u64,
    /// Time in all.
    pub(crate) all: u64,
}

/// Microseconds in one tick of proc(5): `USER_HZ` is 100 on every architecture that we know.
pub(crate) const TICK_US: u64 = 10_000;

impl Ticks {
    /// Reads the ticks; `None` if they cannot be read, as without a free descriptor, or are not counted, as in some
    /// sandboxes. Zero would claim that no time was spent.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        // The columns are user nice system idle iowait irq softirq steal; guest time is within user.
        let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        let (busy, steal) = (at(0) + at(1) + at(2) + at(5) + at(6), at(7));
        let all = busy + at(3) + at(4) + steal;
        (all > 0).then_some(Self { busy, steal, all })
    }

    /// Returns the ticks since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(before.busy),
            steal: self.steal.saturating_sub(before.steal),
            all: self.all.saturating_sub(before.all),
        }
    }
}

/// Describes the machine: the model of the CPU, the number of CPUs that this program may use, and the kernel's release.
pub(crate) fn described() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let virtual_ = if told.contains(" hypervisor") { ", virtual" } else { "" };
    let count = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let cpus = if count == 1 { "CPU" } else { "CPUs" };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{name}{virtual_}, {count} {cpus}, Linux {}", kernel.trim())
}

/// Returns the time for which this thread was ready and waited for a CPU, in microseconds (the second number of
/// `schedstat`); 0 if the kernel does not count it.
pub(crate) fn thread_waited_us() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0_u64) / 1000
}

/// Returns the CPUs on which a process may run, from `Cpus_allowed_list` of proc(5): `0-3,8`.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks that /proc/stat does not tell must be unknown, not zero.
    #[test]
    fn ticks_are_known_or_not() {
        let ticks = Ticks::parse("cpu  1 2 4 100 50 8 16 32 0 0\ncpu0 1 2 4 100 50 8 16 32 0 0\n");

        assert_eq!(Some((31, 32, 213)), ticks.map(|ticks| (ticks.busy, ticks.steal, ticks.all)));
        for untold in ["", "cpu  0 0 0 0 0 0 0 0 0 0\n", "intr 1 2\n", "cpu  a b\n"] {
            assert!(Ticks::parse(untold).is_none(), "{untold}");
        }
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(HashSet::from([0, 1, 2, 8]), cpu_list("\t0-2,8\n"));
        assert!(cpu_list("").is_empty());
        assert!(!cpus_of(std::process::id()).is_empty());
    }
}
