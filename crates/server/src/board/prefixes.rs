//! Counts of requests by the first segment of their path, on the board that another process reads.
//!
//! The table is of fixed size, and only paths that were answered with 2xx get a row: paths that clients guess get none,
//! unless the application answers any path. When all rows are taken, a prefix that was also seen shortly before
//! replaces a prefix that was counted only once. Any other prefix gets no row. Prefixes without a row are counted
//! together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of the table; the last row counts all prefixes that have no row of their own.
const ROWS: usize = 32;

/// Cells of a row: a hash, four cells with the name, and the counts.
const ROW_CELLS: usize = 8;

const NAME_CELLS: usize = 4;

/// Longest name in bytes: one more byte is for its length.
const NAME_BYTES_MAX: usize = NAME_CELLS * 8 - 1;

/// Number that stands for no row, as for a request that could not be parsed.
pub(crate) const NOWHERE: u8 = u8::MAX;

const HASH: usize = 0;
const NAME: usize = 1;
const REQUESTS: usize = 5;
const ERRORS: usize = 6;
const DURATION_US: usize = 7;

/// Number of prefixes without a row that are remembered. Even in a flood of invented prefixes, fewer than this many
/// come between two requests for the same page.
const SEEN_CELLS: usize = 256;

/// Cells of the table, and of the remembered prefixes without a row.
pub(crate) const CELLS: usize = ROWS * ROW_CELLS + SEEN_CELLS;

/// Stands in the place of a hash while a row gets its next name.
const CHANGES: u64 = 2;

/// Names that are kept apart when tables are added up.
const NAMES_MAX: usize = 128;

/// The name that stands for all prefixes without a row.
pub const OTHERS: &str = "*";

/// Counts of the requests with one prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixCount {
    /// Requests that were answered.
    pub requests: u64,
    /// Answers with 5xx.
    pub errors: u64,
    /// Time that the answers took together, in microseconds.
    pub duration_us: u64,
}

/// Requests by prefix.
pub type Prefixes = BTreeMap<String, PrefixCount>;

/// Returns the first segment of a path: `/shop` of `/shop/cart/1`, `/` of `/` and of `/favicon.ico`.
fn prefix_of(path: &[u8]) -> &[u8] {
    // The most frequent path needs no search for a slash.
    let Some(rest) = path.get(1..).filter(|rest| !rest.is_empty()) else { return b"/" };
    match memchr::memchr(b'/', rest) {
        Some(at) => &path[..=at],
        None => b"/",
    }
}

/// Returns the row of a path. `keeps`: whether the path may get a new row.
pub(crate) fn row_of(cells: &[AtomicU64], path: &[u8], keeps: bool) -> u8 {
    let prefix = prefix_of(path);
    let row = if prefix.len() > NAME_BYTES_MAX { ROWS - 1 } else { find(cells, prefix, keeps) };
    u8::try_from(row).unwrap_or(u8::MAX)
}

/// The requests, errors and microseconds of a row; `None` if there is no such row.
pub(crate) fn counts_of(cells: &[AtomicU64], row: u8) -> Option<&[AtomicU64; 3]> {
    cells.get(usize::from(row) * ROW_CELLS + REQUESTS..)?.first_chunk()
}

/// Returns the row of a prefix. If the prefix has no row and may not get one, or no row is left, returns the row of all
/// other prefixes.
#[inline]
fn find(cells: &[AtomicU64], prefix: &[u8], keeps: bool) -> usize {
    let hash = hash_of(prefix);
    // Nearly always the prefix is in its own place, and no other row is looked at.
    let own = first_of(hash) % (ROWS - 1);
    if cells[own * ROW_CELLS + HASH].load(Ordering::Acquire) == hash {
        return own;
    }
    look_further(cells, hash, prefix, keeps)
}

/// Returns the row of a prefix that is not in its own place.
fn look_further(cells: &[AtomicU64], hash: u64, prefix: &[u8], keeps: bool) -> usize {
    let first = first_of(hash);
    for row in (0..ROWS - 1).map(|step| (first + step) % (ROWS - 1)) {
        let cell = &cells[row * ROW_CELLS + HASH];
        match cell.load(Ordering::Acquire) {
            found if found == hash => return row,
            0 if !keeps => break,
            0 => match cell.compare_exchange(0, hash, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    write_name(&cells[row * ROW_CELLS + NAME..][..NAME_CELLS], prefix);
                    return row;
                }
                Err(found) if found == hash => return row,
                Err(_) => {}
            },
            _ => {}
        }
    }
    if keeps && was_seen(&cells[ROWS * ROW_CELLS..], hash) {
        return replace(cells, hash, prefix).unwrap_or(ROWS - 1);
    }
    ROWS - 1
}

