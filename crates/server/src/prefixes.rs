//! What is asked for: requests by the first segment of their path, on the board that another process reads.
//!
//! The table is of fixed size, and only paths that were answered with 2xx get a row: those that clients guess are not,
//! unless the application answers any path. What has no row is counted together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of the table; the last is for all others.
const ROWS: usize = 32;

/// Of a row: a hash, four numbers with the name, and what is counted.
const ROW_CELLS: usize = 8;

const NAME_CELLS: usize = 4;

/// The longest name: one more byte is for its length.
const NAME_BYTES_MAX: usize = NAME_CELLS * 8 - 1;

/// No row: of a request that could not be parsed.
pub(crate) const NOWHERE: u8 = u8::MAX;

const HASH: usize = 0;
const NAME: usize = 1;
const REQUESTS: usize = 5;
const ERRORS: usize = 6;
const DURATION_US: usize = 7;

/// Cells of the table.
pub(crate) const CELLS: usize = ROWS * ROW_CELLS;

/// Names that are kept apart when tables are put together.
const NAMES_MAX: usize = 128;

/// What is said of all others.
pub const OTHERS: &str = "*";

/// What was asked for with one prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requests that were answered.
    pub requests: u64,
    /// Answers with 5xx.
    pub errors: u64,
    /// How long they took together.
    pub duration_us: u64,
}

/// Requests by prefix.
pub type Prefixes = BTreeMap<String, Asked>;

/// The first segment of a path: `/shop` of `/shop/cart/1`, `/` of `/` and of `/favicon.ico`.
fn prefix_of(path: &[u8]) -> &[u8] {
    match memchr::memchr(b'/', path.get(1..).unwrap_or_default()) {
        Some(at) => &path[..=at],
        None => b"/",
    }
}

/// The row of a path. `keeps`: whether it may be a new one.
pub(crate) fn row_of(cells: &[AtomicU64], path: &[u8], keeps: bool) -> u8 {
    let prefix = prefix_of(path);
    let row = if prefix.len() > NAME_BYTES_MAX { ROWS - 1 } else { find(cells, prefix, keeps) };
    u8::try_from(row).unwrap_or(u8::MAX)
}

/// Counts an answer; `add` is how cells are added to.
pub(crate) fn note(
    cells: &[AtomicU64],
    row: u8,
    (is_error, duration_us): (bool, u64),
    add: impl Fn(&AtomicU64, u64),
) {
    let start = usize::from(row) * ROW_CELLS;
    let Some(row) = cells.get(start..start + ROW_CELLS) else { return };
    add(&row[REQUESTS], 1);
    add(&row[ERRORS], u64::from(is_error));
    add(&row[DURATION_US], duration_us);
}

/// The row of a prefix; that of all others when it has none and may not have one, or when there is none left.
fn find(cells: &[AtomicU64], prefix: &[u8], keeps: bool) -> usize {
    let hash = hash_of(prefix);
    let first = usize::try_from(hash >> 32).unwrap_or(0);
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
    ROWS - 1
}

/// Never 0.
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
    for (at, row) in cells.chunks_exact(ROW_CELLS).enumerate() {
        let get = |at: usize| row[at].load(Ordering::Relaxed);
        let asked = Asked { requests: get(REQUESTS), errors: get(ERRORS), duration_us: get(DURATION_US) };
        if asked.requests > 0 {
            let name = if at == ROWS - 1 { OTHERS.to_owned() } else { read_name(&row[NAME..REQUESTS]) };
            add_one(&mut all, name, asked);
        }
    }
    all
}

/// What is no UTF-8 is taken for ISO 8859-1, as in the logs.
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

fn add_one(sum: &mut Prefixes, name: String, asked: Asked) {
    let has_room = sum.len() < NAMES_MAX || sum.contains_key(&name);
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
        note(cells, row, (is_error, 10), |cell, number| {
            cell.fetch_add(number, Ordering::Relaxed);
        });
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

    /// A name is what was asked for: whoever shows it escapes what he has to.
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

    /// However many prefixes there are, none is lost and the table is no larger.
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
