//! The keys of sites and routes that are no settings of the server.

use adyton_http::bytes::is_token;
use adyton_route::{Ahead, HostPattern, Location, PathPattern, Rewrites, Wanted, When};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use crate::rows::SettingRow;
use crate::rows::access::network;
use crate::settings::bind::Bind;
use crate::settings::row::{Kind, Row, switch};
use crate::settings::typed::Mount;
use crate::settings::units::Unit;
use crate::sites::reading::path;

/// Keys of a table `[[sites]]` that have rows in this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteDraft {
    pub(crate) hosts: Vec<HostPattern>,
    /// Addresses that the site's group has to itself; if there are none, the site is found at the addresses of the
    /// server.
    pub(crate) bind: Vec<Bind>,
    /// The group of applications whose routes name no group.
    pub(crate) group: Option<String>,
    pub(crate) root: Option<PathBuf>,
    /// The rules that come before the routes.
    pub(crate) ahead: Ahead,
}

/// Keys of a table `[[sites.routes]]` that have rows in this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteDraft {
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) when: When,
    pub(crate) app: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) is_internal: bool,
    pub(crate) mount: Mount,
    pub(crate) handler: Option<String>,
    pub(crate) files: Option<PathBuf>,
    pub(crate) cgi: Option<PathBuf>,
    pub(crate) scripts: Option<PathBuf>,
    pub(crate) scripts_index: Option<String>,
    pub(crate) scripts_preload: Vec<String>,
    pub(crate) interpreters: Vec<(String, PathBuf)>,
    /// Actions that are tried in turn: `files`, then another one of [`ACTIONS`], if any.
    pub(crate) tried: Vec<&'static str>,
    pub(crate) redirect: Option<Location>,
    pub(crate) redirect_status: Option<u16>,
    pub(crate) respond: Option<u16>,
    pub(crate) body: Option<String>,
    pub(crate) content_type: Option<String>,
}

impl RouteDraft {
    /// Whether the action is an application, which may run in a group.
    pub(crate) fn runs_application(&self) -> bool {
        self.app.is_some() || self.handler.is_some() || self.scripts.is_some()
    }

    /// Whether the action is CGI scripts.
    pub(crate) fn runs_programs(&self) -> bool {
        self.cgi.is_some() || !self.interpreters.is_empty()
    }

    /// Returns how many of [`ACTIONS`] the route has.
    pub(crate) fn actions(&self) -> usize {
        let is_cgi = self.runs_programs();
        let (app, handler) = (self.app.is_some(), self.handler.is_some());
        let (files, scripts) = (self.files.is_some(), self.scripts.is_some());
        let (redirect, respond) = (self.redirect.is_some(), self.respond.is_some());
        let all = [app, handler, files, scripts, is_cgi, redirect, respond];
        all.into_iter().filter(|is_said| *is_said).count()
    }
}

/// Keys of a table `[groups.NAME]` that have rows in this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupDraft {
    pub(crate) python: Option<PathBuf>,
    pub(crate) chdir: Option<PathBuf>,
    /// Whether the group runs the applications whose routes and sites name no group.
    pub(crate) is_default: bool,
    pub(crate) idle_timeout_ms: Option<u64>,
}

/// The longest name of a group.
const GROUP_NAME_BYTES_MAX: usize = 32;

/// Keys of actions; a route has one of them.
pub(crate) const ACTIONS: [&str; 7] = ["app", "handler", "files", "scripts", "cgi", "redirect", "respond"];

/// Keys that say which requests a route is for.
pub(crate) const MATCHING: [&str; 6] = ["path", "methods", "if-headers", "if-query", "remote", "internal"];

/// Keys that belong to another key.
pub(super) const PARTS: [(&str, &str); 6] = [
    ("mount", "app"),
    ("scripts-index", "scripts"),
    ("scripts-preload", "scripts"),
    ("redirect-status", "redirect"),
    ("body", "respond"),
    ("content-type", "respond"),
];

const SITE: Row<SiteDraft> = Row { group: "Sites", ..Row::EMPTY };

