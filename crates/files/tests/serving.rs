//! Answers to requests for a file, a folder or an absent path: rules 44 and 48, and the options.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use adyton_files::{Folder, NAMES_MAX, Options, mime_type};
use support::TempFolder;

#[test]
fn a_file_comes_with_all_that_describes_it() {
    let folder = TempFolder::with(&[("hello.txt", "Hello, World!")]);
    folder.set_modified("hello.txt", 784_111_777, 5);
    let mut client = folder.client();
    let first = client.get("/hello.txt");

    assert_eq!((200, "Hello, World!"), first.brief());
    assert_eq!(Some("text/plain; charset=utf-8"), first.field("content-type"));
    assert_eq!(Some("Sun, 06 Nov 1994 08:49:37 GMT"), first.field("last-modified"));
    assert_eq!(Some("\"ae1b981bc490a05-d\""), first.field("etag"));
    assert_eq!(Some("bytes"), first.field("accept-ranges"));
    assert_eq!(None, first.field("vary"));
    assert!(first.keep_alive);

    client.warm("/hello.txt");
    assert_eq!(first.head, client.get("/hello.txt").head, "the cached head is the same");
}

#[test]
fn head_is_get_without_the_body() {
    let folder = TempFolder::with(&[
        ("a.css", "p {}"),
        ("empty", ""),
        ("big.bin", &"x".repeat(70_000)),
        ("404.html", "no"),
    ]);
    let mut client = folder.client_with(|options| options.not_found_page = Some("404.html".into()));
    for round in 0..2 {
        for path in ["/a.css", "/empty", "/big.bin", "/missing", "/.hidden", "/%00"] {
            let get = client.get(path);
            let head = client.ask(&format!("HEAD {path} HTTP/1.1\r\n"));

            assert_eq!((get.head, 0), (head.head, head.body.len()), "{path} in round {round}");
        }
        client.warm("/a.css");
        client.warm("/empty");
        client.warm("/big.bin");
    }
}

#[test]
fn the_connection_stays_open_as_the_client_wants_it() {
    let folder = TempFolder::with(&[("a", "b")]);
    let mut client = folder.client();
    client.warm("/a");
    let cases = [
        ("GET /a HTTP/1.1\r\n", true, None),
        ("GET /a HTTP/1.1\r\nConnection: close\r\n", false, Some("close")),
        ("GET /a HTTP/1.0\r\n", false, Some("close")),
        ("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n", true, Some("keep-alive")),
        ("GET /missing HTTP/1.1\r\nConnection: close\r\n", false, Some("close")),
    ];
    for (request, keep_alive, connection) in cases {
        let reply = client.ask(request);

        assert_eq!((keep_alive, connection), (reply.keep_alive, reply.field("connection")), "{request}");
    }
}

#[test]
fn folders_have_a_slash_an_index_or_nothing() {
    let files =
        [("index.html", "top"), ("docs/index.html", "docs"), ("img/a.png", ""), ("a b/index.html", "")];
    let folder = TempFolder::with(&files);
    let mut client = folder.client();
    for round in ["cold", "warm"] {
        assert_eq!((200, "top"), client.get("/").brief(), "{round}");
        assert_eq!((200, "docs"), client.get("/docs/").brief(), "{round}");
        assert_eq!((200, "docs"), client.get("/img/../docs/./").brief(), "{round}");
        assert_eq!((200, "docs"), client.get("/docs/index.html?x=1").brief(), "{round}");
        assert_eq!(404, client.get("/docs/index.html/").status, "{round}: a file is not a folder");
        assert_eq!(404, client.get("/img/").status, "{round}");
        assert_eq!(404, client.get("/img").status, "{round}: a path is not redirected to a 404");
        client.warm("/");
        client.warm("/docs/");
    }
    let redirects = [
        ("/docs", "/docs/"),
        ("/docs?a=/b&c=%2F", "/docs/?a=/b&c=%2F"),
        ("/a%20b?", "/a%20b/"),
        ("//docs", "/docs/"),
        ("///x//..//docs", "/docs/"),
        ("/img/../docs", "/docs/"),
        ("http://example/docs?q", "/docs/?q"),
    ];
    for (target, location) in redirects {
        let reply = client.get(target);

        assert_eq!((301, Some(location)), (reply.status, reply.field("location")), "{target}");
    }
}

