//! The CPUs and the memory that the kernel grants this process, within its control group (cgroups(7)).

use std::fs;
use std::path::{Path, PathBuf};

use adyton_sys::process;

/// Memory that a worker is expected to need when nothing more is known.
const WORKER_BYTES: u64 = 128 << 20;

/// The granted CPU time and memory, and what limits the CPU time.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// CPU time for each second.
    pub cpus: f64,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The limit of the CPU time.
    limited_by: LimitedBy,
}

/// The limits that CPU time can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitedBy {
    Machine,
    /// An affinity or a cpuset, which allows only some of this number of CPUs.
    Affinity(u32),
    /// The quota of a control group.
    Group,
}

/// The CPUs of the machine.
#[derive(Clone, Copy)]
struct Cpus {
    /// CPUs that this process may use.
    allowed: u32,
    all: u32,
}

impl Grant {
    /// Asks the kernel.
    pub fn ask() -> Self {
        // The standard library's own number (`available_parallelism`) includes the quota already, rounded down.
        let cpus = Cpus { allowed: process::cpus_allowed(), all: process::cpus_of_the_machine() };
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let root = Path::new("/sys/fs/cgroup");
        let quota = cpu_quota(root, &groups);
        let machine = memory_total(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
        let limit = memory_limit(root, &groups);
        Self::of(cpus, quota, [machine, limit].into_iter().flatten().min())
    }

    fn of(cpus: Cpus, quota: Option<f64>, memory_bytes: Option<u64>) -> Self {
        let Cpus { allowed, all } = cpus;
        let limited_by = match quota {
            Some(quota) if quota < f64::from(allowed) => LimitedBy::Group,
            _ if allowed < all => LimitedBy::Affinity(all),
            _ => LimitedBy::Machine,
        };
        Self {
            cpus: quota.map_or(f64::from(allowed), |quota| quota.min(f64::from(allowed))),
            memory_bytes: memory_bytes.unwrap_or(u64::MAX),
            limited_by,
        }
    }

    /// Returns how many workers the grant is enough for, and why.
    pub fn workers(&self) -> (usize, String) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and rounded up"
        )]
        let by_cpus = self.cpus.ceil().max(1.0) as usize;
        let by_memory = usize::try_from(self.memory_bytes / WORKER_BYTES).unwrap_or(usize::MAX).max(1);
        if by_memory < by_cpus {
            let mib = self.memory_bytes >> 20;
            return (by_memory, format!("{mib} MiB of memory allow no more"));
        }
        let (cpus, plural) = (self.cpus, if self.cpus > 1.0 { "s" } else { "" });
        let why = match self.limited_by {
            LimitedBy::Machine => format!("the machine has {cpus} CPU{plural}"),
            LimitedBy::Affinity(all) => format!("this process may use {cpus} of the machine's {all} CPUs"),
            LimitedBy::Group => format!("the control group grants {cpus} CPU{plural}"),
        };
        (by_cpus, why)
    }
}

/// Returns the folders of this process's group and of the groups above it, the nearest first.
fn folders(root: &Path, group: &str) -> Vec<PathBuf> {
    let group = Path::new(group.trim_start_matches('/'));
    // Inside a container the group's path may not exist below the root: the group itself is mounted there.
    group.ancestors().map(|part| root.join(part)).filter(|folder| folder.is_dir()).collect()
}

/// Returns the path of the group in the hierarchy of a controller; in version 2 all controllers share one hierarchy,
/// which has no name.
fn group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        names.split(',').any(|name| name == controller).then_some(path)
    })
}

fn number(path: &Path) -> Option<f64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the least CPU time for each second that any group allows: `cpu.max`, or `cpu.cfs_quota_us` in version 1 of
/// control groups.
fn cpu_quota(root: &Path, groups: &str) -> Option<f64> {
    let second = group_of(groups, "").map(|group| folders(root, group)).unwrap_or_default();
    let of_second = second.iter().filter_map(|folder| {
        let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    });
    let first = group_of(groups, "cpu").map(|group| folders(&root.join("cpu"), group)).unwrap_or_default();
    let of_first = first.iter().filter_map(|folder| {
        let quota = number(&folder.join("cpu.cfs_quota_us"))?;
        (quota > 0.0).then_some(quota / number(&folder.join("cpu.cfs_period_us"))?)
    });
    of_second.chain(of_first).filter(|cpus| *cpus > 0.0).reduce(f64::min)
}

