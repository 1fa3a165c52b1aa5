//! Nonces of Digest (RFC 7616 section 3.3): they are signed, so that a nonce need not be remembered before it is used.
//!
//! A nonce consists of its time, a serial number, and a signature of both and of the realm. If a nonce was used with a
//! right password, the counts of its requests are remembered, so that no request is accepted twice.

use std::collections::BTreeMap;

use subtle::ConstantTimeEq;

use crate::digest::algorithm::hex;
use crate::digest::signing::{Secret, sign};
use crate::realm::Realm;

/// Makes nonces, and accepts each nonce with each count once.
pub(crate) struct Nonces {
    secret: Secret,
    lifetime_ms: u64,
    /// The most entries of `seen`.
    entries_max: usize,
    next_serial: u32,
    /// The counts of used nonces, by their stamps, so that the oldest nonce comes first.
    seen: BTreeMap<Stamp, Counts>,
    /// The newest nonce whose counts were forgotten for lack of room: it and all older ones may have been used before.
    forgotten: Option<Stamp>,
}

/// The time at which a nonce was made, and a number that distinguishes the nonces of one millisecond. Stamps are
/// ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    made_ms: u64,
    serial: u32,
}

/// The counts with which a nonce was used: the highest count, and a window of the last [`WINDOW`] counts, in which bit
/// n stands for the highest count minus n. A window is needed because requests that a browser sends at the same time on
/// several connections may overtake each other.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    highest: u32,
    window: u64,
}

/// How far a count may be below the highest count.
const WINDOW: u32 = u64::BITS;

/// Bytes of the signature in a nonce: too many bits to be guessed.
const SIGNATURE_BYTES: usize = 16;

impl Nonces {
    pub(crate) fn new(secret: Secret, lifetime_ms: u64, entries_max: usize) -> Nonces {
        let seen = BTreeMap::new();
        Nonces { secret, lifetime_ms, entries_max, next_serial: 0, seen, forgotten: None }
    }

    /// A new nonce, in hexadecimal digits.
    pub(crate) fn make(&mut self, realm: &Realm, now_ms: u64) -> String {
        let stamp = Stamp { made_ms: now_ms, serial: self.next_serial };
        self.next_serial = self.next_serial.wrapping_add(1);
        self.written(stamp, realm)
    }

    /// Whether this nonce was made here, for this realm, not too long ago, and comes with this count for the first
    /// time.
    ///
    /// The caller has checked the password, so that only clients with a right password use up memory.
    pub(crate) fn take(&mut self, nonce: &[u8], count: u32, realm: &Realm, now_ms: u64) -> bool {
        let Some(stamp) = self.stamp_of(nonce, realm) else { return false };
        let is_over = |made_ms: u64| now_ms.saturating_sub(made_ms) >= self.lifetime_ms;
        if is_over(stamp.made_ms) {
            return false;
        }
        while self.seen.first_key_value().is_some_and(|(first, _)| is_over(first.made_ms)) {
            self.seen.pop_first();
        }
        if let Some(counts) = self.seen.get_mut(&stamp) {
            return counts.take(count);
        }
        let mut counts = Counts::default();
        if self.forgotten.is_some_and(|forgotten| stamp <= forgotten) || !counts.take(count) {
            return false;
        }
        self.seen.insert(stamp, counts);
        if self.seen.len() > self.entries_max {
            self.forgotten = self.seen.pop_first().map(|(first, _)| first).max(self.forgotten);
        }
        true
    }

    /// The stamp of a nonce, if the nonce was made with this secret for this realm.
    fn stamp_of(&self, nonce: &[u8], realm: &Realm) -> Option<Stamp> {
        let text = str::from_utf8(nonce).ok()?;
        let made_ms = u64::from_str_radix(text.get(..16)?, 16).ok()?;
        let serial = u32::from_str_radix(text.get(16..24)?, 16).ok()?;
        // The stamp is written again, with its signature, and must give the same nonce: this also refuses other
        // spellings of the two numbers.
        let stamp = Stamp { made_ms, serial };
        let is_ours: bool = self.written(stamp, realm).as_bytes().ct_eq(nonce).into();
        is_ours.then_some(stamp)
    }

    fn written(&self, stamp: Stamp, realm: &Realm) -> String {
        let (made, number) = (stamp.made_ms.to_be_bytes(), stamp.serial.to_be_bytes());
        let signature = sign(&self.secret, &[&made, &number, realm.as_str().as_bytes()]);
        hex(&[&made[..], &number, &signature[..SIGNATURE_BYTES]].concat())
    }
}

impl Counts {
    /// Whether this count is new; notes it if it is.
    fn take(&mut self, count: u32) -> bool {
        if count > self.highest {
            self.window = self.window.checked_shl(count - self.highest).unwrap_or(0) | 1;
            self.highest = count;
            return true;
        }
        // Counts begin at 1 (RFC 7616 section 3.4).
        let behind = self.highest - count;
        if count == 0 || behind >= WINDOW || self.window >> behind & 1 == 1 {
            return false;
        }
        self.window |= 1 << behind;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Counts, Nonces, WINDOW};
    use crate::Realm;

