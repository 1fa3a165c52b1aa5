//! Conditional requests: rule 45.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use adyton_files::{Ask, FileAnswer, answer_file};
use adyton_http::Identity;
use adyton_http1::{Head, Limits};
use support::TempFolder;

/// The date of the file: one second after `BEFORE`, and one second before `AFTER`.
const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
const ETAG: &str = "\"ae1b981bc490a05-5\"";

#[test]
fn conditions_come_in_the_order_of_the_rfc() {
    let folder = TempFolder::with(&[("a.txt", "12345")]);
    folder.set_modified("a.txt", 784_111_777, 5);
    let mut client = folder.client();
    let cases = [
        // If-Match compares strongly.
        ("If-Match: TAG", 200),
        ("If-Match: *", 200),
        ("If-Match: \"x\", TAG", 200),
        ("If-Match: \"x\"", 412),
        ("If-Match: W/TAG", 412),
        ("If-Match: TAGx", 200),
        ("If-Match: x", 412),
        ("If-Match: \"x\"\r\nIf-Match: TAG", 200),
        // If-Unmodified-Since is evaluated only without If-Match.
        ("If-Unmodified-Since: SAME", 200),
        ("If-Unmodified-Since: AFTER", 200),
        ("If-Unmodified-Since: BEFORE", 412),
        ("If-Unmodified-Since: yesterday", 200),
        ("If-Match: TAG\r\nIf-Unmodified-Since: BEFORE", 200),
        // If-None-Match compares weakly.
        ("If-None-Match: TAG", 304),
        ("If-None-Match: W/TAG", 304),
        ("If-None-Match: *", 304),
        ("If-None-Match: \"a,b\",,\t\"c\" , TAG", 304),
        ("If-None-Match: \"x\"", 200),
        ("If-None-Match: \"x\"\r\nIf-None-Match: TAG", 304),
        ("If-None-Match: w/TAG", 200),
        ("If-None-Match: \"unfinished, TAG", 200),
        // If-Modified-Since is evaluated only without If-None-Match.
        ("If-Modified-Since: SAME", 304),
        ("If-Modified-Since: AFTER", 304),
        ("If-Modified-Since: BEFORE", 200),
        ("If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", 304),
        ("If-Modified-Since: Sun Nov  6 08:49:37 1994", 304),
        ("If-Modified-Since: 784111777", 200),
        ("If-None-Match: \"x\"\r\nIf-Modified-Since: AFTER", 200),
        // If-Match and If-Unmodified-Since take precedence over If-None-Match and If-Modified-Since.
        ("If-Match: \"x\"\r\nIf-None-Match: TAG", 412),
        ("If-Match: TAG\r\nIf-None-Match: TAG", 304),
        ("If-Unmodified-Since: BEFORE\r\nIf-Modified-Since: AFTER", 412),
        ("If-None-Match: TAG\r\nRange: bytes=0-1", 304),
        ("If-Match: \"x\"\r\nRange: bytes=0-1", 412),
    ];
    for round in ["cold", "warm"] {
        for (line, status) in cases {
            let line = line.replace("TAG", ETAG).replace("SAME", SAME).replace("BEFORE", BEFORE);
            let line = line.replace("AFTER", AFTER);
            for method in ["GET", "HEAD"] {
                let reply = client.ask(&format!("{method} /a.txt HTTP/1.1\r\n{line}\r\n"));

                assert_eq!(status, reply.status, "{round}: {method} {line}");
            }
        }
        client.warm("/a.txt");
    }
}

#[test]
fn a_304_keeps_what_a_cache_needs() {
    let folder = TempFolder::with(&[("a.txt", "12345"), ("a.txt.gz", "123")]);
    let mut client = folder.client_with(|options| options.cache_control = Some("max-age=5".into()));
    let reply = client.get_with("/a.txt", "If-None-Match: *");

    assert_eq!(304, reply.status);
    assert_eq!(client.get("/a.txt").field("etag"), reply.field("etag"));
    assert_eq!(
        (Some("Accept-Encoding"), Some("max-age=5")),
        (reply.field("vary"), reply.field("cache-control"))
    );
    for name in ["content-type", "content-encoding", "last-modified", "accept-ranges"] {
        assert_eq!(None, reply.field(name));
    }
    assert!(reply.keep_alive);
}

#[test]
fn if_range_compares_strongly() {
    let folder = TempFolder::with(&[("a.txt", "12345")]);
    folder.set_modified("a.txt", 784_111_777, 5);
    let mut client = folder.client();
    let cases = [
        (ETAG, 206),
        ("\"x\"", 200),
        ("W/TAG", 200),
        (SAME, 206),
        (BEFORE, 200),
        (AFTER, 200),
        ("rubbish", 200),
        ("*", 200),
    ];
    for (value, status) in cases {
        let line = format!("If-Range: {}\r\nRange: bytes=0-1", value.replace("TAG", ETAG));

        assert_eq!(status, client.get_with("/a.txt", &line).status, "{value}");
    }
    assert_eq!(
        200,
        client.get_with("/a.txt", "If-Range: \"x\"").status,
        "If-Range has no effect without Range"
    );

    // A date in the same second as the file's own change proves nothing (RFC 9110 section 8.8.2.2).
    client.date = SAME.to_owned();
    let line = format!("If-Range: {SAME}\r\nRange: bytes=0-1");

    assert_eq!(200, client.get_with("/a.txt", &line).status);
}

