//! Versions of HTTP.

/// A version of HTTP that a client speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// `HTTP/1.0`
    Http10,
    /// `HTTP/1.1`, and any version that claims to be a later 1.x (RFC 9110 section 6.2).
    Http11,
}
