//! Answers that cannot be right, and keys that have no effect on the action of their route.

use adyton_route::PathPattern;

use crate::command::target::Target;
use crate::settings::said::Fault;
use crate::settings::typed::{Mount, SiteAction, SiteRoute, Sites};
use crate::sites::{ACTIONS, written};

/// Finds answers that can never be right.
pub(super) fn mistakes(sites: &Sites) -> Vec<Fault> {
    let mut all = Vec::new();
    for route in sites.routes() {
        let (status, has_body) = match &route.action {
            SiteAction::Status(status) => (*status, false),
            SiteAction::Text { status, .. } => (*status, true),
            _ => continue,
        };
        if let Some(why) = wrong_status(route, status) {
            all.push(Fault { at: route.said_at("respond"), what: format!("respond = {status}: {why}") });
        }
        if has_body && matches!(status, 204 | 205) {
            let what = format!("body: an answer with the status {status} has none; leave it out");
            all.push(Fault { at: route.said_at("body"), what });
        }
    }
    all
}

/// Returns the reason if an answer that is always the same cannot have this status.
fn wrong_status(route: &SiteRoute, status: u16) -> Option<&'static str> {
    match status {
        304 => Some(
            "it says that a condition of the request holds, but respond checks no conditions; files = does, and 204 \
             has no body either",
        ),
        206 => Some("it is for a part of a file, which files = answers"),
        301 | 302 | 303 | 307 | 308 if !may_have_field(route, "Location") => {
            Some("it needs a target for the client, and respond has none; write redirect = \"/new\" instead")
        }
        _ => None,
    }
}

/// Whether answers of a route have this field, as far as the file was understood.
fn may_have_field(route: &SiteRoute, name: &str) -> bool {
    let mut fields = route.settings.answers.headers.iter().chain(&route.settings.answers.add_headers);
    fields.any(|(other, _)| other.eq_ignore_ascii_case(name))
        || route.settings.is_any_unread(&["headers", "add-headers", "redirect"])
}

/// Finds answers and keys that are doubtful, but may be intended.
pub(super) fn warnings(sites: &Sites) -> Vec<Fault> {
    let mut all: Vec<Fault> = sites.routes().filter_map(unasked).collect();
    all.extend(sites.routes().flat_map(idle_mounts));
    all.extend(idle_keys(sites));
    all
}

/// Finds an answer 401 that does not tell the client how to send a password.
fn unasked(route: &SiteRoute) -> Option<Fault> {
    let status = match &route.action {
        SiteAction::Status(status) | SiteAction::Text { status, .. } => *status,
        _ => return None,
    };
    let what = "respond = 401: without WWW-Authenticate it does not tell a client how to sign in; use auth to ask \
                for a password, or respond = 403 to refuse";
    (status == 401 && !may_have_field(route, "WWW-Authenticate"))
        .then(|| Fault { at: route.said_at("respond"), what: what.to_owned() })
}

/// Finds paths of a route for which the application is mounted at the root although `mount` is on.
fn idle_mounts(route: &SiteRoute) -> Vec<Fault> {
    let is_unread = route.settings.is_unread("path");
    if route.mount != Mount::Route || !matches!(route.action, SiteAction::App(_)) || is_unread {
        return Vec::new();
    }
    let idle = route.paths.iter().filter(|path| route.mount.bytes(path) == Some(0));
    let fault = |path: &PathPattern| Fault {
        at: route.said_at("mount"),
        what: format!(
            "mount: for {} the application is mounted at the root anyway; give the route a path, as /shop/, or leave \
             mount out",
            written(path)
        ),
    };
    idle.map(fault).collect()
}

/// Whether a key has an effect on a route.
type Use = fn(&Sites, &SiteRoute) -> bool;

/// Keys that a route sets for itself, each with the action that it is for, and whether a route has that action.
const USES: [(&str, &str, Use); 16] = [
    ("static-listing", "files", is_files),
    ("static-404", "files", is_files),
    ("static-fallback", "files", is_files),
    ("static-fall-through", "files", is_files),
    ("static-precompressed", "files", is_files),
    ("factory", "app", is_app),
    ("interface", "app and scripts", is_called),
    ("x-sendfile", "applications and scripts", is_program),
    ("internal-redirects", "applications and scripts", is_program),
    ("intercept-errors", "applications and scripts", is_program),
    ("cache", "applications and scripts", is_program),
    ("cgi-timeout", "cgi", is_cgi),
    ("cgi-memory-limit", "cgi", is_cgi),
    ("cgi-user-processes-max", "cgi", is_cgi),
    ("cgi-environment", "cgi", is_cgi),
    ("cgi-interpreters", "files with may-set = [\"cgi\"]", has_programs),
];

fn is_files(_: &Sites, route: &SiteRoute) -> bool {
    matches!(route.action, SiteAction::Files(_))
}

fn is_app(sites: &Sites, route: &SiteRoute) -> bool {
    matches!(&route.action, SiteAction::App(number) if !matches!(sites.apps[*number].target, Target::Scripts(_)))
}

fn is_called(_: &Sites, route: &SiteRoute) -> bool {
    matches!(route.action, SiteAction::App(_)) || route.pages.is_some()
}

fn is_program(sites: &Sites, route: &SiteRoute) -> bool {
    is_called(sites, route) || is_cgi(sites, route)
}

fn is_cgi(sites: &Sites, route: &SiteRoute) -> bool {
    matches!(route.action, SiteAction::Cgi(_)) || has_programs(sites, route)
}

/// Whether folders of a route may have their programs run.
fn has_programs(sites: &Sites, route: &SiteRoute) -> bool {
    is_files(sites, route) && route.settings.lets_folders_run()
}

/// Finds keys of routes that have no effect on the action there.
fn idle_keys(sites: &Sites) -> Vec<Fault> {
    let mut all = Vec::new();
    for site in &sites.sites {
        for (number, route) in site.routes.iter().enumerate() {
            let is_first = number == 0 || !site.routes[number - 1].said.table.is_same(&route.said.table);
            if !is_first || route.settings.is_any_unread(&ACTIONS) {
                continue;
            }
            // A table that tries files first makes two routes.
            let of_table = || {
                site.routes[number..].iter().take_while(|other| other.said.table.is_same(&route.said.table))
            };
            for (name, whose, uses) in USES {
                let at = route.settings.said_at(name);
                let is_own = at.is_in_file() && !at.is_same(&site.settings.said_at(name));
                if is_own && !of_table().any(|route| uses(sites, route)) {
                    let what = format!("{name}: it has no effect here: it is only for {whose}; leave it out");
                    all.push(Fault { at, what });
                }
            }
        }
    }
    all
}
