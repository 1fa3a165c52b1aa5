//! Regular expressions that stand for one path, for all beneath one, or for ends of names.

/// The text that the group of a pattern captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Captured {
    /// The whole path.
    All,
    /// The rest of the path, behind the route's own.
    Rest,
}

/// Returns the path of a simple pattern: `^`, `^/old$`, `^/old/(.*)$`, `^(.*)$`, `^/(.*)$`.
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
    // Our prefix ends in a slash: a group needs a slash in front of it, and a pattern without a group must not end in
    // one.
    let fits = path.starts_with('/') && (captured.is_some() == path.ends_with('/'));
    fits.then_some((path, captured))
}

/// Returns the text that a pattern stands for, if it stands for one text.
pub(crate) fn literal(regex: &str) -> Option<String> {
    let (mut out, mut signs) = (String::new(), regex.chars());
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next()? {
                sign if sign.is_ascii_alphanumeric() => return None,
                sign => out.push(sign),
            },
            // A dot of a pattern is mostly meant as a dot, but it matches any letter.
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => return None,
            sign => out.push(sign),
        }
    }
    Some(out)
}

/// Whether every text that a pattern matches contains the character in front of `rest`: this character is not optional,
/// and the pattern has no alternative without it.
pub(crate) fn is_one_way(rest: &str) -> bool {
    let mut depth = 0_usize;
    let mut signs = rest.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => {
                signs.next();
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return false,
            _ => {}
        }
    }
    !rest.starts_with(['?', '*', '{'])
}

/// Returns the ends of `\.(jpe?g|png)$`.
pub(crate) fn ends(regex: &str) -> Option<Vec<String>> {
    let body = ["^.+", "^.*", ".+", ".*", "[^/]"]
        .iter()
        .find_map(|front| regex.strip_prefix(front))
        .unwrap_or(regex);
    let body = body.strip_prefix("\\.")?;
    let body = ["(/|$)", "(?:/|$)", "($|/)", "(?:$|/)", "(/.*)?$", "$"]
        .iter()
        .find_map(|end| body.strip_suffix(end))?;
    let is_end = |end: &String| !end.is_empty() && end.chars().all(is_plain);
    let all = choices(body).filter(|all| all.iter().all(is_end))?;
    Some(all.into_iter().map(|end| format!("*.{end}")).collect())
}

/// Whether a letter may be in an end of a name.
fn is_plain(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '~' | '.')
}

/// Limit of texts that a pattern stands for.
const CHOICES_MAX: usize = 64;

/// Returns all texts that `ph(p[3-5]?|tml)` stands for, if they are few.
fn choices(pattern: &str) -> Option<Vec<String>> {
    let (all, rest) = one_of(pattern, 0)?;
    rest.is_empty().then_some(all)
}

/// Limit of groups in groups.
const DEPTH_MAX: usize = 4;

/// Reads the alternatives of `a|b`, up to the end of their group; returns them, and the rest of the pattern.
fn one_of(pattern: &str, depth: usize) -> Option<(Vec<String>, &str)> {
    let (mut all, mut rest) = row(pattern, depth)?;
    while let Some(behind) = rest.strip_prefix('|') {
        let (more, behind) = row(behind, depth)?;
        all.extend(more);
        rest = behind;
    }
    (all.len() <= CHOICES_MAX).then_some((all, rest))
}

/// Reads parts that follow each other; a part with a `?` behind it is optional.
fn row(pattern: &str, depth: usize) -> Option<(Vec<String>, &str)> {
    let (mut all, mut rest) = (vec![String::new()], pattern);
    while let Some(sign) = rest.chars().next().filter(|sign| !matches!(sign, '|' | ')')) {
        let (mut part, mut behind) = match sign {
            '(' if depth < DEPTH_MAX => {
                let inside = &rest[1..];
                let (part, behind) = one_of(inside.strip_prefix("?:").unwrap_or(inside), depth + 1)?;
                (part, behind.strip_prefix(')')?)
            }
            '[' => letters(&rest[1..])?,
            '\\' if rest.starts_with("\\.") => (vec![".".to_owned()], &rest[2..]),
            // A dot matches any letter.
            sign if is_plain(sign) && sign != '.' => (vec![sign.to_string()], &rest[1..]),
            _ => return None,
        };
        if let Some(more) = behind.strip_prefix('?') {
            part.insert(1.min(part.len()), String::new());
            behind = more;
        }
        if all.len() * part.len() > CHOICES_MAX {
            return None;
        }
        all = all.iter().flat_map(|front| part.iter().map(move |end| format!("{front}{end}"))).collect();
        rest = behind;
    }
    Some((all, rest))
}

/// Reads the letters of `345]` or `3-5]`; returns them, and the rest of the pattern.
fn letters(pattern: &str) -> Option<(Vec<String>, &str)> {
    let (inside, behind) = pattern.split_once(']')?;
    let signs: Vec<char> = inside.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(&first) = signs.get(at) {
        let last = signs.get(at + 1).filter(|sign| **sign == '-').and_then(|_| signs.get(at + 2)).copied();
        if !first.is_ascii_alphanumeric() || last.is_some_and(|last| !last.is_ascii_alphanumeric()) {
            return None;
        }
        all.extend((first..=last.unwrap_or(first)).map(|sign| sign.to_string()));
        at += if last.is_some() { 3 } else { 1 };
    }
    (!all.is_empty() && all.len() <= CHOICES_MAX).then_some((all, behind))
}

/// Returns the ends in letters of every case, if they are few.
pub(crate) fn in_any_case(ends: &[String]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for end in ends {
        let mut written = vec![String::new()];
        for sign in end.chars() {
            let both = [sign.to_ascii_lowercase(), sign.to_ascii_uppercase()];
            let cases = if both[0] == both[1] { &both[..1] } else { &both[..] };
            written = written
                .iter()
                .flat_map(|front| cases.iter().map(move |sign| format!("{front}{sign}")))
                .collect();
            if written.len() > CHOICES_MAX {
                return None;
            }
        }
        all.extend(written.into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>());
    }
    (all.len() <= CHOICES_MAX).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::{Captured, ends, in_any_case, path_of};

    #[test]
    fn ends_of_names() {
        let cases = [
            ("\\.(jpe?g|png)$", Some("*.jpeg *.jpg *.png")),
            (".+\\.ph(?:ar|p|tml)$", Some("*.phar *.php *.phtml")),
            ("\\.ph(p[3-5]?|t|tml)$", Some("*.php3 *.php *.php4 *.php5 *.pht *.phtml")),
            ("\\.tar\\.gz$", Some("*.tar.gz")),
            ("\\.p(?!x)$", None),
            ("\\.p.p$", None),
            ("\\.p*$", None),
            ("\\.(a|b$", None),
            ("\\.[a-z][a-z]$", None),
            ("\\.[^a]$", None),
            ("\\.(a|)$", None),
        ];
        for (regex, expected) in cases {
            assert_eq!(expected, ends(regex).map(|all| all.join(" ")).as_deref(), "{regex}");
        }
        let of = |end: &str| in_any_case(&[end.to_owned()]).map(|all| all.join(" "));
        assert_eq!(Some("*.gz *.gZ *.Gz *.GZ"), of("*.gz").as_deref());
        assert_eq!(None, of("*.somewhat-long"));
    }

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
