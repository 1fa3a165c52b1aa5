//! `gunicorn.conf.py`, which is read and not run: assignments of literals count; anything else is a loss.

use std::sync::Arc;

use crate::model::{Draft, Place, Value};
use crate::python_servers::python;
use crate::text::literal::{Cursor, Dialect, Item, Node};
use crate::text::quantity::is_log_format;

/// Reads a file.
pub(crate) fn read(file: &Arc<str>, text: &str, draft: &mut Draft) {
    let mut wsgi_app = None;
    let mut site = python::site(&Place { file: Arc::clone(file), line: 1 });
    let (mut refused, mut unknown) = (Vec::new(), Vec::new());
    for statement in statements(text) {
        let place = Place { file: Arc::clone(file), line: statement.line };
        match statement.kind {
            Kind::Says("wsgi_app", node) => {
                wsgi_app = node.text().map(|text| (text.to_owned(), place));
            }
            Kind::Says(name, node) => setting(name, &node, &place, draft, &mut refused),
            Kind::Code(text) => code(text, &place, draft, &mut refused),
            Kind::Other(line) => {
                code(line, &place, draft, &mut refused);
                unknown.push(
                    line.split(|sign: char| !sign.is_alphanumeric() && sign != '_')
                        .next()
                        .unwrap_or_default(),
                );
                other(line, &place, draft);
            }
        }
    }
    let has_tls = draft.losses.iter().any(|loss| loss.what.starts_with("certfile"))
        || text.lines().any(|line| assigns(line, "certfile") || assigns(line, "ssl_context"));
    if has_tls {
        // Addresses that had TLS must not be served without it; the default 127.0.0.1:8000 is for the proxy in front.
        draft.server.0.retain(|key| key.name != "bind");
    }
    let route = if let Some((text, place)) = wsgi_app {
        let mut route = crate::model::Route::new("/", &place);
        python::app(&text, &mut route, &place, draft);
        route
    } else {
        let place = Place { file: Arc::clone(file), line: 1 };
        python::no_app(&place, "the file has no wsgi_app, so the command line names the application", draft)
    };
    site.refused = refused;
    site.routes.push(route);
    draft.sites.push(site);
    for (theirs, ours, value) in DEFAULTS {
        // A value that code computes is not known, and the default is certainly wrong.
        if !unknown.contains(&theirs) {
            python::unless_said(&mut draft.server, "gunicorn", &[(ours, value)]);
        }
    }
}

/// Defaults of gunicorn that differ from ours.
const DEFAULTS: [(&str, &str, &str); 3] =
    [("workers", "processes", "1"), ("threads", "threads", "1"), ("timeout", "request-timeout", "30s")];

/// A statement of the file, with its first line.
struct Statement<'t> {
    line: usize,
    kind: Kind<'t>,
}

enum Kind<'t> {
    /// An assignment `name = literal`.
    Says(&'t str, Node),
    /// Another statement, by its first line.
    Other(&'t str),
    /// A statement inside another statement, such as `if`, but not inside a function or a class.
    Code(&'t str),
}

/// Names whose values deny some clients, or keep the server from running as root.
const GUARDS: [&str; 4] = ["user", "group", "cert_reqs", "pre_request"];

/// Whether a line of code assigns a value to a name.
fn assigns(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.' | '"' | '\'' | '[');
        let (before, behind) = (&line[..at], line[at + name.len()..].trim_start());
        !before.ends_with(is_part)
            && (behind.starts_with('=') && !behind.starts_with("==") || behind.starts_with(':'))
    })
}

