//! Bcrypt: `$2y$COST$`, followed by 22 characters of salt and 31 of hash.

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

/// Bytes of a hash: the algorithm makes 24, but all implementations leave out the last one.
const HASH_BYTES: usize = 23;

/// Costs, as powers of two. Below 4 the algorithm is not defined. Cost 15 takes some 2 seconds of one core, and each
/// further step doubles the time. `htpasswd` uses 5 by default and allows up to 17, with which a few requests can stop
/// a server.
const COSTS: RangeInclusive<u32> = 4..=15;

/// Bytes of a password that the algorithm uses: further bytes are ignored, as by every program that makes such hashes.
const KEY_BYTES_MAX: usize = 72;

impl Bcrypt {
    /// Reads `COST$` and the 53 characters after it.
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
        // The key ends with a zero byte, if there is room for one.
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