#[test]
fn a_redirect_never_leads_to_another_host() {
    let folder = TempFolder::with(&[("evil.example/index.html", ""), ("x/evil.example/index.html", "")]);
    let mut client = folder.client();
    for target in [
        "//evil.example",
        "/x/..//evil.example",
        "/x//../../evil.example",
        "///evil.example",
        "/./evil.example",
    ] {
        let reply = client.get(target);
        if let Some(location) = reply.field("location") {
            assert_eq!("/evil.example/", location, "{target}");
        } else {
            assert_eq!(400, reply.status, "{target}");
        }
    }
    // A target in absolute form with an empty path means the root.
    assert_eq!(404, client.get("http://example").status);
}

#[test]
fn a_mount_keeps_its_prefix() {
    let folder = TempFolder::with(&[("index.html", "top"), ("docs/a.txt", "a"), ("docs/index.html", "")]);
    let mut client = folder.client();
    client.prefix = "/static";
    client.warm("/static/docs/a.txt");

    assert_eq!((200, "a"), client.get("/static/docs/a.txt").brief());
    assert_eq!((200, "top"), client.get("/static/").brief());
    assert_eq!(Some("/static/"), client.get("/static").field("location"));
    assert_eq!(Some("/static/docs/?q"), client.get("/static/docs?q").field("location"));
    assert_eq!(
        400,
        client.get("/static/../docs/a.txt").status,
        "dot segments must not even enter the prefix"
    );
}

#[test]
fn methods_other_than_get_and_head() {
    let folder = TempFolder::with(&[("a.txt", "a")]);
    let mut client = folder.client();
    let allow = Some("GET, HEAD, OPTIONS");
    for (method, status) in
        [("OPTIONS", 204), ("POST", 405), ("PUT", 405), ("DELETE", 405), ("TRACE", 405), ("BREW", 501)]
    {
        let reply = client.ask(&format!("{method} /a.txt HTTP/1.1\r\n"));

        assert_eq!((status, allow), (reply.status, reply.field("allow")), "{method}");
    }
}

#[test]
fn hidden_files_and_sources_are_refused() {
    let names = [
        ".env",
        ".git/config",
        ".htaccess",
        "a/.svn/entries",
        "CVS/Root",
        "app.py",
        "APP.PY",
        "app.pyc",
        "site.wsgi",
        "__pycache__/x",
        "a.html~",
        ".a.html.swp",
        "a.html.swp",
        "a.orig",
        "a.bak",
        "#a#",
        "x/.well-known/a",
        "...",
    ];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "secret")).collect();
    let folder = TempFolder::with(&files);
    folder.write(".well-known/security.txt", "public");
    let mut client = folder.client_with(|options| options.listing = true);
    for name in names {
        let path = format!("/{}", name.replace('#', "%23"));

        assert_eq!(404, client.get(&path).status, "{path}");
        assert_eq!(404, client.get(&path.replace('.', "%2e")).status, "{path}");
    }
    assert_eq!(404, client.get("/.git/").status);
    assert_eq!((200, "public"), client.get("/.well-known/security.txt").brief());
    for path in ["/", "/a/", "/x/"] {
        let listing = client.get(path);

        assert_eq!(200, listing.status);
        assert!(
            !names.iter().any(|name| listing.text().contains(&format!("./{name}\""))),
            "{}",
            listing.text()
        );
    }
}

#[test]
fn a_listing_is_sorted_and_escaped() {
    let folder = TempFolder::with(&[
        ("b.txt", "123"),
        ("A.txt", &"x".repeat(4300)),
        ("zoo/a", ""),
        ("<i>&\"'?#%.txt", ""),
    ]);
    folder.set_modified("b.txt", 784_111_777, 0);
    std::os::unix::fs::symlink("b.txt", folder.path("link.txt")).unwrap();
    let mut client = folder.client_with(|options| options.listing = true);
    let reply = client.get("/");
    let page = reply.text();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("<tr><td>")).collect();

    assert_eq!(Some("text/html; charset=utf-8"), reply.field("content-type"));
    assert_eq!(None, reply.field("accept-ranges"));
    assert!(rows[0].contains("<a href=\"./zoo/\">zoo/</a></td><td></td>"), "{page}");
    assert!(
        rows[1].contains("<a href=\"./%3Ci%3E%26%22%27%3F%23%25.txt\">&lt;i&gt;&amp;&quot;&#39;?#%.txt</a>"),
        "{page}"
    );
    assert!(rows[2].contains("<a href=\"./A.txt\">A.txt</a></td><td>4.1 KiB</td>"), "{page}");
    assert!(
        rows[3].contains("<a href=\"./b.txt\">b.txt</a></td><td>3 B</td><td>06 Nov 1994 08:49</td>"),
        "{page}"
    );
    assert_eq!(4, rows.len(), "a link is not shown: {page}");
    assert!(client.get("/zoo/").text().contains("<a href=\"../\">../</a>"));
    assert_eq!(
        200,
        client.get("/%3Ci%3E%26%22%27%3F%23%25.txt").status,
        "links of the listing lead to their files"
    );

    let mut client = folder.client_with(|options| (options.listing, options.follow_symlinks) = (true, true));
    assert!(client.get("/").text().contains("./link.txt"), "a link that is followed is shown");
}