/// Returns the least memory that any group allows: `memory.max`, or `memory.limit_in_bytes` in version 1 of control
/// groups.
fn memory_limit(root: &Path, groups: &str) -> Option<u64> {
    let second = group_of(groups, "").map(|group| folders(root, group)).unwrap_or_default();
    let first =
        group_of(groups, "memory").map(|group| folders(&root.join("memory"), group)).unwrap_or_default();
    let files = second.iter().map(|folder| folder.join("memory.max"));
    let files = files.chain(first.iter().map(|folder| folder.join("memory.limit_in_bytes")));
    files.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

fn memory_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{Cpus, Grant, cpu_quota, memory_limit, memory_total};

    /// A folder that stands for `/sys/fs/cgroup`.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> std::io::Result<Self> {
            let root = std::env::temp_dir().join(format!("adyton-grant-{}-{name}", std::process::id()));
            for (file, text) in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().unwrap_or(&root))?;
                fs::write(file, text)?;
            }
            Ok(Self(root))
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            // A tree that cannot be removed stays in the folder for temporary files.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// In version 2 of control groups, the least limit of the group and of all groups above it counts.
    #[test]
    fn second_version() -> std::io::Result<()> {
        let files = [
            ("a/b/cpu.max", "max 100000\n"),
            ("a/cpu.max", "150000 100000\n"),
            ("a/b/memory.max", "1048576\n"),
        ];
        let tree = Tree::new("second", &files)?;

        assert_eq!(Some(1.5), cpu_quota(&tree.0, "0::/a/b\n"));
        assert_eq!(Some(1 << 20), memory_limit(&tree.0, "0::/a/b\n"));
        assert_eq!(None, cpu_quota(&tree.0, "0::/elsewhere\n"));
        Ok(())
    }

    /// In version 1 of control groups, each controller has a tree of its own; -1 is no limit.
    #[test]
    fn first_version() -> std::io::Result<()> {
        let files = [
            ("cpu/a/cpu.cfs_quota_us", "50000\n"),
            ("cpu/a/cpu.cfs_period_us", "100000\n"),
            ("cpu/cpu.cfs_quota_us", "-1\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
            ("memory/a/memory.limit_in_bytes", "536870912\n"),
        ];
        let tree = Tree::new("first", &files)?;
        let groups = "4:memory:/a\n3:cpu,cpuacct:/a\n1:name=systemd:/x\n";

        assert_eq!(Some(0.5), cpu_quota(&tree.0, groups));
        assert_eq!(Some(512 << 20), memory_limit(&tree.0, groups));
        Ok(())
    }

    /// A fraction of a CPU counts as a worker, and memory counts as well.
    #[test]
    fn workers() {
        let grant =
            |quota, memory_bytes| Grant::of(Cpus { allowed: 8, all: 8 }, quota, memory_bytes).workers();
        let some = |quota| Grant::of(Cpus { allowed: 3, all: 8 }, quota, None).workers();

        assert_eq!((2, "the control group grants 1.5 CPUs".to_owned()), grant(Some(1.5), None));
        assert_eq!((2, "the control group grants 2 CPUs".to_owned()), grant(Some(2.0), None));
        assert_eq!((1, "the control group grants 0.5 CPU".to_owned()), grant(Some(0.5), None));
        assert_eq!((8, "the machine has 8 CPUs".to_owned()), grant(Some(16.0), Some(64 << 30)));
        assert_eq!((4, "512 MiB of memory allow no more".to_owned()), grant(None, Some(512 << 20)));
        assert_eq!(1, grant(None, Some(1 << 20)).0);
        assert_eq!((3, "this process may use 3 of the machine's 8 CPUs".to_owned()), some(Some(4.0)));
        assert_eq!((2, "the control group grants 2 CPUs".to_owned()), some(Some(2.0)));
    }

    #[test]
    fn memory_of_the_machine() {
        assert_eq!(Some(2048), memory_total("MemFree: 1 kB\nMemTotal:       2 kB\n"));
        assert_eq!(None, memory_total("MemTotal: much\n"));
    }
}
