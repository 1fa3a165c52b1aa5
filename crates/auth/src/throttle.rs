//! Slows down guessing: a client that has failed often must wait, and longer after each further failure.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::place::Place;

/// Failures by the address of the client.
#[derive(Clone, Debug)]
pub struct Throttle {
    limits: ThrottleLimits,
    failures: HashMap<Place, Failures>,
}

/// When a client must begin to wait, and how long it must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleLimits {
    /// The number of the first failure after which a client must wait.
    pub failures: u32,
    /// Time since the last failure after which a client's failures are forgotten.
    pub window_ms: u64,
    /// The first wait. Each further failure doubles the wait.
    pub wait_first_ms: u64,
    /// The longest wait.
    pub wait_max_ms: u64,
    /// The most addresses that are kept. When there are more, the address whose last failure is the oldest is
    /// forgotten.
    pub places_max: usize,
}

/// The number of the first failure after which a client must wait: enough for a person who tries all of their
/// passwords, and for a few people behind one address.
pub const FAILURES: u32 = 10;
/// Time until failures are forgotten: a quarter of an hour, which a person can be expected to bear.
pub const WINDOW_MS: u64 = 15 * 60 * 1000;
/// The first wait: about the time in which a person types the password again.
pub const WAIT_FIRST_MS: u64 = 1000;
/// The longest wait: five minutes, which allows some 300 guesses a day. It is shorter than [`WINDOW_MS`], so that
/// failures are not forgotten during the wait.
pub const WAIT_MAX_MS: u64 = 5 * 60 * 1000;
/// The most addresses that are kept, some 64 bytes each. A client that has more addresses than the table holds is not
/// slowed down, however large the table is.
pub const PLACES_MAX: usize = 4096;

