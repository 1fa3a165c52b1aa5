//! `{SHA}` and base64: the SHA-1 hash of the password alone.
//!
//! The form is accepted because `htpasswd -s` makes it and old files hold it. It is fast and has no salt: whoever sees
//! the file can soon find most passwords in it. `PasswordHash::is_weak` lets a server warn about it.

use base64ct::Base64;
use sha1::Digest;
use subtle::ConstantTimeEq;

use super::text::{Refused, decoded};

#[derive(Clone)]
pub(crate) struct Sha1 {
    hash: [u8; 20],
}

impl Sha1 {
    /// Reads the text after `{SHA}`.
    pub(crate) fn read(rest: &str) -> Result<Sha1, Refused> {
        Ok(Sha1 { hash: decoded::<Base64, 20>(rest)? })
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        sha1::Sha1::digest(password).ct_eq(&self.hash).into()
    }

    pub(crate) fn work() -> u64 {
        1
    }
}
