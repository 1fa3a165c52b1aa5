//! Mistakes in a file, line by line.

use std::fmt;

/// A mistake in a file, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The number of the line, from 1 on.
    pub line: usize,
    /// The mistake, as part of a sentence, without anything secret.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Wrong {}

/// The most mistakes that are reported for one file: a file of another kind would otherwise give a message for each of
/// its lines.
pub(crate) const WRONGS_MAX: usize = 20;

/// Calls `read` with each line that has content, and collects the mistakes.
///
/// Empty lines and lines that begin with `#` have no content; blanks at the end of a line are removed.
///
/// # Errors
///
/// The mistakes that `read` found, at most [`WRONGS_MAX`].
pub(crate) fn each_line<'a>(
    text: &'a str,
    mut read: impl FnMut(usize, &'a str) -> Result<(), String>,
) -> Result<(), Vec<Wrong>> {
    let lines = text.lines().map(str::trim_ascii_end).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let wrongs = lines.filter_map(|(line, at)| read(at, line).err().map(|what| Wrong { line: at, what }));
    let wrongs: Vec<_> = wrongs.take(WRONGS_MAX).collect();
    if wrongs.is_empty() { Ok(()) } else { Err(wrongs) }
}

/// Checks the name of a user in a file: RFC 7617 section 2 allows neither colons nor control characters.
///
/// # Errors
///
/// The reason why this is not a valid name.
pub(crate) fn user_name(name: &str) -> Result<&str, String> {
    if name.is_empty() {
        Err("the name of the user is missing".to_owned())
    } else if name.contains(char::is_control) {
        Err("there is a control character in the name of the user".to_owned())
    } else {
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::{WRONGS_MAX, each_line};

    #[test]
    fn lines_that_say_something() {
        let mut seen = Vec::new();
        let read = |at, line| {
            seen.push((at, line));
            Ok(())
        };
        assert_eq!(Ok(()), each_line("a\r\n# b\n\n c \t\n \t\nd#", read));

        assert_eq!(vec![(1, "a"), (4, " c"), (6, "d#")], seen);
    }

    #[test]
    fn not_every_mistake_is_told() {
        let wrongs = each_line(&"x\n".repeat(WRONGS_MAX + 5), |_, _| Err("no".to_owned()));
        let wrongs = wrongs.err().unwrap_or_default();

        assert_eq!(WRONGS_MAX, wrongs.len());
        assert_eq!(Some("line 20: no"), wrongs.last().map(ToString::to_string).as_deref());
    }
}
