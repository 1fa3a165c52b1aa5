//! Turns URL paths into names of files: decoded once, in normal form, and checked by the rules for names.
//!
//! Only this module looks inside a path. The string that the rules have judged is the very string that the kernel gets:
//! no later step decodes or joins again. (CVE-2021-41773 and the "confusion attacks" of 2024 came from differences
//! between two such steps.)

use std::ffi::CString;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_encode};

/// Bytes that are escaped in a path in a header field or in a quoted HTML attribute.
///
/// RFC 3986 section 3.3 allows more bytes unescaped, among them `&` and `'`, which have a meaning in HTML.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// The one hidden folder that is published, and only at the top of a site (RFC 8615).
const WELL_KNOWN: &[u8] = b".well-known";

/// Endings of source files' names, after the last dot, compared without regard to case.
const SOURCE_ENDS: &[&[u8]] = &[b"py", b"pyc", b"pyi", b"pyo", b"pyw", b"pyx", b"wsgi"];

/// Endings, after the last dot, of files that editors and merges leave behind; the name of such a file may also end
/// with `~`.
const LEFTOVER_ENDS: &[&[u8]] = &[b"bak", b"orig", b"rej", b"save", b"swn", b"swo", b"swp"];

/// Folders of version control and of compiled sources whose names do not begin with a dot.
const REFUSED_NAMES: &[&[u8]] = &[b"__pycache__", b"_darcs", b"cvs", b"rcs", b"sccs"];

/// A path beneath the root, in normal form, that the rules allow.
///
/// Invariant: segments joined by single slashes. No segment is empty, `.`, `..` or refused by the rules, and none holds
/// a NUL. Empty for the root itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath {
    relative: Vec<u8>,
    names_folder: bool,
}

/// The reason why a path names no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// No correct client sends this: answer 400. The sentence says what is wrong.
    Malformed(&'static str),
    /// No such file exists, or it is not published: answer 404 in both cases.
    Unpublished,
}

impl FilePath {
    /// Reads the raw path of a request, without its mount prefix and without the query.
    ///
    /// An empty path remains if a mount is requested without its slash, so it names no folder. Dot segments are
    /// resolved as RFC 3986 section 5.2.4 says, and empty segments vanish as in the file system. An escaped slash is
    /// `Unpublished`, because no file name can hold a slash. All other bytes except NUL can be in a name. Control
    /// characters and the backslash must be escaped: a client that sends a plain backslash may mean a slash (the URL
    /// standard reads it so), but a client that sends `%5C` does not. A name need not be UTF-8: neither this module nor
    /// the kernel decodes overlong forms like `%c0%ae`.
    ///
    /// # Errors
    ///
    /// See [`PathError`].
    pub fn parse(raw: &[u8]) -> Result<FilePath, PathError> {
        let mut relative = Vec::with_capacity(raw.len());
        let mut names_folder = false;
        for segment in raw.split(|&byte| byte == b'/') {
            let end = relative.len();
            if end > 0 {
                relative.push(b'/');
            }
            let start = relative.len();
            decode(segment, &mut relative)?;
            names_folder = !raw.is_empty() && matches!(&relative[start..], b"" | b"." | b"..");
            match &relative[start..] {
                b"" | b"." => relative.truncate(end),
                b".." => {
                    if end == 0 {
                        return Err(PathError::Malformed("The path leads out of the site."));
                    }
                    let above = relative[..end].iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                    relative.truncate(above);
                }
                _ => {}
            }
        }
        let is_first = std::iter::once(true).chain(std::iter::repeat(false));
        let mut segments = relative.split(|&byte| byte == b'/').zip(is_first);
        let allowed = segments.all(|(name, first)| is_published(name) || (first && name == WELL_KNOWN));
        if !(relative.is_empty() || allowed) {
            return Err(PathError::Unpublished);
        }
        Ok(FilePath { relative, names_folder })
    }

    /// The path relative to the root, without a slash at either end; empty for the root.
    pub fn relative(&self) -> &[u8] {
        &self.relative
    }

    /// Whether the path ended in a slash or in a dot segment, and so can name only a folder.
    pub fn names_folder(&self) -> bool {
        self.names_folder
    }

    /// Whether the last segment looks like a file with an extension: `app.js` does, `users/17` does not.
    pub fn has_extension(&self) -> bool {
        let last = self.relative.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        memchr::memchr(b'.', last).is_some()
    }

