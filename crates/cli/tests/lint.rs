//! What is wrong although each key is right by itself: rules that keep nobody out, answers that cannot be, ways around guards.

#![allow(clippy::expect_used, clippy::panic, reason = "a test ends at its first surprise")]

use adyton_cli::{Command, Failure, Settings, mistakes_alone, parse, warnings};
use adyton_route::Door;

fn read(text: &str) -> Result<Settings, Failure> {
    let words = ["check", "site.toml"].map(str::to_owned);
    match parse(&words, &[], false, Some(text.into()))? {
        Command::Check(settings) => Ok(*settings),
        other => panic!("{other:?} is no check"),
    }
}

/// What is said about a wrong file, without its name.
fn mistakes(text: &str) -> Vec<String> {
    let Err(failure) = read(text) else { return Vec::new() };
    failure.sentences().map(|line| line.strip_prefix("site.toml:").unwrap_or(line).to_owned()).collect()
}

/// What is said of a right file that is doubtful.
fn doubts(text: &str) -> Vec<String> {
    let settings = read(text).unwrap_or_else(|failure| panic!("{text}{failure}"));
    let all = warnings(&settings).into_iter().map(|doubt| doubt.to_string());
    all.map(|line| line.strip_prefix("site.toml:").unwrap_or(&line).to_owned()).collect()
}

/// A site with one route, in which these lines stand from line 3 on.
fn route(lines: &str) -> String {
    format!("[[sites]]\n[[sites.routes]]\n{lines}\n")
}

/// Routes that keep nobody out: the lines of one, and what is said.
const OPEN: &[(&str, &str)] = &[
    (
        "respond = 200\nauth-users = \"ann\"",
        "4:14: auth-users: no client is asked who it is, so all are let in; ",
    ),
    ("respond = 200\nauth-groups = \"staff\"", "4:15: auth-groups: no client is asked who it is, "),
    ("respond = 200\nauth-realm = \"protected\"", "4:14: auth-realm: no client is asked who it is, "),
    ("respond = 200\nauth-satisfy = \"any\"", "4:16: auth-satisfy: no client is asked who it is, "),
    ("respond = 200\nauth-satisfy = \"all\"", "4:16: auth-satisfy: no client is asked who it is, "),
    (
        "respond = 200\nauth = \"off\"\nauth-users = \"ann\"",
        "5:14: auth-users: no client is asked who it is, ",
    ),
    (
        "respond = 200\nauth-group-file = \"groups\"",
        "4:19: auth-group-file: no group is asked for, so all users ",
    ),
    (
        "respond = 200\nauth = \"basic:users\"\nauth-group-python = \"m\"",
        "5:21: auth-group-python: no group is asked for, so all users are let in; auth-groups names those whose members \
         are, or leave it out",
    ),
    (
        "respond = 200\nauth = \"basic:users\"\nauth-groups = \"staff\"",
        "5:15: auth-groups: nothing says who is in which group; auth-group-file or auth-group-python does",
    ),
    (
        "respond = 200\nauth = \"basic:users\"\nallow = \"all\"\nauth-satisfy = \"any\"",
        "6:16: auth-satisfy: with any, whoever allow has needs no password, and it has everybody; ",
    ),
    (
        "respond = 200\nrate-burst = 5",
        "4:14: rate-burst: requests are not limited; rate-limit, as 10/s, limits them",
    ),
    (
        "app = \"m:a\"\nhtaccess = \"auth\"",
        "4:12: htaccess: only folders that files = serves are asked what they say; ",
    ),
    (
        "scripts = \"src\"\nmay-set = [\"allow\"]",
        "4:12: may-set: only folders that files = serves are asked ",
    ),
];

