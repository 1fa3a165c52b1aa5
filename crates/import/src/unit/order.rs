//! Steps that are tried in order, as routes of which the most specific path counts.

use std::collections::HashSet;

use super::matching::{Condition, covers};
use crate::model::{Draft, Key, Place, Route, Value};
use crate::python_servers::python;

/// A step that answers: its condition, and its route.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) condition: Condition,
    pub(super) route: Route,
    /// The folder that is searched for the whole path, if the step answers with files.
    pub(super) root: Option<String>,
}

/// A step for one of its paths; `number` is the number of the step.
struct Single {
    path: String,
    number: usize,
    step: Step,
}

/// The only addresses that a step lets pass to the next step, for a path.
struct Guard {
    path: String,
    admitted: Vec<String>,
    place: Place,
}

/// Limit of a site's steps; each is compared with each.
const STEPS_MAX: usize = 500;

/// Returns the routes of a site. If the paths of a step include a path of a later step, the earlier step counts first
/// in Unit, so its route is repeated for that path.
pub(super) fn routes(mut steps: Vec<Step>, draft: &mut Draft) -> Vec<Route> {
    if let Some(place) = steps.get(STEPS_MAX).and_then(|step| step.route.place.clone()) {
        steps.truncate(STEPS_MAX);
        let mut route = Route::new("/", &place);
        route.respond(503, &place);
        let why = "there are too many steps; the steps from this line on are left out";
        draft.refuse(&mut route, &place, "routes", why);
        steps.push(Step { condition: Condition::default(), route, root: None });
    }
    let singles = singles(steps, draft);
    let mut routes: Vec<Route> = Vec::new();
    let mut said: HashSet<(String, usize)> = HashSet::new();
    for (at, single) in singles.iter().enumerate() {
        let earlier = &singles[..at];
        let hides = |other: &Single| {
            other.step.condition.has_all() && !passes(&other.step.route) && covers(&other.path, &single.path)
        };
        if earlier.iter().any(hides) {
            if let Some(place) = &single.step.route.place {
                draft.lose(
                    place,
                    &format!("step for {}", single.path),
                    "an earlier step answers all its requests",
                );
            }
            continue;
        }
        let mut own = single.step.clone();
        for other in earlier.iter().filter(|other| other.path != single.path) {
            if covers(&other.path, &single.path) {
                if said.insert((single.path.clone(), other.number)) {
                    push(&mut routes, &single.path, &other.step);
                }
            } else if overlap(&other.path, &single.path) {
                tell(&single.path, &mut own, other, draft);
            }
        }
        said.insert((single.path.clone(), single.number));
        push(&mut routes, &single.path, &own);
    }
    routes
}

/// Returns each step once for each of its paths. Steps that exclude clients become `allow` of the steps behind them.
fn singles(steps: Vec<Step>, draft: &mut Draft) -> Vec<Single> {
    let mut singles: Vec<Single> = Vec::new();
    let mut guards: Vec<Guard> = Vec::new();
    for (number, mut step) in steps.into_iter().enumerate() {
        let paths =
            if step.condition.paths.is_empty() { vec!["/".to_owned()] } else { step.condition.paths.clone() };
        let admitted = std::mem::take(&mut step.condition.not_remote);
        for path in paths {
            if let (false, Some(place)) = (admitted.is_empty(), step.route.place.clone()) {
                guards.push(Guard { path, admitted: admitted.clone(), place });
                continue;
            }
            for other in guards.iter().filter(|guard| guard.path != path && covers(&path, &guard.path)) {
                let step = guarded(&step, &other.path, &guards, draft);
                singles.push(Single { path: other.path.clone(), number, step });
            }
            // An application with a prefix gets another SCRIPT_NAME beneath the prefix, so the paths there need a route
            // of their own.
            let inner = mount(&step.route).map(|(mount, _)| format!("{mount}/"));
            if let (true, Some((_, place))) = (path.starts_with('*'), mount(&step.route)) {
                draft.lose(&place, "prefix", &format!("for {path} the application gets the whole path"));
            }
            if let Some(inner) = inner.filter(|inner| *inner != path && covers(&path, inner)) {
                let step = guarded(&step, &inner, &guards, draft);
                singles.push(Single { path: inner, number, step });
            }
            let step = guarded(&step, &path, &guards, draft);
            singles.push(Single { path, number, step });
        }
    }
    // A route at the guarded path keeps less specific routes from answering beneath that path.
    for guard in guards {
        let has_end = |single: &Single| {
            single.path == guard.path && single.step.condition.has_all() && !passes(&single.step.route)
        };
        if !singles.iter().any(has_end) {
            let mut route = Route::new(&guard.path, &guard.place);
            route.respond(404, &guard.place);
            for network in &guard.admitted {
                route.keys.add("allow", network, &guard.place);
            }
            let step = Step { condition: Condition::default(), route, root: None };
            singles.push(Single { path: guard.path, number: usize::MAX, step });
        }
    }
    singles
}

