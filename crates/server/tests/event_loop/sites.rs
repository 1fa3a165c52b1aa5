//! Several sites on one server, each with its routes, limits and log, and a change of the plan while requests run.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use adyton_files::{ErrorPage, Folder, Options};
use adyton_log::sink::Destination;
use adyton_route::{
    Admission, Ahead, DeniedPaths, HeadEdits, HostPattern, Location, Networks, PathPattern, Rewrites, Routes,
    Wanted, When,
};
use adyton_server::{
    AccessLog, Action, App, Call, Changes, Fixed, Outcome, Plan, Route, Site, SiteLimits, Ticket,
};

use crate::support::{Client, Closure, Gate, PATIENCE, SHORT_MS, Server, config, limits, text};

/// A folder of a test; dropping this value removes it.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);

        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("adyton-sites-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("file.txt"), "of the folder").unwrap();
        Self(path)
    }

    /// The folder, with `fall_through`: for files that it lacks, another route answers.
    fn falling(&self) -> Folder {
        Folder::open(Options { fall_through: true, ..Options::new(&self.0) }).unwrap()
    }

    fn folder(&self) -> Folder {
        Folder::open(Options::new(&self.0)).unwrap()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is left among the system's temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn says(words: &'static str) -> Arc<dyn App> {
    Arc::new(Closure { answer: move |call: &mut Call<'_>| text(&mut call.reply, words) })
}

fn prefix(path: &str) -> PathPattern {
    PathPattern::Prefix(path.as_bytes().into())
}

fn names(hosts: &[&str]) -> Vec<HostPattern> {
    hosts.iter().map(|host| HostPattern::read(host).unwrap()).collect()
}

fn table(routes: Vec<(PathPattern, Action)>) -> Routes<Route> {
    Routes::new(routes.into_iter().map(|(path, action)| (path, action.into())).collect())
}

fn site(hosts: &[&str], routes: Vec<(PathPattern, Action)>) -> Site {
    Site::new(names(hosts), table(routes), SiteLimits::default(), None)
}

fn ask(client: &mut Client, host: &str, path: &str) -> (u16, String) {
    client.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let answer = client.answer();
    (answer.status, answer.text().to_owned())
}

/// One connection asks all sites in turn: the host must choose the site, and the path the route, whatever was asked
/// before.
#[test]
fn routes() {
    let place = TempFolder::new();
    let all = vec![
        site(&["first.example"], vec![(prefix(""), Action::App(says("first")))]),
        site(
            &["shop.example", "*.shop.example"],
            vec![
                (prefix(""), Action::App(says("shop"))),
                (prefix("/admin"), Action::App(says("admin"))),
                (prefix("/static"), Action::Files(1)),
                (prefix("/only"), Action::Files(0)),
                (PathPattern::Exact(b"/gone"[..].into()), Action::Page(ErrorPage::new(410, "It was here."))),
            ],
        ),
        site(&["empty.example"], Vec::new()),
    ];
    let server =
        Server::serving(config(), Plan::new(all).unwrap(), vec![vec![place.folder(), place.falling()]]);
    let mut client = server.client();
    for (host, path, status, words) in [
        ("first.example", "/admin", 200, "first"),
        ("shop.example", "/", 200, "shop"),
        ("other.example", "/", 200, "first"),
        ("www.SHOP.example:80", "/adminx", 200, "shop"),
        ("shop.example", "/admin/x", 200, "admin"),
        ("shop.example", "/static/file.txt", 200, "of the folder"),
        ("shop.example", "/static/none.txt", 200, "shop"),
        ("first.example", "/static/file.txt", 200, "first"),
        ("shop.example", "/only/file.txt", 200, "of the folder"),
        ("shop.example", "/only/none.txt", 404, "There is no such file."),
        ("shop.example", "/gone", 410, "It was here."),
        ("shop.example", "/gone/", 200, "shop"),
        ("empty.example", "/", 404, "Nothing is served here."),
    ] {
        let (answered, said) = ask(&mut client, host, path);

        assert_eq!(status, answered, "{host}{path}");
        assert!(said.contains(words), "{host}{path}: {said}");
    }
    server.stop();
}

/// Routes that have conditions beside the path, admit only some clients, change heads, or are answered by the server
/// itself.
fn routes_with_something_around() -> Vec<(PathPattern, Route)> {
    let beta = Wanted { name: b"X-Beta"[..].into(), value: None };
    let mut edits = HeadEdits::default();
    edits.remove("Content-Type").unwrap();
    edits.add("X-Frame-Options", "DENY").unwrap();
    let changes = Some(Arc::new(Changes { edits, ..Changes::default() }));
    let mut deny = Networks::default();
    deny.add("127.0.0.0/8").unwrap();
    let denied = Admission { allow: Networks::default(), deny, ..Admission::default() };
    let only = |method: &[u8]| Some(Box::new(When { methods: vec![method.into()], ..When::default() }));
    let app = |words| Route::from(Action::App(says(words)));
    let fixed = Fixed { status: 202, content_type: "text/plain".into(), body: b"as said"[..].into() };
    let routes = vec![
        (prefix(""), app("app")),
        (
            prefix(""),
            Route { when: Some(Box::new(When { fields: vec![beta], ..When::default() })), ..app("beta") },
        ),
        (prefix("/post"), Route { when: only(b"POST"), ..app("posted") }),
        (prefix("/admin"), Route { admission: Some(Box::new(denied)), ..app("admin") }),
        (prefix("/edited"), Route { changes: changes.clone(), ..app("edited") }),
        (prefix("/edited/files"), Route { changes, ..Action::Files(0).into() }),
        (prefix("/old"), Action::Redirect(308, Location::read("/new{rest}{query}").unwrap()).into()),
        (prefix("/fixed"), Action::Fixed(fixed).into()),
    ];
    // Of two routes that are equally specific the first one counts.
    routes.into_iter().rev().collect()
}

/// Conditions, admission and edits around an action must take effect; one connection asks for all routes.
#[test]
fn around_actions() {
    let place = TempFolder::new();
    let routes = routes_with_something_around();
    let app = |words| Route::from(Action::App(says(words)));
    let only = Some(Box::new(When { methods: vec![b"PUT"[..].into()], ..When::default() }));
    let narrow = vec![(prefix("/only"), Route { when: only, ..app("put") })];
    let site = |hosts, routes| {
        Site::new(names(hosts), Routes::new(routes), SiteLimits::default(), None).with_one_spelling()
    };
    let plan = Plan::new(vec![site(&["a.example"], routes), site(&["b.example"], narrow)]).unwrap();
    let server = Server::serving(config(), plan, vec![vec![place.folder()]]);
    let mut client = server.client();
    for (request, status, words) in [
        ("GET / HTTP/1.1\r\n", 200, "app"),
        ("GET / HTTP/1.1\r\nX-Beta: 1\r\n", 200, "beta"),
        ("GET /post HTTP/1.1\r\n", 200, "app"),
        ("POST /post HTTP/1.1\r\nContent-Length: 0\r\n", 200, "posted"),
        ("GET /admin/ HTTP/1.1\r\n", 403, "Clients with this address are not let in."),
        ("GET /%61dmin/ HTTP/1.1\r\n", 403, "Clients with this address"),
        ("GET //admin HTTP/1.1\r\n", 403, "Clients with this address"),
        ("GET /x/..%2Fadmin HTTP/1.1\r\n", 400, "The path has a . or .."),
        ("GET /edited/%66iles//file.txt HTTP/1.1\r\n", 200, "of the folder"),
        ("GET //edited/%66iles/file.txt HTTP/1.1\r\n", 200, "of the folder"),
        ("GET /old/a?b HTTP/1.1\r\n", 308, "It is at /new/a?b."),
        ("GET /fixed HTTP/1.1\r\n", 202, "as said"),
    ] {
        client.send(format!("{request}Host: a.example\r\n\r\n"));
        let answer = client.answer();

        assert_eq!(status, answer.status, "{request}");
        assert!(answer.text().contains(words), "{request}: {}", answer.text());
    }
    for (path, has_frame, has_type) in [
        ("/", false, false),
        ("/edited", true, false),
        ("/edited/files/file.txt", true, false),
        ("/fixed", false, true),
    ] {
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        let head = client.answer().head;
        let has = |field: &str| head.contains(field);

        assert_eq!(
            (has_frame, has_type),
            (has("X-Frame-Options: DENY\r\n"), has("Content-Type: ")),
            "{head}"
        );
    }
    client.send("GET /old/a HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert!(client.answer().head.contains("Location: /new/a\r\n"));
    client.send("GET /only HTTP/1.1\r\nHost: b.example\r\n\r\n");
    let refused = client.answer();
    assert!(refused.status == 405 && refused.head.contains("Allow: PUT\r\n"), "{}", refused.head);
    server.stop();
}

/// A site with one spelling must refuse paths with `.` and `..` segments, even if its only route is an application.
#[test]
fn one_application_alone() {
    let of_file = || {
        Site::new(
            Vec::new(),
            table(vec![(prefix(""), Action::App(says("app")))]),
            SiteLimits::default(),
            None,
        )
    };
    for (site, status) in [(of_file(), 200), (of_file().with_one_spelling(), 400)] {
        let server = Server::serving(config(), Plan::new(vec![site]).unwrap(), vec![Vec::new()]);
        let mut client = server.client();
        for path in ["/a/../b", "/..", "/a/.", "/%2e%2E/a", "/a%2f..%2fb"] {
            assert_eq!(status, ask(&mut client, "a.example", path).0, "{path}");
        }
        for path in ["/", "/a..b/c.d", "/.well-known/x", "/a%20b", "/%2561", "/..."] {
            assert_eq!((200, "app".to_owned()), ask(&mut client, "a.example", path), "{path}");
        }
        server.stop();
    }
}

/// A route for addresses that no client here has.
fn nobody() -> Route {
    let mut allow = Networks::default();
    assert_eq!(Ok(()), allow.add("192.0.2.0/24"));
    let admission = Admission { allow, ..Admission::default() };
    Route { admission: Some(Box::new(admission)), ..Action::Files(0).into() }
}

/// If a folder would answer with its index or its fallback, the routes for the path of that file must count.
#[test]
fn files_of_other_paths() {
    let exact = |path: &str| PathPattern::Exact(path.as_bytes().into());
    let app = |words| Route::from(Action::App(says(words)));
    let page = || Route::from(Action::Page(ErrorPage::new(410, "It was here.")));
    let away = Location::read("/elsewhere").unwrap();
    let post = When { methods: vec![b"POST"[..].into()], ..When::default() };
    let only_post = Route { when: Some(Box::new(post)), ..page() };
    for (pattern, route, status, words) in [
        (exact("/index.html"), nobody(), 403, "Clients with this address"),
        (PathPattern::Suffix(b".html"[..].into()), nobody(), 403, "Clients with this address"),
        (prefix("/index.html"), nobody(), 403, "Clients with this address"),
        (exact("/index.html"), page(), 410, "It was here."),
        (exact("/index.html"), app("asked"), 200, "asked"),
        (exact("/index.html"), Route::from(Action::Files(0)).internal(), 404, "Nothing is served here."),
        (exact("/index.html"), Route::from(Action::Redirect(308, away)), 200, "of the index"),
        (exact("/index.html"), only_post, 200, "of the index"),
        (exact("/sub/index.html"), nobody(), 200, "of the index"),
        (PathPattern::Suffix(b".htm"[..].into()), nobody(), 200, "of the index"),
    ] {
        let place = TempFolder::new();
        fs::write(place.0.join("index.html"), "of the index").unwrap();
        let folder = || {
            let options = Options { spa_fallback: Some("index.html".into()), ..Options::new(&place.0) };
            Folder::open(options).unwrap()
        };
        let files = Route { fallback: Some(b"index.html"[..].into()), ..Action::Files(0).into() };
        let shown = format!("{pattern:?}");
        let routes = Routes::new(vec![(pattern, route), (prefix(""), files)]);
        let site = Site::new(Vec::new(), routes, SiteLimits::default(), None).with_one_spelling();
        let server = Server::serving(config(), Plan::new(vec![site]).unwrap(), vec![vec![folder()]]);
        let mut client = server.client();
        for (path, is_file) in
            [("/", false), ("//?a=b", false), ("/users/17", false), ("/", false), ("/file.txt", true)]
        {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n"));
            let answer = client.answer();
            let (status, words) = if is_file { (200, "of the folder") } else { (status, words) };

            assert_eq!(status, answer.status, "{shown} {path}: {}", answer.text());
            assert!(answer.text().contains(words), "{shown} {path}: {}", answer.text());
        }
        server.stop();
    }
}

/// A path that a site denies must be refused in any spelling, before any route and any rewrite rule, and also as an
/// index.
#[test]
fn denied_paths() {
    let place = TempFolder::new();
    for name in ["index.html", "x.old"] {
        fs::write(place.0.join(name), "of the folder").unwrap();
    }
    let mut denied = DeniedPaths::default();
    for pattern in [PathPattern::Suffix(b".old"[..].into()), prefix("/secret"), prefix("/app/index.html")] {
        denied.add(pattern);
    }
    let mut rewrites = Rewrites::default();
    assert_eq!(Ok(()), rewrites.add_path(prefix("/to"), "/secret/"));
    assert_eq!(Ok(()), rewrites.add_path(PathPattern::Exact(b"/secret/x"[..].into()), "/fine"));
    let routes = vec![
        (prefix(""), Action::App(says("app"))),
        (PathPattern::Exact(b"/app/y.old"[..].into()), Action::App(says("app"))),
        (prefix("/app"), Action::Files(0)),
        (prefix("/other"), Action::Files(0)),
    ];
    let site = site(&[], routes).with_one_spelling().with_paths(Ahead { denied, rewrites });
    let server = Server::serving(config(), Plan::new(vec![site]).unwrap(), vec![vec![place.folder()]]);
    let mut client = server.client();
    for (path, status) in [
        ("/", 200),
        ("/a.old", 403),
        ("/a%2Eold", 403),
        ("//a.old//x", 403),
        ("/app/y.old", 403),
        ("/app/x.old", 403),
        ("/app/x.old.gz", 403),
        ("/secret", 403),
        ("/%73ecret/a", 403),
        ("/secret/x", 403),
        ("/to/x", 403),
        ("/to", 403),
        ("/secrets", 200),
        ("/app/", 403),
        ("/other/", 200),
        ("/app/file.txt", 200),
        ("/x.oldest", 200),
        ("/a/../b.old", 400),
    ] {
        assert_eq!(status, ask(&mut client, "a.example", path).0, "{path}");
    }
    server.stop();
}

/// A request must get the limits and the log of its own site.
#[test]
fn limits_and_logs() {
    let place = TempFolder::new();
    let log = |name: &str| {
        let target = Destination::File(place.0.join(name));
        Some(Arc::new(Mutex::new(AccessLog::open(&target, "%s %{Host}i", 1 << 20).unwrap())))
    };
    let app = |words| table(vec![(prefix(""), Action::App(says(words)))]);
    let narrow = SiteLimits { body_bytes_max: 3, keep_alive_requests_max: 2, ..SiteLimits::default() };
    let strict = Site::new(names(&["strict.example"]), app("strict"), narrow, log("strict.log"));
    let lax = Site::new(names(&["lax.example"]), app("lax"), SiteLimits::default(), log("lax.log"));
    let server = Server::serving(config(), Plan::new(vec![lax, strict]).unwrap(), vec![Vec::new()]);
    let post = |host: &str, body: &str, sent: usize| {
        let mut client = server.client();
        let length = body.len();
        let head = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
        client.send(format!("{head}{}", &body[..sent]));
        client.answer().status
    };

    assert_eq!(
        [200, 413, 413],
        [
            post("strict.example", "123", 3),
            post("strict.example", "1234", 4),
            post("strict.example", "1234", 0)
        ]
    );
    assert_eq!(200, post("lax.example", "1234", 4));

    let mut client = server.client();
    for (host, stays) in [("lax.example", true), ("strict.example", false)] {
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));

        assert_eq!(
            stays,
            client.answer().field("Connection").is_none(),
            "the second request is the last, there"
        );
    }
    client.expect_end();
    server.stop();

    let lines = |name: &str| fs::read_to_string(place.0.join(name)).unwrap();
    assert_eq!("200 strict.example\n413 -\n413 -\n200 strict.example\n", lines("strict.log"));
    assert_eq!("200 lax.example\n200 lax.example\n", lines("lax.log"));
}

/// The time limit of one site must not apply to the application of another.
#[test]
fn timeouts() {
    let later = || -> (Arc<dyn App>, Receiver<Ticket>) {
        let (sender, tickets) = channel();
        let answer = move |call: &mut Call<'_>| {
            let (ticket, claim) = call.later();
            sender.send(ticket).unwrap();
            Outcome::Later(claim)
        };
        (Arc::new(Closure { answer }), tickets)
    };
    let of = |host: &str, app, silence_ms| {
        Site::new(names(&[host]), table(vec![(prefix(""), Action::App(app))]), limits(silence_ms), None)
    };
    let ((hasty, hasty_tickets), (patient, patient_tickets)) = (later(), later());
    let plan = Plan::new(vec![of("patient.example", patient, 0), of("hasty.example", hasty, SHORT_MS)]);
    let server = Server::serving(config(), plan.unwrap(), vec![Vec::new()]);
    let (mut before, mut client) = (server.client(), server.client());
    before.send("GET / HTTP/1.1\r\nHost: patient.example\r\n\r\n");
    let ticket = patient_tickets.recv_timeout(PATIENCE).unwrap();

    let (status, _) = ask(&mut client, "hasty.example", "/");

    assert_eq!(504, status);
    drop(client);
    assert!(!hasty_tickets.recv_timeout(PATIENCE).unwrap().is_awaited());
    assert!(ticket.is_awaited(), "its time is not over, although it has waited longer");
    ticket.redeem(|reply| text(reply, "patient"));
    assert_eq!("patient", before.answer().text());
    server.stop();
}

