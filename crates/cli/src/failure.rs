//! Why the server does not start.

use std::fmt;

/// Why the server does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One sentence for the user, without a full stop and without the program's name in front.
    pub message: String,
    /// What the process exits with: 2, as getopt programs do for a wrong command line.
    pub status: u8,
}

impl Failure {
    /// A wrong command line or environment.
    pub(crate) fn usage(message: String) -> Failure {
        Failure { message, status: 2 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
