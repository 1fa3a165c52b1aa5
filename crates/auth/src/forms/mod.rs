//! The forms of password hashes, one file each.
//!
//! Each has `read`, which is given the text behind the form's name, and `verify`; and says by `work` what a
//! verification costs, roughly in microseconds of one core, so that forms can be compared.

mod apr1;
mod argon2;
mod bcrypt;
mod sha1;
mod sha_crypt;
mod text;

pub(crate) use self::apr1::Apr1;
pub(crate) use self::argon2::Argon2;
pub(crate) use self::bcrypt::Bcrypt;
pub(crate) use self::sha_crypt::{ShaCrypt, Width};
pub(crate) use self::sha1::Sha1;
pub(crate) use self::text::Refused;
