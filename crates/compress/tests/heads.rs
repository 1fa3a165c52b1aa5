//! Which answers are coded, and how their heads change.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use adyton_compress::{Answer, Coding, Rules, recode};

fn rules() -> Rules {
    Rules { codings: vec![Coding::Br, Coding::Gzip], bytes_min: 100, with_cookies: false }
}

/// Returns the coding of an answer, and its head without its first and its empty line.
fn recoded(rules: &Rules, accepted: Coding, to_head: bool, fields: &str) -> (Coding, String) {
    let (line, rest) = fields.split_once('|').unwrap_or(("200 OK", fields));
    let rest: Vec<String> = rest.split_terminator(';').map(|field| format!("{}\r\n", field.trim())).collect();
    let rest = rest.concat();
    let mut out = format!("before\r\n\r\nHTTP/1.1 {line}\r\n{rest}\r\n").into_bytes();
    let answer = Answer { accepted, to_head, framing: b"Transfer-Encoding: chunked\r\n" };
    let coding = recode(&mut out, "before\r\n\r\n".len(), rules, &answer, |_| true);
    let text = String::from_utf8(out).unwrap();
    let head = text.strip_prefix(&format!("before\r\n\r\nHTTP/1.1 {line}\r\n")).unwrap();
    (coding, head.strip_suffix("\r\n").unwrap().replace("\r\n", ";"))
}

#[test]
fn coded_answers() {
    let vary = "Vary: Accept-Encoding;";
    let coded = "Content-Encoding: br;Transfer-Encoding: chunked;";
    let cases = [
        ("Content-Type: text/html;Content-Length: 100;", format!("Content-Type: text/html;{coded}{vary}")),
        (
            "Content-Type: text/html;Transfer-Encoding: chunked;A: b;",
            format!("Content-Type: text/html;Transfer-Encoding: chunked;A: b;Content-Encoding: br;{vary}"),
        ),
        (
            "404 None|content-type: application/json;content-length: 5000;",
            format!("content-type: application/json;{coded}{vary}"),
        ),
        (
            "ETag: \"a\";Vary: Cookie;Content-Type: text/css;Content-Length: 999;",
            format!("ETag: W/\"a\";Vary: Cookie;Content-Type: text/css;{coded}{vary}"),
        ),
        (
            "etag: W/\"a\";Vary: Cookie, accept-encoding;Content-Type: text/css;Content-Length: 999;",
            format!("etag: W/\"a\";Vary: Cookie, accept-encoding;Content-Type: text/css;{coded}"),
        ),
        (
            "Vary: *;Content-Type: text/css;Content-Encoding: identity;Accept-Ranges: bytes;Content-Length: 999;",
            format!("Vary: *;Content-Type: text/css;{coded}"),
        ),
    ];
    for (head, expected) in cases {
        assert_eq!((Coding::Br, expected), recoded(&rules(), Coding::Br, false, head), "{head}");
    }
}

#[test]
fn answers_that_are_left_alone() {
    for head in [
        "Content-Length: 1000;",
        "Content-Type: image/png;Content-Length: 1000;",
        "Content-Type: text/html;Content-Length: 99;",
        "Content-Type: text/html;Content-Length: 1000;Content-Encoding: gzip;",
        "Content-Type: text/html;Content-Length: 1000;Cache-Control: private, No-Transform;",
        "Content-Type: text/html;Content-Length: 1000;set-cookie: a=b;",
        "Content-Type: text/html;Content-Length: 1000;Content-Digest: sha-256=:a=:;",
        "Content-Type: text/event-stream;Transfer-Encoding: chunked;",
        "204 No Content|Content-Type: text/html;",
        "205 Reset Content|Content-Type: text/html;Content-Length: 0;",
        "206 Partial Content|Content-Type: text/html;Content-Length: 1000;",
        "416 Range|Content-Type: text/html;Content-Range: bytes */10;Content-Length: 1000;",
        "304 Not Modified|Content-Type: image/png;ETag: \"a\";",
    ] {
        let fields = head.split_once('|').map_or(head, |(_, fields)| fields).to_owned();
        for to_head in [false, true] {
            let expected = (Coding::Identity, fields.clone());

            assert_eq!(expected, recoded(&rules(), Coding::Br, to_head, head), "{head}");
        }
    }
    let rules = Rules { with_cookies: true, ..rules() };
    let head = "Content-Type: text/html;Content-Length: 1000;Set-Cookie: a=b;";
    assert_eq!(Coding::Gzip, recoded(&rules, Coding::Gzip, false, head).0, "asked for");
}

#[test]
fn caches_are_told_also_where_a_client_takes_none() {
    let head = "Content-Type: text/html;Content-Length: 1000;ETag: \"a\";";
    let expected = format!("{head}Vary: Accept-Encoding;");

    assert_eq!((Coding::Identity, expected), recoded(&rules(), Coding::Identity, false, head));
}

#[test]
fn a_304_confirms_what_the_200_said() {
    let head = "304 Not Modified|ETag: \"a\";Cache-Control: no-cache;";
    let weak = "ETag: W/\"a\";Cache-Control: no-cache;Vary: Accept-Encoding;".to_owned();
    let strong = "ETag: \"a\";Cache-Control: no-cache;Vary: Accept-Encoding;".to_owned();

    assert_eq!((Coding::Identity, weak), recoded(&rules(), Coding::Br, false, head));
    assert_eq!((Coding::Identity, strong), recoded(&rules(), Coding::Identity, false, head));
}

/// An entity tag without a value once swallowed the field after it.
#[test]
fn an_empty_tag_stays() {
    let head = "304 Not Modified|ETag: ;Cache-Control: no-cache;";
    let expected = "ETag: ;Cache-Control: no-cache;Vary: Accept-Encoding;".to_owned();
    let (coding, fields) = recoded(&rules(), Coding::Br, false, head);

    assert_eq!((Coding::Identity, expected), (coding, fields.replace("ETag:;", "ETag: ;")));
}

#[test]
fn head_says_what_get_says_or_less() {
    let long = "Content-Type: text/html;Content-Length: 1000;ETag: \"a\";";
    let expected =
        "Content-Type: text/html;ETag: W/\"a\";Content-Encoding: br;Vary: Accept-Encoding;".to_owned();
    assert_eq!((Coding::Br, expected), recoded(&rules(), Coding::Br, true, long));
    let unknown = "Content-Type: text/html;ETag: \"a\";";
    let expected = "Content-Type: text/html;ETag: W/\"a\";Vary: Accept-Encoding;".to_owned();
    assert_eq!((Coding::Identity, expected), recoded(&rules(), Coding::Br, true, unknown));
}

#[test]
fn what_a_client_takes() {
    let of = |lines: &[&str]| {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        rules().accepted(&lines)
    };
    assert_eq!(Coding::Identity, of(&[]));
    assert_eq!(Coding::Identity, of(&["zstd"]));
    assert_eq!(Coding::Identity, of(&["identity;q=0"]));
    assert_eq!(Coding::Br, of(&["gzip, deflate, br, zstd"]));
    assert_eq!(Coding::Gzip, of(&["gzip;q=0.9", "br;q=0.5"]));
    assert_eq!(Coding::Identity, of(&["gzip;q=0.5, identity"]));
}