/// Answers that cannot be right.
const IMPOSSIBLE: &[(&str, &str)] = &[
    (
        "respond = 304",
        "3:11: respond = 304: it says that a condition of the request holds, and nothing here looks at one; ",
    ),
    ("respond = 206\nbody = \"x\"", "3:11: respond = 206: it is for a part of a file, which files = answers"),
    (
        "respond = 302",
        "3:11: respond = 302: it says where to go, and nothing here does; write redirect = \"/new\" instead",
    ),
    ("respond = 204\nbody = \"x\"", "4:8: body: an answer with the status 204 has none; leave it out"),
    (
        "path = \"/a\"\nredirect = \"/a\"",
        "4:12: redirect = /a: /a is sent to /a, which this route has, too, ",
    ),
    ("path = \"/a\"\nredirect = \"/a{query}\"", "4:12: redirect = /a{query}: /a is sent to /a, "),
    ("path = \"/old/\"\nredirect = \"/old/new\"", "4:12: redirect = /old/new: /old is sent to /old/new, "),
    (
        "path = \"/old/\"\nredirect = \"/old/new{rest}\"",
        "4:12: redirect = /old/new{rest}: /old is sent to /old/new, ",
    ),
    ("redirect = \"{path}\"", "3:12: redirect = {path}: / is sent to /, "),
    ("redirect = \"http://{host}/x\"", "3:12: redirect = http://{host}/x: / is sent to /x, "),
    (
        "path = \"*.php\"\nredirect = \"/index.php\"",
        "4:12: redirect = /index.php: /-.php is sent to /index.php, ",
    ),
    ("methods = \"POST\"\nredirect = \"/x\"", "4:12: redirect = /x: / is sent to /x, "),
    ("path = \"/ü\"\nredirect = \"{path}\"", "4:12: redirect = {path}: "),
    ("if-query = \"a=b\"\nredirect = \"/x{query}\"", "4:12: redirect = /x{query}: "),
];

/// What is right, though it looks like the above.
const RIGHT: &[&str] = &[
    "respond = 200\nauth = \"basic:users\"\nauth-users = \"ann\"",
    "respond = 302\nheaders = { Location = \"/a\" }",
    "respond = 204",
    "path = \"/a\"\nredirect = \"/b\"",
    "path = \"/a\"\nredirect = \"/a/\"",
    "path = \"/old/\"\nredirect = \"/older/{rest}\"",
    "redirect = \"https://{host}{path}{query}\"",
    "redirect = \"http://elsewhere.example{path}\"",
    "methods = \"POST\"\nredirect = \"{path}\"\nredirect-status = 303",
    "if-query = \"a=b\"\nredirect = \"/x\"",
    "if-headers = { X = \"*\" }\nredirect = \"https://{host}/\"",
    "allow = \"all\"\ndeny = \"none\"\nrespond = 200",
    "deny = \"all\"\nrespond = 200",
];

/// Each is told with its place, and nothing else is.
#[test]
fn routes_that_are_wrong() {
    let mut surprises = Vec::new();
    for (lines, said) in OPEN.iter().chain(IMPOSSIBLE) {
        let found = mistakes(&route(lines));
        if found.len() != 1 || !found[0].starts_with(said) {
            surprises.push(format!("{lines}\nwanted {said}\nfound  {}", found.join("\n       ")));
        }
    }
    for lines in RIGHT {
        let found = mistakes(&route(lines));
        if !found.is_empty() {
            surprises.push(format!("{lines}\nfound  {}", found.join("\n       ")));
        }
    }

    assert!(surprises.is_empty(), "{}", surprises.join("\n\n"));
}

/// A key of a site that one of its routes makes use of is right for all; one that none does is told where it stands, once.
#[test]
fn what_surrounds_routes() {
    let site = "[server]\nauth-realm = \"Staff\"\n[[sites]]\nauth-users = \"ann\"\n\
                [[sites.routes]]\npath = \"/a/\"\nrespond = 200\n[[sites.routes]]\nrespond = 200\n";
    let found = mistakes(site);

    assert_eq!(2, found.len(), "{found:?}");
    assert!(
        found[0].starts_with("2:14: auth-realm: ") && found[1].starts_with("4:14: auth-users: "),
        "{found:?}"
    );
    assert_eq!(Vec::<String>::new(), mistakes(&format!("{site}auth = \"basic:users\"\n")));
}

