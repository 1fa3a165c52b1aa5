//! `uwsgi.ini`: the section `[uwsgi]`, of which the common keys are carried over.

use std::sync::Arc;

use crate::model::{Draft, Keys, Mistake, Place, Route, Value};
use crate::python_servers::python;
use crate::text::include::Includes;
use crate::text::quantity;

/// A `key = value` of the section.
#[derive(Clone, Debug)]
struct Entry {
    key: String,
    value: String,
    place: Place,
    /// Whether another value contains this key, as `%(key)`.
    is_used: bool,
}

/// Reads a file and the files that it includes.
pub(crate) fn read(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<(), Mistake> {
    let place = Place { file: Arc::clone(file), line: 1 };
    let mut entries = Vec::new();
    section(file, text, includes, &mut entries)?;
    if entries.is_empty() {
        return Err(Mistake { place, what: "there is no section [uwsgi] in it".to_owned() });
    }
    let mut found = Found::default();
    for entry in &entries {
        take(entry, &mut found, draft);
    }
    let mut site = python::site(&place);
    site.keys = std::mem::take(&mut found.site);
    for (place, shown) in std::mem::take(&mut found.ways_to_tls) {
        if draft.server.has("bind") {
            let why = "this port sends clients to https, but here it would serve them without TLS; leave the redirect to the proxy in front";
            draft.refuse_site(&mut site, &place, &shown, why);
        } else {
            draft.lose(
                &place,
                &shown,
                "the redirect to https is the work of the proxy in front, which has TLS",
            );
        }
    }
    site.refused.extend(std::mem::take(&mut found.refused));
    let headers = std::mem::take(&mut found.headers);
    site.routes = found.routes(&place, draft);
    for key in headers.0 {
        site.routes.iter_mut().for_each(|route| route.keys.0.push(key.clone()));
    }
    draft.sites.push(site);
    python::unless_said(&mut draft.server, "uWSGI", &[("processes", "1"), ("threads", "1")]);
    Ok(())
}

/// Reads the entries of `[uwsgi]`, with values in the place of `%(key)`.
fn section(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
    entries: &mut Vec<Entry>,
) -> Result<(), Mistake> {
    let mut is_ours = false;
    for (number, line) in text.lines().enumerate() {
        let place = Place { file: Arc::clone(file), line: number + 1 };
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_ours = name == "uwsgi";
            continue;
        }
        if !is_ours {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let key = key.trim().to_ascii_lowercase().replace('_', "-");
        let value = filled(value.trim(), entries);
        if matches!(key.as_str(), "ini" | "include" | "inherit") {
            for found in includes.find(&value, &place)? {
                let file: Arc<str> = found.name.into();
                includes.begin(&file, &found.text)?;
                section(&file, &found.text, includes, entries)?;
                includes.end();
            }
        } else {
            entries.push(Entry { key, value, place, is_used: false });
        }
    }
    Ok(())
}

/// Returns a value in which the values of earlier keys take the place of `%(key)`.
fn filled(value: &str, entries: &mut [Entry]) -> String {
    let (mut out, mut rest) = (String::new(), value);
    while let Some(at) = rest.find("%(") {
        let Some((name, behind)) = rest[at + 2..].split_once(')') else { break };
        let known = entries.iter_mut().rev().find(|entry| entry.key == name.replace('_', "-"));
        let Some(entry) = known.filter(|entry| out.len() + entry.value.len() < FILLED_BYTES_MAX) else {
            break;
        };
        out.push_str(&rest[..at]);
        out.push_str(&entry.value);
        entry.is_used = true;
        rest = behind;
    }
    out + rest
}

/// Limit of a value that is made of other values.
const FILLED_BYTES_MAX: usize = 4096;

/// Entries that are no settings of the server.
#[derive(Debug, Default)]
struct Found {
    site: Keys,
    module: Option<(String, Place)>,
    callable: Option<String>,
    /// Paths without a slash at their ends, and the application that is mounted at each; `manages_script_name`: whether
    /// the server tells the application its path.
    mounts: Vec<(String, String, Place)>,
    manages_script_name: bool,
    has_no_default: bool,
    /// Folders, with the paths that they are for.
    folders: Vec<(String, String, Place)>,
    refused: Vec<String>,
    /// Lost restrictions, because of which the folders have to refuse everybody.
    skipped: Vec<String>,
    /// Header fields of all answers.
    headers: Keys,
    /// Ports that send clients to https.
    ways_to_tls: Vec<(Place, String)>,
}

impl Found {
    /// Notes a restriction that is lost, because of which everybody is refused.
    fn refuse(&mut self, place: &Place, what: &str, why: &str, draft: &mut Draft) {
        draft.open(place, what, why);
        self.refused.push(format!("{place}: {}", crate::model::shown(what)));
    }

    /// Returns the route for paths where nothing is mounted: the first application answers, unless `no-default-app`
    /// says that none does.
    fn rest(
        &self,
        place: &Place,
        draft: &mut Draft,
        app: impl Fn(&str, &str, &Place, &mut Draft) -> Route,
    ) -> Route {
        if let (Some((_, module, place)), false) = (self.mounts.first(), self.has_no_default) {
            return app("/", module, place, draft);
        }
        let mut route = Route::new("/", place);
        route.respond(404, place);
        route
    }

    fn routes(self, place: &Place, draft: &mut Draft) -> Vec<Route> {
        let app = |path: &str, module: &str, place: &Place, draft: &mut Draft| {
            let mut route = Route::new(path, place);
            let callable = self.callable.as_deref().unwrap_or("application");
            let is_whole = module.contains([':', '(']);
            let text = if is_whole { module.to_owned() } else { format!("{module}:{callable}") };
            python::app(&text, &mut route, place, draft);
            route
        };
        let mut routes = Vec::new();
        for (path, module, place) in &self.mounts {
            let mut route = app(&format!("{path}/"), module, place, draft);
            python::mount(path, &mut route, place);
            if !path.is_empty() && !self.manages_script_name {
                let why = "without manage-script-name uWSGI chooses the application by the proxy's SCRIPT_NAME, and Adyton by the path";
                draft.lose(place, &format!("mount = {path}={module}"), why);
            }
            routes.push(route);
        }
        if let Some((_, module, place)) = self.mounts.iter().skip(1).find(|(path, ..)| path.is_empty()) {
            let why = "in uWSGI the first application answers there, and here this one does";
            draft.lose(place, &format!("mount = /={module}"), why);
        }
        let has_root = self.mounts.iter().any(|(path, ..)| path.is_empty());
        for (path, folder, place) in &self.folders {
            let mut route = Route::new(path, place);
            route.keys.set("files", folder.as_str(), place);
            // The application answers what the folder lacks, as in uWSGI.
            route.keys.set("static-fall-through", Value::Switch(true), place);
            route.refused.clone_from(&self.skipped);
            routes.push(route);
        }
        match &self.module {
            _ if has_root => {}
            Some((module, place)) => routes.push(app("/", module, place, draft)),
            None if self.mounts.is_empty() => {
                routes.push(python::no_app(
                    place,
                    "neither module nor wsgi-file names the application",
                    draft,
                ));
            }
            None => routes.push(self.rest(place, draft, app)),
        }
        routes
    }
}

fn take(entry: &Entry, found: &mut Found, draft: &mut Draft) {
    let Entry { key, value, place, .. } = entry;
    let shown = format!("{key} = {value}");
    if let Some(why) = restricts(key, value) {
        return found.refuse(place, &shown, why, draft);
    }
    if value.starts_with("@(") || value.contains("$(") || value.contains("%(") {
        let why = "a value that comes from elsewhere is not known here";
        if matches!(key.as_str(), "uid" | "gid" | "immediate-uid" | "immediate-gid") {
            found.refuse(place, &shown, why, draft);
        } else {
            draft.lose(place, &shown, why);
        }
        return;
    }
    match key.as_str() {
        "module" | "wsgi" | "wsgi-file" | "file" => found.module = Some((value.clone(), place.clone())),
        "mount" => mount(entry, found, draft),
        "http-to-https" => found.ways_to_tls.push((place.clone(), shown)),
        "static-skip-ext" => {
            let why = "in uWSGI the application answers for files with this end; here they would be sent as they are";
            draft.open(place, &shown, why);
            found.skipped.push(format!("{place}: {}", crate::model::shown(&shown)));
        }
        "del-header" => found.headers.add("remove-headers", value, place),
        "add-header" => match value.split_once(':') {
            Some((name, text)) => found.headers.pair("add-headers", name.trim(), text.trim(), place),
            None => draft.lose(place, &shown, "a field is NAME: VALUE"),
        },
        "endif" | "end-if" | "endfor" | "end-for" => {}
        "no-default-app" => found.has_no_default = is_true(value),
        "manage-script-name" => found.manages_script_name = is_true(value),
        "callable" => found.callable = Some(value.clone()),
        "static-map" | "check-static" => folder(entry, found, draft),
        "disable-logging" => found.site.set("access-log", "off", place),
        "req-logger" => match value.strip_prefix("file:") {
            Some(file) => found.site.set("access-log", file, place),
            None => draft.lose(place, &shown, "an access log is a file, or - for standard output"),
        },
        "http" | "http-socket" | "http11-socket" => draft.server.add("bind", &python::bind(value), place),
        "https" | "https-socket" | "https2" => {
            draft.lose(
                place,
                &shown,
                "TLS is the work of a proxy in front; without another address the server is at 127.0.0.1:8000",
            );
        }
        "chmod-socket" => draft.server.set("socket-mode", if is_true(value) { "666" } else { value }, place),
        "logto" | "logto2" | "daemonize" | "logger" => {
            let file = value.strip_prefix("file:").unwrap_or(value);
            draft.server.set("error-log", file, place);
        }
        "reload-on-rss" | "limit-as" => {
            let name = if key == "limit-as" { "memory-limit" } else { "max-rss" };
            draft.server.set(name, format!("{value}m"), place);
        }
        "pythonpath" | "python-path" | "pp" => draft.server.add("python-path", value, place),
        "env" => draft.server.add("env", value, place),
        _ => setting(entry, draft),
    }
}

/// Takes keys that are settings here, and notes the loss of keys that have no counterpart.
fn setting(Entry { key, value, place, is_used }: &Entry, draft: &mut Draft) {
    let shown = format!("{key} = {value}");
    if let Some((_, ours, form)) = NAMES.iter().find(|(theirs, ..)| theirs == key) {
        let value = match form {
            Form::Plain => Value::from(value.as_str()),
            Form::Seconds => Value::Text(quantity::time(value).unwrap_or_else(|| value.clone())),
            Form::Switch => Value::Switch(is_true(value)),
        };
        draft.server.set(ours, value, place);
    } else if let Some((_, why)) = REASONS.iter().find(|(theirs, _)| theirs == key) {
        draft.lose(place, &shown, why);
    } else if !is_used && !ALWAYS_SO.contains(&key.as_str()) {
        draft.lose(place, &shown, "this is not known here; see whether it restricts anything");
    }
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")
}

/// Reads `mount = /shop=module:application`, `mount = /shop=shop.py`.
fn mount(Entry { key, value, place, .. }: &Entry, found: &mut Found, draft: &mut Draft) {
    match value.split_once('=') {
        Some((path, module)) if path.starts_with('/') && !module.is_empty() => {
            let path = path.trim_end_matches('/').to_owned();
            found.mounts.push((path, module.to_owned(), place.clone()));
        }
        // The part in front of `=` is a host; in Adyton the application for all other hosts would answer for this host.
        _ => found.refuse(place, &format!("{key} = {value}"), "this is not PATH=APPLICATION", draft),
    }
}

/// Returns the reason, if a key denies some clients, or decides about other keys.
fn restricts(key: &str, value: &str) -> Option<&'static str> {
    const CONDITIONS: [&str; 8] =
        ["if-", "ifenv", "ifexists", "ifplugin", "iffile", "ifdir", "for-", "foreach"];
    const ISOLATION: [&str; 7] = ["chroot", "pivot-root", "namespace", "unshare", "cap", "setns", "apparmor"];
    const DOUBTS: [&str; 9] =
        ["access", "auth", "block", "deny", "forbid", "protect", "restrict", "secur", "verify"];
    let begins = |names: &[&str]| names.iter().any(|front| key.starts_with(front));
    if begins(&["route", "final-route", "error-route", "response-route"]) {
        return Some(
            "internal routing is not carried over, and this may keep somebody out; allow, deny, auth and rewrite are keys of sites and routes",
        );
    }
    if begins(&CONDITIONS) || key == "for" {
        return Some("uWSGI decides this when it starts, so the lines that depend on it are not known here");
    }
    if key.starts_with("vhost") && is_true(value) {
        return Some("here applications are not chosen by host name; write a site with hosts for each");
    }
    if begins(&ISOLATION) {
        return Some("namespaces, capabilities and other roots are the work of systemd or a container");
    }
    if matches!(key, "https" | "https2" | "https-socket") && value.split(',').count() > 4 {
        return Some("clients are not asked for certificates; TLS is the work of a proxy in front");
    }
    DOUBTS
        .iter()
        .any(|word| key.contains(word))
        .then_some("this is not known here, and by its name it may keep somebody out")
}

