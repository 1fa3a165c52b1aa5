//! Levels of nginx.conf: the directives that each level hands down to the levels inside it, and to a route.

use super::known;
use super::lex::Directive;
use super::password::Asking;
use super::request;
use crate::model::{Draft, Place, Route};
use crate::rules::access::{Rule, either, lists};
use crate::rules::fields;
use crate::text::quantity;

/// Directives of http, a server or a location, which count for everything inside, unless it has directives of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) root: Option<(String, Place)>,
    pub(super) default_type: Option<String>,
    rules: Vec<Rule<Place>>,
    /// Whether `satisfy any` is set: an address that is allowed needs no password.
    any: bool,
    asking: Asking,
    /// Restrictions that are lost: the directive, and the reason.
    lost: Vec<(Directive, &'static str)>,
    headers: Vec<(String, String, Place)>,
    expires: Option<(String, Place)>,
    listing: Option<Place>,
    /// Header fields and parameters for gateways.
    given: Vec<Directive>,
    /// Whether routes are served without TLS.
    is_clear: bool,
    /// Whether `ssl on` is set, the form of releases in which `listen` had no `ssl`.
    pub(super) ssl: bool,
    /// An index of folders that is not index.html.
    other_page: Option<Directive>,
}

impl Level {
    /// Returns the level for a server that is reached without TLS, or not.
    pub(super) fn served(&self, is_clear: bool) -> Level {
        Level { is_clear, ..self.clone() }
    }

    /// Whether routes of this level are served without TLS.
    pub(super) fn is_clear(&self) -> bool {
        self.is_clear
    }

    /// Refuses a route whose application would get other header fields than behind nginx, and might believe them.
    pub(super) fn give(&self, route: &mut Route, draft: &mut Draft) {
        for one in &self.given {
            let Some(field) = request::field(one) else { continue };
            if fields::is_of_proxy(&field) {
                draft.lose(&one.place, &one.shown(), fields::OF_PROXY);
            } else {
                draft.refuse(route, &one.place, &one.shown(), fields::BELIEVED);
            }
        }
    }

    /// Returns the level inside, which has these directives.
    pub(super) fn inner(&self, directives: &[Directive], draft: &mut Draft) -> Level {
        let mut level = self.clone();
        let says = |names: &[&str]| directives.iter().any(|one| names.contains(&one.name.as_str()));
        // A level inherits each of these only if it has none of its own.
        if says(&["allow", "deny"]) {
            level.rules.clear();
        }
        if says(&["add_header"]) {
            level.headers.clear();
        }
        level.given.retain(|one| !says(&[one.name.as_str()]));
        for directive in directives {
            level.take(directive, draft);
        }
        level
    }

    fn take(&mut self, directive: &Directive, draft: &mut Draft) {
        let Directive { name, place, .. } = directive;
        let first = directive.arg(0);
        match name.as_str() {
            "root" => self.root = Some((first.to_owned(), place.clone())),
            "default_type" => self.default_type = Some(first.to_owned()),
            "ssl" => self.ssl = first == "on",
            "index" => {
                let other = directive.args.iter().any(|page| page != "index.html");
                self.other_page = other.then(|| directive.clone());
            }
            "satisfy" => self.any = first == "any",
            "allow" | "deny" => {
                let whom = if first == "unix:" { "unix" } else { first };
                let rule = Rule { allows: name == "allow", whom: whom.to_owned(), place: place.clone() };
                self.rules.push(rule);
            }
            "autoindex" => self.listing = (first == "on").then(|| place.clone()),
            "add_header" => self.add_header(directive, draft),
            "expires" => self.expires(directive, draft),
            _ if self.asking.take(directive) => {}
            _ if request::is_said(directive) => self.given.push(directive.clone()),
            _ => {
                if let Some(why) = known::restricts(directive) {
                    self.lose_restriction(directive, why, draft);
                }
            }
        }
    }

    fn lose_restriction(&mut self, directive: &Directive, why: &'static str, draft: &mut Draft) {
        // A location reads the limits of methods; an `if` that only leads elsewhere denies nobody.
        if directive.name == "limit_except" {
            return;
        }
        if directive.name == "if" && is_harmless(directive, self.is_clear) {
            draft.lose(
                &directive.place,
                &directive.shown(),
                "conditions on variables do not exist here; write a site or a route for this case",
            );
            return;
        }
        // A later directive of the same name replaces an earlier one, and `off` removes it.
        let replaces = directive.name != "if";
        self.lost.retain(|(other, _)| !replaces || other.name != directive.name);
        if directive.arg(0) != "off" {
            self.lost.push((directive.clone(), why));
        }
    }

