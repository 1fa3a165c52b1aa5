//! Mappings of paths: aliases, applications, redirects, the document root.

use super::matched::{self, Tail};
use super::section::{is_beneath, spelled, trimmed};
use crate::apache::language::line::Line;
use crate::model::{Draft, Place, Value, has_end};
use crate::text::regex::{Captured, path_of};

/// Ends of names of programs, which no folder has.
const PROGRAM_ENDS: [&str; 6] = ["cgi", "fcgi", "pl", "py", "rb", "sh"];

/// The action that answers beneath a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A folder, without a slash at its end.
    Folder(String),
    /// The folder of a file, which is answered at this path alone.
    File(String),
    /// A script of WSGI, and the name of the application in it, if the alias names it.
    Script(String, Option<String>),
    /// A folder of CGI scripts.
    Programs(String),
    /// A CGI script that answers everything beneath a path; `has_path`: it answers the path itself, too.
    Program {
        file: String,
        has_path: bool,
    },
    /// A folder of scripts of WSGI.
    Scripts(String),
    /// A target, and its status.
    Redirect(String, u64),
    Status(u64),
    /// A directive without a counterpart, as written.
    Missing(String),
}

/// A path, without a slash at its end, and the action that answers it.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) path: String,
    /// Whether the mapping is for this path alone.
    pub(super) is_exact: bool,
    pub(super) answer: Answer,
    pub(super) place: Place,
}

impl Mapping {
    /// Whether the mapping answers a path.
    pub(super) fn has(&self, path: &str) -> bool {
        if self.is_exact { self.path == path } else { is_beneath(&self.path, path) }
    }

    /// Returns a copy of this mapping that leaves the path itself to another mapping.
    pub(super) fn without_path(&self) -> Mapping {
        let mut mapping = self.clone();
        if let Answer::Program { has_path, .. } = &mut mapping.answer {
            *has_path = false;
        }
        mapping
    }

    /// Returns the folder that is searched for a path.
    pub(super) fn folder(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.path).unwrap_or_default();
        match &self.answer {
            Answer::Folder(folder) | Answer::Programs(folder) | Answer::Scripts(folder) => {
                Some(format!("{folder}{rest}"))
            }
            Answer::File(folder) => Some(folder.clone()),
            Answer::Script(script, _) | Answer::Program { file: script, .. } => {
                Some(script.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned())
            }
            _ => None,
        }
    }
}

/// Returns all mappings of a site, in the order in which they count: redirects, gateways, aliases, applications, the
/// document root.
pub(super) fn read(lines: &[Line], draft: &mut Draft) -> Vec<Mapping> {
    let mut kinds: [Vec<Mapping>; 5] = Default::default();
    for line in &in_one_spelling(lines) {
        match line.name.as_str() {
            "aliasmatch" | "scriptaliasmatch" => kinds[2].extend(matching(line)),
            "wsgiscriptaliasmatch" => kinds[3].extend(matching(line)),
            "redirectmatch" => kinds[0].extend(redirect_match(line, draft)),
            _ => {
                if let Some((kind, mapping)) = one(line, draft) {
                    kinds[kind].push(mapping);
                }
            }
        }
    }
    // The last document root counts: the site's own.
    let [redirects, gateways, aliases, scripts, roots] = kinds;
    let mut all: Vec<Mapping> = redirects.into_iter().chain(gateways).chain(aliases).chain(scripts).collect();
    all.extend(roots.into_iter().next_back());
    all
}