/// Redirects of several routes lead around in a circle, too; a route of its own ends it.
#[test]
fn circles() {
    let circle = "[[sites]]\nhosts = [\"a.example\", \"www.a.example\"]\n[[sites.routes]]\npath = \"/a\"\nredirect = \"/b\"\n\
                  [[sites.routes]]\npath = \"/b\"\nredirect = \"http://www.a.example/a\"\n\
                  [[sites.routes]]\nredirect = \"/end\"\n";
    let found = mistakes(circle);

    assert_eq!(3, found.len(), "{found:?}");
    assert!(found[0].starts_with("5:12: redirect = /b: /a is sent to /a, "), "{found:?}");
    assert!(found[1].starts_with("8:12: redirect = http://www.a.example/a: /b is sent to /b, "), "{found:?}");
    assert!(found[2].starts_with("10:12: redirect = /end: / is sent to /end, "), "{found:?}");

    let ended = circle.replace("redirect = \"/b\"", "respond = 200")
        + "[[sites.routes]]\npath = \"/end\"\nrespond = 200\n";

    assert_eq!(Vec::<String>::new(), mistakes(&ended));
}

/// Without a file, flags are named.
#[test]
fn flags() {
    let words = ["check", "src", "--auth-users", "ann", "--auth-group-file", "groups"].map(str::to_owned);
    let Ok(Command::Check(settings)) = parse(&words, &[], false, None) else {
        panic!("each is right by itself")
    };
    let found: Vec<String> = mistakes_alone(&settings).iter().map(ToString::to_string).collect();

    assert_eq!(2, found.len(), "{found:?}");
    assert!(
        found[0].starts_with("--auth-users: no client is asked who it is, so all are let in"),
        "{found:?}"
    );
    assert!(found[1].starts_with("--auth-group-file: no group is asked for"), "{found:?}");
}

/// Everybody is whoever there is, and undoes what surrounds a route.
#[test]
fn everybody_and_nobody() {
    let text = "[[sites]]\nallow = \"10.0.0.0/8\"\ndeny = \"10.0.0.1\"\n[[sites.routes]]\nallow = \"all\"\ndeny = \"none\"\nrespond = 200\n\
                [[sites.routes]]\npath = \"/a/\"\ndeny = \"all\"\nrespond = 200\n";
    let settings = read(text).expect("it is right");
    let sites = settings.sites.as_deref().expect("a file of sites");
    let doors = |route: usize| {
        ["10.0.0.1", "192.0.2.1", "::1", "unix"].map(|client| {
            sites.sites[0].routes[route].settings.admission().door(false, client.parse().ok()) == Door::Open
        })
    };

    assert_eq!([[true; 4], [false; 4]], [doors(0), doors(1)]);
}

/// Mistakes of keys and of what they mean together are told at once, but none that only follows from another.
#[test]
fn all_at_once() {
    let text = "[server]\nbind = [\":80\", \":80\"]\n[[sites]]\n[[sites.routes]]\npth = \"/\"\nauth-users = \"ann\"\nrespond = 200\n\
                [[sites.routes]]\npath = \"/a/\"\nauth-users = \"ann\"\nfiles = \"Cargo.toml\"\n\
                [[sites.routes]]\npath = \"/b/\"\nauth-users = \"ann\"\nrespond = 304\n";
    let found: Vec<String> =
        mistakes(text).iter().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(": ")).collect();

    assert_eq!(
        vec![
            "2:16: bind",
            "5:1: pth is no key of a route; did you mean path?",
            "11:9: Cargo.toml is no folder",
            "14:14: auth-users",
            "15:11: respond = 304"
        ],
        found
    );
}

