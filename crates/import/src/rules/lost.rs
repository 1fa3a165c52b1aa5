//! Patterns of paths that no route can have: a rule leads all paths that match to a path that refuses everybody.

use adyton_cli::{Scope, takes};

use crate::model::{Draft, Key, Place, Route, Site, Value, shown};

/// The path that rules lead refused requests to. Clients get no file of such a name.
const PATH: &str = "/.lost/";

/// A pattern of another server, as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern<'p> {
    pub(crate) regex: &'p str,
    pub(crate) any_case: bool,
}

impl Pattern<'_> {
    /// Returns the rule for all paths in which the pattern is found.
    fn rule(self) -> String {
        let Pattern { regex, any_case } = self;
        match any_case {
            true => format!("^(?s:.*?)(?i:{regex}) -> {PATH}"),
            false if regex.starts_with('^') => format!("{regex} -> {PATH}"),
            false => format!("^(?s:.*?)(?:{regex}) -> {PATH}"),
        }
    }
}

/// Has a site refuse all paths in which a pattern is found, or everything, if no rule can say the pattern.
pub(crate) fn refuse(
    site: &mut Site,
    pattern: Pattern<'_>,
    place: &Place,
    what: &str,
    why: &str,
    draft: &mut Draft,
) {
    let rule = pattern.rule();
    if pattern.regex.contains(" -> ") || takes(Scope::Site, "rewrite", &rule).is_err() {
        return draft.refuse_site(site, place, what, why);
    }
    draft.open(place, what, why);
    first(site, &rule, place);
    target(site, place).refused.push(format!("{place}: {}", shown(what)));
}

/// Refuses all paths in which a pattern is found, like [`refuse`], for something without a counterpart that is no lost
/// restriction.
pub(crate) fn close(site: &mut Site, regex: &str, place: &Place) {
    first(site, &Pattern { regex, any_case: false }.rule(), place);
    target(site, place);
}

/// Returns the route that such rules lead to.
fn target<'s>(site: &'s mut Site, place: &Place) -> &'s mut Route {
    let at = site.routes.iter().position(|route| route.paths == [PATH]).unwrap_or_else(|| {
        let mut route = Route::new(PATH, place);
        route.respond(503, place);
        site.routes.push(route);
        site.routes.len() - 1
    });
    &mut site.routes[at]
}

/// Leads paths that begin with the path of a route, but not as a whole segment, to that route: `/admin2` to `/admin/`.
pub(crate) fn lead(site: &mut Site, path: &str, place: &Place) -> bool {
    let front = path.trim_end_matches('/');
    let rule = format!("^{}[^/] -> {front}/", escaped(front));
    let is_said = !front.contains(" -> ") && takes(Scope::Site, "rewrite", &rule).is_ok();
    if is_said {
        // The rule comes after patterns, which take precedence over prefixes in nginx, too.
        site.keys.add("rewrite", &rule, place);
    }
    is_said
}

/// Returns a pattern that matches the text.
fn escaped(text: &str) -> String {
    let each = text.chars().flat_map(|sign| {
        let is_plain = sign.is_ascii_alphanumeric() || sign == '/' || sign == '_' || !sign.is_ascii();
        (!is_plain).then_some('\\').into_iter().chain(std::iter::once(sign))
    });
    each.collect()
}

/// Puts a rule in front of all other rules: the first rule that matches counts.
fn first(site: &mut Site, rule: &str, place: &Place) {
    match site.keys.0.iter_mut().find(|key| key.name == "rewrite") {
        Some(Key { value: Value::List(rules), .. }) => {
            if !rules.iter().any(|other| other == rule) {
                rules.insert(0, rule.to_owned());
            }
        }
        _ => site.keys.set("rewrite", Value::List(vec![rule.to_owned()]), place),
    }
}
