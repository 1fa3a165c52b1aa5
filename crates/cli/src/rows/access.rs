//! Clients that may use a site: names and passwords, and addresses.

use std::path::PathBuf;

use adyton_route::Networks;

use crate::rows::files::field_value;
use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// Clients that may use a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Access {
    /// How clients authenticate; `None`: they need no password.
    pub auth: Option<Auth>,
    pub auth_realm: String,
    /// Users that are let in; if both this list and `auth_groups` are empty, all users of the file are.
    pub auth_users: Vec<String>,
    pub auth_groups: Vec<String>,
    pub auth_group_file: Option<PathBuf>,
    /// The Python function that knows the groups, in place of a file.
    pub auth_group_python: Option<String>,
    /// How long a password that Python accepted is remembered; 0: Python is asked each time.
    pub auth_remember_ms: u64,
    /// Clients that are let in; if the list is empty, all clients except those in `deny`.
    pub allow: Networks,
    pub deny: Networks,
    /// The Python function that decides which requests are let in.
    pub allow_python: Option<String>,
    /// The interval between two requests of a client at the limit, in µs; `None`: no limit.
    pub rate_limit: Option<u64>,
    pub rate_burst: u32,
    /// Whether clients in `allow` need no password, and other clients are let in with one.
    pub auth_satisfy_any: bool,
}

