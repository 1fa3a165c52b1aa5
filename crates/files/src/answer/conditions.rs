//! Conditional requests: whether a file is sent, and which part of it (RFC 9110 section 13).

use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use adyton_http::{Known, Method, Request};

/// Validators of a file, which tell one of its versions from another.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    /// The entity tag with its quotes, after `W/` if it is weak; empty if there is no tag.
    pub etag: &'a [u8],
    /// Last modification, seconds since 1970, if known. It may be in the future.
    pub modified_s: Option<u64>,
}

/// Outcome of the conditions of a GET or HEAD request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Send the whole file.
    Whole,
    /// Send the ranges that the request asks for.
    Ranges,
    /// Answer 304: the client has this version.
    NotModified,
    /// Answer 412: the client wanted another version.
    Failed,
}

/// Evaluates the conditions of a request in the order of RFC 9110 section 13.2.2.
///
/// `date` is the value of the answer's `Date` field. Dates that are not valid are ignored, and so are conditions on a
/// date if the file has no date. If the file's date is in the future, the file counts as modified now, as its answers
/// say ([`shown_date`]); a condition about a time in the future is then ignored.
pub fn evaluate(request: Request<'_>, validators: Validators<'_>, date: &[u8; 29]) -> Outcome {
    let modified_by = |known: Known| {
        let limit = parse_date(request.first(known)?)?;
        let modified_s = validators.modified_s?;
        match parse_date(date) {
            Some(now) if modified_s > now => (limit <= now).then_some(now <= limit),
            _ => Some(modified_s <= limit),
        }
    };
    let tags = |known: Known| request.all(known);
    if request.has(Known::IfMatch) {
        if !any_tag(tags(Known::IfMatch), |tag| is_strong_match(tag, validators.etag)) {
            return Outcome::Failed;
        }
    } else if modified_by(Known::IfUnmodifiedSince) == Some(false) {
        return Outcome::Failed;
    }
    if request.has(Known::IfNoneMatch) {
        if any_tag(tags(Known::IfNoneMatch), |tag| opaque(tag) == opaque(validators.etag)) {
            return Outcome::NotModified;
        }
    } else if modified_by(Known::IfModifiedSince) == Some(true) {
        return Outcome::NotModified;
    }
    let wants_ranges = request.method() == Method::Get && request.has(Known::Range);
    match request.first(Known::IfRange) {
        _ if !wants_ranges => Outcome::Whole,
        Some(tag) if !is_same_version(tag, validators, date) => Outcome::Whole,
        _ => Outcome::Ranges,
    }
}

/// Whether the request has any field that [`evaluate`] uses; the check costs a few bit tests.
pub fn is_conditional(request: Request<'_>) -> bool {
    const FIELDS: [Known; 5] =
        [Known::IfMatch, Known::IfUnmodifiedSince, Known::IfNoneMatch, Known::IfModifiedSince, Known::Range];
    FIELDS.into_iter().any(|known| request.has(known))
}

/// Seconds since 1970 of an HTTP date in any of its three forms.
pub fn parse_date(value: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// An HTTP date (IMF-fixdate); `None` after the year 9999.
pub(crate) fn format_date(seconds: u64) -> Option<String> {
    const YEAR_10000: u64 = 253_402_300_800;
    (seconds < YEAR_10000).then(|| httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds)))
}

/// The `Last-Modified` of an answer with this `Date`: never later than `Date` (RFC 9110 section 8.8.2.1).
pub(crate) fn shown_date(modified_s: u64, date: &[u8; 29]) -> Option<Cow<'_, [u8]>> {
    if parse_date(date).is_some_and(|now| modified_s > now) {
        return Some(Cow::Borrowed(date));
    }
    format_date(modified_s).map(|text| Cow::Owned(text.into_bytes()))
}

/// The strong entity tag of a file, quotes included: its length and modification time in nanoseconds.
///
/// Device and inode are left out, so that two machines with the same tree of files give the same tags.
pub fn etag(bytes: u64, mtime_ns: i64) -> String {
    format!("\"{mtime_ns:x}-{bytes:x}\"")
}

/// Evaluates `If-Range` (RFC 9110 section 13.1.5): both validators compare strongly.
fn is_same_version(value: &[u8], validators: Validators<'_>, date: &[u8; 29]) -> bool {
    if value.first() == Some(&b'"') || value.starts_with(b"W/") {
        return is_strong_match(value, validators.etag);
    }
    let (Some(wanted), Some(modified), Some(now)) =
        (parse_date(value), validators.modified_s, parse_date(date))
    else {
        return false;
    };
    // A date is a strong validator only if the file did not change in the same second as this answer's `Date` (RFC
    // 9110 section 8.8.2.2).
    wanted == modified && modified < now
}

fn is_strong_match(tag: &[u8], etag: &[u8]) -> bool {
    !etag.starts_with(b"W/") && !etag.is_empty() && tag == etag
}

/// The tag without the `W/` that marks a weak tag.
fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// Whether one of the tags in the lists matches, or a line is `*`; stops at anything that is not a tag.
fn any_tag<'v>(lines: impl Iterator<Item = &'v [u8]>, matches: impl Fn(&[u8]) -> bool) -> bool {
    for line in lines {
        if line == b"*" {
            return true;
        }
        let mut rest = line;
        while let Some((tag, behind)) = next_tag(rest) {
            if matches(tag) {
                return true;
            }
            rest = behind;
        }
    }
    false
}

/// The first entity tag of a list, and the rest of the list. A tag may hold commas (RFC 9110 section 8.8.3).
fn next_tag(list: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = list.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
    let list = &list[start..];
    let quote = if list.starts_with(b"W/") { 2 } else { 0 };
    if list.get(quote) != Some(&b'"') {
        return None;
    }
    let length = memchr::memchr(b'"', &list[quote + 1..])?;
    Some(list.split_at(quote + length + 2))
}
