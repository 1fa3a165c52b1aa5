//! A reference implementation of the changes that compression makes in a head, and the invariant of every coding that
//! is chosen.

use adyton_compress::{Answer, CODINGS, Coding, Rules, gains, recode};
use adyton_http::{BodySize, Identity, Version};
use adyton_http1::{self as http1, Asked};

use crate::text::{split_once, trim};

/// A field, its name in lower case.
type Field = (Vec<u8>, Vec<u8>);

const STATUSES: [u16; 8] = [200, 201, 204, 205, 206, 304, 404, 500];

/// Panics unless the head of an answer with these fields, one a line, is changed as the reference changes it. `chosen`
/// has a bit for each condition that may hold or not.
pub(crate) fn check_head(chosen: u16, lines: &[u8]) {
    let bit = |at: u16| chosen >> at & 1 == 1;
    let rules = Rules { codings: CODINGS.to_vec(), bytes_min: 100, with_cookies: bit(0) };
    let accepted = if bit(1) { Coding::Gzip } else { Coding::Identity };
    let to_head = bit(2);
    let size = if bit(3) { BodySize::Known(u64::from(chosen >> 8)) } else { BodySize::Unknown };
    let status = STATUSES[usize::from(chosen >> 4 & 7)];
    let asked = Asked { version: Version::Http11, is_head: to_head, keep_alive: true };
    let identity = Identity { date: b"Sun, 06 Nov 1994 08:49:37 GMT", server: b"", lines: b"" };
    let mut out = b"before\r\n\r\n".to_vec();
    let start = out.len();
    let Ok(mut head) = http1::begin(&mut out, status, b"") else { return };
    for line in lines.split(|&byte| byte == b'\n') {
        if let Some((name, value)) = split_once(line, b':') {
            // A field that cannot be sent is left out.
            let _ = head.field(name, value);
        }
    }
    http1::finish(head, asked, &identity, size);
    let before = fields(&out[start..]);
    let answer = Answer { accepted, to_head, framing: b"Transfer-Encoding: chunked\r\n" };
    let coding = recode(&mut out, start, &rules, &answer, |_| true);
    let expected = naive(&before, status, &rules, &answer);

    assert_eq!(expected, (coding, fields(&out[start..])), "{}", crate::show(&out));
    assert!(out.starts_with(b"before\r\n\r\nHTTP/1.1 ") && out.ends_with(b"\r\n\r\n"));
}

/// Panics if these values of `Accept-Encoding` lead to a coding that they do not name, or that the rules do not allow.
pub(crate) fn check_accepted(value: &[u8]) {
    let lines: Vec<&[u8]> = value.split(|&byte| byte == b'\n').collect();
    let rules = Rules { codings: vec![Coding::Zstd, Coding::Gzip], bytes_min: 0, with_cookies: false };
    let coding = rules.accepted(&lines);
    let is_named = |name: &[u8]| lines.iter().any(|line| contains(&line.to_ascii_lowercase(), name));
    let is_fine = match coding {
        Coding::Identity => true,
        Coding::Br => false,
        other => is_named(other.token().as_bytes()) || is_named(b"*"),
    };

    assert!(is_fine, "{coding:?} for {}", crate::show(value));
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn fields(head: &[u8]) -> Vec<Field> {
    let lines = head.strip_suffix(b"\r\n\r\n").expect("the end of a head").split(|&byte| byte == b'\n');
    lines
        .skip(1)
        .map(|line| {
            let (name, value) = split_once(line, b':').expect("a field");
            (name.to_ascii_lowercase(), trim(value.strip_suffix(b"\r").unwrap_or(value)).to_vec())
        })
        .collect()
}

fn naive(before: &[Field], status: u16, rules: &Rules, answer: &Answer<'_>) -> (Coding, Vec<Field>) {
    let values = |name: &[u8]| -> Vec<Vec<u8>> {
        let named = before.iter().filter(|field| field.0 == name);
        named.map(|field| field.1.to_ascii_lowercase()).collect()
    };
    let has = |name: &[u8], element: &[u8]| {
        values(name)
            .iter()
            .any(|value| value.split(|&byte| byte == b',').any(|one| one.trim_ascii() == element))
    };
    let type_gains = values(b"content-type").last().map(|value| gains(value));
    let length: Option<u64> = values(b"content-length")
        .last()
        .map(|value| str::from_utf8(value).expect("digits").parse().expect("a number"));
    let unchanged = (Coding::Identity, before.to_vec());
    let digests: [&[u8]; 5] =
        [b"content-md5", b"content-digest", b"digest", b"repr-digest", b"content-range"];
    if digests.iter().any(|name| !values(name).is_empty())
        || values(b"content-encoding").iter().any(|value| value != b"identity")
        || has(b"cache-control", b"no-transform")
        || !values(b"set-cookie").is_empty() && !rules.with_cookies
    {
        return unchanged;
    }
    let mut coding = answer.accepted;
    if status == 304 {
        if type_gains == Some(false) {
            return unchanged;
        }
        coding = Coding::Identity;
    } else if matches!(status, 204..=206)
        || type_gains != Some(true)
        || length.is_some_and(|n| n < rules.bytes_min)
    {
        return unchanged;
    } else if answer.to_head && length.is_none() {
        coding = Coding::Identity;
    }
    let mut after = before.to_vec();
    for (name, value) in &mut after {
        if name == b"etag"
            && answer.accepted != Coding::Identity
            && !value.is_empty()
            && !value.starts_with(b"W/")
        {
            value.splice(0..0, *b"W/");
        }
    }
    if coding != Coding::Identity {
        let gone: [&[u8]; 3] = [b"content-length", b"content-encoding", b"accept-ranges"];
        after.retain(|(name, _)| !gone.contains(&&**name));
        after.push((b"content-encoding".to_vec(), coding.token().into()));
        if length.is_some() && !answer.to_head {
            after.push((b"transfer-encoding".to_vec(), b"chunked".to_vec()));
        }
    }
    if !has(b"vary", b"*") && !has(b"vary", b"accept-encoding") {
        after.push((b"vary".to_vec(), b"Accept-Encoding".to_vec()));
    }
    (coding, after)
}
