//! Files of sites: what is made of right ones, and the exact words about wrong ones.

#![allow(clippy::expect_used, clippy::panic, reason = "a test ends at its first surprise")]

use adyton_cli::{Command, Failure, SiteAction, Sites, parse};

/// What a file says.
fn read(text: &str) -> Result<Sites, Failure> {
    let words = ["check", "site.toml"].map(str::to_owned);
    match parse(&words, &[], false, Some(text))? {
        Command::Check(settings) => Ok(settings.sites.as_deref().cloned().expect("it is a file of sites")),
        other => panic!("{other:?} is no check"),
    }
}

/// What is said about a wrong file, without its name.
fn mistakes(text: &str) -> Vec<String> {
    let Err(failure) = read(text) else { return vec!["nothing".to_owned()] };
    failure.sentences().map(|line| line.strip_prefix("site.toml:").unwrap_or(line).to_owned()).collect()
}

/// A site with one route, in which these lines stand from line 3 on.
fn route(lines: &str) -> String {
    format!("[[sites]]\n[[sites.routes]]\n{lines}\n")
}

/// Values that are wrong where they stand: a line of a route with `respond`, and what is said about it.
const WRONG_VALUES: &[(&str, &str)] = &[
    ("path = \"a\"", "8: path = a: a path begins with a slash, or with * as in *.php"),
    ("path = \"\"", "8: path = \"\": a path begins with a slash, or with * as in *.php"),
    ("path = \"/a/../b\"", "8: path = /a/../b: a path has no . or .. as a segment"),
    ("path = \"/./\"", "8: path = /./: a path has no . or .. as a segment"),
    ("path = \"//a\"", "8: path = //a: requests are compared in their decoded form; write /a"),
    ("path = \"/%61\"", "8: path = /%61: requests are compared in their decoded form; write /a"),
    ("path = \"/a?b\"", "8: path = /a?b: a path has no ?; if-query is for the query"),
    ("path = \"/a#b\"", "8: path = /a#b: a path has no #"),
    ("path = \"/a/*.php\"", "8: path = /a/*.php: a path has no *"),
    ("path = \"*\"", "8: path = *: behind * stands how paths end, as in *.php; / has everything"),
    ("path = \"**\"", "8: path = **: behind * stands how paths end, as in *.php; / has everything"),
    ("path = \"*/a\"", "8: path = */a: behind * stands how paths end, as in *.php; / has everything"),
    ("path = 5", "8: path = 5: a path begins with a slash, or with * as in *.php"),
    ("path = [\"/a\", \"b\"]", "15: path = b: a path begins with a slash, or with * as in *.php"),
    ("path = { a = \"b\" }", "8: path: write a text, a decimal number, true or false"),
    ("path = [[\"/a\"]]", "9: path: write a text, a decimal number, true or false"),
    ("path = 1979-05-27", "8: path: write a text, a decimal number, true or false"),
    ("methods = \"get\"", "11: methods = get: methods are in capitals; write GET"),
    ("methods = \"GET POST\"", "11: methods = GET POST: write a method, as GET or PURGE"),
    ("methods = \"\"", "11: methods = \"\": write a method, as GET or PURGE"),
    ("if-headers = \"X-Beta\"", "14: if-headers = X-Beta: write NAME=VALUE, or a table of them"),
    ("if-headers = \"=1\"", "14: if-headers = =1: write NAME=VALUE, or a table of them"),
    ("if-query = [\"a\"]", "13: if-query = a: write NAME=VALUE, or a table of them"),
    (
        "remote = \"localhost\"",
        "10: remote = localhost: write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix",
    ),
    ("remote = \"10.0.0.0/33\"", "10: remote = 10.0.0.0/33: such an address has 32 bits"),
    ("allow = \"10.1.0.0/8\"", "9: allow = 10.1.0.0/8: there are bits behind its length; write 10.0.0.0/8"),
    ("allow = \"*\"", "9: allow = *: write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
    ("deny = \"all\"", "8: deny = all: write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
    ("headers = \"X\"", "11: headers = X: write NAME=VALUE, or a table of them"),
    (
        "headers = { \"a b\" = \"c\" }",
        "21: headers = a b=c: the name of a field has letters, digits and hyphens",
    ),
    ("headers = { X = \"a\\nb\" }", "17: headers = X=a\\nb: the value of a field is one line"),
    (
        "headers = { Content-Length = 5 }",
        "30: headers = Content-Length=5: this field is the server's own, which knows how long an answer is and how it ends",
    ),
    (
        "add-headers = { Connection = \"close\" }",
        "30: add-headers = Connection=close: this field is the server's own, which knows how long an answer is and how it ends",
    ),
    (
        "remove-headers = \"Date\"",
        "18: remove-headers = Date: this field is the server's own, which knows how long an answer is and how it ends",
    ),
    ("cache-control = \"a\\rb\"", "17: cache-control = a\\rb: the value of a field is one line"),
    (
        "cache-control = [\"a\"]",
        "17: cache-control takes one value, as in cache-control = \"max-age=31536000, immutable\"",
    ),
    ("content-type = \"html\"", "16: content-type = html: write a media type, as text/html; charset=utf-8"),
    (
        "content-type = \"a/b\\nc\"",
        "16: content-type = a/b\\nc: write a media type, as text/html; charset=utf-8",
    ),
    ("static-listing = \"maybe\"", "18: static-listing = maybe: a switch is on or off"),
    ("static-listing = 5", "18: static-listing = 5: a switch is on or off"),
    ("static-listing = [true]", "18: static-listing takes one value, as in static-listing = true"),
    ("interface = \"asgi\"", "13: interface = asgi: choose auto, wsgi or handler"),
    ("factory = \"x\"", "11: factory = x: a switch is on or off"),
    ("pth = \"/\"", "1: pth is no key of a route; did you mean path?"),
    ("method = \"GET\"", "1: method is no key of a route; did you mean methods?"),
    ("header = \"a=b\"", "1: header is no key of a route; did you mean headers?"),
    (
        "static = \"/a=b\"",
        "1: static is no key of a route; a folder is a route: path = \"/static/\", files = \"static\"",
    ),
    ("bind = \":80\"", "1: bind is no key of a route; it stands in [server]"),
    ("hosts = \"a.example\"", "1: hosts is no key of a route; it stands in [[sites]]"),
    ("root = \"a\"", "1: root is no key of a route; it stands in [[sites]]"),
    ("body-bytes-max = \"1k\"", "1: body-bytes-max is no key of a route; it stands in [server]"),
    ("entirely-unknown-thing = 1", "1: entirely-unknown-thing is no key of a route"),
    ("redirect-status = 308", "1: redirect-status belongs to redirect, which this route does not have"),
];

/// Actions that are wrong: the lines of a route, and what is said.
const WRONG_ACTIONS: &[(&str, &str)] = &[
    ("files = \"a\"\nrespond = 200", "4:1: files and respond: a route has one of them; write another route"),
    ("app = \"a:b\"\nrespond = 200", "4:1: app and respond: a route has one of them; write another route"),
    (
        "path = \"/a\"",
        "2:1: this route does not say what answers; it is one of app, handler, files, redirect, respond",
    ),
    ("respond = 99", "3:11: respond = 99: out of range, which is from 200 to 599"),
    ("respond = 600", "3:11: respond = 600: out of range, which is from 200 to 599"),
    ("respond = \"ok\"", "3:11: respond = ok: write a whole number"),
    ("respond = [200]", "3:11: respond takes one value, as in respond = 404"),
    ("respond = 0xC8", "3:11: respond: write a text, a decimal number, true or false"),
    ("respond = 2.5", "3:11: respond = 2.5: write a whole number"),
    (
        "redirect = \"\"",
        "3:12: redirect = \"\": a target begins with https:// or http://, with a slash, or with {path}",
    ),
    (
        "redirect = \"new.example\"",
        "3:12: redirect = new.example: a target begins with https:// or http://, with a slash, or with {path}",
    ),
    (
        "redirect = \"/{name}\"",
        "3:12: redirect = /{name}: {name} is none of the places {host}, {path}, {rest} and {query}",
    ),
    (
        "redirect = \"/a b\"",
        "3:12: redirect = /a b: a target has no blanks and no letters beyond ASCII: write them as %20",
    ),
    (
        "redirect = \"/\"\nredirect-status = 200",
        "4:19: redirect-status = 200: choose 301, 302, 303, 307 or 308",
    ),
    ("redirect = \"/\"\nbody = \"x\"", "4:1: body belongs to respond, which this route does not have"),
    ("app = \"\"", "3:7: app = \"\": write a target, as shop.wsgi:application"),
    ("app = \"nothing-there.py\"", "3:7: there is no nothing-there.py in "),
    ("app = \"src\"", "3:7: src is a folder; files = serves one"),
    (
        "app = \"Cargo.toml\"",
        "3:7: Cargo.toml is not a file of Python; to serve files as they are, give their folder",
    ),
    (
        "handler = \"a:b c\"",
        "3:11: a:b c: behind the colon stands the name of the application, as in module:application",
    ),
    (
        "handler = \"a:b()\"",
        "3:11: a:b(): to call b and serve what it returns, leave out () and add --factory",
    ),
    ("files = \"Cargo.toml\"", "3:9: Cargo.toml is no folder"),
    ("files = \"\"", "3:9: files = \"\": write a path"),
    (
        "files = \"src\"\nstatic-404 = \"nothing.html\"",
        "3:9: static-404: there is no nothing.html in a folder that is served",
    ),
    (
        "files = \"src\"\nstatic-fallback = \"lib.r\"",
        "3:9: static-fallback: there is no lib.r in a folder that is served; did you mean lib.rs?",
    ),
];

/// Whole files that are wrong.
const WRONG_FILES: &[(&str, &str)] = &[
    ("", "1:1: there is no site: a file has [[sites]] with [[sites.routes]]"),
    ("[server]\n", "1:1: there is no site: a file has [[sites]] with [[sites.routes]]"),
    ("[[sites]]\n", "1:1: this site has no routes, so nothing is served"),
    ("[sites]\n", "1:2: sites is a table; write [[sites]]"),
    ("sites = 5\n", "1:1: sites is a table; write [[sites]]"),
    ("sites = [5]\n", "1:10: sites holds tables; write [[sites]] for each of them"),
    ("[[sites]]\nroutes = 5\n", "2:10: write [[sites.routes]], with two brackets, for each of them"),
    (
        "[[sites]]\n[sites.routes]\nrespond = 200\n",
        "2:1: write [[sites.routes]], with two brackets, for each of them",
    ),
    (
        "[[sites]]\nroutes = [\"/\"]\n",
        "2:11: sites.routes holds tables; write [[sites.routes]] for each of them",
    ),
    (
        "bind = \":80\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "1:1: bind is no table of a file of sites; settings stand in [server]",
    ),
    (
        "[site]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "1:2: site is no table of a file of sites; did you mean sites?",
    ),
    (
        "[anything]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "1:2: anything is no table of a file of sites; there are [server] and [[sites]]",
    ),
    ("server = 1\n[[sites]]\n[[sites.routes]]\nrespond = 200\n", "1:1: server is a table; write [server]"),
    (
        "[server]\nbnid = \":80\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:1: bnid is no key of [server]; did you mean bind?",
    ),
    (
        "[server]\nport = 99999\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:8: port = 99999: a port is a number from 0 to 65535",
    ),
    (
        "[server]\nbind = [\":80\", \"80\"]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:16: bind = 80: write :80 for that port of every address, or HOST:80",
    ),
    (
        "[server]\nthreads = [1, 2]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:11: threads takes one value, as in threads = 64",
    ),
    (
        "[server]\nstatic = \"/a=b\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:1: static is no key of [server]; a folder is a route: path = \"/static/\", files = \"static\"",
    ),
    (
        "[server]\nhosts = \"a\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:1: hosts is no key of [server]; it stands in [[sites]]",
    ),
    (
        "[server]\npath = \"/\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:1: path is no key of [server]; it stands in [[sites.routes]]",
    ),
    (
        "[server]\nenv = [\"A\"]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:8: env = A: write NAME=VALUE",
    ),
    (
        "[server]\nkeep-alive-timeout = \"soon\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:22: keep-alive-timeout = soon: write a time as 500ms, 30s, 2m or 1h",
    ),
    (
        "[[sites]]\nhosts = \"a:80\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = a:80: write a host name without a port, as shop.example, *.shop.example or [::1]",
    ),
    (
        "[[sites]]\nhosts = [\"*\"]\n[[sites.routes]]\nrespond = 200\n",
        "2:10: hosts = *: write a host name without a port, as shop.example, *.shop.example or [::1]",
    ),
    (
        "[[sites]]\nhosts = [\"https://a\"]\n[[sites.routes]]\nrespond = 200\n",
        "2:10: hosts = https://a: write a host name without a port, as shop.example, *.shop.example or [::1]",
    ),
    (
        "[[sites]]\nroot = [\"a\"]\n[[sites.routes]]\nrespond = 200\n",
        "2:8: root takes one value, as in root = \"/srv/shop/public\"",
    ),
    (
        "[[sites]]\nbind = \":1\"\n[[sites.routes]]\nrespond = 200\n",
        "2:1: bind is no key of a site; it stands in [server]",
    ),
    (
        "[[sites]]\nallow = \"::1\"\n[[sites.routes]]\nrespond = 200\n",
        "2:1: allow is no key of a site; it stands in [[sites.routes]]",
    ),
    (
        "[[sites]]\nhost = \"a\"\n[[sites.routes]]\nrespond = 200\n",
        "2:1: host is no key of a site; it stands in [server]",
    ),
    (
        "[[sites]]\nacces-log = \"a\"\n[[sites.routes]]\nrespond = 200\n",
        "2:1: acces-log is no key of a site; did you mean access-log?",
    ),
    (
        "[[sites]]\nbody-bytes-max = \"much\"\n[[sites.routes]]\nrespond = 200\n",
        "2:18: body-bytes-max = much: write bytes as 65536, 64k, 1m or 1g",
    ),
    (
        "[[sites]]\n[[sites.routes]]\nrespond = 200\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "4:1: this site has no hosts, and only the first one needs none: it is for all other names",
    ),
    (
        "[[sites]]\nhosts = \"a\"\n[[sites.routes]]\nrespond = 200\n[[sites]]\nhosts = \"A.\"\n[[sites.routes]]\nrespond = 200\n",
        "5:1: a is a name of the site of line 1 already",
    ),
    (
        "[[sites]]\nhosts = [\"*.a\", \"*.A\"]\n[[sites.routes]]\nrespond = 200\n",
        "1:1: *.a is a name of the site of line 1 already",
    ),
    (
        "[[sites]]\n[[sites.routes]]\nrespond = 200\n[[sites.routes]]\nrespond = 404\n",
        "4:1: this route is never taken: the one of line 2 has every request for /",
    ),
    (
        "[[sites]]\n[[sites.routes]]\npath = [\"/a/\", \"*.php\"]\nrespond = 200\n[[sites.routes]]\npath = \"*.php\"\nrespond = 404\n",
        "5:1: this route is never taken: the one of line 2 has every request for *.php",
    ),
    ("a = \n", "1:5: string values must be quoted, expected literal string"),
    ("[server]\n[server]\n", "2:2: duplicate key"),
    ("[server]\nport = 1\nport = 2\n", "3:1: duplicate key"),
    ("[server\n", "1:8: unclosed table, expected `]`"),
    ("x = \"a\n", "1:7: invalid basic string, expected `\"`"),
];

/// Each mistake is told with its line, its column, and what to do.
#[test]
fn wrong_files() {
    let (mut count, mut surprises) = (0, Vec::new());
    let mut check = |text: &str, said: &str| {
        count += 1;
        let found = mistakes(text);
        if found.len() != 1 || !found[0].starts_with(said) {
            surprises.push(format!("{text}wanted {said}\nfound  {}", found.join("\n       ")));
        }
    };
    for (line, said) in WRONG_VALUES {
        check(&route(&format!("{line}\nrespond = 200")), &format!("3:{said}"));
    }
    for (lines, said) in WRONG_ACTIONS {
        check(&route(lines), said);
    }
    for (text, said) in WRONG_FILES {
        check(text, said);
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n\n"));
    assert!(count >= 119, "{count}");
}

/// All mistakes are told at once, in their order.
#[test]
fn all_at_once() {
    let text = "[server]\nbnid = 1\nport = \"x\"\n[[sites]]\nrout = 1\n[[sites.routes]]\npath = \"a\"\n";

    assert_eq!(
        vec![
            "2:1: bnid is no key of [server]; did you mean bind?",
            "3:8: port = x: a port is a number from 0 to 65535",
            "5:1: rout is no key of a site; did you mean root?",
            "6:1: this route does not say what answers; it is one of app, handler, files, redirect, respond",
            "7:8: path = a: a path begins with a slash, or with * as in *.php",
        ],
        mistakes(text)
    );
}

/// A site and a route have the settings around them, but for what they say themselves.
#[test]
fn settings_are_inherited() {
    let text = "[server]\nbody-bytes-max = \"1k\"\nstatic-listing = true\nthreads = 3\n\
                [[sites]]\n[[sites.routes]]\nfiles = \"src\"\n[[sites.routes]]\npath = \"/a/\"\nfiles = \"tests\"\n\
                static-listing = false\n\
                [[sites]]\nhosts = \"b.example\"\nbody-bytes-max = 5\n[[sites.routes]]\nrespond = 204\n";
    let sites = read(text).expect("it is right").sites;
    let (first, second) = (&sites[0], &sites[1]);

    assert_eq!([1024, 5], [first.settings.body_bytes_max, second.settings.body_bytes_max]);
    assert_eq!([true, false], [0, 1].map(|route| first.routes[route].settings.static_listing));
    assert_eq!([3, 3], [first, second].map(|site| site.settings.threads));
    assert_eq!([5, 12], [first, second].map(|site| site.line));
}

/// Routes that name one application share it; called otherwise it is another one.
#[test]
fn applications_once() {
    let text = "[[sites]]\n[[sites.routes]]\napp = \"a.b:c\"\n[[sites.routes]]\npath = \"/x/\"\napp = \"a.b:c\"\n\
                [[sites.routes]]\npath = \"/y/\"\nhandler = \"a.b:c\"\n[[sites.routes]]\npath = \"/z/\"\napp = \"a.b:c\"\n\
                factory = true\n";
    let sites = read(text).expect("it is right");
    let numbers = sites.sites[0].routes.iter().map(|route| route.action.clone());

    assert_eq!(
        vec![0, 0, 1, 2].into_iter().map(SiteAction::App).collect::<Vec<_>>(),
        numbers.collect::<Vec<_>>()
    );
    assert_eq!(3, sites.apps.len());
}

/// The schema knows every key.
#[test]
fn schema() {
    let Ok(Command::Done(schema)) = parse(&["schema".to_owned()], &[], false, None) else {
        panic!("no schema")
    };

    for key in
        ["\"hosts\"", "\"if-query\"", "\"keep-alive-timeout\"", "\"static-listing\"", "\"redirect-status\""]
    {
        assert!(schema.contains(key), "{key}");
    }
}
