//! The parameters of an authentication scheme (RFC 9110 section 11.2): `name=token, name="quoted string"`.

use std::borrow::Cow;

use adyton_http::bytes::{is_blank, is_token, is_token_byte};

/// Parameters, in which each name occurs once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters<'a> {
    all: Vec<(&'a [u8], Cow<'a, [u8]>)>,
}

/// The most parameters of a list: Digest has 12 (RFC 7616 section 3.4), and others are ignored.
const PARAMETERS_MAX: usize = 24;

impl<'a> Parameters<'a> {
    /// Reads the text after the name of a scheme. `None` if the text is no such list, has a name twice, or has more
    /// than [`PARAMETERS_MAX`] parameters.
    pub(crate) fn read(mut text: &'a [u8]) -> Option<Parameters<'a>> {
        let mut parameters = Parameters::default();
        loop {
            // Empty elements of the list are skipped (RFC 9110 section 5.6.1.2).
            text = after(text, |byte| is_blank(byte) || byte == b',');
            if text.is_empty() {
                return Some(parameters);
            }
            let (name, rest) = text.split_at(text.len() - after(text, is_token_byte).len());
            let rest = after(after(rest, is_blank).strip_prefix(b"=")?, is_blank);
            let (value, rest) = value(rest)?;
            if !is_token(name) || parameters.of(name).is_some() || parameters.all.len() == PARAMETERS_MAX {
                return None;
            }
            parameters.all.push((name, value));
            text = after(rest, is_blank);
            if !text.is_empty() && text[0] != b',' {
                return None;
            }
        }
    }

    /// The value of the parameter with this name, which is case-insensitive.
    pub(crate) fn of(&self, name: &[u8]) -> Option<&[u8]> {
        let found = self.all.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }
}

/// Reads a token, or a quoted string without its quotes and escapes; returns the value and the text after it. RFC 9110
/// section 11.2 lets a recipient accept either form, whichever a scheme prescribes.
fn value(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    if let Some(inner) = text.strip_prefix(b"\"") {
        return quoted(inner);
    }
    let (token, rest) = text.split_at(text.len() - after(text, is_token_byte).len());
    (!token.is_empty()).then_some((token.into(), rest))
}

/// Reads a quoted string (RFC 9110 section 5.6.4); `inner` begins after the first quote.
fn quoted(inner: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let plain = inner.iter().position(|&byte| byte == b'"' || byte == b'\\')?;
    let (mut value, mut rest) = (Cow::Borrowed(&inner[..plain]), &inner[plain..]);
    loop {
        match rest {
            [b'"', rest @ ..] => return value.iter().all(|&byte| is_text(byte)).then_some((value, rest)),
            [b'\\', byte, more @ ..] | [byte, more @ ..] => {
                value.to_mut().push(*byte);
                rest = more;
            }
            [] => return None,
        }
    }
}

/// Whether a byte may be in a quoted string, escaped or not: a tab, a space, a visible character, or a byte above
/// ASCII.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

/// Returns `text` without the bytes at its start for which `is_of_kind` holds.
fn after(text: &[u8], is_of_kind: impl Fn(u8) -> bool) -> &[u8] {
    let end = text.iter().position(|&byte| !is_of_kind(byte)).unwrap_or(text.len());
    &text[end..]
}

#[cfg(test)]
mod tests {
    use super::{PARAMETERS_MAX, Parameters};

    /// The parameters, each as `name=value` followed by a line end.
    fn shown(text: &str) -> Option<String> {
        let parameters = Parameters::read(text.as_bytes())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let lines = parameters.all.iter().map(|(name, value)| format!("{}={}\n", text(name), text(value)));
        Some(lines.collect::<Vec<_>>().concat())
    }

    #[test]
    fn lists() {
        for (text, expected) in [
            ("", Some("")),
            (" , ,", Some("")),
            ("a=b", Some("a=b\n")),
            ("a=b,c=d", Some("a=b\nc=d\n")),
            (" ,a = b\t,, c=\"d\" ,", Some("a=b\nc=d\n")),
            (r#"a="""#, Some("a=\n")),
            (r#"a="b, c=d", e="=""#, Some("a=b, c=d\ne==\n")),
            (r#"a="\"b\\c\d""#, Some("a=\"b\\cd\n")),
            ("a=\"ä\tb\"", Some("a=ä\tb\n")),
            ("username*=UTF-8''a%20b", Some("username*=UTF-8''a%20b\n")),
            ("a", None),
            ("a=", None),
            ("=b", None),
            ("a=b c=d", None),
            ("a=b;c=d", None),
            (r#"a="b"c"#, None),
            (r#"a="b"#, None),
            (r#"a="b\"#, None),
            (r#"a="b\""#, None),
            ("a=\"b\nc\"", None),
            ("a=\"b\\\0c\"", None),
            ("a=ä", None),
            ("a b=c", None),
            ("a=b, A=c", None),
        ] {
            assert_eq!(expected.map(str::to_owned), shown(text), "{text}");
        }
    }

    #[test]
    fn not_too_many() {
        let list = |n: usize| (0..n).map(|at| format!("a{at}=b,")).collect::<Vec<_>>().concat();

        assert!(shown(&list(PARAMETERS_MAX)).is_some() && shown(&list(PARAMETERS_MAX + 1)).is_none());
    }

    #[test]
    fn names_have_no_case() {
        let parameters = Parameters::read(b"Nonce=\"a\"").unwrap_or_default();

        assert_eq!(Some(&b"a"[..]), parameters.of(b"nONCE"));
        assert_eq!(None, parameters.of(b"nc"));
    }
}
