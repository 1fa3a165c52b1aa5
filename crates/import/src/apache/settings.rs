//! Settings of httpd.conf that are settings here: of the server, or of a site.

use super::lex::Line;
use crate::model::{Draft, Keys, Value};
use crate::quantity::is_log_format;

/// Takes the settings of a site, or of the main server.
pub(super) fn take(lines: &[Line], is_site: bool, keys: &mut Keys, draft: &mut Draft) {
    for line in lines {
        if line.args.iter().any(|arg| arg.contains("${")) && NAMES.contains(&line.name.as_str()) {
            let why = match line.name.as_str() {
                "user" => {
                    "a variable that is not known here; without user, workers are who starts the server"
                }
                _ => "a variable that is not known here",
            };
            draft.lose(&line.place, &line.text, why);
        } else {
            one(line, is_site, lines, keys, draft);
        }
    }
}

/// Those that take a value which may come from outside.
const NAMES: [&str; 5] = ["customlog", "errorlog", "user", "group", "limitrequestbody"];

fn one(line: &Line, is_site: bool, lines: &[Line], keys: &mut Keys, draft: &mut Draft) {
    let (place, first) = (&line.place, line.arg(0));
    match (line.name.as_str(), is_site) {
        // 0 is no limit there; here it would be no body.
        ("limitrequestbody", _) => {
            keys.set("body-bytes-max", if first == "0" { "1024g" } else { first }, place);
        }
        ("keepalive", _) if line.says(0, "off") => {
            keys.set("keep-alive-requests-max", Value::Number(1), place);
        }
        ("keepalivetimeout", _) => keys.set("keep-alive-timeout", time(first), place),
        ("maxkeepaliverequests", _) => keys.set("keep-alive-requests-max", first, place),
        ("timeout", _) => {
            keys.set("body-idle-timeout", time(first), place);
            keys.set("write-idle-timeout", time(first), place);
        }
        ("customlog", _) => custom_log(line, lines, keys, draft),
        ("errorlog", false) => {
            let file = if first.starts_with("syslog") { "syslog" } else { first };
            if file.starts_with('|') {
                draft.lose(place, &line.text, "a log is a file, syslog, or - for standard error");
            } else {
                keys.set("error-log", file, place);
            }
        }
        ("errorlog", true) => draft.lose(place, &line.text, "all sites have one error log, that of [server]"),
        ("loglevel", false) => log_level(line, keys, draft),
        ("limitrequestline", false) => keys.set("request-line-bytes-max", first, place),
        ("limitrequestfields", false) => keys.set("header-fields-max", first, place),
        ("limitrequestfieldsize", false) => keys.set("header-field-bytes-max", first, place),
        ("listenbacklog", false) => keys.set("backlog", first, place),
        ("maxrequestworkers", false) => keys.set("connections-max", first, place),
        ("user", false) => keys.set("user", first.trim_start_matches('#'), place),
        ("group", false) => keys.set("group", first.trim_start_matches('#'), place),
        ("wsgidaemonprocess", _) => daemon(line, draft, keys, is_site),
        _ => {}
    }
}

/// `5` seconds, `500ms`.
fn time(text: &str) -> String {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("{text}s") } else { text.to_owned() }
}

fn log_level(line: &Line, keys: &mut Keys, draft: &mut Draft) {
    let level = match line.arg(0).to_ascii_lowercase().as_str() {
        "debug" => "debug",
        level if level.starts_with("trace") => "debug",
        "info" | "notice" => "info",
        "warn" => "warning",
        "error" | "crit" | "alert" | "emerg" => "error",
        _ => return draft.lose(&line.place, &line.text, "levels are not said of modules"),
    };
    keys.set("log-level", level, &line.place);
}