/// A file whose date is in the future counts as modified now (RFC 9110 section 8.8.2.1), and conditions refer to the
/// date that was sent.
#[test]
fn a_date_in_the_future_is_now() {
    let folder = TempFolder::with(&[("future.txt", "12345")]);
    folder.set_modified("future.txt", 4_000_000_000, 0);
    let mut client = folder.client();
    let mut tags = Vec::new();
    for round in ["first", "second"] {
        let now = client.date.clone();
        let reply = client.get("/future.txt");

        assert_eq!((200, Some(&*now)), (reply.status, reply.field("last-modified")), "{round}");
        tags.push(reply.field("etag").map(str::to_owned));
        for (line, status) in [
            (format!("If-Modified-Since: {now}"), 304),
            (format!("If-Unmodified-Since: {now}"), 200),
            // A date in the future is ignored in a condition.
            ("If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT".to_owned(), 200),
            (format!("If-Modified-Since: {SAME}"), 200),
            (format!("If-Unmodified-Since: {SAME}"), 412),
            (format!("If-Range: {now}\r\nRange: bytes=0-1"), 200),
            (format!("If-Range: {}\r\nRange: bytes=0-1", tags[0].as_deref().unwrap_or_default()), 206),
        ] {
            assert_eq!(status, client.get_with("/future.txt", &line).status, "{round}: {line}");
        }
        // The date of an earlier answer does not match once the clock has moved on.
        client.pass_seconds(5);
        for (line, status) in [("If-Modified-Since", 200), ("If-Unmodified-Since", 412)] {
            let line = format!("{line}: {now}");

            assert_eq!(status, client.get_with("/future.txt", &line).status, "{round}: {line}");
        }
    }

    assert_eq!(tags[0], tags[1]);
}

/// Answers with `answer_file`, as the server does for a handler that returns a path.
fn send_file(folder: &TempFolder, lines: &str, fields: &[(&[u8], &[u8])]) -> Result<(u16, String), String> {
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
    let mut head = Head::new();
    head.parse(request.as_bytes(), &Limits::default()).unwrap();
    let file: OwnedFd = File::open(folder.path("a.txt")).unwrap().into();
    let meta = adyton_sys::fs::stat(file.as_fd()).unwrap();
    let date = b"Sun, 06 Nov 2022 08:49:37 GMT";
    let identity = Identity { date, server: b"", lines: b"" };
    let (asked, request) = (head.asked(), head.of(request.as_bytes()));
    let ask = Ask {
        request,
        prefix: b"",
        asked,
        identity,
        fresh: 1,
        as_stored: false,
        names_others: false,
        indexes: None,
        is_absent: false,
        runs_page: None,
    };
    let mut out = Vec::new();
    match answer_file(&ask, &Arc::new(file), &meta, "text/x", fields, &mut out) {
        Ok(FileAnswer::Whole { status, .. } | FileAnswer::Parts { status, .. }) => {
            Ok((status, String::from_utf8(out).unwrap()))
        }
        Ok(FileAnswer::FallThrough | FileAnswer::Named(_)) => panic!("an open file does not fall through"),
        Err(error) => Err(format!("{error:?}")),
    }
}

#[test]
fn any_open_file_can_be_sent_with_conditions_and_ranges() {
    let folder = TempFolder::with(&[("a.txt", "12345")]);
    folder.set_modified("a.txt", 784_111_777, 5);
    let (status, head) = send_file(&folder, "", &[(b"X-Own", b"1")]).unwrap();

    assert_eq!(200, status);
    for line in [
        "Content-Type: text/x",
        "Content-Length: 5",
        "X-Own: 1",
        &format!("ETag: {ETAG}"),
        &format!("Last-Modified: {SAME}"),
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }

    let (status, head) = send_file(&folder, "Range: bytes=1-2\r\n", &[]).unwrap();
    assert!(status == 206 && head.contains("\r\nContent-Range: bytes 1-2/5\r\n"), "{head}");

    let own: &[(&[u8], &[u8])] = &[(b"ETAG", b"\"mine\""), (b"Last-Modified", AFTER.as_bytes())];
    let (status, head) = send_file(&folder, "If-None-Match: \"mine\"\r\n", own).unwrap();
    assert!(status == 304 && head.contains("\r\nETag: \"mine\"\r\n"), "{head}");
    let (status, head) = send_file(&folder, &format!("If-None-Match: {ETAG}\r\n"), own).unwrap();
    assert!(status == 200 && head.contains(&format!("\r\nLast-Modified: {AFTER}\r\n")), "{head}");

    assert!(send_file(&folder, "", &[(b"X", b"a\r\nb")]).is_err());
}
