//! CPU time and memory of the server's processes on this machine: the processes that listen at the port, and their
//! descendants.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use adyton_sys::fs::Fault;
use adyton_sys::sock_diag;

use crate::machine::others::{TICK_US, cpus_of};
use crate::target::url::Address;

/// The processes of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Server {
    /// Processes that listen; their descendants are looked up anew for each reading.
    listeners: Vec<u32>,
    /// The address at which they listen, if it is on this machine and no unix socket.
    address: Option<SocketAddr>,
}

/// Resources that the processes have used until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// CPU time in microseconds, including the time of children that have ended and were waited for. The kernel does
    /// not count children of a parent that ignores SIGCHLD: their time appears as foreign load, which makes the run
    /// invalid.
    pub(crate) cpu_us: u64,
    /// Proportional memory (PSS) in bytes: memory that several processes share counts in parts.
    pub(crate) pss_bytes: u64,
    /// Number of processes.
    pub(crate) processes: u32,
}

impl Server {
    /// Finds the processes that listen at `address`; none if the address belongs to another machine, or if this user
    /// may not see the processes.
    pub(crate) fn find(address: &Address) -> Self {
        let here = match address {
            Address::Tcp(address) => is_here(*address).then_some(*address),
            Address::Unix(_) => None,
        };
        let sockets = match (address, here) {
            (Address::Tcp(_), None) => HashSet::new(),
            (Address::Tcp(_), Some(address)) => ["/proc/net/tcp", "/proc/net/tcp6"]
                .iter()
                .flat_map(|path| tcp_listeners(&fs::read_to_string(path).unwrap_or_default(), address))
                .collect::<HashSet<_>>(),
            (Address::Unix(path), _) => {
                unix_listeners(&fs::read_to_string("/proc/net/unix").unwrap_or_default(), path)
            }
        };
        let mut listeners: Vec<u32> = pids().filter(|pid| holds(*pid, &sockets)).collect();
        listeners.sort_unstable();
        Self { listeners, address: here }
    }

    /// Whether the server's processes were found.
    pub(crate) fn is_known(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// Whether a listener may run on one of the CPUs on which this program may run.
    pub(crate) fn shares_cpus(&self) -> bool {
        let own = cpus_of(std::process::id());
        self.listeners.iter().any(|pid| !cpus_of(*pid).is_disjoint(&own))
    }

    /// Returns the paths of the unix sockets at which the processes also listen.
    pub(crate) fn unix_paths(&self) -> Vec<PathBuf> {
        let held: HashSet<String> = self.listeners.iter().flat_map(|pid| sockets_of(*pid)).collect();
        unix_sockets(&fs::read_to_string("/proc/net/unix").unwrap_or_default())
            .filter(|(inode, _)| held.contains(*inode))
            .map(|(_, path)| path.into())
            .collect()
    }

    /// Returns the cookie of each socket at which the server listens, and the number of packets that it has dropped
    /// until now.
    pub(crate) fn drops(&self) -> io::Result<Vec<(u64, u32)>> {
        let Some(address) = self.address else { return Ok(Vec::new()) };
        let all = sock_diag::listeners(address.port())?.into_iter();
        let own = all.filter(|listener| takes(listener.address, address));
        Ok(own.map(|listener| (listener.cookie, listener.drops)).collect())
    }

    /// Returns what the processes have used until now; `None` if that cannot be read, as without a free descriptor.
    pub(crate) fn used(&self) -> Option<Used> {
        if !self.is_known() {
            return Some(Used::default());
        }
        let mut stats: HashMap<u32, Stat> = HashMap::new();
        for pid in pids() {
            match Stat::of(pid) {
                Ok(stat) => stats.extend(stat.map(|stat| (pid, stat))),
                Err(error) if Fault::of(&error) == Fault::OutOfFiles => return None,
                // The process has ended since /proc was listed.
                Err(_) => {}
            }
        }
        if stats.is_empty() {
            // At least this process must be in /proc, so the listing has failed.
            return None;
        }
        let mut tree: HashSet<u32> = HashSet::new();
        let mut todo = self.listeners.clone();
        while let Some(pid) = todo.pop() {
            if tree.insert(pid) {
                todo.extend(stats.iter().filter(|(_, stat)| stat.parent == pid).map(|(pid, _)| *pid));
            }
        }
        let living = tree.iter().filter_map(|pid| stats.get(pid).map(|stat| (*pid, stat)));
        Some(living.fold(Used::default(), |used, (pid, stat)| Used {
            cpu_us: used.cpu_us + stat.cpu_us,
            pss_bytes: used.pss_bytes + pss_bytes(pid),
            processes: used.processes + 1,
        }))
    }
}

/// Returns the CPU time of this process, in microseconds, if it can be read.
pub(crate) fn own_cpu_us() -> Option<u64> {
    Stat::of(std::process::id()).ok().flatten().map(|stat| stat.cpu_us)
}

/// The part of /proc/PID/stat that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    cpu_us: u64,
}

