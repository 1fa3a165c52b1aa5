//! The keys of sites and routes that are no settings of the server.

use adyton_http::bytes::is_token;
use adyton_route::{HeadEdits, HostPattern, Location, Networks, PathPattern, Wanted, When};
use std::path::PathBuf;

use super::path;
use crate::row::{Kind, Row};
use crate::units::Unit;

/// What a table `[[sites]]` says, as far as rows of this file go.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteDraft {
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) root: Option<PathBuf>,
}

/// What a table `[[sites.routes]]` says, as far as rows of this file go.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteDraft {
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) when: When,
    pub(crate) allow: Networks,
    pub(crate) deny: Networks,
    pub(crate) allow_replaces_password: bool,
    pub(crate) edits: HeadEdits,
    pub(crate) app: Option<String>,
    pub(crate) is_mounted: bool,
    pub(crate) handler: Option<String>,
    pub(crate) files: Option<PathBuf>,
    pub(crate) redirect: Option<Location>,
    pub(crate) redirect_status: Option<u16>,
    pub(crate) respond: Option<u16>,
    pub(crate) body: Option<String>,
    pub(crate) content_type: Option<String>,
}

/// Keys that say what answers; a route has one of them.
pub(crate) const ACTIONS: [&str; 5] = ["app", "handler", "files", "redirect", "respond"];

/// Keys that belong to another one.
pub(crate) const PARTS: [(&str, &str); 4] =
    [("mount", "app"), ("redirect-status", "redirect"), ("body", "respond"), ("content-type", "respond")];

const SITE: Row<SiteDraft> = Row { group: "Sites", ..Row::EMPTY };

/// The keys of `[[sites]]`.
pub(crate) static SITE_ROWS: &[Row<SiteDraft>] = &[
    Row {
        name: "hosts",
        kind: Kind::Form {
            shape: "HOST",
            set: |site, text| {
                HostPattern::read(text).map(|host| site.hosts.push(host)).map_err(|_| {
                    "write a host name without a port, as shop.example, *.shop.example or [::1]".to_owned()
                })
            },
        },
        example: "*.shop.example",
        repeatable: true,
        help: "host names that the site has",
        detail: "A name counts before a wildcard, and of wildcards the longest. What no site has as its name is for the first \
                 site of the file, which therefore needs none. `*.shop.example` has every name beneath `shop.example`, and \
                 not that itself. Case does not matter.",
        ..SITE
    },
    Row {
        name: "root",
        kind: Kind::Path { shape: "DIR", set: |site, path| site.root = Some(path) },
        example: "/srv/shop/public",
        help: "folder that `files` of its routes are relative to",
        detail: "Itself relative to `chdir`, which is the folder of the file unless it is set.",
        ..SITE
    },
];

