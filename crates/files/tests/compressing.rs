//! Files are compressed when a client first accepts a coding for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::Read;

use adyton_compress::Coding;
use adyton_files::{CacheRoom, Compressing, Options};
use support::{Client, Random, Reply, TempFolder};

fn compressing(options: &mut Options) {
    let codings = vec![Coding::Br, Coding::Gzip];
    options.compressing = Compressing { codings, bytes_min: 100, bytes_max: 100_000 };
}

fn text(lines: u32) -> String {
    (0..lines).map(|n| n.to_string() + " lines of text\n").collect()
}

fn unzipped(reply: &Reply) -> String {
    assert_eq!(Some("gzip"), reply.field("content-encoding"), "{}", reply.head);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*reply.body).read_to_string(&mut text).unwrap();
    text
}

const GZIP: &str = "Accept-Encoding: gzip";

#[test]
fn a_file_is_compressed_once() {
    // The first text fits into memory, the second does not.
    for lines in [50, 2000] {
        let folder = TempFolder::with(&[("a.js", &text(lines))]);
        let mut client = folder.client_with(compressing);
        client.warm("/a.js");
        let first = client.get_with("/a.js", GZIP);
        assert_eq!(text(lines), unzipped(&first));
        let (hits, loads) = (client.site.counts().hits, client.site.counts().loads);
        let bytes = client.site.counts().bytes;
        assert!(bytes > first.body.len() as u64);

        for line in [GZIP, "Accept-Encoding: gzip;q=0.5, identity;q=0.1", "Accept-Encoding: x-gzip, zstd"] {
            assert_eq!(first.body, client.get_with("/a.js", line).body, "{line}");
        }
        let plain = client.get("/a.js");
        assert_eq!((hits + 4, loads), (client.site.counts().hits, client.site.counts().loads));
        assert_eq!(bytes, client.site.counts().bytes);
        assert_eq!((text(lines).as_str(), None), (plain.text(), plain.field("content-encoding")));
        for reply in [&first, &plain] {
            assert_eq!(Some("Accept-Encoding"), reply.field("vary"));
            assert_eq!(Some("text/javascript; charset=utf-8"), reply.field("content-type"));
        }
        assert!(plain.field("etag") != first.field("etag") && first.field("etag").unwrap().starts_with('"'));
        let head = client.ask(&format!("HEAD /a.js HTTP/1.1\r\n{GZIP}\r\n"));
        assert_eq!(first.head, head.head);
    }
}

#[test]
fn conditions_and_ranges() {
    let folder = TempFolder::with(&[("a.css", &text(50))]);
    let mut client = folder.client_with(compressing);
    client.warm("/a.css");
    let (plain, coded) = (client.get("/a.css"), client.get_with("/a.css", GZIP));
    let tags = [plain.field("etag").unwrap(), coded.field("etag").unwrap()];
    for (line, own, other) in [("A: b", tags[0], tags[1]), (GZIP, tags[1], tags[0])] {
        let mut status =
            |tag: &str| client.get_with("/a.css", &format!("{line}\r\nIf-None-Match: {tag}")).status;
        assert_eq!((304, 200), (status(own), status(other)), "{line}");
    }
    let mut part = |more: &str| client.get_with("/a.css", &format!("{GZIP}\r\nRange: bytes=0-4{more}"));
    let of_file = part("");
    assert_eq!((206, &text(50)[..5]), of_file.brief());
    assert_eq!((None, Some("Accept-Encoding")), (of_file.field("content-encoding"), of_file.field("vary")));
    // A download that began in the compressed form must not be continued with bytes of the plain file.
    assert_eq!((200, text(50).as_str()), part(&format!("\r\nIf-Range: {}", tags[1])).brief());
    let fresh = client.get_with("/a.css", "Accept-Encoding: identity;q=0, br");
    assert_eq!((200, Some("br")), (fresh.status, fresh.field("content-encoding")));
    assert_eq!(406, client.get_with("/a.css", "Accept-Encoding: identity;q=0").status);
}

#[test]
fn a_file_that_changes_is_compressed_anew() {
    let folder = TempFolder::with(&[("a.txt", &text(50))]);
    let mut client = folder.client_with(compressing);
    client.warm("/a.txt");
    let before = client.get_with("/a.txt", GZIP);
    folder.write("a.txt", text(60));
    client.warm("/a.txt");
    let after = client.get_with("/a.txt", GZIP);

    assert_eq!(text(50), unzipped(&before));
    assert_eq!(text(60), unzipped(&after));
    assert!(before.field("etag") != after.field("etag"));
}

#[test]
fn what_was_compressed_beforehand_wins() {
    let folder = TempFolder::with(&[("a.txt", &text(50)), ("a.txt.gz", "beforehand")]);
    let mut client = folder.client_with(compressing);
    client.warm("/a.txt");
    let both = client.get_with("/a.txt", "Accept-Encoding: br, gzip");
    assert_eq!((Some("gzip"), "beforehand"), (both.field("content-encoding"), both.text()));
    let br = client.get_with("/a.txt", "Accept-Encoding: br");
    assert_eq!(Some("br"), br.field("content-encoding"));
    // One second after the neighbour is gone, the file itself is compressed.
    std::fs::remove_file(folder.path("a.txt.gz")).unwrap();
    client.pass_seconds(1);
    client.warm("/a.txt");
    assert_eq!(text(50), unzipped(&client.get_with("/a.txt", GZIP)));
}

#[test]
fn files_that_are_left_alone() {
    let mut numbers = Random(7);
    let random: Vec<u8> = (0..4000).flat_map(|_| numbers.below(u64::MAX).to_be_bytes()).collect();
    let folder = TempFolder::with(&[
        ("short.txt", &text(2)),
        ("long.txt", &text(10_000)),
        ("a.png", &text(50)),
        ("a%b.txt", &text(50)),
    ]);
    folder.write("random.txt", random);
    let check = |client: &mut Client, path: &str, vary: Option<&str>| {
        let reply = client.get_with(path, GZIP);
        assert_eq!((200, None), (reply.status, reply.field("content-encoding")), "{path}");
        assert_eq!(vary, reply.field("vary"), "{path}");
    };
    let mut client = folder.client_with(compressing);
    for path in ["/short.txt", "/long.txt", "/a.png"] {
        client.warm(path);
        check(&mut client, path, None);
    }
    // The first file's bytes do not get smaller; the result for the second file cannot be kept.
    client.warm("/random.txt");
    for _ in 0..2 {
        check(&mut client, "/random.txt", Some("Accept-Encoding"));
    }
    check(&mut client, "/a%25b.txt", Some("Accept-Encoding"));
    let mut client = folder.client_with(|options| {
        compressing(options);
        options.cache_room = CacheRoom::new(0);
    });
    check(&mut client, "/long.txt", None);
    check(&mut client, "/random.txt", Some("Accept-Encoding"));
    folder.write("b.txt", text(50));
    let mut client = folder.client_with(|options| {
        compressing(options);
        options.cache_control = Some("no-transform".to_owned());
    });
    client.warm("/b.txt");
    check(&mut client, "/b.txt", None);
}
