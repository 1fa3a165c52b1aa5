//! A location of nginx.conf, as one route or several.

use super::known;
use super::level::{self, Level};
use super::lex::Directive;
use super::password;
use super::redirect::{self, Names};
use crate::model::{Draft, Place, Route, Value, has_end};

/// A location, with the directives in it and the level around them.
pub(super) struct Location<'d> {
    /// The path as a route has it.
    pub(super) path: String,
    /// The path as nginx has it, which `alias` replaces.
    pub(super) prefix: String,
    pub(super) place: &'d Place,
    pub(super) level: Level,
    pub(super) directives: &'d [Directive],
    /// The location itself; `None` for the rest of a server's paths.
    pub(super) directive: Option<&'d Directive>,
}

/// Facts about a server that its routes need.
pub(super) struct Around<'d> {
    pub(super) names: Names,
    /// Each `location @name`.
    pub(super) named: Vec<(String, Location<'d>)>,
    /// Paths of all locations, as nginx has them.
    pub(super) prefixes: Vec<String>,
}

/// Returns the routes of a location: the first route answers, and the others answer requests that the first leaves to
/// them.
pub(super) fn routes(location: &Location<'_>, around: &Around<'_>, draft: &mut Draft) -> Vec<Route> {
    let mut all = Vec::new();
    let find = |name: &str| location.directives.iter().find(|one| one.name == name);
    for directive in location.directives {
        note(directive, draft);
    }
    let led = led(location, around, draft);
    let answers_all = led.route.is_some();
    let mut route = led.route.unwrap_or_else(|| Route::new(&location.path, location.place));
    if !answers_all {
        act(location, around, &mut route, &mut all, draft);
    }
    if let Some(one) = find("internal") {
        let why = "clients are answered 404; if applications redirect there internally, write internal-redirects in the site, and internal in this route";
        draft.lose(&one.place, "internal", why);
        route.respond(404, &one.place);
        all.clear();
    }
    for one in led.lost {
        lose_rewrite(one, &location.level, &mut route, draft);
    }
    location.level.around(&mut route, answers_all, draft);
    let mut routes = match find("limit_except") {
        Some(one) if !answers_all => limited(one, route, &location.level, draft),
        _ => vec![route],
    };
    routes.append(&mut all);
    routes.extend(led.inner);
    routes
}

/// The result of the `rewrite` and `return` of a location.
struct Led<'d> {
    /// The route that answers every request of the location, if there is one.
    route: Option<Route>,
    /// Redirects of a part of the location.
    inner: Vec<Route>,
    /// Rules without a counterpart.
    lost: Vec<&'d Directive>,
}

/// Reads the rules in their order, up to one that answers everything.
fn led<'d>(location: &Location<'d>, around: &Around<'_>, draft: &mut Draft) -> Led<'d> {
    let mut led = Led { route: None, inner: Vec::new(), lost: Vec::new() };
    for one in location.directives {
        match one.name.as_str() {
            "return" => {
                let mut route = Route::new(&location.path, location.place);
                let kind = location.level.default_type.as_deref();
                redirect::returns(one, &around.names, kind, &mut route, draft);
                led.route = Some(route);
                return led;
            }
            "rewrite" => {
                let found = redirect::rewrite(one, &around.names)
                    .filter(|found| found.path.starts_with(&location.prefix) || found.path == "/");
                let Some(found) = found else {
                    led.lost.push(one);
                    continue;
                };
                let is_whole =
                    found.path == "/" || found.path == location.path || found.path == location.prefix;
                let path = if found.path == "/" { &location.path } else { &found.path };
                let mut route = Route::new(path, &one.place);
                route.keys.set("redirect", found.target, &one.place);
                route.keys.set("redirect-status", Value::Number(found.status), &one.place);
                if is_whole {
                    led.route = Some(route);
                    return led;
                }
                location.level.around(&mut route, true, draft);
                led.inner.push(route);
            }
            _ => {}
        }
    }
    led
}

/// Notes the loss of a `rewrite`. The route refuses if it would answer requests that the rule leads elsewhere, or serve
/// them without TLS.
pub(super) fn lose_rewrite(one: &Directive, level: &Level, route: &mut Route, draft: &mut Draft) {
    let is_harmless = if level::redirects(one) {
        !(level.is_clear() && level::leads_to_tls(one))
    } else {
        // A route that stands for a gateway serves nothing.
        route.refuses()
    };
    if is_harmless || route.is_closed() {
        draft.lose(&one.place, &one.shown(), known::REWRITE);
    } else {
        draft.refuse(route, &one.place, &one.shown(), known::REWRITE);
    }
}