/// The keys of `[[sites]]`.
pub(crate) static SITE_ROWS: &[Row<SiteDraft>] = &[
    Row {
        name: "hosts",
        kind: Kind::Form { shape: "HOST", set: |site, text| host(text).map(|host| site.hosts.push(host)) },
        example: "*.shop.example",
        repeatable: true,
        help: "host names of the site",
        detail: "A name takes precedence over a wildcard, and a longer wildcard over a shorter one. A request whose \
                 host no site names goes to the first site of the file, so that site needs no `hosts`. \
                 `*.shop.example` stands for every name beneath `shop.example`, and not for that name itself. Case \
                 does not matter.",
        ..SITE
    },
    Row {
        name: "bind",
        kind: Kind::Form {
            shape: "ADDRESS",
            set: |site, text| own_address(text).map(|address| site.bind.push(address)),
        },
        example: "10.0.0.5:8081",
        repeatable: true,
        help: "addresses that the group of the site has to itself",
        detail: "HOST:PORT, unix:PATH or unix:@NAME, as in `bind` of `[server]`. The workers of the group accept \
                 there themselves. The site answers at no other address, and no site of another group answers at \
                 these, whatever host a request names. All of its applications run in one group, which answers \
                 everything else of the site, too: files, scripts and passwords are read by the group's user. All \
                 sites of that group have the same addresses; of these, the first one needs no `hosts`. The server \
                 opens the addresses before the group starts, as its own user, and keeps them open when processes of \
                 the group are replaced. `socket-mode`, `backlog` and `proxy-protocol` are those of `[server]`. \
                 Without this key, the site is found at the addresses of `[server]`.",
        ..SITE
    },
    Row {
        name: "group",
        kind: Kind::Form {
            shape: "NAME",
            set: |site, text| group_name(text).map(|name| site.group = Some(name)),
        },
        example: "shop",
        help: "group whose workers run the applications of the site",
        detail: "One of `[groups.NAME]`. It applies to each route with `app`, `handler` or `scripts` that has no \
                 `group` of its own.",
        ..SITE
    },
    Row {
        name: "root",
        kind: Kind::Path { shape: "DIR", set: |site, path| site.root = Some(path) },
        example: "/srv/shop/public",
        help: "folder to which `files` of the site's routes are relative",
        detail: "The folder is relative to `chdir`, whose default is the folder of the file of sites.",
        ..SITE
    },
    Row {
        name: "deny-paths",
        kind: Kind::Form {
            shape: "PATH",
            set: |site, text| denied(text).map(|path| site.ahead.denied.add(path)),
        },
        example: "*.bak",
        repeatable: true,
        help: "paths that are refused to everybody",
        detail: "Written like the `path` of a route: `*.bak` stands for all paths with that suffix, `/.git/` for that \
                 path and all beneath it, `/a` for that path alone. They are answered 403 before any route is looked \
                 for, so that no route and no file of a folder lets them in again. Paths beneath such a path \
                 (`/x.bak/y`) and the compressed forms of such a file (`/x.bak.gz`) are refused, too, and so is the \
                 path of a folder for which such a file would answer, as its index or its script. Paths are compared \
                 in their decoded form with single slashes; if `rewrite` changes a path, both forms are compared.",
        ..SITE
    },
    Row {
        name: "rewrite",
        kind: Kind::Form { shape: "FROM -> TO", set: |site, text| rewrite(&mut site.ahead.rewrites, text) },
        example: "/old/ -> /new/",
        repeatable: true,
        help: "paths that are changed before routes are looked for",
        detail: "The first matching rule applies, once. `/old/ -> /new/` changes the prefix of all paths beneath \
                 `/old/`, `/a -> /b` changes one path, `*.php -> /gone` all paths with that suffix. A rule that \
                 begins with `^` is a regular expression, in the syntax of Rust's crate `regex`, without Unicode: \
                 `^/user/([0-9]+)$ -> /profile?id={1}`; `{1}` and `{name}` stand for the text that its groups match. \
                 Matching takes time in proportion to the path. Paths are compared decoded, with single slashes, and \
                 new paths are written in that form. The request's query is kept, behind the query of the rule. \
                 Routes, folders and the application see only the new path, in canonical form; the access log has the \
                 old path.",
        ..SITE
    },
];