/// Whether a prefix without a row has come before; it is remembered until another one takes its place.
fn was_seen(seen: &[AtomicU64], hash: u64) -> bool {
    let cell = &seen[usize::try_from(hash >> 16).unwrap_or(0) % SEEN_CELLS];
    cell.swap(hash, Ordering::Relaxed) == hash
}

/// Gives a prefix the row of another prefix that was counted only once, and adds that count to the row of all others.
/// An answer that is counted in the row meanwhile may count for the wrong one of the two prefixes.
fn replace(cells: &[AtomicU64], hash: u64, prefix: &[u8]) -> Option<usize> {
    let row_at = |row: usize| &cells[row * ROW_CELLS..(row + 1) * ROW_CELLS];
    let first = first_of(hash);
    for row in (0..ROWS - 1).map(|step| (first + step) % (ROWS - 1)) {
        let (victim, found) = (row_at(row), row_at(row)[HASH].load(Ordering::Acquire));
        let changes = || victim[HASH].compare_exchange(found, CHANGES, Ordering::AcqRel, Ordering::Relaxed);
        if victim[REQUESTS].load(Ordering::Relaxed) > 1 || found == CHANGES || changes().is_err() {
            continue;
        }
        for at in [REQUESTS, ERRORS, DURATION_US] {
            let number = victim[at].swap(0, Ordering::Relaxed);
            row_at(ROWS - 1)[at].fetch_add(number, Ordering::Relaxed);
        }
        write_name(&victim[NAME..][..NAME_CELLS], prefix);
        victim[HASH].store(hash, Ordering::Release);
        return Some(row);
    }
    None
}

/// Returns the number from which the search for a hash's row starts.
#[inline]
fn first_of(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or(0)
}

/// Returns a hash that is odd, so neither 0 nor [`CHANGES`].
fn hash_of(prefix: &[u8]) -> u64 {
    // FNV-1a: most prefixes are short.
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    prefix.iter().fold(0xcbf2_9ce4_8422_2325, step) | 1
}

fn write_name(cells: &[AtomicU64], name: &[u8]) {
    let mut bytes = [0; NAME_CELLS * 8];
    bytes[..name.len()].copy_from_slice(name);
    bytes[NAME_BYTES_MAX] = u8::try_from(name.len()).unwrap_or(0);
    for (cell, word) in cells.iter().zip(bytes.chunks_exact(8)) {
        cell.store(
            word.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)),
            Ordering::Relaxed,
        );
    }
}

/// The table as it is now.
pub(crate) fn read(cells: &[AtomicU64]) -> Prefixes {
    let mut all = Prefixes::new();
    for (at, row) in cells[..ROWS * ROW_CELLS].chunks_exact(ROW_CELLS).enumerate() {
        let get = |at: usize| row[at].load(Ordering::Relaxed);
        let asked =
            PrefixCount { requests: get(REQUESTS), errors: get(ERRORS), duration_us: get(DURATION_US) };
        if asked.requests > 0 {
            let name = if at == ROWS - 1 { OTHERS.to_owned() } else { read_name(&row[NAME..REQUESTS]) };
            add_one(&mut all, name, asked);
        }
    }
    all
}

/// Reads a name; bytes that are not UTF-8 are taken for ISO 8859-1, as in the logs.
fn read_name(cells: &[AtomicU64]) -> String {
    let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_le_bytes()).collect();
    let length = usize::from(bytes[NAME_BYTES_MAX]).min(NAME_BYTES_MAX);
    let mut name = String::new();
    for chunk in bytes[..length].utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|&byte| char::from(byte)));
    }
    name
}

/// Adds one table to another.
pub(crate) fn add(sum: &mut Prefixes, other: &Prefixes) {
    for (name, asked) in other {
        add_one(sum, name.clone(), *asked);
    }
}

