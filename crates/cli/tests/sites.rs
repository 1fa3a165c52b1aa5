//! Files of sites: the result of right ones, and the exact words about wrong ones.

#![allow(clippy::expect_used, clippy::panic, reason = "a test ends at its first surprise")]

use std::path::Path;

use adyton_cli::{Command, Failure, MaySet, Part, Question, SiteAction, Sites, parse, read_folder};
use adyton_route::Door;

/// Returns the sites of a file.
fn read(text: &str) -> Result<Sites, Failure> {
    let words = ["check", "site.toml"].map(str::to_owned);
    match parse(&words, &[], false, Some(text.into()))? {
        Command::Check(settings) => Ok(settings.sites.as_deref().cloned().expect("it is a file of sites")),
        other => panic!("{other:?} is no check"),
    }
}

/// Returns the messages about a wrong file, without its name.
fn mistakes(text: &str) -> Vec<String> {
    let Err(failure) = read(text) else { return vec!["nothing".to_owned()] };
    failure.sentences().map(|line| line.strip_prefix("site.toml:").unwrap_or(line).to_owned()).collect()
}

/// Returns a site with one route, in which these lines stand from line 3 on.
fn route(lines: &str) -> String {
    format!("[[sites]]\n[[sites.routes]]\n{lines}\n")
}

