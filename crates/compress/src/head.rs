//! The head of an answer: decides whether the content is coded, and changes the head accordingly.

use adyton_http::bytes::{number, trim};

use crate::types::gains;
use crate::{Coding, choose_coding};

/// Rules for which answers are coded, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Codings that may be used; if a client prefers several equally, the first of them is used.
    pub codings: Vec<Coding>,
    /// Content that is shorter than this is left as it is, if its length is known.
    pub bytes_min: u64,
    /// Whether answers that set a cookie are coded, too. Such an answer is for one user. If a page holds a secret and
    /// also repeats text that an attacker can make a browser send, the compressed length reveals the secret letter by
    /// letter (BREACH).
    pub with_cookies: bool,
}

/// Facts about an answer that its head does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The coding that the client accepts ([`Rules::accepted`]).
    pub accepted: Coding,
    /// Whether the request is a HEAD.
    pub to_head: bool,
    /// The field line that says how content of unknown length ends; it replaces Content-Length.
    pub framing: &'a [u8],
}

/// Fields that hold only for exactly the bytes that follow.
const DIGESTS: [&[u8]; 4] = [b"content-md5", b"content-digest", b"digest", b"repr-digest"];

const VARY: &[u8] = b"Vary: Accept-Encoding\r\n";

impl Rules {
    /// Returns the coding for a client with these `Accept-Encoding` fields.
    pub fn accepted(&self, lines: &[&[u8]]) -> Coding {
        if lines.is_empty() {
            return Coding::Identity;
        }
        // A client that refuses every form is still answered, as RFC 9110 section 12.5.3 allows.
        choose_coding(lines, self.codings.iter().copied()).unwrap_or(Coding::Identity)
    }
}

/// Decides how the content of an answer is coded, and changes its head accordingly. The head begins at `start` of
/// `out`, and ends with the empty line at the end of `out`.
///
/// An answer is left alone if it is partial (206), has no content (204, 205), is already coded, is of a type that does
/// not get smaller, is too short, must not be changed (`no-transform`), or has a digest of its bytes. An answer that
/// would be coded for another client tells caches so in `Vary`. The entity tag of coded content is made weak (RFC 9110
/// section 8.8.1).
///
/// `begin` is called with the coding before anything is changed, and may refuse: then the answer is sent uncoded.
pub fn recode(
    out: &mut Vec<u8>,
    start: usize,
    rules: &Rules,
    answer: &Answer<'_>,
    begin: impl FnOnce(Coding) -> bool,
) -> Coding {
    let Some(end) = memchr::memmem::find(&out[start..], b"\r\n\r\n").map(|at| start + at + 2) else {
        debug_assert!(false, "a head has an end");
        return Coding::Identity;
    };
    let seen = Seen::of(&out[start..end]);
    let Some(mut change) = seen.change(rules, answer) else { return Coding::Identity };
    if change.coding != Coding::Identity && !begin(change.coding) {
        change = Change { coding: Coding::Identity, weakens: false };
    }
    let mut head = Vec::with_capacity(end - start + 96);
    for line in out[start..end].split_inclusive(|&byte| byte == b'\n') {
        change.write(&mut head, line);
    }
    if change.coding != Coding::Identity {
        head.extend_from_slice(b"Content-Encoding: ");
        head.extend_from_slice(change.coding.token().as_bytes());
        head.extend_from_slice(b"\r\n");
        if !answer.to_head && seen.length.is_some() {
            head.extend_from_slice(answer.framing);
        }
    }
    if !seen.varies {
        head.extend_from_slice(VARY);
    }
    out.splice(start..end, head);
    change.coding
}

/// Facts in a head that decide about the coding of the content.
#[derive(Default)]
struct Seen {
    status: u16,
    /// Whether content of this type gets smaller; `None` without a type.
    gains: Option<bool>,
    length: Option<u64>,
    /// Whether the content must not be touched.
    is_fixed: bool,
    has_cookie: bool,
    /// Whether `Vary` already covers `Accept-Encoding`.
    varies: bool,
}

/// The changes to an answer.
#[derive(Clone, Copy)]
struct Change {
    coding: Coding,
    /// Whether the entity tag is made weak.
    weakens: bool,
}

impl Seen {
    fn of(head: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let mut lines = head.split(|&byte| byte == b'\n');
        let status = lines.next().and_then(|line| line.split(|&byte| byte == b' ').nth(1));
        seen.status = status.and_then(number).and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
        for line in lines {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let (name, value) = (&line[..colon], trim(line[colon + 1..].trim_ascii_end()));
            seen.field(name, value);
        }
        seen
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        let has = |element: &[u8]| {
            value.split(|&byte| byte == b',').any(|one| one.trim_ascii().eq_ignore_ascii_case(element))
        };
        // Lengths are compared first: most fields are not among these names.
        match name.len() {
            4 if is(b"vary") => self.varies |= has(b"*") || has(b"accept-encoding"),
            10 if is(b"set-cookie") => self.has_cookie = true,
            12 if is(b"content-type") => self.gains = Some(gains(value)),
            13 if is(b"cache-control") => self.is_fixed |= has(b"no-transform"),
            13 if is(b"content-range") => self.is_fixed = true,
            14 if is(b"content-length") => self.length = number(value),
            16 if is(b"content-encoding") => self.is_fixed |= !value.eq_ignore_ascii_case(b"identity"),
            _ if DIGESTS.iter().any(|digest| is(digest)) => self.is_fixed = true,
            _ => {}
        }
    }

    /// Returns the changes; `None` if all clients get the same answer, whatever codings they accept.
    fn change(&self, rules: &Rules, answer: &Answer<'_>) -> Option<Change> {
        if self.is_fixed || self.has_cookie && !rules.with_cookies {
            return None;
        }
        let takes = answer.accepted != Coding::Identity;
        // A 304 repeats the fields of the answer that it confirms. Often the type of that answer is unknown. If the
        // answer may have been coded, its tag is made weak, because a weak tag also confirms a strong one.
        if self.status == 304 {
            let is_other = self.gains == Some(false);
            return (!is_other).then_some(Change { coding: Coding::Identity, weakens: takes });
        }
        let is_short = self.length.is_some_and(|bytes| bytes < rules.bytes_min);
        if matches!(self.status, 0..200 | 204..=206) || self.gains != Some(true) || is_short {
            return None;
        }
        // The length of the answer to a GET is unknown, and the answer to a HEAD need not tell it (RFC 9110 section
        // 9.3.2).
        let is_vague = answer.to_head && self.length.is_none();
        let coding = if is_vague { Coding::Identity } else { answer.accepted };
        Some(Change { coding, weakens: takes })
    }
}

impl Change {
    /// Appends a line of the old head as it must be in the new head, or leaves it out.
    fn write(self, head: &mut Vec<u8>, line: &[u8]) {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        if self.coding != Coding::Identity
            && (is(b"content-length") || is(b"content-encoding") || is(b"accept-ranges"))
        {
            return;
        }
        if self.weakens && is(b"etag") {
            // The trim also removes the line end, so that an empty value stays empty.
            let value = line[name.len() + 1..].trim_ascii();
            if !value.is_empty() && !value.starts_with(b"W/") {
                head.extend_from_slice(b"ETag: W/");
                head.extend_from_slice(value);
                head.extend_from_slice(b"\r\n");
                return;
            }
        }
        head.extend_from_slice(line);
    }
}
