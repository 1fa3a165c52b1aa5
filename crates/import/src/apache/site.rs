//! A virtual host of httpd.conf, or the main server, as a site: each path that something is said of is a route.

use super::known;
use super::lex::Line;
use super::mapping::{self, Answer, Mapping};
use super::section::{Around, Sections, is_beneath, trimmed, unanswered};
use crate::model::{Draft, Place, Route, Site, Value, has_end, shown};
use crate::python;
use crate::regex::{ends, literal};

/// Paths of one site; each is compared with each.
const PATHS_MAX: usize = 2_000;

/// Makes the routes of a site; `sections` have those of `.htaccess` files, too.
pub(super) fn routes(lines: &[Line], sections: &Sections, site: &mut Site, draft: &mut Draft) {
    let Some(place) = site.place.clone() else { return };
    let mappings = mapping::read(lines, draft);
    let mut paths = paths(&mappings, sections);
    if paths.len() > PATHS_MAX {
        draft.open(&place, "site", "there are too many paths in it; those from here on are left out");
        paths.truncate(PATHS_MAX);
    }
    for (at, mapping) in mappings.iter().enumerate() {
        if mappings[..at].iter().any(|earlier| earlier.has(&mapping.path)) && !mapping.path.is_empty() {
            draft.lose(
                &mapping.place,
                &format!("path {}", mapping.path),
                "one before it has all its requests",
            );
        }
    }
    for path in &paths {
        let Some(mapping) = mappings.iter().find(|mapping| mapping.has(path)) else {
            if path.is_empty() {
                draft.lose(&place, "site", "it says no DocumentRoot; what nothing else answers is a 404");
            }
            missing(path, sections, &place, site, draft);
            continue;
        };
        // Redirects and fixed answers come before anybody is kept out, and are said once.
        if matches!(mapping.answer, Answer::Redirect(..)) && mapping.path != *path {
            continue;
        }
        route(path, mapping, lines, sections, site, draft);
    }
    by_name(sections, site, draft);
    for line in &sections.others {
        other(line, site, draft);
    }
}

/// All paths that something is said of, each without a slash at its end.
fn paths(mappings: &[Mapping], sections: &Sections) -> Vec<String> {
    let mut all: Vec<String> = vec![String::new()];
    all.extend(mappings.iter().map(|mapping| mapping.path.clone()));
    all.extend(sections.paths.iter().map(|(path, _)| path.clone()));
    for mapping in mappings {
        let Answer::Folder(folder) = &mapping.answer else { continue };
        let beneath = sections.folders.iter().filter_map(|(inner, _)| inner.strip_prefix(folder.as_str()));
        all.extend(
            beneath.filter(|rest| rest.starts_with('/')).map(|rest| format!("{}{rest}", mapping.path)),
        );
    }
    let mut once: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for path in all {
        if seen.insert(path.clone()) {
            once.push(path);
        }
    }
    once
}

/// A path that nothing answers: kept out or not found.
fn missing(path: &str, sections: &Sections, place: &Place, site: &mut Site, draft: &mut Draft) {
    let around = Around::of(&sections.effective(None, path));
    let mut route = Route::new(&format!("{path}/"), place);
    match around.handler {
        Some(line) => unanswered(&mut route, &line.place, &line.text, draft),
        None => route.respond(404, place),
    }
    site.routes.extend(around.put(route, draft));
}

