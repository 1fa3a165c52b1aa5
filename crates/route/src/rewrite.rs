//! Rules that change paths before routes are looked for: a path is changed once, by the first rule that fits.

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::path::PathPattern;
use crate::spelling::escaped;

/// Rules by which paths are changed; only the first rule that fits applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrites(Vec<Rewrite>);

/// One rule.
#[derive(Clone, Debug)]
struct Rewrite {
    /// The rule as it was written, by which two rules are compared.
    text: String,
    from: From,
    path: Vec<Piece>,
    /// The query that the new target has, beside the request's own.
    query: Vec<Piece>,
}

/// The paths that a rule is for.
#[derive(Clone, Debug)]
enum From {
    /// One path, or all beneath one.
    Path(PathPattern),
    /// The paths that an expression is found in.
    Expression(Regex),
}

/// A part of a path or of a query.
#[derive(Clone, Debug)]
enum Piece {
    /// Text as it stands in the rule.
    Text(Vec<u8>),
    /// The text that this group of the expression has found.
    Group(usize),
    /// The text behind the path of the rule.
    Rest,
}

/// The longest expression. Expressions of real configurations have a tenth of it.
const EXPRESSION_BYTES_MAX: usize = 1024;

/// The most memory that an expression may take compiled, and as much again while it is matched.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The longest target that results from a rule: as long as request lines usually may be.
const TARGET_BYTES_MAX: usize = 8 << 10;

impl PartialEq for Rewrite {
    fn eq(&self, other: &Rewrite) -> bool {
        self.text == other.text
    }
}

impl Eq for Rewrite {}

impl Rewrites {
    /// Adds a rule for a path, or for all paths beneath one. If `to` ends with a slash, it replaces the beginning of
    /// the path, else the whole path.
    ///
    /// # Errors
    ///
    /// Half a sentence about `to`.
    pub fn add_path(&mut self, from: PathPattern, to: &str) -> Result<(), String> {
        let (mut path, query) = template(to, &|_| None)?;
        if let (PathPattern::Prefix(_), true, true) = (&from, to.ends_with('/'), query.is_empty())
            && let Some(Piece::Text(text)) = path.last_mut()
        {
            // The rest behind the path of the rule begins with a slash, or is empty.
            text.pop();
            path.push(Piece::Rest);
        }
        self.0.push(Rewrite { text: format!("{from:?} -> {to}"), from: From::Path(from), path, query });
        Ok(())
    }

    /// Adds a rule for paths in which an expression is found; `{1}` and `{name}` in `to` stand for the texts that its
    /// groups have found. The search takes time in proportion to the path, whatever the expression is.
    ///
    /// # Errors
    ///
    /// Half a sentence about the expression, or about `to`.
    pub fn add_expression(&mut self, from: &str, to: &str) -> Result<(), String> {
        if from.len() > EXPRESSION_BYTES_MAX {
            return Err(format!("an expression has at most {EXPRESSION_BYTES_MAX} bytes"));
        }
        let mut builder = RegexBuilder::new(from);
        builder.unicode(false).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX);
        let expression = builder.build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the expression is too large once it is compiled".to_owned(),
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("this is no regular expression: {last}")
            }
        })?;
        let group = |name: &str| match name.parse::<usize>() {
            Ok(number) => Some(number).filter(|&number| number < expression.captures_len()),
            Err(_) => expression.capture_names().position(|other| other == Some(name)),
        };
        let (path, query) = template(to, &group)?;
        let text = format!("{from} -> {to}");
        self.0.push(Rewrite { text, from: From::Expression(expression), path, query });
        Ok(())
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the new target for a request with this path, in its one spelling ([`crate::spelled`]), and this query;
    /// `None` if no rule fits. The target is escaped: decoding it gives the path that the rule has made.
    pub fn target(&self, path: &[u8], query: &[u8]) -> Option<Vec<u8>> {
        self.0.iter().find_map(|rule| rule.target(path, query))
    }
}

