//! What is wrong in a file, and where.

use std::fmt::Write as _;
use std::path::Path;

use crate::failure::Failure;

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// In bytes from the beginning of the file.
    pub(crate) at: usize,
    /// A sentence without a full stop.
    pub(crate) what: String,
}

/// All that is wrong in a file, each with its line and column, in their order.
pub(crate) fn failure(file: &Path, text: &str, mut mistakes: Vec<Mistake>) -> Failure {
    mistakes.sort_by_key(|mistake| mistake.at);
    let mut message = String::new();
    for Mistake { at, what } in mistakes {
        let (line, column) = position(text, at);
        let separator = if message.is_empty() { "" } else { "\n" };
        let _ = write!(message, "{separator}{}:{line}:{column}: {what}", file.display());
    }
    Failure::usage(message)
}

/// The line and the column of a byte, both from 1 on; columns are characters.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