fn route(
    path: &str,
    mapping: &Mapping,
    lines: &[Line],
    sections: &Sections,
    site: &mut Site,
    draft: &mut Draft,
) {
    let folder = mapping.folder(path);
    let shown_path = if mapping.is_exact { path.to_owned() } else { format!("{path}/") };
    let mut route = Route::new(&shown_path, &mapping.place);
    let is_first = matches!(mapping.answer, Answer::Redirect(..) | Answer::Status(_));
    mapping::say(&mapping.answer, folder.clone(), &mut route, &mapping.place, draft);
    let mut effective = sections.effective(folder.as_deref(), path);
    if let Answer::Script(script) = &mapping.answer {
        application(script, mapping, lines, &mut route, draft);
        let name = script.rsplit('/').next().unwrap_or_default();
        let of_file = sections.files.iter().filter(|(outer, line)| {
            let is_there = outer
                .as_ref()
                .is_none_or(|outer| folder.as_ref().is_some_and(|folder| is_beneath(outer, folder)));
            is_there && line.name == "files" && line.arg(0) == name
        });
        effective.extend(of_file.map(|(_, line)| line.inside.as_slice()));
    }
    if is_first {
        site.routes.push(route);
        return;
    }
    let around = Around::of(&effective);
    if let (Some(line), true) = (around.handler, route.keys.has("files")) {
        unanswered(&mut route, &line.place, &line.text, draft);
    }
    site.routes.extend(around.put(route, draft));
}

fn application(script: &str, mapping: &Mapping, lines: &[Line], route: &mut Route, draft: &mut Draft) {
    let name = lines
        .iter()
        .rfind(|line| line.name == "wsgicallableobject")
        .map_or("application", |line| line.arg(0));
    if !mapping.path.is_empty() {
        let why = "the application sees the whole path; SCRIPT_NAME is empty";
        draft.lose(&mapping.place, &format!("WSGIScriptAlias {}", mapping.path), why);
    }
    if has_end(script, "py") || has_end(script, "wsgi") {
        python::app(&format!("{script}:{name}"), route, &mapping.place, draft);
    } else {
        unanswered(route, &mapping.place, &format!("{script}, which does not end in .py or .wsgi"), draft);
    }
}

/// `Files`, `FilesMatch`, `AddHandler` and `AddType`: what is said of names is a route for their ends.
fn by_name(sections: &Sections, site: &mut Site, draft: &mut Draft) {
    let mut guards: Vec<Route> = Vec::new();
    for (_, line) in &sections.files {
        files(line, site, &mut guards, draft);
    }
    let lines =
        sections.folders.iter().chain(&sections.paths).flat_map(|(_, lines)| lines).chain(&sections.all);
    for line in lines.filter(|line| matches!(line.name.as_str(), "addhandler" | "addtype")) {
        let runs = line.name == "addhandler" || line.arg(0).contains("httpd-");
        let ends: Vec<String> =
            line.args.iter().skip(1).map(|end| format!("*.{}", end.trim_start_matches('.'))).collect();
        if !runs || ends.is_empty() || matches!(line.arg(0), "type-map" | "default-handler") {
            continue;
        }
        let mut route = Route { paths: ends, place: Some(line.place.clone()), ..Route::default() };
        unanswered(&mut route, &line.place, &line.text, draft);
        guards.push(route);
    }
    for guard in guards {
        protect(&guard, site, draft);
        site.routes.push(guard);
    }
}

/// A folder would be served before an end counts: it refuses.
fn protect(guard: &Route, site: &mut Site, draft: &mut Draft) {
    let ends = guard.paths.join(", ");
    let place = guard.place.as_ref().map(ToString::to_string).unwrap_or_default();
    for route in &mut site.routes {
        let path =
            route.paths.first().filter(|path| path.len() > 1 && path.starts_with('/') && path.ends_with('/'));
        let (Some(path), Some(at)) = (path, route.place.clone()) else { continue };
        if route.keys.has("files") {
            let why = format!("here it counts before {ends}, and would serve such files beneath it");
            draft.open(&at, &format!("path {path}"), &why);
            route.refused.push(format!("{place}: {ends}"));
        }
    }
}

