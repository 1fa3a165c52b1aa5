//! Classes of bytes and searches, as RFC 9110 section 5 has them and as plainly as can be.

/// `tchar`
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// `token`
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| is_token_byte(byte))
}

/// Whether a field value may hold this byte.
pub(crate) fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Returns `bytes` without the `OWS` around them.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let start = bytes.iter().take_while(|byte| is_blank(byte)).count();
    let end = bytes.len() - bytes[start..].iter().rev().take_while(|byte| is_blank(byte)).count();
    &bytes[start..end]
}

/// Reads `1*DIGIT`, if the number fits.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(bytes).ok()?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Returns where `needle` begins in `bytes`.
pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

/// Returns the bytes before and behind the first `byte`.
pub(crate) fn split_once(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&other| other == byte)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// Splits `text` at each CRLF; `None` when a line holds a CR, LF or NUL.
pub(crate) fn lines(text: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some(end) = find(rest, b"\r\n") {
        lines.push(&rest[..end]);
        rest = &rest[end + 2..];
    }
    lines.push(rest);
    let is_clean = |line: &&[u8]| !line.iter().any(|byte| b"\r\n\0".contains(byte));
    lines.iter().all(is_clean).then_some(lines)
}