    fn add_header(&mut self, directive: &Directive, draft: &mut Draft) {
        let (name, value) = (directive.arg(0), directive.arg(1));
        if value.contains('$') {
            draft.lose(&directive.place, &directive.shown(), "variables do not exist here");
        } else if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned(), directive.place.clone()));
        }
    }

    fn expires(&mut self, directive: &Directive, draft: &mut Draft) {
        let value = match directive.arg(0) {
            "off" => None,
            "max" => Some("max-age=315360000".to_owned()),
            "epoch" => Some("no-cache".to_owned()),
            text if text.starts_with('-') => Some("no-cache".to_owned()),
            text => match quantity::seconds(text) {
                Some(seconds) if directive.args.len() == 1 => Some(format!("max-age={seconds}")),
                _ => {
                    let why = "an expiry cannot be at a time of day, or count from the file's own time; cache-control takes max-age";
                    draft.lose(&directive.place, &directive.shown(), why);
                    return;
                }
            },
        };
        self.expires = value.map(|value| (value, directive.place.clone()));
    }

    /// Writes the directives of the level into a route; `answers_all`: nginx answers before it looks at the client.
    pub(super) fn around(&self, route: &mut Route, answers_all: bool, draft: &mut Draft) {
        if let Some((value, place)) = &self.expires {
            route.keys.set("cache-control", value.as_str(), place);
        }
        for (name, value, place) in &self.headers {
            route.keys.pair("add-headers", name, value, place);
        }
        if route.keys.has("files")
            && let Some(place) = &self.listing
        {
            if let Some(page) = &self.other_page {
                let why = "here a folder that has one of these pages, and no index.html, would be listed, so no folder is listed";
                draft.lose(&page.place, &page.shown(), why);
            } else {
                route.keys.set("static-listing", crate::model::Value::Switch(true), place);
            }
        }
        for (directive, why) in
            self.lost.iter().filter(|(directive, _)| !answers_all || directive.name == "if")
        {
            if directive.name == "if" && route.is_closed() && only_leads(directive) {
                draft.lose(
                    &directive.place,
                    &directive.shown(),
                    "conditions on variables do not exist here; everybody is refused instead",
                );
                continue;
            }
            self.refuse(directive, why, route, draft);
        }
        if answers_all {
            if let Some(rule) = self.rules.first() {
                let why = "return and rewrite answer everybody before allow and deny are checked, in nginx and here";
                draft.lose(&rule.place, if rule.allows { "allow" } else { "deny" }, why);
            }
            return;
        }
        self.guard(route, draft);
    }

    fn refuse(&self, directive: &Directive, why: &str, route: &mut Route, draft: &mut Draft) {
        let shown = directive.shown();
        let found = lists(&self.rules);
        let is_either = self.any && directive.name.starts_with("auth_");
        if is_either && (!found.allow.is_empty() || found.nobody.is_some()) {
            let why = "satisfy any: clients whom only this line lets in are kept out";
            draft.lose(&directive.place, &shown, why);
            return;
        }
        draft.refuse(route, &directive.place, &shown, why);
    }

    /// Writes which addresses are let in, and with which password.
    pub(super) fn guard(&self, route: &mut Route, draft: &mut Draft) {
        if !self.asking.is_on() {
            self.admit(route, draft);
        } else if self.any {
            self.admit_or_ask(route, draft);
        } else {
            self.admit(route, draft);
            if !route.is_closed() {
                self.asking.say(route, draft);
            }
        }
    }

    /// Writes rules with `satisfy any`: an allowed address needs no password, and all other clients need one.
    fn admit_or_ask(&self, route: &mut Route, draft: &mut Draft) {
        let found = either(&self.rules);
        if let Some((_, place)) = found.deny.first() {
            let why = "satisfy any: here deny also keeps out clients with a password";
            draft.lose(place, "deny", why);
        }
        for (name, list) in [("allow", &found.allow), ("deny", &found.deny)] {
            for (whom, place) in list {
                route.keys.add(name, whom, place);
            }
        }
        if found.everyone {
            return;
        }
        self.asking.say(route, draft);
        if let (Some((_, place)), true) = (found.allow.first(), route.keys.has("auth")) {
            route.keys.set("auth-satisfy", "any", place);
        }
    }

    /// Writes which addresses are let in.
    fn admit(&self, route: &mut Route, draft: &mut Draft) {
        let found = lists(&self.rules);
        if let Some(place) = &found.stricter {
            let why = "here deny counts before allow, whatever their order; if the two overlap, more clients are kept out than in nginx";
            draft.lose(place, "deny behind allow", why);
        }
        if let Some(place) = &found.nobody {
            route.respond(403, place);
            return;
        }
        for (name, list) in [("allow", &found.allow), ("deny", &found.deny)] {
            for (whom, place) in list {
                route.keys.add(name, whom, place);
            }
        }
    }
}

/// Whether an `if` only redirects some requests, by their host or their scheme, and, on a level without TLS, not to
/// https.
fn is_harmless(directive: &Directive, is_clear: bool) -> bool {
    let is_about = |name: &str| directive.arg(0).trim_start_matches('(').starts_with(name);
    let is_kept = |one: &Directive| redirects(one) && !(is_clear && leads_to_tls(one));
    (is_about("$host") || is_about("$http_host") || is_about("$scheme"))
        && directive.inside().iter().all(is_kept)
}

/// Whether an `if` contains only redirects and refusals.
fn only_leads(directive: &Directive) -> bool {
    let refuses = |one: &Directive| one.name == "return" && one.arg(0).starts_with(['4', '5']);
    directive.inside().iter().all(|one| redirects(one) || refuses(one))
}

/// Whether a directive is a redirect.
pub(super) fn redirects(one: &Directive) -> bool {
    match one.name.as_str() {
        "return" => one.arg(0).starts_with('3') || one.arg(0).contains("://"),
        "rewrite" => {
            let flag = one.args.get(2).map_or("", String::as_str);
            matches!(flag, "permanent" | "redirect")
                || one.arg(1).contains("://")
                || one.arg(1).starts_with("$scheme")
        }
        _ => false,
    }
}

/// Whether the target of a directive is https.
pub(super) fn leads_to_tls(one: &Directive) -> bool {
    one.args.iter().any(|arg| arg.starts_with("https:"))
}
