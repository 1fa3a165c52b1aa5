//! Connections that the kernel dropped because the server did not accept earlier ones fast enough.
//!
//! Two counts include these drops, and both count packets. The count of the network namespace (`ListenOverflows`,
//! `ListenDrops`) has only packets of new connections, but to any program. The count of a listening socket (`sk_drops`)
//! has only packets to this socket, but also packets that ask for no connection, such as a reset that comes too late.
//! The smaller of the two counts is taken as the server's drops.

use std::collections::HashMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::machine::server_side::Server;

/// Packets of new connections that were dropped between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Packets dropped because a listen queue was full.
    pub(crate) overflows: u64,
    /// Packets dropped for any reason.
    pub(crate) drops: u64,
    /// The program that should have accepted these connections.
    pub(crate) of: QueueOwner,
}

/// The owner of the listen queues that have been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueOwner {
    /// The server.
    #[default]
    Server,
    /// All programs: the kernel, or a sandbox, does not tell the programs apart.
    Anyone,
}

/// Both counts at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    /// Overflows and drops of the network namespace, if they can be read.
    all: Option<(u64, u64)>,
    /// Drops of each socket at which the server listens, by its cookie; `None` if the kernel does not tell the drops.
    own: Option<HashMap<u64, u32>>,
}

impl Queues {
    /// Reads both counts.
    pub(crate) fn now(server: &Server) -> Self {
        let text = fs::read_to_string("/proc/net/netstat").unwrap_or_default();
        let counters = counters(&text);
        let count = |name| counters.get(name).copied();
        let own = server.drops().ok().map(|drops| drops.into_iter().collect());
        Self { all: count("ListenOverflows").zip(count("ListenDrops")), own }
    }

    /// Returns the drops since `before`, if both counts are known.
    pub(crate) fn since(&self, before: &Self) -> Option<Dropped> {
        let (now, then) = self.all.zip(before.all)?;
        let (overflows, drops) = (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1));
        let Some((now, then)) = self.own.as_ref().zip(before.own.as_ref()) else {
            return Some(Dropped { overflows, drops, of: QueueOwner::Anyone });
        };
        // The count of a new socket, as after a reload, has begun at zero.
        let one = |(cookie, now): (&u64, &u32)| now.wrapping_sub(then.get(cookie).copied().unwrap_or(0));
        let own = now.iter().map(one).map(u64::from).sum();
        Some(Dropped { overflows: overflows.min(own), drops: drops.min(own), of: QueueOwner::Server })
    }
}

/// Reads /proc/net/netstat, which has pairs of lines: a line of names, then a line with their numbers.
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

    /// Makes the two counts: in the namespace, and of sockets by their cookies.
    fn queues(all: u64, own: Option<&[(u64, u32)]>) -> Queues {
        Queues { all: Some((all, all + 1)), own: own.map(|own| own.iter().copied().collect()) }
    }

    fn between(before: &Queues, after: &Queues) -> (u64, QueueOwner) {
        let dropped = after.since(before).unwrap_or_default();
        (dropped.overflows, dropped.of)
    }

    #[test]
    fn what_both_have_counted_is_the_servers() {
        let before = queues(100, Some(&[(1, 10), (2, 20)]));

        for (name, all, own, expected) in [
            ("nothing", 100, [(1, 10), (2, 20)], 0),
            ("others'", 150, [(1, 10), (2, 20)], 0),
            ("ours", 105, [(1, 12), (2, 23)], 5),
            ("ours among others", 150, [(1, 12), (2, 23)], 5),
            ("resets that came late", 100, [(1, 12), (2, 23)], 0),
            ("a reload", 150, [(2, 21), (3, 7)], 8),
        ] {
            assert_eq!((expected, QueueOwner::Server), between(&before, &queues(all, Some(&own))), "{name}");
        }
    }

    #[test]
    fn counts_of_sockets_wrap() {
        let (before, after) = (queues(0, Some(&[(1, u32::MAX)])), queues(9, Some(&[(1, 1)])));

        assert_eq!((2, QueueOwner::Server), between(&before, &after));
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        let unread = Queues { all: None, ..queues(0, Some(&[])) };

        assert_eq!(None, queues(9, Some(&[])).since(&unread));
        assert_eq!(None, unread.since(&queues(9, Some(&[]))));
    }

    #[test]
    fn without_a_list_of_sockets_all_are_counted() {
        let (some, none) = (queues(100, Some(&[(1, 10)])), queues(103, None));

        assert_eq!((3, QueueOwner::Anyone), between(&some, &none));
        assert_eq!((3, QueueOwner::Anyone), between(&queues(100, None), &queues(103, Some(&[(1, 10)]))));
    }
}
