//! The `Range` field: which bytes of a file a client asks for (RFC 9110 section 14).

use std::ops::Range;

/// The most ranges in one request. Apache allows 200, nginx as many as fit. No client needs more than a few, and each
/// range costs a part with its own head ("Apache killer", CVE-2011-3192).
pub const RANGES_MAX: usize = 16;

/// The ranges that a `Range` field asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The field is no valid byte range, or has too many ranges: answer as if the field were absent.
    Ignored,
    /// The field is valid, but no range lies inside the file: answer 416.
    Unsatisfiable,
    /// At least one range. None is empty, none overlaps or touches another, and all lie inside the file.
    Ranges(Vec<Range<u64>>),
}

/// Reads the value of a `Range` field for a file of `bytes` bytes.
///
/// One bad range makes the whole field invalid (RFC 9110 section 14.2). Overlapping and adjacent ranges are merged in
/// O(n log n); if there are none, the client's order is kept. An empty file has no byte to ask for, so the field is
/// ignored: clients that always send `bytes=0-` expect the empty file and not an error.
pub fn parse(value: &[u8], bytes: u64) -> Requested {
    let Some(specs) = after_unit(value) else { return Requested::Ignored };
    let mut ranges = Vec::new();
    let mut count = 0;
    for spec in specs.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        // A list may have empty elements (RFC 9110 section 5.6.1.2).
        if spec.is_empty() {
            continue;
        }
        count += 1;
        match range(spec, bytes) {
            _ if count > RANGES_MAX => return Requested::Ignored,
            None => return Requested::Ignored,
            Some(range) if range.is_empty() => {}
            Some(range) => ranges.push(range),
        }
    }
    if bytes == 0 || count == 0 {
        Requested::Ignored
    } else if ranges.is_empty() {
        Requested::Unsatisfiable
    } else {
        Requested::Ranges(merge(ranges))
    }
}

/// The rest of a value after `bytes=`; the unit's name is case-insensitive (RFC 9110 section 14.1).
fn after_unit(value: &[u8]) -> Option<&[u8]> {
    let (unit, specs) = value.split_at_checked(b"bytes=".len())?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(specs)
}

/// Reads one range and cuts it to the file; returns an empty range if `spec` lies outside the file, `None` if `spec` is
/// not a range.
fn range(spec: &[u8], bytes: u64) -> Option<Range<u64>> {
    let dash = memchr::memchr(b'-', spec)?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    if first.is_empty() {
        let suffix = number(last)?;
        return Some(bytes.saturating_sub(suffix)..bytes);
    }
    let first = number(first)?;
    if last.is_empty() {
        return Some(first.min(bytes)..bytes);
    }
    let last = number(last)?;
    (first <= last).then(|| first.min(bytes)..last.saturating_add(1).min(bytes))
}

/// Reads digits only. A number of more than 64 bits saturates, because it lies behind the end of every file anyway.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let push = |value: u64, digit: &u8| value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, push))
}

fn merge(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut sorted = ranges.clone();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    if merged.len() == ranges.len() { ranges } else { merged }
}
