//! The reason why the server does not start.

use std::fmt;

use crate::settings::said::Fault;
use crate::settings::typed::Settings;

/// The reason why the server does not start.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// One sentence for the user, without a full stop and without the program's name in front.
    pub message: String,
    /// Further sentences, for a file that has several mistakes.
    pub more: Vec<String>,
    /// The exit status of the process: 2, as getopt programs have it for a wrong command line.
    pub status: u8,
    /// The settings that were understood in a file with mistakes: they may have further mistakes, and are never served.
    pub understood: Option<Box<Settings>>,
}

impl Failure {
    /// Makes a failure of faults, at least one, and of the settings that were understood, which may have further
    /// faults.
    pub(crate) fn of(mut faults: Vec<Fault>, understood: Settings) -> Failure {
        faults.sort_by(Fault::order);
        let mut sentences = faults.iter().map(ToString::to_string);
        let first = Failure::usage(sentences.next().unwrap_or_default());
        // No path can be found without the folder that it is relative to.
        let is_read = understood.sites.is_some() && !understood.is_unread("chdir");
        Failure { more: sentences.collect(), understood: is_read.then(|| Box::new(understood)), ..first }
    }

    /// Makes the failure of a wrong command line or environment.
    pub(crate) fn usage(message: String) -> Failure {
        Failure { message, more: Vec::new(), status: 2, understood: None }
    }
}

impl Failure {
    /// Returns all sentences.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.message).chain(&self.more).map(String::as_str)
    }
}

impl fmt::Debug for Failure {
    /// Writes the failure without the settings that were understood, which are long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { message, more, status, .. } = self;
        f.debug_struct("Failure")
            .field("message", message)
            .field("more", more)
            .field("status", status)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
