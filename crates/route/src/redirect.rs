//! The target of a redirect: a text with places for parts of the request.

use std::fmt;

use adyton_http::Request;

use crate::host::without_port;

/// The target of a redirect, as a text with places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(Vec<TargetPiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TargetPiece {
    Text(Box<[u8]>),
    /// `{host}`: the name that the client asked for, without a port.
    Host,
    /// `{path}`: the path as it was sent.
    Path,
    /// `{rest}`: the path behind the route's own part.
    Rest,
    /// `{query}`: the query with its question mark, if there is one.
    Query,
}

impl fmt::Display for Location {
    /// Writes the target as [`Location::read`] takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            TargetPiece::Text(text) => write!(f, "{}", text.escape_ascii()),
            place => {
                PLACES.iter().filter(|(_, other)| other == place).try_for_each(|(name, _)| f.write_str(name))
            }
        })
    }
}

const PLACES: [(&str, TargetPiece); 4] = [
    ("{host}", TargetPiece::Host),
    ("{path}", TargetPiece::Path),
    ("{rest}", TargetPiece::Rest),
    ("{query}", TargetPiece::Query),
];

impl Location {
    /// Reads a target: a URL or a path with `{host}`, `{path}`, `{rest}` and `{query}` in it.
    ///
    /// # Errors
    ///
    /// Half a sentence: the target is empty or relative, it has another scheme than `http` and `https`, no host, an
    /// unknown placeholder, or a byte that no field may have.
    pub fn read(text: &str) -> Result<Location, String> {
        if text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ' || !byte.is_ascii()) {
            return Err("a target has no blanks and no letters beyond ASCII: write them as %20".to_owned());
        }
        let mut pieces: Vec<TargetPiece> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((name, piece)) = PLACES.iter().find(|(name, _)| rest.starts_with(name)) {
                pieces.push(piece.clone());
                rest = &rest[name.len()..];
                continue;
            }
            if rest.starts_with(['{', '}']) {
                let end = rest.find('}').map_or(rest.len(), |at| at + 1);
                return Err(format!(
                    "{} is none of the placeholders {{host}}, {{path}}, {{rest}} and {{query}}",
                    &rest[..end]
                ));
            }
            let end = rest.find(['{', '}']).unwrap_or(rest.len());
            pieces.push(TargetPiece::Text(rest.as_bytes()[..end].into()));
            rest = &rest[end..];
        }
        let is_whole = match pieces.as_slice() {
            [TargetPiece::Text(text), rest @ ..] => is_beginning(text, rest.first()),
            [TargetPiece::Path, ..] => true,
            _ => false,
        };
        if is_whole { Ok(Location(pieces)) } else { Err(NO_BEGINNING.to_owned()) }
    }

    /// The URL or path to which this request is sent; the route's own part of its path has `prefix_bytes`.
    pub fn of(&self, request: Request<'_>, prefix_bytes: usize) -> Vec<u8> {
        let path = if request.path().is_empty() { b"/" } else { request.path() };
        let mut out = Vec::new();
        for piece in &self.0 {
            match piece {
                TargetPiece::Text(text) => out.extend_from_slice(text),
                TargetPiece::Host => {
                    out.extend_from_slice(without_port(request.host().unwrap_or_default()));
                }
                TargetPiece::Path | TargetPiece::Rest => {
                    let from = if *piece == TargetPiece::Rest { prefix_bytes } else { 0 };
                    let path = path.get(from..).unwrap_or_default();
                    // At the beginning of the target, two slashes would name another host (RFC 3986 section 4.2).
                    // Behind a slash of the target, one more slash would double it.
                    let slashes = path.iter().take_while(|&&byte| byte == b'/').count();
                    let surplus = match out.last() {
                        Some(b'/') => slashes,
                        _ => slashes.saturating_sub(1),
                    };
                    out.extend_from_slice(&path[surplus..]);
                }
                TargetPiece::Query if request.query().is_empty() => {}
                TargetPiece::Query => {
                    out.push(b'?');
                    out.extend_from_slice(request.query());
                }
            }
        }
        // A backslash is a slash to browsers (URL standard), and `/\host` another host.
        if out.starts_with(b"/\\") {
            out.splice(1..2, *b"%5C");
        }
        out
    }
}

const NO_BEGINNING: &str =
    "a target begins with https:// or http:// and a host, with one slash, or with {path}";