fn files(line: &Line, site: &mut Site, guards: &mut Vec<Route>, draft: &mut Draft) {
    let pattern = line.args.last().map_or("", String::as_str);
    let is_regex = line.name == "filesmatch" || line.says(0, "~");
    let sections: [&[Line]; 1] = [&line.inside];
    let around = Around::of(&sections);
    let place = &line.place;
    let mut route = Route { place: Some(place.clone()), ..Route::default() };
    if let Some(handler) = around.handler {
        unanswered(&mut route, &handler.place, &handler.text, draft);
    }
    let made = around.put(route, draft);
    let restricts = made.iter().any(Route::is_restricted);
    if is_hidden(pattern, is_regex) && restricts {
        // They are never served.
        return;
    }
    if !restricts {
        let is_grant =
            line.inside.iter().all(|line| matches!(line.name.as_str(), "require" | "order" | "allow"));
        if !is_grant {
            draft.lose(
                place,
                &line.text,
                "what is said of files by their names is not carried over, if it keeps nobody out",
            );
        }
        return;
    }
    let paths = if is_regex { ends(pattern).or_else(|| one_name(pattern)) } else { glob(pattern) };
    let Some(paths) = paths else {
        draft.open(place, &line.text, "names are said by their ends, as in *.php");
        site.refused.push(format!("{place}: {}", shown(&line.text)));
        return;
    };
    for mut route in made {
        route.paths.clone_from(&paths);
        if !route.keys.has("respond") {
            // Who may see them is known, and not what answers: the folder is that of another route.
            let why = "such files are in folders of other routes, so they are refused to everybody";
            draft.lose(place, &line.text, why);
            route.respond(403, place);
        }
        guards.push(route);
    }
}

/// `.ht*`, `^\.ht`, `^\.`: names that begin with a dot.
fn is_hidden(pattern: &str, is_regex: bool) -> bool {
    if is_regex { pattern.starts_with("^\\.") || pattern == "^(\\.ht.*)" } else { pattern.starts_with('.') }
}

/// The name that a pattern has: also of what ends so, which are more.
fn one_name(regex: &str) -> Option<Vec<String>> {
    let name = literal(regex.strip_prefix('^')?.strip_suffix('$')?)?;
    glob(&name)
}

fn glob(pattern: &str) -> Option<Vec<String>> {
    let end = pattern.strip_prefix('*').unwrap_or(pattern);
    let is_plain = !end.is_empty() && !end.contains(['*', '?', '[', '/', '%', '#']);
    is_plain.then(|| vec![format!("*{end}")])
}

/// A section that is about folders, paths or requests that cannot be said.
fn other(line: &Line, site: &mut Site, draft: &mut Draft) {
    let sections: [&[Line]; 1] = [&line.inside];
    let around = Around::of(&sections);
    let made = around.put(Route { place: Some(line.place.clone()), ..Route::default() }, draft);
    let restricts =
        made.iter().any(Route::is_restricted) || known::restricts(line).is_some() || around.handler.is_some();
    if line.name == "directorymatch" && line.arg(0).contains("/\\.") && restricts {
        // Names that begin with a dot are never served.
        return;
    }
    let why = "which folders, paths or requests it is about cannot be said";
    if restricts {
        draft.open(&line.place, &line.text, why);
        site.refused.push(format!("{}: {}", line.place, shown(&line.text)));
    } else {
        draft.lose(&line.place, &line.text, why);
    }
}

/// Whether a site only sends clients to https.
pub(super) fn is_way_to_tls(site: &Site, lines: &[Line]) -> bool {
    let leads = |route: &Route| {
        let target = route.keys.get("redirect").map(|key| &key.value);
        route.paths == ["/"] && matches!(target, Some(Value::Text(target)) if target.starts_with("https://"))
    };
    let rewrites = |line: &Line| {
        let is_every =
            matches!(line.arg(0), "^" | "^(.*)$" | "(.*)" | "^/?(.*)" | "^/?(.*)$" | ".*" | "^.*$");
        line.name == "rewriterule" && is_every && line.arg(1).starts_with("https://%{")
    };
    site.routes.iter().any(leads) || lines.iter().any(rewrites)
}

/// The folders that a site serves, for their `.htaccess` files.
pub(super) fn folders(lines: &[Line]) -> Vec<(String, Place)> {
    let named = lines.iter().filter_map(|line| match line.name.as_str() {
        "documentroot" => Some((trimmed(line.arg(0)).to_owned(), line.place.clone())),
        "alias" => Some((trimmed(line.arg(1)).to_owned(), line.place.clone())),
        _ => None,
    });
    named.filter(|(folder, _)| !folder.is_empty() && !folder.contains("${")).collect()
}
