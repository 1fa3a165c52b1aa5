//! Verdicts on passwords that were verified before, so that a slow hash need not be computed for each request.
//!
//! Neither names nor passwords are kept: an entry is found by their signature, which reveals nothing about them without
//! the secret. The time to find an entry does not depend on how much of a password is right.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use crate::digest::signing::{Secret, sign};

/// Verdicts on names and passwords, each kept for a while. They hold for one file of passwords.
pub struct Verdicts {
    secret: Secret,
    /// How often all verdicts were forgotten.
    generation: u64,
    good: Table,
    bad: Table,
}

/// Represents a name and a password until the next [`Verdicts::clear`].
#[derive(Clone, PartialEq, Eq)]
pub struct VerdictKey {
    signature: [u8; 32],
    generation: u64,
}

/// How many verdicts are kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictLimits {
    /// How long a right password is accepted without being verified again.
    pub good_ms: u64,
    /// How long a wrong password is refused without being verified again; see [`BAD_MS`].
    pub bad_ms: u64,
    /// The most verdicts of each kind; see [`VERDICTS_MAX`].
    pub entries_max: usize,
}

impl VerdictLimits {
    /// Limits that keep a verdict on a right password for this time, and a verdict on a wrong password for this time or
    /// [`BAD_MS`], whichever is shorter; at most [`VERDICTS_MAX`] verdicts of each kind.
    pub fn lasting(good_ms: u64) -> VerdictLimits {
        VerdictLimits { good_ms, bad_ms: good_ms.min(BAD_MS), entries_max: VERDICTS_MAX }
    }
}

/// Lifetime of verdicts on wrong passwords. They are kept so that a program that repeats a wrong password costs little,
/// but only briefly, because an attacker tries a different password each time.
pub const BAD_MS: u64 = 5_000;

/// The most verdicts of each kind, some 100 bytes each. When there are more, the oldest is forgotten, and its password
/// is verified again.
pub const VERDICTS_MAX: usize = 4096;

impl Verdicts {
    /// Makes a store without verdicts. Processes with the same secret still have separate verdicts.
    pub fn new(secret: Secret, limits: VerdictLimits) -> Verdicts {
        let table = |lifetime_ms| Table::new(lifetime_ms, limits.entries_max);
        Verdicts { secret, generation: 0, good: table(limits.good_ms), bad: table(limits.bad_ms) }
    }

    /// The key of a name and a password, to be made once for both [`Verdicts::look`] and [`Verdicts::note`].
    pub fn key(&self, user: &[u8], password: &[u8]) -> VerdictKey {
        VerdictKey { signature: sign(&self.secret, &[user, password]), generation: self.generation }
    }

    /// The verdict on this password; `None` if it must be verified.
    pub fn look(&self, key: &VerdictKey, now_ms: u64) -> Option<bool> {
        if key.generation != self.generation {
            None
        } else if self.good.has(&key.signature, now_ms) {
            Some(true)
        } else {
            self.bad.has(&key.signature, now_ms).then_some(false)
        }
    }

    /// Keeps a verdict, unless its key was made before the last [`Verdicts::clear`]: then the password was verified
    /// against a file that was replaced meanwhile.
    pub fn note(&mut self, key: &VerdictKey, is_good: bool, now_ms: u64) {
        if key.generation == self.generation {
            let table = if is_good { &mut self.good } else { &mut self.bad };
            table.add(key.signature, now_ms);
        }
    }

    /// Forgets all verdicts, because the file of passwords has changed.
    pub fn clear(&mut self) {
        self.generation += 1;
        self.good.clear();
        self.bad.clear();
    }
}

impl fmt::Debug for Verdicts {
    /// Shows the number of verdicts, and no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (good, bad) = (self.good.ends_ms.len(), self.bad.ends_ms.len());
        f.debug_struct("Verdicts").field("good", &good).field("bad", &bad).finish_non_exhaustive()
    }
}

impl fmt::Debug for VerdictKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerdictKey").finish_non_exhaustive()
    }
}

/// Signatures, each of which is forgotten a fixed time after it was added.
struct Table {
    lifetime_ms: u64,
    entries_max: usize,
    /// The time at which each signature is forgotten.
    ends_ms: HashMap<[u8; 32], u64>,
    /// The keys of `ends_ms`, each once. The oldest, which is also forgotten first, comes first.
    order: VecDeque<[u8; 32]>,
}

impl Table {
    fn new(lifetime_ms: u64, entries_max: usize) -> Table {
        Table { lifetime_ms, entries_max, ends_ms: HashMap::new(), order: VecDeque::new() }
    }

