//! Regular expressions that stand for one path, for all beneath one, or for ends of names.

/// What the group of a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Captured {
    /// The whole path.
    All,
    /// What stands behind the route's own path.
    Rest,
}

/// The path of a simple pattern: `^`, `^/old$`, `^/old/(.*)$`, `^(.*)$`, `^/(.*)$`.
pub(crate) fn path_of(regex: &str) -> Option<(String, Option<Captured>)> {
    if matches!(regex, "^" | ".*" | "^.*$" | "^.*" | "^/") {
        return Some(("/".to_owned(), None));
    }
    if matches!(regex, "^(.*)$" | "^(.*)" | "(.*)" | "^/(.*)$" | "^/(.*)") {
        return Some(("/".to_owned(), Some(Captured::All)));
    }
    let body = regex.strip_prefix('^')?;
    let (body, captured) = match body.strip_suffix('$').unwrap_or(body).strip_suffix("(.*)") {
        Some(body) => (body, Some(Captured::Rest)),
        None if body.ends_with('$') => (&body[..body.len() - 1], None),
        None => return None,
    };
    let path = literal(body)?;
    // A beginning without a slash at its end has names that a prefix of ours has not, and the other way round.
    let fits = path.starts_with('/') && (captured.is_some() == path.ends_with('/'));
    fits.then_some((path, captured))
}

/// The text that a pattern stands for, if it stands for one text.
pub(crate) fn literal(regex: &str) -> Option<String> {
    let (mut out, mut signs) = (String::new(), regex.chars());
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next()? {
                sign if sign.is_ascii_alphanumeric() => return None,
                sign => out.push(sign),
            },
            // A dot of a pattern is mostly meant as one, but it is any letter.
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => return None,
            sign => out.push(sign),
        }
    }
    Some(out)
}

/// The ends of `\.(jpe?g|png)$`.
pub(crate) fn ends(regex: &str) -> Option<Vec<String>> {
    let body = ["^.+", "^.*", ".+", ".*", "[^/]"]
        .iter()
        .find_map(|front| regex.strip_prefix(front))
        .unwrap_or(regex);
    let body = body.strip_prefix("\\.")?;
    let body = ["(/|$)", "(?:/|$)", "($|/)", "(?:$|/)", "(/.*)?$", "$"]
        .iter()
        .find_map(|end| body.strip_suffix(end))?;
    let words = match body.strip_prefix('(').and_then(|body| body.strip_suffix(')')) {
        Some(inside) => inside.strip_prefix("?:").unwrap_or(inside),
        None => body,
    };
    let mut all = Vec::new();
    for word in words.split('|') {
        all.extend(choices(word)?.into_iter().map(|end| format!("*.{end}")));
    }
    Some(all)
}

/// `jpe?g` is two words.
fn choices(word: &str) -> Option<Vec<String>> {
    let is_plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '~'))
    };
    let Some((before, behind)) = word.split_once('?') else {
        let parts: Vec<&str> = word.split("\\.").collect();
        return parts.iter().all(|part| is_plain(part)).then(|| vec![parts.join(".")]);
    };
    let mut shorter = before.to_owned();
    shorter.pop()?;
    let both = [format!("{before}{behind}"), format!("{shorter}{behind}")];
    both.iter().all(|text| is_plain(text)).then(|| both.to_vec())
}

#[cfg(test)]
mod tests {
    use super::{Captured, path_of};

    #[test]
    fn patterns() {
        let cases = [
            ("^", Some(("/", None))),
            ("^/(.*)$", Some(("/", Some(Captured::All)))),
            ("^/old/(.*)$", Some(("/old/", Some(Captured::Rest)))),
            ("^/old\\.html$", Some(("/old.html", None))),
            ("^/old(.*)$", None),
            ("^/old/$", None),
            ("^/o.d$", None),
            ("/old", None),
        ];
        for (regex, expected) in cases {
            assert_eq!(
                expected.map(|(path, captured)| (path.to_owned(), captured)),
                path_of(regex),
                "{regex}"
            );
        }
    }
}
