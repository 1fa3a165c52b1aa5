//! One spelling for each path, so that a path that a route protects stays protected however a client spells
//! it.

use std::borrow::Cow;

/// A `.` or a `..` as one of the segments of a path, however it is escaped.
///
/// Browsers and libraries resolve these before they send (RFC 3986 section 5.2.4). If two programs resolve them
/// differently, or one of them does not resolve them, a path means different things to the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DotSegment;

/// The path by which routes are found: percent-decoded once, with single slashes. An empty path is `/`.
///
/// An escaped slash counts as a slash: applications get their paths decoded, and cannot tell the two apart,
/// either.
///
/// # Errors
///
/// [`DotSegment`].
#[inline]
pub fn spelled(path: &[u8]) -> Result<Cow<'_, [u8]>, DotSegment> {
    if path.is_empty() {
        return Ok(Cow::Borrowed(b"/"));
    }
    if is_plain(path) { Ok(Cow::Borrowed(path)) } else { respelled(path) }
}

/// Whether a path certainly equals its spelling, byte by byte.
#[inline]
fn is_plain(path: &[u8]) -> bool {
    // The loop looks at all pairs and never ends early, so that the compiler can vectorise it.
    let pairs = path.iter().zip(path.get(1..).unwrap_or_default());
    let is_odd = |odd, (&first, &next)| matches!((first, next), (b'/', b'/' | b'.')) || odd;
    !path.contains(&b'%') && !pairs.fold(false, is_odd)
}

fn respelled(path: &[u8]) -> Result<Cow<'_, [u8]>, DotSegment> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, length)) = next(rest) {
        rest = &rest[length..];
        if byte != b'/' || out.last() != Some(&b'/') {
            out.push(byte);
        }
    }
    if out.split(|&byte| byte == b'/').any(|segment| matches!(segment, b"." | b"..")) {
        return Err(DotSegment);
    }
    Ok(Cow::Owned(out))
}

/// Returns a path in which all bytes except slashes and unreserved ones (RFC 3986 section 2.3) are escaped: decoding it
/// gives `path` again.
pub fn escaped(path: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

    let mut out = Vec::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
        }
    }
    out
}

/// How many bytes of a path, as it was sent, stand for the first `bytes` of its spelling by [`spelled`].
#[inline(never)]
pub fn raw_bytes(path: &[u8], bytes: usize) -> usize {
    if path.get(..bytes).is_some_and(is_plain) { bytes } else { counted_bytes(path, bytes) }
}

fn counted_bytes(path: &[u8], bytes: usize) -> usize {
    let (mut at, mut made, mut before) = (0, 0, 0);
    while made < bytes
        && let Some((byte, length)) = next(&path[at..])
    {
        at += length;
        made += usize::from(byte != b'/' || before != b'/');
        before = byte;
    }
    at
}

/// Returns the first byte of the decoded path, and how many bytes of `path` stand for it. A percent sign without two
/// digits stands for itself.
fn next(path: &[u8]) -> Option<(u8, usize)> {
    let digit = |at: usize| path.get(at).and_then(|&digit| char::from(digit).to_digit(16));
    let first = *path.first()?;
    match (first, digit(1), digit(2)) {
        (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok().map(|byte| (byte, 3)),
        _ => Some((first, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{DotSegment, raw_bytes, spelled};

    /// Every way to write `/admin/x` must have this one spelling, and the length of its first segment as it was sent
    /// must be found.
    #[test]
    fn one_spelling() {
        for (sent, prefix) in [
            ("/admin/x", "/admin"),
            ("/%61dmin/x", "/%61dmin"),
            ("/%61%64%6D%69%6e/x", "/%61%64%6D%69%6e"),
            ("//admin/x", "//admin"),
            ("/admin//x", "/admin"),
            ("/admin%2fx", "/admin"),
            ("%2F/admin/x", "%2F/admin"),
            ("/admin/%78", "/admin"),
        ] {
            assert_eq!(Ok("/admin/x".as_bytes()), spelled(sent.as_bytes()).as_deref(), "{sent}");
            assert_eq!(prefix.len(), raw_bytes(sent.as_bytes(), "/admin".len()), "{sent}");
        }
    }

    #[test]
    fn other_paths() {
        for (sent, path) in [
            ("", "/"),
            ("/", "/"),
            ("/%2561dmin", "/%61dmin"),
            ("/a%", "/a%"),
            ("/%zz", "/%zz"),
            ("/%4", "/%4"),
            ("/.well-known/x", "/.well-known/x"),
            ("/a..b/c.", "/a..b/c."),
            ("/...", "/..."),
            ("/Admin", "/Admin"),
            ("/admin.", "/admin."),
            ("/caf%C3%A9", "/caf\u{e9}"),
        ] {
            assert_eq!(Ok(path.as_bytes()), spelled(sent.as_bytes()).as_deref(), "{sent}");
        }
    }

    #[test]
    fn dot_segments() {
        for sent in [
            "/..",
            "/.",
            "/a/../b",
            "/a/./b",
            "/a/%2e%2E/b",
            "/a/.%2e",
            "/a%2f..%2fb",
            "/a/..",
            "/a//../b",
            "/%2e/a",
        ] {
            assert_eq!(Err(DotSegment), spelled(sent.as_bytes()), "{sent}");
        }
    }
}
