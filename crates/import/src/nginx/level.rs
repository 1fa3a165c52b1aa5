//! What a level of nginx.conf hands down to those inside it, and what of that a route says.

use super::known;
use super::lex::Directive;
use super::password::Asking;
use crate::access::{Rule, either, lists};
use crate::model::{Draft, Place, Route};
use crate::quantity;

/// What http, a server or a location says, for all inside that do not say it anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) root: Option<(String, Place)>,
    pub(super) default_type: Option<String>,
    rules: Vec<Rule<Place>>,
    /// `satisfy any`: an address that is allowed needs no password.
    any: bool,
    asking: Asking,
    /// Restrictions that are lost: directive, as written, why.
    lost: Vec<(Directive, &'static str)>,
    headers: Vec<(String, String, Place)>,
    expires: Option<(String, Place)>,
    listing: Option<Place>,
}

impl Level {
    /// The level inside, which says this.
    pub(super) fn inner(&self, directives: &[Directive], draft: &mut Draft) -> Level {
        let mut level = self.clone();
        let says = |names: &[&str]| directives.iter().any(|one| names.contains(&one.name.as_str()));
        // These are inherited only by what says none of its own.
        if says(&["allow", "deny"]) {
            level.rules.clear();
        }
        if says(&["add_header"]) {
            level.headers.clear();
        }
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
            _ => {
                if let Some(why) = known::restricts(directive) {
                    self.lose_restriction(directive, why, draft);
                }
            }
        }
    }

    fn lose_restriction(&mut self, directive: &Directive, why: &'static str, draft: &mut Draft) {
        // One that limits methods is read by its location; one that only leads elsewhere keeps nobody out.
        if directive.name == "limit_except" {
            return;
        }
        if directive.name == "if" && is_harmless(directive) {
            draft.lose(
                &directive.place,
                &directive.shown(),
                "conditions on variables are not there; make it a site or a route",
            );
            return;
        }
        // A password and a request for one take each other's place, and `off` takes it away.
        let replaces = directive.name != "if";
        self.lost.retain(|(other, _)| !replaces || other.name != directive.name);
        if directive.arg(0) != "off" {
            self.lost.push((directive.clone(), why));
        }
    }

    fn add_header(&mut self, directive: &Directive, draft: &mut Draft) {
        let (name, value) = (directive.arg(0), directive.arg(1));
        if value.contains('$') {
            draft.lose(&directive.place, &directive.shown(), "there are no variables");
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
                    let why = "a time of the day or of the file cannot be said; cache-control takes max-age";
                    draft.lose(&directive.place, &directive.shown(), why);
                    return;
                }
            },
        };
        self.expires = value.map(|value| (value, directive.place.clone()));
    }

    /// Puts around a route what this level says; `answers_all`: what nginx answers before it looks who asks.
    pub(super) fn around(&self, route: &mut Route, answers_all: bool, draft: &mut Draft) {
        if let Some((value, place)) = &self.expires {
            route.keys.set("cache-control", value.as_str(), place);
        }
        for (name, value, place) in &self.headers {
            route.keys.pair("add-headers", (name, value), place);
        }
        if route.keys.has("files")
            && let Some(place) = &self.listing
        {
            route.keys.set("static-listing", crate::model::Value::Switch(true), place);
        }
        for (directive, why) in
            self.lost.iter().filter(|(directive, _)| !answers_all || directive.name == "if")
        {
            self.refuse(directive, why, route, draft);
        }
        if answers_all {
            if let Some(rule) = self.rules.first() {
                let why = "return and rewrite answer everybody before allow and deny are looked at, and so they do here";
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
            let why = "satisfy any: those whom it would let in are kept out";
            draft.lose(&directive.place, &shown, why);
            return;
        }
        draft.open(&directive.place, &shown, why);
        route.refused.push(format!("{}: {}", directive.place, crate::model::shown(&shown)));
    }

    /// Says who may come, and with which password.
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

    /// `satisfy any`: whom a rule allows needs no password, and all others do.
    fn admit_or_ask(&self, route: &mut Route, draft: &mut Draft) {
        let found = either(&self.rules);
        if let Some((_, place)) = found.deny.first() {
            let why = "satisfy any: here deny counts for those with a password, too";
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

    /// Says which addresses may come.
    fn admit(&self, route: &mut Route, draft: &mut Draft) {
        let found = lists(&self.rules);
        if let Some(place) = &found.stricter {
            let why = "here deny counts before allow, whatever their order; if they overlap, more are kept out than before";
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

/// Whether an `if` only leads some requests elsewhere: by their host or their scheme.
fn is_harmless(directive: &Directive) -> bool {
    let is_about = |name: &str| directive.arg(0).trim_start_matches('(').starts_with(name);
    let leads = |one: &Directive| match one.name.as_str() {
        "return" => one.arg(0).starts_with('3') || one.arg(0).contains("://"),
        "rewrite" => matches!(one.args.last().map(String::as_str), Some("permanent" | "redirect")),
        _ => false,
    };
    (is_about("$host") || is_about("$http_host") || is_about("$scheme"))
        && directive.inside().iter().all(leads)
}
