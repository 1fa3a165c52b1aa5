//! Parts that the forms of hashes share: why one is refused, base64 of a known length, numbers.

use base64ct::Encoding;

/// Reason why the text behind a form's name is no hash.
#[derive(Clone, Copy)]
pub(crate) enum Refused {
    /// The text is incomplete, or has something that the form does not have.
    Malformed,
    /// A cost, by the name that stands before its number, is more than this.
    TooCostly(&'static str, u32),
}

/// Decodes exactly `N` bytes in one of the alphabets of base64, with nothing in the bits that are left over.
pub(crate) fn decoded<E: Encoding, const N: usize>(text: &str) -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    match E::decode(text, &mut bytes) {
        Ok(found) if found.len() == N => Ok(bytes),
        _ => Err(Refused::Malformed),
    }
}

/// Reads a number as hashes have them: digits only, without leading zeros. One that is too large to hold is the
/// largest.
pub(crate) fn number(digits: &str) -> Result<u32, Refused> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(Refused::Malformed);
    }
    Ok(digits.parse().unwrap_or(u32::MAX))
}
