//! Names of other servers' options and directives, for users who come from there.

use Here::{Called, Said};

/// The counterpart here of a name that another server has.
#[derive(Debug)]
pub(crate) enum Here {
    /// The setting with this name, or the key of a file of sites.
    Called(&'static str),
    /// No counterpart: half a sentence that says why no setting is needed, or what to do.
    Said(&'static str),
}

/// Finds the counterpart of another server's name: an option without hyphens in front, a directive, or a key.
pub(crate) fn find(name: &str) -> Option<&'static Here> {
    let here = |is_it: &dyn Fn(&str) -> bool| {
        OPTIONS.iter().find(|(names, _)| names.iter().any(|other| is_it(other))).map(|(_, here)| here)
    };
    // Single letters are flags, whose case counts.
    here(&|other| other == name).or_else(|| here(&|other| name.len() > 2 && bare(other).eq(bare(name))))
}

/// Returns the name's letters, which are the same for `ServerName`, `server_name` and `server-name`.
fn bare(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|sign| !matches!(sign, '-' | '_' | ' ')).map(|sign| sign.to_ascii_lowercase())
}

const NO_PROXY: &str =
    "Adyton hands requests on to no other server: app = \"module:attribute\" runs the application itself";
const TLS: &str = "TLS is the work of a proxy in front";
const FIELDS: &str = "it is a field of answers: headers = { NAME = \"value\" }";
const CORS: &str =
    "it is fields of answers: headers = { Access-Control-Allow-Origin = \"https://example.org\" }";
const FOLDER: &str = "a folder is a route: path = \"/static/\", files = \"static\"";
const ALWAYS: &str = "it is always so";
const COMPRESS: &str =
    "compress = true compresses answers that become smaller, in the best coding that a client accepts";
const APP: &str = "the application has no flag, as in adyton serve wsgi.py:application; in a file, a route has app = \"module:attribute\"";
const NO_ASGI: &str = "it is of ASGI, and Adyton speaks WSGI";
const OTHER_PROGRAM: &str = "programs beside the server are for systemd to start";
const USE_ONE_FILE: &str = "a file of sites is one file, and includes no other";
const HOOKS: &str = "adyton.hooks has functions called when workers start and end";