/// A request whose body has not come must reach an application if one may answer; otherwise the body is not read.
#[test]
fn bodies() {
    let place = TempFolder::new();
    let all = site(
        &[],
        vec![
            (prefix(""), Action::App(says("app"))),
            (prefix("/both"), Action::Files(0)),
            (prefix("/both/falling"), Action::Files(1)),
            (prefix("/only"), Action::Files(0)),
        ],
    );
    let folders = vec![vec![place.folder(), place.falling()]];
    let server = Server::serving(config(), Plan::new(vec![all]).unwrap(), folders);
    for (path, status, words) in [
        ("/", 200, "app"),
        ("/both/falling/none.txt", 200, "app"),
        ("/both/falling/file.txt", 405, ""),
        ("/both/none.txt", 405, ""),
        ("/only/none.txt", 405, ""),
    ] {
        let mut client = server.client();
        // A body in chunks is never taken to be here already.
        client.send(format!("POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
        client.send("4\r\n1234\r\n0\r\n\r\n");
        let answer = client.answer();

        assert_eq!(status, answer.status, "{path}");
        assert!(answer.text().contains(words), "{path}");
    }
    server.stop();
}

/// After a change of the plan, the next request of a kept connection must get the new plan; a running request must end
/// by the old one.
#[test]
fn swap() {
    let (place, gate) = (TempFolder::new(), Gate::closed());
    let old = site(&[], vec![(prefix(""), Action::App(Arc::new(Closure { answer: gate.application() })))]);
    let server = Server::serving(config(), Plan::new(vec![old]).unwrap(), vec![Vec::new(), Vec::new()]);
    let mut clients: Vec<Client> = server.addresses.iter().map(|&address| Client::connect(address)).collect();
    let mut slow = server.client();
    slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    gate.wait();
    for client in &mut clients {
        assert_eq!("hello", ask(client, "a", "/").1);
    }
    let new = site(&[], vec![(prefix(""), Action::App(says("new"))), (prefix("/files"), Action::Files(0))]);
    let folders = vec![vec![place.folder()], vec![place.folder()]];
    server.inner().swap(Plan::new(vec![new]).unwrap(), folders).unwrap();
    let since = Instant::now();
    for client in &mut clients {
        while "hello" == ask(client, "a", "/").1 {
            assert!(since.elapsed() < PATIENCE, "the old plan stays");
        }

        assert_eq!("new", ask(client, "a", "/").1);
        assert_eq!("of the folder", ask(client, "a", "/files/file.txt").1);
    }
    gate.open();

    assert_eq!("hello", slow.answer().text());
    assert_eq!("new", ask(&mut slow, "a", "/").1);
    server.stop();
}

/// A plan that cannot be served changes nothing.
#[test]
fn no_plans() {
    let lacking = || {
        let files = Action::Files(1);
        Plan::new(vec![site(&[], vec![(prefix(""), files)])]).unwrap()
    };
    let place = TempFolder::new();
    let server = Server::start(config(), |call| text(&mut call.reply, "hello"));
    for (folders, sentence) in [
        (vec![vec![place.folder()]], "a route is for the folder number 1, and there are 1"),
        (Vec::new(), "a route is for the folder number 1, and there are 0"),
    ] {
        assert_eq!(sentence, server.inner().swap(lacking(), folders).unwrap_err().to_string());
    }
    let fine = || Plan::new(vec![site(&[], vec![(prefix(""), Action::App(says("new")))])]).unwrap();

    assert!(
        server.inner().swap(fine(), vec![Vec::new(), Vec::new()]).is_err(),
        "two loops, and there is one"
    );
    assert_eq!("hello", server.client().get("/").text());
    server.stop();

    assert_eq!("there is no site; give one", Plan::new(Vec::new()).err().unwrap().to_string());
    let twice = || site(&["a.example"], Vec::new());
    assert_eq!(
        "two sites have the host name a.example",
        Plan::new(vec![twice(), twice()]).err().unwrap().to_string()
    );
}
