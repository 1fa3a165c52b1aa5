//! The page of a folder for missing files: a file that also answers at other paths than its own.
//!
//! Other servers check once more who may have that file, by its own path, and so does Adyton for an index and a
//! fallback. For the page for missing files, the route of the request decides, so a folder refuses if another route
//! denies its page to some clients.

use crate::model::{Key, Loss, Route, Site, Value, shown};

/// Has folders refuse if another route denies their page to some clients.
pub(crate) fn guard(site: &mut Site, losses: &mut Vec<Loss>) {
    let guards: Vec<Route> = site.routes.iter().filter(|route| route.is_restricted()).cloned().collect();
    for route in site.routes.iter_mut().filter(|route| route.has_files() && route.refused.is_empty()) {
        let Some((path, guard)) = kept(route, &guards) else { continue };
        let says = |key: &&Key| {
            matches!(key.name, "respond" | "allow" | "deny" | "allow-python" | "methods" | "auth")
        };
        let by = guard.keys.0.iter().find(says).map(|key| key.place.clone()).or(guard.place.clone());
        let (Some(place), Some(by)) = (route.place.clone(), by) else { continue };
        let why = format!(
            "the folder of {place} answers missing paths with this page; there the rules of the requested path count, not those of the page"
        );
        losses.push(Loss { place: by.clone(), what: format!("path {}", shown(&path)), why, opens: true });
        route.refused.push(format!("{by}: {path}"));
    }
}

/// Returns the page of a folder, and the route that denies it to some clients.
fn kept<'g>(route: &Route, guards: &'g [Route]) -> Option<(String, &'g Route)> {
    let own = route.paths.iter().filter(|path| path.ends_with('/'));
    let page = page_of(route)?;
    own.map(|path| format!("{path}{page}")).find_map(|page| {
        // A route for the same path, written in another way, is no other route.
        let has = |guard: &&Route| guard.paths.iter().any(|path| is_for(path, &page, route));
        guards.iter().find(has).map(|guard| (page, guard))
    })
}

/// Returns the name of a folder's page for missing files, in the folder.
fn page_of(route: &Route) -> Option<&str> {
    match route.keys.get("static-404") {
        Some(Key { value: Value::Text(text), .. }) => Some(text.trim_start_matches('/')),
        _ => None,
    }
}

/// Whether a path of another route takes precedence, for a page, over the paths of its folder.
fn is_for(path: &str, page: &str, folder: &Route) -> bool {
    let longest = folder.paths.iter().filter(|own| page.starts_with(own.as_str())).map(String::len).max();
    match path.strip_prefix('*') {
        // A prefix longer than `/` takes precedence over a suffix.
        Some(end) => page.ends_with(end),
        None if path.ends_with('/') => page.starts_with(path) && longest.is_some_and(|own| path.len() > own),
        None => path == page,
    }
}