    fn realm(text: &str) -> Realm {
        Realm::new(text).unwrap_or_else(|error| unreachable!("{error}"))
    }

    fn nonces() -> Nonces {
        Nonces::new([3; 32], 1000, 3)
    }

    #[test]
    fn counts_are_taken_once() {
        let (mut nonces, realm) = (nonces(), realm("a"));
        let nonce = nonces.make(&realm, 100);
        for (count, now_ms, is_good) in [
            (0, 100, false),
            (1, 100, true),
            (1, 100, false),
            (3, 200, true),
            (2, 200, true),
            (2, 200, false),
            (3, 200, false),
            (u32::MAX, 200, true),
            (u32::MAX, 200, false),
            (4, 200, false),
            (u32::MAX - 63, 1099, true),
            (u32::MAX - 64, 1099, false),
            (u32::MAX - 1, 1100, false),
            // Another process may have read the clock a moment earlier.
            (u32::MAX - 2, 99, true),
        ] {
            assert_eq!(is_good, nonces.take(nonce.as_bytes(), count, &realm, now_ms), "{count} at {now_ms}");
        }
    }

    #[test]
    fn what_is_not_ours() {
        let (mut ours, here) = (nonces(), realm("here"));
        let nonce = ours.make(&here, 100);
        let other = Nonces::new([4; 32], 1000, 3).make(&here, 100);
        assert_eq!(56, nonce.len());
        for at in 0..nonce.len() {
            let mut changed = nonce.clone().into_bytes();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            assert!(!ours.take(&changed, 1, &here, 100), "{at}");
            assert!(!ours.take(&nonce.as_bytes()[..at], 1, &here, 100), "{at}");
        }
        for text in
            ["", "zz", &other, &format!("{nonce}0"), &format!("+{}", &nonce[1..]), &nonce.to_uppercase()]
        {
            assert!(!ours.take(text.as_bytes(), 1, &here, 100), "{text}");
        }
        assert!(!ours.take(nonce.as_bytes(), 1, &realm("there"), 100));
        assert!(ours.take(nonce.as_bytes(), 1, &here, 100));
    }

    #[test]
    fn no_two_are_the_same() {
        let (mut nonces, realm) = (nonces(), realm("a"));

        assert_ne!(nonces.make(&realm, 5), nonces.make(&realm, 5));
    }

    #[test]
    fn what_is_forgotten_was_used() {
        let (mut nonces, realm) = (nonces(), realm("a"));
        let made: Vec<_> = (0..5).map(|now_ms| nonces.make(&realm, now_ms)).collect();
        let mut take = |at: usize, count| nonces.take(made[at].as_bytes(), count, &realm, 10);

        // There is room for three nonces: of 1, 2, 3 and 4, nonce 1 is forgotten. Nonce 0, which is older still, is no
        // longer accepted.
        assert_eq!([true; 4], [take(1, 1), take(2, 1), take(3, 1), take(4, 1)]);
        assert_eq!([false; 3], [take(1, 1), take(1, 2), take(0, 1)]);
        assert_eq!([true; 3], [take(2, 2), take(3, 2), take(4, 2)]);
        assert_eq!([false; 3], [take(2, 2), take(3, 2), take(4, 2)]);
        assert_eq!(3, nonces.seen.len());

        let nonce = nonces.make(&realm, 2000);
        assert!(nonces.take(nonce.as_bytes(), 1, &realm, 2000));
        assert_eq!(1, nonces.seen.len());
    }

    #[test]
    fn no_room_at_all() {
        let (mut nonces, realm) = (Nonces::new([3; 32], 1000, 0), realm("a"));
        let nonce = nonces.make(&realm, 0);

        assert!(nonces.take(nonce.as_bytes(), 1, &realm, 0));
        assert!(!nonces.take(nonce.as_bytes(), 1, &realm, 0) && !nonces.take(nonce.as_bytes(), 2, &realm, 0));
    }

    /// Keeps counts in a set: accepts a count that is new and not too far below the highest.
    fn naive_take(seen: &mut BTreeSet<u32>, count: u32) -> bool {
        let is_near = seen.last().is_none_or(|&highest| count > highest || highest - count < WINDOW);
        count > 0 && is_near && seen.insert(count)
    }

    #[test]
    fn counts_as_a_set_has_them() {
        let mut state = 1_u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..200 {
            let (mut counts, mut seen, spread) = (Counts::default(), BTreeSet::new(), 1 + next(200));
            for step in 0..200 {
                let count = step / 2 + next(spread);

                assert_eq!(naive_take(&mut seen, count), counts.take(count), "{count}");
            }
        }
    }
}
