//! What gunicorn, uWSGI and mod_wsgi-express call otherwise than we do, for users who come from there.

use Here::{Called, Said};

/// What stands here for an option of another server.
#[derive(Debug)]
pub(crate) enum Here {
    /// The setting with this name.
    Called(&'static str),
    /// No setting; half a sentence says why it is not needed, or what to do.
    Said(&'static str),
}

/// What a user needs to know who has written another server's option, of which this is the name without hyphens in front.
pub(crate) fn find(option: &str) -> Option<&'static Here> {
    OPTIONS.iter().find(|(names, _)| names.contains(&option)).map(|(_, here)| here)
}

/// Options that [`crate::nearest`] would not find, or would take for another one.
const OPTIONS: &[(&[&str], Here)] = &[
    (&["workers", "w"], Called("processes")),
    (&["cheaper"], Called("min-processes")),
    (&["timeout", "t", "harakiri"], Called("request-timeout")),
    (&["worker-reload-mercy", "reload-mercy", "shutdown-timeout"], Called("graceful-timeout")),
    (&["keep-alive", "http-keepalive"], Called("keep-alive-timeout")),
    (&["http", "http-socket", "http11-socket"], Called("bind")),
    (&["chmod-socket"], Called("socket-mode")),
    (&["listen", "listen-backlog", "server-backlog"], Called("backlog")),
    (&["worker-connections", "max-clients"], Called("connections-max")),
    (&["uid", "u"], Called("user")),
    (&["gid", "g"], Called("group")),
    (&["m"], Called("umask")),
    (&["prio", "cpu-priority"], Called("nice")),
    (&["working-directory"], Called("chdir")),
    (&["max-worker-lifetime", "restart-interval"], Called("max-lifetime")),
    (&["maximum-requests"], Called("max-requests")),
    (&["reload-on-rss"], Called("max-rss")),
    (&["limit-as"], Called("memory-limit")),
    (&["cpu-time-limit"], Called("cpu-limit")),
    (&["py-autoreload", "reload-on-changes"], Called("reload")),
    (&["touch-chain-reload"], Called("touch-reload")),
    (&["static-map", "url-alias"], Called("static")),
    (&["log-file", "logto", "log-syslog", "log-syslog-to"], Called("error-log")),
    (&["stats", "statsd-host", "server-status"], Called("admin")),
    (&["limit-request-line"], Called("request-line-bytes-max")),
    (&["limit-request-fields"], Called("header-fields-max")),
    (&["limit-request-field-size"], Called("header-field-bytes-max")),
    (&["buffer-size"], Called("header-bytes-max")),
    (&["limit-post", "limit-request-body"], Called("body-bytes-max")),
    (&["post-buffering"], Called("body-memory-bytes-max")),
    (
        &["certfile", "keyfile", "ca-certs", "https", "https-socket", "https-port", "ssl-certificate-file"],
        Said("TLS is the work of a proxy in front"),
    ),
    (&["socket", "uwsgi-socket"], Said("the proxy has to speak HTTP, and --bind is where")),
    (&["forwarded-allow-ips", "proxy-allow-from", "trust-proxy"], Called("trusted-proxies")),
    (&["trust-proxy-header"], Called("trusted-fields")),
    (&["config", "c", "ini", "yaml"], Said("settings are flags or ADYTON_* variables, and no file has them")),
    (
        &["module", "wsgi-file", "callable", "callable-object", "entry-point"],
        Said("the application has no flag, as in adyton serve wsgi.py:application"),
    ),
    (
        &["virtualenv", "venv", "home", "H"],
        Said("start the adyton that is installed in the virtual environment"),
    ),
    (&["worker-class", "k"], Said("there is one kind of worker, with --threads")),
    (
        &["daemon", "D", "daemonize", "d", "pid", "pidfile", "safe-pidfile", "pid-file"],
        Said("the server stays in the foreground, for systemd or a container to keep"),
    ),
    (
        &["name", "n", "procname", "auto-procname", "process-name"],
        Said("workers are called adyton-1, adyton-2 and so on"),
    ),
    (&["max-requests-jitter", "max-requests-delta"], Said("--max-requests has a jitter of its own")),
    (&["check-config"], Said("adyton check takes the place of adyton serve")),
    (&["initgroups", "add-gid"], Said("workers of another --user have all groups of that user")),
    (
        &["master", "M", "vacuum", "die-on-term", "enable-threads", "T", "need-app", "thunder-lock"],
        Said("it is always so"),
    ),
    (&["lazy-apps", "lazy"], Said("it is always so, but with --preload")),
    (
        &["mount", "manage-script-name", "mount-point", "root-path"],
        Said("the application is at /, and another prefix is for a proxy or its own routes"),
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::rows::ROWS;

    #[test]
    fn each_name_stands_once_and_is_none_of_ours() {
        let ours = ROWS.iter().map(|row| row.name.to_owned());
        let letters = ROWS.iter().filter_map(|row| row.short).map(String::from);
        let mut seen: HashSet<String> = ours.chain(letters).collect();
        for name in OPTIONS.iter().flat_map(|(names, _)| names.iter()) {
            assert!(seen.insert((*name).to_owned()), "{name}");
        }
    }

    #[test]
    fn what_is_called_otherwise_is_there() {
        for (names, here) in OPTIONS {
            let is_there = |name| ROWS.iter().any(|row| row.name == name);
            assert!(!matches!(here, Called(name) if !is_there(*name)), "{names:?}");
        }
    }
}
