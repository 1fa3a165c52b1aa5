//! Settings of Unit: of HTTP, of an application, of the access log.

use super::config::{Unit, shown};
use crate::model::{Draft, Route, Value};
use crate::python_servers::python;
use crate::text::literal::{Item, Node};
use crate::text::quantity::is_log_format;

/// Unit's default limit of a body.
const BODY_BYTES_MAX: &str = "8m";

/// Reads `settings` and `access_log`.
pub(super) fn read(unit: &Unit<'_>, draft: &mut Draft) {
    let http = unit.root.find("settings").and_then(|settings| settings.find("http"));
    for (name, node) in http.into_iter().flat_map(Node::pairs) {
        let place = unit.place(node);
        let text = shown(node);
        match name.as_str() {
            "header_read_timeout" => draft.server.set("header-timeout", format!("{text}s"), &place),
            "body_read_timeout" => draft.server.set("body-idle-timeout", format!("{text}s"), &place),
            "send_timeout" => draft.server.set("write-idle-timeout", format!("{text}s"), &place),
            "idle_timeout" => draft.server.set("keep-alive-timeout", format!("{text}s"), &place),
            "max_body_size" => draft.server.set("body-bytes-max", text, &place),
            "server_version" | "log_route" | "discard_unsafe_fields" => {}
            _ => draft.lose(&place, &format!("{name} {text}"), "this is not known here"),
        }
    }
    if let Some(node) = unit.root.find("access_log") {
        access_log(unit, node, draft);
    }
    if !draft.server.has("user") {
        let why = "in Unit applications run as the user of unitd, and here as whoever starts the server: write user, if that is root";
        draft.lose(&unit.place(unit.root), "user", why);
    }
    python::unless_said(
        &mut draft.server,
        "Unit",
        &[("processes", "1"), ("threads", "1"), ("body-bytes-max", BODY_BYTES_MAX)],
    );
}

fn access_log(unit: &Unit<'_>, node: &Node, draft: &mut Draft) {
    let place = unit.place(node);
    let path = node.find("path").unwrap_or(node).text().unwrap_or_default();
    draft.server.set("access-log", path, &place);
    match node.find("format").and_then(Node::text) {
        Some(format) if is_log_format(format) && !format.contains('$') => {
            draft.server.set("access-log-format", format, &place);
        }
        Some(format) => {
            draft.lose(
                &place,
                format,
                "here log formats are written with Apache's atoms, in access-log-format",
            );
        }
        None => {}
    }
    if node.find("if").is_some() {
        draft.lose(&place, "access_log if", "all requests are logged");
    }
}

/// Reads the settings of an application's processes; `said` is the target that the route names, or the application.
pub(super) fn application(
    unit: &Unit<'_>,
    name: &str,
    node: &Node,
    said: &Node,
    route: &mut Route,
    draft: &mut Draft,
) {
    if let Some(paths) = said.find("path").or_else(|| node.find("path")) {
        for path in paths.each().iter().filter_map(Node::text) {
            draft.server.add("python-path", path, &unit.place(paths));
        }
    }
    own(unit, name, node, route, draft);
    for (key, value) in node.pairs() {
        match key.as_str() {
            "type" | "module" | "callable" | "path" | "targets" | "protocol" | "factory" | "prefix"
            | "user" | "group" => {}
            "processes" => processes(unit, name, value, draft),
            "threads" => set(unit, name, "threads", value, draft),
            "working_directory" => set(unit, name, "chdir", value, draft),
            "environment" => {
                for (variable, text) in value.pairs() {
                    let pair = format!("{variable}={}", shown(text));
                    draft.server.add("env", &pair, &unit.place(value));
                }
            }
            "limits" => limits(unit, name, value, draft),
            "home" => {
                let why = "start the adyton that is installed in the virtual environment, or write a group with the environment's python";
                draft.lose(&unit.place(value), &format!("home {}", shown(value)), why);
            }
            "isolation" => {
                let why = "namespaces and control groups are the work of systemd or a container";
                let what = format!("application {name}: isolation");
                draft.refuse(route, &unit.place(value), &what, why);
            }
            _ => draft.lose(&unit.place(value), &format!("{key} {}", shown(value)), "this is not known here"),
        }
    }
}

fn processes(unit: &Unit<'_>, name: &str, node: &Node, draft: &mut Draft) {
    let Item::Map(_) = &node.item else { return set(unit, name, "processes", node, draft) };
    for (theirs, ours) in [("max", "max-processes"), ("spare", "processes")] {
        if let Some(node) = node.find(theirs) {
            set(unit, name, ours, node, draft);
        }
    }
    if let Some(node) = node.find("idle_timeout") {
        draft.lose(&unit.place(node), "idle_timeout", "how soon an idle worker ends is not a setting");
    }
}

fn limits(unit: &Unit<'_>, name: &str, node: &Node, draft: &mut Draft) {
    for (key, value) in node.pairs() {
        match key.as_str() {
            "timeout" => {
                let seconds = Node { line: value.line, item: Item::Text(format!("{}s", shown(value))) };
                set(unit, name, "request-timeout", &seconds, draft);
            }
            "requests" => set(unit, name, "max-requests", value, draft),
            _ => draft.lose(&unit.place(value), &format!("limits {key}"), "this is not known here"),
        }
    }
}

/// Returns the user and the group of an application; `None`: the user or group of unitd.
fn owner(node: &Node) -> [Option<String>; 2] {
    ["user", "group"].map(|name| node.find(name).map(shown))
}

/// Takes the user of the first application for the server. A route of an application with another user refuses: it
/// needs a group, which has a user of its own.
fn own(unit: &Unit<'_>, application: &str, node: &Node, route: &mut Route, draft: &mut Draft) {
    let first = unit.root.find("applications").and_then(|all| all.pairs().first());
    if first.is_some_and(|(_, first)| owner(first) != owner(node)) {
        let said = ["user", "group"].iter().find_map(|name| Some((name, node.find(name)?)));
        let (what, place) = match said {
            Some((name, value)) => (format!("{name} {}", shown(value)), unit.place(value)),
            None => ("user of unitd".to_owned(), unit.place(node)),
        };
        let why = "the first application runs as another user, and so would this one; write a group with this application's user, \
                   and group = \"NAME\" in the route";
        draft.refuse(route, &place, &format!("application {application}: {what}"), why);
        return;
    }
    for name in ["user", "group"] {
        if let Some(value) = node.find(name) {
            set(unit, application, name, value, draft);
        }
    }
}

/// Sets a setting of the server from an application: the value of the first application that has the setting counts.
fn set(unit: &Unit<'_>, application: &str, ours: &'static str, node: &Node, draft: &mut Draft) {
    let (place, value) = (unit.place(node), Value::Text(shown(node)));
    match draft.server.get(ours) {
        Some(key) if key.value != value => {
            let what = format!("application {application}: {ours} {}", shown(node));
            draft.lose(
                &place,
                &what,
                "the first application's value counts for all; an application in a group has settings of its own",
            );
        }
        Some(_) => {}
        None => draft.server.set(ours, value, &place),
    }
}