fn add_one(sum: &mut Prefixes, name: String, asked: PrefixCount) {
    let mut has_room = sum.len() < NAMES_MAX || sum.contains_key(&name);
    if !has_room && asked.requests > 1 {
        // A name that was asked for once gives way.
        let rare = sum.iter().find(|(name, asked)| asked.requests <= 1 && *name != OTHERS);
        if let Some((rare, asked)) = rare.map(|(name, asked)| (name.clone(), *asked)) {
            sum.remove(&rare);
            has_room = true;
            add_one(sum, OTHERS.to_owned(), asked);
        }
    }
    let found = sum.entry(if has_room { name } else { OTHERS.to_owned() }).or_default();
    found.requests = found.requests.wrapping_add(asked.requests);
    found.errors = found.errors.wrapping_add(asked.errors);
    found.duration_us = found.duration_us.wrapping_add(asked.duration_us);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<AtomicU64> {
        (0..CELLS).map(|_| AtomicU64::new(0)).collect()
    }

    fn ask(cells: &[AtomicU64], path: impl AsRef<[u8]>, is_error: bool, keeps: bool) {
        let row = row_of(cells, path.as_ref(), keeps);
        for (cell, number) in counts_of(cells, row).into_iter().flatten().zip([1, is_error.into(), 10]) {
            cell.fetch_add(number, Ordering::Relaxed);
        }
    }

    #[test]
    fn by_the_first_segment() {
        let cells = table();
        for path in [
            "/",
            "/favicon.ico",
            "",
            "/shop/cart",
            "/shop/",
            "/shop/a/b",
            "/\u{e4}/",
            "/quite-a-long-name-of-an-application/",
        ] {
            ask(&cells, path, path == "/shop/", true);
        }
        ask(&cells, "/guess/1", false, false);

        let shown: Vec<(String, u64, u64)> =
            read(&cells).into_iter().map(|(name, asked)| (name, asked.requests, asked.errors)).collect();
        let expected = [("*", 2, 0), ("/", 3, 0), ("/shop", 3, 1), ("/\u{e4}", 1, 0)];

        assert_eq!(expected.map(|(name, requests, errors)| (name.to_owned(), requests, errors)), shown[..]);
    }

    /// A name is kept as the client has sent it; the page or program that shows the name has to escape it.
    #[test]
    fn names() {
        for (path, expected) in [
            (&b"/we\"ird\\/x"[..], "/we\"ird\\"),
            (b"/a\nb/", "/a\nb"),
            ("/\u{e4}/".as_bytes(), "/\u{e4}"),
            (b"/\xe4/", "/\u{e4}"),
        ] {
            let cells = table();
            ask(&cells, path, false, true);

            assert_eq!(vec![expected], read(&cells).into_keys().collect::<Vec<_>>());
        }
    }

    /// Prefixes that a client has invented make room for prefixes that are asked for again, and no request is lost.
    #[test]
    fn invented() {
        let cells = table();
        for number in 0..1_000 {
            ask(&cells, format!("/invented-{number}/"), false, true);
        }
        for _ in 0..4 {
            ask(&cells, "/shop/", false, true);
            ask(&cells, "/blog/", false, true);
        }
        for number in 0..1_000 {
            ask(&cells, format!("/guess-{number}/"), false, true);
        }
        let found = read(&cells);

        // The first request of each prefix was counted in the row of all others.
        assert_eq!((3, 3), (found["/shop"].requests, found["/blog"].requests));
        assert_eq!(2_008, found.values().map(|asked| asked.requests).sum::<u64>());

        let mut sum = Prefixes::new();
        for number in 0..2 * NAMES_MAX {
            let once = PrefixCount { requests: 1, ..PrefixCount::default() };
            add(&mut sum, &Prefixes::from([(format!("/invented-{number}"), once)]));
        }
        add(&mut sum, &found);

        assert_eq!((3, 3), (sum["/shop"].requests, sum["/blog"].requests));
        assert_eq!(2_008 + 2 * NAMES_MAX as u64, sum.values().map(|asked| asked.requests).sum::<u64>());
        assert!(sum.len() <= NAMES_MAX + 1);
    }

    /// However many prefixes there are, no request is lost and the table does not grow.
    #[test]
    fn full() {
        let cells = table();
        for round in 0..3 {
            for number in 0..100 {
                ask(&cells, format!("/{number}/{round}"), false, true);
            }
        }
        let one = read(&cells);

        assert_eq!(ROWS, one.len());
        assert_eq!((3, 300 - 31 * 3), (one["/0"].requests, one[OTHERS].requests));

        let mut sum = Prefixes::new();
        for part in 0..20 {
            let renamed = one.iter().map(|(name, asked)| (format!("{part}{name}"), *asked)).collect();
            add(&mut sum, &renamed);
        }

        assert!(sum.len() <= NAMES_MAX + 1);
        assert_eq!(6_000, sum.values().map(|asked| asked.requests).sum::<u64>());
        assert_eq!(60_000, sum.values().map(|asked| asked.duration_us).sum::<u64>());
    }
}