const GROUP: Row<GroupDraft> = Row { group: "Groups", ..Row::EMPTY };

/// The keys of `[groups.NAME]`.
pub(crate) static GROUP_ROWS: &[Row<GroupDraft>] = &[
    Row {
        name: "python",
        kind: Kind::Path { shape: "FILE", set: |group, path| group.python = Some(path) },
        example: "/srv/shop/venv/bin/python",
        help: "Python of the group, with its packages",
        detail: "Any CPython that the server supports, usually that of a virtual environment. The server brings its \
                 own package along, and nothing else of its Python; if it was built for another version, the package \
                 must be installed there, too. Relative to the `chdir` of `[server]`.",
        ..GROUP
    },
    Row {
        name: "chdir",
        kind: Kind::Path { shape: "DIR", set: |group, path| group.chdir = Some(path) },
        example: "/srv/shop",
        help: "folder that the workers of the group work in",
        detail: "Its applications are found there: an `app` that is a file is relative to it, and modules are looked \
                 for there first, so that two groups may each have a module `wsgi`. This path itself and all other \
                 paths of the file are relative to the `chdir` of `[server]`, which is also the default.",
        ..GROUP
    },
    Row {
        name: "default",
        kind: Kind::Switch { set: |group, on| group.is_default = on },
        default: "off",
        example: "on",
        help: "whether this group runs all applications that belong to no other group",
        detail: "These are the applications whose route and site have no `group`. One group of the file may have it.",
        ..GROUP
    },
    Row {
        name: "idle-timeout",
        kind: Kind::Number {
            unit: Unit::Duration,
            least: 1_000,
            most: 7 * 24 * 60 * 60 * 1_000,
            set: |group, ms| group.idle_timeout_ms = Some(ms),
        },
        default: "5m",
        example: "30m",
        help: "how long the processes of an idle group stay",
        detail: "Applies only with `min-processes = 0`: then the group has no process until the first request comes, \
                 and none again after it has answered no request for this time.",
        ..GROUP
    },
];

/// Whether a setting may stand in `[groups.NAME]`, which is about processes and how they run applications. Settings of
/// connections belong to the server, and settings of requests and answers belong to sites.
pub(crate) fn is_of_group(row: &SettingRow) -> bool {
    const OF_SERVER: [&str; 11] = [
        "admin",
        "admin-hosts",
        "admin-token",
        "chdir",
        "control",
        "drain-delay",
        "factory",
        "interface",
        "reload",
        "reload-pace",
        "touch-reload",
    ];
    const LOGS: [&str; 4] = ["access-log", "access-log-format", "error-log", "log-level"];
    let is_of_processes = ["Application", "Processes", "Threads and overload"].contains(&row.group);
    is_of_processes && !OF_SERVER.contains(&row.name)
        || LOGS.contains(&row.name)
        || row.name == "graceful-timeout"
}

const WHICH: Row<RouteDraft> = Row { group: "Routes: which requests", ..Row::EMPTY };
const ACTION: Row<RouteDraft> = Row { group: "Routes: what answers", ..Row::EMPTY };

