//! The hashes of Digest (RFC 7616 section 3.2): SHA-256, and MD5 for clients that support nothing else.

use md5::Md5;
use sha2::{Digest, Sha256};

/// A hash that Digest uses. The variants that end in `-sess` are not supported: a server would have to remember the
/// first request of each session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// The better hash, which is offered first.
    Sha256,
    /// The hash that every client supports. Collisions, which make MD5 unsafe elsewhere, do not help an attacker here.
    Md5,
}

impl Algorithm {
    /// All algorithms, in the order in which they are offered.
    pub const ALL: [Algorithm; 2] = [Algorithm::Sha256, Algorithm::Md5];

    /// The name of the hash in the parameter `algorithm`; it is case-insensitive.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Md5 => "MD5",
        }
    }

    /// The length of the hash in hexadecimal digits.
    pub(crate) fn hex_digits(self) -> usize {
        match self {
            Algorithm::Sha256 => 64,
            Algorithm::Md5 => 32,
        }
    }

    /// The hash, in hexadecimal, of texts joined by colons: `H(a ":" b ":" c)`.
    pub(crate) fn hash(self, texts: &[&[u8]]) -> String {
        let text = texts.join(&b':');
        match self {
            Algorithm::Sha256 => hex(&Sha256::digest(text)),
            Algorithm::Md5 => hex(&Md5::digest(text)),
        }
    }
}

/// Writes bytes in hexadecimal, with small letters.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::Algorithm;

    #[test]
    fn hashes() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.hex_digits(), algorithm.hash(&[]).len());
        }
        // The user of RFC 7616 section 3.9.1, hashed by `htdigest` and sha256sum.
        let user: [&[u8]; 3] = [b"Mufasa", b"http-auth@example.org", b"Circle of Life"];

        assert_eq!("3d78807defe7de2157e2b0b6573a855f", Algorithm::Md5.hash(&user));
        assert_eq!(
            "7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232",
            Algorithm::Sha256.hash(&user)
        );
    }
}
