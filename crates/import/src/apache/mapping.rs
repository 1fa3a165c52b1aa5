//! Which path is answered by what: aliases, applications, redirects, the document root.

use super::lex::Line;
use super::section::{is_beneath, trimmed};
use crate::model::{Draft, Place, Value};
use crate::regex::{Captured, path_of};

/// What answers beneath a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A folder, without a slash at its end.
    Folder(String),
    /// A folder with one file of it, at this path alone.
    File(String),
    /// A script of WSGI.
    Script(String),
    /// A target, and its status.
    Redirect(String, u64),
    Status(u64),
    /// What is not there: as written.
    Missing(String),
}

/// A path, without a slash at its end, and what answers it.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) path: String,
    /// It is for this path alone.
    pub(super) is_exact: bool,
    pub(super) answer: Answer,
    pub(super) place: Place,
}

impl Mapping {
    /// Whether it answers a path.
    pub(super) fn has(&self, path: &str) -> bool {
        if self.is_exact { self.path == path } else { is_beneath(&self.path, path) }
    }

    /// The folder that is looked into for a path that it has.
    pub(super) fn folder(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.path).unwrap_or_default();
        match &self.answer {
            Answer::Folder(folder) => Some(format!("{folder}{rest}")),
            Answer::File(folder) => Some(folder.clone()),
            Answer::Script(script) => {
                Some(script.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned())
            }
            _ => None,
        }
    }
}

/// All mappings of a site, in the order in which they count: redirects, gateways, aliases, applications, the document root.
pub(super) fn read(lines: &[Line], draft: &mut Draft) -> Vec<Mapping> {
    let mut kinds: [Vec<Mapping>; 5] = Default::default();
    for line in lines {
        if let Some((kind, mapping)) = one(line, draft) {
            kinds[kind].push(mapping);
        }
    }
    // Of document roots the last one counts: that of the site itself.
    let [redirects, gateways, aliases, scripts, roots] = kinds;
    let mut all: Vec<Mapping> = redirects.into_iter().chain(gateways).chain(aliases).chain(scripts).collect();
    all.extend(roots.into_iter().next_back());
    all
}

fn one(line: &Line, draft: &mut Draft) -> Option<(usize, Mapping)> {
    let exact = |path: &str, answer| Mapping {
        path: trimmed(path).to_owned(),
        is_exact: true,
        answer,
        place: line.place.clone(),
    };
    let all = |path: &str, answer| Mapping { is_exact: false, ..exact(path, answer) };
    let (first, second) = (line.arg(0), line.arg(1));
    let has_variable = line.args.iter().any(|arg| arg.contains("${"));
    Some(match line.name.as_str() {
        "documentroot" | "alias" | "scriptalias" | "wsgiscriptalias" if has_variable => {
            let path = if line.name == "documentroot" { "/" } else { first };
            draft.lose(&line.place, &line.text, "a variable that is not known here");
            (2, all(path, Answer::Status(503)))
        }
        "documentroot" | "alias"
            if !line.args.last().is_some_and(|folder| folder.starts_with('/')) && !line.text.is_empty() =>
        {
            draft.lose(&line.place, &line.text, "it is relative to ServerRoot; here it is a 503");
            let path = if line.name == "documentroot" { "/" } else { first };
            (2, all(path, Answer::Status(503)))
        }
        "documentroot" => (4, all("/", Answer::Folder(trimmed(first).to_owned()))),
        "alias" if first.ends_with('/') && !second.ends_with('/') && first != "/" => {
            draft.lose(&line.place, &line.text, "the path and the folder end differently; here it is a 503");
            (2, all(first, Answer::Status(503)))
        }
        "alias" if is_file(first, second) => {
            let folder = second.strip_suffix(first).unwrap_or_default();
            (2, exact(first, Answer::File(folder.to_owned())))
        }
        "alias" => (2, all(first, Answer::Folder(trimmed(second).to_owned()))),
        "scriptalias" => (2, all(first, Answer::Missing(line.text.clone()))),
        "wsgiscriptalias" => (3, all(first, Answer::Script(second.to_owned()))),
        "proxypass" if second == "!" || first.contains("://") => return None,
        "proxypass" => (1, all(first, Answer::Missing(line.text.clone()))),
        "redirect" | "redirectpermanent" | "redirecttemp" => (0, redirect(line, draft)?),
        "redirectmatch" => (0, redirect_match(line, draft)?),
        "aliasmatch" | "scriptaliasmatch" | "wsgiscriptaliasmatch" | "proxypassmatch" => {
            draft.lose(&line.place, &line.text, "patterns are not there but in simple redirects");
            return None;
        }
        _ => return None,
    })
}