/// Refuses everybody if a line of code may deny some clients, or may choose the user of the workers: the effect of the
/// line is not known.
fn code(text: &str, place: &Place, draft: &mut Draft, refused: &mut Vec<String>) {
    let line = text.split('#').next().unwrap_or_default().trim();
    let words: Vec<&str> = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_').collect();
    let brings = line.starts_with("from ")
        && line.split_once(" import ").is_some_and(|(_, names)| {
            names.trim() == "*" || names.split(',').any(|name| GUARDS.contains(&name.trim()))
        });
    let is_hook = matches!(words.as_slice(), ["def", "pre_request", ..])
        || words.starts_with(&["async", "def", "pre_request"]);
    let changes = ["globals(", "exec(", "locals(", "vars("].iter().any(|call| line.contains(call));
    if brings || is_hook || changes || GUARDS.iter().any(|name| assigns(line, name)) {
        let why =
            "the file is not run, and this code may keep clients out, or choose the user of the workers";
        draft.open(place, line, why);
        refused.push(format!("{place}: {}", crate::model::shown(line)));
    }
}

fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut cursor = Cursor::new(text, Dialect::Python);
    let (mut all, mut is_function) = (Vec::new(), false);
    loop {
        cursor.skip(true);
        if cursor.rest().is_empty() {
            return all;
        }
        let (line, rest) = (cursor.line, cursor.rest());
        let indent = indent(text, rest);
        let mut ahead = cursor.clone();
        if indent == 0 {
            is_function = ["def ", "async ", "class "].iter().any(|word| rest.starts_with(word));
        }
        if let Some((name, node)) = assignment(&mut ahead).filter(|_| indent == 0) {
            all.push(Statement { line, kind: Kind::Says(name, node) });
            cursor = ahead;
            continue;
        }
        skip_statement(&mut cursor);
        let first = rest.lines().next().unwrap_or_default();
        // An indented line belongs to the statement above it.
        if indent == 0 {
            all.push(Statement { line, kind: Kind::Other(first) });
        } else if !is_function {
            all.push(Statement { line, kind: Kind::Code(first) });
        }
    }
}

/// Returns the number of letters in front of a place in its line.
fn indent(text: &str, rest: &str) -> usize {
    let before = &text[..text.len() - rest.len()];
    before.rsplit('\n').next().map_or(0, |line| line.trim_start_matches('\u{feff}').len())
}

/// Reads `name = literal`, up to the end of the line.
fn assignment<'t>(cursor: &mut Cursor<'t>) -> Option<(&'t str, Node)> {
    let rest = cursor.rest();
    let end = rest.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').filter(|end| *end > 0)?;
    for _ in 0..end {
        cursor.take();
    }
    cursor.skip(false);
    let is_sign = cursor.rest().starts_with('=') && !cursor.rest().starts_with("==");
    is_sign.then(|| cursor.take())?;
    let node = cursor.value(0).ok()?;
    cursor.skip(false);
    matches!(cursor.peek(), None | Some('\n')).then_some((&rest[..end], node))
}