/// Sets the action of a route: a gateway, which has no counterpart, or files, or none.
fn act(
    location: &Location<'_>,
    around: &Around<'_>,
    route: &mut Route,
    all: &mut Vec<Route>,
    draft: &mut Draft,
) {
    let find = |name: &str| location.directives.iter().find(|one| one.name == name);
    if let Some(one) = location.directives.iter().find(|one| is_gateway(&one.name)) {
        let mount = mounted(location).map(|path| format!(" and mount = \"{path}\"")).unwrap_or_default();
        let why = format!(
            "requests are not passed on to other servers; for a Python application write app = \"module:name\"{mount} in the place of respond"
        );
        draft.lose(&one.place, &one.shown(), &why);
        route.respond(503, &one.place);
        location.level.give(route, draft);
        return;
    }
    if let Some(one) = find("stub_status") {
        draft.lose(&one.place, "stub_status", "the setting admin opens an address with metrics");
        route.respond(404, &one.place);
        return;
    }
    files(location, route, draft);
    if let Some(one) = find("try_files") {
        tries(one, location, around, route, all, draft);
    }
}

/// Returns the path where the application behind a gateway is mounted: nginx tells it a `SCRIPT_NAME`, or leaves the
/// path out.
fn mounted<'l>(location: &'l Location<'_>) -> Option<&'l str> {
    let path = location.path.strip_suffix('/').filter(|path| !path.is_empty())?;
    let tells = |one: &Directive| match one.name.as_str() {
        "uwsgi_param" | "fastcgi_param" | "scgi_param" => one.arg(0) == "SCRIPT_NAME",
        "proxy_set_header" => ["SCRIPT_NAME", "X-Script-Name", "X-Forwarded-Prefix"].contains(&one.arg(0)),
        _ => false,
    };
    // A path behind the address replaces the location's.
    let leaves_out = |one: &Directive| {
        let rest = one.arg(0).split_once("://").map_or("", |(_, rest)| rest);
        one.name == "proxy_pass" && !rest.contains('$') && rest.trim_start_matches("unix:/").ends_with('/')
    };
    let told = location.directives.iter().find(|one| tells(one)).map(|one| one.arg(1).trim_end_matches('/'));
    match told {
        Some(told) => Some(told).filter(|told| told.starts_with('/') && !told.contains('$')),
        None => location.directives.iter().any(leaves_out).then_some(path),
    }
}

fn is_gateway(name: &str) -> bool {
    matches!(
        name,
        "proxy_pass" | "fastcgi_pass" | "uwsgi_pass" | "scgi_pass" | "grpc_pass" | "memcached_pass"
    )
}

/// Sets the folder of `alias` or `root`.
fn files(location: &Location<'_>, route: &mut Route, draft: &mut Draft) {
    let alias = location.directives.iter().find(|one| one.name == "alias");
    if let Some(one) = alias {
        return match aliased(location, one.arg(0)) {
            Some(folder) if !folder.contains('$') => route.keys.set("files", folder, &one.place),
            _ => {
                let why = "the path of the location and the path of alias end differently; requests are answered 503";
                draft.lose(&one.place, &one.shown(), why);
                route.respond(503, &one.place);
            }
        };
    }
    match &location.level.root {
        Some((root, place)) if !root.contains('$') => {
            let beneath = if location.path.ends_with('/') { location.prefix.trim_matches('/') } else { "" };
            if !root.starts_with('/') {
                let why = "in nginx this name is relative to nginx's own folder, and here to the folder of the file of sites";
                draft.lose(place, &format!("root {root}"), why);
            }
            let root = root.trim_end_matches('/');
            let folder = match (root, beneath) {
                ("", "") => "/".to_owned(),
                (root, "") => root.to_owned(),
                (root, beneath) => format!("{root}/{beneath}"),
            };
            route.keys.set("files", folder, place);
        }
        Some((root, place)) => {
            draft.lose(place, &format!("root {root}"), "variables do not exist here");
            route.respond(503, place);
        }
        None => {
            let why =
                "no root is given, and nginx's default root is not known here; requests are answered 503";
            draft.lose(location.place, &format!("location {}", location.prefix), why);
            route.respond(503, location.place);
        }
    }
}

/// Returns the folder that replaces the location's path.
fn aliased(location: &Location<'_>, alias: &str) -> Option<String> {
    let is_prefix = location.path.ends_with('/');
    match (is_prefix, location.prefix.ends_with('/'), alias.ends_with('/')) {
        // The rest of the path is put behind the alias: both end in a slash, or neither does.
        (true, true, true) | (true, false, false) => {
            let folder = alias.trim_end_matches('/');
            Some(if folder.is_empty() { "/".to_owned() } else { folder.to_owned() })
        }
        // The alias of a single path is a file. If the file's name ends in that path, the folder is the part in front.
        (false, false, false) => alias
            .strip_suffix(location.prefix.as_str())
            .map(str::to_owned)
            .filter(|folder| !folder.is_empty()),
        _ => None,
    }
}

