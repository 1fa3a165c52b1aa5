//! Escapes for bytes that clients send, so that nothing in them ends a string or a line, or moves a terminal's cursor.

/// Appends `bytes` as Apache's log does: quotes and backslashes behind a backslash, some control bytes by their letter,
/// all other control bytes and all bytes that are not ASCII as `\xhh`.
#[inline]
pub fn write_text(out: &mut Vec<u8>, bytes: &[u8]) {
    if is_clean(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escape_text(out, bytes);
    }
}

/// Appends `bytes` as a JSON string (RFC 8259 section 7), with its quotes. Bytes that are not UTF-8 are taken for ISO
/// 8859-1, which loses nothing.
#[inline]
pub fn write_json(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    if is_clean(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escape_json(out, bytes);
    }
    out.push(b'"');
}

/// Whether `bytes` need no escape in either notation.
#[inline]
fn is_clean(bytes: &[u8]) -> bool {
    // The loop does not end early, so that the compiler compares 16 bytes at a time; nearly all input is clean.
    bytes.iter().fold(true, |clean, &byte| clean & is_clean_byte(byte))
}

#[inline]
fn is_clean_byte(byte: u8) -> bool {
    matches!(byte, b' '..DEL) && byte != b'"' && byte != b'\\'
}

#[cold]
fn escape_text(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\t' => out.extend_from_slice(br"\t"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            BACKSPACE => out.extend_from_slice(br"\b"),
            VERTICAL_TAB => out.extend_from_slice(br"\v"),
            b' '..DEL => out.push(byte),
            _ => {
                let (high, low) = (HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'x', high, low]);
            }
        }
    }
}

#[cold]
fn escape_json(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
                _ if character.is_control() || disturbs(character) => escape_unit(out, character as u16),
                _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        chunk.invalid().iter().for_each(|&byte| escape_unit(out, byte.into()));
    }
}

/// Whether a character would mislead a reader of the log: some programs take the character for the end of a line and
/// split the object there, or the character reorders the text behind it (UAX 9), so that a terminal shows other text
/// than was logged.
fn disturbs(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Appends one UTF-16 unit as `\uhhhh`.
fn escape_unit(out: &mut Vec<u8>, unit: u16) {
    let digit = |shift: u16| HEX_DIGITS[usize::from(unit >> shift & 15)];
    out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
const BACKSPACE: u8 = 0x08;
const VERTICAL_TAB: u8 = 0x0b;
const DEL: u8 = 0x7f;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_text(&mut out, bytes);
        out
    }

    fn json(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_json(&mut out, bytes);
        out
    }

    /// The fast check finds every byte that must be escaped, at every place, and the slow writers escape the same bytes
    /// and no others.
    #[test]
    fn every_byte_is_clean_or_escaped() {
        for byte in 0..=255_u8 {
            let is_plain = matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~');
            for at in 0..37 {
                let mut bytes = [b'a'; 37];
                bytes[at] = byte;

                assert_eq!(is_plain, is_clean(&bytes), "{byte:#x} at {at}");
                assert_eq!(is_plain, text(&bytes) == bytes, "{byte:#x} at {at}");
            }
            let (mut slow_text, mut slow_json) = (Vec::new(), Vec::new());
            escape_text(&mut slow_text, &[byte]);
            escape_json(&mut slow_json, &[byte]);

            assert_eq!(is_plain, slow_text == [byte], "{byte:#x}");
            assert_eq!(is_plain, slow_json == [byte], "{byte:#x}");
            assert!(slow_text.iter().chain(&slow_json).all(|b| matches!(b, b' '..=b'~')), "{byte:#x}");
        }
    }

    #[test]
    fn text_is_escaped_as_apache_does() {
        for (bytes, expected) in [
            (&b"plain"[..], r"plain"),
            (b"", r""),
            (b"a\"b\\c", r#"a\"b\\c"#),
            (b"\x00\x08\t\n\x0b\x0c\r\x1b\x7f", r"\x00\b\t\n\v\x0c\r\x1b\x7f"),
            ("é".as_bytes(), r"\xc3\xa9"),
            (b"\xff", r"\xff"),
        ] {
            assert_eq!(expected.as_bytes(), text(bytes));
        }
    }

    #[test]
    fn json_is_escaped_as_rfc_8259_says() {
        for (bytes, expected) in [
            (&b"plain"[..], r#""plain""#),
            (b"", r#""""#),
            (b"a\"b\\c/", r#""a\"b\\c/""#),
            (b"\x00\t\n\x1b\x7f", r#""\u0000\u0009\u000a\u001b\u007f""#),
            ("é€😀".as_bytes(), r#""é€😀""#),
            ("\u{85}\u{2028}".as_bytes(), r#""\u0085\u2028""#),
            ("a\u{202e}b\u{2066}\u{200f}\u{2010}".as_bytes(), "\"a\\u202eb\\u2066\\u200f\u{2010}\""),
            (b"a\xe9b", r#""a\u00e9b""#),
            (b"\xe2\x82", r#""\u00e2\u0082""#),
            (b"\xed\xa0\x80", r#""\u00ed\u00a0\u0080""#),
        ] {
            assert_eq!(expected.as_bytes(), json(bytes));
        }
    }
}
