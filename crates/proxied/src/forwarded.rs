//! The field `Forwarded` (RFC 7239 section 4): what each proxy on the way has noted, the nearest last.

use std::borrow::Cow;

use adyton_http::bytes::{is_blank, is_token_byte};

/// Proxies that one request may have passed: no chain is longer, and each costs work.
pub(crate) const ELEMENTS_MAX: usize = 64;

/// What one proxy has noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element<'f> {
    /// Who has asked it.
    pub(crate) client: Option<Cow<'f, [u8]>>,
    /// The scheme by which it was asked.
    pub(crate) proto: Option<Cow<'f, [u8]>>,
    /// The host that was asked for.
    pub(crate) host: Option<Cow<'f, [u8]>>,
    /// The element as it was sent.
    pub(crate) text: &'f [u8],
}

/// Reads a value; `None` if it breaks the grammar, or has more than [`ELEMENTS_MAX`] elements.
pub(crate) fn read(value: &[u8]) -> Option<Vec<Element<'_>>> {
    let mut elements = Vec::new();
    let mut rest = value;
    loop {
        rest = skip_blanks(rest);
        match rest {
            [] => return Some(elements),
            // A list may have empty elements (RFC 9110 section 5.6.1).
            [b',', behind @ ..] => rest = behind,
            _ if elements.len() == ELEMENTS_MAX => return None,
            _ => {
                let (element, behind) = element(rest)?;
                elements.push(element);
                rest = behind;
            }
        }
    }
}

/// One element, and what stands behind it: nothing, or a comma and more.
fn element(start: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let mut element = Element::default();
    let mut rest = start;
    loop {
        if let [b';' | b',', ..] | [] = rest {
            // Pairs may be missing between semicolons.
        } else {
            let name_bytes = rest.iter().position(|&byte| !is_token_byte(byte))?;
            let (name, behind) = rest.split_at(name_bytes);
            let (value, behind) = value(behind.strip_prefix(b"=")?)?;
            let place = match name.to_ascii_lowercase().as_slice() {
                b"" => return None,
                b"for" => Some(&mut element.client),
                b"proto" => Some(&mut element.proto),
                b"host" => Some(&mut element.host),
                _ => None,
            };
            // Each parameter once (RFC 7239 section 4).
            if let Some(place) = place
                && place.replace(value).is_some()
            {
                return None;
            }
            rest = behind;
        }
        rest = skip_blanks(rest);
        match rest {
            [b';', behind @ ..] => rest = skip_blanks(behind),
            [] | [b',', ..] => {
                element.text = trimmed(&start[..start.len() - rest.len()]);
                return Some((element, rest));
            }
            _ => return None,
        }
    }
}

/// A token or a quoted string, and what stands behind it.
fn value(start: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let Some(mut rest) = start.strip_prefix(b"\"") else {
        let bytes = start.iter().position(|&byte| !is_token_byte(byte)).unwrap_or(start.len());
        return (bytes > 0).then(|| (Cow::Borrowed(&start[..bytes]), &start[bytes..]));
    };
    let mut text = Vec::new();
    loop {
        match rest {
            [b'"', behind @ ..] => return Some((Cow::Owned(text), behind)),
            [b'\\'] | [] => return None,
            [b'\\', byte, behind @ ..] | [byte, behind @ ..] => {
                text.push(*byte);
                rest = behind;
            }
        }
    }
}

fn skip_blanks(mut bytes: &[u8]) -> &[u8] {
    while let [first, behind @ ..] = bytes
        && is_blank(*first)
    {
        bytes = behind;
    }
    bytes
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    adyton_http::bytes::trim(bytes)
}

#[cfg(test)]
mod tests {
    use super::{ELEMENTS_MAX, read};

    type Parts<'t> = (&'t str, &'t str, &'t str);

    fn parts(value: &str) -> Option<Vec<(String, String, String)>> {
        let text = |value: &Option<std::borrow::Cow<'_, [u8]>>| {
            value.as_deref().map_or("-".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let elements = read(value.as_bytes())?;
        Some(elements.iter().map(|one| (text(&one.client), text(&one.proto), text(&one.host))).collect())
    }

    #[test]
    fn elements() {
        let cases: [(&str, &[Parts<'_>]); 14] = [
            ("", &[]),
            (" , ,", &[]),
            ("for=192.0.2.60;proto=http;by=203.0.113.43", &[("192.0.2.60", "http", "-")]),
            ("for=192.0.2.43, for=198.51.100.17", &[("192.0.2.43", "-", "-"), ("198.51.100.17", "-", "-")]),
            ("For=\"[2001:db8:cafe::17]:4711\"", &[("[2001:db8:cafe::17]:4711", "-", "-")]),
            ("for=unknown;host=\"a.example:80\"", &[("unknown", "-", "a.example:80")]),
            ("for=_a ; proto=https", &[("_a", "https", "-")]),
            ("proto=https;;host=a;", &[("-", "https", "a")]),
            ("for=\"a\\\"b\\\\c\"", &[("a\"b\\c", "-", "-")]),
            ("for=\"a,b;c\", for=d", &[("a,b;c", "-", "-"), ("d", "-", "-")]),
            ("for=\"\"", &[("", "-", "-")]),
            ("secret=x", &[("-", "-", "-")]),
            (";", &[("-", "-", "-")]),
            ("for=a,,for=b", &[("a", "-", "-"), ("b", "-", "-")]),
        ];
        for (value, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|&(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())).collect();

            assert_eq!(Some(expected), parts(value), "{value}");
        }
    }

    #[test]
    fn what_breaks_the_grammar() {
        for value in [
            "for",
            "for=",
            "=a",
            "for =a",
            "for= a",
            "for=a b",
            "for=a;for=b",
            "for=\"a",
            "for=\"a\\",
            "for=\"a\\\"",
            "for=[::1]",
            "for=a:1",
            "for=a;;=b",
            "\"a\"",
        ] {
            assert_eq!(None, parts(value), "{value}");
        }
        let most = vec!["for=a"; ELEMENTS_MAX].join(",");

        assert_eq!(Some(ELEMENTS_MAX), read(most.as_bytes()).map(|elements| elements.len()));
        assert!(read(format!("{most},for=a").as_bytes()).is_none());
    }

    #[test]
    fn elements_as_they_were_sent() {
        let elements = read(b" for=a;proto=http ,  For=\"b, c\" ; by=d ").unwrap_or_default();
        let texts: Vec<_> = elements.iter().map(|one| one.text.escape_ascii().to_string()).collect();

        assert_eq!(vec!["for=a;proto=http", "For=\\\"b, c\\\" ; by=d"], texts);
    }
}
