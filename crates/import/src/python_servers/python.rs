//! Parts that the importers of Python servers share.

use crate::model::{Draft, Keys, Place, Route, Site, Value};

/// Has a route call an application: `module:name`, or `module:make()` for a function that makes it.
pub(crate) fn app(text: &str, route: &mut Route, place: &Place, draft: &mut Draft) {
    let (target, called) = match text.split_once('(') {
        Some((target, rest)) if rest.trim() == ")" => (target.trim(), true),
        Some(_) => {
            draft.lose(place, text, "a factory can only be called without arguments");
            route.respond(503, place);
            return;
        }
        None => (text.trim(), false),
    };
    let target = if target.contains(':') { target.to_owned() } else { format!("{target}:application") };
    route.keys.set("app", target, place);
    if called {
        route.keys.set("factory", Value::Switch(true), place);
    }
}

/// Mounts the application of a route at a path, which has no slash at its end, if the route's paths are that path or
/// beneath it.
pub(crate) fn mount(path: &str, route: &mut Route, place: &Place) {
    route.keys.0.retain(|key| key.name != "mount");
    let rest = |own: &String| own.trim_end_matches('/').strip_prefix(path).map(str::to_owned);
    let is_beneath = |own: &String| rest(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if path.is_empty() || !route.keys.has("app") || !route.paths.iter().all(is_beneath) {
        return;
    }
    let is_own = route.paths.iter().all(|own| rest(own).is_some_and(|rest| rest.is_empty()));
    let value = if is_own { Value::Switch(true) } else { Value::from(path) };
    route.keys.set("mount", value, place);
}

/// Returns a route that stands for the application, which the file does not name; a loss says what to write.
pub(super) fn no_app(place: &Place, why: &str, draft: &mut Draft) -> Route {
    let mut route = Route::new("/", place);
    draft.lose(place, "application", &format!("{why}; write app = \"module:name\" in the place of respond"));
    route.respond(503, place);
    route
}

/// Returns a site without a name, for all requests.
pub(crate) fn site(place: &Place) -> Site {
    Site { place: Some(place.clone()), ..Site::default() }
}

/// Sets the defaults of another server for keys that have no value.
pub(crate) fn unless_said(keys: &mut Keys, server: &str, defaults: &[(&'static str, &str)]) {
    for (name, value) in defaults {
        if !keys.has(name) {
            keys.set(name, *value, &Place::unsaid(server));
        }
    }
}

/// Returns an address as `bind` takes it: a path is a unix socket; a port alone is that port of every address.
pub(crate) fn bind(text: &str) -> String {
    let is_port = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        _ if text.starts_with('/') => format!("unix:{text}"),
        _ if is_port => format!(":{text}"),
        _ => text.strip_prefix('*').map_or_else(|| text.to_owned(), str::to_owned),
    }
}