    /// The path in the form that the kernel takes; `.` for the root.
    pub fn to_c(&self) -> CString {
        let relative = if self.relative.is_empty() { &b"."[..] } else { &self.relative };
        // A path holds no NUL (see the invariant), so the default is never taken.
        CString::new(relative).unwrap_or_default()
    }

    /// The path of `name` inside this folder; the operator has chosen the name, or it was found in the folder.
    pub(crate) fn join(&self, name: &[u8]) -> FilePath {
        let mut relative = self.relative.clone();
        if !relative.is_empty() {
            relative.push(b'/');
        }
        relative.extend_from_slice(name);
        FilePath { relative, names_folder: false }
    }
}

/// Whether a file or folder of this name is published: the name is not hidden, and belongs neither to a source nor to a
/// file that an editor has left behind.
///
/// Rule 44. [`FilePath::parse`] makes an exception for the top-level folder `.well-known`.
pub fn is_published(name: &[u8]) -> bool {
    let end = end_of(name);
    is_meant_with(name, end) && !is_one_of(end, SOURCE_ENDS)
}

/// Whether a program of this name may be run: not hidden, and no editor's leftover. Sources may be run, although they
/// are not sent.
pub fn is_meant(name: &[u8]) -> bool {
    is_meant_with(name, end_of(name))
}

/// Answers as [`is_meant`] does, for a name whose extension is known.
#[inline]
fn is_meant_with(name: &[u8], end: Option<&[u8]>) -> bool {
    let (Some(&first), Some(&last)) = (name.first(), name.last()) else { return false };
    // Emacs saves an edited file as `#name#`.
    let is_autosave = first == b'#' && last == b'#' && name.len() > 1;
    let is_refused = |refused: &&[u8]| refused.len() == name.len() && name.eq_ignore_ascii_case(refused);
    first != b'.'
        && last != b'~'
        && !is_autosave
        && !is_one_of(end, LEFTOVER_ENDS)
        && !REFUSED_NAMES.iter().any(is_refused)
}

/// The extension of a name: the part after its last dot.
fn end_of(name: &[u8]) -> Option<&[u8]> {
    memchr::memrchr(b'.', name).map(|dot| &name[dot + 1..])
}

fn is_one_of(end: Option<&[u8]>, ends: &[&[u8]]) -> bool {
    end.is_some_and(|found| {
        ends.iter().any(|end| end.len() == found.len() && end.eq_ignore_ascii_case(found))
    })
}

/// Whether a path can stand in a request without escapes and then means itself.
pub(crate) fn needs_no_escapes(path: &[u8]) -> bool {
    !path.iter().any(|&byte| byte == b'%' || must_be_escaped(byte))
}

/// Whether [`FilePath::parse`] accepts a byte only in its escaped form.
fn must_be_escaped(byte: u8) -> bool {
    byte.is_ascii_control() || byte == b'\\'
}

/// A decoded path, escaped for a `Location` field or for an attribute in HTML.
pub(crate) fn escape(path: &[u8]) -> PercentEncode<'_> {
    percent_encode(path, ESCAPED)
}

impl fmt::Display for PathError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            PathError::Malformed(sentence) => sentence,
            PathError::Unpublished => "There is no such file.",
        })
    }
}

impl std::error::Error for PathError {}

/// Appends one segment to `out` with its escapes decoded, and refuses bytes that no file name can hold.
fn decode(segment: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    let mut rest = segment.iter();
    while let Some(&byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digits =
                    (rest.next().and_then(|&digit| hex(digit)), rest.next().and_then(|&digit| hex(digit)));
                let (Some(high), Some(low)) = digits else {
                    return Err(PathError::Malformed(
                        "A percent sign in the path needs two hexadecimal digits.",
                    ));
                };
                high << 4 | low
            }
            byte if must_be_escaped(byte) => {
                return Err(PathError::Malformed(
                    "The path holds a backslash or a control character that is not escaped.",
                ));
            }
            byte => byte,
        };
        match byte {
            0 => return Err(PathError::Malformed("The path holds a NUL.")),
            b'/' => return Err(PathError::Unpublished),
            byte => out.push(byte),
        }
    }
    Ok(())
}

fn hex(digit: u8) -> Option<u8> {
    // A hexadecimal digit is below 16.
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
