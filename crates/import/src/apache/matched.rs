//! `AliasMatch` and its kin: patterns that stand for a few paths, or for all beneath them.

use crate::text::regex::literal;

/// Limit of paths that a pattern stands for: each choice of its words is one.
const CHOICES_MAX: usize = 32;

/// The part of a pattern for the rest of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// `^/a$`: nothing may follow.
    Exact,
    /// `^/a`: anything may follow.
    Open,
    /// `^/a(?=/|$)`: a slash and anything may follow, but the match ends before it.
    Ahead,
    /// `^/a/(.*)$`, `^/a(/.*)?$`: the rest is captured, with its slash or without.
    Rest { slash: bool },
}

/// A path that a pattern stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matched {
    /// The path without a slash at its end.
    pub(super) path: String,
    pub(super) tail: Tail,
    /// The target, in which the captured words take the place of `$1` and so on, without the rest of the path at its
    /// end.
    pub(super) target: String,
}

/// Returns all paths that a pattern stands for, with their targets; `None` if the pattern is not so simple.
pub(super) fn paths(regex: &str, target: &str) -> Option<Vec<Matched>> {
    let body = regex.strip_prefix('^')?;
    let (head, tail) = tail(body)?;
    let mut all = Vec::new();
    for (path, groups) in heads(head)? {
        let mut target = target.to_owned();
        for (at, word) in groups.iter().enumerate() {
            target = target.replace(&format!("${}", at + 1), word);
        }
        if let Tail::Rest { slash } = tail {
            let rest = format!("${}", groups.len() + 1);
            // A rest that was captured without its slash has to stand behind a slash in the target.
            let front = target.strip_suffix(&rest)?;
            let kept = if slash { front } else { front.strip_suffix('/')? };
            target.truncate(kept.len());
        }
        if !is_whole(&path) || target.contains('$') {
            return None;
        }
        all.push(Matched { path, tail, target });
    }
    Some(all)
}

/// Returns all paths that a pattern without a target stands for, like [`paths`].
pub(super) fn whole(regex: &str) -> Option<Vec<(String, Tail)>> {
    let (head, tail) = tail(regex.strip_prefix('^')?)?;
    let all: Vec<(String, Tail)> = heads(head)?.into_iter().map(|(path, _)| (path, tail)).collect();
    all.iter().all(|(path, _)| is_whole(path)).then_some(all)
}

/// Whether a text is a path without a slash at its end.
fn is_whole(path: &str) -> bool {
    path.starts_with('/') && !path.ends_with('/')
}

/// Splits off the end of a pattern.
fn tail(body: &str) -> Option<(&str, Tail)> {
    let ahead = ["(?=/|$)", "(?=$|/)"].iter().find_map(|end| body.strip_suffix(end));
    if let Some(head) = ahead {
        return Some((head, Tail::Ahead));
    }
    let (open, ends) = body.strip_suffix('$').map_or((body, false), |open| (open, true));
    let rests = [("(?:/(.*))?", false), ("(/.*)?", true), ("(/.*)", true), ("/(.*)", false)];
    let found = rests.iter().find_map(|(end, slash)| Some((open.strip_suffix(end)?, *slash)));
    match found {
        // An optional group captures nothing, unless a `$` ties the pattern to the end of the path.
        Some((head, slash)) => (ends || !open.ends_with('?')).then_some((head, Tail::Rest { slash })),
        None if ends => Some((open, Tail::Exact)),
        None => Some((open, Tail::Open)),
    }
}

/// Returns the texts that `/(a|b)/c` stands for, each with the words of its groups.
fn heads(pattern: &str) -> Option<Vec<(String, Vec<String>)>> {
    let mut all = vec![(String::new(), Vec::new())];
    let mut rest = pattern;
    while let Some((front, behind)) = rest.split_once('(') {
        let (inside, behind) = behind.split_once(')')?;
        if behind.starts_with(['?', '*', '+', '{']) {
            return None;
        }
        let (is_kept, inside) = inside.strip_prefix("?:").map_or((true, inside), |inside| (false, inside));
        let words = inside.split('|').map(literal).collect::<Option<Vec<String>>>()?;
        let front = literal(front)?;
        if all.len() * words.len() > CHOICES_MAX {
            return None;
        }
        let mut longer = Vec::new();
        for (text, groups) in &all {
            for word in &words {
                let mut groups = groups.clone();
                groups.extend(is_kept.then(|| word.clone()));
                longer.push((format!("{text}{front}{word}"), groups));
            }
        }
        all = longer;
        rest = behind;
    }
    let last = literal(rest)?;
    for (text, _) in &mut all {
        text.push_str(&last);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::paths;

    fn shown(regex: &str, target: &str) -> Option<String> {
        let one = |all: Vec<super::Matched>| {
            all.iter().map(|one| format!("{} {} {:?}", one.path, one.target, one.tail)).collect::<Vec<_>>()
        };
        Some(one(paths(regex, target)?).join("; "))
    }

    #[test]
    fn patterns() {
        let rest = |slash: bool| format!("Rest {{ slash: {slash} }}");
        let cases = [
            ("^/a/(.*)$", "/srv/$1", Some(format!("/a /srv {}", rest(false)))),
            ("^/a/(.*)", "/srv/b/$1", Some(format!("/a /srv/b {}", rest(false)))),
            ("^/a(/.*)?$", "/srv$1", Some(format!("/a /srv {}", rest(true)))),
            ("^/a(?:/(.*))?$", "/srv/$1", Some(format!("/a /srv {}", rest(false)))),
            ("^/a\\.txt$", "/srv/a.txt", Some("/a.txt /srv/a.txt Exact".to_owned())),
            ("^/(a|b)$", "/srv/$1.x", Some("/a /srv/a.x Exact; /b /srv/b.x Exact".to_owned())),
            ("^/(?:a|b)/(c|d)(?=/|$)", "/x/$1", {
                Some("/a/c /x/c Ahead; /a/d /x/d Ahead; /b/c /x/c Ahead; /b/d /x/d Ahead".to_owned())
            }),
            ("^/(a|b)/(.*)$", "/srv/$1/$2", { Some(format!("/a /srv/a {0}; /b /srv/b {0}", rest(false))) }),
            ("^/a", "/srv/a", Some("/a /srv/a Open".to_owned())),
            // The rest is optional, and no `$` ties the pattern to the end of the path.
            ("^/a(/.*)?", "/srv$1", None),
            ("^/a/(.*)$", "/srv/x", None),
            ("^/a/(.*)$", "/srv/$1.html", None),
            ("^/a/(.*)$", "/srv$1", None),
            ("^/a/([^/]+)$", "/srv/$1", None),
            ("^/(a|b)?/c$", "/srv", None),
            ("^/(a|b*)$", "/srv", None),
            ("^/a/$", "/srv", None),
            ("/a/(.*)$", "/srv/$1", None),
            ("^(.*)$", "/srv$1", None),
            ("^/(a|b|c|d|e|f)/(a|b|c|d|e|f)$", "/srv", None),
        ];
        for (regex, target, expected) in cases {
            assert_eq!(expected, shown(regex, target), "{regex} {target}");
        }
    }
}
