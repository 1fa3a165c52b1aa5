//! Precompressed neighbours are sent by the rules of negotiation: rule 47.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use adyton_files::accepts_html;
use support::TempFolder;

#[test]
fn html_is_accepted_by_the_most_specific_range() {
    let cases: [(&[&str], bool); 9] = [
        (&[], true),
        (&["text/html"], true),
        (&["Text/HTML;level=1;q=0.1"], true),
        (&["text/*"], true),
        (&["image/png", "*/*;q=0.1"], true),
        (&["application/json"], false),
        (&["text/html;q=0, */*"], false),
        (&["text/*;q=0, */*"], false),
        (&[""], false),
    ];
    for (lines, expected) in cases {
        let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();

        assert_eq!(expected, accepts_html(&bytes), "{lines:?}");
    }
}

#[test]
fn each_form_has_its_own_tag_and_all_vary() {
    let folder = TempFolder::with(&[
        ("a.js", "identity"),
        ("a.js.br", "br"),
        ("a.js.zst", "zstd"),
        ("a.js.gz", "gzip"),
    ]);
    let mut client = folder.client();
    for round in ["cold", "warm"] {
        let mut tags = Vec::new();
        for coding in ["br", "zstd", "gzip", "identity"] {
            let line = format!("Accept-Encoding: {coding}");
            let reply = client.get_with("/a.js", &line);

            assert_eq!((200, coding), reply.brief(), "{round}");
            assert_eq!((coding != "identity").then_some(coding), reply.field("content-encoding"));
            assert_eq!(Some("Accept-Encoding"), reply.field("vary"));
            assert_eq!(Some("text/javascript; charset=utf-8"), reply.field("content-type"));

            let tag = reply.field("etag").unwrap().to_owned();
            let again = client.get_with("/a.js", &format!("{line}\r\nIf-None-Match: {tag}"));
            assert_eq!((304, Some("Accept-Encoding")), (again.status, again.field("vary")));
            assert_eq!(Some(tag.as_str()), again.field("etag"));
            let part = client.get_with("/a.js", &format!("{line}\r\nRange: bytes=0-0"));
            assert_eq!((206, &coding[..1]), part.brief());
            assert_eq!(reply.field("content-encoding"), part.field("content-encoding"));
            tags.push(tag);
        }
        tags.sort();
        tags.dedup();
        assert_eq!(4, tags.len(), "{tags:?}");

        let refused = client.get_with("/a.js", "Accept-Encoding: identity;q=0");
        assert_eq!((406, Some("Accept-Encoding")), (refused.status, refused.field("vary")));
        client.warm("/a.js");
    }
    assert_eq!((200, "identity"), client.get("/a.js").brief(), "the request has no Accept-Encoding");
    let compressed = client.get("/a.js.gz");
    assert_eq!(Some("application/gzip"), compressed.field("content-type"), "the neighbour has its own type");
    assert_eq!((None, None), (compressed.field("content-encoding"), compressed.field("vary")));
}

#[test]
fn a_neighbour_must_be_usable() {
    let folder = TempFolder::with(&[
        ("old.css", "new"),
        ("old.css.br", "br"),
        ("only.css.br", "br"),
        ("folder.css", "file"),
    ]);
    folder.set_modified("old.css.br", 1_000_000_000, 0);
    folder.write("folder.css.br/x", "");
    std::os::unix::fs::symlink("old.css.br", folder.path("folder.css.gz")).unwrap();
    let mut client = folder.client();
    let line = "Accept-Encoding: br, gzip";

    let reply = client.get_with("/old.css", line);
    assert_eq!((200, "new"), reply.brief(), "the neighbour is older than the file");
    assert_eq!(None, reply.field("vary"));
    assert_eq!(404, client.get_with("/only.css", line).status, "the neighbour has no file beside it");
    assert_eq!(
        (200, "file"),
        client.get_with("/folder.css", line).brief(),
        "the neighbours are a folder and a link"
    );
    let refused = client.get_with("/old.css", "Accept-Encoding: identity;q=0").status;
    assert_eq!(406, refused, "the request refuses the only form that the file has (rule 47)");

    let mut client = folder.client_with(|options| options.precompressed = false);
    folder.set_modified("old.css.br", 4_000_000_000, 0);
    assert_eq!((200, "new"), client.get_with("/old.css", line).brief(), "neighbours are switched off");
}