/// `CustomLog access.log combined`, with the format that `LogFormat` gives the name.
fn custom_log(line: &Line, lines: &[Line], keys: &mut Keys, draft: &mut Draft) {
    let (place, file, format) = (&line.place, line.arg(0), line.arg(1));
    if file.starts_with('|') || line.args.len() > 2 {
        return draft.lose(place, &line.text, "an access log is a file, and has all requests");
    }
    if keys.get("access-log").is_some_and(|key| key.place.file == place.file && key.place != *place) {
        return draft.lose(place, &line.text, "there is one access log of a site");
    }
    keys.set("access-log", file, place);
    let named = lines.iter().rfind(|line| line.name == "logformat" && line.arg(1) == format);
    let atoms = named.map_or(format, |line| line.arg(0));
    match atoms {
        "" | "common" => keys.set("access-log-format", "common", place),
        "combined" => {}
        // What is sent is counted as the body here.
        atoms if is_log_format(&atoms.replace("%O", "%b")) => {
            keys.set("access-log-format", atoms.replace("%O", "%b"), place);
        }
        _ => draft.lose(place, &line.text, "the format has an atom that is not there; it is combined"),
    }
}

/// `WSGIDaemonProcess name processes=2 threads=15`: the first one says it for all.
fn daemon(line: &Line, draft: &mut Draft, keys: &mut Keys, is_site: bool) {
    let mut server = if is_site { std::mem::take(&mut draft.server) } else { std::mem::take(keys) };
    let place = &line.place;
    // Only daemons say how many processes there are.
    let is_first = !server.has("processes");
    if is_first && line.args.iter().any(|arg| arg.starts_with("user=")) {
        // The group is that user's then.
        server.0.retain(|key| key.name != "group");
    }
    let pairs = line.args.iter().skip(1).filter_map(|arg| arg.split_once('='));
    let defaults = [("processes", "1"), ("threads", "15")];
    let mut said: Vec<&str> = Vec::new();
    for (name, value) in pairs.chain(defaults) {
        if said.contains(&name) {
            continue;
        }
        said.push(name);
        let shown = format!("WSGIDaemonProcess {name}={value}");
        if name == "python-path" {
            value.split(':').for_each(|path| server.add("python-path", path, place));
            continue;
        }
        let found = DAEMON.iter().find(|(theirs, ..)| *theirs == name);
        let Some((_, ours, is_time)) = found else {
            let why = match name {
                "python-home" => "start the adyton that is installed in the virtual environment",
                _ => "this option of mod_wsgi has no counterpart",
            };
            if name != "display-name" && name != "supplementary-groups" {
                draft.lose(place, &shown, why);
            }
            continue;
        };
        let value = if *is_time { time(value) } else { value.trim_start_matches('#').to_owned() };
        let is_same = server.get(ours).is_none_or(|key| key.value == Value::Text(value.clone()));
        if is_first || is_same {
            server.set(ours, value, place);
        } else if matches!(*ours, "user" | "group") {
            draft.open(place, &shown, "all applications run as the same user here");
        } else {
            draft.lose(place, &shown, "all applications run in the same processes here");
        }
    }
    // A daemon has the file of its site; the server's own user stays where it was.
    if is_site {
        draft.server = server;
    } else {
        *keys = server;
    }
}

/// `mod_wsgi`'s option, our setting, whether it is a time.
const DAEMON: [(&str, &str, bool); 16] = [
    ("user", "user", false),
    ("group", "group", false),
    ("processes", "processes", false),
    ("threads", "threads", false),
    ("umask", "umask", false),
    ("home", "chdir", false),
    ("request-timeout", "request-timeout", true),
    ("graceful-timeout", "graceful-timeout", true),
    ("startup-timeout", "startup-timeout", true),
    ("queue-timeout", "queue-timeout", true),
    ("restart-interval", "max-lifetime", true),
    ("maximum-requests", "max-requests", false),
    ("cpu-priority", "nice", false),
    ("cpu-time-limit", "cpu-limit", true),
    ("memory-limit", "memory-limit", false),
    ("listen-backlog", "backlog", false),
];
