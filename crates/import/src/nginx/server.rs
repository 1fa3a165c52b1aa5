//! A server of nginx.conf, as a site.

use adyton_cli::{Scope, takes};

use super::known;
use super::level::Level;
use super::lex::Directive;
use super::listen::{self, Listen};
use super::location::{self, Around, Location};
use super::password;
use super::pattern::{self, Paths};
use super::redirect::{self, Names};
use super::settings;
use crate::model::{Draft, Place, Route, Site};
use crate::rules::lost;
use crate::text::regex::in_any_case;

/// A server that was read.
pub(super) struct Server {
    pub(super) site: Site,
    pub(super) listens: Vec<Listen>,
    /// Whether the server only sends everybody to https.
    pub(super) is_way_to_tls: bool,
}

/// Reads a server.
pub(super) fn read(server: &Directive, http: &Level, draft: &mut Draft) -> Server {
    let inside = server.inside();
    let mut site = Site { place: Some(server.place.clone()), ..Site::default() };
    names(inside, &mut site);
    let mut listens = Vec::new();
    for one in inside.iter().filter(|one| one.name == "listen") {
        match listen::read(one) {
            Some(listen) => listens.push(listen),
            None => draft.lose(&one.place, &one.shown(), "this is no address"),
        }
    }
    let ssl = inside.iter().rfind(|one| one.name == "ssl").map_or(http.ssl, |one| one.arg(0) == "on");
    for listen in &mut listens {
        listen.tls |= ssl;
    }
    let tls = listens.iter().any(|listen| listen.tls);
    let names = Names { first: site.hosts.first().cloned().unwrap_or_else(|| "localhost".to_owned()), tls };
    let is_clear = (listens.is_empty() && !ssl) || listens.iter().any(|listen| !listen.tls);
    let level = http.served(is_clear).inner(inside, draft);
    for one in inside {
        note(one, &mut site, draft);
    }
    if !whole(server, &level, &names, &mut site, draft) {
        locations(server, &level, names, &mut site, draft);
    }
    let is_way_to_tls = matches!(site.routes.as_slice(), [route] if leads_to_tls(route));
    Server { site, listens, is_way_to_tls }
}

fn leads_to_tls(route: &Route) -> bool {
    route.paths == ["/"] && leads_to_tls_from(route)
}

fn leads_to_tls_from(route: &Route) -> bool {
    let target = route.keys.get("redirect").map(|key| key.value.texts().concat());
    target.is_some_and(|target| target.starts_with("https://"))
}

fn names(inside: &[Directive], site: &mut Site) {
    for one in inside.iter().filter(|one| one.name == "server_name") {
        for name in &one.args {
            match name.strip_prefix('.') {
                Some(rest) => site.hosts.extend([rest.to_owned(), format!("*.{rest}")]),
                // Names like `_` match no host: they are nginx's way to say that a server has no name.
                None if matches!(name.as_str(), "_" | "\"\"" | "") => {}
                None if name.starts_with(['~', '$']) || takes(Scope::Site, "hosts", name).is_err() => {
                    site.patterns.push((one.place.clone(), format!("server_name {name}")));
                }
                None => site.hosts.push(name.clone()),
            }
        }
    }
}

/// Makes routes of `return` and `rewrite` in the server itself; returns whether one of them is for every request.
fn whole(server: &Directive, level: &Level, names: &Names, site: &mut Site, draft: &mut Draft) -> bool {
    let mut lost = Vec::new();
    for one in server.inside() {
        let mut route = Route::new("/", &one.place);
        match one.name.as_str() {
            "return" => redirect::returns(one, names, level.default_type.as_deref(), &mut route, draft),
            "rewrite" => {
                let Some(found) = redirect::rewrite(one, names) else {
                    lost.push(one);
                    continue;
                };
                route.paths = vec![found.path];
                route.keys.set("redirect", found.target, &one.place);
                route.keys.set("redirect-status", crate::model::Value::Number(found.status), &one.place);
            }
            _ => continue,
        }
        let is_whole = route.paths == ["/"];
        if is_whole {
            for one in lost.drain(..) {
                location::lose_rewrite(one, level, &mut route, draft);
            }
        }
        level.around(&mut route, true, draft);
        site.routes.push(route);
        if is_whole {
            return true;
        }
    }
    for one in lost {
        let mut route = Route::default();
        location::lose_rewrite(one, level, &mut route, draft);
        site.refused.extend(route.refused);
    }
    false
}

/// Gathers all locations, also nested locations, each with its level.
fn gather<'d>(
    outer: &'d [Directive],
    level: &Level,
    draft: &mut Draft,
    all: &mut Vec<(Paths, Location<'d>)>,
) {
    for one in outer.iter().filter(|one| one.name == "location") {
        let level = level.inner(one.inside(), draft);
        let location = Location {
            path: String::new(),
            prefix: one.args.last().cloned().unwrap_or_default(),
            place: &one.place,
            level: level.clone(),
            directives: one.inside(),
            directive: Some(one),
        };
        all.push((pattern::read(&one.args), location));
        gather(one.inside(), &level, draft, all);
    }
}

