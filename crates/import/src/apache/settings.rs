//! Directives of httpd.conf that are settings here: of the server, or of a site.

use adyton_cli::{Scope, takes};

use super::daemon::{self, Owner, number, time};
use crate::apache::language::line::Line;
use crate::model::{Draft, Keys, Value};
use crate::text::quantity::is_log_format;

/// Takes the settings of a site, or of the main server; `owner` is the server's.
pub(super) fn take(lines: &[Line], is_site: bool, owner: &Owner, keys: &mut Keys, draft: &mut Draft) {
    // The users of daemons count, wherever they stand.
    let (daemons, others): (Vec<&Line>, Vec<&Line>) =
        lines.iter().partition(|line| line.name == "wsgidaemonprocess");
    for line in others {
        if line.args.iter().any(|arg| arg.contains("${")) && NAMES.contains(&line.name.as_str()) {
            let why = "this contains a variable that is not known here";
            if line.name == "user" {
                let why = format!("{why}; without user, the workers run as whoever starts the server");
                draft.refuse_all(&line.place, &line.text, &why);
            } else {
                draft.lose(&line.place, &line.text, why);
            }
        } else {
            one(line, is_site, lines, keys, draft);
        }
    }
    for line in daemons {
        daemon::read(line, owner, draft, keys, is_site);
    }
}

/// Directives whose value may come from a variable.
const NAMES: [&str; 5] = ["customlog", "errorlog", "user", "group", "limitrequestbody"];

fn one(line: &Line, is_site: bool, lines: &[Line], keys: &mut Keys, draft: &mut Draft) {
    let (place, first) = (&line.place, line.arg(0));
    match (line.name.as_str(), is_site) {
        // `.htaccess` is the usual name, which is read without the line, too.
        ("accessfilename", false) if line.args == [".htaccess"] => {}
        ("accessfilename", _) => {
            keys.0.retain(|key| key.name != "htaccess-names");
            if line.args.iter().all(|name| takes(Scope::Site, "htaccess-names", name).is_ok()) {
                line.args.iter().for_each(|name| keys.add("htaccess-names", name, place));
            } else {
                let why =
                    "here the names of such files must begin with a dot, so that the files are never served";
                draft.lose(place, &line.text, why);
            }
        }
        // In Apache, 0 means no limit; in Adyton it would allow no body.
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
        ("errorlog", true) => draft.lose(place, &line.text, "all sites share the error log of [server]"),
        ("loglevel", false) => log_level(line, keys, draft),
        ("limitrequestline", false) => keys.set("request-line-bytes-max", first, place),
        ("limitrequestfields", false) => keys.set("header-fields-max", first, place),
        ("limitrequestfieldsize", false) => keys.set("header-field-bytes-max", first, place),
        ("listenbacklog", false) => keys.set("backlog", first, place),
        ("maxrequestworkers" | "maxclients", false) => keys.set("connections-max", first, place),
        ("user", false) => keys.set("user", number(first), place),
        ("group", false) => keys.set("group", number(first), place),
        ("gracefulshutdowntimeout", false) if first != "0" => {
            keys.set("graceful-timeout", time(first), place);
        }
        ("wsgipythonpath", false) => first.split(':').for_each(|path| keys.add("python-path", path, place)),
        ("wsgitrustedproxies", false) => trust("trusted-proxies", line, keys),
        ("wsgitrustedproxyheaders", false) => trust("trusted-fields", line, keys),
        ("wsgitrustedproxies" | "wsgitrustedproxyheaders", true) => {
            draft.lose(
                place,
                &line.text,
                "which proxies are trusted is said once, by trusted-proxies in [server]",
            );
        }
        _ => {}
    }
}

/// Takes addresses of trusted proxies, or the header fields that are believed if such a proxy sends them.
fn trust(name: &'static str, line: &Line, keys: &mut Keys) {
    line.args.iter().for_each(|one| keys.add(name, one, &line.place));
}

/// Removes the trusted proxies if no field is listed: Apache then believes no field of a proxy, and Adyton two.
pub(super) fn trust_nobody_more(keys: &mut Keys, draft: &mut Draft) {
    if keys.has("trusted-fields") {
        return;
    }
    for key in keys.0.extract_if(.., |key| key.name == "trusted-proxies") {
        let why = "without WSGITrustedProxyHeaders Apache believes nothing that these proxies say, and neither does Adyton";
        draft.lose(&key.place, "WSGITrustedProxies", why);
    }
}

fn log_level(line: &Line, keys: &mut Keys, draft: &mut Draft) {
    let level = match line.arg(0).to_ascii_lowercase().as_str() {
        "debug" => "debug",
        level if level.starts_with("trace") => "debug",
        "info" | "notice" => "info",
        "warn" => "warning",
        "error" | "crit" | "alert" | "emerg" => "error",
        _ => return draft.lose(&line.place, &line.text, "a single module has no log level of its own here"),
    };
    keys.set("log-level", level, &line.place);
}

/// Takes `CustomLog access.log combined`, with the format that `LogFormat` gives the name.
fn custom_log(line: &Line, lines: &[Line], keys: &mut Keys, draft: &mut Draft) {
    let (place, file, format) = (&line.place, line.arg(0), line.arg(1));
    if file.starts_with('|') || line.args.len() > 2 {
        return draft.lose(place, &line.text, "an access log is a file, and has all requests");
    }
    if keys.get("access-log").is_some_and(|key| key.place.file == place.file && key.place != *place) {
        return draft.lose(place, &line.text, "a site has only one access log");
    }
    keys.set("access-log", file, place);
    let named = lines.iter().rfind(|line| line.name == "logformat" && line.arg(1) == format);
    let atoms = named.map_or(format, |line| line.arg(0));
    match atoms {
        "" | "common" => keys.set("access-log-format", "common", place),
        "combined" => {}
        // Adyton counts only the bytes of the body that are sent, as `%b` does.
        atoms if is_log_format(&atoms.replace("%O", "%b")) => {
            keys.set("access-log-format", atoms.replace("%O", "%b"), place);
        }
        _ => draft.lose(
            place,
            &line.text,
            "Adyton does not know an atom of this format, so the log is in the combined format",
        ),
    }
}
