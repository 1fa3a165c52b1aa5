//! Parts that the forms of hashes share: reasons for refusing a hash, base64 of a known length, numbers.

use base64ct::Encoding;

/// The reason why the text after a form's name is not accepted as a hash.
#[derive(Clone, Copy)]
pub(crate) enum Refused {
    /// The text is incomplete, or does not have the structure of the form.
    Malformed,
    /// A cost is above the limit: the text before the cost's number, and the limit.
    TooCostly(&'static str, u32),
}

/// Decodes exactly `N` bytes in one of the alphabets of base64; bits that are left over must be zero.
pub(crate) fn decoded<E: Encoding, const N: usize>(text: &str) -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    match E::decode(text, &mut bytes) {
        Ok(found) if found.len() == N => Ok(bytes),
        _ => Err(Refused::Malformed),
    }
}

/// Reads a number in the form that hashes use: digits only, without leading zeros. A number that does not fit becomes
/// the largest one.
pub(crate) fn number(digits: &str) -> Result<u32, Refused> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(Refused::Malformed);
    }
    Ok(digits.parse().unwrap_or(u32::MAX))
}
