//! `WSGIDaemonProcess`: the settings that its options become.

use crate::apache::language::line::Line;
use crate::model::{Draft, Keys, Place, Value};

/// The user and the group of processes, if they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    user: Option<String>,
    group: Option<String>,
}

impl Owner {
    /// Returns the user and group of the directives `User` and `Group`.
    pub(super) fn of_server(lines: &[Line]) -> Owner {
        let last = |name: &str| lines.iter().rfind(|line| line.name == name).map(|line| number(line.arg(0)));
        Owner { user: last("user"), group: last("group") }
    }

    /// Returns the user and group of a `WSGIDaemonProcess`. A user or group that it does not name is the server's, but
    /// a user that it names comes with that user's own group.
    fn of_daemon(line: &Line, server: &Owner) -> Owner {
        let said = |name: &str| {
            let mut pairs = line.args.iter().skip(1).filter_map(|arg| arg.split_once('='));
            pairs.find(|(own, _)| *own == name).map(|(_, value)| number(value))
        };
        let (user, group) = (said("user"), said("group"));
        match user {
            Some(_) => Owner { user, group },
            None => Owner { user: server.user.clone(), group: group.or_else(|| server.group.clone()) },
        }
    }

    /// Returns the user and group that are in the keys.
    fn of_keys(keys: &Keys) -> Owner {
        let text = |name: &str| keys.get(name).map(|key| key.value.texts().concat());
        Owner { user: text("user"), group: text("group") }
    }
}

/// Returns a user or a group, by its name or by its number: `33` for `#33`.
pub(super) fn number(text: &str) -> String {
    text.trim_start_matches('#').to_owned()
}

/// Reads `WSGIDaemonProcess name processes=2 threads=15`: the first such line counts for all. `owner` is the user and
/// group of the server.
pub(super) fn read(line: &Line, owner: &Owner, draft: &mut Draft, keys: &mut Keys, is_site: bool) {
    let mut server = if is_site { std::mem::take(&mut draft.server) } else { std::mem::take(keys) };
    let place = &line.place;
    // Only daemons say how many processes there are.
    let is_first = !server.has("processes");
    let own = Owner::of_daemon(line, owner);
    if is_first && own.group.is_none() {
        server.0.retain(|key| key.name != "group");
    }
    if !is_first && own != Owner::of_keys(&server) {
        let what = format!("WSGIDaemonProcess {}", line.arg(0));
        let runs_as =
            own.user.map_or_else(|| "Apache's own user".to_owned(), |user| format!("the user {user}"));
        let why = format!(
            "this daemon runs as {runs_as}, but here all applications run as the user of the first daemon; write \
             [groups.NAME] with its own user, and group = \"NAME\" in the routes of its applications"
        );
        draft.refuse_all(place, &what, &why);
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
            let paths = value.split(':').filter(|path| !path.is_empty());
            paths.for_each(|path| server.add("python-path", path, place));
            continue;
        }
        // `ListenBacklog`, or an earlier daemon, has set the backlog already.
        if name == "listen-backlog" && server.has("backlog") {
            continue;
        }
        let found = DAEMON.iter().find(|(theirs, ..)| *theirs == name);
        let Some((_, ours, is_time)) = found else {
            // An option that is off needs no counterpart.
            if !(value == "0" || value.eq_ignore_ascii_case("off")) {
                lose(name, &shown, place, draft);
            }
            continue;
        };
        let value = if *is_time { time(value) } else { number(value) };
        let is_owner = matches!(*ours, "user" | "group");
        let is_same = server.get(ours).is_none_or(|key| key.value == Value::Text(value.clone()));
        if is_first || is_same && !is_owner {
            server.set(ours, value, place);
        } else if !is_owner {
            let why =
                "the first daemon's value counts for all; an application in a group has processes of its own";
            draft.lose(place, &shown, why);
        }
    }
    // Puts the settings back where they were taken from.
    if is_site {
        draft.server = server;
    } else {
        *keys = server;
    }
}

/// Returns `5` as seconds; `500ms` stays.
pub(super) fn time(text: &str) -> String {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("{text}s") } else { text.to_owned() }
}

/// Notes the loss of an option that has no counterpart.
fn lose(name: &str, shown: &str, place: &Place, draft: &mut Draft) {
    if ALWAYS_SO.contains(&name) {
        return;
    }
    let found = REASONS.iter().find(|(names, _)| names.contains(&name));
    draft.lose(place, shown, found.map_or("this option of mod_wsgi is not known here", |(_, why)| why));
}

/// An option of `mod_wsgi`, our setting, and whether it is a time.
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

/// Options that are always on: workers are called adyton-1 and so on, and have all groups of their user.
const ALWAYS_SO: [&str; 2] = ["display-name", "supplementary-groups"];

/// Options that have no counterpart, and what to do instead.
const REASONS: [(&[&str], &str); 16] = [
    (&["chroot"], "systemd's RootDirectory or a container confines a server to a folder"),
    (
        &[
            "connect-timeout",
            "header-buffer-size",
            "proxy-buffer-size",
            "receive-buffer-size",
            "response-buffer-size",
            "response-flush-delay",
            "send-buffer-size",
            "socket-timeout",
            "socket-user",
            "socket-rotation",
        ],
        "requests reach the application without a socket between it and the server",
    ),
    (&["response-socket-timeout"], "write-idle-timeout says how slow a client may be"),
    (
        &["deadlock-timeout"],
        "a worker that no longer answers is replaced, and request-timeout ends requests that take too long",
    ),
    (&["interrupt-timeout"], "request-timeout ends requests that take too long"),
    (&["inactivity-timeout"], "idle workers stay; with min-processes some of them end"),
    (
        &["eviction-timeout", "shutdown-timeout"],
        "graceful-timeout says how long running requests have to finish",
    ),
    (&["lang", "locale"], "start the server with LANG or LC_ALL set"),
    (&["python-eggs"], "write env = \"PYTHON_EGG_CACHE=DIR\" in [server]"),
    (
        &["python-home"],
        "start the adyton that is installed in the virtual environment, or write a group with the environment's python",
    ),
    (&["script-group", "script-user"], "the owner of an application's file is not checked"),
    (&["server-metrics"], "the setting admin opens an address with metrics"),
    (&["stack-size"], "threads have the stack that the system gives"),
    (&["switch-interval"], "call sys.setswitchinterval in the application"),
    (&["virtual-memory-limit"], "memory-limit limits what a worker may allocate"),
    (
        &["newrelic-config-file", "newrelic-environment"],
        "start the agent in the application, as its own documentation says",
    ),
];