const MATCHING: Row<RouteDraft> = Row { group: "Routes: which requests", ..Row::EMPTY };
const ACTION: Row<RouteDraft> = Row { group: "Routes: what answers", ..Row::EMPTY };
const AROUND: Row<RouteDraft> = Row { group: "Routes: around it", ..Row::EMPTY };

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
        detail: "`/a/` is `/a` and all beneath it, `/a` that path alone, `*.php` all that end so, `/` everything. The most \
                 specific path counts: an exact one, then the longest beginning, then an end, then `/`; of equal ones the \
                 first in the file. Paths are compared in their decoded form with single slashes, so that `/%61dmin//x` \
                 takes the route of `/admin/`; a path with `.` or `..` as a segment is answered 400.",
        ..MATCHING
    },
    Row {
        name: "methods",
        kind: Kind::Form { shape: "METHOD", set: |route, text| method(route, text) },
        example: "POST",
        repeatable: true,
        help: "methods that the route is for",
        detail: "`GET` is for `HEAD`, too. If only the method keeps a request from every route of its path, it is answered 405.",
        ..MATCHING
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
        detail: "All of them. `*` as the value allows any.",
        ..MATCHING
    },
    Row {
        name: "if-query",
        kind: Kind::Form {
            shape: "NAME=VALUE",
            set: |route, text| wanted(text).map(|parameter| route.when.query.push(parameter)),
        },
        example: "version=2",
        repeatable: true,
        help: "parameters that its query must have",
        detail: "All of them, compared in their decoded form. `*` as the value allows any.",
        ..MATCHING
    },
    Row {
        name: "remote",
        kind: Kind::Form { shape: "NETWORK", set: |route, text| network(&mut route.when.remote, text) },
        example: "10.0.0.0/8",
        repeatable: true,
        help: "addresses of clients that the route is for",
        detail: "One of them. Requests of others take the next route that fits; `allow` refuses them instead. `unix` are \
                 clients of unix sockets.",
        ..MATCHING
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
        kind: Kind::Switch { set: |route, on| route.is_mounted = on },
        default: "off",
        example: "on",
        help: "whether the application stands beneath the path of the route",
        detail: "Then that path is its `SCRIPT_NAME`, and what stands behind it its `PATH_INFO`, as with `WSGIScriptAlias` of \
                 mod_wsgi; frameworks make their URLs so that they lead back to it. Off, `SCRIPT_NAME` is empty.",
        ..ACTION
    },
    Row {
        name: "handler",
        kind: Kind::Form {
            shape: "TARGET",
            set: |route, text| target(text).map(|handler| route.handler = Some(handler)),
        },
        example: "shop.api:handle",
        help: "the same, called as `handler(request)`",
        detail: "As `app` with `interface = \"handler\"`.",
        ..ACTION
    },
    Row {
        name: "files",
        kind: Kind::Path { shape: "DIR", set: |route, path| route.files = Some(path) },
        example: "static",
        help: "folder of files that answers",
        detail: "Relative to the site's `root`. What stands behind the path of the route is looked for in it. The settings \
                 `static-…` say how, and may stand in the route.",
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
        detail: "`{host}` is the host that was asked for, without a port; `{path}` the path as it was sent; `{rest}` what of it \
                 stands behind the path of the route; `{query}` the query with its question mark. A target that begins with \
                 `{path}` never leads to another host.",
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
        help: "text of that answer",
        detail: "Sent in UTF-8. For more than a few lines, a folder of files is the place.",
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
        help: "media type of that text",
        detail: "As it stands in the field `Content-Type`.",
        ..ACTION
    },
    Row {
        name: "allow",
        kind: Kind::Form { shape: "NETWORK", set: |route, text| network(&mut route.allow, text) },
        example: "10.0.0.0/8",
        repeatable: true,
        help: "addresses of clients that may use the route",
        detail: "Others are answered 403. Without it all may that `deny` does not name. `unix` are clients of unix sockets.",
        ..AROUND
    },
    Row {
        name: "deny",
        kind: Kind::Form { shape: "NETWORK", set: |route, text| network(&mut route.deny, text) },
        example: "192.0.2.0/24",
        repeatable: true,
        help: "addresses of clients that may not",
        detail: "They are answered 403, even if `allow` has them.",
        ..AROUND
    },
    Row {
        name: "auth-satisfy",
        kind: Kind::Choice {
            words: &["all", "any"],
            set: |route, index| route.allow_replaces_password = index == 1,
        },
        default: "all",
        example: "any",
        help: "whether clients of `allow` need a password",
        detail: "With `all` they do, and others are not let in. With `any` they do not, and others are let in with one.",
        ..AROUND
    },
    Row {
        name: "headers",
        kind: Kind::Form { shape: "NAME=VALUE", set: |route, text| field(&mut route.edits, text, true) },
        example: "X-Frame-Options=DENY",
        repeatable: true,
        help: "fields of its answers, in place of others of that name",
        detail: "Of all answers, whatever their status.",
        ..AROUND
    },
    Row {
        name: "add-headers",
        kind: Kind::Form { shape: "NAME=VALUE", set: |route, text| field(&mut route.edits, text, false) },
        example: "Link=</style.css>; rel=preload",
        repeatable: true,
        help: "fields of its answers, beside others of that name",
        detail: "Of all answers, whatever their status.",
        ..AROUND
    },
    Row {
        name: "remove-headers",
        kind: Kind::Form {
            shape: "NAME",
            set: |route, text| route.edits.remove(text).map_err(str::to_owned),
        },
        example: "X-Powered-By",
        repeatable: true,
        help: "fields that its answers do not have",
        detail: "What the application or the server itself says there is left out. `Server` is a setting.",
        ..AROUND
    },
    Row {
        name: "cache-control",
        kind: Kind::Form {
            shape: "TEXT",
            set: |route, text| field(&mut route.edits, &format!("Cache-Control={text}"), true),
        },
        example: "max-age=31536000, immutable",
        help: "Cache-Control field of its answers",
        detail: "In place of what the application says.",
        ..AROUND
    },
];

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

fn wanted(text: &str) -> Result<Wanted, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok(Wanted {
            name: name.as_bytes().into(),
            value: if value == "*" { None } else { Some(value.as_bytes().into()) },
        }),
        _ => Err("write NAME=VALUE, or a table of them".to_owned()),
    }
}

fn network(networks: &mut Networks, text: &str) -> Result<(), String> {
    networks.add(text).map_err(|error| error.to_string())
}

fn target(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("write a target, as shop.wsgi:application".to_owned())
    } else {
        Ok(text.to_owned())
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

fn field(edits: &mut HeadEdits, text: &str, replaces: bool) -> Result<(), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write NAME=VALUE, or a table of them".to_owned());
    };
    edits.add(name, value).map_err(str::to_owned)?;
    if replaces { edits.remove(name).map_err(str::to_owned) } else { Ok(()) }
}
