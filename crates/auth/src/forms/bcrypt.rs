//! Bcrypt: `$2y$COST$` with 22 characters of salt and 31 of hash.

use std::ops::RangeInclusive;

use base64ct::Base64Bcrypt;
use subtle::ConstantTimeEq;

use super::text::{Refused, decoded};

/// The form that `htpasswd -B` makes.
#[derive(Clone)]
pub(crate) struct Bcrypt {
    cost: u32,
    salt: [u8; 16],
    hash: [u8; HASH_BYTES],
}

/// Bytes of a hash: of the 24 that the algorithm makes, all implementations leave out the last.
const HASH_BYTES: usize = 23;

/// Costs, powers of two. Below 4 the algorithm is not defined. 15 takes some 2 seconds of a core, and each more takes
/// twice that; `htpasswd` makes 5 if not told, and at most 17, which is a way to stop a server with a few requests.
const COSTS: RangeInclusive<u32> = 4..=15;

/// Bytes of a password that the algorithm looks at: more is ignored, as by everything that makes such hashes.
const KEY_BYTES_MAX: usize = 72;

impl Bcrypt {
    /// Reads `COST$` and the 53 characters behind it.
    pub(crate) fn read(rest: &str) -> Result<Bcrypt, Refused> {
        let (cost, text) = rest.split_once('$').ok_or(Refused::Malformed)?;
        if cost.len() != 2 || !cost.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Refused::Malformed);
        }
        let cost: u32 = cost.parse().map_err(|_| Refused::Malformed)?;
        if cost < *COSTS.start() {
            return Err(Refused::Malformed);
        } else if cost > *COSTS.end() {
            return Err(Refused::TooCostly("cost ", *COSTS.end()));
        }
        let (salt, hash) = text.split_at_checked(22).ok_or(Refused::Malformed)?;
        Ok(Bcrypt { cost, salt: decoded::<Base64Bcrypt, 16>(salt)?, hash: decoded::<Base64Bcrypt, _>(hash)? })
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        // The key ends with a zero byte if there is room for it.
        let mut key = password.to_vec();
        key.push(0);
        key.truncate(KEY_BYTES_MAX);
        let made = bcrypt::bcrypt(self.cost, self.salt, &key);
        made[..HASH_BYTES].ct_eq(&self.hash).into()
    }

    pub(crate) fn work(&self) -> u64 {
        54 << self.cost
    }
}
