//! A server of nginx.conf, as a site.

use super::known;
use super::level::Level;
use super::lex::Directive;
use super::listen::{self, Listen};
use super::location::{self, Around, Location};
use super::password;
use super::pattern::{self, Paths};
use super::redirect::{self, Names};
use super::settings;
use crate::model::{Draft, Place, Route, Site, shown};

/// A server that was read.
pub(super) struct Server {
    pub(super) site: Site,
    pub(super) listens: Vec<Listen>,
    /// It does nothing but send everybody to https.
    pub(super) is_way_to_tls: bool,
}

/// Reads a server.
pub(super) fn read(server: &Directive, http: &Level, draft: &mut Draft) -> Server {
    let inside = server.inside();
    let mut site = Site { place: Some(server.place.clone()), ..Site::default() };
    names(inside, &mut site, draft);
    let mut listens = Vec::new();
    for one in inside.iter().filter(|one| one.name == "listen") {
        match listen::read(one) {
            Some(listen) => listens.push(listen),
            None => draft.lose(&one.place, &one.shown(), "this is no address"),
        }
    }
    let tls = listens.iter().any(|listen| listen.tls);
    let names = Names { first: site.hosts.first().cloned().unwrap_or_else(|| "localhost".to_owned()), tls };
    let level = http.inner(inside, draft);
    for one in inside {
        note(one, &mut site, draft);
    }
    match whole(server, &level, &names, draft) {
        Some(route) => site.routes.push(route),
        None => locations(server, &level, names, &mut site, draft),
    }
    let is_way_to_tls = matches!(site.routes.as_slice(), [route] if leads_to_tls(route));
    Server { site, listens, is_way_to_tls }
}

fn leads_to_tls(route: &Route) -> bool {
    if route.paths != ["/"] {
        return false;
    }
    let target = route.keys.get("redirect").map(|key| key.value.texts().concat());
    target.is_some_and(|target| target.starts_with("https://"))
}

fn names(inside: &[Directive], site: &mut Site, draft: &mut Draft) {
    for one in inside.iter().filter(|one| one.name == "server_name") {
        for name in &one.args {
            match name.strip_prefix('.') {
                Some(rest) => site.hosts.extend([rest.to_owned(), format!("*.{rest}")]),
                // These are nobody's names: nginx's way to say that a server has none.
                None if matches!(name.as_str(), "_" | "\"\"" | "" | "$hostname") => {}
                None if name.starts_with('~') || name.ends_with(".*") => {
                    draft.lose(
                        &one.place,
                        &format!("server_name {name}"),
                        "names are names, or *.example.org",
                    );
                }
                None => site.hosts.push(name.clone()),
            }
        }
    }
}

/// A `return` or `rewrite` of the server itself, which is for every request.
fn whole(server: &Directive, level: &Level, names: &Names, draft: &mut Draft) -> Option<Route> {
    let one = server.inside().iter().find(|one| matches!(one.name.as_str(), "return" | "rewrite"))?;
    let mut route = Route::new("/", &one.place);
    if one.name == "return" {
        redirect::returns(one, names, level.default_type.as_deref(), &mut route, draft);
    } else {
        let found = redirect::rewrite(one, names).filter(|found| found.path == "/");
        let Some(found) = found else {
            known::tell(one, draft);
            return None;
        };
        route.keys.set("redirect", found.target, &one.place);
        route.keys.set("redirect-status", crate::model::Value::Number(found.status), &one.place);
    }
    level.around(&mut route, true, draft);
    Some(route)
}

/// Locations in locations, in one list, each with what is around it.
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
        };
        all.push((pattern::read(&one.args), location));
        gather(one.inside(), &level, draft, all);
    }
}

