//! The number of connections of each client address, and its limit: one client must not take every place.

use std::collections::HashMap;
use std::net::SocketAddr;

use adyton_auth::Place;

/// Connections counted by address.
pub(crate) struct Addresses {
    /// 0: nothing is counted.
    connections_max: u32,
    counts: HashMap<Place, u32>,
    /// The counted address of each connection, by its key.
    of: HashMap<usize, Place>,
}

impl Addresses {
    /// Allows `connections_max` connections for each address; 0 allows any number.
    pub(crate) fn new(connections_max: u32) -> Self {
        Self { connections_max, counts: HashMap::new(), of: HashMap::new() }
    }

    /// Counts a new connection; `false` when its address has too many. A connection of a unix socket has no address.
    pub(crate) fn enter(&mut self, key: usize, peer: Option<SocketAddr>) -> bool {
        let Some(address) = peer.map(|peer| Place::of(peer.ip())).filter(|_| self.connections_max > 0) else {
            return true;
        };
        let count = self.counts.entry(address).or_default();
        if *count >= self.connections_max {
            return false;
        }
        *count += 1;
        self.of.insert(key, address);
        true
    }

    /// Stops counting a connection, which has gone.
    pub(crate) fn leave(&mut self, key: usize) {
        if self.connections_max == 0 {
            return;
        }
        let Some(address) = self.of.remove(&key) else { return };
        if let Some(count) = self.counts.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, last], 1))
    }

    /// Each address has its own count, and nothing stays behind.
    #[test]
    fn counts_by_address() {
        let mut addresses = Addresses::new(2);
        assert!(addresses.enter(0, Some(peer(1))));
        assert!(addresses.enter(1, Some(peer(1))));
        assert!(!addresses.enter(2, Some(peer(1))), "one too many");
        assert!(addresses.enter(2, Some(peer(2))));
        assert!(addresses.enter(3, None), "a unix socket");
        addresses.leave(0);
        assert!(addresses.enter(4, Some(peer(1))), "a place again");
        for key in 0..5 {
            addresses.leave(key);
        }
        assert!(addresses.counts.is_empty() && addresses.of.is_empty());
    }

    /// Without a limit nothing is counted.
    #[test]
    fn no_limit() {
        let mut addresses = Addresses::new(0);
        for key in 0..1000 {
            assert!(addresses.enter(key, Some(peer(1))));
        }
        assert!(addresses.counts.is_empty());
    }
}