/// The keys of `[[sites.routes]]`.
pub(crate) static ROUTE_ROWS: &[Row<RouteDraft>] = &[
    Row {
        name: "path",
        kind: Kind::Form {
            shape: "PATH",
            set: |route, text| path::read(text).map(|path| route.paths.push(path)),
        },
        default: "/",
        example: "/static/",
        repeatable: true,
        help: "paths that the route is for",
        detail: "`/a/` stands for `/a` and all beneath it, `/a` for that path alone, `*.php` for all paths with that \
                 suffix, `/` for everything. The most specific path takes precedence: an exact one, then the longest \
                 prefix, then a suffix, then `/`; of equal ones the first in the file. Paths are compared in their \
                 decoded form with single slashes, so that `/%61dmin//x` takes the route of `/admin/`; a path with `.` \
                 or `..` as a segment is answered 400.",
        ..WHICH
    },
    Row {
        name: "methods",
        kind: Kind::Form { shape: "METHOD", set: |route, text| method(route, text) },
        example: "POST",
        repeatable: true,
        help: "methods that the route is for",
        detail: "`GET` includes `HEAD`. A request that fits no route only because of its method is answered 405.",
        ..WHICH
    },
    Row {
        name: "if-headers",
        kind: Kind::Form {
            shape: "NAME=VALUE",
            set: |route, text| wanted(text).map(|field| route.when.fields.push(field)),
        },
        example: "X-Beta=1",
        repeatable: true,
        help: "fields that a request must have",
        detail: "A request must have all of them. `*` as the value allows any.",
        ..WHICH
    },
    Row {
        name: "if-query",
        kind: Kind::Form {
            shape: "NAME=VALUE",
            set: |route, text| wanted(text).map(|parameter| route.when.query.push(parameter)),
        },
        example: "version=2",
        repeatable: true,
        help: "parameters that a request's query must have",
        detail: "The query must have all of them; they are compared in their decoded form. `*` as the value allows \
                 any.",
        ..WHICH
    },
    Row {
        name: "remote",
        kind: Kind::Form { shape: "NETWORK", set: |route, text| network(&mut route.when.remote, text) },
        example: "10.0.0.0/8",
        repeatable: true,
        help: "addresses of clients that the route is for",
        detail: "The client's address must be one of them. Requests of other clients take the next route that fits; \
                 `allow` would refuse them. `unix` stands for clients of unix sockets.",
        ..WHICH
    },
    Row {
        name: "internal",
        kind: Kind::Switch { set: |route, on| route.is_internal = on },
        default: "off",
        example: "on",
        help: "whether only applications send requests there",
        detail: "For the targets of `internal-redirects`. Requests that clients send there themselves are answered \
                 404.",
        ..WHICH
    },
    Row {
        name: "app",
        kind: Kind::Form {
            shape: "TARGET",
            set: |route, text| target(text).map(|app| route.app = Some(app)),
        },
        example: "shop.wsgi:application",
        help: "application that answers",
        detail: "As on the command line: `package.module:attribute`, or `file.py`. Routes with the same application share it. \
                 The whole path is its `PATH_INFO`, unless `mount` is on.",
        ..ACTION
    },
    Row {
        name: "mount",
        kind: Kind::Form {
            shape: "on|off|PATH",
            set: |route, text| mount(text).map(|mount| route.mount = mount),
        },
        default: "off",
        example: "/shop",
        help: "whether the application is mounted at a path",
        detail: "With `true` it is mounted at the path of the route: that path is its `SCRIPT_NAME`, and the rest is \
                 its `PATH_INFO`, as with `WSGIScriptAlias` of mod_wsgi. Frameworks then make URLs that begin with \
                 that path. Give a path if the route lies beneath the application's mount: `mount = \"/shop\"` in a \
                 route for `/shop/admin/`. Off, `SCRIPT_NAME` is empty.",
        ..ACTION
    },
    Row {
        name: "group",
        kind: Kind::Form {
            shape: "NAME",
            set: |route, text| group_name(text).map(|name| route.group = Some(name)),
        },
        example: "shop",
        help: "group whose workers run the application, or start the CGI scripts",
        detail: "One of `[groups.NAME]`. Without it the `group` of the site applies, then the group that has \
                 `default`; if there is neither, the application runs in the workers that accept connections, which \
                 costs the least. For `cgi` it applies only if it stands in the route: then the scripts run as the \
                 user of the group.",
        ..ACTION
    },
    Row {
        name: "handler",
        kind: Kind::Form {
            shape: "TARGET",
            set: |route, text| target(text).map(|handler| route.handler = Some(handler)),
        },
        example: "shop.api:handle",
        help: "application that answers, called as `handler(request)`",
        detail: "As `app` with `interface = \"handler\"`.",
        ..ACTION
    },
    Row {
        name: "files",
        kind: Kind::Path { shape: "DIR", set: |route, path| route.files = Some(path) },
        example: "static",
        help: "folder of files that answers",
        detail: "Relative to the site's `root`. The part of a request's path behind the path of the route is looked \
                 up in the folder. The settings `static-…` apply, and may stand in the route.",
        ..ACTION
    },
    Row {
        name: "scripts",
        kind: Kind::Path { shape: "DIR", set: |route, path| route.scripts = Some(path) },
        example: "pages",
        help: "folder of Python scripts that answer",
        detail: "Relative to the site's `root`. Behind the path of the route, the first file on the request's path \
                 whose name ends in `.py` or `.wsgi` is loaded, once in each worker, and answers with its \
                 `application`, `app` or `handler`: WSGI or `handler(request)`, as `interface` says. A changed file \
                 is loaded again; until that is done the old version answers, and it goes on if the new version \
                 fails. Nothing else in the folder is served. Links are followed if `static-symlinks` is on, and \
                 never out of the folder.",
        ..ACTION
    },
    Row {
        name: "scripts-index",
        kind: Kind::Form {
            shape: "FILE",
            set: |route, text| script_name(text).map(|name| route.scripts_index = Some(name)),
        },
        default: "index.py",
        example: "main.wsgi",
        help: "script that answers for a folder",
        detail: "In each folder that has one: `/pages/` is answered by `/pages/index.py`.",
        ..ACTION
    },
    Row {
        name: "scripts-preload",
        kind: Kind::Form {
            shape: "PATTERN",
            set: |route, text| pages_pattern(text).map(|pattern| route.scripts_preload.push(pattern)),
        },
        example: "shop/*",
        repeatable: true,
        help: "scripts that are loaded before a worker serves",
        detail: "Paths in the folder of `scripts`, in which `*` stands for anything: `*` alone stands for all \
                 scripts. Each worker loads them when it starts, one after the other and 1000 at most, and then \
                 begins to serve. If one fails, the error log has the traceback, and the worker goes on. Other \
                 scripts are loaded when they are first asked for.",
        ..ACTION
    },
    Row {
        name: "cgi",
        kind: Kind::Form { shape: "DIR|*.END=PROGRAM", set: cgi },
        example: "cgi-bin",
        repeatable: true,
        help: "folder of CGI scripts that answer",
        detail: "Relative to the site's `root`. Behind the path of the route, the first file on the request's path is \
                 run if it is executable; the rest of the path is its `PATH_INFO`. With a table of suffixes and \
                 interpreters, as `{ \"*.pl\" = \"/usr/bin/perl\" }`, only files with these suffixes are run, \
                 executable or not. The key `folder` in that table names the folder; the default is `root`. The \
                 settings `cgi-…` apply, and may stand in the route.",
        ..ACTION
    },
    Row {
        name: "try",
        kind: Kind::Form {
            shape: "ACTION",
            set: |route, text| tried(&route.tried, text).map(|action| route.tried.push(action)),
        },
        example: "files",
        repeatable: true,
        help: "keys that answer in turn: `files`, and then another if the folder has no such file",
        detail: "`try = [\"files\", \"app\"]`: the folder of `files` answers; if it has no such file, `app` of the \
                 same route does. Any other key that answers may stand in the place of `app`. `try = \"files\"` alone \
                 leaves the request to the next route that fits, as `static-fall-through` does. For each request the \
                 server searches one folder only, and then skips routes with other folders.",
        ..ACTION
    },
    Row {
        name: "redirect",
        kind: Kind::Form {
            shape: "URL",
            set: |route, text| Location::read(text).map(|location| route.redirect = Some(location)),
        },
        example: "https://{host}{path}{query}",
        help: "where clients are sent",
        detail: "`{host}` is the host that was asked for, without a port; `{path}` the path as it was sent; `{rest}` \
                 the part of that path behind the path of the route; `{query}` the query with its question mark. A \
                 target that begins with `{path}` never leads to another host.",
        ..ACTION
    },
    Row {
        name: "redirect-status",
        kind: Kind::Choice {
            words: &["301", "302", "303", "307", "308"],
            set: |route, index| route.redirect_status = Some([301, 302, 303, 307, 308][index]),
        },
        default: "307",
        example: "308",
        help: "status of the redirect",
        detail: "301 and 308 are permanent: browsers remember them for a long time. 307 and 308 keep the method and the body, \
                 303 asks with GET.",
        ..ACTION
    },
    Row {
        name: "respond",
        kind: Kind::Number {
            unit: Unit::Count,
            least: 200,
            most: 599,
            set: |route, number| route.respond = u16::try_from(number).ok(),
        },
        example: "404",
        help: "status of an answer that is always the same",
        detail: "With the text in `body`, or else with the server's own page for that status.",
        ..ACTION
    },
    Row {
        name: "body",
        kind: Kind::Form {
            shape: "TEXT",
            set: |route, text| {
                route.body = Some(text.to_owned());
                Ok(())
            },
        },
        example: "closed until Monday",
        help: "text of the answer of `respond`",
        detail: "Sent in UTF-8. Longer texts are better kept in a folder of files.",
        ..ACTION
    },
    Row {
        name: "content-type",
        kind: Kind::Form {
            shape: "TYPE",
            set: |route, text| media_type(text).map(|text| route.content_type = Some(text)),
        },
        default: "text/plain; charset=utf-8",
        example: "application/json",
        help: "media type of the text in `body`",
        detail: "The value of the field `Content-Type`.",
        ..ACTION
    },
];