#[test]
fn a_listing_says_when_it_is_empty_or_cut() {
    let folder = TempFolder::with(&[("many/0", ""), ("empty/.keep", "")]);
    let mut client = folder.client_with(|options| options.listing = true);
    assert!(client.get("/empty/").text().contains("This folder is empty."));
    for n in 1..NAMES_MAX {
        folder.write(&format!("many/{n}"), "");
    }
    assert!(!client.get("/many/").text().contains("more names"));
    folder.write("many/last", "");
    let reply = client.get("/many/");

    assert!(reply.text().contains("more names"));
    assert_eq!(NAMES_MAX + 1, reply.text().matches("<tr><td>").count(), "one row more is the parent's");
}

#[test]
fn a_page_for_what_is_not_there() {
    let folder = TempFolder::with(&[("errors/404.html", "<h1>Gone fishing</h1>")]);
    let mut client = folder.client_with(|options| options.not_found_page = Some("errors/404.html".into()));
    for _ in 0..2 {
        for path in ["/missing", "/.git/config", "/errors/"] {
            let reply = client.get_with(path, "If-None-Match: *");

            assert_eq!((404, "<h1>Gone fishing</h1>"), reply.brief(), "{path}");
            assert_eq!((None, None), (reply.field("etag"), reply.field("last-modified")));
            assert_eq!(Some("text/html; charset=utf-8"), reply.field("content-type"));
        }
        assert_eq!(200, client.get("/errors/404.html").status, "the page is requested by its own path");
        client.warm("/errors/404.html");
    }
    std::fs::remove_file(folder.path("errors/404.html")).unwrap();
    let reply = client.get("/<script>");

    assert_eq!(404, reply.status);
    assert!(
        reply.text().contains("<h1>404 Not Found</h1>") && !reply.text().contains("script"),
        "{}",
        reply.text()
    );
}

#[test]
fn a_single_page_application_gets_its_index_for_navigation_only() {
    let folder = TempFolder::with(&[("index.html", "app"), ("a.js", "js")]);
    let mut client = folder.client_with(|options| options.spa_fallback = Some("index.html".into()));
    let cases = [
        ("/users/17", "Accept: text/html,application/xhtml+xml,*/*;q=0.8", 200),
        ("/users/17", "Accept: */*", 200),
        ("/users/17", "X-None: 1", 200),
        ("/users/17", "Accept: application/json", 404),
        ("/users/17", "Accept: text/html;q=0, */*", 404),
        ("/users/17.json", "Accept: text/html", 404),
        ("/missing.js", "Accept: */*", 404),
        ("/.git/HEAD", "Accept: text/html", 404),
    ];
    for (path, line, status) in cases {
        let reply = client.get_with(path, line);

        assert_eq!(status, reply.status, "{path} {line}");
        assert_eq!(status == 200, reply.body == b"app", "{path} {line}");
    }
    assert_eq!(405, client.ask("POST /users/17 HTTP/1.1\r\n").status);
}

/// A path that the caller says is absent gets a 404, even if the cache holds its file.
#[test]
fn what_the_caller_has_not_found_is_not_there() {
    let folder = TempFolder::with(&[
        ("a/index.html", "index"),
        ("a/b.txt", "b"),
        ("404.html", "no"),
        ("app.html", "app"),
    ]);
    let targets = ["/a/", "/a/index.html", "/a/b.txt", "/a"];
    let mut client = folder.client_with(|options| options.not_found_page = Some("404.html".into()));
    for target in targets {
        assert_ne!(404, client.get(target).status, "{target}");
    }
    client.is_absent = true;
    for target in targets {
        assert_eq!((404, "no"), client.get(target).brief(), "{target}");
        assert_eq!(404, client.get_with(target, "Range: bytes=0-0").status, "{target}");
        assert_eq!(405, client.ask(&format!("POST {target} HTTP/1.1\r\n")).status, "{target}");
    }
    assert_eq!(400, client.get("/a%00").status);
    client.is_absent = false;
    assert_eq!((200, "b"), client.get("/a/b.txt").brief());

    let mut client = folder.client_with(|options| options.spa_fallback = Some("app.html".into()));
    client.is_absent = true;
    assert_eq!((200, "app"), client.get_with("/a/", "Accept: text/html").brief());
    let mut client = folder.client_with(|options| options.fall_through = true);
    client.is_absent = true;
    assert!(client.get("/a/b.txt").fell_through);
}

