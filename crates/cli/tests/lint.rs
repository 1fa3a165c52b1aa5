//! Settings that are right each by itself, but wrong together: rules that keep nobody out, answers that cannot be, ways
//! around guards.

#![allow(clippy::expect_used, clippy::panic, reason = "a test ends at its first surprise")]

use adyton_cli::{
    Command, Failure, MaySet, Settings, folder_loops, mistakes_alone, parse, read_folder, warnings,
};
use adyton_route::Door;

fn read(text: &str) -> Result<Settings, Failure> {
    let words = ["check", "site.toml"].map(str::to_owned);
    match parse(&words, &[], false, Some(text.into()))? {
        Command::Check(settings) => Ok(*settings),
        other => panic!("{other:?} is no check"),
    }
}

/// Returns the messages about a wrong file, without its name.
fn mistakes(text: &str) -> Vec<String> {
    let Err(failure) = read(text) else { return Vec::new() };
    failure.sentences().map(|line| line.strip_prefix("site.toml:").unwrap_or(line).to_owned()).collect()
}

/// Returns the warnings about a right file.
fn doubts(text: &str) -> Vec<String> {
    let settings = read(text).unwrap_or_else(|failure| panic!("{text}{failure}"));
    let all = warnings(&settings).into_iter().map(|doubt| doubt.to_string());
    all.map(|line| line.strip_prefix("site.toml:").unwrap_or(&line).to_owned()).collect()
}

/// Returns a site with one route, in which these lines stand from line 3 on.
fn route(lines: &str) -> String {
    format!("[[sites]]\n[[sites.routes]]\n{lines}\n")
}

/// Routes that keep nobody out: the lines of one, and the message.
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
        "4:19: auth-group-file: no group is required, so all users ",
    ),
    (
        "respond = 200\nauth = \"basic:users\"\nauth-group-python = \"m\"",
        "5:21: auth-group-python: no group is required, so all users are let in; auth-groups names the groups whose \
         members are let in, or leave it out",
    ),
    (
        "respond = 200\nauth = \"basic:users\"\nauth-groups = \"staff\"",
        "5:15: auth-groups: nothing says who is in which group; auth-group-file or auth-group-python does",
    ),
    (
        "respond = 200\nauth = \"basic:users\"\nallow = \"all\"\nauth-satisfy = \"any\"",
        "6:16: auth-satisfy: with any, clients of allow need no password, and allow has everybody; ",
    ),
    (
        "respond = 200\nrate-burst = 5",
        "4:14: rate-burst: requests are not limited; rate-limit, as 10/s, limits them",
    ),
    (
        "app = \"m:a\"\nhtaccess = \"auth\"",
        "4:12: htaccess: only a route with files = reads the settings of folders, ",
    ),
    (
        "scripts = \"src\"\nmay-set = [\"allow\"]",
        "4:12: may-set: only a route with files = reads the settings of folders, ",
    ),
];

/// Answers that cannot be right.
const IMPOSSIBLE: &[(&str, &str)] = &[
    (
        "respond = 304",
        "3:11: respond = 304: it says that a condition of the request holds, but respond checks no conditions; ",
    ),
    ("respond = 206\nbody = \"x\"", "3:11: respond = 206: it is for a part of a file, which files = answers"),
    (
        "respond = 302",
        "3:11: respond = 302: it needs a target for the client, and respond has none; write redirect = \"/new\" \
         instead",
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

/// Routes that are right, though they look like the wrong ones.
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

/// Each wrong route is reported with its place, and no other message is given.
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

/// A key of a site is right if one of its routes uses it; a key that no route uses is reported once, at its place.
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

/// Redirects of several routes may lead around in a circle; a route that answers ends it.
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

/// Without a file, messages name flags.
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
    assert!(found[1].starts_with("--auth-group-file: no group is required"), "{found:?}");
}

/// Everybody is every client, and undoes the rules around a route.
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

/// Returns the places and the beginnings of the messages about a wrong file.
fn beginnings(text: &str) -> Vec<String> {
    mistakes(text).iter().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(": ")).collect()
}