impl Default for ThrottleLimits {
    fn default() -> ThrottleLimits {
        ThrottleLimits {
            failures: FAILURES,
            window_ms: WINDOW_MS,
            wait_first_ms: WAIT_FIRST_MS,
            wait_max_ms: WAIT_MAX_MS,
            places_max: PLACES_MAX,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Failures {
    count: u32,
    last_ms: u64,
    /// The time until which no password from this address is verified.
    until_ms: u64,
}

impl Throttle {
    /// Makes a throttle without failures.
    pub fn new(limits: ThrottleLimits) -> Throttle {
        Throttle { limits, failures: HashMap::new() }
    }

    /// How long a client with this address must wait before its password is checked; `None` if it need not wait. Asking
    /// during the wait does not prolong it. Clients of unix sockets have no address, and never wait.
    pub fn wait_ms(&self, address: Option<IpAddr>, now_ms: u64) -> Option<u64> {
        let failures = self.failures.get(&Place::of(address?))?;
        failures.until_ms.checked_sub(now_ms).filter(|&wait_ms| wait_ms > 0)
    }

    /// Notes that a password from this address was wrong.
    pub fn failed(&mut self, address: Option<IpAddr>, now_ms: u64) {
        let Some(place) = address.map(Place::of) else { return };
        if self.limits.places_max == 0 {
            return;
        }
        if !self.failures.contains_key(&place) && self.failures.len() >= self.limits.places_max {
            self.make_room(now_ms);
        }
        let failures = self.failures.entry(place).or_default();
        if is_over(failures, &self.limits, now_ms) {
            *failures = Failures::default();
        }
        failures.count = failures.count.saturating_add(1);
        failures.last_ms = now_ms;
        if let Some(more) = failures.count.checked_sub(self.limits.failures.max(1)) {
            let doubled = 2_u64.saturating_pow(more).saturating_mul(self.limits.wait_first_ms);
            failures.until_ms = now_ms.saturating_add(doubled.min(self.limits.wait_max_ms));
        }
    }

    /// Forgets old failures; if there are none, forgets the address whose last failure is the oldest. Looks at all
    /// addresses, which takes some microseconds, less than verifying the password took.
    fn make_room(&mut self, now_ms: u64) {
        let limits = self.limits;
        self.failures.retain(|_, failures| !is_over(failures, &limits, now_ms));
        if self.failures.len() < limits.places_max {
            return;
        }
        let oldest = self.failures.iter().min_by_key(|(_, failures)| failures.last_ms);
        if let Some(place) = oldest.map(|(&place, _)| place) {
            self.failures.remove(&place);
        }
    }
}

/// Whether the last failure is so long ago that the failures no longer count.
fn is_over(failures: &Failures, limits: &ThrottleLimits, now_ms: u64) -> bool {
    let end_ms = failures.last_ms.saturating_add(limits.window_ms);
    now_ms >= end_ms.max(failures.until_ms)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{Throttle, ThrottleLimits};

    const LIMITS: ThrottleLimits =
        ThrottleLimits { failures: 3, window_ms: 1000, wait_first_ms: 10, wait_max_ms: 50, places_max: 4 };

    fn address(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    #[test]
    fn waits_double() {
        let mut throttle = Throttle::new(LIMITS);
        let client = address("192.0.2.1");
        let mut now_ms = 100;
        for expected in [None, None, Some(10), Some(20), Some(40), Some(50), Some(50)] {
            throttle.failed(client, now_ms);

            assert_eq!(expected, throttle.wait_ms(client, now_ms));

            now_ms += expected.unwrap_or(1);

            assert_eq!(None, throttle.wait_ms(client, now_ms));
            assert_eq!(expected.map(|_| 1), throttle.wait_ms(client, now_ms - 1));
        }
    }

    #[test]
    fn failures_are_forgotten() {
        let mut throttle = Throttle::new(LIMITS);
        let client = address("192.0.2.1");
        for (now_ms, expected) in [
            (0, None),
            (999, None),
            (1999, None),
            (2998, None),
            (2999, Some(10)),
            (3998, Some(20)),
            (4998, None),
        ] {
            throttle.failed(client, now_ms);

            assert_eq!(expected, throttle.wait_ms(client, now_ms), "{now_ms}");
        }
    }

    #[test]
    fn neighbours() {
        for (failed, asks, is_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.2", false),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false),
            ("::1", "::2", true),
            ("::1", "0.0.0.0", false),
            ("192.0.2.1", "unix", false),
            ("unix", "unix", false),
        ] {
            let mut throttle = Throttle::new(LIMITS);
            (0..3).for_each(|_| throttle.failed(address(failed), 0));

            assert_eq!(is_same, throttle.wait_ms(address(asks), 0).is_some(), "{failed} {asks}");
        }
    }

    #[test]
    fn the_quietest_is_forgotten() {
        let mut throttle = Throttle::new(LIMITS);
        let clients: Vec<_> = (1..=5).map(|last| address(&format!("192.0.2.{last}"))).collect();
        for (now_ms, &client) in (0..).zip(&clients) {
            (0..3).for_each(|_| throttle.failed(client, now_ms));
            throttle.failed(clients[0], now_ms);
        }
        let waiting: Vec<_> = clients.iter().map(|&client| throttle.wait_ms(client, 5).is_some()).collect();

        assert_eq!(vec![true, false, true, true, true], waiting);
        assert_eq!(4, throttle.failures.len());

        throttle.failed(address("192.0.2.99"), 5000);

        assert_eq!(1, throttle.failures.len());
    }

    #[test]
    fn large_numbers() {
        let limits = ThrottleLimits { wait_max_ms: u64::MAX, failures: 0, ..LIMITS };
        let mut throttle = Throttle::new(limits);
        let client = address("::1");
        (0..200).for_each(|_| throttle.failed(client, u64::MAX - 1));

        assert_eq!(Some(1), throttle.wait_ms(client, u64::MAX - 1));
        assert_eq!(None, throttle.wait_ms(client, u64::MAX));
    }
}
