//! The forms of password hashes, one file each.
//!
//! Each form has `read`, which gets the text after the form's name, and `verify`. Its `work` says roughly how many
//! microseconds of one core a verification costs, so that forms can be compared.

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
