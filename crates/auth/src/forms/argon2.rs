//! Argon2 (RFC 9106): `$argon2id$v=19$m=KIB,t=PASSES,p=LANES$SALT$HASH`; salt and hash are in base64 without padding.

use std::ops::RangeInclusive;

use argon2::{Algorithm, Block, Params, Version};
use base64ct::{Base64Unpadded, Encoding};
use subtle::ConstantTimeEq;

use super::text::{Refused, number};

/// The form that the `argon2` program and the libraries of most languages make.
#[derive(Clone)]
pub(crate) struct Argon2 {
    kind: Algorithm,
    version: Version,
    params: Params,
    salt: Box<[u8]>,
    hash: Box<[u8]>,
}

/// The most memory that a verification may use while it runs. RFC 9106 section 4 recommends 64 MiB if 2 GiB are too
/// much, and libraries use at most 64 MiB by default.
const MEMORY_KIB_MAX: u32 = 128 * 1024;

/// The most memory, in KiB, times the passes over it: less than a second of one core, although lanes are computed one
/// after the other here.
const MEMORY_PASSES_MAX: u32 = 1024 * 1024;

/// The most lanes: more than any library uses by default. Elsewhere each lane costs a thread, but here it costs
/// nothing.
const LANES_MAX: u32 = 64;

/// RFC 9106 section 3.1 asks for at least 8 bytes of salt. It allows from 4 to 2^32 - 1 bytes of hash; fewer than 16
/// are too easy to guess, and libraries make 32.
const SALT_BYTES: RangeInclusive<usize> = 8..=64;
const HASH_BYTES: RangeInclusive<usize> = 16..=64;

impl Argon2 {
    /// Reads the text after `$argon2id$`, or after the name of another kind.
    pub(crate) fn read(kind: Algorithm, rest: &str) -> Result<Argon2, Refused> {
        // A hash without a version was made by the first version, before versions were written into hashes.
        let (version, rest) = match rest.strip_prefix("v=") {
            None => (Version::V0x10, rest),
            Some(rest) => match rest.split_once('$').ok_or(Refused::Malformed)? {
                ("16", rest) => (Version::V0x10, rest),
                ("19", rest) => (Version::V0x13, rest),
                _ => return Err(Refused::Malformed),
            },
        };
        let mut parts = rest.split('$');
        let (Some(costs), Some(salt), Some(hash), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Refused::Malformed);
        };
        let [memory_kib, passes, lanes] = costs_of(costs)?;
        let of_base64 = |text| Base64Unpadded::decode_vec(text).map_err(|_| Refused::Malformed);
        let (salt, hash) = (of_base64(salt)?, of_base64(hash)?);
        if !SALT_BYTES.contains(&salt.len()) || !HASH_BYTES.contains(&hash.len()) {
            return Err(Refused::Malformed);
        }
        let params =
            Params::new(memory_kib, passes, lanes, Some(hash.len())).map_err(|_| Refused::Malformed)?;
        Ok(Argon2 { kind, version, params, salt: salt.into(), hash: hash.into() })
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let argon2 = argon2::Argon2::new(self.kind, self.version, self.params.clone());
        let mut memory = vec![Block::default(); self.params.block_count()];
        let mut made = [0; *HASH_BYTES.end()];
        let made = &mut made[..self.hash.len()];
        let result = argon2.hash_password_into_with_memory(password, &self.salt, made, &mut memory);
        debug_assert!(result.is_ok(), "`read` has checked the salt, the hash and the costs");
        result.is_ok() && made.ct_eq(&self.hash).into()
    }

    pub(crate) fn work(&self) -> u64 {
        u64::from(self.params.m_cost()) * u64::from(self.params.t_cost()) * 2 / 3
    }
}

/// The memory in KiB, the passes and the lanes in a text such as `m=64,t=2,p=1`.
fn costs_of(text: &str) -> Result<[u32; 3], Refused> {
    let mut parts = text.split(',');
    let mut next = |name: &str| {
        let digits = parts.next().and_then(|part| part.strip_prefix(name));
        digits.ok_or(Refused::Malformed).and_then(number)
    };
    let costs @ [memory_kib, passes, lanes] = [next("m=")?, next("t=")?, next("p=")?];
    if parts.next().is_some() {
        return Err(Refused::Malformed);
    } else if memory_kib > MEMORY_KIB_MAX {
        return Err(Refused::TooCostly("m=", MEMORY_KIB_MAX));
    } else if lanes > LANES_MAX {
        return Err(Refused::TooCostly("p=", LANES_MAX));
    } else if memory_kib.saturating_mul(passes) > MEMORY_PASSES_MAX {
        return Err(Refused::TooCostly("m*t=", MEMORY_PASSES_MAX));
    }
    Ok(costs)
}
