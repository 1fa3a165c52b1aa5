//! Mistakes that an application can make in a response head.

use core::fmt;

use crate::bytes::is_token_byte;

/// The reason why an application's head cannot be sent. The application is at fault: the client gets a 500, and the log
/// gets a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadResponse {
    /// The status does not have three digits.
    Status {
        /// The status that was set.
        status: u16,
    },
    /// The status is a 1xx, which does not end a request.
    Informational {
        /// The status that was set.
        status: u16,
    },
    /// The reason phrase holds a control character.
    Reason {
        /// The first control character.
        byte: u8,
    },
    /// A field name is empty or not a token.
    FieldName {
        /// The name, escaped.
        name: String,
        /// The first byte that a token may not hold; `None` if the name is empty.
        byte: Option<u8>,
    },
    /// A field value holds a control character.
    FieldValue {
        /// The field's name, escaped.
        name: String,
        /// The first control character.
        byte: u8,
    },
    /// The value of Content-Length is not a number.
    ContentLength {
        /// The value, escaped.
        value: String,
    },
    /// Two Content-Length fields differ.
    ContentLengths {
        /// The value that came first.
        first: u64,
        /// The value that differs from it.
        second: u64,
    },
}

impl BadResponse {
    #[cold]
    pub(crate) fn field_name(name: &[u8]) -> BadResponse {
        let byte = name.iter().copied().find(|&byte| !is_token_byte(byte));
        BadResponse::FieldName { name: printable(name), byte }
    }

    #[cold]
    pub(crate) fn field_value(name: &[u8], byte: u8) -> BadResponse {
        BadResponse::FieldValue { name: printable(name), byte }
    }

    #[cold]
    pub(crate) fn content_length(value: &[u8]) -> BadResponse {
        BadResponse::ContentLength { value: printable(value) }
    }
}

impl fmt::Display for BadResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadResponse::Status { status } => {
                write!(f, "the status {status} is not between 200 and 999; set one of three digits")
            }
            BadResponse::Informational { status } => {
                write!(f, "the status {status} cannot end a request; set one from 200 up")
            }
            BadResponse::Reason { byte } => {
                write!(f, "the reason phrase holds the byte {byte:#04x}; remove control characters")
            }
            BadResponse::FieldName { name, byte: Some(byte) } => {
                write!(f, "the field name \"{name}\" holds the byte {byte:#04x}; use a token of RFC 9110")
            }
            BadResponse::FieldName { byte: None, .. } => write!(f, "a field name is empty; give it a name"),
            BadResponse::FieldValue { name, byte } => {
                write!(
                    f,
                    "the value of the field {name} holds the byte {byte:#04x}; remove control characters"
                )
            }
            BadResponse::ContentLength { value } => {
                write!(f, "the Content-Length \"{value}\" is not a number; set the body's length in bytes")
            }
            BadResponse::ContentLengths { first, second } => {
                write!(f, "Content-Length is set to {first} and to {second}; set it once")
            }
        }
    }
}

impl core::error::Error for BadResponse {}

/// Returns `bytes` for a log line: escaped, and cut at [`PRINTED_BYTES_MAX`].
fn printable(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(PRINTED_BYTES_MAX)
        .copied()
        .flat_map(core::ascii::escape_default)
        .map(char::from)
        .collect()
}

/// Bytes of a name or a value that a log line shows: enough to recognise a name, whereas a value may be megabytes long.
const PRINTED_BYTES_MAX: usize = 64;
