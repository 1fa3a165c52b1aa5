//! Reasons why a server does not start.

use adyton_cli::Fault;
use pyo3::prelude::*;

/// The reason why a server did not start, and the exit status.
pub(crate) enum Failure {
    /// A sentence for standard error.
    Said(String, u8),
    /// Several sentences, about one file.
    Mistakes(Vec<String>, u8),
    /// The application could not be loaded; its traceback is printed already.
    Application,
}

impl Failure {
    /// An error of the operating system.
    pub(super) fn system(what: impl std::fmt::Display) -> Self {
        Self::Said(what.to_string(), 1)
    }
}

impl Failure {
    /// All faults of the settings, each in a sentence of its own, in the order of the file.
    pub(super) fn of(mut faults: Vec<Fault>) -> Self {
        faults.sort_by(Fault::order);
        Self::Mistakes(faults.iter().map(ToString::to_string).collect(), 2)
    }

    /// Both failures, with the exit status of this one. An application that could not be loaded has been reported
    /// already.
    pub(crate) fn and(self, other: Self) -> Self {
        let (status, mut sentences) = match self {
            Self::Said(message, status) => (status, vec![message]),
            Self::Mistakes(sentences, status) => (status, sentences),
            Self::Application => return other,
        };
        match other {
            Self::Said(message, _) => sentences.push(message),
            Self::Mistakes(more, _) => sentences.extend(more),
            Self::Application => {}
        }
        let mut told: Vec<String> = Vec::new();
        for sentence in sentences {
            if !told.contains(&sentence) {
                told.push(sentence);
            }
        }
        Self::Mistakes(told, status)
    }

    /// The failure as a sentence, where the exit status is of no use.
    pub(super) fn into_sentence(self) -> String {
        match self {
            Self::Said(message, _) => message,
            Self::Mistakes(sentences, _) => sentences.join("\n"),
            Self::Application => "the application could not be loaded".to_owned(),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Said(format!("the interpreter failed: {error}"), 1)
    }
}

impl From<adyton_cli::Failure> for Failure {
    fn from(failure: adyton_cli::Failure) -> Self {
        Self::Mistakes(failure.sentences().map(str::to_owned).collect(), failure.status)
    }
}
