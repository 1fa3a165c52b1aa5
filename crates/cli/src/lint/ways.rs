//! Ways around a guard: a route authenticates clients, but only for some requests, and other requests reach a route
//! that authenticates nobody.

use adyton_route::{PathPattern, When};

use crate::rows::access::everybody;
use crate::settings::said::Fault;
use crate::settings::typed::{Settings, Site, SiteAction, SiteRoute, Sites};
use crate::sites::{ACTIONS, MATCHING, conditions, written};

/// A name that no route has, for a path beneath one.
const ANY_NAME: &str = "/-";

/// Keys that say who is let in.
const GUARDS: [&str; 4] = ["auth", "allow", "allow-python", "deny"];

/// Methods that change nothing.
const SAFE: [&[u8]; 3] = [b"GET", b"HEAD", b"OPTIONS"];

/// Finds routes whose guard can be walked around.
pub(super) fn warnings(sites: &Sites) -> Vec<Fault> {
    sites.sites.iter().flat_map(of_site).collect()
}

fn of_site(site: &Site) -> Vec<Fault> {
    let has_unread = |keys: &[&str]| site.routes.iter().any(|route| route.settings.is_any_unread(keys));
    if has_unread(&MATCHING) || has_unread(&ACTIONS) || has_unread(&GUARDS) || has_unread(&["routes"]) {
        return Vec::new();
    }
    let table = site.table();
    let guarded = site
        .routes
        .iter()
        .enumerate()
        .filter(|(_, route)| route.when != When::default() && is_guarded(route));
    let mut all: Vec<Fault> = Vec::new();
    for (number, route) in guarded {
        let told_before = all.len();
        for path in route.paths.iter().flat_map(|path| paths_of(path, site)) {
            let behind = table.of(&path).skip_while(|(_, _, other)| other.number != number).skip(1);
            for (_, pattern, other) in behind {
                let other = other.route;
                if is_way(route, other) && all.len() == told_before {
                    all.push(warning(route, other, pattern));
                }
                if other.when == When::default() {
                    break;
                }
            }
        }
    }
    all
}

/// Returns sample paths that a pattern matches: for a prefix, one more for each suffix that a route of the site has,
/// because that route may also match.
fn paths_of(pattern: &PathPattern, site: &Site) -> Vec<Vec<u8>> {
    let ends = site.routes.iter().flat_map(|route| &route.paths).filter_map(|path| match path {
        PathPattern::Suffix(end) => Some(&**end),
        _ => None,
    });
    match pattern {
        PathPattern::Exact(path) => vec![path.to_vec()],
        PathPattern::Suffix(end) => vec![[ANY_NAME.as_bytes(), end].concat()],
        PathPattern::Prefix(prefix) => std::iter::once(&b""[..])
            .chain(ends)
            .map(|end| [prefix, ANY_NAME.as_bytes(), end].concat())
            .collect(),
    }
}

fn is_guarded(route: &SiteRoute) -> bool {
    asks(&route.settings) || is_closed(&route.settings)
}

/// Whether clients have to authenticate, or a Python function decides about them.
fn asks(settings: &Settings) -> bool {
    settings.access.auth.is_some() || settings.access.allow_python.is_some()
}

/// Whether some addresses are kept out.
fn is_closed(settings: &Settings) -> bool {
    let is_all = settings.access.allow == everybody();
    !settings.access.deny.is_empty() || !(settings.access.allow.is_empty() || is_all)
}

/// Whether requests that `guarded` does not match reach `other`, and so get around the guard.
fn is_way(guarded: &SiteRoute, other: &SiteRoute) -> bool {
    let is_less = asks(&guarded.settings) && !asks(&other.settings)
        || is_closed(&guarded.settings) && !is_closed(&other.settings);
    let gives = match &other.action {
        SiteAction::App(_) | SiteAction::Files(_) | SiteAction::Cgi(_) => !other.is_internal,
        SiteAction::Redirect(..) | SiteAction::Status(_) | SiteAction::Text { .. } => false,
    };
    if !is_less || !gives {
        return false;
    }
    let When { methods, fields, query, remote } = &guarded.when;
    if !methods.is_empty() && other.when.methods.is_empty() {
        return true;
    }
    // If both routes name methods, requests that only read are probably meant to be open, and requests that change
    // something are not.
    let is_left = |method: &&[u8]| !methods.iter().any(|own| **own == **method) && !SAFE.contains(method);
    if !methods.is_empty() && other.when.methods.iter().map(|method| &**method).any(|method| is_left(&method))
    {
        return true;
    }
    // A client can leave out a header field or a parameter at will.
    let may_be_left_out = !fields.is_empty() || !query.is_empty() || !remote.is_empty();
    may_be_left_out && guarded.action == other.action
}

fn warning(guarded: &SiteRoute, other: &SiteRoute, pattern: &PathPattern) -> Fault {
    let wants = conditions(&guarded.when).join(", ");
    let (line, path) = (other.line, written(pattern));
    let what = format!(
        "this route guards only requests that are {wants}: all others reach the route of line {line} ({path}), \
         which has no such guard; guard that route, too, or limit it with methods"
    );
    Fault { at: guarded.said.table.clone(), what }
}