/// Values that are wrong where they stand: a line of a route with `respond`, and the message.
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
    ("path = \"*\"", "8: path = *: behind * stands the suffix of paths, as in *.php; / is for all paths"),
    ("path = \"**\"", "8: path = **: behind * stands the suffix of paths, as in *.php; / is for all paths"),
    ("path = \"*/a\"", "8: path = */a: behind * stands the suffix of paths, as in *.php; / is for all paths"),
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
    ("allow = \"10.1.0.0/8\"", "9: allow = 10.1.0.0/8: bits are set behind its length; write 10.0.0.0/8"),
    ("allow = \"*\"", "9: allow = *: write all for every client"),
    ("allow = \"none\"", "9: allow = none: to let nobody in, write deny = \"all\""),
    ("deny = \"any\"", "8: deny = any: write all for every client"),
    (
        "deny = [\"10.0.0.1\", \"none\"]",
        "21: deny = none: none stands alone, but this list has other addresses, too",
    ),
    ("remote = \"all\"", "10: remote = all: write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
    (
        "allow = []",
        "9: allow = []: an empty list says neither all nor none; write allow = \"all\" to let everybody in, or leave it out",
    ),
    (
        "deny = []",
        "8: deny = []: an empty list says neither all nor none; write deny = \"none\" to keep nobody out, or leave it out",
    ),
    (
        "htaccess = []",
        "12: htaccess = []: an empty list says neither all nor none; write htaccess = \"none\" to let folders set nothing, \
         or leave it out",
    ),
    ("path = []", "8: path = []: an empty list says neither all nor none; leave path out"),
    ("methods = []", "11: methods = []: an empty list says neither all nor none; leave methods out"),
    ("remote = []", "10: remote = []: an empty list says neither all nor none; leave remote out"),
    ("if-headers = {}", "14: if-headers = {}: an empty list says neither all nor none; leave if-headers out"),
    ("if-query = []", "12: if-query = []: an empty list says neither all nor none; leave if-query out"),
    ("auth-users = []", "14: auth-users = []: an empty list says neither all nor none; leave auth-users out"),
    ("compress = []", "12: compress = []: an empty list says neither all nor none; leave compress out"),
    ("headers = \"X\"", "11: headers = X: write NAME=VALUE, or a table of them"),
    (
        "headers = { \"a b\" = \"c\" }",
        "21: headers = a b=c: the name of a field has letters, digits and hyphens",
    ),
    ("headers = { X = \"a\\nb\" }", "17: headers = X=a\\nb: the value of a field is one line"),
    (
        "headers = { Content-Length = 5 }",
        "30: headers = Content-Length=5: the server sets this field itself, as it knows how long an answer is and how it ends",
    ),
    (
        "add-headers = { Connection = \"close\" }",
        "30: add-headers = Connection=close: the server sets this field itself, as it knows how long an answer is and how it ends",
    ),
    (
        "remove-headers = \"Date\"",
        "18: remove-headers = Date: the server sets this field itself, as it knows how long an answer is and how it ends",
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
    ("internal = \"maybe\"", "12: internal = maybe: a switch is on or off"),
    (
        "rate-limit = \"10\"",
        "14: rate-limit = 10: write off, or a number from 1 to 1000000 with its time, as 10/s, 300/m or 1000/h",
    ),
    (
        "rate-limit = \"0/s\"",
        "14: rate-limit = 0/s: write off, or a number from 1 to 1000000 with its time, as 10/s, 300/m or 1000/h",
    ),
    ("rate-burst = 0", "14: rate-burst = 0: out of range, which is from 1 to 1000000"),
    ("x-sendfile = \"\"", "14: x-sendfile = \"\": write off, or a folder"),
    (
        "internal-redirects = [true]",
        "22: internal-redirects takes one value, as in internal-redirects = true",
    ),
    ("intercept-errors = 404", "20: intercept-errors = 404: a switch is on or off"),
    ("rewrite = \"/a -> /b\"", "1: rewrite is no key of a route; it stands in [[sites]]"),
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

/// Actions that are wrong: the lines of a route, and the message.
const WRONG_ACTIONS: &[(&str, &str)] = &[
    (
        "files = \"a\"\nrespond = 200",
        "4:1: files and respond: a route has one of them; write another route, or try",
    ),
    ("app = \"a:b\"\nrespond = 200", "4:1: app and respond: a route has one of them; write another route"),
    (
        "path = \"/a\"",
        "2:1: this route has no key that answers; add one of app, handler, files, scripts, cgi, redirect, respond",
    ),
    ("respond = 99", "3:11: respond = 99: out of range, which is from 200 to 599"),
    ("respond = 600", "3:11: respond = 600: out of range, which is from 200 to 599"),
    ("respond = \"ok\"", "3:11: respond = ok: write a whole number"),
    ("respond = [200]", "3:11: respond takes one value, as in respond = 404"),
    ("respond = 0xC8", "3:11: respond: write a text, a decimal number, true or false"),
    ("respond = 2.5", "3:11: respond = 2.5: write a whole number"),
    (
        "redirect = \"\"",
        "3:12: redirect = \"\": a target begins with https:// or http:// and a host, with one slash, or with {path}",
    ),
    (
        "redirect = \"new.example\"",
        "3:12: redirect = new.example: a target begins with https:// or http:// and a host, with one slash, or with {path}",
    ),
    (
        "redirect = \"/{name}\"",
        "3:12: redirect = /{name}: {name} is none of the placeholders {host}, {path}, {rest} and {query}",
    ),
    (
        "redirect = \"/a b\"",
        "3:12: redirect = /a b: a target has no blanks and no letters beyond ASCII: write them as %20",
    ),
    (
        "redirect = \"/\"\nredirect-status = 200",
        "4:19: redirect-status = 200: choose 301, 302, 303, 307 or 308",
    ),
    (
        "redirect = \"https://a.example/\"\nbody = \"x\"",
        "4:1: body belongs to respond, which this route does not have",
    ),
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
    ("scripts = \"Cargo.toml\"", "3:11: Cargo.toml is no folder"),
    (
        "scripts = \"src\"\nscripts-index = \"index.php\"",
        "4:17: scripts-index = index.php: write the name of a script, as index.py or index.wsgi",
    ),
    (
        "scripts = \"src\"\nscripts-index = \"../index.py\"",
        "4:17: scripts-index = ../index.py: write the name of a script, as index.py or index.wsgi",
    ),
    ("scripts = \"src\"\nmount = true", "4:1: mount belongs to app, which this route does not have"),
    (
        "files = \"src\"\nscripts-index = \"index.py\"",
        "4:1: scripts-index belongs to scripts, which this route does not have",
    ),
    (
        "app = \"a:b\"\nscripts = \"src\"",
        "4:1: app and scripts: a route has one of them; write another route",
    ),
    ("cgi = \"Cargo.toml\"", "3:7: Cargo.toml is no folder"),
    ("cgi = \"\"", "3:7: cgi = \"\": write a folder, as cgi-bin"),
    (
        "cgi = [\"src\", \"tests\"]",
        "3:15: cgi = tests: a route has one folder of scripts; write another route for a second folder",
    ),
    (
        "cgi = { \"*.sh\" = \"/bin/sh\" }",
        "3:7: cgi: the folder of the scripts is missing; add folder = \"cgi-bin\", or give the site a root",
    ),
    (
        "cgi = { folder = \"src\", \"*sh\" = \"/bin/sh\" }",
        "3:33: cgi = *sh=/bin/sh: write a suffix of file names, as *.pl",
    ),
    (
        "cgi = { folder = \"src\", \"*.sh\" = \"sh\" }",
        "3:34: cgi = *.sh=sh: write the absolute path of a program, as /usr/bin/perl",
    ),
    (
        "cgi = { folder = \"src\", \"*.sh\" = \"/bin/nothing-there\" }",
        "3:7: cgi: /bin/nothing-there, which is to run *.sh, is no program",
    ),
    (
        "cgi = { directory = \"src\" }",
        "3:21: cgi = directory=src: write folder for the folder of the scripts, or a suffix of file names, as *.pl",
    ),
    (
        "files = \"src\"\ncgi = \"src\"",
        "4:1: files and cgi: a route has one of them; write another route, or try",
    ),
    (
        "cgi = \"src\"\ncgi-environment = \"A B=c\"",
        "4:19: cgi-environment = A B=c: write NAME=VALUE, or NAME; a name has letters, digits and _",
    ),
    ("cgi = \"src\"\ncgi-processes = 5", "4:1: cgi-processes is no key of a route; it stands in [server]"),
    (
        "files = \"src\"\nstatic-404 = \"nothing.html\"",
        "3:9: static-404: there is no nothing.html in a folder that is served",
    ),
    (
        "files = \"src\"\nstatic-fallback = \"lib.r\"",
        "3:9: static-fallback: there is no lib.r in a folder that is served; did you mean lib.rs?",
    ),
];

/// Wrong lists of actions to try: the lines of a route, and the message.
const WRONG_TRIES: &[(&str, &str)] = &[
    (
        "try = [\"files\", \"ap\"]\nfiles = \"src\"\napp = \"a:b\"",
        "3:17: try = ap: write keys that answer: files, and then one of app, handler, scripts, cgi, redirect, respond",
    ),
    (
        "try = [\"respond\", \"files\"]\nfiles = \"src\"\nrespond = 200",
        "3:8: try = respond: files must be first, because it alone can leave a request to another key",
    ),
    ("try = [\"files\", \"files\"]\nfiles = \"src\"", "3:17: try = files: files is in the list already"),
    (
        "try = [\"files\", \"respond\", \"app\"]\nfiles = \"src\"\nrespond = 200",
        "3:28: try = app: the key after files always answers, so no other may follow it",
    ),
    ("try = [\"files\", \"app\"]\nfiles = \"src\"", "3:7: try = app: this route has no app"),
    ("try = \"files\"\nrespond = 200", "3:7: try = files: this route has no files"),
    ("try = \"files\"\nfiles = \"src\"\nrespond = 200", "5:1: respond is not in try, so it never answers"),
    ("try = true\nfiles = \"src\"", "3:7: try = on: write keys that answer: files, and then one of "),
];

/// Wrong rules of rewriting: the value of the key in a site, and the message.
const WRONG_REWRITES: &[(&str, &str)] = &[
    ("/a", "/a: write FROM -> TO, as in /old/ -> /new/"),
    ("/a->/b", "/a->/b: write FROM -> TO, as in /old/ -> /new/"),
    ("a -> /b", "a -> /b: a path begins with a slash, or with * as in *.php"),
    ("/a/../b -> /c", "/a/../b -> /c: a path has no . or .. as a segment"),
    ("/%61 -> /c", "/%61 -> /c: requests are compared in their decoded form; write /a"),
    ("/a?b -> /c", "/a?b -> /c: a path has no ?; if-query is for the query"),
    ("/a -> b", "/a -> b: a new path begins with a slash"),
    ("/a -> https://b/", "/a -> https://b/: a new path begins with a slash"),
    ("/a -> /b#c", "/a -> /b#c: a new path is written decoded, and without a #"),
    ("/a -> /%62", "/a -> /%62: a new path is written decoded, and without a #"),
    ("/a -> /b?c d", "/a -> /b?c d: a new path is one line, and its query is ASCII without blanks"),
    ("/a -> /{1}", "/a -> /{1}: {1} is no group of the rule"),
    ("^/(a -> /b", "^/(a -> /b: this is no regular expression: unclosed group"),
    ("^/(a) -> /{2}", "^/(a) -> /{2}: {2} is no group of the rule"),
    ("^/(?P<x>a) -> /{y}", "^/(?P<x>a) -> /{y}: {y} is no group of the rule"),
    ("^/(?!a) -> /b", "^/(?!a) -> /b: this is no regular expression: look-around, "),
    (
        "^/((a{99}){99}){99} -> /b",
        "^/((a{99}){99}){99} -> /b: the expression is too large once it is compiled",
    ),
];

/// Whole files that are wrong.
const WRONG_FILES: &[(&str, &str)] = &[
    ("", "1:1: there is no site: a file has [[sites]] with [[sites.routes]]"),
    ("[server]\n", "1:1: there is no site: a file has [[sites]] with [[sites.routes]]"),
    ("[[sites]]\n", "1:1: this site has no routes, so nothing is served"),
    ("sites = []\n", "1:9: there is none; write [[sites]] for each of them"),
    ("[[sites]]\nroutes = []\n", "2:10: there is none; write [[sites.routes]] for each of them"),
    (
        "[server]\nbind = []\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:8: bind = []: an empty list says neither all nor none; leave bind out",
    ),
    (
        "[[sites]]\nhosts = []\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = []: an empty list says neither all nor none; leave hosts out",
    ),
    (
        "[[sites]]\nhosts = \"[::1\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = [::1: write a host name without a port, as shop.example, *.shop.example or [::1]",
    ),
    (
        "[[sites]]\nhosts = \"[zz]\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = [zz]: zz is no IPv6 address",
    ),
    (
        "[[sites]]\nhosts = \"[127.0.0.1]\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = [127.0.0.1]: 127.0.0.1 is no IPv6 address",
    ),
    (
        "[[sites]]\nhosts = \"[0:0:0:0:0:0:0:1]\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = [0:0:0:0:0:0:0:1]: clients write that address as [::1]",
    ),
    (
        "[[sites]]\nhosts = \"::1\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = ::1: an IPv6 address stands in brackets; write [::1]",
    ),
    (
        "[[sites]]\nhosts = \".a.example\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = .a.example: for all names beneath a.example write *.a.example",
    ),
    (
        "[[sites]]\nhosts = \"a..example\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = a..example: a part of the name is missing between two dots",
    ),
    (
        "[[sites]]\nhosts = \"_\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: hosts = _: the first site answers all host names that no site has, and needs no hosts",
    ),
    (
        "[location]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "1:2: location is no table of a file of sites; here it is path, in [[sites.routes]]",
    ),
    (
        "hosts = \"a\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "1:1: hosts is no table of a file of sites; it stands in [[sites]]",
    ),
    (
        "[[sites]]\n[[sites.routes]]\napp = \"m:a\"\ngroup = \"www-data\"\n",
        "4:9: there is no table [groups.www-data]; such a table gives applications workers of their own; the group \
         that processes become is group in [server]",
    ),
    (
        "[groups.a]\n[[sites]]\n[[sites.routes]]\napp = \"m:a\"\ngroup = \"a\"\n[[sites.routes]]\npath = \"/f\"\nfiles = \"src\"\n\
         group = \"a\"\n",
        "9:1: group belongs to app, handler, scripts or cgi: nothing else runs in a group",
    ),
    (
        "[groups.a]\n[[sites]]\ngroup = \"b\"\n[[sites.routes]]\napp = \"m:a\"\ngroup = \"a\"\n",
        "3:9: there is no table [groups.b]; did you mean a?",
    ),
    (
        "[groups.a]\n[groups.b]\n[[sites]]\ngroup = \"a\"\n[[sites.routes]]\napp = \"m:a\"\ngroup = \"b\"\n",
        "1:9: no application runs in this group: write group = \"a\" in a route or a site that has one",
    ),
    (
        "[groups.a]\n[[sites]]\nhosts = \"one\"\ngroup = \"a\"\n[[sites.routes]]\nrespond = 200\n\
         [[sites]]\nhosts = \"two\"\ngroup = \"a\"\n[[sites.routes]]\napp = \"m:a\"\n",
        "4:9: group = \"a\": no application of this site runs in it; take it out",
    ),
    (
        "[groups.a]\ndefault = true\n[groups.b]\ndefault = true\n[[sites]]\n[[sites.routes]]\napp = \"m:a\"\n\
         [[sites.routes]]\npath = \"/b\"\napp = \"m:b\"\ngroup = \"b\"\n",
        "4:11: default: the group a is the default one already; take it out of one of them",
    ),
    (
        "[groups.a]\ndefault = \"x\"\n[[sites]]\n[[sites.routes]]\napp = \"m:a\"\n",
        "2:11: default = x: a switch is on or off",
    ),
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
        "1:2: anything is no table of a file of sites; there are [server], [groups.NAME] and [[sites]]",
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
        "2:8: bind: a group accepts at the addresses of its sites, and no route of this site says group = \"NAME\": \
         add it, or put the addresses into bind of [server]",
    ),
    (
        "[[sites]]\nmount = true\n[[sites.routes]]\nrespond = 200\n",
        "2:1: mount is no key of a site; it stands in [[sites.routes]]",
    ),
    (
        "[[sites]]\nallow = \"everyone\"\n[[sites.routes]]\nrespond = 200\n",
        "2:9: allow = everyone: write all for every client",
    ),
    (
        "[[sites]]\nheaders = { Date = \"now\" }\n[[sites.routes]]\nrespond = 200\n",
        "2:20: headers = Date=now: the server sets this field itself, as it knows how long an answer is and how it ends",
    ),
    (
        "[server]\ndeny = [\"11.0.0.0/7\"]\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:9: deny = 11.0.0.0/7: bits are set behind its length; write 10.0.0.0/7",
    ),
    (
        "[server]\nauth-satisfy = \"some\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:16: auth-satisfy = some: choose all or any",
    ),
    (
        "[server]\ncache-control = \"a\\tb\\nc\"\n[[sites]]\n[[sites.routes]]\nrespond = 200\n",
        "2:17: cache-control = a\\tb\\nc: the value of a field is one line",
    ),
    (
        "[[sites]]\nhost = \"a\"\n[[sites.routes]]\nrespond = 200\n",
        "2:1: host is no key of a site; names of a site are hosts in [[sites]], and host in [server] is where to listen",
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
        "4:1: this site has no hosts, and only the first one needs none: it answers all other names",
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
        "4:1: this route is never taken: the route of line 2 takes every request for /",
    ),
    (
        "[[sites]]\n[[sites.routes]]\npath = [\"/a/\", \"*.php\"]\nrespond = 200\n[[sites.routes]]\npath = \"*.php\"\nrespond = 404\n",
        "5:1: this route is never taken: the route of line 2 takes every request for *.php",
    ),
    (
        "[[sites]]\n[[sites.routes]]\npath = [\"/a/b/\", \"/ab/\"]\napp = \"m:a\"\nmount = \"/a\"\n",
        "5:9: mount: /ab/ is not beneath it; mount is the path of the route, or a prefix of that path",
    ),
    (
        "[[sites]]\n[[sites.routes]]\npath = \"*.php\"\napp = \"m:a\"\nmount = \"/a/\"\n",
        "5:9: mount: *.php is not beneath it; mount is the path of the route, or a prefix of that path",
    ),
    (
        "[[sites]]\n[[sites.routes]]\napp = \"m:a\"\nmount = \"blog\"\n",
        "4:9: mount = blog: write true, false, or a path that begins with a slash",
    ),
    ("a = \n", "1:5: string values must be quoted, expected literal string"),
    ("[server]\n[server]\n", "2:2: duplicate key"),
    ("[server]\nport = 1\nport = 2\n[[sites]]\n[[sites.routes]]\nrespond = 404\n", "3:1: duplicate key"),
    ("[server\n", "1:8: unclosed table, expected `]`"),
    ("x = \"a\n", "1:7: invalid basic string, expected `\"`"),
];

/// Each mistake is reported with its line, its column, and what to do.
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
    for (lines, said) in WRONG_ACTIONS.iter().chain(WRONG_TRIES) {
        check(&route(lines), said);
    }
    for (rule, said) in WRONG_REWRITES {
        let text = format!("[[sites]]\nrewrite = '{rule}'\n[[sites.routes]]\nrespond = 200\n");
        check(&text, &format!("2:11: rewrite = {said}"));
    }
    for (text, said) in WRONG_FILES {
        check(text, said);
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n\n"));
    assert!(count >= 150, "{count}");
}

/// All mistakes are reported together, in their order.
#[test]
fn all_at_once() {
    let text = "[server]\nbnid = 1\nport = \"x\"\n[[sites]]\nrout = 1\n[[sites.routes]]\npath = \"a\"\n";

    assert_eq!(
        vec![
            "2:1: bnid is no key of [server]; did you mean bind?",
            "3:8: port = x: a port is a number from 0 to 65535",
            "5:1: rout is no key of a site; did you mean root?",
            "6:1: this route has no key that answers; add one of app, handler, files, scripts, cgi, redirect, respond",
            "7:8: path = a: a path begins with a slash, or with * as in *.php",
        ],
        mistakes(text)
    );
}

/// A site and a route have the settings around them, unless they have their own.
#[test]
fn settings_are_inherited() {
    let text = "[server]\nbody-bytes-max = \"1k\"\nstatic-listing = true\nthreads = 3\n\
                [[sites]]\n[[sites.routes]]\nfiles = \"src\"\n[[sites.routes]]\npath = \"/a/\"\nfiles = \"tests\"\n\
                static-listing = false\n\
                [[sites]]\nhosts = \"b.example\"\nbody-bytes-max = 5\n[[sites.routes]]\nrespond = 204\n";
    let sites = read(text).expect("it is right").sites;
    let (first, second) = (&sites[0], &sites[1]);

    assert_eq!([1024, 5], [first.settings.messages.body_bytes_max, second.settings.messages.body_bytes_max]);
    assert_eq!([true, false], [0, 1].map(|route| first.routes[route].settings.files.static_listing));
    assert_eq!([3, 3], [first, second].map(|site| site.settings.threads.threads));
    assert_eq!([5, 12], [first, second].map(|site| site.line));
}

/// Settings around an action are inherited from the tables around it, key by key; header fields by their names.
#[test]
fn what_is_around_is_inherited() {
    let text = "[server]\nallow = \"10.0.0.0/8\"\nauth = \"basic:users\"\nauth-satisfy = \"any\"\nheaders = { A = \"server\", B = \"server\" }\n\
                cache-control = \"no-store\"\n\
                [[sites]]\ndeny = \"10.0.0.1\"\nheaders = { a = \"site\" }\nadd-headers = { C = \"site\" }\n\
                [[sites.routes]]\nrespond = 200\n\
                [[sites.routes]]\npath = \"/a/\"\nrespond = 200\nallow = [\"0.0.0.0/0\", \"::/0\"]\ndeny = \"192.0.2.1\"\nremove-headers = [\"b\", \"c\"]\n\
                cache-control = \"public\"\n\
                [[sites.routes]]\npath = \"/b/\"\nrespond = 200\nheaders = { Cache-Control = \"private\", C = \"route\" }\n\
                auth-satisfy = \"all\"\n";
    let sites = read(text).expect("it is right").sites;
    let found = sites[0].routes.iter().map(|route| {
        let mut head = b"HTTP/1.1 200 OK\r\nB: app\r\nCache-Control: app\r\n\r\n".to_vec();
        route.settings.head_edits().apply(&mut head, 0);
        let admission = route.settings.admission();
        let is_let_in = ["10.0.0.1", "10.0.0.2", "192.0.2.1"]
            .map(|client| admission.door(false, Some(client.parse().expect("an address"))) == Door::Open);
        let head = String::from_utf8(head).expect("it is text");
        let fields: Vec<String> =
            head.lines().skip(1).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        (is_let_in, admission.replaces_password, fields.join(", "))
    });

    assert_eq!(
        vec![
            ([false, true, false], true, "B: server, a: site, Cache-Control: no-store, C: site".to_owned()),
            ([true, true, false], true, "a: site, Cache-Control: public".to_owned()),
            ([false, true, false], false, "B: server, a: site, C: route, Cache-Control: private".to_owned()),
        ],
        found.collect::<Vec<_>>()
    );
}

/// A table that tries a folder first makes two routes, of which the first leaves missing files to the second.
#[test]
fn one_is_tried_before_another() {
    let text = "[[sites]]\n[[sites.routes]]\npath = \"/a/\"\nmethods = \"GET\"\nfiles = \"src\"\nrespond = 204\n\
                try = [\"files\", \"respond\"]\n[[sites.routes]]\nfiles = \"tests\"\ntry = \"files\"\n";
    let routes = read(text).expect("it is right").sites.remove(0).routes;
    let found = routes
        .iter()
        .map(|route| (route.line, route.action.clone(), route.settings.files.static_fall_through));

    assert_eq!(
        vec![
            (2, SiteAction::Files("src".into()), true),
            (2, SiteAction::Status(204), false),
            (8, SiteAction::Files("tests".into()), true),
        ],
        found.collect::<Vec<_>>()
    );
    assert_eq!((&routes[0].paths, &routes[0].when), (&routes[1].paths, &routes[1].when));
}

/// Returns the explanation of a request from this machine, without the line about its site.
fn explained(sites: &Sites, url: &str) -> String {
    let (method, url, client) = ("GET".to_owned(), url.to_owned(), "127.0.0.1".parse().ok());
    let said = sites.explain(&Question { method, url, fields: Vec::new(), client }).expect("it is a request");
    said.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

/// The explanation names rules that refuse a path to everybody, and the rules around the path of a file that answers
/// for another path.
#[test]
fn what_is_around_other_paths() {
    let text = "[[sites]]\ndeny-paths = [\"*.bak\", \"/b/index.html\"]\nrewrite = \"/to/ -> /x.bak/\"\n\
                [[sites.routes]]\nfiles = \"src\"\ntry = \"files\"\n\
                [[sites.routes]]\npath = \"/index.html\"\nfiles = \"src\"\ndeny = \"127.0.0.1\"\n\
                [[sites.routes]]\npath = \"/c/\"\nfiles = \"src\"\ntry = \"files\"\n\
                [[sites.routes]]\npath = \"/d/index.html\"\nredirect = \"/d/\"\n\
                [[sites.routes]]\npath = \"/e/index.html\"\nredirect = \"/e/\"\nauth = \"basic:staff\"\n";
    let sites = read(text).expect("it is right");
    for (url, expected) in [
        ("/a.bak/b", "answer 403: refused to everybody, by deny-paths = *.bak\n"),
        ("/a.bak.gz", "answer 403: refused to everybody, by deny-paths = *.bak\n"),
        (
            "/to/x",
            "path   /x.bak/x, by a rule of the site\nanswer 403: refused to everybody, by deny-paths = *.bak\n",
        ),
        (
            "/",
            "answer files src / (line 4)\n       and if that is /index.html, the rules for its path apply:\n         \
             answer 403 /index.html (line 7): not for this client\n       and if there is no such file:\n\
             answer 404: no route is for this path\n",
        ),
        (
            "/b/",
            "answer files src / (line 4)\n       and if that is /b/index.html, the rules for its path apply:\n         \
             answer 403: refused to everybody, by deny-paths = /b/index.html\n       and if there is no such file:\n\
             answer 404: no route is for this path\n",
        ),
        (
            "/c/",
            "answer files src /c/ (line 11)\n       and if there is no such file:\n\
             passed / (line 4): another folder was searched\nanswer 404: no route is for this path\n",
        ),
        (
            "/e/",
            "answer files src / (line 4)\n       and if that is /e/index.html, the rules for its path apply:\n         \
             answer 401 /e/index.html (line 18): without a name and a password; with them:\n         the file\n       \
             and if there is no such file:\nanswer 404: no route is for this path\n",
        ),
        (
            "/d/",
            "answer files src / (line 4)\n       and if there is no such file:\n\
             answer 404: no route is for this path\n",
        ),
    ] {
        assert_eq!(expected, explained(&sites, url), "{url}");
    }
    assert!(sites.table().contains("\n  nobody gets *.bak, /b/index.html\n"), "{}", sites.table());
}

/// Routes that name one application share it; the same target called in another way is another application.
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

/// A folder of scripts is one application, however many routes have it. At a route for all paths beneath a path, it is
/// mounted at that path.
#[test]
fn scripts_once() {
    let text = "[[sites]]\n[[sites.routes]]\nscripts = \"src\"\npath = [\"/a/\", \"/b\", \"*.py\"]\n[[sites.routes]]\n\
                scripts = \"src\"\n[[sites.routes]]\npath = \"/c/\"\nscripts = \"src\"\nscripts-index = \"a.wsgi\"\n";
    let sites = read(text).expect("it is right");
    let routes = &sites.sites[0].routes;
    let mounts = |number: usize| -> Vec<Option<usize>> {
        routes[number].paths.iter().map(|path| routes[number].mount.bytes(path)).collect()
    };

    assert_eq!([vec![Some(2), Some(0), Some(0)], vec![Some(0)], vec![Some(2)]], [0, 1, 2].map(mounts));
    assert_eq!(
        [SiteAction::App(0), SiteAction::App(0), SiteAction::App(1)],
        [0, 1, 2].map(|number| routes[number].action.clone())
    );
}

/// Variables of a group's scripts are handed to no other process.
#[test]
fn environments_of_scripts() {
    let text = "[server]\ncgi-environment = \"A=all\"\n[groups.a]\n[groups.b]\n[[sites]]\ncgi-environment = \"S=site\"\n\
                [[sites.routes]]\npath = \"/a/\"\ncgi = \"src\"\ngroup = \"a\"\ncgi-environment = \"G=group\"\n\
                [[sites.routes]]\npath = \"/d/\"\ncgi = \"src\"\ncgi-environment = \"D=door\"\n\
                [[sites.routes]]\napp = \"m:a\"\ngroup = \"b\"\n";
    let sites = read(text).expect("it is right");
    let known = |part| {
        let told = sites.text_for(part);
        ["A=all", "S=site", "G=group", "D=door"]
            .into_iter()
            .filter(|value| told.contains(value))
            .collect::<Vec<_>>()
    };

    assert_eq!(vec!["A=all", "S=site", "D=door"], known(Part::Door));
    assert_eq!(vec!["A=all", "S=site", "G=group"], known(Part::Group(0)));
    assert_eq!(Vec::<&str>::new(), known(Part::Group(1)));
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

/// The schema and the reference know every key of a folder's file, and the reader every key of the schema.
#[test]
fn keys_of_folders() {
    let done = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        match parse(&words, &[], false, None) {
            Ok(Command::Done(page)) => page,
            other => panic!("{other:?}"),
        }
    };
    let schema: serde_json::Value = serde_json::from_str(&done(&["schema"])).expect("it is JSON");
    let page = done(&["reference", "sites"]);
    let folder = schema["$defs"]["folder"]["properties"].as_object().expect("keys");

    for key in ["allow", "auth-users", "error-pages", "cgi", "scripts", "index", "redirects"] {
        assert!(folder.contains_key(key), "{key}");
    }
    for key in folder.keys() {
        let read = read_folder(Path::new(".adyton.toml"), &format!("{key} = 'x y'"), MaySet::ALL);
        assert!(!read.is_err_and(|failure| failure.message.contains("is no key")), "{key}");
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
    assert!(["files", "app", "static-listing", "may-set"].iter().all(|key| !folder.contains_key(*key)));
}