/// Names for which [`nearest`](crate::command::nearest) would find nothing, or a wrong name.
const OPTIONS: &[(&[&str], Here)] = &[
    (
        &["workers", "w", "worker-processes", "num-workers", "start-servers", "process-num"],
        Called("processes"),
    ),
    (&["cheaper", "min-spare-servers"], Called("min-processes")),
    (&["max-spare-servers", "server-limit"], Called("max-processes")),
    (
        &[
            "timeout",
            "t",
            "harakiri",
            "wsgi-request-timeout",
            "proxy-read-timeout",
            "fastcgi-read-timeout",
            "uwsgi-read-timeout",
        ],
        Called("request-timeout"),
    ),
    (
        &[
            "worker-reload-mercy",
            "reload-mercy",
            "shutdown-timeout",
            "timeout-graceful-shutdown",
            "worker-shutdown-timeout",
            "graceful-shutdown-timeout",
        ],
        Called("graceful-timeout"),
    ),
    (&["keep-alive", "http-keepalive", "timeout-keep-alive"], Called("keep-alive-timeout")),
    (&["keepalive-requests", "max-keep-alive-requests"], Called("keep-alive-requests-max")),
    (&["threads-per-child", "concurrency", "worker-threads", "blocking-threads"], Called("threads")),
    (&["limit-concurrency"], Called("queue-limit")),
    (
        &["async", "gevent", "ugreen", "asyncio", "greenlet"],
        Said("a request that waits keeps its thread; see threads"),
    ),
    (
        &[
            "http",
            "http-socket",
            "http11-socket",
            "uds",
            "unix-socket",
            "bind-address",
            "address",
            "interface-address",
        ],
        Called("bind"),
    ),
    (&["listen"], Said("bind is where to listen, and backlog how many connections wait")),
    (&["chmod-socket", "unix-socket-perms"], Called("socket-mode")),
    (&["listen-backlog", "server-backlog"], Called("backlog")),
    (
        &["worker-connections", "max-clients", "max-connections", "max-request-workers"],
        Called("connections-max"),
    ),
    (&["limit-conn", "limit-conn-zone", "connection-limit"], Called("connections-per-address-max")),
    (&["limit-req", "limit-req-zone", "throttle", "ratelimit-requests"], Called("rate-limit")),
    (&["limit-rate"], Said("answers are sent as fast as their clients take them")),
    (
        &[
            "forwarded-allow-ips",
            "proxy-allow-from",
            "trust-proxy",
            "proxy-headers",
            "set-real-ip-from",
            "remote-ip-internal-proxy",
            "remote-ip-trusted-proxy",
        ],
        Called("trusted-proxies"),
    ),
    (
        &["trust-proxy-header", "real-ip-header", "remote-ip-header", "secure-scheme-headers"],
        Called("trusted-fields"),
    ),
    (&["reuse-port", "so-reuseport"], Said(ALWAYS)),
    (
        &["http2", "http3", "h2", "quic", "protocol"],
        Said("Adyton speaks HTTP/1.1; a proxy in front may speak others"),
    ),
    (
        &[
            "certfile",
            "keyfile",
            "ca-certs",
            "https",
            "https-socket",
            "https-port",
            "ssl-certificate-file",
            "ssl",
            "tls",
            "ssl-certificate",
            "ssl-certificate-key",
            "ssl-certfile",
            "ssl-keyfile",
            "ssl-engine",
            "ssl-protocols",
            "certificate",
        ],
        Said(TLS),
    ),
    (&["uid", "u", "run-as", "setuid"], Called("user")),
    (&["gid", "g", "setgid"], Called("group")),
    (&["m"], Called("umask")),
    (&["prio", "cpu-priority", "worker-priority"], Called("nice")),
    (&["initgroups", "add-gid"], Said("workers of another --user have all groups of that user")),
    (&["cpu-affinity", "worker-cpu-affinity", "affinity"], Said("the kernel spreads workers over the CPUs")),
    (&["working-directory", "wsgi-chdir"], Called("chdir")),
    (&["max-worker-lifetime", "restart-interval"], Called("max-lifetime")),
    (
        &["maximum-requests", "limit-max-requests", "max-connections-per-child", "max-requests-per-child"],
        Called("max-requests"),
    ),
    (&["reload-on-rss"], Called("max-rss")),
    (&["limit-as"], Called("memory-limit")),
    (&["cpu-time-limit"], Called("cpu-limit")),
    (
        &[
            "py-autoreload",
            "reload-on-changes",
            "autoreload",
            "reload-dir",
            "reload-dirs",
            "reload-extra-files",
        ],
        Called("reload"),
    ),
    (&["touch-chain-reload"], Called("touch-reload")),
    (&["preload-app"], Called("preload")),
    (&["raw-env", "environment", "env-vars", "env-file", "set-env", "pass-env"], Called("env")),
    (&["pp", "python-paths", "wsgi-python-path"], Called("python-path")),
    (&["tmp-upload-dir", "client-body-temp-path", "worker-tmp-dir", "tmpdir"], Called("temp-dir")),
    (&["max-requests-jitter", "max-requests-delta"], Said("--max-requests has a jitter of its own")),
    (
        &["daemon", "D", "daemonize", "d", "pid", "pidfile", "safe-pidfile"],
        Said("the server stays in the foreground, for systemd or a container to supervise"),
    ),
    (
        &["name", "n", "procname", "auto-procname", "process-name", "wsgi-display-name"],
        Said("workers are called adyton-1, adyton-2 and so on"),
    ),
    (&["worker-class", "k", "worker-type"], Said("there is one kind of worker, with --threads")),
    (
        &[
            "master",
            "M",
            "vacuum",
            "die-on-term",
            "enable-threads",
            "T",
            "need-app",
            "thunder-lock",
            "single-interpreter",
            "sendfile",
            "tcp-nopush",
            "tcp-nodelay",
            "offload-threads",
            "wsgi-application-group",
        ],
        Said(ALWAYS),
    ),
    (&["lazy-apps", "lazy"], Said("it is always so, except with --preload")),
    (
        &[
            "on-starting",
            "on-exit",
            "when-ready",
            "post-fork",
            "pre-fork",
            "post-worker-init",
            "worker-exit",
            "worker-int",
            "pre-request",
            "post-request",
        ],
        Said(HOOKS),
    ),
    (&["plugin", "plugins", "load-module", "modules"], Said("there is nothing to load: all is built in")),
    (&["attach-daemon", "mule", "mules", "spooler", "cron", "timer", "attach-daemon2"], Said(OTHER_PROGRAM)),
    (
        &["emperor", "vassals", "vassals-dir", "zerg"],
        Said("a file of sites has applications in groups of their own: [groups.NAME]"),
    ),
    (
        &["wsgi-daemon-process"],
        Said("a table [groups.NAME] has workers of its own, and group = \"NAME\" in a route names it"),
    ),
    (&["wsgi-process-group"], Called("group")),
    (&["loop", "http-parser", "uvloop"], Said(ALWAYS)),
    (&["lifespan", "asgi"], Said(NO_ASGI)),
    (
        &["websocket", "websockets", "ws", "ws-max-size", "ws-ping-interval"],
        Said("there are no WebSockets; event streams work (docs/event-streams.md)"),
    ),
    (
        &["virtualenv", "venv", "H", "wsgi-python-home"],
        Said("start the adyton that is installed in the virtual environment; a group has python"),
    ),
    (&["home"], Said("start the adyton that is installed in the virtual environment")),
    (
        &["config", "c", "ini", "yaml"],
        Said("settings are flags or ADYTON_* variables, or stand in a file of sites: adyton serve site.toml"),
    ),
    (&["check-config", "test-config", "configtest"], Said("adyton check takes the place of adyton serve")),
    (&["include", "import-file", "include-optional"], Said(USE_ONE_FILE)),
    (
        &[
            "module",
            "wsgi-file",
            "callable",
            "callable-object",
            "entry-point",
            "wsgi-app",
            "wsgi",
            "application",
            "target",
            "asgi-app",
        ],
        Said(APP),
    ),
    (&["wsgi-script-alias"], Said("a route has app = \"file.wsgi\", and mount = true puts it at its path")),
    (&["manage-script-name", "mount-point", "root-path", "script-name", "base-path"], Called("mount")),
    (
        &[
            "server-name",
            "server-names",
            "server-alias",
            "hostname",
            "hostnames",
            "domain",
            "domains",
            "vhost",
            "virtual-host",
            "allowed-hosts",
        ],
        Called("hosts"),
    ),
    (&["default-server"], Said("the first site answers all host names that no site has")),
    (
        &[
            "location",
            "locations",
            "location-match",
            "route",
            "routes",
            "handle",
            "handle-path",
            "uri",
            "url",
            "prefix",
            "pattern",
            "match",
            "paths",
        ],
        Called("path"),
    ),
    (&["document-root", "docroot", "www-root", "webroot"], Called("root")),
    (&["alias", "directory", "folder", "file-server", "dir"], Called("files")),
    (
        &[
            "static-map",
            "url-alias",
            "static-url",
            "static-root",
            "media-root",
            "static-dir",
            "static-files",
            "static-folder",
            "static-path",
            "check-static",
            "statics",
        ],
        Said(FOLDER),
    ),
    (&["try-files"], Called("try")),
    (
        &["return", "status", "status-code", "abort"],
        Said("respond = 404 answers with a status, and redirect = \"/new\" sends clients elsewhere"),
    ),
    (&["redir", "redirect-match", "redirect-permanent", "redirect-temp"], Called("redirect")),
    (&["rewrite-rule", "rewrite-cond", "rewrite-engine", "rewrites"], Called("rewrite")),
    (
        &[
            "proxy-pass",
            "fastcgi-pass",
            "uwsgi-pass",
            "scgi-pass",
            "grpc-pass",
            "upstream",
            "upstreams",
            "reverse-proxy",
            "proxy",
            "backend",
            "backends",
            "php-fastcgi",
            "proxy-set-header",
            "proxy-buffering",
        ],
        Said(NO_PROXY),
    ),
    (&["script-alias", "exec-cgi"], Called("cgi")),
    (&["expires", "expires-active", "static-expires", "cache-header"], Called("cache-control")),
    (&["add-header", "more-set-headers", "response-headers", "custom-headers"], Called("headers")),
    (
        &[
            "cors",
            "cors-origins",
            "cors-allow-origin",
            "cors-allow-origins",
            "allow-origin",
            "access-control-allow-origin",
        ],
        Said(CORS),
    ),
    (
        &["csp", "hsts", "content-security-policy", "strict-transport-security", "x-frame-options"],
        Said(FIELDS),
    ),
    (&["request-header", "proxy-hide-header"], Said("fields of requests reach the application as they come")),
    (
        &[
            "gzip",
            "brotli",
            "zstd",
            "deflate",
            "encode",
            "compression",
            "gzip-types",
            "gzip-static",
            "set-output-filter",
        ],
        Said(COMPRESS),
    ),
    (&["gzip-min-length"], Called("compress-bytes-min")),
    (
        &["proxy-cache", "fastcgi-cache", "uwsgi-cache", "cache-ttl", "ttl", "proxy-cache-valid"],
        Called("cache"),
    ),
    (&["open-file-cache"], Called("static-cache-bytes-max")),
    (&["autoindex", "listing", "directory-listing", "browse", "options-indexes"], Called("static-listing")),
    (&["follow-sym-links", "disable-symlinks"], Called("static-symlinks")),
    (&["spa", "fallback", "fallback-resource"], Called("static-fallback")),
    (&["error-page", "error-document", "error-documents", "handle-errors"], Called("error-pages")),
    (
        &["default-type", "types", "charset", "mime-types", "add-type"],
        Said("types follow from the names of files; headers = { Content-Type = \"...\" } sets another type"),
    ),
    (&["sub-filter", "templates", "ssi"], Said("bodies of answers stay as they are")),
    (
        &[
            "auth-basic",
            "auth-basic-user-file",
            "basic-auth",
            "auth-type",
            "auth-user-file",
            "auth-digest-provider",
            "htpasswd",
            "passwd",
            "password",
            "passwords",
            "auth-file",
        ],
        Called("auth"),
    ),
    (&["auth-name", "realm"], Called("auth-realm")),
    (
        &["users", "require-user", "require"],
        Said("auth-users and auth-groups name the users who are let in, allow and deny the addresses"),
    ),
    (&["satisfy"], Called("auth-satisfy")),
    (&["order"], Said("deny takes precedence over allow, whatever their order")),
    (&["allow-from", "whitelist", "allowlist", "allowed-ips"], Called("allow")),
    (&["deny-from", "blacklist", "blocklist", "block", "deny-list", "blocked-ips"], Called("deny")),
    (&["access-file-name", "access-file-names"], Called("htaccess-names")),
    (&["allow-override"], Called("htaccess")),
    (&["limit-request-line"], Called("request-line-bytes-max")),
    (&["limit-request-fields"], Called("header-fields-max")),
    (&["limit-request-field-size"], Called("header-field-bytes-max")),
    (&["buffer-size", "large-client-header-buffers"], Called("header-bytes-max")),
    (
        &[
            "limit-post",
            "limit-request-body",
            "client-max-body-size",
            "max-body-size",
            "max-upload-size",
            "request-body",
            "upload-limit",
        ],
        Called("body-bytes-max"),
    ),
    (&["post-buffering", "client-body-buffer-size", "body-memory-bytes-max"], Called("body-memory-max")),
    (&["client-body-timeout"], Called("body-idle-timeout")),
    (&["client-header-timeout", "request-read-timeout"], Called("header-timeout")),
    (&["send-timeout"], Called("write-idle-timeout")),
    (&["log-file", "logto", "log-syslog", "log-syslog-to", "logger"], Called("error-log")),
    (&["custom-log", "transfer-log", "req-logger", "log", "disable-logging"], Called("access-log")),
    (&["access-logformat"], Called("access-log-format")),
    (
        &["logger-class", "logconfig", "log-config-json", "logconfig-dict"],
        Said("entries of the application's logging go to the error log (docs/logs.md)"),
    ),
    (&["verbose", "debug", "verbosity"], Called("log-level")),
    (
        &[
            "stats",
            "statsd-host",
            "server-status",
            "stub-status",
            "metrics",
            "prometheus",
            "health",
            "healthcheck",
        ],
        Called("admin"),
    ),
    (&["server-tokens", "server-signature"], Called("server-header")),
    (&["underscores-in-headers"], Called("underscore-headers")),
    (
        &["worker-rlimit-nofile", "ulimit", "nofile"],
        Said("the limit of open files is the system's: LimitNOFILE= of systemd, ulimit -n"),
    ),
    (
        &["socket", "uwsgi-socket", "fastcgi-socket", "scgi-socket"],
        Said("the proxy has to speak HTTP to the address of --bind"),
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::rows::ROWS;
    use crate::sites::{GROUP_ROWS, ROUTE_ROWS, SITE_ROWS};

    /// Returns all names that are ours.
    fn ours() -> impl Iterator<Item = &'static str> {
        let settings = ROWS.iter().map(|row| row.name);
        let of_sites = SITE_ROWS.iter().map(|row| row.name).chain(ROUTE_ROWS.iter().map(|row| row.name));
        settings.chain(of_sites).chain(GROUP_ROWS.iter().map(|row| row.name))
    }

    #[test]
    fn each_name_stands_once_and_is_none_of_ours() {
        let letters = ROWS.iter().filter_map(|row| row.short).map(String::from);
        let mut seen: HashSet<String> = ours().map(str::to_owned).chain(letters).collect();
        for name in OPTIONS.iter().flat_map(|(names, _)| names.iter()) {
            let key = if name.len() > 2 { bare(name).collect() } else { (*name).to_owned() };
            assert!(seen.insert((*name).to_owned()), "{name}");
            assert!(key == *name || seen.insert(key), "{name}");
        }
    }

    #[test]
    fn what_is_called_otherwise_is_there() {
        for (names, here) in OPTIONS {
            assert!(!matches!(here, Called(name) if !ours().any(|other| other == *name)), "{names:?}");
        }
    }

    /// A name is found in each of its spellings.
    #[test]
    fn spellings() {
        for name in ["server-name", "server_name", "ServerName", "SERVER_NAME"] {
            assert!(matches!(find(name), Some(Called("hosts"))), "{name}");
        }
        assert!(matches!(find("t"), Some(Called("request-timeout"))));
        assert!(matches!(find("T"), Some(Said(_))));
        assert!(find("entirely-unknown").is_none());
    }
}