/// Goes to the end of a statement: a line end outside brackets and texts.
fn skip_statement(cursor: &mut Cursor<'_>) {
    let mut depth = 0_usize;
    while let Some(sign) = cursor.peek() {
        match sign {
            '\'' | '"' => {
                if cursor.value(0).is_err() {
                    cursor.take();
                }
                continue;
            }
            '#' => {
                cursor.skip(false);
                continue;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '\\' => {
                cursor.take();
            }
            '\n' if depth == 0 => return,
            _ => {}
        }
        cursor.take();
    }
}

/// Notes the loss of a statement that would have to be run.
fn other(line: &str, place: &Place, draft: &mut Draft) {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_text = line.starts_with(['"', '\'']);
    if is_text || matches!(first, "import" | "from" | "pass") {
        return;
    }
    let why = match first {
        "def" | "async" | "class" => "the file is not run; hooks go into the application, with adyton.hooks",
        _ if line.contains("cpu_count") => "the file is not run; processes = \"auto\" is one for each CPU",
        _ => "the file is not run, and this is no literal; write its value into the file of sites",
    };
    draft.lose(place, line, why);
}

/// Takes a setting.
fn setting(name: &str, node: &Node, place: &Place, draft: &mut Draft, refused: &mut Vec<String>) {
    if name == "cert_reqs" && node.text() != Some("0") {
        draft.open(
            place,
            name,
            "clients are not asked for certificates; TLS is the work of a proxy in front",
        );
        refused.push(format!("{place}: cert_reqs"));
        return;
    }
    if node.item == Item::Null {
        return;
    }
    let text = shown(node);
    if let Some((_, ours, form)) = NAMES.iter().find(|(theirs, ..)| *theirs == name) {
        take(ours, *form, node, place, draft);
    } else if let Some((_, why)) = REASONS.iter().find(|(theirs, _)| *theirs == name) {
        draft.lose(place, &format!("{name} = {text}"), why);
    } else if !ALWAYS_SO.contains(&name) && !name.starts_with('_') {
        draft.lose(place, &format!("{name} = {text}"), "this is not known here");
    }
}

fn shown(node: &Node) -> String {
    match &node.item {
        Item::Switch(on) => if *on { "True" } else { "False" }.to_owned(),
        _ => node.each().iter().filter_map(Node::text).collect::<Vec<_>>().join(", "),
    }
}

fn take(ours: &'static str, form: Form, node: &Node, place: &Place, draft: &mut Draft) {
    let text = shown(node);
    let keys = &mut draft.server;
    if matches!(form, Form::Bind | Form::List) {
        // A later assignment replaces the values of an earlier one.
        keys.0.retain(|key| key.name != ours);
    }
    match (form, &node.item) {
        (Form::Switch, Item::Switch(on)) => keys.set(ours, Value::Switch(*on), place),
        (Form::Log, Item::Text(log)) => keys.set(ours, log.as_str(), place),
        (Form::Seconds, Item::Number(number)) => keys.set(ours, format!("{number}s"), place),
        (Form::Octal, Item::Number(number)) => {
            let octal = number.parse::<u32>().map_or_else(|_| number.clone(), |bits| format!("{bits:03o}"));
            keys.set(ours, octal, place);
        }
        (Form::Bind, _) => node.each().iter().filter_map(Node::text).for_each(|one| {
            keys.add(ours, &with_port(&python::bind(one)), place);
        }),
        (Form::List, _) => {
            let each = node.each().iter().filter_map(Node::text);
            let split = each.flat_map(|one| if ours == "env" { vec![one] } else { one.split(',').collect() });
            split.for_each(|one| keys.add(ours, one, place));
        }
        (Form::Level, Item::Text(level)) => {
            let level = if level == "critical" { "error" } else { level };
            keys.set(ours, level.to_ascii_lowercase(), place);
        }
        (Form::Plain, Item::Text(_) | Item::Number(_)) => keys.set(ours, text, place),
        (Form::Format, Item::Text(format)) => match atoms(format) {
            Some(atoms) => keys.set(ours, atoms, place),
            None => draft.lose(
                place,
                &format!("access_log_format = {format}"),
                "Adyton does not know an atom of this format",
            ),
        },
        _ => draft.lose(place, &format!("{ours} = {text}"), "this value has the wrong type"),
    }
}

/// Returns an address with its port; gunicorn adds port 8000 to a host alone.
fn with_port(bind: &str) -> String {
    let is_whole = bind.starts_with("unix:") || bind.starts_with("fd://");
    let has_port = bind.rsplit_once(':').is_some_and(|(host, _)| !host.contains(':') || host.ends_with(']'));
    if is_whole || has_port { bind.to_owned() } else { format!("{bind}:8000") }
}

/// Returns a format in Apache's notation: `%(h)s` is `%h`.
fn atoms(format: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), format);
    while let Some(at) = rest.find("%(") {
        out.push_str(&rest[..at]);
        let (atom, behind) = rest[at + 2..].split_once(")s")?;
        match atom {
            "h" | "l" | "u" | "t" | "r" | "b" | "B" | "D" | "T" | "m" | "U" | "q" | "H" | "L" => {
                out.extend(["%", atom]);
            }
            "s" => out.push_str("%>s"),
            "f" => out.push_str("%{Referer}i"),
            "a" => out.push_str("%{User-Agent}i"),
            _ if atom.starts_with('{') && atom.ends_with("}i") => out.extend(["%", atom]),
            _ => return None,
        }
        rest = behind;
    }
    out.push_str(rest);
    is_log_format(&out).then_some(out)
}

