//! A virtual host of httpd.conf, or the main server, as a site: each path that a directive is about becomes a route.

use super::express;
use super::mapping::{self, Answer, Mapping};
use super::section::{Around, Sections, fills_in, is_beneath, trimmed, unanswered};
use crate::apache::folders::htaccess;
use crate::apache::language::known;
use crate::apache::language::line::Line;
use crate::model::{Draft, Key, Place, Route, Site, Value, has_end};
use crate::python_servers::python;
use crate::rules::lost::{self, Pattern};
use crate::text::regex::{ends, is_one_way, literal};

/// Limit of a site's paths; each is compared with each.
const PATHS_MAX: usize = 2_000;

/// Makes the routes of a site; `sections` include the sections of `.htaccess` files.
pub(super) fn routes(lines: &[Line], sections: &Sections, site: &mut Site, draft: &mut Draft) {
    let Some(place) = site.place.clone() else { return };
    let mappings = mapping::read(lines, draft);
    let mut paths = paths(&mappings, sections);
    if paths.len() > PATHS_MAX {
        draft.refuse_site(
            site,
            &place,
            "site",
            "the site has too many paths, and the last ones are left out",
        );
        paths.truncate(PATHS_MAX);
    }
    for (at, mapping) in mappings.iter().enumerate() {
        let has_all =
            |earlier: &Mapping| earlier.has(&mapping.path) && (!earlier.is_exact || mapping.is_exact);
        if mappings[..at].iter().any(has_all) && !mapping.path.is_empty() {
            draft.lose(
                &mapping.place,
                &format!("path {}", mapping.path),
                "an earlier directive answers all its requests",
            );
        }
    }
    for path in &paths {
        let Some(mapping) = mappings.iter().find(|mapping| mapping.has(path)) else {
            if path.is_empty() {
                draft.lose(
                    &place,
                    "site",
                    "the site has no DocumentRoot; paths that nothing else serves are answered 404",
                );
            }
            missing(path, sections, &place, site, draft);
            continue;
        };
        // A mapping for exactly this path leaves all paths beneath it to the next mapping.
        routes_of(path, mapping, &paths, sections, site, draft);
        let beneath = mappings.iter().find(|other| !other.is_exact && other.path == *path);
        if let Some(beneath) = beneath.filter(|_| mapping.is_exact) {
            routes_of(path, &beneath.without_path(), &paths, sections, site, draft);
        }
    }
    by_name(&mappings, sections, site, draft);
    for line in &sections.others {
        other(line, &mappings, site, draft);
    }
    for line in lines {
        unsaid(line, sections, site, draft);
    }
}

/// Makes the routes for a path that a mapping answers.
fn routes_of(
    path: &str,
    mapping: &Mapping,
    paths: &[String],
    sections: &Sections,
    site: &mut Site,
    draft: &mut Draft,
) {
    // Redirects and fixed answers come before access rules, so one route is enough.
    if matches!(mapping.answer, Answer::Redirect(..)) && mapping.path != *path {
        return;
    }
    if let Answer::Program { file, .. } = &mapping.answer
        && !one_program(file, mapping, paths, site)
    {
        let what = format!("{file}, because more directives are about paths beneath {}", mapping.path);
        let other = Mapping { answer: Answer::Missing(what), ..mapping.clone() };
        return route(path, &other, sections, site, draft);
    }
    route(path, mapping, sections, site, draft);
}

/// Refuses a pattern without a counterpart: another route would answer in its place, perhaps with something that nobody
/// is meant to see.
fn unsaid(line: &Line, sections: &Sections, site: &mut Site, draft: &mut Draft) {
    let pattern = Pattern { regex: line.arg(0), any_case: false };
    let (place, what) = (&line.place, line.text.as_str());
    if let Some(regex) = mapping::lost_refusal(line) {
        lost::refuse(site, Pattern { regex, any_case: false }, place, what, mapping::REDIRECT, draft);
    }
    match line.name.as_str() {
        "proxypassmatch" if line.arg(1) != "!" => {
            lost::refuse(
                site,
                pattern,
                place,
                what,
                "requests are not passed on to other servers, and files at these paths would be served instead",
                draft,
            );
        }
        "aliasmatch" | "scriptaliasmatch" | "wsgiscriptaliasmatch" if mapping::matching(line).is_empty() => {
            let why = "a pattern has to stand for all paths beneath one path, such as ^/old/(.*)$, or beneath several, such as ^/(a|b)/(.*)$";
            if line.name != "scriptaliasmatch" && !sections.restrict() {
                draft.lose(&line.place, &line.text, why);
            } else {
                lost::refuse(site, pattern, place, what, why, draft);
            }
        }
        _ => {}
    }
}