fn locations(server: &Directive, level: &Level, names: Names, site: &mut Site, draft: &mut Draft) {
    let mut all = Vec::new();
    gather(server.inside(), level, draft, &mut all);
    let prefixes = all.iter().filter(|(paths, _)| matches!(paths, Paths::Prefix { .. } | Paths::Exact(_)));
    let prefixes = prefixes.map(|(_, location)| location.prefix.clone()).collect();
    let mut around = Around { names, named: Vec::new(), prefixes };
    let mut others = Vec::new();
    for (paths, location) in all {
        match paths {
            Paths::Named(name) => around.named.push((name, location)),
            paths => others.push((paths, location)),
        }
    }
    // Both /a and /a/ become /a/; the location whose path is exactly that counts.
    others.sort_by_key(|(paths, _)| matches!(paths, Paths::Prefix { has_slash: false, .. }));
    let mut kept = Vec::new();
    for (paths, location) in others {
        routes(&paths, location, &around, site, &mut kept, draft);
    }
    if !site.routes.iter().any(|route| route.paths.iter().any(|path| path == "/")) {
        rest(server, level, &around, site, draft);
    }
    order(site, &kept, draft);
}

/// Makes the routes of paths without a location: the files of the server's own root.
fn rest(server: &Directive, level: &Level, around: &Around<'_>, site: &mut Site, draft: &mut Draft) {
    let tries: Vec<Directive> =
        server.inside().iter().filter(|one| one.name == "try_files").cloned().collect();
    let location = Location {
        path: "/".to_owned(),
        prefix: "/".to_owned(),
        place: &server.place,
        level: level.clone(),
        directives: &tries,
        directive: None,
    };
    site.routes.extend(location::routes(&location, around, draft));
}

/// Makes the routes of one location; `kept` gets paths that take precedence over patterns in nginx, too.
fn routes(
    paths: &Paths,
    mut location: Location<'_>,
    around: &Around<'_>,
    site: &mut Site,
    kept: &mut Vec<String>,
    draft: &mut Draft,
) {
    let written = paths.written();
    if let Paths::Prefix { path, before_patterns: true, .. } = paths {
        kept.push(path.clone());
    }
    location.path = written.first().cloned().unwrap_or_default();
    let mut own = Draft::default();
    let mut found = location::routes(&location, around, &mut own);
    for route in &mut found {
        route.paths.extend(written.iter().skip(1).cloned());
    }
    // The losses of a location of hidden names do not matter, if it denies clients.
    if !matches!(paths, Paths::Hidden { .. }) || !found.iter().any(Route::keeps_out) {
        draft.absorb(own);
    }
    let of_any_case = match paths {
        Paths::Ends { ends, any_case: true } => in_any_case(ends),
        _ => None,
    };
    if let (Some(ends), true) = (of_any_case, found.iter().any(Route::is_restricted)) {
        for route in &mut found {
            route.paths.clone_from(&ends);
        }
        site.routes.extend(found);
        return;
    }
    if is_said(paths, &location, &found, around, site, draft) {
        site.routes.extend(found);
    }
}

/// Whether another location must not answer instead: this one denies some clients, stands for a gateway, or leads to
/// TLS.
fn matters(found: &[Route], location: &Location<'_>) -> bool {
    let leads = |route: &Route| location.level.is_clear() && leads_to_tls_from(route);
    found.iter().any(|route| route.is_restricted() || leads(route))
}

/// Whether other files would be served without the location.
fn has_own_files(location: &Location<'_>) -> bool {
    let is_one = |one: &&Directive| {
        matches!(one.name.as_str(), "root" | "alias" | "try_files" | "rewrite" | "internal")
    };
    location.directives.iter().find(is_one).is_some()
}

/// Whether the location's routes are written; notes a loss if their paths differ from the location's.
fn is_said(
    paths: &Paths,
    location: &Location<'_>,
    found: &[Route],
    around: &Around<'_>,
    site: &mut Site,
    draft: &mut Draft,
) -> bool {
    let place = location.place;
    let what = format!("location {}", location.prefix);
    let kept_out = found.iter().any(Route::keeps_out);
    let matters = matters(found, location);
    match paths {
        Paths::Prefix { path, has_slash: false, .. } => {
            spread(path, location, matters, around, site, draft);
            true
        }
        Paths::Ends { any_case: true, .. } => {
            let why = "in nginx this pattern matches letters of either case; here it matches only the case that is written";
            if matters {
                draft.refuse_site(site, place, &what, why);
            } else {
                draft.lose(place, &what, why);
            }
            true
        }
        Paths::Hidden { all } if kept_out => {
            hide(&what, place, *all, site, draft);
            false
        }
        Paths::Hidden { .. } | Paths::Other => {
            let why = "a route cannot have a regular expression, unless it is an ending such as \\.php$";
            let pattern = pattern::regex(location.directive);
            match pattern.filter(|_| matters || has_own_files(location)) {
                Some(pattern) => lost::refuse(site, pattern, place, &what, why, draft),
                None => draft.lose(place, &what, why),
            }
            false
        }
        Paths::Exact(path) if path.ends_with('/') => {
            let why = "here a path that ends in a slash includes all paths beneath it, and cannot stand for itself only";
            if matters {
                draft.refuse_site(site, place, &what, why);
            } else {
                draft.lose(place, &what, why);
            }
            false
        }
        _ => true,
    }
}

