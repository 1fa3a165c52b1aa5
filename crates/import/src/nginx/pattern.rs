//! Paths of a location, as a file of sites has them.

use super::lex::Directive;
use crate::rules::lost::Pattern;
use crate::text::regex::{ends, is_one_way};

/// Paths of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Paths {
    /// `location /a/`; `has_slash`: the path ends in a slash, as our prefixes do.
    Prefix { path: String, has_slash: bool, before_patterns: bool },
    /// `location = /a`.
    Exact(String),
    /// `location ~ \.php$`, as `*.php`; `any_case`: letters of the other case match, too.
    Ends { ends: Vec<String>, any_case: bool },
    /// Names that begin with a dot, which are never served; `all`: `.well-known` is among them.
    Hidden { all: bool },
    /// Another pattern.
    Other,
    /// `location @name`, for internal use.
    Named(String),
}

impl Paths {
    /// Returns the paths as routes have them.
    pub(super) fn written(&self) -> Vec<String> {
        match self {
            Paths::Prefix { path, .. } | Paths::Exact(path) => vec![path.clone()],
            Paths::Ends { ends, .. } => ends.clone(),
            Paths::Hidden { .. } | Paths::Other | Paths::Named(_) => Vec::new(),
        }
    }
}

/// Reads the arguments of a `location`.
pub(super) fn read(args: &[String]) -> Paths {
    match args {
        [sign, path] if sign == "=" => Paths::Exact(path.clone()),
        [sign, regex] if sign == "~" || sign == "~*" => pattern(regex, sign == "~*"),
        [sign, path] if sign == "^~" => prefix(path, true),
        [one] => match one.split_at_checked(1) {
            Some(("@", name)) => Paths::Named(name.to_owned()),
            Some(("=", path)) => Paths::Exact(path.to_owned()),
            Some(("~", rest)) => {
                rest.strip_prefix('*').map_or_else(|| pattern(rest, false), |rest| pattern(rest, true))
            }
            Some(("^", rest)) if rest.starts_with('~') => prefix(&rest[1..], true),
            _ => prefix(one, false),
        },
        _ => Paths::Other,
    }
}

/// Returns the pattern of a location, if it has one.
pub(super) fn regex(location: Option<&Directive>) -> Option<Pattern<'_>> {
    let args = location?.args.as_slice();
    let (sign, regex) = match args {
        [sign, regex] => (sign.as_str(), regex.as_str()),
        [one] => one.split_at_checked(if one.starts_with("~*") { 2 } else { 1 })?,
        _ => return None,
    };
    sign.starts_with('~').then(|| Pattern { regex, any_case: sign == "~*" })
}

fn prefix(path: &str, before_patterns: bool) -> Paths {
    let has_slash = path.ends_with('/');
    let path = if has_slash { path.to_owned() } else { format!("{path}/") };
    Paths::Prefix { path, has_slash, before_patterns }
}

fn pattern(regex: &str, any_case: bool) -> Paths {
    if let Some(all) = hidden(regex) {
        return Paths::Hidden { all };
    }
    match ends(regex) {
        Some(ends) => Paths::Ends { ends, any_case },
        None => Paths::Other,
    }
}

/// Reads `/\.`, `/\.ht`, `/\.(?!well-known)`: names that begin with a dot; returns whether all such names match.
fn hidden(regex: &str) -> Option<bool> {
    let body = regex.strip_prefix("(?:^|/)").or_else(|| regex.strip_prefix("(^|/)"));
    let rest = body.or_else(|| regex.strip_prefix('/'))?.strip_prefix("\\.")?;
    if !is_one_way(rest) {
        return None;
    }
    if rest.starts_with("(?!well-known") {
        return Some(false);
    }
    let rest = rest.trim_end_matches(['*', '.', '$', '/']);
    let is_plain =
        |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '(' | ')' | '|' | '?' | ':');
    rest.chars().all(is_plain).then_some(rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Paths, read};

    #[test]
    fn locations() {
        let ends = |list: &[&str], any_case| Paths::Ends {
            ends: list.iter().map(|end| (*end).to_owned()).collect(),
            any_case,
        };
        let prefix = |path: &str, has_slash, before_patterns| Paths::Prefix {
            path: path.to_owned(),
            has_slash,
            before_patterns,
        };
        let cases = [
            ("/a/", prefix("/a/", true, false)),
            ("/a", prefix("/a/", false, false)),
            ("^~ /a/", prefix("/a/", true, true)),
            ("= /a", Paths::Exact("/a".to_owned())),
            ("=/a", Paths::Exact("/a".to_owned())),
            ("~ \\.php$", ends(&["*.php"], false)),
            ("~ \\.php(/|$)", ends(&["*.php"], false)),
            ("~* \\.(jpe?g|png)$", ends(&["*.jpeg", "*.jpg", "*.png"], true)),
            ("~ \\.(?:js|css)$", ends(&["*.js", "*.css"], false)),
            ("~ \\.tar\\.gz$", ends(&["*.tar.gz"], false)),
            ("~ \\.p.p$", Paths::Other),
            ("~ \\.php", Paths::Other),
            ("~ /\\.", Paths::Hidden { all: true }),
            ("~ /\\.ht", Paths::Hidden { all: false }),
            ("~ /\\.(?!well-known).*", Paths::Hidden { all: false }),
            ("~ /\\.well/secret", Paths::Other),
            ("~ /\\.ht|secret", Paths::Other),
            ("~ /\\.?secret", Paths::Other),
            ("~ \\.ph(p|tml)$", ends(&["*.php", "*.phtml"], false)),
            ("@app", Paths::Named("app".to_owned())),
        ];
        for (text, expected) in cases {
            let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();

            assert_eq!(expected, read(&args), "{text}");
        }
    }
}