impl<S: Has<Access>> Section<S> for Access {
    const HEADING: &'static str = "Access";
    const SCOPE: Scope = Scope::Route;

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "auth",
            kind: Kind::Form {
                shape: "SCHEME:WHERE",
                set: |settings, text| auth(text).map(|auth| settings.as_mut().auth = auth),
            },
            default: "off",
            example: "basic:staff.htpasswd",
            help: "ask clients for a name and a password",
            detail: "`basic:FILE` checks passwords with a file that `htpasswd` has made (`htpasswd -B -c FILE NAME` \
                     uses bcrypt; argon2, crypt with SHA-512 or SHA-256, APR1 and, though weak, SHA-1 are read, too). \
                     `digest:FILE` uses a file of `htdigest` (MD5 or SHA-256, RFC 7616). `basic-python:TARGET` calls \
                     `check_password(environ, user, password)` of a Python module or file, and `digest-python:TARGET` \
                     calls `get_realm_hash(environ, user, realm)`, both as in `mod_wsgi`; `TARGET:NAME` calls a \
                     function of another name. With `off`, clients need no password. A changed file applies within a \
                     second. A client without a right password gets a 401; after ten wrong passwords its address has \
                     to wait, longer each time (429). The application finds the name in `REMOTE_USER`, and does not \
                     see `Authorization`. With `basic`, passwords are sent unencrypted: a proxy in front of the \
                     server has to encrypt the connection.",
            ..Self::ROW
        },
        Row {
            name: "auth-realm",
            kind: Kind::Form {
                shape: "TEXT",
                set: |settings, text| field_value(text).map(|realm| settings.as_mut().auth_realm = realm),
            },
            default: "protected",
            example: "Staff",
            help: "what the password is for",
            detail: "Browsers show it. With `digest` it must be the realm that the file was made for.",
            ..Self::ROW
        },
        Row {
            name: "auth-users",
            kind: Kind::Form {
                shape: "NAMES",
                set: |settings, text| names(text).map(|names| settings.as_mut().auth_users = names),
            },
            example: "ann,bob",
            help: "users of the file that are let in",
            detail: "Names, separated by commas. If neither this nor `auth-groups` is set, all users of the file are \
                     let in; if both are set, users whom either of them names.",
            ..Self::ROW
        },
        Row {
            name: "auth-groups",
            kind: Kind::Form {
                shape: "NAMES",
                set: |settings, text| names(text).map(|names| settings.as_mut().auth_groups = names),
            },
            example: "editors",
            help: "groups whose members are let in",
            detail: "Names, separated by commas, of groups that `auth-group-file` or `auth-group-python` knows.",
            ..Self::ROW
        },
        Row {
            name: "auth-group-python",
            kind: Kind::Form {
                shape: "TARGET",
                set: |settings, text| {
                    target(text).map(|target| settings.as_mut().auth_group_python = Some(target))
                },
            },
            example: "site_auth.py",
            help: "Python function that returns a user's groups",
            detail: "A Python module or file whose `groups_for_user(environ, user)` is called; `TARGET:NAME` calls a \
                     function of another name. The function returns the names of the user's groups. If `auth` names \
                     Python and there is no `auth-group-file`, the default is the module of `auth`.",
            ..Self::ROW
        },
        Row {
            name: "auth-group-file",
            kind: Kind::Path {
                shape: "FILE",
                set: |settings, path| settings.as_mut().auth_group_file = Some(path),
            },
            example: "staff.groups",
            help: "file that says who is in which group",
            detail: "The file has a line for each group, as in Apache's `AuthGroupFile`: `editors: ann bob`.",
            ..Self::ROW
        },
        Row {
            name: "auth-remember",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 0,
                most: 60 * 60 * 1_000,
                set: |settings, ms| settings.as_mut().auth_remember_ms = ms,
            },
            default: "0",
            example: "1m",
            help: "how long Python's verdicts are remembered",
            detail: "When `basic-python` has accepted a name and a password, neither it nor `groups_for_user` is \
                     asked about them again for this time. A user who is locked out meanwhile may still come in. Each \
                     process remembers for itself. A function that gives clients other names is asked every time, and \
                     so is `allow-python`. Verdicts on passwords of files are always kept for an hour, or until the \
                     file changes.",
            ..Self::ROW
        },
        Row {
            name: "auth-satisfy",
            kind: Kind::Choice {
                words: &["all", "any"],
                set: |settings, index| settings.as_mut().auth_satisfy_any = index == 1,
            },
            default: "all",
            example: "any",
            help: "whether clients of `allow` need a password",
            detail: "With `all`, clients of `allow` need a password, and other clients are not let in. With `any`, \
                     clients of `allow` need none, and other clients are let in with a password.",
            ..Self::ROW
        },
        Row {
            name: "allow",
            kind: Kind::Form {
                shape: "NETWORK",
                set: |settings, text| allowed(&mut settings.as_mut().allow, text),
            },
            example: "10.0.0.0/8",
            repeatable: true,
            help: "addresses of clients that are let in",
            detail: "Other clients get a 403. Without this setting, all clients are let in except those in `deny`. \
                     `unix` stands for clients of unix sockets. In a file of sites, the list of a route replaces that \
                     of its site, and the site's list replaces the server's; `all` lets all clients in again.",
            clear: Some(|settings| settings.as_mut().allow = Networks::default()),
            ..Self::ROW
        },
        Row {
            name: "deny",
            kind: Kind::Form {
                shape: "NETWORK",
                set: |settings, text| denied(&mut settings.as_mut().deny, text),
            },
            example: "192.0.2.0/24",
            repeatable: true,
            help: "addresses of clients that are refused",
            detail: "These clients get a 403, even if `allow` has them. `all` stands for all clients. In a file of \
                     sites, the list of a route replaces that of its site, as with `allow`; `none` refuses nobody.",
            clear: Some(|settings| settings.as_mut().deny = Networks::default()),
            ..Self::ROW
        },
        Row {
            name: "allow-python",
            kind: Kind::Form {
                shape: "TARGET",
                set: |settings, text| {
                    if text == "off" {
                        settings.as_mut().allow_python = None;
                        return Ok(());
                    }
                    target(text).map(|target| settings.as_mut().allow_python = Some(target))
                },
            },
            default: "off",
            example: "site_auth.py",
            help: "Python that decides which requests are let in",
            detail: "A Python module or file whose `allow_access(environ, host)` is called for each request, with the \
                     client's address, as in `mod_wsgi`; `TARGET:NAME` calls a function of another name. If it \
                     returns `False`, the client gets a 403. If it returns `True` or `None`, the other rules of the \
                     route apply: `allow` and `deny` are checked before the call, `auth` is checked after it.",
            ..Self::ROW
        },
        Row {
            name: "rate-limit",
            kind: Kind::Form {
                shape: "N/TIME",
                set: |settings, text| {
                    rate(text).map(|interval_us| settings.as_mut().rate_limit = interval_us)
                },
            },
            default: "off",
            example: "10/s",
            help: "requests that a client may send in a time",
            detail: "`10/s`, `300/m` or `1000/h`, spread evenly; up to `rate-burst` of them may come at once. Further \
                     requests get a 429 with `Retry-After`. A client is an IPv4 address, or the first 64 bits of an \
                     IPv6 address; clients of unix sockets are not counted. Routes of a site with the same limit \
                     share one count. Each worker counts for itself: with four processes, a client that uses many \
                     connections may get up to four times as much.",
            ..Self::ROW
        },
        Row {
            name: "rate-burst",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 1,
                most: 1_000_000,
                set: |settings, number| {
                    settings.as_mut().rate_burst = u32::try_from(number).unwrap_or(u32::MAX);
                },
            },
            default: "20",
            example: "50",
            help: "requests of rate-limit that may come at once",
            detail: "A client may send this many after a pause: a browser asks for a page and all its parts within a \
                     second.",
            ..Self::ROW
        },
    ];
}

