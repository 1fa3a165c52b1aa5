//! Apache's variant of MD5 crypt: `$apr1$`, up to 8 characters of salt, `$`, 22 characters of hash.
//!
//! No maintained crate has this algorithm alone. It is Poul-Henning Kamp's `crypt-md5` with another magic word: it
//! mixes password, salt and the previous hash in a thousand rounds, in an order that depends on the round.

use base64ct::Base64ShaCrypt;
use md5::{Digest, Md5};
use subtle::ConstantTimeEq;

use super::text::{Refused, decoded};

/// The form that `htpasswd` makes by default; `openssl passwd -apr1` makes it, too.
#[derive(Clone)]
pub(crate) struct Apr1 {
    salt: Box<[u8]>,
    hash: [u8; 16],
}

const MAGIC: &[u8] = b"$apr1$";
const ROUNDS: usize = 1000;

/// The longest salt that Apache uses; it ignores further characters.
const SALT_BYTES_MAX: usize = 8;

/// For each place in the written hash, the byte of the hash that stands there.
const ORDER: [usize; 16] = [12, 6, 0, 13, 7, 1, 14, 8, 2, 15, 9, 3, 5, 10, 4, 11];

impl Apr1 {
    /// Reads the text after `$apr1$`.
    pub(crate) fn read(rest: &str) -> Result<Apr1, Refused> {
        let (salt, hash) = rest.split_once('$').ok_or(Refused::Malformed)?;
        if salt.len() > SALT_BYTES_MAX {
            return Err(Refused::Malformed);
        }
        let written = decoded::<Base64ShaCrypt, 16>(hash)?;
        let mut hash = [0; 16];
        for (place, byte) in ORDER.into_iter().zip(written) {
            hash[place] = byte;
        }
        Ok(Apr1 { salt: salt.as_bytes().into(), hash })
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let mut hash = self.first(password);
        for round in 0..ROUNDS {
            hash = self.next(round, password, hash);
        }
        hash.ct_eq(&self.hash).into()
    }

    pub(crate) fn work() -> u64 {
        130
    }

    /// Returns the hash before the thousand rounds.
    fn first(&self, password: &[u8]) -> [u8; 16] {
        let inner =
            Md5::new().chain_update(password).chain_update(&self.salt).chain_update(password).finalize();
        let mut md5 = Md5::new().chain_update(password).chain_update(MAGIC).chain_update(&self.salt);
        let mut left = password.len();
        while left > 0 {
            let taken = left.min(inner.len());
            md5.update(&inner[..taken]);
            left -= taken;
        }
        // Each bit of the length, from the lowest to the highest, adds a zero byte or the first byte of the password.
        let mut bits = password.len();
        while bits > 0 {
            md5.update(if bits & 1 == 1 { &[0] } else { &password[..1] });
            bits >>= 1;
        }
        md5.finalize().into()
    }

    fn next(&self, round: usize, password: &[u8], last: [u8; 16]) -> [u8; 16] {
        let (one, other) = if round & 1 == 1 { (password, &last[..]) } else { (&last[..], password) };
        let mut md5 = Md5::new().chain_update(one);
        if !round.is_multiple_of(3) {
            md5.update(&self.salt);
        }
        if !round.is_multiple_of(7) {
            md5.update(password);
        }
        md5.chain_update(other).finalize().into()
    }
}