/// Reads `static-map = /static=folder`, `check-static = folder`.
fn folder(Entry { key, value, place, .. }: &Entry, found: &mut Found, draft: &mut Draft) {
    let pair = if key == "check-static" { Some(("/", value.as_str())) } else { value.split_once('=') };
    let Some((path, folder)) = pair.filter(|(path, _)| path.starts_with('/')) else {
        draft.lose(place, &format!("{key} = {value}"), "this is not PATH=FOLDER");
        return;
    };
    let path = if path.ends_with('/') { path.to_owned() } else { format!("{path}/") };
    found.folders.push((path, folder.to_owned(), place.clone()));
}

/// The form of a value in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Seconds,
    Switch,
}

/// uWSGI's name, our name, and the form of the value.
const NAMES: [(&str, &str, Form); 30] = [
    ("processes", "processes", Form::Plain),
    ("workers", "processes", Form::Plain),
    ("p", "processes", Form::Plain),
    ("threads", "threads", Form::Plain),
    ("cheaper", "min-processes", Form::Plain),
    ("listen", "backlog", Form::Plain),
    ("chdir", "chdir", Form::Plain),
    ("chdir2", "chdir", Form::Plain),
    ("uid", "user", Form::Plain),
    ("gid", "group", Form::Plain),
    ("immediate-uid", "user", Form::Plain),
    ("immediate-gid", "group", Form::Plain),
    ("umask", "umask", Form::Plain),
    ("prio", "nice", Form::Plain),
    ("harakiri", "request-timeout", Form::Seconds),
    ("max-requests", "max-requests", Form::Plain),
    ("max-worker-lifetime", "max-lifetime", Form::Seconds),
    ("worker-reload-mercy", "graceful-timeout", Form::Seconds),
    ("reload-mercy", "graceful-timeout", Form::Seconds),
    ("buffer-size", "header-bytes-max", Form::Plain),
    ("limit-post", "body-bytes-max", Form::Plain),
    ("http-keepalive", "keep-alive-timeout", Form::Seconds),
    ("socket-timeout", "write-idle-timeout", Form::Seconds),
    ("http-timeout", "request-timeout", Form::Seconds),
    ("touch-reload", "touch-reload", Form::Plain),
    ("py-autoreload", "reload", Form::Switch),
    ("python-autoreload", "reload", Form::Switch),
    ("max-fd", "connections-max", Form::Plain),
    ("static-gzip-all", "static-precompressed", Form::Switch),
    ("wsgi-manage-chunked-input", "stream-body", Form::Switch),
];

