//! Limits of a request head, with the reason for each.

/// Longest method in bytes; a longer one is answered 501 (RFC 9112 section 3).
///
/// The longest registered method, `UPDATEREDIRECTREF`, has 17 bytes (IANA registry of methods).
pub const METHOD_BYTES_MAX: usize = 32;

/// The most fields in one head that any [`Limits`] can allow.
pub const FIELDS_MAX: usize = 256;

/// Upper bound of the length of any head, whatever the settings say, because offsets are 32 bits wide.
const HEAD_BYTES_CEILING: usize = 1 << 30;

/// Limits of one request head. A line or head beyond its limit is answered 414 or 431.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest request line in bytes, without its CRLF. nginx has 8 KiB, httpd 8190, gunicorn 4094.
    pub line_bytes_max: usize,
    /// Longest field line in bytes, without its CRLF. nginx has 8 KiB, httpd and gunicorn 8190.
    pub field_bytes_max: usize,
    /// Longest head in bytes, from the request line to the empty line. nginx has 32 KiB, waitress 256 KiB.
    pub head_bytes_max: usize,
    /// Most fields; never more than [`FIELDS_MAX`]. httpd, h2o and gunicorn have 100, nginx 1000.
    pub fields_max: usize,
}

impl Limits {
    /// Returns how many bytes a head may have, at most [`HEAD_BYTES_CEILING`].
    pub(crate) fn head_bytes(&self) -> usize {
        self.head_bytes_max.min(HEAD_BYTES_CEILING)
    }

    /// Returns how many fields a head may have, at most [`FIELDS_MAX`].
    pub(crate) fn fields(&self) -> usize {
        self.fields_max.min(FIELDS_MAX)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { line_bytes_max: 8192, field_bytes_max: 8192, head_bytes_max: 65536, fields_max: 100 }
    }
}
