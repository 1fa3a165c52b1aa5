//! A reference implementation of the `Range` field: RFC 9110 section 14 with numbers that do not overflow, and ranges
//! merged in pairs.

use std::ops::Range;

use adyton_files::ranges::{RANGES_MAX, Requested, parse};

use crate::text::{is_text, split_once, trim};

/// Panics unless `value`, for a file of `bytes` bytes, is read as the ranges that the reference finds. Values that no
/// parsed head can hold are left out.
pub(crate) fn check(value: &[u8], bytes: u64) {
    if value.iter().all(|&byte| is_text(byte)) {
        assert_eq!(naive(value, bytes), parse(value, bytes), "{} of {bytes}", crate::show(value));
    }
}

fn naive(value: &[u8], bytes: u64) -> Requested {
    let Some((unit, list)) = split_once(value, b'=') else { return Requested::Ignored };
    let specs = list.split(|&byte| byte == b',').map(trim).filter(|spec| !spec.is_empty());
    let ranges: Option<Vec<_>> = specs.map(|spec| naive_range(spec, bytes.into())).collect();
    let Some(mut ranges) = ranges.filter(|ranges| {
        unit.eq_ignore_ascii_case(b"bytes") && (1..=RANGES_MAX).contains(&ranges.len()) && bytes > 0
    }) else {
        return Requested::Ignored;
    };
    ranges.retain(|range| !range.is_empty());
    let count = ranges.len();
    while merge_two(&mut ranges) {}
    if ranges.len() < count {
        ranges.sort_by_key(|range| range.start);
    }
    let narrow = |at: u128| u64::try_from(at).expect("inside the file");
    let ranges: Vec<_> = ranges.iter().map(|range| narrow(range.start)..narrow(range.end)).collect();
    if ranges.is_empty() { Requested::Unsatisfiable } else { Requested::Ranges(ranges) }
}

/// Reads one range, cut to the file; `None` if the text is not a range.
fn naive_range(spec: &[u8], bytes: u128) -> Option<Range<u128>> {
    let (start, end) = match split_once(spec, b'-')? {
        (b"", suffix) => (bytes.saturating_sub(naive_number(suffix)?), bytes),
        (first, b"") => (naive_number(first)?, bytes),
        (first, last) => (naive_number(first)?, naive_number(last)? + 1),
    };
    let is_whole = spec.starts_with(b"-") || spec.ends_with(b"-");
    (is_whole || start < end).then_some(start.min(bytes)..end.min(bytes))
}

/// Reads a number of any length; numbers of more than 64 bits, which no file reaches, are all alike.
fn naive_number(digits: &[u8]) -> Option<u128> {
    let text = str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    match text.trim_start_matches('0') {
        "" => (!text.is_empty()).then_some(0),
        digits => Some(digits.parse::<u64>().unwrap_or(u64::MAX).into()),
    }
}

/// Merges two ranges that touch or overlap, if there are any.
fn merge_two(ranges: &mut Vec<Range<u128>>) -> bool {
    for at in 0..ranges.len() {
        for other in at + 1..ranges.len() {
            let (a, b) = (ranges[at].clone(), ranges[other].clone());
            if a.start <= b.end && b.start <= a.end {
                ranges[at] = a.start.min(b.start)..a.end.max(b.end);
                ranges.remove(other);
                return true;
            }
        }
    }
    false
}