fn locations(server: &Directive, level: &Level, names: Names, site: &mut Site, draft: &mut Draft) {
    let mut all = Vec::new();
    gather(server.inside(), level, draft, &mut all);
    let mut around = Around { names, named: Vec::new() };
    let mut others = Vec::new();
    for (paths, location) in all {
        match paths {
            Paths::Named(name) => around.named.push((name, location)),
            paths => others.push((paths, location)),
        }
    }
    // Both /a and /a/ are /a/ here, and the one that says so counts.
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

/// What no location is for: the files of the server's own root.
fn rest(server: &Directive, level: &Level, around: &Around<'_>, site: &mut Site, draft: &mut Draft) {
    let tries: Vec<Directive> =
        server.inside().iter().filter(|one| one.name == "try_files").cloned().collect();
    let location = Location {
        path: "/".to_owned(),
        prefix: "/".to_owned(),
        place: &server.place,
        level: level.clone(),
        directives: &tries,
    };
    site.routes.extend(location::routes(&location, around, draft));
}

/// The routes of one location; `kept`: paths that count before patterns, there as here.
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
    // What stands in a location of hidden names is of no use.
    if !matches!(paths, Paths::Hidden { .. }) || !found.iter().any(Route::keeps_out) {
        draft.absorb(own);
    }
    if is_said(paths, &location, &found, site, draft) {
        site.routes.extend(found);
    }
}

/// Whether the paths of a location are those of its routes; tells where they are others.
fn is_said(
    paths: &Paths,
    location: &Location<'_>,
    found: &[Route],
    site: &mut Site,
    draft: &mut Draft,
) -> bool {
    let place = location.place;
    let what = format!("location {}", location.prefix);
    let kept_out = found.iter().any(Route::keeps_out);
    let restricted = found.iter().any(Route::is_restricted);
    // What a gateway runs is a file somewhere, which would be served as it is.
    let hides = kept_out || (restricted && location.prefix.contains("\\."));
    let (opens, is_lost, why) = match paths {
        Paths::Prefix { path, has_slash: false, .. } => {
            let more = path.trim_end_matches('/');
            let why = format!("it is for {more}x, too, and here for {more} and what is beneath {path}");
            (kept_out, false, why)
        }
        Paths::Ends { any_case: true, .. } => {
            let why = "it is for ends of other cases, too, and here for these alone";
            (restricted, false, why.to_owned())
        }
        Paths::Hidden { all } if kept_out => {
            hide(&what, place, *all, site, draft);
            return false;
        }
        Paths::Hidden { .. } | Paths::Other => {
            (hides, true, "patterns are not there but for ends, as in \\.php$".to_owned())
        }
        Paths::Exact(path) if path.ends_with('/') => {
            let why =
                "a path that ends in a slash has all beneath it here, and cannot stand for itself alone";
            (kept_out, true, why.to_owned())
        }
        _ => return true,
    };
    if opens {
        draft.open(place, &what, &why);
    } else {
        draft.lose(place, &what, &why);
    }
    if opens && is_lost {
        site.refused.push(format!("{place}: {}", shown(&what)));
    }
    !is_lost
}

/// Names that begin with a dot are never served as files; `.well-known` is.
fn hide(what: &str, place: &Place, all: bool, site: &mut Site, draft: &mut Draft) {
    let why = "files whose names begin with a dot are never served; applications are asked for theirs";
    draft.lose(place, what, why);
    if all {
        let mut known = Route::new("/.well-known/", place);
        known.respond(403, place);
        site.routes.push(known);
    }
}

/// Ends count before beginnings in nginx, but for `^~`, and here behind them: folders may have what an end keeps out.
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
            draft.open(
                &place,
                &what,
                &format!("here it counts before {ends}, and would serve such files beneath it"),
            );
            route.refused.extend(guards.iter().map(|(place, ends)| format!("{place}: {}", ends.join(", "))));
        } else if has_ends && !route.is_restricted() {
            draft.lose(&place, &what, "here it counts before patterns of ends, there behind them");
        }
    }
}

/// Takes what is the site's own, and tells of what nothing is made of.
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
