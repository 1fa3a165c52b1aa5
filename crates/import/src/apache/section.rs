//! Directives of a section or an `.htaccess`, as keys of a route: `Directory` from the shortest on, then `Location`.

use super::express;
use crate::apache::clients::access::{self, Access, Old};
use crate::apache::clients::password::Asking;
use crate::apache::language::known;
use crate::apache::language::line::Line;
use crate::model::{Draft, Place, Route, Value, has_end};
use crate::rules::fields;

/// The sections of a site.
#[derive(Clone, Debug, Default)]
pub(super) struct Sections {
    /// Folders, without a slash at their ends, and the lines for each.
    pub(super) folders: Vec<(String, Vec<Line>)>,
    /// Paths, without a slash at their ends, and the lines for each.
    pub(super) paths: Vec<(String, Vec<Line>)>,
    /// `Files` and `FilesMatch`, with the folder that they stand in.
    pub(super) files: Vec<(Option<String>, Line)>,
    /// Lines outside all sections.
    pub(super) all: Vec<Line>,
    /// Sections whose folders or paths have no counterpart.
    pub(super) others: Vec<Line>,
}

impl Sections {
    /// Sorts the lines of a site.
    pub(super) fn of(lines: &[Line]) -> Sections {
        let mut sections = Sections::default();
        for line in lines {
            let name = line.arg(0);
            let is_plain = line.args.len() == 1 && !name.contains(['*', '?', '[']) && !name.contains("${");
            match line.name.as_str() {
                "directory" if is_plain => sections.folder(name, &line.inside),
                "location" if is_plain => {
                    sections.paths.push((trimmed(name).to_owned(), line.inside.clone()));
                }
                "files" | "filesmatch" => sections.files.push((None, line.clone())),
                "virtualhost" => {}
                // Containers of `Require` stand outside all sections in an `.htaccess`.
                "requireall" | "requireany" | "requirenone" => sections.all.push(line.clone()),
                _ if line.is_section => sections.others.push(line.clone()),
                _ => sections.all.push(line.clone()),
            }
        }
        // Shorter folders count first; folders of equal length stay in their order.
        sections.folders.sort_by_key(|(folder, _)| folder.len());
        sections
    }

    /// Adds lines for a folder.
    pub(super) fn folder(&mut self, folder: &str, lines: &[Line]) {
        let folder = trimmed(&spelled(folder)).to_owned();
        let (files, lines): (Vec<Line>, Vec<Line>) =
            lines.iter().cloned().partition(|line| matches!(line.name.as_str(), "files" | "filesmatch"));
        self.files.extend(files.into_iter().map(|line| (Some(folder.clone()), line)));
        self.folders.push((folder, lines));
    }

    /// Returns the lines for folders, paths and the whole site, without the lines for files by their names.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.folders.iter().chain(&self.paths).flat_map(|(_, lines)| lines).chain(&self.all)
    }

    /// Whether any line in the sections denies some clients.
    pub(super) fn restrict(&self) -> bool {
        let folders = self.folders.iter().chain(&self.paths).map(|(_, lines)| lines.as_slice());
        let others = self
            .others
            .iter()
            .chain(self.files.iter().map(|(_, line)| line))
            .map(|line| line.inside.as_slice());
        folders.chain(others).any(|lines| !Around::of(&[lines]).is_open())
    }

    /// Returns the sections that count for a path, and for the folder that answers it, if there is one; the section
    /// with the highest precedence comes last.
    pub(super) fn effective(&self, folder: Option<&str>, path: &str) -> Vec<&[Line]> {
        self.of_file(folder, "", path)
    }

    /// Returns the sections that count for one file, like [`effective`](Sections::effective), and the sections for its
    /// name.
    pub(super) fn of_file(&self, folder: Option<&str>, file: &str, path: &str) -> Vec<&[Line]> {
        let mut all: Vec<&[Line]> = vec![&self.all];
        let has = |outer: &str| folder.is_some_and(|folder| is_beneath(outer, folder));
        let folders = self.folders.iter().filter(|(outer, _)| has(outer));
        all.extend(folders.map(|(_, lines)| lines.as_slice()));
        let name = file.rsplit('/').next().unwrap_or_default();
        let is_named = |line: &Line| !name.is_empty() && line.name == "files" && line.arg(0) == name;
        let files =
            self.files.iter().filter(|(outer, line)| is_named(line) && outer.as_deref().is_none_or(has));
        all.extend(files.map(|(_, line)| line.inside.as_slice()));
        all.extend(
            self.paths.iter().filter(|(outer, _)| is_beneath(outer, path)).map(|(_, lines)| lines.as_slice()),
        );
        all
    }
}

