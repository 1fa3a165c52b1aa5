//! The user who has sent a request, if its route asks for one.

/// A client that has proved who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's name.
    pub name: Box<str>,
    /// The scheme that has proved it: `Basic` or `Digest` (RFC 3875 section 4.1.1, `AUTH_TYPE`).
    pub scheme: &'static str,
}
