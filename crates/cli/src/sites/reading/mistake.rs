//! Mistakes in a file, and their places.

use std::path::Path;

use crate::command::failure::Failure;
use crate::settings::said::SaidAt;

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The place, in bytes from the beginning of the file.
    pub(crate) at: usize,
    /// A sentence without a full stop.
    pub(crate) what: String,
}

/// Makes a failure of all mistakes in a file, each with its line and column, in their order.
pub(crate) fn failure(file: &Path, lines: &Lines<'_>, mut mistakes: Vec<Mistake>) -> Failure {
    mistakes.sort_by_key(|mistake| mistake.at);
    let mut sentences = mistakes.into_iter().map(|Mistake { at, what }| {
        format!("{}:{}:{}: {what}", file.display(), lines.line(at), lines.column(at))
    });
    let first = Failure::usage(sentences.next().unwrap_or_default());
    Failure { more: sentences.collect(), ..first }
}

/// The beginnings of the lines of a file.
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// The places in bytes, without the place of the first line.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Lines<'t> {
        Lines { text, starts: text.match_indices('\n').map(|(at, _)| at + 1).collect() }
    }

    /// Returns the line of a byte, from 1 on.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at) + 1
    }

    /// Returns the place of a byte of this file.
    pub(crate) fn said_at(&self, file: &Path, at: usize) -> SaidAt {
        SaidAt::new(file, self.line(at), self.column(at))
    }

    /// Returns the column of a byte: the number of characters in front of it in its line, plus one.
    fn column(&self, at: usize) -> usize {
        let start = self.starts[..self.line(at) - 1].last().copied().unwrap_or(0);
        self.text.get(start..at).map_or(1, |before| before.chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn places() {
        let text = "a\n\u{e9}b\n\nc";
        let lines = Lines::new(text);
        let places = [0, 1, 2, 4, 5, 6, 7, 8, 99].map(|at| (lines.line(at), lines.column(at)));

        assert_eq!([(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (4, 1), (4, 2), (4, 1)], places);
    }
}
