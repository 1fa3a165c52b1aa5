//! The name of the protection space for which a client's password is valid.

use std::fmt;

/// The name of a protection space (RFC 9110 section 11.5). A browser shows it, and sends the same password to every
/// part of a server that has the same realm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Realm {
    /// Invariant: no control characters, and at most [`REALM_BYTES_MAX`] bytes.
    text: Box<str>,
}

/// Longest realm: it is one line in a dialog, and is sent in the head of every 401.
pub const REALM_BYTES_MAX: usize = 200;

/// The reason why a text is not a valid realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealmError {
    /// The text has a control character.
    Control,
    /// The text is longer than [`REALM_BYTES_MAX`].
    TooLong,
}

impl fmt::Display for RealmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RealmError::Control => write!(f, "a realm is one line, without control characters"),
            RealmError::TooLong => write!(f, "a realm has {REALM_BYTES_MAX} bytes at most"),
        }
    }
}

impl std::error::Error for RealmError {}

impl Realm {
    /// Makes a realm of a text, which may have quotes, and letters of any language. Not every client understands
    /// escaped quotes and backslashes: with Digest, python-requests does not.
    ///
    /// # Errors
    ///
    /// [`RealmError`].
    pub fn new(text: &str) -> Result<Realm, RealmError> {
        if text.contains(char::is_control) {
            return Err(RealmError::Control);
        } else if text.len() > REALM_BYTES_MAX {
            return Err(RealmError::TooLong);
        }
        Ok(Realm { text: text.into() })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Writes a quoted string (RFC 9110 section 5.6.4); `text` must have no control characters.
pub(crate) fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        if byte == b'"' || byte == b'\\' {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::{REALM_BYTES_MAX, Realm};

    #[test]
    fn realms() {
        for (text, expected) in [
            ("", Ok("")),
            ("The \"inner\" circle", Ok("The \"inner\" circle")),
            ("Zürich: außen", Ok("Zürich: außen")),
            ("a\nb", Err("a realm is one line, without control characters")),
            ("a\u{85}b", Err("a realm is one line, without control characters")),
            (&"x".repeat(REALM_BYTES_MAX + 1), Err("a realm has 200 bytes at most")),
        ] {
            let realm = Realm::new(text);
            let found = realm.as_ref().map(Realm::as_str).map_err(ToString::to_string);

            assert_eq!(expected.map_err(ToOwned::to_owned), found, "{text}");
        }
    }
}