/// Reads an address that a group can have to itself.
fn own_address(text: &str) -> Result<Bind, String> {
    match text.parse()? {
        Bind::Fd(_) => {
            Err("a socket that is open already belongs to the server: fd://N goes into [server]".to_owned())
        }
        address => Ok(address),
    }
}

/// Reads a host name of a site.
fn host(text: &str) -> Result<HostPattern, String> {
    if text == "_" {
        return Err("the first site answers all host names that no site has, and needs no hosts".to_owned());
    }
    if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: Ipv6Addr = address.parse().map_err(|_| format!("{address} is no IPv6 address"))?;
        let usual = format!("[{address}]");
        if usual != text.to_ascii_lowercase() {
            return Err(format!("clients write that address as {usual}"));
        }
    } else if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!("an IPv6 address stands in brackets; write [{text}]"));
    } else if let Some(rest) = text.strip_prefix('.') {
        return Err(format!("for all names beneath {rest} write *.{rest}"));
    } else if text.contains("..") {
        return Err("a part of the name is missing between two dots".to_owned());
    }
    HostPattern::read(text)
        .map_err(|_| "write a host name without a port, as shop.example, *.shop.example or [::1]".to_owned())
}

/// Reads the path at which an application is mounted.
fn mount(text: &str) -> Result<Mount, String> {
    if let Some(on) = switch(text) {
        return Ok(if on { Mount::Route } else { Mount::Root });
    }
    match path::read(text) {
        Ok(PathPattern::Exact(path) | PathPattern::Prefix(path)) if path.is_empty() => Ok(Mount::Root),
        Ok(PathPattern::Exact(path) | PathPattern::Prefix(path)) => Ok(Mount::At(path)),
        Ok(PathPattern::Suffix(_)) | Err(_) => {
            Err("write true, false, or a path that begins with a slash".to_owned())
        }
    }
}