/// How clients authenticate, with the file of users (relative to `chdir`) or the Python that knows the users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// With the password itself (RFC 7617).
    Basic(PathBuf),
    /// With a digest of the password (RFC 7616).
    Digest(PathBuf),
    /// With the password itself, which a Python function checks: `MODULE`, `FILE.py`, or either with `:NAME`.
    BasicPython(String),
    /// With a digest of the password, which a Python function returns.
    DigestPython(String),
}

fn auth(text: &str) -> Result<Option<Auth>, String> {
    match text.split_once(':') {
        None if text == "off" => Ok(None),
        Some(("basic", file)) if !file.is_empty() => Ok(Some(Auth::Basic(file.into()))),
        Some(("digest", file)) if !file.is_empty() => Ok(Some(Auth::Digest(file.into()))),
        Some(("basic-python", text)) => target(text).map(|target| Some(Auth::BasicPython(target))),
        Some(("digest-python", text)) => target(text).map(|target| Some(Auth::DigestPython(target))),
        _ => {
            Err("write off, basic:FILE, digest:FILE, basic-python:TARGET or digest-python:TARGET".to_owned())
        }
    }
}

/// Checks a module or a file of Python, perhaps with the name of a function.
fn target(text: &str) -> Result<String, String> {
    let (place, name) = text.split_once(':').unwrap_or((text, "NAME"));
    if place.is_empty() || name.is_empty() {
        Err("write MODULE, FILE.py, or either with :NAME behind it".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Reads a rate, and returns the time between two requests, in µs; `None` for `off`.
fn rate(text: &str) -> Result<Option<u64>, String> {
    if text == "off" {
        return Ok(None);
    }
    let us = |time: &str| match time {
        "s" => Some(1_000_000),
        "m" => Some(60 * 1_000_000),
        "h" => Some(60 * 60 * 1_000_000),
        _ => None,
    };
    let split =
        text.split_once('/').and_then(|(number, time)| Some((number.parse::<u32>().ok()?, us(time)?)));
    match split {
        Some((number @ 1..=RATE_MAX, us)) => Ok(Some(us / u64::from(number))),
        _ => Err(format!(
            "write off, or a number from 1 to {RATE_MAX} with its time, as 10/s, 300/m or 1000/h"
        )),
    }
}

/// Largest number of requests in a rate; a larger one would be no limit.
const RATE_MAX: u32 = 1_000_000;

fn names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        Err("write names with commas between them".to_owned())
    } else {
        Ok(names)
    }
}

/// Returns the networks of every client, wherever it comes from.
pub(crate) fn everybody() -> Networks {
    let mut networks = Networks::default();
    for range in EVERYBODY {
        let added = networks.add(range);
        debug_assert_eq!(Ok(()), added, "a range is right");
    }
    networks
}

/// Networks of every client; an IPv4 address counts as an IPv6 address, too.
const EVERYBODY: [&str; 2] = ["::/0", "unix"];

/// Reads a range of clients that are let in.
fn allowed(networks: &mut Networks, text: &str) -> Result<(), String> {
    match text {
        "all" => EVERYBODY.into_iter().try_for_each(|range| network(networks, range)),
        "none" => Err("to let nobody in, write deny = \"all\"".to_owned()),
        "*" | "any" | "everyone" => Err("write all for every client".to_owned()),
        _ => network(networks, text),
    }
}

/// Reads a range of clients that are kept out.
fn denied(networks: &mut Networks, text: &str) -> Result<(), String> {
    match text {
        "all" => EVERYBODY.into_iter().try_for_each(|range| network(networks, range)),
        "none" if networks.is_empty() => Ok(()),
        "none" => Err("none stands alone, but this list has other addresses, too".to_owned()),
        "*" | "any" | "everyone" => Err("write all for every client".to_owned()),
        _ => network(networks, text),
    }
}

/// Reads a range of addresses, and adds it to the others.
pub(crate) fn network(networks: &mut Networks, text: &str) -> Result<(), String> {
    networks.add(text).map_err(|error| error.to_string())
}