/// Returns a folder as Apache sees it: without empty parts, `.` and `..`.
pub(super) fn spelled(folder: &str) -> String {
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    if !folder.starts_with('/') || !folder.trim_matches('/').split('/').any(is_odd) {
        return folder.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let end = if folder.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

/// Returns a path without slashes at its end.
pub(super) fn trimmed(path: &str) -> &str {
    path.trim_end_matches('/')
}

/// Whether a path, without a slash at its end, is `outer` or beneath it.
pub(super) fn is_beneath(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The lines of sections for a route.
#[derive(Debug, Default)]
pub(super) struct Around<'l> {
    /// Rules of `Order` and its kin, and of `Require`: the two are inherited independently.
    old: Option<Old>,
    required: Option<Access>,
    asking: Asking<'l>,
    /// `LimitExcept`: its line, with the methods, and the lines for all other methods.
    limit: Option<(&'l Line, Box<Around<'l>>)>,
    lines: Vec<&'l Line>,
    pub(super) handler: Option<&'l Line>,
    /// Redirects in a section, which are not read.
    misplaced: Vec<&'l Line>,
    /// Rules that lead paths without a file elsewhere.
    of_absent: Vec<&'l Line>,
}

impl<'l> Around<'l> {
    pub(super) fn of(sections: &[&'l [Line]]) -> Around<'l> {
        let mut around = Around::default();
        let handlers: Vec<&Line> = express::known(sections).collect();
        for (number, section) in sections.iter().enumerate() {
            around.say(access::old(section), access::required(section));
            let mut conditions: Vec<&Line> = Vec::new();
            for line in *section {
                around.asking.take(line);
                let is_of_absent = line.name == "rewriterule" && known::is_for_absent(line, &conditions);
                match line.name.as_str() {
                    "rewritecond" => conditions.push(line),
                    "rewriterule" => conditions.clear(),
                    _ => {}
                }
                match line.name.as_str() {
                    "limitexcept" => {
                        let inside: [&[Line]; 1] = [&line.inside];
                        around.limit = Some((line, Box::new(Around::of(&inside))));
                    }
                    "sethandler" => around.handler = (!line.says(0, "none")).then_some(line),
                    // `ProxyPass` in a section has no path.
                    "proxypass" if line.arg(0).contains("://") => around.handler = Some(line),
                    name if number > 0 && (name.starts_with("redirect") || name.starts_with("alias")) => {
                        around.misplaced.push(line);
                    }
                    // Pages of the whole site are read with the site.
                    "errordocument" if number == 0 => {}
                    _ if express::is_of_rule(line, &handlers) => {}
                    _ if is_of_absent => around.of_absent.push(line),
                    _ => around.lines.push(line),
                }
            }
        }
        around
    }

    /// Takes the access rules of a section; they also replace the rules inside an outer `LimitExcept`.
    fn say(&mut self, old: Option<Old>, required: Option<Access>) {
        if let Some((_, inside)) = &mut self.limit {
            inside.old.take_if(|_| old.is_some());
            inside.required.take_if(|_| required.is_some());
        }
        self.old = old.or(self.old.take());
        self.required = required.or(self.required.take());
    }

    /// Returns the lines with all users denied. Lines for names of files need this, because such names have no route of
    /// their own that could ask for a password.
    pub(super) fn without_users(mut self) -> Around<'l> {
        self.old = self.old.map(Old::without_users);
        self.required = self.required.map(Access::without_users);
        self
    }

    /// Whether everybody is let in, and no lost directive says otherwise.
    pub(super) fn is_open(&self) -> bool {
        let restricts = self.lines.iter().any(|line| known::restricts(line).is_some());
        !restricts && self.limit.is_none() && self.access().is_none_or(|access| access.is_open())
    }

    /// Returns the access rules.
    fn access(&self) -> Option<Access> {
        access::together(self.old.as_ref(), self.required.as_ref())
    }

    /// Writes the lines into a route; returns the routes that it becomes.
    pub(super) fn put(&self, mut route: Route, draft: &mut Draft) -> Vec<Route> {
        for line in &self.lines {
            take(line, &mut route, draft);
        }
        self.keep_from_list(&mut route, draft);
        for line in &self.misplaced {
            let why = "redirects and aliases are read only outside sections";
            if line.arg(0).starts_with(['4', '5']) || line.says(0, "gone") {
                draft.refuse(&mut route, &line.place, &line.text, why);
            } else {
                draft.lose(&line.place, &line.text, why);
            }
        }
        for line in &self.of_absent {
            draft.lose(
                &line.place,
                &line.text,
                "a path without a file is answered 404; try = [\"files\", \"app\"] has the application answer it",
            );
        }
        let mut others = None;
        if let Some((line, inside)) = &self.limit {
            let mut other = route.clone();
            other.place = Some(line.place.clone());
            let old = inside.old.as_ref().or(self.old.as_ref());
            let required = inside.required.as_ref().or(self.required.as_ref());
            if let Some(access) = access::together(old, required) {
                access.say(&self.asking, &mut other, draft);
            }
            self.asking.say_script(&mut other, draft);
            for method in &line.args {
                route.keys.add("methods", &method.to_ascii_uppercase(), &line.place);
            }
            others = Some(other);
        }
        if let Some(access) = self.access() {
            access.say(&self.asking, &mut route, draft);
        }
        self.asking.say_script(&mut route, draft);
        std::iter::once(route).chain(others).collect()
    }
}

impl Around<'_> {
    /// Removes the listing of a folder if Apache would answer it with a page other than index.html.
    fn keep_from_list(&self, route: &mut Route, draft: &mut Draft) {
        let Some(line) = self.lines.iter().rfind(|line| line.name == "directoryindex") else { return };
        let is_other = |name: &String| name != "index.html" && !matches!(name.as_str(), "disabled");
        if route.keys.has("static-listing") && line.args.iter().any(is_other) {
            let why = "here a folder that has one of these pages, and no index.html, would be listed, so no folder is listed";
            draft.lose(&line.place, &line.text, why);
            route.keys.0.retain(|key| key.name != "static-listing");
        }
    }
}

/// Takes one directive.
fn take(line: &Line, route: &mut Route, draft: &mut Draft) {
    let place = &line.place;
    match line.name.as_str() {
        "header" => header(line, route, draft),
        "options" => {
            let says = |word: &str| line.args.iter().any(|arg| arg.eq_ignore_ascii_case(word));
            if (says("indexes") || says("+indexes") || says("all")) && route.keys.has("files") {
                route.keys.set("static-listing", Value::Switch(true), place);
            } else if says("-indexes") || line.args.iter().all(|arg| !arg.starts_with(['+', '-'])) {
                route.keys.0.retain(|key| key.name != "static-listing");
            }
        }
        "expiresdefault" => match expires(&line.args.join(" ")) {
            Some(seconds) => route.keys.set("cache-control", format!("max-age={seconds}"), place),
            None => {
                draft.lose(place, &line.text, "cache-control takes a max-age, which counts from the request");
            }
        },
        "fallbackresource" => {
            let path = route.paths.first().cloned().unwrap_or_default();
            let page = line.arg(0).strip_prefix(&path).unwrap_or_default();
            if has_end(page, "html") && route.keys.has("files") {
                route.keys.set("static-fallback", page, place);
            } else if !line.says(0, "disabled") {
                draft.lose(
                    place,
                    &line.text,
                    "static-fallback is a page of the same folder, such as index.html",
                );
            }
        }
        "wsgierroroverride" if route.keys.has("app") || route.keys.has("scripts") => {
            route.keys.set("intercept-errors", Value::Switch(line.says(0, "on")), place);
        }
        "requestheader" => request_header(line, route, draft),
        // Filters for ends of names become routes of their own.
        "addoutputfilter" if fills_in(line) => {}
        "setoutputfilter" if fills_in(line) => {
            let why =
                "the server runs no instructions inside pages, so the pages would be served as they are";
            draft.refuse(route, place, &line.text, why);
        }
        "directoryindex" if line.args.iter().any(|name| name == "index.html") => {}
        _ => {
            if let Some(why) = known::restricts(line) {
                draft.refuse(route, place, &line.text, why);
            } else {
                known::tell(line, draft);
            }
        }
    }
}

/// Whether a filter runs instructions in the files.
pub(super) fn fills_in(line: &Line) -> bool {
    let filters = line.arg(0).to_ascii_uppercase();
    filters.split(';').any(|filter| filter == "INCLUDES" || filter.contains("PHP"))
}

/// Takes `RequestHeader unset NAME`: an application may believe the field, but files ignore it.
fn request_header(line: &Line, route: &mut Route, draft: &mut Draft) {
    if fields::is_of_proxy(line.arg(1)) {
        draft.lose(&line.place, &line.text, fields::OF_PROXY);
    } else if route.has_files() || route.keys.has("redirect") {
        known::tell(line, draft);
    } else {
        draft.refuse(route, &line.place, &line.text, fields::BELIEVED);
    }
}

/// Takes `Header always set NAME VALUE`.
fn header(line: &Line, route: &mut Route, draft: &mut Draft) {
    let first = usize::from(line.says(0, "always") || line.says(0, "onsuccess"));
    let (action, name, value) =
        (line.arg(first).to_ascii_lowercase(), line.arg(first + 1), line.arg(first + 2));
    let name = name.trim_end_matches(':');
    let has_more = line.args.len() > first + 3 || value.contains("%{") || value.contains("${");
    match action.as_str() {
        "unset" => route.keys.add("remove-headers", name, &line.place),
        "set" | "setifempty" if !has_more => route.keys.pair("headers", name, value, &line.place),
        "add" | "append" | "merge" if !has_more => route.keys.pair("add-headers", name, value, &line.place),
        _ => draft.lose(
            &line.place,
            &line.text,
            "fields can only be set, added or removed, without conditions or variables",
        ),
    }
}

/// Returns the seconds of `access plus 1 month 2 days`, or of `A3600`.
fn expires(text: &str) -> Option<u64> {
    if let Some(seconds) = text.strip_prefix('A') {
        return seconds.parse().ok();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let (["access" | "now", "plus", rest @ ..] | ["access" | "now", rest @ ..]) = words.as_slice() else {
        return None;
    };
    rest.chunks(2).try_fold(0_u64, |sum, pair| {
        let [number, unit] = pair else { return None };
        let scale = match unit.trim_end_matches('s') {
            "second" => 1,
            "minute" => 60,
            "hour" => 3_600,
            "day" => 86_400,
            "week" => 604_800,
            "month" => 2_592_000,
            "year" => 31_536_000,
            _ => return None,
        };
        sum.checked_add(number.parse::<u64>().ok()?.checked_mul(scale)?)
    })
}

/// Has a route answer 503 in place of a target that is not run here.
pub(super) fn unanswered(route: &mut Route, place: &Place, what: &str, draft: &mut Draft) {
    draft.lose(place, what, "the target is not run here; requests are answered 503");
    route.respond(503, place);
}

#[cfg(test)]
mod tests {
    use super::{expires, is_beneath, spelled};

    #[test]
    fn folders_in_one_spelling() {
        let cases = [
            ("/a/b", "/a/b"),
            ("/a//b/", "/a/b/"),
            ("/a/../b", "/b"),
            ("/a/./b/..", "/a"),
            ("/..", "/"),
            ("a/../b", "a/../b"),
        ];
        for (folder, expected) in cases {
            assert_eq!(expected, spelled(folder), "{folder}");
        }
    }

    #[test]
    fn times() {
        let cases = [
            ("access plus 1 month 2 days", Some(2_764_800)),
            ("now plus 1 hours", Some(3_600)),
            ("A60", Some(60)),
            ("modification plus 1 day", None),
            ("access plus", Some(0)),
            ("access plus 1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(expected, expires(text), "{text}");
        }
    }

    #[test]
    fn paths_in_paths() {
        assert_eq!(
            [true, true, true, false],
            [("", "/a"), ("/a", "/a"), ("/a", "/a/b"), ("/a", "/ab")].map(|(a, b)| is_beneath(a, b))
        );
    }
}
