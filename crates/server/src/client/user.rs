//! Who has sent a request, where its route asks for that.

/// A client that has proved who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its name.
    pub name: Box<str>,
    /// How it has proved that: `Basic` or `Digest` (RFC 3875 section 4.1.1, `AUTH_TYPE`).
    pub scheme: &'static str,
}
