//! Signatures (HMAC-SHA256, RFC 2104) of several texts.

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// The secret key of signatures: random bytes that the caller makes at its start and never reveals.
pub type Secret = [u8; 32];

/// Length of a SHA-256 block; HMAC pads shorter secrets with zeros to this length.
const BLOCK_BYTES: usize = 64;

/// Signs texts in their order. The length of each text is signed with the text, so that "a", "bc" and "ab", "c" have
/// different signatures.
pub fn sign(secret: &Secret, texts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK_BYTES];
    block[..secret.len()].copy_from_slice(secret);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    for text in texts {
        mac.update(&(text.len() as u64).to_be_bytes());
        mac.update(text);
    }
    mac.finalize().into_bytes().into()
}

/// Whether this is the signature of these texts. The time taken does not depend on how many bytes are right.
pub fn is_signed(secret: &Secret, texts: &[&[u8]], signature: &[u8; 32]) -> bool {
    sign(secret, texts).ct_eq(signature).into()
}

#[cfg(test)]
mod tests {
    use super::{is_signed, sign};
    use crate::digest::algorithm::hex;

    #[test]
    fn as_others_sign() {
        // From Python: hmac.new(b'\1' * 32, b'\0' * 7 + b'\2ab' + b'\0' * 8, 'sha256').
        let signature = hex(&sign(&[1; 32], &[b"ab", b""]));

        assert_eq!("df19ba3a718b7148181de99cc62e91ef8c0bfd445cec7468168ead097235506b", signature);
    }

    #[test]
    fn each_text_counts() {
        let texts: [&[&[u8]]; 6] =
            [&[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"", b"abc"], &[]];
        for (at, one) in texts.iter().enumerate() {
            for other in &texts[at + 1..] {
                assert_ne!(sign(&[1; 32], one), sign(&[1; 32], other), "{one:?} {other:?}");
                assert!(!is_signed(&[1; 32], one, &sign(&[1; 32], other)), "{one:?} {other:?}");
            }
            assert!(is_signed(&[1; 32], one, &sign(&[1; 32], one)));
            assert_ne!(sign(&[1; 32], one), sign(&[2; 32], one));
        }
    }
}