/// Reads `try_files $uri $uri/ @app`.
fn tries(
    one: &Directive,
    location: &Location<'_>,
    around: &Around<'_>,
    route: &mut Route,
    all: &mut Vec<Route>,
    draft: &mut Draft,
) {
    let Some((last, tried)) = one.args.split_last() else { return };
    let place = &one.place;
    let is_own = |one: &String| matches!(one.as_str(), "$uri" | "$uri/" | "$uri/index.html");
    if !tried.iter().all(is_own) || !route.keys.has("files") {
        let why = "only $uri and $uri/ are tried, as files of a folder";
        if tried.first().is_some_and(is_own) || !route.keys.has("files") {
            draft.lose(place, &one.shown(), why);
        } else {
            // Adyton would serve files that nginx does not look for.
            draft.refuse(route, place, &one.shown(), why);
        }
        return;
    }
    if tried.is_empty() {
        let why = "nginx does not look for files of the folder here, but Adyton would serve them";
        return draft.refuse(route, place, &one.shown(), why);
    }
    if last.starts_with('=') {
        if last != "=404" {
            draft.lose(place, &one.shown(), "a file that the folder lacks is answered 404");
        }
        return;
    }
    if let Some(name) = last.strip_prefix('@') {
        let Some((_, next)) = around.named.iter().find(|(other, _)| other == name) else {
            draft.lose(place, &one.shown(), "there is no such location");
            return;
        };
        route.keys.set("static-fall-through", Value::Switch(true), place);
        if tried.iter().all(|one| one == "$uri") {
            let why =
                "for a folder that has an index.html, Adyton sends that file, and nginx asks the location";
            draft.lose(place, &one.shown(), why);
        }
        let path = location.path.clone();
        let next = Location { path, prefix: location.prefix.clone(), level: next.level.clone(), ..*next };
        all.extend(routes(&next, around, draft));
        return;
    }
    let page = last.split('?').next().unwrap_or(last);
    let beneath = page.strip_prefix(&location.prefix).map(|page| page.trim_start_matches('/'));
    match beneath.filter(|page| has_end(page, "html") && !page.contains('$')) {
        Some(page) => {
            route.keys.set("static-fallback", page, place);
            let why = "the last page answers only requests that accept HTML and whose path ends without an extension; others are answered 404";
            draft.lose(place, &one.shown(), why);
        }
        None => draft.lose(
            place,
            &one.shown(),
            "the last word has to be a page of the same folder, or a location @name",
        ),
    }
}

/// Reads `limit_except GET { deny all; }`: returns the route for these methods, and a route for all other methods.
fn limited(one: &Directive, mut route: Route, level: &Level, draft: &mut Draft) -> Vec<Route> {
    let mut others = route.clone();
    for method in &one.args {
        route.keys.add("methods", &method.to_ascii_uppercase(), &one.place);
    }
    others.place = Some(one.place.clone());
    others.keys.0.retain(|key| !matches!(key.name, "allow" | "deny") && !key.name.starts_with("auth"));
    level.inner(one.inside(), draft).guard(&mut others, draft);
    for inside in one.inside() {
        let Some(why) = known::restricts(inside) else { continue };
        draft.refuse(&mut others, &inside.place, &inside.shown(), why);
    }
    vec![route, others]
}

/// Notes the loss of a location's directive that has no counterpart.
fn note(directive: &Directive, draft: &mut Draft) {
    const READ: [&str; 18] = [
        "root",
        "alias",
        "index",
        "try_files",
        "return",
        "rewrite",
        "internal",
        "allow",
        "deny",
        "satisfy",
        "autoindex",
        "add_header",
        "expires",
        "limit_except",
        "location",
        "stub_status",
        "default_type",
        "break",
    ];
    let name = directive.name.as_str();
    let is_usual_index = name == "index" && directive.args.iter().any(|arg| arg == "index.html");
    if ((READ.contains(&name) || password::NAMES.contains(&name)) && (name != "index" || is_usual_index))
        || known::restricts(directive).is_some()
    {
        return;
    }
    match name {
        "client_max_body_size"
        | "access_log"
        | "error_log"
        | "keepalive_timeout"
        | "client_body_timeout"
        | "send_timeout" => {
            draft.lose(&directive.place, &directive.shown(), "here this is a key of a site, not of a route");
        }
        _ if is_gateway(name) => {}
        _ => known::tell(directive, draft),
    }
}