/// Whether an alias is of one file: it has the same name at both ends, with an extension.
fn is_file(path: &str, file: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.contains('.') && file.ends_with(path)
}

/// The status of a redirect by its word.
fn status(word: &str) -> Option<u64> {
    match word.to_ascii_lowercase().as_str() {
        "permanent" => Some(301),
        "temp" => Some(302),
        "seeother" => Some(303),
        "gone" => Some(410),
        word => word.parse().ok(),
    }
}

/// Status, and what stands behind it.
fn parts(line: &Line) -> (u64, &[String]) {
    match line.name.as_str() {
        "redirectpermanent" => return (301, &line.args),
        "redirecttemp" => return (302, &line.args),
        _ => {}
    }
    match line.args.split_first().and_then(|(first, rest)| Some((status(first)?, rest))) {
        Some((status, rest)) => (status, rest),
        None => (302, &line.args),
    }
}

/// `Redirect permanent /old https://new.example/`: what is beneath the path goes along.
fn redirect(line: &Line, draft: &mut Draft) -> Option<Mapping> {
    let (status, rest) = parts(line);
    let (path, target) = match rest {
        [path, target] => (path.as_str(), Some(target.as_str())),
        [only] if (300..400).contains(&status) => ("/", Some(only.as_str())),
        [path] => (path.as_str(), None),
        _ => return lost(line, draft),
    };
    let answer = match target {
        None => Answer::Status(status),
        Some(target)
            if matches!(status, 301 | 302 | 303 | 307 | 308) && !target.contains(['{', '}', '%', '$']) =>
        {
            // The rest begins with a slash, unless the path ends in one.
            let target = if path.ends_with('/') && target.ends_with('/') { trimmed(target) } else { target };
            Answer::Redirect(format!("{target}{{rest}}{{query}}"), status)
        }
        Some(_) => return lost(line, draft),
    };
    Some(Mapping { path: trimmed(path).to_owned(), is_exact: false, answer, place: line.place.clone() })
}

/// `RedirectMatch 301 ^/old/(.*)$ /new/$1`.
fn redirect_match(line: &Line, draft: &mut Draft) -> Option<Mapping> {
    let (status, rest) = parts(line);
    let [regex, target] = rest else { return lost(line, draft) };
    let Some((path, captured)) = path_of(regex).filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308))
    else {
        return lost(line, draft);
    };
    let place = match captured {
        Some(Captured::Rest) => "{rest}",
        Some(Captured::All) => "{path}",
        None => "",
    };
    if target.contains(['{', '}', '%']) {
        return lost(line, draft);
    }
    let target = target.replacen("$1", place, 1).replace("/{rest}", "{rest}").replace("/{path}", "{path}");
    let is_exact = captured.is_none() && path != "/";
    let answer = Answer::Redirect(format!("{target}{{query}}"), status);
    Some(Mapping { path: trimmed(&path).to_owned(), is_exact, answer, place: line.place.clone() })
}

/// A redirect that cannot be said; one that refuses is a restriction.
fn lost(line: &Line, draft: &mut Draft) -> Option<Mapping> {
    let (status, _) = parts(line);
    let why = "a redirect is from a path, or from ^/old/(.*)$, to a target without variables";
    if status >= 400 {
        draft.open(&line.place, &line.text, why);
    } else {
        draft.lose(&line.place, &line.text, why);
    }
    None
}

/// Says what answers.
pub(super) fn say(
    answer: &Answer,
    folder: Option<String>,
    route: &mut crate::model::Route,
    place: &Place,
    draft: &mut Draft,
) {
    match answer {
        Answer::Folder(_) | Answer::File(_) => {
            let folder = folder.filter(|folder| !folder.is_empty()).unwrap_or_else(|| "/".to_owned());
            route.keys.set("files", folder, place);
        }
        Answer::Redirect(target, status) => {
            route.keys.set("redirect", target.as_str(), place);
            route.keys.set("redirect-status", Value::Number(*status), place);
        }
        Answer::Status(status) => route.respond(*status, place),
        Answer::Missing(what) => super::section::unanswered(route, place, what, draft),
        Answer::Script(_) => {}
    }
}
