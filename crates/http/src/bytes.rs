//! Classes of bytes, and searches for the first byte of a class.

/// `tchar` of RFC 9110 section 5.6.2.
const TOKEN: u8 = 1;
/// Bytes of `reg-name` in RFC 3986 section 3.2.2, except `%` and the comma: see [`crate::authority`].
const REG_NAME: u8 = 2;
/// Letters, digits and the hyphen: a field name of these bytes may become the name of a CGI variable.
const PLAIN: u8 = 4;

/// The classes of each byte.
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            table[byte as usize] = TOKEN | REG_NAME | PLAIN;
        }
        byte += 1;
    }
    add(&mut table, b"!#$%&'*+.^_`|~", TOKEN);
    add(&mut table, b"._~!$&'()*+;=", REG_NAME);
    table
}

const fn add(table: &mut [u8; 256], bytes: &[u8], class: u8) {
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] |= class;
        i += 1;
    }
}

/// Whether a token may hold this byte: `tchar` of RFC 9110 section 5.6.2.
#[inline]
pub fn is_token_byte(byte: u8) -> bool {
    CLASSES[byte as usize] & TOKEN != 0
}

/// Whether a host's name may hold this byte unescaped; see [`crate::authority`].
#[inline]
pub fn is_reg_name_byte(byte: u8) -> bool {
    CLASSES[byte as usize] & REG_NAME != 0
}

/// Whether `byte` is a letter, a digit or the hyphen.
#[inline]
pub fn is_plain_byte(byte: u8) -> bool {
    CLASSES[byte as usize] & PLAIN != 0
}

/// Whether `byte` is optional whitespace, RFC 9110 section 5.6.3.
#[inline]
pub fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Whether `byte` is a control character that no field value may hold: all except HTAB, RFC 9110 section 5.5.
#[inline]
pub fn is_forbidden_in_value(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == DEL
}

/// Whether `bytes` is a token: not empty, and made only of token bytes.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

/// Returns `bytes` without the optional whitespace around it.
pub fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Returns the number that `bytes` spells: digits only, without a sign. `None` if `bytes` is empty, holds another byte,
/// or is too large a number.
///
/// Does not call `str::parse`, which accepts a leading `+`.
pub fn number(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

/// Offset of the first byte, from `from` on, that no field value may hold.
#[inline]
pub fn find_forbidden_in_value(bytes: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let marks = |word| below(word, b' ') | equal(word, DEL);
        let at = from + find(bytes.get(from..)?, marks, |byte| byte < b' ' || byte == DEL)?;
        if bytes[at] != b'\t' {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Offset of the first byte, from `from` on, that cannot be part of a request-target.
///
/// RFC 3986 allows fewer bytes, but clients send quotes, braces and bars unescaped.
#[inline]
pub fn find_outside_target(bytes: &[u8], from: usize) -> Option<usize> {
    let marks = |word| below(word, b'!') | equal(word, DEL) | equal(word, b'#') | (word & HIGH);
    let found = find(bytes.get(from..)?, marks, |byte| byte <= b' ' || byte >= DEL || byte == b'#')?;
    Some(from + found)
}

const DEL: u8 = 0x7f;
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns the offset of the first byte for which `is` holds, looking at eight bytes at a time.
///
/// The simple form is `bytes.iter().position(is)`. `marks` sets the high bit of each byte of a word for which `is`
/// holds. It may also set wrong high bits, because a subtraction borrows from the bytes above. Such bits are all above
/// the lowest correct bit, and only the lowest bit is used.
#[inline]
fn find(bytes: &[u8], marks: impl Fn(u64) -> u64, is: impl Fn(u8) -> bool) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word)) & HIGH;
        if marks != 0 {
            return Some(i * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    if let (false, Some(last)) = (rest.is_empty(), bytes.last_chunk::<8>()) {
        // The first bytes of `last` were already searched, so none of them is marked.
        let marks = marks(u64::from_le_bytes(*last)) & HIGH;
        return (marks != 0).then(|| bytes.len() - 8 + marks.trailing_zeros() as usize / 8);
    }
    rest.iter().position(|&byte| is(byte))
}

/// Marks the bytes of `word` that are less than `limit`, which is at most 128.
#[inline]
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word
}

/// Marks the bytes of `word` that are equal to `byte`.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fast and the slow searches agree for each byte at each place in a word, with neighbours that cause a borrow.
    #[test]
    fn fast_searches_agree_with_slow_ones() {
        for (byte, neighbour) in
            (0..=255_u8).flat_map(|b| [b'a', b' ', b'!', b'\t', 0x80, 0xff].map(|n| (b, n)))
        {
            for at in 0..19 {
                let mut bytes = [neighbour; 19];
                bytes[at] = byte;

                let slow = bytes.iter().position(|&b| is_forbidden_in_value(b));
                assert_eq!(slow, find_forbidden_in_value(&bytes, 0), "{bytes:?}");

                let outside = |b: &u8| !matches!(*b, b'!'..=b'~') || *b == b'#';
                let slow = bytes[1..].iter().position(outside).map(|i| i + 1);
                assert_eq!(slow, find_outside_target(&bytes, 1), "{bytes:?}");
            }
        }
    }

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(Some(0), number(b"0"));
        assert_eq!(Some(u64::MAX), number(b"18446744073709551615"));
        for bad in ["", "18446744073709551616", "+1", "-1", "1_0", "0x1", " 1", "1 ", "1,1", "\u{661}"] {
            assert_eq!(None, number(bad.as_bytes()), "{bad:?}");
        }
    }

    #[test]
    fn trim_takes_blanks_only() {
        assert_eq!(b"a b", trim(b" \t a b\t "));
        assert_eq!(b"", trim(b" \t"));
        assert_eq!(b"\x0ba", trim(b"\x0ba"));
    }
}