/// The count tells whether an answer opened something; after `forget`, all files are opened anew.
#[test]
fn what_is_opened_is_counted() {
    let folder = TempFolder::with(&[("a/index.html", "index"), ("b.txt", "b")]);
    let mut client = folder.client_with(|_| {});
    client.warm("/b.txt");
    let opened = client.site.opened();
    assert_eq!((200, "b"), client.get("/b.txt").brief());
    assert_eq!(opened, client.site.opened(), "from memory");
    assert_eq!(301, client.get("/a").status);
    assert!(client.site.opened() > opened, "an answer with a folder opens the folder");
    let opened = client.site.opened();
    client.site.forget();
    assert_eq!((200, "b"), client.get("/b.txt").brief());
    assert_eq!(opened + 1, client.site.opened());
}

#[test]
fn what_is_not_there_falls_through_to_the_application() {
    let folder = TempFolder::with(&[("a.txt", "a"), ("empty/.keep", "")]);
    let mut client = folder.client_with(|options| options.fall_through = true);
    for target in [
        "/",
        "/missing",
        "/empty/",
        "/.git/config",
        "/a%00",
        "/a%zz",
        "/..",
        "/a%5Cb",
        "/a\\b",
        "/a%2Fb",
        "/app.py",
    ] {
        assert!(client.get(target).fell_through, "{target}");
        assert!(client.ask(&format!("POST {target} HTTP/1.1\r\n")).fell_through, "{target}");
    }
    assert_eq!((200, "a"), client.get("/a.txt").brief());
    assert_eq!(405, client.ask("POST /a.txt HTTP/1.1\r\n").status);
    assert_eq!(204, client.ask("OPTIONS /a.txt HTTP/1.1\r\n").status);
}

#[test]
fn cache_control_is_on_files_and_not_on_errors() {
    let folder = TempFolder::with(&[("a.txt", "a")]);
    let mut client = folder.client_with(|options| options.cache_control = Some("max-age=60".into()));
    for _ in 0..2 {
        assert_eq!(Some("max-age=60"), client.get("/a.txt").field("cache-control"));
        assert_eq!(Some("max-age=60"), client.get_with("/a.txt", "If-None-Match: *").field("cache-control"));
        assert_eq!(None, client.get("/b.txt").field("cache-control"));
        client.warm("/a.txt");
    }
}

/// Spoils one of the options.
type Change = fn(&mut Options);

#[test]
fn options_that_make_no_sense_are_refused_with_a_sentence() {
    let folder = TempFolder::with(&[("file", "")]);
    let cases: [(&str, Change); 7] = [
        ("Cache-Control", |options| options.cache_control = Some("a\r\nb".into())),
        ("index", |options| options.index = "../index.html".into()),
        ("index", |options| options.index = ".index".into()),
        ("page", |options| options.not_found_page = Some("../404.html".into())),
        ("page", |options| options.not_found_page = Some(".404.html".into())),
        ("page", |options| options.spa_fallback = Some("folder/".into())),
        ("Not a directory", |options| options.root.push("file")),
    ];
    for (word, change) in cases {
        let mut options = Options::new(folder.root());
        change(&mut options);
        let error = Folder::open(options).err().expect("an error").to_string();

        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn types_by_name() {
    let cases = [
        ("a.html", "text/html; charset=utf-8"),
        ("a.HTM", "text/html; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.mjs", "text/javascript; charset=utf-8"),
        ("a.min.js.map", "application/json"),
        ("a.json", "application/json"),
        ("a.svg", "image/svg+xml"),
        ("a.xml", "text/xml"),
        ("a.csv", "text/csv; charset=utf-8"),
        ("a.webp", "image/webp"),
        ("a.avif", "image/avif"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("a.mp4", "video/mp4"),
        ("a.pdf", "application/pdf"),
        ("a.tar.gz", "application/gzip"),
        ("LICENSE", "application/octet-stream"),
        ("a.unheard-of", "application/octet-stream"),
        ("dir.html/a", "application/octet-stream"),
    ];
    for (name, expected) in cases {
        assert_eq!(expected, mime_type(std::path::Path::new(name)), "{name}");
    }
}

#[test]
fn a_site_can_move_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    let folder = TempFolder::with(&[]);

    is_send(&folder.client().site);
}