/// Whether a target may begin with this text, behind which `next` stands: a target is a path of this host, or a URL
/// with a host of its own. Two slashes are the beginning of another host (RFC 3986 section 4.2), and to browsers a
/// backslash is a slash (URL standard).
fn is_beginning(text: &[u8], next: Option<&TargetPiece>) -> bool {
    const SLASHES: [u8; 2] = *b"/\\";
    if let Some(path) = text.strip_prefix(b"/") {
        return path.first().is_none_or(|byte| !SLASHES.contains(byte));
    }
    let scheme = |scheme: &[u8]| {
        let (front, rest) = text.split_at_checked(scheme.len())?;
        front.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    match scheme(b"https://").or_else(|| scheme(b"http://")) {
        Some([]) => next == Some(&TargetPiece::Host),
        Some([first, ..]) => !SLASHES.contains(first) && !matches!(first, b'?' | b'#' | b':' | b'@'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use adyton_http1::{Head, Limits, Parsed};

    use super::{Location, NO_BEGINNING};

    fn leads(location: &str, target: &str, prefix: &str) -> Option<String> {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: shop.example:8000\r\n\r\n");
        let mut head = Head::new();
        assert_eq!(Ok(Parsed::Complete), head.parse(bytes.as_bytes(), &Limits::default()));
        let location = Location::read(location).ok()?;
        String::from_utf8(location.of(head.of(bytes.as_bytes()), prefix.len())).ok()
    }

    #[test]
    fn targets() {
        for (location, target, prefix, expected) in [
            ("https://{host}{path}{query}", "/a/b?c=d", "", "https://shop.example/a/b?c=d"),
            ("https://{host}{path}{query}", "/", "", "https://shop.example/"),
            ("https://new.example/{rest}", "/old/a/b?c", "/old", "https://new.example/a/b"),
            ("https://new.example{rest}", "/old", "/old", "https://new.example"),
            ("/new{rest}{query}", "/old/a?b", "/old", "/new/a?b"),
            ("/fixed", "/anything", "", "/fixed"),
            ("/{host}", "/anything", "", "/shop.example"),
            ("/", "/anything", "", "/"),
            ("HTTPS://new.example", "/anything", "", "HTTPS://new.example"),
            // No target here leads to another host.
            ("{path}{query}", "//evil.example/a", "", "/evil.example/a"),
            ("/{rest}", "/old//evil.example/a", "/old", "/evil.example/a"),
            ("/{rest}", "/old/a", "/old", "/a"),
            ("{path}", "/%5Cevil.example", "", "/%5Cevil.example"),
        ] {
            assert_eq!(Some(expected.to_owned()), leads(location, target, prefix), "{location} for {target}");
        }
    }

    #[test]
    fn no_targets() {
        for (text, sentence) in [
            ("", NO_BEGINNING),
            ("new.example", NO_BEGINNING),
            ("{host}/a", NO_BEGINNING),
            ("{rest}", NO_BEGINNING),
            ("javascript:alert(1)", NO_BEGINNING),
            ("javascript://new.example/%0aalert(1)", NO_BEGINNING),
            ("data:text/html,x", NO_BEGINNING),
            ("file:///etc/passwd", NO_BEGINNING),
            ("ftp://new.example/", NO_BEGINNING),
            ("//new.example/", NO_BEGINNING),
            ("///new.example/", NO_BEGINNING),
            ("/\\new.example/", NO_BEGINNING),
            ("\\\\new.example/", NO_BEGINNING),
            ("https:new.example", NO_BEGINNING),
            ("https:/new.example", NO_BEGINNING),
            ("https://", NO_BEGINNING),
            ("https:///new.example", NO_BEGINNING),
            ("https://\\new.example", NO_BEGINNING),
            ("https://?a", NO_BEGINNING),
            // The request's path would name the host.
            ("https://{path}", NO_BEGINNING),
            ("https://{rest}", NO_BEGINNING),
            ("/{name}", "{name} is none of the placeholders {host}, {path}, {rest} and {query}"),
            ("/{host", "{host is none of the placeholders {host}, {path}, {rest} and {query}"),
            ("/a b", "a target has no blanks and no letters beyond ASCII: write them as %20"),
            ("/a\r\nSet-Cookie: b", "a target has no blanks and no letters beyond ASCII: write them as %20"),
        ] {
            assert_eq!(Err(sentence.to_owned()), Location::read(text), "{text}");
        }
    }
}
