//! The forms of password hashes, one file each.
//!
//! Each has `read`, which is given what stands behind the form's name, and `verify`; and says by `work` what a
//! verification costs, roughly in microseconds of one core, so that forms can be compared.

mod apr1;
mod argon2;
mod bcrypt;
mod sha1;
mod sha_crypt;

use base64ct::Encoding;

pub(crate) use self::apr1::Apr1;
pub(crate) use self::argon2::Argon2;
pub(crate) use self::bcrypt::Bcrypt;
pub(crate) use self::sha_crypt::{ShaCrypt, Width};
pub(crate) use self::sha1::Sha1;

/// Why what stands behind a form's name is no hash.
#[derive(Clone, Copy)]
pub(crate) enum Refused {
    /// It is incomplete, or has what the form does not.
    Malformed,
    /// A cost, by the name that stands before its number, is more than this.
    TooCostly(&'static str, u32),
}

/// Exactly `N` bytes in one of the alphabets of base64, with nothing in the bits that are left over.
fn decoded<E: Encoding, const N: usize>(text: &str) -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    match E::decode(text, &mut bytes) {
        Ok(found) if found.len() == N => Ok(bytes),
        _ => Err(Refused::Malformed),
    }
}

/// A number as hashes have them: digits only, without leading zeros. One that is too large to hold is the largest.
fn number(digits: &str) -> Result<u32, Refused> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(Refused::Malformed);
    }
    Ok(digits.parse().unwrap_or(u32::MAX))
}