/// The form of a value in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Switch,
    Seconds,
    Octal,
    Bind,
    List,
    Log,
    Level,
    Format,
}

/// gunicorn's name, our name, and the form of the value.
const NAMES: [(&str, &str, Form); 26] = [
    ("bind", "bind", Form::Bind),
    ("backlog", "backlog", Form::Plain),
    ("workers", "processes", Form::Plain),
    ("threads", "threads", Form::Plain),
    ("worker_connections", "connections-max", Form::Plain),
    ("timeout", "request-timeout", Form::Seconds),
    ("graceful_timeout", "graceful-timeout", Form::Seconds),
    ("keepalive", "keep-alive-timeout", Form::Seconds),
    ("max_requests", "max-requests", Form::Plain),
    ("limit_request_line", "request-line-bytes-max", Form::Plain),
    ("limit_request_fields", "header-fields-max", Form::Plain),
    ("limit_request_field_size", "header-field-bytes-max", Form::Plain),
    ("preload_app", "preload", Form::Switch),
    ("reload", "reload", Form::Switch),
    ("chdir", "chdir", Form::Plain),
    ("pythonpath", "python-path", Form::List),
    ("raw_env", "env", Form::List),
    ("user", "user", Form::Plain),
    ("group", "group", Form::Plain),
    ("umask", "umask", Form::Octal),
    ("accesslog", "access-log", Form::Log),
    ("access_log_format", "access-log-format", Form::Format),
    ("errorlog", "error-log", Form::Log),
    ("loglevel", "log-level", Form::Level),
    ("capture_output", "capture-output", Form::Switch),
    ("tmp_upload_dir", "temp-dir", Form::Plain),
];

const REASONS: [(&str, &str); 20] = [
    ("certfile", "TLS is the work of a proxy in front; for that proxy the server is at 127.0.0.1:8000"),
    ("keyfile", "TLS is the work of a proxy in front"),
    ("ca_certs", "TLS is the work of a proxy in front"),
    ("ciphers", "TLS is the work of a proxy in front"),
    ("ssl_version", "TLS is the work of a proxy in front"),
    ("cert_reqs", "TLS is the work of a proxy in front"),
    ("worker_class", "there is one kind of worker, with threads"),
    ("forwarded_allow_ips", "trusted-proxies says which proxies are trusted"),
    ("secure_scheme_headers", "trusted-fields says which fields are believed of trusted-proxies"),
    ("proxy_protocol", "write proxy-protocol = true beside trusted-proxies, in [server]"),
    ("proxy_allow_ips", "write proxy-protocol = true beside trusted-proxies, in [server]"),
    ("daemon", "the server stays in the foreground, for systemd or a container to supervise"),
    ("pidfile", "the server stays in the foreground, for systemd or a container to supervise"),
    ("statsd_host", "the setting admin opens an address with metrics for Prometheus"),
    ("statsd_prefix", "the setting admin opens an address with metrics for Prometheus"),
    ("logconfig", "the application sets up its own logging"),
    ("logconfig_dict", "the application sets up its own logging"),
    ("logger_class", "the application sets up its own logging"),
    ("reload_extra_files", "touch-reload names one file"),
    ("syslog", "write error-log = \"syslog\" instead"),
];

/// Settings that need no counterpart, because Adyton always does what they say.
const ALWAYS_SO: [&str; 14] = [
    "max_requests_jitter",
    "worker_tmp_dir",
    "proc_name",
    "default_proc_name",
    "initgroups",
    "sendfile",
    "reuse_port",
    "reload_engine",
    "check_config",
    "print_config",
    "strip_header_spaces",
    "dogstatsd_tags",
    "disable_redirect_access_to_syslog",
    "spew",
];