impl Stat {
    fn of(pid: u32) -> io::Result<Option<Self>> {
        Ok(Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat"))?))
    }

    /// Reads a line. The process's name stands in parentheses, and may contain any of the characters that separate the
    /// fields.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The first item here is field 3 of proc(5), the state: ppid is field 4, and utime, stime, cutime and cstime
        // are fields 14 to 17.
        let parent = fields.get(1)?.parse().ok()?;
        let ticks: u64 = fields.get(11..15)?.iter().filter_map(|text| text.parse::<u64>().ok()).sum();
        Some(Self { parent, cpu_us: ticks * TICK_US })
    }
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the inodes of sockets that listen (state 0A) at `address`, or at the wildcard address with the same port.
fn tcp_listeners(text: &str, address: SocketAddr) -> Vec<String> {
    let listeners = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listener = listener_of(fields.get(1)?)?;
        (*fields.get(3)? == "0A" && takes(listener, address))
            .then(|| fields.get(9).map(|inode| (*inode).to_owned()))?
    });
    listeners.collect()
}

/// Whether a socket that listens at `listener` gets the connections to `address`.
fn takes(listener: SocketAddr, address: SocketAddr) -> bool {
    let (bound, asked) = (listener.ip().to_canonical(), address.ip().to_canonical());
    // A socket of IPv6 takes IPv4, too, unless it has the option IPV6_V6ONLY, which /proc does not show.
    let is_wildcard = bound.is_unspecified() && (listener.is_ipv6() || asked.is_ipv4());
    listener.port() == address.port() && (bound == asked || is_wildcard)
}

/// Reads an address of /proc/net/tcp: words of four bytes in the order of this machine, and the port.
fn listener_of(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(words.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = if words.len() == 8 {
        IpAddr::from(word(0)?)
    } else {
        let bytes: Vec<u8> = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
        IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)
    };
    Some(SocketAddr::new(ip, port))
}

/// Whether an address is one of this machine's, so that a socket can be bound to it.
fn is_here(mut address: SocketAddr) -> bool {
    address.set_port(0);
    UdpSocket::bind(address).is_ok()
}

/// Returns the inodes of sockets bound to `path`.
fn unix_listeners(text: &str, path: &Path) -> HashSet<String> {
    let path = path.to_string_lossy();
    unix_sockets(text).filter(|(_, other)| *other == path).map(|(inode, _)| inode.to_owned()).collect()
}

/// Returns the unix sockets that listen (the flag `SO_ACCEPTCON`) and have a path, with their inodes.
fn unix_sockets(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = *fields.get(3)? == "00010000";
        listens.then_some((*fields.get(6)?, *fields.get(7)?))
    })
}

/// Whether a process has one of the sockets open.
fn holds(pid: u32, sockets: &HashSet<String>) -> bool {
    sockets_of(pid).any(|inode| sockets.contains(&inode))
}

/// Returns the inodes of the sockets that a process has open.
fn sockets_of(pid: u32) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let link = fs::read_link(entry.path()).ok()?;
        Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    })
}

fn pss_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let kib =
        text.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0_u64) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 3 4 20 0 1 0 5 6 7";

        assert_eq!(Some(Stat { parent: 7, cpu_us: 370_000 }), Stat::parse(text));
    }

    /// The lines are in the form that the kernel writes on a little-endian machine.
    #[cfg(target_endian = "little")]
    #[test]
    fn who_listens_where() {
        let text = "  sl  local_address rem_address st\n\
            0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 11\n\
            1: 00000000:1F90 00000000:0000 0A 0:0 00:0 0 0 0 12\n\
            2: 0200007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 13\n\
            3: 0100007F:1F91 00000000:0000 0A 0:0 00:0 0 0 0 14\n\
            4: 0100007F:1F90 0100007F:9999 01 0:0 00:0 0 0 0 15\n\
            5: 00000000000000000000000000000000:1F90 0:0 0A 0:0 00:0 0 0 0 16\n\
            6: 00000000000000000000000001000000:1F90 0:0 0A 0:0 00:0 0 0 0 17\n\
            7: 0000000000000000FFFF00000100007F:1F90 0:0 0A 0:0 00:0 0 0 0 18\n";
        #[expect(clippy::unwrap_used, reason = "an error here is a failed test")]
        let inodes = |address: &str| tcp_listeners(text, address.parse().unwrap()).join(" ");

        assert_eq!("11 12 16 18", inodes("127.0.0.1:8080"));
        assert_eq!("12 16", inodes("10.0.0.1:8080"));
        assert_eq!("16 17", inodes("[::1]:8080"));
        assert_eq!("14", inodes("127.0.0.1:8081"));
    }

    /// A process of this machine that listens at the same port as a remote server must not be taken for that server.
    #[test]
    fn a_remote_server_is_not_here() {
        #[expect(clippy::unwrap_used, reason = "an error here is a failed test")]
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        #[expect(clippy::unwrap_used, reason = "as above")]
        let port = listener.local_addr().unwrap().port();

        // The address is reserved for documentation (RFC 5737), so no machine has it.
        assert!(!Server::find(&Address::Tcp(([192, 0, 2, 1], port).into())).is_known());
        assert!(Server::find(&Address::Tcp(([127, 0, 0, 1], port).into())).is_known());
    }

    /// The listener that is found must be the process of this test.
    #[test]
    fn who_listens_is_found() {
        #[expect(clippy::unwrap_used, reason = "an error here is a failed test")]
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        #[expect(clippy::unwrap_used, reason = "as above")]
        let address = listener.local_addr().unwrap();
        let server = Server::find(&Address::Tcp(address));

        assert_eq!(vec![std::process::id()], server.listeners);
        assert!(server.used().is_some_and(|used| used.pss_bytes > 100_000));
        drop(listener);
        assert!(!Server::find(&Address::Tcp(address)).is_known());
    }
}