impl Rewrite {
    fn target(&self, path: &[u8], query: &[u8]) -> Option<Vec<u8>> {
        let (found, rest) = match &self.from {
            From::Expression(expression) => (Some(expression.captures(path)?), &b""[..]),
            From::Path(PathPattern::Exact(exact)) => {
                if **exact != *path {
                    return None;
                }
                (None, &b""[..])
            }
            From::Path(PathPattern::Prefix(prefix)) => {
                let rest = path.strip_prefix(&**prefix)?;
                if !matches!(rest.first(), None | Some(b'/')) {
                    return None;
                }
                (None, rest)
            }
            From::Path(PathPattern::Suffix(end)) => {
                path.strip_suffix(&**end)?;
                (None, &b""[..])
            }
        };
        let new = joined(&self.path, found.as_ref(), rest, <[u8]>::to_vec);
        // A target that begins with two slashes would name a host.
        let slashes = new.iter().take_while(|&&byte| byte == b'/').count();
        let mut target = escaped(&new[slashes.saturating_sub(1)..]);
        if target.is_empty() {
            target.push(b'/');
        }
        let own = joined(&self.query, found.as_ref(), rest, escaped_part);
        for part in [&own[..], query].into_iter().filter(|part| !part.is_empty()) {
            target.push(if target.contains(&b'?') { b'&' } else { b'?' });
            target.extend_from_slice(part);
        }
        (target.len() <= TARGET_BYTES_MAX).then_some(target)
    }
}

/// Puts pieces together; text from the request passes `escape` on its way.
fn joined(
    pieces: &[Piece],
    found: Option<&Captures<'_>>,
    rest: &[u8],
    escape: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            Piece::Group(number) => {
                let group = found.and_then(|found| found.get(*number));
                out.extend(group.map(|group| escape(group.as_bytes())).unwrap_or_default());
            }
            Piece::Rest => out.extend(escape(rest)),
        }
    }
    out
}

/// Escapes a piece of a path for a name or value of a query.
fn escaped_part(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in text.split_inclusive(|&byte| byte == b'/') {
        let (part, slash) = part.strip_suffix(b"/").map_or((part, &b""[..]), |part| (part, b"%2F"));
        out.extend(escaped(part));
        out.extend_from_slice(slash);
    }
    out
}

/// Reads the new path of a rule: the pieces of the path, and the pieces of its query. `group` finds the
/// number of a group.
fn template(text: &str, group: &dyn Fn(&str) -> Option<usize>) -> Result<(Vec<Piece>, Vec<Piece>), String> {
    if !text.starts_with('/') {
        return Err("a new path begins with a slash".to_owned());
    }
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    if path.contains(['%', '#']) || query.contains('#') {
        return Err("a new path is written decoded, and without a #".to_owned());
    }
    let is_line =
        path.bytes().all(|byte| byte == b' ' || !byte.is_ascii_whitespace() && !byte.is_ascii_control());
    if !is_line || !query.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a new path is one line, and its query is ASCII without blanks".to_owned());
    }
    Ok((pieces(path, group)?, pieces(query, group)?))
}