const VENV: &str = "start the adyton that is installed in the virtual environment, or write a group with the environment's python";

const REASONS: [(&str, &str); 23] = [
    (
        "socket",
        "Adyton does not speak the uwsgi protocol; the proxy in front has to speak HTTP, to an address of bind",
    ),
    (
        "uwsgi-socket",
        "Adyton does not speak the uwsgi protocol; the proxy in front has to speak HTTP, to an address of bind",
    ),
    ("virtualenv", VENV),
    ("venv", VENV),
    ("home", VENV),
    ("pyhome", VENV),
    ("stats", "the setting admin opens an address with metrics; adyton status and adyton top show them"),
    ("post-buffering", "bodies stay in memory while body-memory-max has room for all of them together"),
    ("static-index", "only index.html is looked for in a folder"),
    ("static-expires", "cache-control of a route is the same for all its files"),
    ("log-format", "access-log-format takes Apache's atoms"),
    ("pidfile", "the server stays in the foreground, for systemd or a container to supervise"),
    ("safe-pidfile", "the server stays in the foreground, for systemd or a container to supervise"),
    ("chown-socket", "the socket belongs to the setting user and group; socket-mode is its mode"),
    ("cheaper-initial", "processes is the number of workers at the start"),
    ("gevent", "there is one kind of worker, with threads"),
    ("asyncio", "there is one kind of worker, with threads"),
    ("spooler", "a queue such as Celery does that"),
    ("cron", "timers of systemd do that"),
    ("mule", "a unit of systemd does that"),
    ("attach-daemon", "a unit of systemd does that"),
    ("emperor", "a unit of systemd for each application does that"),
    ("cgi", "programs of a folder are run by a route with cgi = \"DIR\""),
];

/// Settings that need no counterpart, because Adyton always does what they say.
const ALWAYS_SO: [&str; 24] = [
    "master",
    "vacuum",
    "die-on-term",
    "need-app",
    "enable-threads",
    "single-interpreter",
    "lazy-apps",
    "lazy",
    "thunder-lock",
    "auto-procname",
    "procname",
    "procname-prefix",
    "plugin",
    "plugins",
    "strict",
    "no-orphans",
    "memory-report",
    "harakiri-verbose",
    "ignore-sigpipe",
    "ignore-write-errors",
    "disable-write-exception",
    "max-requests-delta",
    "max-worker-lifetime-delta",
    "log-master",
];
