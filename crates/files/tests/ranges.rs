//! Ranges of files are parsed and answered: rule 46.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::ops::Range;

use adyton_files::ranges::{RANGES_MAX, Requested, parse};
use support::{Random, Reply, TempFolder};

const DIGITS: &str = "0123456789";

#[test]
fn one_range() {
    let folder = TempFolder::with(&[("a.txt", DIGITS), ("empty", "")]);
    let mut client = folder.client();
    let cases = [
        ("bytes=0-0", 206, "0", "bytes 0-0/10"),
        ("bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("BYTES=2-4", 206, "234", "bytes 2-4/10"),
        ("bytes=7-", 206, "789", "bytes 7-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"),
        ("bytes=0-", 206, DIGITS, "bytes 0-9/10"),
        ("bytes=-100", 206, DIGITS, "bytes 0-9/10"),
        ("bytes=8-100", 206, "89", "bytes 8-9/10"),
        ("bytes=9-99999999999999999999999999", 206, "9", "bytes 9-9/10"),
        ("bytes= 2-4 ,", 206, "234", "bytes 2-4/10"),
        // Ranges that are merged, or of which only one can be satisfied.
        ("bytes=0-1,2-3", 206, "0123", "bytes 0-3/10"),
        ("bytes=4-6,0-4", 206, "0123456", "bytes 0-6/10"),
        ("bytes=2-4,50-60", 206, "234", "bytes 2-4/10"),
        // Ranges that cannot be satisfied.
        ("bytes=10-", 416, "", "bytes */10"),
        ("bytes=10-20,-0", 416, "", "bytes */10"),
        ("bytes=-0", 416, "", "bytes */10"),
        ("bytes=99999999999999999999999999-", 416, "", "bytes */10"),
        // Fields that are not valid, and so ignored.
        ("bytes=", 200, DIGITS, ""),
        ("bytes=,", 200, DIGITS, ""),
        ("bytes=-", 200, DIGITS, ""),
        ("bytes=4-2", 200, DIGITS, ""),
        ("bytes=a-b", 200, DIGITS, ""),
        ("bytes=+1-2", 200, DIGITS, ""),
        ("bytes=1-2x", 200, DIGITS, ""),
        ("bytes=--1", 200, DIGITS, ""),
        ("bytes=1", 200, DIGITS, ""),
        ("bytes=1-2,x", 200, DIGITS, ""),
        ("bytes 1-2", 200, DIGITS, ""),
        ("bytes =1-2", 200, DIGITS, ""),
        ("lines=1-2", 200, DIGITS, ""),
        ("1-2", 200, DIGITS, ""),
    ];
    for round in ["cold", "warm"] {
        for (value, status, body, content_range) in cases {
            let reply = client.get_with("/a.txt", &format!("Range: {value}"));

            assert_eq!(
                (status, content_range),
                (reply.status, reply.field("content-range").unwrap_or("")),
                "{value}"
            );
            assert!(status == 416 || reply.body == body.as_bytes(), "{round} {value}: {}", reply.text());
            assert!(status == 416 || reply.field("etag").is_some(), "{value}");
        }
        let head = client.ask("HEAD /a.txt HTTP/1.1\r\nRange: bytes=0-1\r\n");
        assert_eq!((200, Some("10")), (head.status, head.field("content-length")), "only GET has ranges");
        assert_eq!(
            200,
            client.get_with("/empty", "Range: bytes=0-").status,
            "an empty file has no part to ask for"
        );
        client.warm("/a.txt");
    }
}

#[test]
fn too_many_ranges_are_ignored() {
    let value = |count: usize| format!("bytes={}", vec!["0-0"; count].join(","));

    let Requested::Ranges(ranges) = parse(value(RANGES_MAX).as_bytes(), 10) else {
        panic!("{RANGES_MAX} are allowed")
    };
    assert_eq!((1, 0..1), (ranges.len(), ranges[0].clone()));
    assert_eq!(Requested::Ignored, parse(value(RANGES_MAX + 1).as_bytes(), 10));
}

/// Splits a multipart body into the content range and the bytes of each part (RFC 2046 section 5.1).
fn parts(reply: &Reply) -> Vec<(String, String)> {
    let content_type = reply.field("content-type").unwrap();
    let boundary = content_type.strip_prefix("multipart/byteranges; boundary=").expect(content_type);
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    let end = format!("\r\n--{boundary}--\r\n");
    let text = text.strip_suffix(&end).expect("an end");
    let separator = format!("\r\n--{boundary}\r\n");
    let mut pieces = text.split(&separator);

    assert_eq!(Some(""), pieces.next(), "no bytes before the first part");
    pieces
        .map(|piece| {
            let (head, body) = piece.split_once("\r\n\r\n").expect("a head");
            let range = head.strip_prefix("Content-Type: text/plain; charset=utf-8\r\nContent-Range: ");
            (range.expect(head).to_owned(), body.to_owned())
        })
        .collect()
}

#[test]
fn several_ranges_in_memory_and_from_a_file() {
    let big = (0..10_000).map(|n| format!("{n:09}\n")).collect::<Vec<_>>().concat();
    let folder = TempFolder::with(&[("small.txt", DIGITS), ("big.txt", &big)]);
    let mut client = folder.client();
    for _ in 0..2 {
        let reply = client.get_with("/small.txt", "Range: bytes=8-,0-1,3-3");

        assert_eq!((206, false, None), (reply.status, reply.has_parts, reply.field("content-range")));
        let expected = [("bytes 8-9/10", "89"), ("bytes 0-1/10", "01"), ("bytes 3-3/10", "3")];
        assert_eq!(expected.map(|(range, body)| (range.to_owned(), body.to_owned())), parts(&reply)[..]);

        let reply = client.get_with("/big.txt", "Range: bytes=99990-,10-18,0-8,15-19");
        assert_eq!((206, true), (reply.status, reply.has_parts));
        let expected = [
            ("bytes 0-8/100000", "000000000"),
            ("bytes 10-19/100000", "000000001\n"),
            ("bytes 99990-99999/100000", "000009999\n"),
        ];
        assert_eq!(expected.map(|(range, body)| (range.to_owned(), body.to_owned())), parts(&reply)[..]);
        client.warm("/small.txt");
        client.warm("/big.txt");
    }
    let boundary = |reply: Reply| reply.field("content-type").unwrap().to_owned();
    let first = boundary(client.get_with("/small.txt", "Range: bytes=0-0,2-2"));
    assert_ne!(
        first,
        boundary(client.get_with("/small.txt", "Range: bytes=0-0,2-2")),
        "the boundary differs"
    );
}

/// A reference implementation of `parse`: one flag per byte of the file.
fn naive(specs: &[(Option<u64>, Option<u64>)], bytes: u64) -> Option<Vec<bool>> {
    let mut wanted = vec![false; usize::try_from(bytes).unwrap()];
    for spec in specs {
        let range = match *spec {
            (Some(first), Some(last)) if first > last => return None,
            (Some(first), Some(last)) => first..last + 1,
            (Some(first), None) => first..bytes,
            (None, Some(suffix)) => bytes.saturating_sub(suffix)..bytes,
            (None, None) => return None,
        };
        for at in range.filter(|at| *at < bytes) {
            wanted[usize::try_from(at).unwrap()] = true;
        }
    }
    Some(wanted)
}

#[test]
fn merging_agrees_with_a_naive_twin() {
    let mut random = Random(46);
    for _ in 0..50_000 {
        let bytes = 1 + random.below(30);
        let count = 1 + random.below(6);
        let number = |random: &mut Random| (random.below(5) > 0).then(|| random.below(35));
        let specs: Vec<_> = (0..count).map(|_| (number(&mut random), number(&mut random))).collect();
        let text = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let list: Vec<String> =
            specs.iter().map(|(first, last)| format!("{}-{}", text(*first), text(*last))).collect();
        let value = format!("bytes={}", list.join(","));
        let found = parse(value.as_bytes(), bytes);
        let Some(wanted) = naive(&specs, bytes) else {
            assert_eq!(Requested::Ignored, found, "{value} of {bytes}");
            continue;
        };
        let ranges = match found {
            Requested::Ranges(ranges) => ranges,
            Requested::Unsatisfiable => vec![],
            Requested::Ignored => panic!("{value} is valid"),
        };
        let mut covered = vec![0; wanted.len()];
        let mut cover =
            |range: &Range<u64>| range.clone().for_each(|at| covered[usize::try_from(at).unwrap()] += 1);
        ranges.iter().for_each(&mut cover);
        let expected: Vec<i32> = wanted.iter().map(|wanted| i32::from(*wanted)).collect();

        assert_eq!(expected, covered, "each byte once: {value} of {bytes}: {ranges:?}");
        let touch =
            |range: &Range<u64>| ranges.iter().any(|other| other.end == range.start || range.is_empty());
        assert!(!ranges.iter().any(touch), "{value} of {bytes}: {ranges:?}");
    }
}
