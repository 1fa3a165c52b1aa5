//! Answers of each site, on the board that another process reads.
//!
//! The table is of fixed size. Sites get their rows when a plan is taken into use, in the order of the file; sites for
//! which no row is left, or whose names are too long, are counted together.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::board::prefixes::{NOWHERE, OTHERS, PrefixCount, Prefixes};

/// Rows of the table; the last row is for all other sites.
const ROWS: usize = 64;

/// Cells of a name: its length in bytes, and its bytes.
const NAME_CELLS: usize = 1 + NAME_BYTES_MAX / 8;

/// The longest name that is written, in bytes.
const NAME_BYTES_MAX: usize = 64;

const REQUESTS: usize = NAME_CELLS;
const ERRORS: usize = NAME_CELLS + 1;
const DURATION_US: usize = NAME_CELLS + 2;
const ROW_CELLS: usize = NAME_CELLS + 3;

/// Cells of the table.
pub(crate) const CELLS: usize = ROWS * ROW_CELLS;

/// Requests by the name of their site.
pub type Sites = Prefixes;

/// Stands for the name of a site without one, as in the access log.
const NAMELESS: &str = "-";

/// Returns the row of the site with this name. A site without a row gets one. Only one thread at a time may call this
/// function.
pub(crate) fn row_of(cells: &[AtomicU64], name: Option<&str>) -> u8 {
    let name = name.unwrap_or(NAMELESS);
    let rows = cells.chunks_exact(ROW_CELLS).take(ROWS - 1);
    let is_its = |row: &[AtomicU64]| is_free(row) || read_name(row).as_deref() == Some(name);
    let found = rows.enumerate().find(|(_, row)| is_its(row));
    let Some((at, row)) = found.filter(|_| !name.is_empty() && name.len() <= NAME_BYTES_MAX) else {
        return u8::try_from(ROWS - 1).unwrap_or(NOWHERE);
    };
    if is_free(row) {
        write_name(row, name);
    }
    u8::try_from(at).unwrap_or(NOWHERE)
}

/// The requests, errors and microseconds of a row; `None` if there is no such row.
pub(crate) fn counts_of(cells: &[AtomicU64], row: u8) -> Option<&[AtomicU64; 3]> {
    cells.get(usize::from(row) * ROW_CELLS + REQUESTS..)?.first_chunk()
}

/// The table as it is now, without sites that have answered nothing.
pub(crate) fn read(cells: &[AtomicU64]) -> Sites {
    let mut all = Sites::new();
    for (at, row) in cells.chunks_exact(ROW_CELLS).enumerate() {
        let get = |at: usize| row[at].load(Ordering::Relaxed);
        let asked =
            PrefixCount { requests: get(REQUESTS), errors: get(ERRORS), duration_us: get(DURATION_US) };
        let name = if at == ROWS - 1 { Some(OTHERS.to_owned()) } else { read_name(row) };
        if let Some(name) = name.filter(|_| asked.requests > 0) {
            all.insert(name, asked);
        }
    }
    all
}

fn is_free(row: &[AtomicU64]) -> bool {
    row[0].load(Ordering::Relaxed) == 0
}

/// Writes a name that fits, its length last: until then the row has no name.
fn write_name(row: &[AtomicU64], name: &str) {
    for (cell, bytes) in row[1..NAME_CELLS].iter().zip(name.as_bytes().chunks(8)) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        cell.store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
    row[0].store(name.len() as u64, Ordering::Release);
}

/// Reads the name of a row; `None` if it has none yet. The process that owns the board may have written anything.
fn read_name(row: &[AtomicU64]) -> Option<String> {
    let length = usize::try_from(row[0].load(Ordering::Acquire)).unwrap_or(usize::MAX);
    let words = row[1..NAME_CELLS].iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_le_bytes());
    let bytes: Vec<u8> = words.take(length).collect();
    (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{CELLS, ROWS, counts_of, read, row_of};
    use crate::board::prefixes::PrefixCount;

    fn table() -> Vec<AtomicU64> {
        (0..CELLS).map(|_| AtomicU64::new(0)).collect()
    }

    fn count(cells: &[AtomicU64], name: Option<&str>, is_error: bool) {
        let row = row_of(cells, name);
        for (cell, number) in counts_of(cells, row).into_iter().flatten().zip([1, is_error.into(), 5]) {
            cell.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// A site has the same row whenever it is named; a site without a name is counted as the log calls it.
    #[test]
    fn by_name() {
        let cells = table();
        let long = "a".repeat(64);
        for (name, is_error) in [(Some("a.example"), false), (None, false), (Some("a.example"), true)] {
            count(&cells, name, is_error);
        }
        count(&cells, Some(&long), false);

        let asked = |requests, errors| PrefixCount { requests, errors, duration_us: requests * 5 };
        let expected = [("-", asked(1, 0)), ("a.example", asked(2, 1)), (&*long, asked(1, 0))];
        assert_eq!(
            expected.map(|(name, asked)| (name.to_owned(), asked)).into_iter().collect::<super::Sites>(),
            read(&cells)
        );
    }

    /// Sites for which there is no row, and names that are too long, are counted together; no request is lost.
    #[test]
    fn no_room() {
        let cells = table();
        (0..100).for_each(|number| count(&cells, Some(&format!("{number}.example")), false));
        count(&cells, Some(&"b".repeat(65)), false);

        let sites = read(&cells);
        assert_eq!(ROWS, sites.len());
        assert_eq!(101 - (ROWS as u64 - 1), sites["*"].requests);
        assert_eq!(101, sites.values().map(|asked| asked.requests).sum::<u64>());
    }
}
