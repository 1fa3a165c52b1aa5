//! Why the server does not start.

use std::fmt;

/// Why the server does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One sentence for the user, without a full stop and without the program's name in front.
    pub message: String,
    /// Further sentences, if it is a file that has several mistakes.
    pub more: Vec<String>,
    /// What the process exits with: 2, as getopt programs do for a wrong command line.
    pub status: u8,
}

impl Failure {
    /// A wrong command line or environment.
    pub(crate) fn usage(message: String) -> Failure {
        Failure { message, more: Vec::new(), status: 2 }
    }
}

impl Failure {
    /// All sentences.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.message).chain(&self.more).map(String::as_str)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