/// Mistakes of keys and mistakes of their meaning are reported together; a mistake that only follows from another one
/// is not reported.
#[test]
fn all_at_once() {
    let text = "[server]\nbind = [\":80\", \":80\"]\n[[sites]]\n[[sites.routes]]\npth = \"/\"\nauth-users = \"ann\"\nrespond = 200\n\
                [[sites.routes]]\npath = \"/a/\"\nauth-users = \"ann\"\nfiles = \"Cargo.toml\"\n\
                [[sites.routes]]\npath = \"/b/\"\nauth-users = \"ann\"\nrespond = 304\n";

    assert_eq!(
        vec![
            "2:16: bind",
            "5:1: pth is no key of a route; did you mean path?",
            "6:14: auth-users",
            "10:14: auth-users",
            "11:9: Cargo.toml is no folder",
            "14:14: auth-users",
            "15:11: respond = 304"
        ],
        beginnings(text)
    );
}

/// A mistake in a table around a route, or in another route, hides no mistake that is independent of it.
#[test]
fn beside_other_mistakes() {
    let route = "[[sites.routes]]\npath = \"/a\"\nauth-users = \"ann\"\nredirect = \"/a\"\n";
    let own = |line: usize| {
        [format!("{}:14: auth-users", line + 2), format!("{}:12: redirect = /a", line + 3)].to_vec()
    };
    for (front, back, said) in [
        ("[server]\nthreads = \"many\"\n[[sites]]\n", "", "2:11: threads = many"),
        (
            "[server]\nworkers = 4\n[[sites]]\n",
            "",
            "2:1: workers is no key of [server]; here it is processes",
        ),
        (
            "[server]\nssl = true\n[[sites]]\n",
            "",
            "2:1: ssl is no key of [server]; TLS is the work of a proxy in front",
        ),
        ("[[sites]]\nrot = \"src\"\n", "", "2:1: rot is no key of a site; did you mean root?"),
        (
            "[[sites]]\n[[sites.routes]]\npth = \"/b\"\nrespond = 200\n",
            "",
            "3:1: pth is no key of a route; did you mean path?",
        ),
        ("[[sites]]\n[[sites.routes]]\npath = \"b\"\nrespond = 200\n", "", "3:8: path = b"),
        (
            "[[sites]]\n",
            "[[sites.routes]]\npath = \"/b\"\n",
            "6:1: this route has no key that answers; add one of app, handler, files, scripts, cgi, redirect, respond",
        ),
        ("[[sites]]\n", "[[sites.routes]]\npath = \"/b\"\nrespond = 1000\n", "8:11: respond = 1000"),
        (
            "[[sites]]\n",
            "[[sites.routes]]\npath = \"/b\"\nmethods = \"G E T\"\nrespond = 200\n",
            "8:11: methods = G E T",
        ),
        (
            "[[sites]]\n",
            "[[sites]]\n[[sites.routes]]\nrespond = 200\n",
            "6:1: this site has no hosts, and only the first one needs none",
        ),
    ] {
        let line = front.lines().count() + 1;
        let mut wanted = own(line);
        let place = usize::from(said.split(':').next().and_then(|at| at.parse().ok()) > Some(line)) * 2;
        wanted.insert(place, said.to_owned());

        assert_eq!(wanted, beginnings(&format!("{front}{route}{back}")), "{front}{back}");
    }
}

/// A part that is not TOML hides no mistake of another table, and causes no message beside its own.
#[test]
fn beside_what_is_no_toml() {
    let site = "[[sites]]\n[[sites.routes]]\npath = \"/a\"\nauth-users = \"ann\"\nredirect = \"/a\"\n";
    for (text, wanted) in [
        (
            format!("{site}[[sites.routes]]\npath = \"/b\"\npath = \"/c\"\n"),
            vec!["4:14: auth-users", "5:12: redirect = /a", "8:1: duplicate key"],
        ),
        (
            format!(
                "{site}[[sites.routes]]\npath = \"/b\nrespond = 304\n[[sites.routes]]\npath = \"/c\"\nrespond = 304"
            ),
            vec!["4:14: auth-users", "5:12: redirect = /a", "7:", "11:11: respond = 304"],
        ),
        (format!("[server]\nthreads = \n{site}"), vec!["2:", "7:12: redirect = /a"]),
        (
            format!("{site}[[sites]]\nhosts = a.example\n[[sites.routes]]\nrespond = 304"),
            vec!["4:14: auth-users", "5:12: redirect = /a", "7:", "9:11: respond = 304"],
        ),
        (format!("[groups.a\n{site}"), vec!["1:"]),
    ] {
        let found = beginnings(&text);
        let mut lines: Vec<&String> = found.iter().collect();
        // The parser may have more than one message about a line.
        lines.dedup_by_key(|line| line.split(':').next().map(str::to_owned));

        assert_eq!(wanted.len(), lines.len(), "{text}\n{found:?}");
        assert!(
            lines.iter().zip(&wanted).all(|(line, wanted)| line.starts_with(wanted)),
            "{text}\n{found:?}"
        );
    }
}