/// Has one program answer everything beneath a path: the program's folder gets that path, and a rule leads every
/// request to the program. Returns false if a directive is about a path beneath, because the directive would then have
/// no effect.
fn one_program(file: &str, mapping: &Mapping, paths: &[String], site: &mut Site) -> bool {
    let path = mapping.path.as_str();
    let is_beneath = |other: &String| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    let name = file.rsplit('/').next().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    if paths.iter().any(is_beneath) || !path.bytes().all(is_plain) {
        return false;
    }
    let escaped = name.replace('.', "\\.");
    // A link that contains the program's own name leads to the program, too. No path beneath may be left to the folder,
    // whatever the folder contains.
    let rule = if matches!(mapping.answer, Answer::Program { has_path: true, .. }) {
        format!("^{path}(?:/{escaped})?(/(?s:.*))?$ -> {path}/{name}{{1}}")
    } else {
        format!("^{path}(?:/{escaped}(/(?s:.*))?|(/(?s:.*)))$ -> {path}/{name}{{1}}{{2}}")
    };
    site.keys.add("rewrite", &rule, &mapping.place);
    true
}

/// Returns all paths that a directive is about, each without a slash at its end.
fn paths(mappings: &[Mapping], sections: &Sections) -> Vec<String> {
    let mut all: Vec<String> = vec![String::new()];
    all.extend(mappings.iter().map(|mapping| mapping.path.clone()));
    all.extend(sections.paths.iter().map(|(path, _)| path.clone()));
    for mapping in mappings {
        let (Answer::Folder(folder) | Answer::Programs(folder) | Answer::Scripts(folder)) = &mapping.answer
        else {
            continue;
        };
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

/// Makes the route of a path that nothing answers: denied or not found.
fn missing(path: &str, sections: &Sections, place: &Place, site: &mut Site, draft: &mut Draft) {
    let around = Around::of(&sections.effective(None, path));
    let mut route = Route::new(&format!("{path}/"), place);
    match around.handler {
        Some(line) => unanswered(&mut route, &line.place, &line.text, draft),
        None => route.respond(404, place),
    }
    site.routes.extend(around.put(route, draft));
}

fn route(path: &str, mapping: &Mapping, sections: &Sections, site: &mut Site, draft: &mut Draft) {
    if let Some(root) = file_of(path, mapping) {
        one_file(path, root, mapping, sections, site, draft);
        return;
    }
    let folder = mapping.folder(path);
    let shown_path = if mapping.is_exact { path.to_owned() } else { format!("{path}/") };
    let mut route = Route::new(&shown_path, &mapping.place);
    let is_first = matches!(mapping.answer, Answer::Redirect(..) | Answer::Status(_));
    mapping::say(&mapping.answer, folder.clone(), &mut route, &mapping.place, draft);
    let mut effective = sections.effective(folder.as_deref(), path);
    match &mapping.answer {
        Answer::Script(file, _) | Answer::Program { file, .. } => {
            effective = sections.of_file(folder.as_deref(), file, path);
        }
        Answer::File(root) => {
            let file = format!("{root}{path}");
            effective = sections.of_file(file.rsplit_once('/').map(|(folder, _)| folder), &file, path);
        }
        _ => {}
    }
    if let Answer::Script(script, name) = &mapping.answer {
        let says = |line: &&Line| line.name == "wsgicallableobject";
        let said = effective.iter().flat_map(|section| section.iter()).rfind(says).map(|line| line.arg(0));
        let name = name.as_deref().or(said).unwrap_or("application");
        application(script, name, mapping, &mut route, draft);
    }
    if is_first {
        site.routes.push(route);
        return;
    }
    if let (Answer::Folder(_), Some((rule, has_files))) = (&mapping.answer, express::rule(&effective)) {
        run_by_rule(rule, has_files, &effective, &mut route, draft);
    }
    let around = Around::of(&effective);
    if let (Some(line), true) = (around.handler, route.keys.has("files")) {
        handled(&mut route, line, &effective, draft);
    }
    site.routes.extend(around.put(route, draft));
}

/// Takes `RewriteRule .* - [H=wsgi-handler]`: the handler's application answers, perhaps only if there is no such file.
fn run_by_rule(rule: &Line, has_files: bool, sections: &[&[Line]], route: &mut Route, draft: &mut Draft) {
    let named = express::handler_of(rule).unwrap_or_default();
    let Some(handler) = express::known(sections).find(|handler| handler.arg(0) == named) else { return };
    let (target, name, path) = (handler.arg(2), handler.arg(3), trimmed(handler.arg(4)));
    let place = &handler.place;
    if target.contains('/') && !is_script(target) {
        return unanswered(route, place, &format!("{target}, which does not end in .py or .wsgi"), draft);
    }
    if !has_files {
        route.keys.0.retain(|key| !Route::is_action(key.name));
    }
    python::app(&format!("{target}:{name}"), route, place, draft);
    python::mount(path, route, place);
    if has_files {
        let is_of_folders = |line: &Line| line.name == "rewritecond" && line.says(1, "!-d");
        let script = handler.arg(1).rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_own = matches!(route.keys.get("files"), Some(Key { value: Value::Text(folder), .. })
            if folder.strip_prefix(script) == Some("/htdocs"));
        if !is_own && !sections.iter().flat_map(|section| section.iter()).any(is_of_folders) {
            let why = "here a folder that has an index.html answers with that file, before the application is asked";
            draft.lose(&rule.place, &rule.text, why);
        }
        route.keys.set("try", Value::List(vec!["files".to_owned(), "app".to_owned()]), &rule.place);
    }
}

/// Has a handler run the files of a folder, which would otherwise be served, if programs may be run there.
fn handled(route: &mut Route, line: &Line, sections: &[&[Line]], draft: &mut Draft) {
    let key = match line.arg(0).to_ascii_lowercase().as_str() {
        "cgi-script" => "cgi",
        "wsgi-script" => "scripts",
        _ => return unanswered(route, &line.place, &line.text, draft),
    };
    if !runs_programs(sections) {
        return route.respond(403, &line.place);
    }
    for folder in route.keys.0.iter_mut().filter(|folder| folder.name == "files") {
        folder.name = key;
    }
}

/// Whether a file is a script of Python by its name.
fn is_script(file: &str) -> bool {
    has_end(file, "py") || has_end(file, "wsgi")
}

/// Whether `Options` of these sections let programs be run.
fn runs_programs(sections: &[&[Line]]) -> bool {
    let lines = sections.iter().flat_map(|section| section.iter()).filter(|line| line.name == "options");
    lines.fold(false, |before, line| {
        let says = |word: &str| line.args.iter().any(|arg| arg.eq_ignore_ascii_case(word));
        let is_relative = line.args.iter().all(|arg| arg.starts_with(['+', '-']));
        if says("execcgi") || says("+execcgi") || says("all") {
            true
        } else {
            before && is_relative && !says("-execcgi")
        }
    })
}

/// Returns the folder of files for a path that seems to be one file, by its name.
fn file_of(path: &str, mapping: &Mapping) -> Option<String> {
    let (_, end) = path.rsplit('/').next()?.rsplit_once('.').filter(|(name, _)| !name.is_empty())?;
    let is_file = (1..=5).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_alphabetic());
    let Answer::Folder(_) = &mapping.answer else { return None };
    let file = mapping.folder(path).filter(|_| is_file && path != mapping.path)?;
    file.strip_suffix(path).map(|root| if root.is_empty() { "/".to_owned() } else { root.to_owned() })
}

/// Makes the route of one file, at that path alone. Paths beneath it, if it is a folder, are not found.
fn one_file(
    path: &str,
    root: String,
    mapping: &Mapping,
    sections: &Sections,
    site: &mut Site,
    draft: &mut Draft,
) {
    let mut route = Route::new(path, &mapping.place);
    route.keys.set("files", root, &mapping.place);
    let effective = sections.effective(mapping.folder(path).as_deref(), path);
    let around = Around::of(&effective);
    if let Some(line) = around.handler {
        handled(&mut route, line, &effective, draft);
    }
    site.routes.extend(around.put(route, draft));
    let mut beneath = Route::new(&format!("{path}/"), &mapping.place);
    beneath.respond(404, &mapping.place);
    site.routes.push(beneath);
}

/// Takes the application of a script, by its name.
fn application(script: &str, name: &str, mapping: &Mapping, route: &mut Route, draft: &mut Draft) {
    let script = trimmed(script);
    if is_script(script) {
        python::app(&format!("{script}:{name}"), route, &mapping.place, draft);
        python::mount(&mapping.path, route, &mapping.place);
    } else {
        unanswered(route, &mapping.place, &format!("{script}, which does not end in .py or .wsgi"), draft);
    }
}

/// Makes routes of `Files`, `FilesMatch`, `AddHandler` and `AddType`, for ends of names.
fn by_name(mappings: &[Mapping], sections: &Sections, site: &mut Site, draft: &mut Draft) {
    let mut guards: Vec<Route> = Vec::new();
    let mut runners: Vec<Route> = Vec::new();
    for (_, line) in &sections.files {
        files(line, site, &mut guards, draft);
    }
    let is_of_ends =
        |line: &&Line| matches!(line.name.as_str(), "addhandler" | "addtype" | "addoutputfilter");
    for line in sections.lines().filter(is_of_ends) {
        let ends: Vec<String> =
            line.args.iter().skip(1).map(|end| format!("*.{}", end.trim_start_matches('.'))).collect();
        if !runs(line) || ends.is_empty() || (line.name == "addoutputfilter" && !lets_fill_in(sections)) {
            continue;
        }
        if let Some(made) = run_by_name(line, &ends, mappings, sections, draft) {
            inner_ends(line, &ends, site);
            runners.extend(made);
            continue;
        }
        inner_ends(line, &ends, site);
        let mut route = Route { paths: ends, place: Some(line.place.clone()), ..Route::default() };
        if line.arg(0).eq_ignore_ascii_case("cgi-script") {
            draft.lose(&line.place, &line.text, PROGRAMS_ELSEWHERE);
            route.respond(503, &line.place);
        } else {
            unanswered(&mut route, &line.place, &line.text, draft);
        }
        guards.push(route);
    }
    for guard in guards {
        // Folders of scripts run all their files, whatever their names; access rules have to count for them, too.
        let is_shown = if guard.keeps_out() { Route::has_folder } else { Route::has_files };
        protect(&guard, is_shown, site, draft);
        site.routes.push(guard);
    }
    for runner in runners {
        // Folders never show sources of Python.
        if !runner.paths.iter().all(|end| is_script(end)) {
            protect(&runner, Route::has_files, site, draft);
        }
        site.routes.push(runner);
    }
}

/// The reason why programs with such names are not run.
const PROGRAMS_ELSEWHERE: &str = "only a handler for the whole document root is carried over; for one folder write a route with files, cgi = { \"*.cgi\" = \"/usr/bin/perl\" } and try; requests are answered 503";

/// Whether `Options` of any section let the server run instructions in pages.
fn lets_fill_in(sections: &Sections) -> bool {
    let is_one = |word: &String| {
        let word = word.trim_start_matches('+');
        ["includes", "includesnoexec", "all"].iter().any(|other| word.eq_ignore_ascii_case(other))
    };
    sections.lines().filter(|line| line.name == "options").any(|line| line.args.iter().any(is_one))
}

/// Whether files with these ends are run, and not sent.
fn runs(line: &Line) -> bool {
    match line.name.as_str() {
        "addhandler" => !matches!(line.arg(0), "type-map" | "default-handler" | "send-as-is"),
        "addtype" => line.arg(0).contains("httpd-") || line.arg(0).contains("parsed-html"),
        _ => fills_in(line),
    }
}

/// Refuses files with such an end in front of another end, as in `page.php.old`: Apache would run these files, so
/// Adyton must not send them.
fn inner_ends(line: &Line, ends: &[String], site: &mut Site) {
    for end in ends.iter().filter_map(|end| end.strip_prefix("*.")).filter(|end| is_plain_end(end)) {
        lost::close(site, &format!("\\.{end}\\.[^/]*$"), &line.place);
    }
}

fn is_plain_end(end: &str) -> bool {
    !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Makes routes of `AddHandler cgi-script .cgi`, `AddHandler wsgi-script .wsgi`: files with such names are run in the
/// document root, if programs may be run there. `None`: another handler, or another place.
fn run_by_name(
    line: &Line,
    ends: &[String],
    mappings: &[Mapping],
    sections: &Sections,
    draft: &mut Draft,
) -> Option<Vec<Route>> {
    match line.arg(0).to_ascii_lowercase().as_str() {
        "cgi-script" => {}
        "wsgi-script" if ends.iter().all(|end| is_script(end)) => {}
        _ => return None,
    }
    let root = mappings.iter().find(|mapping| mapping.path.is_empty() && !mapping.is_exact)?;
    let Answer::Folder(folder) = &root.answer else { return None };
    let effective = sections.effective(Some(folder), "");
    if !effective.iter().any(|section| section.contains(line)) {
        return None;
    }
    let mut route = Route { paths: ends.to_vec(), place: Some(line.place.clone()), ..Route::default() };
    mapping::say(&root.answer, Some(folder.clone()), &mut route, &line.place, draft);
    handled(&mut route, line, &effective, draft);
    Some(Around::of(&effective).put(route, draft))
}

/// Has a folder refuse if it takes precedence over the guarded ends of names, and so would serve such files.
fn protect(guard: &Route, is_shown: fn(&Route) -> bool, site: &mut Site, draft: &mut Draft) {
    let ends = guard.paths.join(", ");
    let place = guard.place.as_ref().map(ToString::to_string).unwrap_or_default();
    for route in &mut site.routes {
        // A suffix takes precedence over the document root, and a single path over a suffix.
        let is_first = |path: &&String| match path.strip_suffix('/') {
            Some(front) => !front.is_empty(),
            None => {
                guard.paths.iter().any(|end| end.strip_prefix('*').is_some_and(|end| path.ends_with(end)))
            }
        };
        let path = route.paths.first().filter(|path| path.starts_with('/')).filter(is_first);
        let (Some(path), Some(at)) = (path, route.place.clone()) else { continue };
        if is_shown(route) {
            let why = format!(
                "here this path takes precedence over {ends}, and such files beneath it would be served"
            );
            let what = format!("path {path}");
            draft.open(&at, &what, &why);
            route.refused.push(format!("{place}: {ends}"));
        }
    }
}

fn files(line: &Line, site: &mut Site, guards: &mut Vec<Route>, draft: &mut Draft) {
    let pattern = line.args.last().map_or("", String::as_str);
    let is_regex = line.name == "filesmatch" || line.says(0, "~");
    let sections: [&[Line]; 1] = [&line.inside];
    let around = Around::of(&sections).without_users();
    let place = &line.place;
    let mut route = Route { place: Some(place.clone()), ..Route::default() };
    if let Some(handler) = around.handler {
        unanswered(&mut route, &handler.place, &handler.text, draft);
    }
    let made = around.put(route, draft);
    let restricts = made.iter().any(Route::is_restricted);
    if is_hidden(pattern, is_regex) && restricts {
        // Names with a dot in front are never served.
        return;
    }
    if !restricts {
        let is_grant =
            line.inside.iter().all(|line| matches!(line.name.as_str(), "require" | "order" | "allow"));
        if !is_grant {
            draft.lose(
                place,
                &line.text,
                "directives for files by name are carried over only if they keep clients out",
            );
        }
        return;
    }
    let paths = if is_regex { ends(pattern).or_else(|| one_name(pattern)) } else { glob(pattern) };
    let Some(paths) = paths else {
        draft.refuse_site(site, place, &line.text, "names can only be given by their ends, as in *.php");
        return;
    };
    for mut route in made {
        route.paths.clone_from(&paths);
        if !route.keys.has("respond") {
            // The access rules are known, but not the action: the folder belongs to another route.
            let why = "such files are in folders of other routes, so they are refused to everybody";
            draft.lose(place, &line.text, why);
            route.respond(403, place);
        }
        guards.push(route);
    }
}

/// Whether a pattern is for names that begin with a dot: `.ht*`, `^\.ht`, `^\.`.
fn is_hidden(pattern: &str, is_regex: bool) -> bool {
    if !is_regex {
        return pattern.starts_with('.') && !pattern.contains("${");
    }
    pattern == "^(\\.ht.*)" || pattern.strip_prefix("^\\.").is_some_and(is_one_way)
}

/// Returns the name that a pattern stands for, as an end of names; longer names have this end, too.
fn one_name(regex: &str) -> Option<Vec<String>> {
    let name = literal(regex.strip_prefix('^')?.strip_suffix('$')?)?;
    glob(&name)
}

fn glob(pattern: &str) -> Option<Vec<String>> {
    let end = pattern.strip_prefix('*').unwrap_or(pattern);
    let is_plain = !end.is_empty() && !end.contains(['*', '?', '[', '/', '%', '#', '$', '{']);
    is_plain.then(|| vec![format!("*{end}")])
}

/// Notes the loss of a section for folders, paths or requests that have no counterpart.
fn other(line: &Line, mappings: &[Mapping], site: &mut Site, draft: &mut Draft) {
    if is_of_elsewhere(line, mappings) {
        return draft.lose(&line.place, &line.text, "this matches no folder that is served");
    }
    let sections: [&[Line]; 1] = [&line.inside];
    let around = Around::of(&sections).without_users();
    let made = around.put(Route { place: Some(line.place.clone()), ..Route::default() }, draft);
    let restricts = made.iter().any(Route::is_restricted)
        || known::restricts(line).is_some()
        || around.handler.is_some()
        || line.inside.iter().any(htaccess::lets_count);
    if line.name == "directorymatch" && is_of_hidden(line.arg(0)) && restricts {
        // Names that begin with a dot are never served.
        return;
    }
    let runs = line
        .inside
        .iter()
        .any(|inside| matches!(inside.name.as_str(), "addhandler" | "addtype") && runs(inside));
    let why = "no route can say which folders, paths or requests this section is about";
    let pattern = match (line.name.as_str(), line.args.as_slice()) {
        ("locationmatch", [regex]) => Some(regex),
        ("location", [sign, regex]) if sign == "~" => Some(regex),
        _ => None,
    };
    match pattern {
        _ if !(restricts || runs) => draft.lose(&line.place, &line.text, why),
        Some(regex) => {
            let pattern = Pattern { regex, any_case: false };
            lost::refuse(site, pattern, &line.place, &line.text, why, draft);
        }
        None => draft.refuse_site(site, &line.place, &line.text, why),
    }
}

/// Whether a section with wildcards matches no folder that is served, and no folder above such a folder.
fn is_of_elsewhere(line: &Line, mappings: &[Mapping]) -> bool {
    let [name] = line.args.as_slice() else { return false };
    let Some(at) = name.find(['*', '?', '[', '$']).filter(|_| line.name == "directory") else { return false };
    // A variable may be anything, with slashes in it.
    let front = name[..at].rsplit_once('/').map_or("", |(front, _)| front);
    let is_near = |mapping: &Mapping| {
        let folder = mapping.folder(&mapping.path);
        folder.is_some_and(|folder| is_beneath(front, &folder) || is_beneath(trimmed(&folder), front))
    };
    !name.contains("${") && !mappings.iter().any(is_near)
}

/// Whether a pattern of folders is for names that begin with a dot, and for no others.
fn is_of_hidden(regex: &str) -> bool {
    let parts = regex.split_once("/\\.").or_else(|| regex.split_once("(^|/)\\."));
    parts.is_some_and(|(front, rest)| !front.contains('|') && is_one_way(rest))
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