    fn has(&self, signature: &[u8; 32], now_ms: u64) -> bool {
        self.ends_ms.get(signature).is_some_and(|&end_ms| now_ms < end_ms)
    }

    /// Adds a signature. If it is already there, its time is not prolonged: a password must be verified again even if
    /// it is used often.
    fn add(&mut self, signature: [u8; 32], now_ms: u64) {
        while self.order.front().is_some_and(|first| !self.has(first, now_ms)) {
            self.forget_first();
        }
        if self.entries_max == 0 || self.has(&signature, now_ms) {
            return;
        }
        if self.order.len() >= self.entries_max {
            self.forget_first();
        }
        self.ends_ms.insert(signature, now_ms.saturating_add(self.lifetime_ms));
        self.order.push_back(signature);
    }

    fn forget_first(&mut self) {
        if let Some(first) = self.order.pop_front() {
            self.ends_ms.remove(&first);
        }
    }

    fn clear(&mut self) {
        self.ends_ms.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{VerdictLimits, Verdicts};

    const LIMITS: VerdictLimits = VerdictLimits { good_ms: 1000, bad_ms: 100, entries_max: 3 };

    fn verdicts() -> Verdicts {
        Verdicts::new([7; 32], LIMITS)
    }

    #[test]
    fn each_lives_its_time() {
        let mut verdicts = verdicts();
        let (good, bad) = (verdicts.key(b"ann", b"right"), verdicts.key(b"ann", b"wrong"));
        assert_eq!((None, None), (verdicts.look(&good, 0), verdicts.look(&bad, 0)));
        verdicts.note(&good, true, 50);
        verdicts.note(&bad, false, 50);

        for (now_ms, of_good, of_bad) in [
            (50, Some(true), Some(false)),
            (149, Some(true), Some(false)),
            (150, Some(true), None),
            (1049, Some(true), None),
            (1050, None, None),
        ] {
            assert_eq!(of_good, verdicts.look(&good, now_ms), "{now_ms}");
            assert_eq!(of_bad, verdicts.look(&bad, now_ms), "{now_ms}");
            // Noting a password while it is known does not prolong its time.
            if of_good.is_some() {
                verdicts.note(&good, true, now_ms);
            }
        }
        verdicts.note(&good, true, 1050);

        assert_eq!(Some(true), verdicts.look(&good, 2049));
    }

    #[test]
    fn names_and_passwords_are_apart() {
        let mut verdicts = verdicts();
        verdicts.note(&verdicts.key(b"ann", b"bob"), true, 0);

        assert_eq!(Some(true), verdicts.look(&verdicts.key(b"ann", b"bob"), 0));
        for (user, password) in
            [("annb", "ob"), ("an", "nbob"), ("", "annbob"), ("annbob", ""), ("bob", "ann")]
        {
            assert_eq!(None, verdicts.look(&verdicts.key(user.as_bytes(), password.as_bytes()), 0));
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut verdicts = verdicts();
        let keys: Vec<_> = (0..5_u8).map(|password| verdicts.key(b"ann", &[password])).collect();
        for (at, key) in keys.iter().enumerate() {
            verdicts.note(key, true, at as u64);
            // Verdicts on wrong passwords do not displace verdicts on right ones.
            for wrong in 100..110_u8 {
                verdicts.note(&verdicts.key(b"ann", &[wrong]), false, at as u64);
            }
        }
        let known: Vec<_> = keys.iter().map(|key| verdicts.look(key, 5)).collect();

        assert_eq!(vec![None, None, Some(true), Some(true), Some(true)], known);
        assert_eq!("Verdicts { good: 3, bad: 3, .. }", format!("{verdicts:?}"));
    }

    #[test]
    fn another_file_is_another_matter() {
        let mut verdicts = verdicts();
        let key = verdicts.key(b"ann", b"right");
        verdicts.note(&key, true, 0);
        verdicts.clear();

        assert_eq!(None, verdicts.look(&key, 0));

        // A verdict whose verification began before the file was read again says nothing about the new file.
        verdicts.note(&key, true, 0);

        assert_eq!(None, verdicts.look(&verdicts.key(b"ann", b"right"), 0));
    }

    #[test]
    fn wrong_ones_last_no_longer() {
        for (good_ms, bad_ms) in [(0, 0), (100, 100), (60_000, 5_000)] {
            let limits = VerdictLimits::lasting(good_ms);

            assert_eq!((good_ms, bad_ms), (limits.good_ms, limits.bad_ms));
        }
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let mut verdicts = Verdicts::new([7; 32], VerdictLimits { entries_max: 0, ..LIMITS });
        let key = verdicts.key(b"ann", b"right");
        verdicts.note(&key, true, 0);

        assert_eq!(None, verdicts.look(&key, 0));
    }
}