/// Leads paths such as `/ab` to `location /a`, which answers them in nginx, unless another location may match them.
fn spread(
    path: &str,
    location: &Location<'_>,
    matters: bool,
    around: &Around<'_>,
    site: &mut Site,
    draft: &mut Draft,
) {
    let (place, what, front) =
        (location.place, format!("location {}", location.prefix), path.trim_end_matches('/'));
    let is_longer = |other: &String| {
        other
            .strip_prefix(front)
            .is_some_and(|rest| rest == "/" || !rest.is_empty() && !rest.starts_with('/'))
    };
    if !matters {
        let why = format!(
            "in nginx this location also matches {front}x; here it matches only {front} and paths beneath {path}"
        );
        draft.lose(place, &what, &why);
    } else if !around.prefixes.iter().any(is_longer) && lost::lead(site, path, place) {
        let why = format!("in nginx this location also matches {front}x; here such a path is led to {path}");
        draft.lose(place, &what, &why);
    } else {
        let why = format!(
            "in nginx this location also matches {front}x; here it matches only {front} and paths beneath {path}"
        );
        draft.refuse_site(site, place, &what, &why);
    }
}

/// Notes that names with a dot in front are never served as files, and refuses `.well-known`, which would be served.
fn hide(what: &str, place: &Place, all: bool, site: &mut Site, draft: &mut Draft) {
    let why =
        "files whose names begin with a dot are never served; but applications get requests for such names";
    draft.lose(place, what, why);
    if all {
        let mut known = Route::new("/.well-known/", place);
        known.respond(403, place);
        site.routes.push(known);
    }
}

/// Has a folder refuse if it would serve files that a suffix denies: in nginx a suffix takes precedence over a prefix,
/// unless the prefix says `^~`; in Adyton the prefix does.
fn order(site: &mut Site, kept: &[String], draft: &mut Draft) {
    let guards: Vec<(String, Vec<String>)> = site
        .routes
        .iter()
        .filter(|route| route.is_restricted() && route.paths.iter().any(|path| path.starts_with('*')))
        .map(|route| (route.place.as_ref().map(ToString::to_string).unwrap_or_default(), route.paths.clone()))
        .collect();
    let has_ends = site.routes.iter().any(|route| route.paths.iter().any(|path| path.starts_with('*')));
    for route in &mut site.routes {
        let Some(path) =
            route.paths.first().filter(|path| path.len() > 1 && path.starts_with('/') && path.ends_with('/'))
        else {
            continue;
        };
        let Some(place) = route.place.clone().filter(|_| !kept.contains(path)) else { continue };
        let what = format!("location {path}");
        if route.keys.has("files") && !guards.is_empty() {
            let ends = guards.iter().flat_map(|(_, ends)| ends.clone()).collect::<Vec<_>>().join(", ");
            let why = format!(
                "here this path takes precedence over {ends}, and such files beneath it would be served"
            );
            draft.open(&place, &what, &why);
            route.refused.extend(guards.iter().map(|(place, ends)| format!("{place}: {}", ends.join(", "))));
        } else if has_ends && !route.is_restricted() {
            draft.lose(
                &place,
                &what,
                "here this location takes precedence over patterns of ends; in nginx the patterns do",
            );
        }
    }
}

/// Takes a setting of the site, and notes the loss of a directive that has no counterpart.
fn note(one: &Directive, site: &mut Site, draft: &mut Draft) {
    const READ: [&str; 16] = [
        "listen",
        "server_name",
        "root",
        "location",
        "return",
        "rewrite",
        "allow",
        "deny",
        "satisfy",
        "autoindex",
        "add_header",
        "expires",
        "default_type",
        "try_files",
        "limit_except",
        "error_page",
    ];
    let name = one.name.as_str();
    let is_usual_index = name == "index" && one.args.iter().any(|arg| arg == "index.html");
    let is_read = READ.contains(&name)
        || password::NAMES.contains(&name)
        || is_usual_index
        || known::restricts(one).is_some();
    if !is_read && !settings::take(one, settings::Table::Site, &mut site.keys, draft) {
        known::tell(one, draft);
    }
}