/// Files with one mistake, for which there is one message: other parts may only look wrong because of the
/// mistake.
#[test]
fn what_follows_from_a_mistake() {
    let site = "[[sites]]\n[[sites.routes]]\n";
    for (text, said) in [
        // Keys that let somebody in or keep somebody out.
        (format!("{site}auth = \"bsic:users\"\nauth-users = \"ann\"\nrespond = 200"), "3:8: auth = bsic:users"),
        (format!("{site}auht = \"basic:users\"\nauth-users = \"ann\"\nrespond = 200"), "3:1: auht is no key of a route; did you mean auth?"),
        (format!("{site}AuthUserFile = \"users\"\nauth-users = \"ann\"\nrespond = 200"), "3:1: AuthUserFile is no key of a route; here it is auth"),
        (format!("{site}frobnicate = 1\nauth-users = \"ann\"\nrespond = 200"), "3:1: frobnicate is no key of a route"),
        (format!("[server]\nauth = \"x\"\n{site}auth-users = \"ann\"\nrespond = 200"), "2:8: auth = x"),
        (format!("[sever]\nauth = \"basic:users\"\n{site}auth-users = \"ann\"\nrespond = 200"), "1:2: sever is no table of a file of sites; did you mean server?"),
        (format!("auth = \"basic:users\"\n{site}auth-users = \"ann\"\nrespond = 200"), "1:1: auth is no table of a file of sites; settings stand in [server]"),
        (
            format!("{site}auth = \"basic:users\"\nauth-groups = \"a\"\nauth-group-fil = \"groups\"\nrespond = 200"),
            "5:1: auth-group-fil is no key of a route; did you mean auth-group-file?",
        ),
        (format!("{site}rate-limit = \"often\"\nrate-burst = 3\nrespond = 200"), "3:14: rate-limit = often"),
        (
            "[[sites]]\nauth-users = \"ann\"\n[[sites.routes]]\nauth = \"x\"\nrespond = 200\n[[sites.routes]]\npath = \"/a\"\nrespond = 200"
                .to_owned(),
            "4:8: auth = x",
        ),
        // Keys of actions.
        (format!("{site}file = \"src\"\nmay-set = \"auth\""), "3:1: file is no key of a route; did you mean files?"),
        (format!("{site}files = \"none/such\"\nmay-set = \"auth\"\nstatic-listing = 3"), "5:18: static-listing = 3"),
        (format!("{site}respond = 302\nheader = {{ Location = \"/\" }}"), "4:1: header is no key of a route; did you mean headers?"),
        (format!("{site}respnd = 200\nbody = \"x\""), "3:1: respnd is no key of a route; did you mean respond?"),
        (format!("{site}ap = \"m:a\"\nmount = true\ngroup = \"a\"\n[groups.a]"), "3:1: ap is no key of a route; did you mean app?"),
        (format!("{site}files = \"src\"\napp = \"m:a\"\ntri = [\"files\", \"app\"]"), "5:1: tri is no key of a route; did you mean try?"),
        (format!("{site}file = \"src\"\napp = \"m:a\"\ntry = [\"files\", \"app\"]"), "3:1: file is no key of a route; did you mean files?"),
        (format!("{site}pth = \"/a/\"\napp = \"m:a\"\nmount = \"/a\""), "3:1: pth is no key of a route; did you mean path?"),
        // Which requests a route is for.
        (format!("{site}redirect = \"/b\"\n[[sites.routes]]\npth = \"/b\"\nrespond = 200"), "5:1: pth is no key of a route; did you mean path?"),
        (format!("{site}redirect = \"/b\"\n[[sites.routes]]\npath = \"b\"\nrespond = 200"), "5:8: path = b"),
        (format!("{site}redirect = \"/b\"\n[[sites.routes]]\npath = \"/b\"\nfiles = \"Cargo.toml\""), "6:9: Cargo.toml is no folder"),
        (format!("{site}redirect = \"/b\"\n[[sites.routes]]\npath = \"/b\"\nrespond = 1"), "6:11: respond = 1"),
        (format!("{site}pth = \"/a/\"\nredirect = \"/b\""), "3:1: pth is no key of a route; did you mean path?"),
        (format!("{site}path = \"/a/\"\nredirect = \"/a\"\n[[sites.routes]]\npaht = \"/a\"\nrespond = 200"), "6:1: paht is no key of a route; did you mean path?"),
        (format!("{site}path = \"/a\"\nredirect = \"/b\"\n[[sites.routes]]\npath = \"/b\"\nredirect = \"/a\"\nmethod = \"PUT\""), "8:1: method is no key of a route; did you mean methods?"),
        ("[[sites]]\nrewrites = \"/a -> /b\"\n[[sites.routes]]\npath = \"/a\"\nredirect = \"/a\"".to_owned(), "2:1: rewrites is no key of a site; here it is rewrite"),
        // Tables.
        ("[[sites]]\n[[sites.route]]\nrespond = 200".to_owned(), "2:9: route is no key of a site; did you mean routes?"),
        ("[[site]]\n[[site.routes]]\nrespond = 200".to_owned(), "1:3: site is no table of a file of sites; did you mean sites?"),
        (format!("[group.a]\n{site}app = \"m:a\"\ngroup = \"a\""), "1:2: group is no table of a file of sites; did you mean groups?"),
        (format!("[groups.a]\n{site}app = \"m:a\"\ngrup = \"a\""), "5:1: grup is no key of a route; did you mean group?"),
        (format!("[groups.a]\nmin-processes = \"no\"\nidle-timeout = \"5m\"\n{site}app = \"m:a\"\ngroup = \"a\""), "2:17: min-processes = no"),
        (
            format!("{site}respond = 200\n[[sites]]\nhosts = \"a b\"\n[[sites.routes]]\nrespond = 200"),
            "5:9: hosts = a b",
        ),
    ] {
        assert_eq!(vec![said], beginnings(&text), "{text}");
    }
}

