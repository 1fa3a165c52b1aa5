//! SHA-512 crypt and SHA-256 crypt: `$6$` or `$5$`, optionally `rounds=N$`, up to 16 characters of salt, `$`, the hash.

use std::ops::RangeInclusive;

use base64ct::{Base64ShaCrypt, Encoding};
use sha_crypt::{Sha256Params, Sha512Params, sha256_crypt_b64, sha512_crypt_b64};
use subtle::ConstantTimeEq;

use super::text::{Refused, number};

/// The form that `openssl passwd -6` and the `crypt` function of most systems make.
#[derive(Clone)]
pub(crate) struct ShaCrypt {
    width: Width,
    /// Invariant: in the range [`ROUNDS`].
    rounds: u32,
    salt: Box<str>,
    /// The hash in the algorithm's own variant of base64; it is compared as text.
    hash: Box<str>,
}

/// The hash function that the form is built on.
#[derive(Clone, Copy)]
pub(crate) enum Width {
    Sha256,
    Sha512,
}

/// The range of rounds. The C library raises a number below 1000, so no hash has fewer. With the most rounds, a
/// password of usual length takes some half a second of one core, and a password of 255 bytes four times that. Passlib
/// uses 656,000 by default; the C library would allow 999,999,999.
const ROUNDS: RangeInclusive<u32> = 1_000..=2_000_000;
const ROUNDS_DEFAULT: u32 = 5_000;

/// The longest salt that the C library uses; it ignores further characters.
const SALT_BYTES_MAX: usize = 16;

impl ShaCrypt {
    /// Reads the text after `$6$` or `$5$`.
    pub(crate) fn read(width: Width, rest: &str) -> Result<ShaCrypt, Refused> {
        let (rounds, rest) = match rest.strip_prefix("rounds=") {
            None => (ROUNDS_DEFAULT, rest),
            Some(rest) => {
                let (digits, rest) = rest.split_once('$').ok_or(Refused::Malformed)?;
                (number(digits)?, rest)
            }
        };
        let (salt, hash) = rest.split_once('$').ok_or(Refused::Malformed)?;
        if rounds < *ROUNDS.start() || salt.len() > SALT_BYTES_MAX || !width.has_made(hash) {
            return Err(Refused::Malformed);
        } else if rounds > *ROUNDS.end() {
            return Err(Refused::TooCostly("rounds=", *ROUNDS.end()));
        }
        Ok(ShaCrypt { width, rounds, salt: salt.into(), hash: hash.into() })
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let (rounds, salt) = (self.rounds as usize, self.salt.as_bytes());
        let made = match self.width {
            Width::Sha256 => {
                Sha256Params::new(rounds).and_then(|params| sha256_crypt_b64(password, salt, &params))
            }
            Width::Sha512 => {
                Sha512Params::new(rounds).and_then(|params| sha512_crypt_b64(password, salt, &params))
            }
        };
        debug_assert!(made.is_ok(), "the only mistake would be the number of rounds");
        made.is_ok_and(|made| made.as_bytes().ct_eq(self.hash.as_bytes()).into())
    }

    pub(crate) fn work(&self) -> u64 {
        u64::from(self.rounds / 5)
    }
}

impl Width {
    /// Whether `hash` is 32 or 64 bytes of base64, written as the algorithm writes them.
    fn has_made(self, hash: &str) -> bool {
        let wanted = match self {
            Width::Sha256 => 32,
            Width::Sha512 => 64,
        };
        let mut bytes = [0; 64];
        Base64ShaCrypt::decode(hash, &mut bytes).is_ok_and(|found| found.len() == wanted)
    }
}
