//! Rate limits on the requests of a client: a token bucket for each address.

use std::collections::HashMap;
use std::mem;
use std::net::IpAddr;
use std::sync::Mutex;

use adyton_auth::Place;
use adyton_sys::clock;

use crate::lock::lock;

/// A limit on the rate of requests, and on the number of requests at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The time between two requests that are sent evenly, in µs; at least 1.
    pub interval_us: u64,
    /// Requests that may come at once after a pause; at least 1.
    pub burst: u32,
}

/// Counts requests by address, for all routes that share the limit, in one process.
#[derive(Debug)]
pub struct Limiter {
    limit: RateLimit,
    buckets: Mutex<Buckets>,
}

/// Time at which the next request of each address would come if all came evenly, in µs of the clock: a bucket in one
/// number (GCRA). An address in neither map has a full bucket.
#[derive(Debug, Default)]
struct Buckets {
    young: HashMap<Place, u64>,
    /// Older addresses, which are forgotten when the young ones are too many.
    old: HashMap<Place, u64>,
}

/// Maximum number of addresses in each of the two maps; some 40 bytes each. No table of this kind slows down a client
/// that has more addresses than this.
const PLACES_MAX: usize = 8192;

impl Limiter {
    /// Makes a limiter whose buckets are all full.
    pub fn new(limit: RateLimit) -> Limiter {
        Limiter { limit, buckets: Mutex::default() }
    }

    /// Returns the limit.
    pub fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Takes a token for a request from this address; if there is none, returns the seconds that the client has to
    /// wait. Clients of unix sockets, which have no address, never have to wait.
    pub(crate) fn wait_s(&self, client: Option<IpAddr>) -> Option<u64> {
        let place = Place::of(client?);
        let wait_us = lock(&self.buckets).take(place, self.limit, clock::monotonic_us())?;
        Some(wait_us.div_ceil(1_000_000).max(1))
    }
}

impl Buckets {
    /// Takes a token out of a bucket. If the bucket has none, returns the number of µs until it has one again.
    fn take(&mut self, place: Place, limit: RateLimit, now_us: u64) -> Option<u64> {
        let known = self.young.get(&place).or_else(|| self.old.get(&place)).copied();
        let even_us = known.unwrap_or(0).max(now_us);
        let ahead_us = limit.interval_us.saturating_mul(u64::from(limit.burst.saturating_sub(1)));
        let wait_us = (even_us - now_us).saturating_sub(ahead_us);
        if wait_us > 0 {
            return Some(wait_us);
        }
        if self.young.len() >= PLACES_MAX && !self.young.contains_key(&place) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(place, even_us.saturating_add(limit.interval_us));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Buckets, PLACES_MAX, RateLimit};
    use adyton_auth::Place;

    const LIMIT: RateLimit = RateLimit { interval_us: 100, burst: 3 };

    fn place(number: u32) -> Place {
        Place::of(std::net::Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn bursts_and_even_requests() {
        let mut buckets = Buckets::default();
        for (now_us, expected) in [
            (1000, None),
            (1000, None),
            (1000, None),
            (1000, Some(100)),
            (1099, Some(1)),
            (1100, None),
            (1100, Some(100)),
            (1250, None),
            (1250, Some(50)),
            (9000, None),
            (9000, None),
            (9000, None),
            (9000, Some(100)),
        ] {
            assert_eq!(expected, buckets.take(place(1), LIMIT, now_us), "{now_us}");
        }
        assert_eq!(None, buckets.take(place(2), LIMIT, 9000));
    }

    /// Memory is bounded; addresses that have asked lately are still known.
    #[test]
    fn many_addresses() {
        let mut buckets = Buckets::default();
        for number in 0..100_000 {
            assert_eq!(None, buckets.take(place(number), RateLimit { burst: 1, ..LIMIT }, 5));
            assert!(buckets.young.len() <= PLACES_MAX && buckets.old.len() <= PLACES_MAX);
        }
        for number in 99_000..100_000 {
            assert_eq!(Some(100), buckets.take(place(number), RateLimit { burst: 1, ..LIMIT }, 5));
        }
    }

    #[test]
    fn large_numbers() {
        let limit = RateLimit { interval_us: u64::MAX, burst: u32::MAX };
        let mut buckets = Buckets::default();

        assert_eq!([None, None], [1, 2].map(|_| buckets.take(place(1), limit, u64::MAX - 1)));
    }
}
