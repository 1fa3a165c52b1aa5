//! Files that another route runs are treated as absent, by whichever path they are requested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use adyton_files::{Options, Sources};
use support::TempFolder;

/// Makes a folder with a script in `cgi`, and with other files whose names end like the names of scripts.
fn folder() -> TempFolder {
    let folder = TempFolder::with(&[
        ("cgi/run", "source"),
        ("cgi/run.gz", "copy"),
        ("cgi/note", "note"),
        ("cgi/note.gz", "a copy of a note"),
        ("run", "elsewhere"),
        ("a.pl", "source"),
        ("B.PL", "source"),
        ("a.pl.br", "copy"),
        ("apl", "no script"),
    ]);
    for name in ["cgi/run", "run"] {
        fs::set_permissions(folder.path(name), Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn run(folder: &TempFolder, options: &mut Options) {
    options.sources = vec![
        Sources { folder: folder.path("cgi"), ends: Vec::new() },
        Sources { folder: folder.root(), ends: vec![b".pl".to_vec()] },
    ];
}

#[test]
fn by_mode_and_by_name() {
    let folder = folder();
    let mut client = folder.client_with(|options| run(&folder, options));
    for (path, status) in [
        ("/cgi/run", 404),
        ("/cgi/run.gz", 404),
        ("/cgi/note", 200),
        ("/cgi/note.gz", 200),
        ("/run", 200),
        ("/a.pl", 404),
        ("/B.PL", 404),
        ("/a.pl.br", 404),
        ("/apl", 200),
    ] {
        for _ in 0..3 {
            assert_eq!(status, client.get(path).status, "{path}");
        }
    }
    client.warm("/cgi/note");
    fs::set_permissions(folder.path("cgi/note"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(404, client.get("/cgi/note").status, "the file is executable by now");
    assert_eq!(404, client.get_with("/cgi/note", "Accept-Encoding: gzip").status);
}

#[test]
fn others_are_cached_as_before() {
    let folder = folder();
    let mut client = folder.client_with(|options| run(&folder, options));
    client.warm("/cgi/note");
    let loads = client.site.counts().loads;
    for second in 0..3 {
        client.pass_seconds(second);
        assert_eq!(200, client.get("/cgi/note").status);
    }

    assert_eq!(loads, client.site.counts().loads);
}

#[test]
fn what_stands_for_them() {
    let folder = folder();
    let mut client = folder.client_with(|options| {
        run(&folder, options);
        (options.index, options.listing) = ("a.pl".into(), true);
        options.not_found_page = Some("a.pl".into());
    });
    let listed = client.get("/cgi/");

    assert_eq!(200, listed.status);
    assert!(listed.text().contains("note") && !listed.text().contains("run"), "{}", listed.text());
    assert!(client.get("/").text().contains("apl"), "a listing stands for the index");
    let missing = client.get("/none");
    assert_eq!(404, missing.status);
    assert!(missing.text().contains("There is no such file."));

    let mut client = folder.client_with(|options| {
        run(&folder, options);
        options.spa_fallback = Some("a.pl".into());
        options.index = "a.pl".into();
    });
    let html = "Accept: text/html";
    assert_eq!(404, client.get_with("/none", html).status);
    assert_eq!(404, client.get("/").status);
    // Callers that ask for names get the names of these files, too: another route may run them.
    client.names_others = true;
    assert_eq!((0, "a.pl"), client.get_with("/none", html).brief());
    assert_eq!((0, "a.pl"), client.get("/").brief());
}

#[test]
fn by_their_paths() {
    let folder = folder();
    symlink("cgi/run", folder.path("link")).unwrap();
    let all = [
        Sources { folder: folder.path("cgi"), ends: Vec::new() },
        Sources { folder: folder.root(), ends: vec![b".pl".to_vec()] },
    ];
    for (name, is_run) in [
        ("cgi/run", true),
        ("cgi/run.gz", true),
        ("link", true),
        ("B.PL", true),
        ("a.pl.br", true),
        ("cgi/note", false),
        ("run", false),
        ("apl", false),
        ("none", false),
    ] {
        assert_eq!(is_run, Sources::have(&all, &folder.path(name)), "{name}");
        assert!(!Sources::have(&[], &folder.path(name)));
    }
}

#[test]
fn they_fall_through() {
    let folder = folder();
    let mut client = folder.client_with(|options| {
        run(&folder, options);
        options.fall_through = true;
    });
    for method in ["GET", "HEAD", "POST"] {
        assert!(client.ask(&format!("{method} /cgi/run HTTP/1.1\r\n")).fell_through, "{method}");
    }
    assert!(!client.get("/cgi/note").fell_through);
}

#[test]
fn links() {
    let folder = folder();
    for (link, to) in [
        ("dir", "cgi"),
        ("one", "cgi/run"),
        ("copy", "cgi/run.gz"),
        ("two.pl", "apl"),
        ("cgi/named", "../run"),
        ("kept", "cgi/note"),
    ] {
        symlink(to, folder.path(link)).unwrap();
    }
    let mut client = folder.client_with(|options| {
        run(&folder, options);
        options.follow_symlinks = true;
    });
    for (path, status) in [
        ("/dir/run", 404),
        ("/one", 404),
        ("/copy", 404),
        ("/two.pl", 404),
        ("/cgi/named", 404),
        ("/kept", 200),
        ("/dir/note", 200),
        ("/run", 200),
    ] {
        assert_eq!(status, client.get(path).status, "{path}");
    }
}