/// Returns the lines with folders of aliases in one spelling.
fn in_one_spelling(lines: &[Line]) -> Vec<Line> {
    let each = lines.iter().map(|line| {
        let at = match line.name.as_str() {
            "documentroot" => 0,
            "alias" | "scriptalias" | "wsgiscriptalias" => 1,
            _ => return line.clone(),
        };
        let mut line = line.clone();
        if let Some(folder) = line.args.get_mut(at) {
            *folder = spelled(folder);
        }
        line
    });
    each.collect()
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
            draft.lose(&line.place, &line.text, "this contains a variable that is not known here");
            (2, all(path, Answer::Status(503)))
        }
        "documentroot" | "alias"
            if !line.args.last().is_some_and(|folder| folder.starts_with('/')) && !line.text.is_empty() =>
        {
            draft.lose(
                &line.place,
                &line.text,
                "this is relative to a folder that is not known here; requests are answered 503",
            );
            let path = if line.name == "documentroot" { "/" } else { first };
            (2, all(path, Answer::Status(503)))
        }
        "documentroot" => (4, all("/", Answer::Folder(trimmed(first).to_owned()))),
        "alias" if first.ends_with('/') && !second.ends_with('/') && first != "/" => {
            draft.lose(
                &line.place,
                &line.text,
                "the path ends in a slash, and the folder does not; requests are answered 503",
            );
            (2, all(first, Answer::Status(503)))
        }
        "alias" if is_file(first, second) => {
            let folder = second.strip_suffix(first).unwrap_or_default();
            (2, exact(first, Answer::File(folder.to_owned())))
        }
        "alias" => (2, all(first, Answer::Folder(trimmed(second).to_owned()))),
        "scriptalias" => (2, all(first, programs(line))),
        "wsgiscriptalias" => (3, all(first, script(line, draft))),
        "proxypass" if second == "!" || first.contains("://") => return None,
        "proxypass" => (1, all(first, Answer::Missing(line.text.clone()))),
        "redirect" | "redirectpermanent" | "redirecttemp" => (0, redirect(line, draft)?),
        _ => return None,
    })
}

/// Reads `AliasMatch ^/(css|js)/(.*)$ /srv/$1/$2`: an alias for each path that the pattern stands for; none if some of
/// these paths cannot be aliases.
pub(super) fn matching(line: &Line) -> Vec<Mapping> {
    let (regex, target) = (line.arg(0), line.arg(1));
    let all = matched::paths(regex, target).filter(|_| target.starts_with('/') && !target.contains("${"));
    let each = all.unwrap_or_default().into_iter().map(|one| {
        let answer = match (line.name.as_str(), one.tail) {
            ("aliasmatch", Tail::Rest { .. }) => Answer::Folder(one.target),
            ("aliasmatch", Tail::Exact) if is_file(&one.path, &one.target) => {
                Answer::File(one.target.strip_suffix(&one.path)?.to_owned())
            }
            ("scriptaliasmatch", Tail::Rest { .. }) => program_or_folder(&one.path, one.target, true),
            // The SCRIPT_NAME is the path up to the end of the match.
            ("wsgiscriptaliasmatch", Tail::Exact | Tail::Open | Tail::Ahead) => {
                Answer::Script(one.target, None)
            }
            _ => return None,
        };
        Some(Mapping { path: one.path, is_exact: one.tail == Tail::Exact, answer, place: line.place.clone() })
    });
    each.collect::<Option<Vec<Mapping>>>().unwrap_or_default()
}

/// Returns a folder of programs, or one program, whose name has an end; `has_path`: the program answers the path
/// itself, too.
fn program_or_folder(path: &str, target: String, has_path: bool) -> Answer {
    let name = target.rsplit('/').next().unwrap_or_default();
    let is_one = name.contains('.') && !path.is_empty() && is_plain_name(name);
    if is_one {
        Answer::Program { file: target, has_path }
    } else {
        Answer::Programs(trimmed(&target).to_owned())
    }
}