/// Guards that requests get around: routes, and the beginning of what is said; empty if nothing is.
const WAYS: &[(&str, &str)] = &[
    (
        "path = \"/a/\"\nmethods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\napp = \"m:a\"",
        "2:1: this route guards only what is GET: other requests get to the one of line 7 (/), which does not ask; ",
    ),
    (
        "path = \"/a\"\nmethods = \"POST\"\ndeny = \"192.0.2.1\"\napp = \"m:a\"\n\
         [[sites.routes]]\npath = \"/a\"\napp = \"m:b\"",
        "2:1: this route guards only what is POST: other requests get to the one of line 7 (/a), ",
    ),
    (
        "path = \"/a/\"\nmethods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n\
         [[sites.routes]]\npath = \"*.php\"\ncgi = \"src\"",
        "2:1: this route guards only what is GET: other requests get to the one of line 7 (*.php), ",
    ),
    (
        "if-headers = { X = \"1\" }\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\napp = \"m:a\"",
        "2:1: this route guards only what is X=1: other requests get to the one of line 6 (/), ",
    ),
    // Both say what they are for: everybody reads, some write.
    (
        "methods = [\"POST\", \"PUT\"]\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\nmethods = \"GET\"\napp = \"m:a\"",
        "",
    ),
    // Another application is for others.
    (
        "if-headers = { X = \"1\" }\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\napp = \"m:b\"",
        "",
    ),
    (
        "methods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\nauth = \"basic:users\"\napp = \"m:a\"",
        "",
    ),
    ("methods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\nrespond = 405", ""),
    ("methods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"", ""),
    (
        "methods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\npath = \"/a/\"\napp = \"m:a\"",
        "",
    ),
];

/// Keys that do nothing where they stand.
const IDLE: &[(&str, &str)] = &[
    ("app = \"m:a\"\nmount = true", "4:9: mount: for / the application stands at the root anyway; "),
    (
        "path = [\"/a/\", \"*.x\"]\napp = \"m:a\"\nmount = true",
        "5:9: mount: for *.x the application stands at the root ",
    ),
    ("path = \"/a/\"\napp = \"m:a\"\nmount = true", ""),
    (
        "app = \"m:a\"\nstatic-listing = true",
        "4:18: static-listing: it does nothing here, for it is for files; ",
    ),
    ("files = \"src\"\nfactory = true", "4:11: factory: it does nothing here, for it is for app; "),
    ("app = \"m:a\"\ncgi-timeout = \"1s\"", "4:15: cgi-timeout: it does nothing here, for it is for cgi; "),
    ("files = \"src\"\napp = \"m:a\"\ntry = [\"files\", \"app\"]\nfactory = true\nstatic-listing = true", ""),
    (
        "app = \"m:a\"\nauth = \"basic:users\"\nauth-satisfy = \"any\"",
        "5:16: auth-satisfy: no list of allow says who needs ",
    ),
    (
        "app = \"m:a\"\nauth = \"basic:users\"\nauth-remember = \"1m\"",
        "5:17: auth-remember: it is for passwords that ",
    ),
    ("respond = 401", "3:11: respond = 401: it does not say how a client is to prove who it is "),
];

#[test]
fn doubtful_routes() {
    let mut surprises = Vec::new();
    for (lines, said) in WAYS.iter().chain(IDLE) {
        let found = doubts(&route(lines));
        let is_right =
            if said.is_empty() { found.is_empty() } else { found.len() == 1 && found[0].starts_with(said) };
        if !is_right {
            surprises.push(format!("{lines}\nwanted {said}\nfound  {}", found.join("\n       ")));
        }
    }

    assert!(surprises.is_empty(), "{}", surprises.join("\n\n"));
}

/// Names that people bring along, in each table, and what they are told.
const FOREIGN: &[(&str, &str)] = &[
    ("[server]\nworkers = 4", "workers is no key of [server]; here it is processes"),
    ("[server]\nlisten = 80", "listen is no key of [server]; bind is where to listen, and backlog how many "),
    ("[server]\nserver_name = \"a\"", "server_name is no key of [server]; here it is hosts, in [[sites]]"),
    ("[server]\ncertfile = \"a\"", "certfile is no key of [server]; TLS is the work of a proxy in front"),
    ("[server]\nuid = 33", "uid is no key of [server]; here it is user"),
    ("[server]\ngid = 33", "gid is no key of [server]; here it is group"),
    (
        "[server]\ninclude = \"a\"",
        "include is no key of [server]; a file of sites is one file, and includes no other",
    ),
    ("[[sites]]\nserver_name = \"a\"", "server_name is no key of a site; here it is hosts"),
    ("[[sites]]\nServerAlias = \"a\"", "ServerAlias is no key of a site; here it is hosts"),
    ("[[sites]]\nDocumentRoot = \"a\"", "DocumentRoot is no key of a site; here it is root"),
    ("[[sites]]\nlocation = \"/\"", "location is no key of a site; here it is path, in [[sites.routes]]"),
    (
        "[[sites]]\nclient_max_body_size = 5",
        "client_max_body_size is no key of a site; here it is body-bytes-max",
    ),
    ("[[sites]]\n[[sites.routes]]\nlocation = \"/\"", "location is no key of a route; here it is path"),
    (
        "[[sites]]\n[[sites.routes]]\nproxy_pass = \"http://a\"",
        "proxy_pass is no key of a route; Adyton hands requests on to no ",
    ),
    ("[[sites]]\n[[sites.routes]]\nroot_path = \"/a\"", "root_path is no key of a route; here it is mount"),
    (
        "[[sites]]\n[[sites.routes]]\ncors = true",
        "cors is no key of a route; it is fields of answers: headers = ",
    ),
    ("[[sites]]\n[[sites.routes]]\ntry_files = \"$uri\"", "try_files is no key of a route; here it is try"),
    (
        "[[sites]]\n[[sites.routes]]\nAuthUserFile = \"a\"",
        "AuthUserFile is no key of a route; here it is auth",
    ),
    (
        "[[sites]]\n[[sites.routes]]\ngzip = true",
        "gzip is no key of a route; compress = true compresses what ",
    ),
    (
        "[[sites]]\n[[sites.routes]]\nharakiri = 5",
        "harakiri is no key of a route; here it is request-timeout",
    ),
    (
        "[[sites]]\n[[sites.routes]]\nfile_server = \"a\"",
        "file_server is no key of a route; here it is files",
    ),
    (
        "[[sites]]\n[[sites.routes]]\nWSGIScriptAlias = \"/ a\"",
        "WSGIScriptAlias is no key of a route; a route has app = ",
    ),
    (
        "[groups.a]\nWSGIDaemonProcess = \"a\"",
        "WSGIDaemonProcess is no key of a group; a table [groups.NAME] has ",
    ),
];

#[test]
fn foreign_names() {
    for (text, said) in FOREIGN {
        let found = mistakes(text);

        assert!(
            found.iter().any(|line| line.split_once(": ").is_some_and(|(_, what)| what.starts_with(said))),
            "{text}\n{found:?}"
        );
    }
}

/// On the command line, too.
#[test]
fn foreign_flags() {
    for (flag, said) in [
        ("--workers", "--workers is not a setting; here it is --processes"),
        ("--root-path", "--root-path is not a setting; a file of sites has mount for it"),
        ("--server-name", "--server-name is not a setting; a file of sites has hosts for it"),
        ("--cors", "--cors is not a setting; it is fields of answers: "),
        (
            "--reverse-proxy",
            "--reverse-proxy is not a setting; Adyton hands requests on to no other server: ",
        ),
        ("-t", "-t is not a setting; here it is --request-timeout"),
    ] {
        let words = ["serve", "src", flag].map(str::to_owned);
        let failure = parse(&words, &[], false, None).expect_err("it is none of ours");

        assert!(failure.message.starts_with(said), "{failure}");
    }
}

/// What the user may do with an empty list in a variable.
#[test]
fn empty_variables() {
    let words = ["check", "src"].map(str::to_owned);
    let read = |value: &str| parse(&words, &[("ADYTON_ALLOW".to_owned(), value.to_owned())], false, None);

    assert!(read("").is_ok());
    assert_eq!(
        "ADYTON_ALLOW=,: there is nothing between the commas",
        read(",").expect_err("it says nothing").message
    );
}
