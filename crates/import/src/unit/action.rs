//! `action` of a step, as the action of a route.

use super::config::{Unit, shown};
use super::matching::Condition;
use super::order::Step;
use crate::model::{Draft, Place, Route, Value};
use crate::python_servers::python;
use crate::text::literal::{Item, Node};

/// Limit of routes in routes, because a circle has no end.
const DEPTH_MAX: usize = 8;

/// All steps, in the order in which they are tried.
pub(super) struct Steps<'c> {
    unit: &'c Unit<'c>,
    pub(super) all: Vec<Step>,
}

impl<'c> Steps<'c> {
    pub(super) fn new(unit: &'c Unit<'c>) -> Steps<'c> {
        Steps { unit, all: Vec::new() }
    }

    /// Adds the steps of the route or application that `pass` names.
    pub(super) fn pass(
        &mut self,
        pass: &str,
        condition: &Condition,
        place: &Place,
        depth: usize,
        draft: &mut Draft,
    ) {
        let root = self.unit.root;
        let parts: Vec<&str> = pass.split('/').collect();
        let steps = match parts.as_slice() {
            ["routes"] => root.find("routes"),
            ["routes", name] => root.find("routes").and_then(|routes| routes.find(name)),
            _ => None,
        };
        if let Some(steps) = steps.filter(|_| depth < DEPTH_MAX) {
            steps.each().iter().for_each(|step| self.step(step, condition, depth + 1, draft));
            return;
        }
        let mut route = Route::new("/", place);
        match parts.as_slice() {
            ["applications", name] => self.application(name, None, &mut route, place, draft),
            ["applications", name, target] => self.application(name, Some(target), &mut route, place, draft),
            _ => {
                draft.lose(
                    place,
                    &format!("pass {pass}"),
                    "requests are not passed on to other servers, and this names no route",
                );
                route.respond(503, place);
            }
        }
        self.push(condition.clone(), route, None, draft);
    }

    fn step(&mut self, step: &Node, outer: &Condition, depth: usize, draft: &mut Draft) {
        let Some(action) = step.find("action") else { return };
        let conditions = match step.find("match") {
            // A list of conditions matches if one of them does.
            Some(node) => node.each().iter().map(Condition::read).collect(),
            None => vec![Condition::default()],
        };
        for condition in conditions {
            self.action(action, &outer.and(&condition), depth, draft);
        }
    }

    fn action(&mut self, action: &Node, condition: &Condition, depth: usize, draft: &mut Draft) {
        let place = self.unit.place(action);
        let first = self.all.len();
        if let Some(pass) = action.find("pass").and_then(Node::text) {
            self.pass(pass, condition, &place, depth, draft);
        } else if let Some(shares) = action.find("share") {
            self.share(action, shares, condition, depth, draft);
        } else {
            let mut route = Route::new("/", &place);
            if let Some(status) = action.find("return") {
                returns(status, action.find("location"), &mut route, &place, draft);
            } else {
                draft.lose(&place, &shown(action), "requests are not passed on to other servers");
                route.respond(503, &place);
            }
            self.push(condition.clone(), route, None, draft);
        }
        if let Some(rewrite) = action.find("rewrite") {
            // After a rewrite, the following actions see another path, which another step may refuse.
            let (place, what) = (self.unit.place(rewrite), format!("rewrite {}", shown(rewrite)));
            let why = "a step cannot change the path; rewrite of the site does, before a route is chosen";
            for step in &mut self.all[first..] {
                step.route.keys.0.retain(|key| key.name != "static-fall-through");
                draft.refuse(&mut step.route, &place, &what, why);
            }
        }
        if let Some(fields) = action.find("response_headers") {
            for step in &mut self.all[first..] {
                headers(fields, &mut step.route, &place, draft);
            }
        }
    }

    /// Adds the steps of folders of files: the first folder, then the others, then `fallback`.
    fn share(
        &mut self,
        action: &Node,
        shares: &Node,
        condition: &Condition,
        depth: usize,
        draft: &mut Draft,
    ) {
        let place = self.unit.place(shares);
        let fallback = action.find("fallback");
        let last = shares.each().len().saturating_sub(1);
        if let Some(index) = action.find("index").filter(|index| index.text() != Some("index.html")) {
            draft.lose(&self.unit.place(index), "index", "only index.html is looked for in a folder");
        }
        for (number, share) in shares.each().iter().enumerate() {
            let mut route = Route::new("/", &place);
            let root = folder(share.text().unwrap_or_default(), &condition.paths);
            if let Some(root) = &root {
                route.keys.set("files", root.as_str(), &place);
                if number < last || fallback.is_some() {
                    route.keys.set("static-fall-through", Value::Switch(true), &place);
                }
            } else {
                let why =
                    "a share has to end in $uri, and to have no other variables; requests are answered 503";
                draft.lose(&place, &format!("share {}", shown(share)), why);
                route.respond(503, &place);
            }
            if let Some(types) = action.find("types") {
                let place = self.unit.place(types);
                let what = format!("types {}", shown(types));
                draft.refuse(&mut route, &place, &what, "files of all types are served");
            }
            self.push(condition.clone(), route, root, draft);
        }
        if let Some(fallback) = fallback.filter(|_| depth < DEPTH_MAX) {
            self.action(fallback, condition, depth + 1, draft);
        }
    }

    fn application(
        &self,
        name: &str,
        target: Option<&str>,
        route: &mut Route,
        place: &Place,
        draft: &mut Draft,
    ) {
        let found = self.unit.root.find("applications").and_then(|all| all.find(name));
        let Some(node) = found else {
            draft.lose(place, &format!("applications/{name}"), "there is no such application");
            route.respond(503, place);
            return;
        };
        let (place, text) = (self.unit.place(node), |node: &Node, name: &str| {
            node.find(name).and_then(Node::text).map(str::to_owned)
        });
        let kind = text(node, "type").unwrap_or_default();
        let said =
            target.and_then(|target| node.find("targets").and_then(|all| all.find(target))).unwrap_or(node);
        let is_asgi = text(said, "protocol").as_deref() == Some("asgi");
        let module = text(said, "module").filter(|_| kind.split(' ').next() == Some("python") && !is_asgi);
        let Some(module) = module else {
            draft.lose(
                &place,
                &format!("application {name}"),
                "applications have to be of Python, with WSGI; requests are answered 503",
            );
            route.respond(503, &place);
            return;
        };
        let callable = text(said, "callable").unwrap_or_else(|| "application".to_owned());
        python::app(&format!("{module}:{callable}"), route, &place, draft);
        if matches!(said.find("factory").map(|node| &node.item), Some(Item::Switch(true))) {
            route.keys.set("factory", Value::Switch(true), &place);
        }
        let prefix = said.find("prefix").or_else(|| node.find("prefix"));
        if let Some((node, text)) = prefix.and_then(|node| Some((node, node.text()?))) {
            // The mount is checked when the paths of the route are known.
            route.keys.set("mount", text.trim_end_matches('/'), &self.unit.place(node));
        }
        super::settings::application(self.unit, name, node, said, route, draft);
    }

    /// Adds a step, and has it refuse if its condition has no counterpart.
    fn push(&mut self, condition: Condition, mut route: Route, root: Option<String>, draft: &mut Draft) {
        let Some(place) = route.place.clone() else { return };
        // A step that excludes addresses can be written only if it refuses: its clients must not reach the following
        // steps.
        let refuses = route.keeps_out();
        let mut lost = condition.lost.clone();
        let can_be_said = refuses && condition.has_all_but_remote();
        if !condition.not_remote.is_empty() && !can_be_said {
            lost.push(
                "a step that excludes addresses can be carried over only if it refuses its requests"
                    .to_owned(),
            );
        }
        if lost.is_empty() {
            self.all.push(Step { condition, route, root });
            return;
        }
        // Without this step a later one would answer, so the step refuses all requests that it may match.
        for why in lost {
            draft.open(&place, "step", &why);
            route.refused.push(format!("{place}: {why}"));
        }
        route.keys.0.retain(|key| key.name != "static-fall-through");
        self.all.push(Step { condition: condition.widened(), route, root });
    }
}

