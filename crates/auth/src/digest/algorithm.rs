//! The hashes of Digest (RFC 7616 section 3.2): SHA-256, and MD5 for clients that know nothing else.

use md5::Md5;
use sha2::{Digest, Sha256};

/// A hash that Digest is used with. The forms that end in `-sess` are not known: a server would have to remember the
/// first request of each session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// The better one, which is offered first.
    Sha256,
    /// The one that every client knows. Collisions, by which MD5 is broken elsewhere, do not help here.
    Md5,
}

impl Algorithm {
    /// All, in the order in which they are offered.
    pub const ALL: [Algorithm; 2] = [Algorithm::Sha256, Algorithm::Md5];

    /// The hash's name in the parameter `algorithm`, which has no case.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Md5 => "MD5",
        }
    }

    /// The length of its hash in hexadecimal.
    pub(crate) fn hex_digits(self) -> usize {
        match self {
            Algorithm::Sha256 => 64,
            Algorithm::Md5 => 32,
        }
    }

    /// The hash of texts with colons between them, in hexadecimal: `H(a ":" b ":" c)`.
    pub(crate) fn hash(self, texts: &[&[u8]]) -> String {
        let text = texts.join(&b':');
        match self {
            Algorithm::Sha256 => hex(&Sha256::digest(text)),
            Algorithm::Md5 => hex(&Md5::digest(text)),
        }
    }
}

/// Bytes in hexadecimal, in small letters.
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
        // The user of RFC 7616 section 3.9.1, as `htdigest` and sha256sum hash it.
        let user: [&[u8]; 3] = [b"Mufasa", b"http-auth@example.org", b"Circle of Life"];

        assert_eq!("3d78807defe7de2157e2b0b6573a855f", Algorithm::Md5.hash(&user));
        assert_eq!(
            "7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232",
            Algorithm::Sha256.hash(&user)
        );
    }
}