/// Returns a step for a path, for the clients that the steps before it let through.
fn guarded(step: &Step, path: &str, guards: &[Guard], draft: &mut Draft) -> Step {
    let mut step = step.clone();
    for guard in guards {
        if covers(&guard.path, path) {
            if step.route.keys.has("allow") {
                // The client would have to be in two lists of addresses, and one key cannot say that.
                step.route.refused.push(format!("{}: two conditions on source", guard.place));
                draft.open(
                    &guard.place,
                    "source",
                    "one route cannot have two conditions on addresses, of its own path and of a path above it",
                );
            }
            for network in &guard.admitted {
                step.route.keys.add("allow", network, &guard.place);
            }
        } else if overlap(&guard.path, path) && !path.starts_with('*') {
            let what = format!("step for {}", guard.path);
            draft.open(
                &guard.place,
                &what,
                &format!("in Unit this step comes before {path}, here it comes after it"),
            );
            step.route.refused.push(format!("{}: {what}", guard.place));
        }
    }
    step
}

/// Whether a step leaves missing files to the next one.
fn passes(route: &Route) -> bool {
    route.keys.has("static-fall-through")
}

fn push(routes: &mut Vec<Route>, path: &str, step: &Step) {
    let mut route = step.route.clone();
    route.paths = vec![path.to_owned()];
    if let Some(place) = route.place.clone() {
        if let Some(root) = &step.root {
            // At a prefix, a folder is searched for the rest of the path; otherwise for the whole path.
            let beneath = path.strip_suffix('/').unwrap_or_default();
            let folder = format!("{root}{beneath}");
            route.keys.set("files", if folder.is_empty() { "/".to_owned() } else { folder }, &place);
        }
        step.condition.narrow(&mut route, &place);
    }
    if let Some((path, place)) = mount(&step.route) {
        python::mount(&path, &mut route, &place);
    }
    if !routes.contains(&route) {
        routes.push(route);
    }
}

/// Returns the mount of a route's application, unless the mount is the root.
fn mount(route: &Route) -> Option<(String, Place)> {
    match route.keys.get("mount") {
        Some(Key { value: Value::Text(path), place, .. }) => Some((path.clone(), place.clone())),
        _ => None,
    }
}

/// Whether two patterns, neither of which includes the other, may have a path in common.
fn overlap(one: &str, other: &str) -> bool {
    let is_end = |path: &str| path.starts_with('*');
    is_end(one) != is_end(other) && one.ends_with('/') != other.ends_with('/') && !covers(other, one)
}

/// Notes that a prefix takes precedence over a suffix here, whichever comes first in Unit; the step refuses if this
/// difference would let in more clients.
fn tell(path: &str, step: &mut Step, other: &Single, draft: &mut Draft) {
    let Some(place) = step.route.place.clone().filter(|_| !path.starts_with('*')) else { return };
    let what = format!("step for {path}");
    let why = format!("in Unit this step comes after {}, here it comes before it", other.path);
    if other.step.route.is_restricted() && (other.step.route.keeps_out() || step.root.is_some()) {
        draft.open(&place, &what, &why);
        step.route.refused.push(format!("{place}: {}", other.path));
    } else {
        draft.lose(&place, &what, &why);
    }
}
