//! `nginx.conf` in, exact files of sites out, and exact sentences about what is none.

mod common;

use adyton_import::Kind;
use common::with_files;

#[test]
fn files_of_sites() {
    common::cases(Kind::Nginx, "nginx");
}

#[test]
fn mistakes() {
    let files = [("a.conf", "server { root x;"), ("b.conf", "include b.conf;")];
    let cases = [
        ("", "x.conf:1: there is no server in it"),
        ("events {}", "x.conf:1: there is no server in it"),
        ("server {\n}\n}", "x.conf:3: there is no { for this }"),
        ("include a.conf;", "a.conf:1: a } is missing"),
        ("include b.conf;", "b.conf:1: this file includes itself"),
        ("\ninclude c.conf;", "x.conf:2: c.conf: there is no such file; what it restricts would be lost"),
    ];
    for (text, expected) in cases {
        let found = with_files(Kind::Nginx, "x.conf", text, &files).map(|made| made.text);

        assert_eq!(Err(expected.to_owned()), found, "{text}");
    }
}

#[test]
fn included_files_have_places_of_their_own() {
    let files = [
        ("sites/a.conf", "server { listen 81; server_name a.example; location / { deny all; } }"),
        ("b", ""),
    ];
    let made = with_files(Kind::Nginx, "nginx.conf", "http {\n include sites/*.conf;\n}", &files);
    let text = made.map(|made| made.text).unwrap_or_default();

    assert!(text.contains("bind = [\"0.0.0.0:81\"]  # sites/a.conf:1\n"), "{text}");
    assert!(text.contains("respond = 403  # sites/a.conf:1\n"), "{text}");
}