/// Reads `{"return": 301, "location": "https://$host$request_uri"}`.
fn returns(status: &Node, location: Option<&Node>, route: &mut Route, place: &Place, draft: &mut Draft) {
    let number = status.text().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let target = location.and_then(Node::text).map(|text| {
        text.replace("$request_uri", "{path}{query}").replace("$uri", "{path}").replace("$host", "{host}")
    });
    match (number, target) {
        (301 | 302 | 303 | 307 | 308, Some(target)) if !target.contains('$') => {
            route.keys.set("redirect", target, place);
            route.keys.set("redirect-status", Value::Number(number), place);
        }
        (200..=599, None) => route.respond(number, place),
        _ => {
            draft.lose(
                place,
                &format!("return {}", shown(status)),
                "a route cannot have this status, or its location; requests are answered 503",
            );
            route.respond(503, place);
        }
    }
}

fn headers(fields: &Node, route: &mut Route, place: &Place, draft: &mut Draft) {
    for (name, value) in fields.pairs() {
        match &value.item {
            Item::Null => route.keys.add("remove-headers", name, place),
            Item::Text(text) if !text.contains('$') => route.keys.pair("headers", name, text, place),
            _ => draft.lose(place, &format!("response_headers {name}"), "variables do not exist here"),
        }
    }
}

/// Returns the folder of `/www$uri`, which is searched for the whole path.
fn folder(share: &str, paths: &[String]) -> Option<String> {
    if let Some(root) = share.strip_suffix("$uri").filter(|root| !root.contains('$')) {
        return Some(root.trim_end_matches('/').to_owned());
    }
    // The share is one file. If its name ends in the path, the folder is the part in front of the path.
    match paths {
        [path] if !share.contains('$') && !path.starts_with('*') && !path.ends_with('/') => {
            share.strip_suffix(path.as_str()).map(str::to_owned)
        }
        _ => None,
    }
}