/// Redirects of a folder at `/f`: the lines of its file, and the message.
#[test]
fn loops_of_folders() {
    let entry = |path: &str, to: &str| format!("[[redirects]]\npath = {path:?}\nredirect = {to:?}\n");
    let may = MaySet::ALL;
    for (text, said) in [
        (entry("a", "/f/a"), vec!["3:12: redirect = /f/a: /f/a is sent to /f/a, "]),
        (entry("a", "/f/b"), vec![]),
        (entry("a", "/a"), vec![]),
        (entry("a", "http://elsewhere.example/f/a"), vec![]),
        (
            entry("a", "http://{host}/f/a?b=c"),
            vec!["3:12: redirect = http://{host}/f/a?b=c: /f/a is sent to /f/a?b=c, "],
        ),
        (
            entry("a", "/f/b") + &entry("b", "/f/c") + &entry("c", "/f/a"),
            vec![
                "3:12: redirect = /f/b: /f/a is sent to /f/a, ",
                "6:12: redirect = /f/c: /f/b is sent to /f/b, ",
                "9:12: redirect = /f/a: /f/c is sent to /f/c, ",
            ],
        ),
        (
            entry("old/", "/f/old/new{rest}"),
            vec!["3:12: redirect = /f/old/new{rest}: /f/old is sent to /f/old/new, "],
        ),
        (entry("old/", "/f/new{rest}"), vec![]),
        (
            entry("*.php", "/f/index.php"),
            vec!["3:12: redirect = /f/index.php: /f/-.php is sent to /f/index.php, "],
        ),
        (entry("*.php", "/f/index.php") + &entry("index.php", "/f/end"), vec![]),
        (
            entry("\u{fc}/", "/f/%C3%BC{rest}"),
            vec!["3:12: redirect = /f/%C3%BC{rest}: /f/%C3%BC is sent to /f/%C3%BC, "],
        ),
    ] {
        let folder = read_folder("x".as_ref(), &text, may).expect("it is right");
        let found: Vec<String> =
            folder_loops(&folder.redirects, b"/f").iter().map(ToString::to_string).collect();
        let is_said = |(found, said): (&String, &&str)| found.starts_with(&format!("x:{said}"));

        assert!(found.len() == said.len() && found.iter().zip(&said).all(is_said), "{text}\n{found:#?}");
    }
}

