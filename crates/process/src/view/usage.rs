//! The resources of a process, from `/proc` (proc(5)).

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use adyton_sys::child::Exit;
use adyton_sys::process;

use crate::grant::Grant;
use crate::workers::cause::SIGKILL;

/// Ticks of the CPU times in `/proc`: `USER_HZ`, which is 100 on every architecture of Linux.
const TICK_MS: u64 = 10;

/// Returns the CPU time of a process in milliseconds; 0 when it is gone.
pub(crate) fn cpu_ms(pid: u32) -> u64 {
    let fields = fields(pid).unwrap_or_default();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    (ticks(11) + ticks(12)) * TICK_MS
}

/// Whether a process is a child of this process.
pub(crate) fn is_our_child(pid: u32) -> bool {
    parent(pid) == Some(process::id())
}

/// Returns our children.
pub(crate) fn children() -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| is_our_child(pid)).collect()
}

/// Returns the name that a descriptor of ours has in the `/proc/PID/fd` of every process that has the same file open;
/// `None` if the name cannot be read.
pub(crate) fn name_of(descriptor: &OwnedFd) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd())).ok()
}

/// Whether a process has a file of this name open.
pub(crate) fn holds(pid: u32, name: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|found| found == name)
}

/// Returns the parent of a process.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// Returns the start time of a process, in ticks since the machine started. The process number and this time together
/// identify the process.
pub(crate) fn birth(pid: u32) -> Option<u64> {
    fields(pid)?.get(19)?.parse().ok()
}

/// Returns the fields of `/proc/PID/stat` behind the name; `None` when the process is gone.
fn fields(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Returns the resident memory of a process in bytes; 0 when it is gone.
pub(crate) fn rss_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * process::page_bytes()
}

/// Returns the memory of a process in bytes, in which shared pages count in part (PSS). This is slow, because the
/// kernel walks the page tables.
pub(crate) fn pss_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Has the kernel end process `pid` rather than this supervisor when memory is short (`oom_score_adj`, proc(5)),
/// because this supervisor can replace that process, but that process cannot replace the supervisor. The kernel
/// compares memory, so our memory is added to the score of `pid`.
pub(crate) fn end_before_us(pid: u32) {
    let ours = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    let ours: i64 = ours.trim().parse().unwrap_or(0);
    let thousandths = 1000 * rss_bytes(std::process::id()) / Grant::ask().memory_bytes.max(1);
    let theirs = (ours + i64::try_from(thousandths).unwrap_or(0) + 1).min(1000);
    // If the kernel refuses this, it ends the process with most memory, which is a worker as a rule.
    let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), theirs.to_string());
}

/// Returns the control group of this process, and how many processes the kernel has ended because memory was short:
/// processes of the group, or of the whole machine if groups do not count that (cgroups(7)).
fn oom_kills() -> (String, u64) {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let counts = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (controllers, path) = (fields.nth(1)?, fields.next()?);
        let file = match controllers {
            "" => format!("/sys/fs/cgroup{path}/memory.events.local"),
            "memory" => format!("/sys/fs/cgroup/memory{path}/memory.oom_control"),
            _ => return None,
        };
        let count = number_of("oom_kill", &fs::read_to_string(&file).ok()?)?;
        Some((file, count))
    });
    counts.unwrap_or_else(|| {
        let file = "/proc/vmstat".to_owned();
        let count = number_of("oom_kill", &fs::read_to_string(&file).unwrap_or_default());
        (file, count.unwrap_or(0))
    })
}

/// Kills for want of memory; each kill explains one death.
#[derive(Debug)]
pub(crate) struct OomKills {
    group: String,
    /// Kills that are the cause of a known death.
    explained: u64,
    /// The time when kills that no known death accounts for were first seen.
    since_ms: Option<u64>,
}

/// How long the end of a process that was killed may take: its memory has to be given back first.
const ENDING_MS: u64 = 10_000;

impl OomKills {
    /// Begins to count: earlier kills do not matter.
    pub(crate) fn new() -> Self {
        let (group, explained) = oom_kills();
        Self { group, explained, since_ms: None }
    }

    fn unexplained(&mut self) -> u64 {
        let (group, count) = oom_kills();
        if group != self.group {
            // This process was moved to another group, all of whose kills are new.
            *self = Self { group, explained: 0, since_ms: None };
        }
        count.saturating_sub(self.explained)
    }

    /// Whether a kill explains a death.
    pub(crate) fn explain(&mut self, exit: Exit) -> bool {
        let explains = exit == Exit::Signal(SIGKILL) && self.unexplained() > 0;
        self.explained += u64::from(explains);
        explains
    }

    /// Forgets the kills of other processes, namely of programs that a worker has started.
    pub(crate) fn forget(&mut self, now_ms: u64) {
        let left = self.unexplained();
        let since_ms = *self.since_ms.get_or_insert(now_ms);
        if left == 0 {
            self.since_ms = None;
        } else if now_ms.saturating_sub(since_ms) >= ENDING_MS {
            self.explained += left;
            self.since_ms = None;
        }
    }
}

/// Returns the number behind a name, in lines of names and numbers.
fn number_of(name: &str, text: &str) -> Option<u64> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find_map(|(found, number)| (found == name).then(|| number.trim().parse().ok()).flatten())
}

#[cfg(test)]
mod tests {
    use super::{cpu_ms, end_before_us, is_our_child, number_of, oom_kills, pss_bytes, rss_bytes};

    /// This process uses some of each resource, and a process that does not exist uses none.
    #[test]
    fn this_process() {
        let pid = std::process::id();

        assert!(rss_bytes(pid) > 100_000);
        assert!(pss_bytes(pid).is_some_and(|bytes| bytes > 100_000));
        assert_eq!((0, 0, None), (rss_bytes(u32::MAX), cpu_ms(u32::MAX), pss_bytes(u32::MAX)));
    }

    /// The score of a child is a little above the score of this process, so the kernel ends the child first.
    #[test]
    fn who_is_ended() -> std::io::Result<()> {
        let score = |pid: u32| -> i64 {
            let text = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap_or_default();
            text.trim().parse().unwrap_or(-1001)
        };
        let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
        end_before_us(child.id());
        let (ours, theirs) = (score(std::process::id()), score(child.id()));
        let is_child = is_our_child(child.id());
        child.kill()?;
        child.wait()?;

        assert!(ours < theirs && theirs <= ours + 100, "{ours} {theirs}");
        assert!(is_child && !is_our_child(child.id()) && !is_our_child(std::process::id()));
        Ok(())
    }

    #[test]
    fn numbers() {
        let text = "low 0\noom 3\noom_kill 2\noom_kill_disable 0\n";

        assert_eq!(Some(2), number_of("oom_kill", text));
        assert_eq!(None, number_of("max", text));
        assert_eq!(oom_kills().0, oom_kills().0, "the same group, unless this process is moved");
    }
}
