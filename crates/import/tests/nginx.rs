//! `nginx.conf` in, exact files of sites out, and exact messages about files with mistakes.

#![allow(clippy::panic, reason = "a test ends at its first surprise")]

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
        ("\ninclude c.conf;", "x.conf:2: c.conf: there is no such file; restrictions in it would be lost"),
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

fn made(text: &str) -> adyton_import::Import {
    with_files(Kind::Nginx, "x.conf", text, &common::PAGES).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// Proxies are trusted as in nginx, and no more. If the rules of a route would see other addresses than in nginx, the
/// route refuses all requests.
#[test]
fn addresses_of_proxies() {
    let rules = "location /a/ { root /srv; allow 192.0.2.0/24; deny all; }";
    let from = "set_real_ip_from 10.0.0.0/8; set_real_ip_from unix:;";
    // Directives of http and of the server, the field that is trusted, and whether a restriction is lost.
    let cases = [
        (from, rules, Some("X-Real-IP"), false),
        ("", &*format!("{from} real_ip_header x-real-ip; {rules}"), Some("X-Real-IP"), false),
        (
            &*format!("{from} real_ip_header X-Forwarded-For; real_ip_recursive on;"),
            rules,
            Some("X-Forwarded-For"),
            false,
        ),
        (&*format!("{from} real_ip_header X-Forwarded-For;"), rules, Some("X-Forwarded-For"), true),
        (&*format!("{from} real_ip_header X-Forwarded-For;"), "", Some("X-Forwarded-For"), false),
        (&*format!("{from} real_ip_header X-Other;"), rules, None, true),
        (&*format!("{from} real_ip_header proxy_protocol;"), "", None, false),
        (&*format!("{from} set_real_ip_from proxy.example;"), rules, None, true),
        ("real_ip_header X-Real-IP;", rules, None, false),
        ("", &*format!("location /b/ {{ root /srv; {from} }}"), None, true),
    ];
    for (http, server, field, opens) in cases {
        let text = format!("http {{ {http} server {{ server_name a.example; root /srv; {server} }} }}");
        let made = made(&text);

        assert_eq!(opens, made.opens(), "{text}\n{}", made.text);
        assert_eq!(opens, made.text.contains("# Refused"), "{text}\n{}", made.text);
        assert_eq!(
            field.is_some(),
            made.text.contains("trusted-proxies = [\"10.0.0.0/8\", \"unix\"]"),
            "{text}\n{}",
            made.text
        );
        let fields = field.map(|field| format!("trusted-fields = [\"{field}\"]"));
        assert!(fields.is_none_or(|fields| made.text.contains(&fields)), "{text}\n{}", made.text);
        common::check(&made.text);
    }
    let two =
        format!("server {{ server_name a; root /a; {from} {rules} }} server {{ server_name b; root /b; }}");
    assert!(made(&two).opens(), "one of two servers cannot trust for itself");
}

/// Pages for errors are files that everybody may have.
#[test]
fn pages_for_errors() {
    let cases = [
        ("error_page 404 /404.html;", "error-pages = { 404 = \"/srv/404.html\" }"),
        ("error_page 404 /404.html;", "static-404 = \"404.html\""),
        (
            "error_page 500 502 /50x.html; location = /50x.html { root /usr/share; }",
            "500 = \"/usr/share/50x.html\", 502",
        ),
        (
            "error_page 404 /e/404.html; location /e/ { alias /srv/errors/; }",
            "404 = \"/srv/errors/404.html\"",
        ),
        ("error_page 404 /none.html;", "page 404: there is no file /srv/none.html"),
        ("error_page 404 =200 /404.html;", "an error page is a file for a status"),
        ("error_page 404 @other;", "an error page is a file for a status"),
        ("error_page 404 /404.php;", "an error page must be a file that is sent as it is"),
        ("error_page 404 /e/404.html; location /e/ { deny all; }", "an error page must be a file; write"),
        (
            "error_page 404 /e/404.html; location /e/ { allow 10.0.0.1; deny all; }",
            "some clients are denied that page",
        ),
        ("location /e/ { error_page 404 /404.html; }", "error pages are a key of a site"),
    ];
    for (text, expected) in cases {
        let made = made(&format!("server {{ root /srv; {text} }}"));

        assert!(made.text.contains(expected), "{text}\n{expected}\n{}", made.text);
        common::check(&made.text);
    }
    let inherited = made("http { error_page 500 /500.html; server { root /srv; } }");
    assert!(inherited.text.contains("error-pages = { 500 = \"/srv/500.html\" }"), "{}", inherited.text);
}