/// Guards that requests get around: routes, and the beginning of the warning; empty if there is none.
const WAYS: &[(&str, &str)] = &[
    (
        "path = \"/a/\"\nmethods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\napp = \"m:a\"",
        "2:1: this route guards only requests that are GET: all others reach the route of line 7 (/), ",
    ),
    (
        "path = \"/a\"\nmethods = \"POST\"\ndeny = \"192.0.2.1\"\napp = \"m:a\"\n\
         [[sites.routes]]\npath = \"/a\"\napp = \"m:b\"",
        "2:1: this route guards only requests that are POST: all others reach the route of line 7 (/a), ",
    ),
    (
        "path = \"/a/\"\nmethods = \"GET\"\nauth = \"basic:users\"\napp = \"m:a\"\n\
         [[sites.routes]]\npath = \"*.php\"\ncgi = \"src\"",
        "2:1: this route guards only requests that are GET: all others reach the route of line 7 (*.php), ",
    ),
    (
        "if-headers = { X = \"1\" }\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\napp = \"m:a\"",
        "2:1: this route guards only requests that are X=1: all others reach the route of line 6 (/), ",
    ),
    // Both routes name their methods: everybody may read, some may write.
    (
        "methods = [\"POST\", \"PUT\"]\nauth = \"basic:users\"\napp = \"m:a\"\n[[sites.routes]]\nmethods = \"GET\"\napp = \"m:a\"",
        "",
    ),
    // Another application is for other clients.
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

/// Keys without effect on the action of their route.
const IDLE: &[(&str, &str)] = &[
    ("app = \"m:a\"\nmount = true", "4:9: mount: for / the application is mounted at the root anyway; "),
    (
        "path = [\"/a/\", \"*.x\"]\napp = \"m:a\"\nmount = true",
        "5:9: mount: for *.x the application is mounted at the root ",
    ),
    ("path = \"/a/\"\napp = \"m:a\"\nmount = true", ""),
    (
        "app = \"m:a\"\nstatic-listing = true",
        "4:18: static-listing: it has no effect here: it is only for files; ",
    ),
    ("files = \"src\"\nfactory = true", "4:11: factory: it has no effect here: it is only for app; "),
    ("app = \"m:a\"\ncgi-timeout = \"1s\"", "4:15: cgi-timeout: it has no effect here: it is only for cgi; "),
    ("files = \"src\"\napp = \"m:a\"\ntry = [\"files\", \"app\"]\nfactory = true\nstatic-listing = true", ""),
    (
        "app = \"m:a\"\nauth = \"basic:users\"\nauth-satisfy = \"any\"",
        "5:16: auth-satisfy: all clients need a password, because no allow says who needs none; add allow, or leave it out",
    ),
    (
        "app = \"m:a\"\nauth = \"basic:users\"\nauth-remember = \"1m\"",
        "5:17: auth-remember: it has no effect on a file of passwords; use it with ",
    ),
    (
        "respond = 401",
        "3:11: respond = 401: without WWW-Authenticate it does not tell a client how to sign in; ",
    ),
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

/// Names that people bring along, in each table, and the message.
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
        "gzip is no key of a route; compress = true compresses answers ",
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

/// Foreign names are known on the command line, too.
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

/// An empty variable is right; a list of nothing but commas is refused.
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