fn rewrite(rewrites: &mut Rewrites, text: &str) -> Result<(), String> {
    let (from, to) = text.split_once(" -> ").ok_or("write FROM -> TO, as in /old/ -> /new/")?;
    let (from, to) = (from.trim(), to.trim());
    if from.starts_with('^') {
        rewrites.add_expression(from, to)
    } else {
        rewrites.add_path(path::read(from)?, to)
    }
}

/// Reads a path that is refused to everybody.
fn denied(text: &str) -> Result<PathPattern, String> {
    match path::read(text)? {
        PathPattern::Prefix(prefix) if prefix.is_empty() => {
            Err("/ is everything, and the site would answer nothing; write some of its paths, as *.bak"
                .to_owned())
        }
        pattern => Ok(pattern),
    }
}

fn method(route: &mut RouteDraft, text: &str) -> Result<(), String> {
    if !is_token(text.as_bytes()) {
        return Err("write a method, as GET or PURGE".to_owned());
    }
    let upper = text.to_ascii_uppercase();
    if upper != text && ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(&upper.as_str())
    {
        return Err(format!("methods are in capitals; write {upper}"));
    }
    route.when.methods.push(text.as_bytes().into());
    Ok(())
}

/// Checks the name of a group, which appears in messages, and in names of files and processes.
pub(crate) fn group_name(text: &str) -> Result<String, String> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=GROUP_NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(is_fine)
        && !text.starts_with(['-', '.'])
    {
        Ok(text.to_owned())
    } else {
        Err(format!("a name has 1 to {GROUP_NAME_BYTES_MAX} letters, digits and -_., as in shop"))
    }
}

