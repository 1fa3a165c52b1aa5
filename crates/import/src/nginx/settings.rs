//! Directives of nginx.conf that are settings here: of the server, or of a site.

use super::lex::Directive;
use crate::model::{Draft, Keys, Value};
use crate::text::quantity;

/// The table that a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Server,
    Site,
}

/// Takes a setting; returns whether the directive is one.
pub(super) fn take(one: &Directive, table: Table, keys: &mut Keys, draft: &mut Draft) -> bool {
    let (place, first) = (&one.place, one.arg(0));
    match (one.name.as_str(), table) {
        ("client_max_body_size", _) => {
            // In nginx, 0 means no limit; in Adyton it would allow no body.
            let size = if first == "0" { Some("1024g".to_owned()) } else { quantity::size(first) };
            keys.set("body-bytes-max", size.unwrap_or_else(|| first.to_owned()), place);
        }
        ("keepalive_timeout", _) if quantity::seconds(first) == Some(0) => {
            keys.set("keep-alive-requests-max", Value::Number(1), place);
        }
        ("keepalive_timeout", _) => time("keep-alive-timeout", one, keys),
        ("keepalive_requests", _) => keys.set("keep-alive-requests-max", first, place),
        ("client_body_timeout", _) => time("body-idle-timeout", one, keys),
        ("send_timeout", _) => time("write-idle-timeout", one, keys),
        ("access_log", _) => access_log(one, keys, draft),
        ("client_header_timeout", Table::Server) => time("header-timeout", one, keys),
        ("client_body_temp_path", Table::Server) => keys.set("temp-dir", first, place),
        ("worker_processes", Table::Server) => keys.set("processes", first, place),
        ("worker_connections", Table::Server) => keys.set("connections-max", first, place),
        ("worker_shutdown_timeout", Table::Server) => time("graceful-timeout", one, keys),
        ("user", Table::Server) => {
            keys.set("user", first, place);
            if let Some(group) = one.args.get(1) {
                keys.set("group", group.as_str(), place);
            }
        }
        ("error_log", Table::Server) => error_log(one, keys, draft),
        ("error_log", Table::Site) => {
            draft.lose(place, &one.shown(), "all sites share the error log of [server]");
        }
        _ => return false,
    }
    true
}

fn time(name: &'static str, one: &Directive, keys: &mut Keys) {
    let first = one.arg(0);
    keys.set(name, quantity::time(first).unwrap_or_else(|| first.to_owned()), &one.place);
}

fn access_log(one: &Directive, keys: &mut Keys, draft: &mut Draft) {
    let (place, first) = (&one.place, one.arg(0));
    if first.starts_with("syslog:") || first.contains('$') {
        draft.lose(place, &one.shown(), "an access log is a file, or - for standard output");
        return;
    }
    let is_option = |arg: &&String| arg.contains('=');
    if let Some(format) = one.args.get(1).filter(|arg| !is_option(arg) && arg.as_str() != "combined") {
        let why = "the format is combined here; access-log-format takes Apache's atoms";
        draft.lose(place, &format!("access_log {first} {format}"), why);
    }
    if one.args.iter().any(|arg| arg.starts_with("if=")) {
        draft.lose(place, &one.shown(), "all requests are logged");
    }
    if keys.has("access-log") && keys.get("access-log").is_some_and(|key| key.value != Value::from("off")) {
        draft.lose(place, &one.shown(), "a site has only one access log");
        return;
    }
    let file = if first == "/dev/stdout" { "-" } else { first };
    keys.set("access-log", file, place);
}

fn error_log(one: &Directive, keys: &mut Keys, draft: &mut Draft) {
    let (place, first) = (&one.place, one.arg(0));
    match first {
        "stderr" | "/dev/stderr" => keys.set("error-log", "-", place),
        _ if first.starts_with("syslog:") => keys.set("error-log", "syslog", place),
        _ => keys.set("error-log", first, place),
    }
    let level = match one.arg(1) {
        "debug" => "debug",
        "info" | "notice" => "info",
        "warn" => "warning",
        "error" | "crit" | "alert" | "emerg" => "error",
        "" => return,
        _ => {
            draft.lose(place, &one.shown(), "there is no such level");
            return;
        }
    };
    keys.set("log-level", level, place);
}