fn pieces(text: &str, group: &dyn Fn(&str) -> Option<usize>) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some(start) = rest.find('{') else {
            pieces.push(Piece::Text(rest.as_bytes().to_vec()));
            break;
        };
        if start > 0 {
            pieces.push(Piece::Text(rest.as_bytes()[..start].to_vec()));
        }
        let end = rest[start..].find('}').map_or(rest.len(), |at| start + at);
        let name = rest.get(start + 1..end).unwrap_or_default();
        let number = group(name).filter(|_| end < rest.len());
        let number = number.ok_or_else(|| format!("{{{name}}} is no group of the rule"))?;
        pieces.push(Piece::Group(number));
        rest = &rest[end + 1..];
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::{EXPRESSION_BYTES_MAX, Rewrites, TARGET_BYTES_MAX};
    use crate::{PathPattern, spelled};

    fn rules() -> Rewrites {
        let mut rules = Rewrites::default();
        let prefix = |path: &str| PathPattern::Prefix(path.as_bytes().into());
        let exact = |path: &str| PathPattern::Exact(path.as_bytes().into());
        for (from, to) in [
            (prefix("/old"), "/new/"),
            (exact("/a"), "/b"),
            (exact("/new/x"), "/never"),
            (prefix("/all"), "/one.html?from=all"),
            (prefix("/up"), "/"),
            (PathPattern::Suffix(b".php"[..].into()), "/gone"),
        ] {
            assert_eq!(Ok(()), rules.add_path(from, to));
        }
        for (from, to) in [
            ("^/user/([0-9]+)$", "/profile?id={1}"),
            ("^/(?P<lang>de|en)/(.*)$", "/{2}?lang={lang}"),
            ("^/raw/(.*)$", "/{1}"),
            ("^/(x+)+$", "/xs"),
        ] {
            assert_eq!(Ok(()), rules.add_expression(from, to));
        }
        rules
    }

    #[test]
    fn targets() {
        let rules = rules();
        for (path, query, expected) in [
            ("/old/x/y", "", Some("/new/x/y")),
            ("/old", "a=b", Some("/new?a=b")),
            ("/older", "", None),
            ("/a", "", Some("/b")),
            ("/a/", "", None),
            ("/all/x", "q", Some("/one.html?from=all&q")),
            ("/up/x", "", Some("/x")),
            ("/up", "", Some("/")),
            ("/up//evil.example", "", Some("/evil.example")),
            ("/x/y.php", "", Some("/gone")),
            ("/user/17", "", Some("/profile?id=17")),
            ("/user/17x", "", None),
            ("/de/a/b", "x", Some("/a/b?lang=de&x")),
            // A path that was decoded once is not decoded again.
            ("/raw/%2e%2e/a", "", Some("/%252e%252e/a")),
            ("/raw/a b?c#d", "", Some("/a%20b%3Fc%23d")),
            ("/raw//evil.example/", "", Some("/evil.example/")),
            ("/none", "", None),
            ("/", "", None),
        ] {
            let target = rules.target(path.as_bytes(), query.as_bytes());

            assert_eq!(
                expected.map(str::to_owned),
                target.map(|target| String::from_utf8(target).unwrap_or_default()),
                "{path}"
            );
        }
    }

    /// Decoding a target gives the path that the rule has made, whatever bytes the request's path had.
    #[test]
    fn any_byte() {
        let mut rules = Rewrites::default();
        assert_eq!(Ok(()), rules.add_expression("(?s)^/raw/(.*)$", "/{1}"));
        let bytes: Vec<u8> = (0..=255).filter(|byte| *byte != b'/').collect();
        let target = rules.target(&[b"/raw/", &bytes[..]].concat(), b"").unwrap_or_default();

        assert!(target.iter().all(u8::is_ascii_graphic));
        assert_eq!(Ok([b"/", &bytes[..]].concat()), spelled(&target).map(std::borrow::Cow::into_owned));
    }

    /// No expression takes longer than in proportion to the path, and no target is longer than a request may be.
    #[test]
    fn limits() {
        let rules = rules();
        let long = format!("/{}!", "x".repeat(100_000));
        assert_eq!(None, rules.target(long.as_bytes(), b""));
        assert_eq!(None, rules.target(format!("/raw/{}", "a".repeat(TARGET_BYTES_MAX)).as_bytes(), b""));
        for (from, to, sentence) in [
            ("^/(a", "/", "this is no regular expression: unclosed group"),
            ("^/a**{2", "/", "this is no regular expression: "),
            (r"^/(a)\1", "/", "this is no regular expression: backreferences are not supported"),
            ("^/(?=a)", "/", "this is no regular expression: look-around, "),
            ("^/(((a{100}){100}){100})", "/", "the expression is too large once it is compiled"),
            (&"a".repeat(EXPRESSION_BYTES_MAX + 1), "/", "an expression has at most 1024 bytes"),
            ("^/(a)", "/{2}", "{2} is no group of the rule"),
            ("^/(a)", "/{b}", "{b} is no group of the rule"),
            ("^/(a)", "/{1", "{1} is no group of the rule"),
            ("^/(a)", "b", "a new path begins with a slash"),
            ("^/(a)", "/%20", "a new path is written decoded, and without a #"),
            ("^/(a)", "/a#b", "a new path is written decoded, and without a #"),
            ("^/(a)", "/a?b c", "a new path is one line, and its query is ASCII without blanks"),
        ] {
            let said = Rewrites::default().add_expression(from, to).err().unwrap_or_default();

            assert!(said.starts_with(sentence), "{from}: {said}");
        }
    }
}
