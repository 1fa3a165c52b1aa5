//! Why the server does not start.

use std::fmt;

use crate::settings::said::Fault;
use crate::settings::typed::Settings;

/// Why the server does not start.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// One sentence for the user, without a full stop and without the program's name in front.
    pub message: String,
    /// Further sentences, if it is a file that has several mistakes.
    pub more: Vec<String>,
    /// What the process exits with: 2, as getopt programs do for a wrong command line.
    pub status: u8,
    /// What was understood of a file with mistakes: never to be served, but more of it may be wrong.
    pub understood: Option<Box<Settings>>,
}

impl Failure {
    /// All that is wrong, at least one thing; of what was understood more may be.
    pub(crate) fn of(mut faults: Vec<Fault>, understood: Settings) -> Failure {
        faults.sort_by(Fault::order);
        let mut sentences = faults.iter().map(ToString::to_string);
        let first = Failure::usage(sentences.next().unwrap_or_default());
        // Without the folder that paths are relative to, nothing is found.
        let is_read = understood.sites.is_some() && !understood.is_unread("chdir");
        Failure { more: sentences.collect(), understood: is_read.then(|| Box::new(understood)), ..first }
    }

    /// A wrong command line or environment.
    pub(crate) fn usage(message: String) -> Failure {
        Failure { message, more: Vec::new(), status: 2, understood: None }
    }
}

impl Failure {
    /// All sentences.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.message).chain(&self.more).map(String::as_str)
    }
}

impl fmt::Debug for Failure {
    /// Without all the settings that were understood.
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
