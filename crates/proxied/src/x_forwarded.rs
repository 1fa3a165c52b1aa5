//! The values of fields that no RFC describes: each is one word, and any other value counts as absent.

use adyton_http::authority::{self, Authority};
use adyton_http::bytes::{find_outside_target, number};

/// Whether the scheme is `https`; `None` for any word except `https` and `http`.
pub(crate) fn is_https(scheme: &[u8]) -> Option<bool> {
    word(scheme, &[b"https"], &[b"http"])
}

/// Whether TLS is on, read from a field whose value is only yes or no (`on`, `1`, …).
pub(crate) fn is_on(switch: &[u8]) -> Option<bool> {
    word(switch, &[b"on", b"true", b"1"], &[b"off", b"false", b"0"])
}

fn word(value: &[u8], yes: &[&[u8]], no: &[&[u8]]) -> Option<bool> {
    let is_one_of = |words: &[&[u8]]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    if is_one_of(yes) { Some(true) } else { is_one_of(no).then_some(false) }
}

/// Whether the value is a host, perhaps with a port.
pub(crate) fn is_host(value: &[u8]) -> bool {
    authority::read(value).is_some()
}

/// Whether the value is a host alone.
pub(crate) fn is_server_name(value: &[u8]) -> bool {
    authority::read(value) == Some(Authority::Host)
}

/// Reads a port that something can listen on.
pub(crate) fn port(value: &[u8]) -> Option<u16> {
    number(value)?.try_into().ok().filter(|&port| port > 0)
}

/// The path that an application is mounted at, as it was sent, without slashes at its end: empty for the root.
///
/// Segments that are empty or mean another folder are refused: applications put the path in front of their links, and
/// `//a.example` would be a link to another host.
pub(crate) fn script_name(value: &[u8]) -> Option<&[u8]> {
    let mut path = value;
    while let [rest @ .., b'/'] = path {
        path = rest;
    }
    let mut segments = path.split(|&byte| byte == b'/');
    let is_rooted = value.starts_with(b"/") && segments.next().is_some_and(<[u8]>::is_empty);
    let is_plain = segments.all(|segment| !matches!(segment, b"" | b"." | b".."));
    let is_path = find_outside_target(path, 0).is_none() && !path.contains(&b'?') && !path.contains(&b'\\');
    (is_rooted && is_plain && is_path).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for (value, scheme, switch) in [
            ("https", Some(true), None),
            ("HTTP", Some(false), None),
            ("on", None, Some(true)),
            ("True", None, Some(true)),
            ("1", None, Some(true)),
            ("OFF", None, Some(false)),
            ("false", None, Some(false)),
            ("0", None, Some(false)),
            ("", None, None),
            ("wss", None, None),
            ("https:", None, None),
            ("yes", None, None),
            ("11", None, None),
        ] {
            assert_eq!((scheme, switch), (is_https(value.as_bytes()), is_on(value.as_bytes())), "{value}");
        }
    }

    #[test]
    fn ports() {
        for (value, expected) in [
            ("1", Some(1)),
            ("443", Some(443)),
            ("65535", Some(65535)),
            ("0", None),
            ("65536", None),
            ("", None),
            ("+1", None),
            ("80x", None),
        ] {
            assert_eq!(expected, port(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn script_names() {
        for (value, expected) in [
            ("/", Some("")),
            ("///", Some("")),
            ("/a", Some("/a")),
            ("/a/", Some("/a")),
            ("/a,b/c%20d//", Some("/a,b/c%20d")),
            ("/a.b/..c", Some("/a.b/..c")),
            ("", None),
            ("a", None),
            ("a/", None),
            ("//a", None),
            ("/a//b", None),
            ("/./a", None),
            ("/a/..", None),
            ("/a?b", None),
            ("/a#b", None),
            ("/a b", None),
            ("/\\a", None),
            ("/\u{e9}", None),
            ("http://a/", None),
        ] {
            let expected = expected.map(str::as_bytes);

            assert_eq!(expected, script_name(value.as_bytes()), "{value}");
        }
    }
}