/// Whether a name needs no escape, wherever it is written.
fn is_plain_name(name: &str) -> bool {
    !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Reads `ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/`, or one program, whose name has an end: `ScriptAlias /x /srv/x.cgi`,
/// or `ScriptAlias /x/ /srv/x.cgi/`, which does not answer `/x`.
fn programs(line: &Line) -> Answer {
    let (path, folder) = (line.arg(0), line.arg(1));
    // A folder with a slash at its end may have a dot in its name.
    let has_end = match folder.strip_suffix('/') {
        Some(folder) => PROGRAM_ENDS.iter().any(|end| has_end(folder, end)),
        None => folder.rsplit('/').next().is_some_and(|name| name.contains('.')),
    };
    let ends_alike = path.ends_with('/') == folder.ends_with('/') || trimmed(path).is_empty();
    if !ends_alike || !folder.starts_with('/') || (has_end && trimmed(path).is_empty()) {
        return Answer::Missing(line.text.clone());
    }
    if !has_end {
        return Answer::Programs(trimmed(folder).to_owned());
    }
    match program_or_folder(trimmed(path), trimmed(folder).to_owned(), !path.ends_with('/')) {
        Answer::Programs(_) => Answer::Missing(line.text.clone()),
        answer => answer,
    }
}

/// Reads `WSGIScriptAlias / /srv/shop/wsgi.py process-group=shop callable-object=app`, or an alias of a folder, which
/// ends in a slash as its path does.
fn script(line: &Line, draft: &mut Draft) -> Answer {
    let option = |arg: &String| arg.strip_prefix("callable-object=").map(str::to_owned);
    let (path, script) = (line.arg(0), line.arg(1));
    let name = line.args.iter().skip(2).find_map(option);
    let is_file = has_end(trimmed(script), "py") || has_end(trimmed(script), "wsgi");
    if is_file || !(path.ends_with('/') && script.ends_with('/')) {
        return Answer::Script(script.to_owned(), name);
    }
    if name.is_some_and(|name| name != "application") {
        draft.lose(
            &line.place,
            &line.text,
            "in a folder of scripts, the callable of a script has to be named application, app or handler",
        );
    }
    Answer::Scripts(trimmed(script).to_owned())
}

/// Whether an alias is for one file: path and file end in the same name, which has an extension.
fn is_file(path: &str, file: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.contains('.') && file.ends_with(path)
}

/// Returns the status of a redirect by its word.
fn status(word: &str) -> Option<u64> {
    match word.to_ascii_lowercase().as_str() {
        "permanent" => Some(301),
        "temp" => Some(302),
        "seeother" => Some(303),
        "gone" => Some(410),
        word => word.parse().ok(),
    }
}

/// Returns the status, and the arguments behind it.
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

/// Reads `Redirect permanent /old https://new.example/`: the rest of the path goes to the target, too. In a section or
/// an `.htaccess` the path may be left out: then all paths of the section or folder lead to the target itself.
fn redirect(line: &Line, draft: &mut Draft) -> Option<Mapping> {
    let (status, rest) = parts(line);
    let (path, target, behind) = match rest {
        [path, target] => (path.as_str(), Some(target.as_str()), "{rest}{query}"),
        [only] if (300..400).contains(&status) => ("", Some(only.as_str()), "{query}"),
        [path] => (path.as_str(), None, ""),
        _ => return lost(line, draft),
    };
    let answer = match target {
        None => Answer::Status(status),
        Some(target)
            if matches!(status, 301 | 302 | 303 | 307 | 308) && !target.contains(['{', '}', '%', '$']) =>
        {
            // The rest begins with a slash, unless the path ends in one.
            let target = if path.ends_with('/') && target.ends_with('/') { trimmed(target) } else { target };
            Answer::Redirect(format!("{target}{behind}"), status)
        }
        Some(_) => return lost(line, draft),
    };
    Some(Mapping { path: trimmed(path).to_owned(), is_exact: false, answer, place: line.place.clone() })
}

/// Reads `RedirectMatch 301 ^/old/(.*)$ /new/$1`, `RedirectMatch gone ^/(old|older)(/.*)?$`.
fn redirect_match(line: &Line, draft: &mut Draft) -> Vec<Mapping> {
    let (status, rest) = parts(line);
    let found = match rest {
        [regex, target]
            if matches!(status, 301 | 302 | 303 | 307 | 308) && !target.contains(['{', '}', '%']) =>
        {
            led(line, regex, target, status)
        }
        [regex] if status >= 400 => refused(line, regex, status),
        _ => None,
    };
    found.unwrap_or_else(|| lost(line, draft).into_iter().collect())
}

/// Returns the redirects of a pattern.
fn led(line: &Line, regex: &str, target: &str, status: u64) -> Option<Vec<Mapping>> {
    let mapping = |path: &str, target: &str, is_exact| Mapping {
        path: trimmed(path).to_owned(),
        is_exact,
        answer: Answer::Redirect(format!("{target}{{query}}"), status),
        place: line.place.clone(),
    };
    if let Some((path, captured)) = path_of(regex) {
        let place = match captured {
            Some(Captured::Rest) => "{rest}",
            Some(Captured::All) => "{path}",
            None => "",
        };
        let target =
            target.replacen("$1", place, 1).replace("/{rest}", "{rest}").replace("/{path}", "{path}");
        return Some(vec![mapping(&path, &target, captured.is_none() && path != "/")]);
    }
    let all = matched::paths(regex, target)?;
    let each = all.iter().map(|one| match one.tail {
        Tail::Exact => Some(mapping(&one.path, &one.target, true)),
        Tail::Rest { .. } => Some(mapping(&one.path, &format!("{}{{rest}}", one.target), false)),
        Tail::Open | Tail::Ahead => None,
    });
    each.collect()
}

/// Returns mappings that refuse all paths of a pattern, and perhaps more.
fn refused(line: &Line, regex: &str, status: u64) -> Option<Vec<Mapping>> {
    // A pattern that is a whole path and a slash matches everything beneath it.
    let whole = regex.strip_suffix('/').map(|front| format!("{front}(/.*)?$"));
    let mapping = |(path, tail): (String, Tail)| {
        (tail != Tail::Open).then(|| Mapping {
            path,
            is_exact: tail == Tail::Exact,
            answer: Answer::Status(status),
            place: line.place.clone(),
        })
    };
    matched::whole(whole.as_deref().unwrap_or(regex))?.into_iter().map(mapping).collect()
}

/// Returns the pattern or path of a redirect that refuses and has no counterpart.
pub(super) fn lost_refusal(line: &Line) -> Option<&str> {
    if !line.name.starts_with("redirect") {
        return None;
    }
    let (status, rest) = parts(line);
    let is_lost = || read(std::slice::from_ref(line), &mut Draft::default()).is_empty();
    (status >= 400 && is_lost()).then(|| rest.first().map_or("", String::as_str))
}

/// The reason why a redirect is lost.
pub(super) const REDIRECT: &str =
    "a redirect leads from a path, or from ^/old/(.*)$, to a target without variables";

/// Notes the loss of a redirect; a redirect that refuses is reported where its paths are refused.
fn lost(line: &Line, draft: &mut Draft) -> Option<Mapping> {
    let (status, _) = parts(line);
    if status < 400 {
        draft.lose(&line.place, &line.text, REDIRECT);
    }
    None
}

/// Writes the action into the keys of a route.
pub(super) fn say(
    answer: &Answer,
    folder: Option<String>,
    route: &mut crate::model::Route,
    place: &Place,
    draft: &mut Draft,
) {
    let folder = || folder.filter(|folder| !folder.is_empty()).unwrap_or_else(|| "/".to_owned());
    match answer {
        Answer::Folder(_) | Answer::File(_) => route.keys.set("files", folder(), place),
        Answer::Programs(_) | Answer::Program { .. } => route.keys.set("cgi", folder(), place),
        Answer::Scripts(_) => route.keys.set("scripts", folder(), place),
        Answer::Redirect(target, status) => {
            route.keys.set("redirect", target.as_str(), place);
            route.keys.set("redirect-status", Value::Number(*status), place);
        }
        Answer::Status(status) => route.respond(*status, place),
        Answer::Missing(what) => super::section::unanswered(route, place, what, draft),
        Answer::Script(..) => {}
    }
}