fn wanted(text: &str) -> Result<Wanted, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok(Wanted {
            name: name.as_bytes().into(),
            value: if value == "*" { None } else { Some(value.as_bytes().into()) },
        }),
        _ => Err("write NAME=VALUE, or a table of them".to_owned()),
    }
}

/// Reads the next action in a list of actions that are tried in turn.
fn tried(before: &[&str], text: &str) -> Result<&'static str, String> {
    let Some(action) = ACTIONS.into_iter().find(|action| *action == text) else {
        return Err(format!("write keys that answer: files, and then one of {}", others()));
    };
    match (before.len(), action) {
        (0, "files") => Ok(action),
        (0, _) => Err("files must be first, because it alone can leave a request to another key".to_owned()),
        (1, "files") => Err("files is in the list already".to_owned()),
        (1, _) => Ok(action),
        _ => Err("the key after files always answers, so no other may follow it".to_owned()),
    }
}

/// Returns the actions that may follow `files` in a list of `try`.
fn others() -> String {
    let others: Vec<&str> = ACTIONS.into_iter().filter(|action| *action != "files").collect();
    others.join(", ")
}

fn target(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("write a target, as shop.wsgi:application".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Checks the name of a script in its folder.
fn script_name(text: &str) -> Result<String, String> {
    let is_script = Path::new(text).extension().is_some_and(|end| end == "py" || end == "wsgi");
    if is_script && !text.contains('/') && !text.starts_with(['.', '_']) {
        Ok(text.to_owned())
    } else {
        Err("write the name of a script, as index.py or index.wsgi".to_owned())
    }
}

/// Reads an interpreter for files whose names end in a suffix, as in `*.pl=/usr/bin/perl`; `None`: the text does not
/// have this form.
pub(crate) fn interpreter(text: &str) -> Result<Option<(String, PathBuf)>, String> {
    let Some((end, program)) = text.strip_prefix('*').and_then(|rest| rest.split_once('=')) else {
        return Ok(None);
    };
    if end.len() < 2 || !end.starts_with('.') || end.contains('/') {
        return Err("write a suffix of file names, as *.pl".to_owned());
    }
    if !program.starts_with('/') {
        return Err("write the absolute path of a program, as /usr/bin/perl".to_owned());
    }
    Ok(Some((end.to_owned(), program.into())))
}

/// Checks a pattern of scripts in a folder.
fn pages_pattern(text: &str) -> Result<String, String> {
    let is_path = |part: &str| !part.is_empty() && part != "." && part != "..";
    if text.split('/').all(is_path) && !text.contains('\0') {
        Ok(text.to_owned())
    } else {
        Err("write a path in the folder of the scripts, as index.py or shop/*; * alone is all of them"
            .to_owned())
    }
}

/// Reads a folder of CGI scripts, or an interpreter for files with a suffix.
fn cgi(route: &mut RouteDraft, text: &str) -> Result<(), String> {
    if let Some(interpreter) = interpreter(text)? {
        route.interpreters.push(interpreter);
        return Ok(());
    }
    let folder = text.strip_prefix("folder=").unwrap_or(text);
    if folder.is_empty() {
        return Err("write a folder, as cgi-bin".to_owned());
    }
    if folder.contains('=') {
        return Err(
            "write folder for the folder of the scripts, or a suffix of file names, as *.pl".to_owned()
        );
    }
    match route.cgi.replace(folder.into()) {
        Some(_) => {
            Err("a route has one folder of scripts; write another route for a second folder".to_owned())
        }
        None => Ok(()),
    }
}

fn media_type(text: &str) -> Result<String, String> {
    let is_fine = text.contains('/') && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_fine {
        Ok(text.to_owned())
    } else {
        Err("write a media type, as text/html; charset=utf-8".to_owned())
    }
}
