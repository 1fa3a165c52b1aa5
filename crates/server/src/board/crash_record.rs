//! The record of a dead worker on its board: unwritten lines of its logs, and the requests inside the application.
//!
//! The supervisor reads the worker's board after the worker's death, whatever the cause. Noting a line on the board
//! costs one store for every eight bytes. Writing each line to its log at once would cost a system call for each
//! answer, and writing before each wait for the kernel would cost as much on a server with little to do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use adyton_log::EntryStore;
use adyton_log::request::{GIVEN_BYTES_MAX, RequestId};
use adyton_sys::board::Board;

use crate::threads::task::What;

/// Cells of the whole record.
pub(crate) const CELLS: usize = TRACES_START + TRACES * TRACE_CELLS;

/// Pages for lines of access logs. Only used pages take memory. Lines beyond these pages are not on the board.
const PAGES: usize = 64;

/// Pages of one log: one is being filled, one is with the log's thread, and two more are for a log that is behind.
const PAGES_OF_LOG: usize = 4;

/// Cells of a page: the key of its log, and its lines.
const PAGE_CELLS: usize = 1 + LINES_CELLS;

/// First cell of the entries of the error log, behind the pages of access logs.
const ENTRIES_START: usize = PAGES * PAGE_CELLS;

/// First cell of the traces.
const TRACES_START: usize = ENTRIES_START + LINES_CELLS;

/// Bytes in a cell.
const CELL_BYTES: usize = size_of::<u64>();

/// Bytes of lines in a page.
pub(crate) const LINES_BYTES_MAX: usize = 68 * 1024;

/// Cells of a run of lines: the number of filled cells, and the cells themselves.
const LINES_CELLS: usize = 1 + LINES_BYTES_MAX / CELL_BYTES;

/// Maximum number of threads whose requests are noted: few servers have more `--threads`. The traces span 32 KiB, which
/// take memory only as far as they are used.
const TRACES: usize = 128;

/// Cells of a trace: its state, the request's number, the given id and its length, and the beginning of the request's
/// head.
const TRACE_CELLS: usize = 3 + GIVEN_CELLS + HEAD_CELLS;

/// Cells of the id that a request came with.
const GIVEN_CELLS: usize = GIVEN_BYTES_MAX / CELL_BYTES;

/// Cells of the beginning of a head.
const HEAD_CELLS: usize = What::HEAD_BYTES_MAX / CELL_BYTES;

/// State of a trace: it is free.
const FREE: u64 = 0;

/// State of a trace: its thread is not inside the application.
const OUTSIDE: u64 = 1;

/// State of a trace: its thread is inside the application; the state minus this is the length of the head in bytes.
const INSIDE: u64 = 2;

/// Pages of lines, each either free or owned.
pub(crate) struct LinePages {
    board: Arc<Board>,
    start: usize,
    taken: Arc<[AtomicBool; PAGES]>,
}

impl LinePages {
    /// The pages of a record that begins at `start`.
    pub(crate) fn new(board: Arc<Board>, start: usize) -> Self {
        let taken = Arc::new(std::array::from_fn(|_| AtomicBool::new(false)));
        Self { board, start, taken }
    }

    /// The pages that a log with this [key](adyton_log::sink::Destination::key) may take.
    pub(crate) fn of_log(&self, key: u64) -> PagesOfLog {
        let (board, taken) = (Arc::clone(&self.board), Arc::clone(&self.taken));
        PagesOfLog { all: LinePages { board, start: self.start, taken }, key, used: Arc::default() }
    }
}

/// Pages for one log.
pub(crate) struct PagesOfLog {
    all: LinePages,
    key: u64,
    /// Number of pages that the log has.
    used: Arc<AtomicUsize>,
}

impl PagesOfLog {
    /// Takes a free page, if the log may have another one.
    pub(crate) fn take(&self) -> Option<Page> {
        if self.used.load(Ordering::Relaxed) >= PAGES_OF_LOG {
            return None;
        }
        let LinePages { board, start, taken } = &self.all;
        let number = taken.iter().position(|taken| !taken.swap(true, Ordering::Acquire))?;
        let start = start + number * PAGE_CELLS;
        board.cells()[start].store(self.key, Ordering::Relaxed);
        self.used.fetch_add(1, Ordering::Relaxed);
        let lines = UnwrittenLines::new(Arc::clone(board), start + 1);
        Some(Page { lines, number, taken: Arc::clone(taken), used: Arc::clone(&self.used) })
    }
}

/// A page of lines. Dropping it empties the page and makes it free again.
pub(crate) struct Page {
    lines: UnwrittenLines,
    number: usize,
    taken: Arc<[AtomicBool; PAGES]>,
    used: Arc<AtomicUsize>,
}

impl Page {
    /// Notes further lines; returns `false` when there is no room.
    pub(crate) fn push(&mut self, lines: &[u8]) -> bool {
        self.lines.push(lines)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A process that dies between the write and this line leaves lines that the log has already: better twice than
        // not at all.
        self.lines.clear();
        self.taken[self.number].store(false, Ordering::Release);
        self.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lines that are not written yet, from `start` on a board. Each batch begins in a cell of its own, and its last cell
/// is filled up with zeros, which no line contains.
pub(crate) struct UnwrittenLines {
    board: Arc<Board>,
    start: usize,
    /// Cells that are filled.
    filled: usize,
}

impl UnwrittenLines {
    fn new(board: Arc<Board>, start: usize) -> Self {
        Self { board, start, filled: 0 }
    }

    /// Returns the place for entries of the error log in a record that begins at `start`.
    pub(crate) fn of_entries(board: Arc<Board>, start: usize) -> Self {
        Self::new(board, start + ENTRIES_START)
    }

    /// Notes further lines; returns `false` when there is no room.
    fn push(&mut self, lines: &[u8]) -> bool {
        let end = self.filled + lines.len().div_ceil(CELL_BYTES);
        let cells = &self.board.cells()[self.start..self.start + LINES_CELLS];
        let Some(room) = cells.get(1 + self.filled..=end) else { return false };
        store(room, lines);
        // Stored after the lines, so that a reader finds whole lines if this process dies here.
        cells[0].store(end as u64, Ordering::Release);
        self.filled = end;
        true
    }

    /// Forgets the lines, which are written.
    fn clear(&mut self) {
        self.filled = 0;
        self.board.cells()[self.start].store(0, Ordering::Release);
    }
}

impl EntryStore for UnwrittenLines {
    fn push(&mut self, entry: &[u8]) {
        // Entries for which there is no room are not on the board.
        Self::push(self, entry);
    }

    fn clear(&mut self) {
        if self.filled > 0 {
            Self::clear(self);
        }
    }
}

/// The place where one thread notes the request that it is in.
pub(crate) struct Trace {
    board: Arc<Board>,
    start: usize,
}

impl Trace {
    /// Takes a free trace of the record that begins at `start`; `None` when too many threads have one.
    pub(crate) fn take(board: &Arc<Board>, start: usize) -> Option<Self> {
        let starts = (0..TRACES).map(|number| start + TRACES_START + number * TRACE_CELLS);
        let is_free = |&start: &usize| {
            let cell = &board.cells()[start];
            cell.compare_exchange(FREE, OUTSIDE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        starts.into_iter().find(is_free).map(|start| Self { board: Arc::clone(board), start })
    }

    /// Notes that the thread enters the application with this request; an empty head means the rest of an answer.
    pub(crate) fn enter(&self, head: &[u8], id: &RequestId) {
        let head = &head[..head.len().min(What::HEAD_BYTES_MAX)];
        let cells = &self.board.cells()[self.start..self.start + TRACE_CELLS];
        let (given, rest) = (id.given().unwrap_or_default(), &cells[3..]);
        cells[1].store(id.number(), Ordering::Relaxed);
        cells[2].store(given.len() as u64, Ordering::Relaxed);
        if !given.is_empty() {
            store(rest, given.as_bytes());
        }
        store(&rest[GIVEN_CELLS..], head);
        cells[0].store(INSIDE + head.len() as u64, Ordering::Release);
    }

    /// Notes that the thread has left the application.
    pub(crate) fn leave(&self) {
        self.board.cells()[self.start].store(OUTSIDE, Ordering::Relaxed);
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.board.cells()[self.start].store(FREE, Ordering::Relaxed);
    }
}

/// The lines of access logs that a dead process has left, by the key of each log.
pub(crate) fn lines(cells: &[AtomicU64]) -> BTreeMap<u64, Vec<u8>> {
    let mut lines: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for page in cells[..ENTRIES_START].chunks_exact(PAGE_CELLS) {
        let noted = noted(&page[1..]);
        if !noted.is_empty() {
            lines.entry(page[0].load(Ordering::Relaxed)).or_default().extend(noted);
        }
    }
    lines
}

/// The entries of the error log that a dead process has left.
pub(crate) fn entries(cells: &[AtomicU64]) -> Vec<u8> {
    noted(&cells[ENTRIES_START..TRACES_START])
}

fn noted(cells: &[AtomicU64]) -> Vec<u8> {
    let filled = usize::try_from(cells[0].load(Ordering::Acquire)).unwrap_or(usize::MAX);
    // A process of the application's user can write anything on the board, so no number there is trusted.
    let mut lines = load(&cells[1..LINES_CELLS], filled.saturating_mul(CELL_BYTES));
    lines.retain(|&byte| byte != 0);
    lines
}

/// The requests that a dead process has left inside the application: method, path and id of each. The query is left
/// out, as it may hold a secret.
pub(crate) fn inside(cells: &[AtomicU64]) -> Vec<String> {
    let traces = cells[TRACES_START..].chunks_exact(TRACE_CELLS);
    let number = |cell: &AtomicU64| cell.load(Ordering::Acquire);
    let taken = traces.filter(|trace| number(&trace[0]) >= INSIDE);
    let say = |trace: &[AtomicU64]| {
        let length = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut head = load(&trace[3 + GIVEN_CELLS..], length(number(&trace[0]) - INSIDE));
        head.truncate(memchr::memchr(b'?', &head).unwrap_or(head.len()));
        let what = if head.is_empty() { What::REST } else { What::of(&head) };
        match load(&trace[3..3 + GIVEN_CELLS], length(number(&trace[2]))) {
            given if given.is_empty() => format!("{what} (request {:016x})", number(&trace[1])),
            given => format!("{what} (request {})", given.escape_ascii()),
        }
    };
    taken.map(say).collect()
}

/// Stores bytes in cells, as far as there are cells.
fn store(cells: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<CELL_BYTES>();
    let mut last = [0; CELL_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some(&last);
    for (cell, word) in cells.iter().zip(whole.iter().chain(last)) {
        cell.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
}

/// Loads `count` bytes from cells, or as many as there are.
fn load(cells: &[AtomicU64], count: usize) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_ne_bytes()).take(count).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::Arc;

    use adyton_log::request::RequestIds;
    use adyton_sys::board::Board;

    use super::{
        CELLS, EntryStore, LINES_BYTES_MAX, LinePages, PAGES, PAGES_OF_LOG, PagesOfLog, TRACES, Trace,
        UnwrittenLines, entries, inside, lines,
    };

    fn board() -> io::Result<Arc<Board>> {
        Board::new(CELLS + 1).map(Arc::new)
    }

    /// Lines of every length come back unchanged, lines that were written do not come back, and the room for lines is
    /// limited.
    #[test]
    fn lines_left() -> io::Result<()> {
        let board = board()?;
        let all_pages = LinePages::new(Arc::clone(&board), 1);
        let pages = all_pages.of_log(7);
        let mut taken: Vec<_> = (0..PAGES).map_while(|_| pages.take()).collect();
        assert_eq!(PAGES_OF_LOG, taken.len());
        let all: Vec<String> = (0..40).map(|length| format!("{}\n", "x".repeat(length))).collect();
        for page in &mut taken {
            assert!(all.iter().all(|line| page.push(line.as_bytes())));
        }

        let left = |text: String| BTreeMap::from([(7, text.into_bytes())]);
        assert_eq!(left(all.concat().repeat(PAGES_OF_LOG)), lines(&board.cells()[1..]));

        drop(taken.split_off(1));

        assert_eq!(left(all.concat()), lines(&board.cells()[1..]));

        drop(taken);

        assert!(lines(&board.cells()[1..]).is_empty());

        let page = pages.take();
        let mut page = page.ok_or_else(|| io::Error::other("none is free"))?;

        assert!(!page.push(&vec![b'x'; LINES_BYTES_MAX + 1]));
        assert!(page.push(&vec![b'x'; LINES_BYTES_MAX]));
        assert!(!page.push(b"\n"));
        Ok(())
    }

    /// Each log has its own lines, and all logs together get at most all the pages.
    #[test]
    fn lines_of_several_logs() -> io::Result<()> {
        let board = board()?;
        let pages = LinePages::new(Arc::clone(&board), 1);
        let logs: Vec<_> = (0..=PAGES as u64).map(|key| pages.of_log(key)).collect();
        let mut taken: Vec<_> = logs.iter().filter_map(PagesOfLog::take).collect();
        assert_eq!(PAGES, taken.len());
        for (page, line) in taken.iter_mut().zip(["one\n", "two\n"]) {
            assert!(page.push(line.as_bytes()));
        }
        let expected = BTreeMap::from([(0, b"one\n".to_vec()), (1, b"two\n".to_vec())]);

        assert_eq!(expected, lines(&board.cells()[1..]));
        Ok(())
    }

    /// Entries have a place of their own, and come back until all are written.
    #[test]
    fn entries_left() -> io::Result<()> {
        let board = board()?;
        let mut noted = UnwrittenLines::of_entries(Arc::clone(&board), 1);
        EntryStore::push(&mut noted, b"an entry\nof two lines\n");
        EntryStore::push(&mut noted, b"another\n");

        assert_eq!(b"an entry\nof two lines\nanother\n", &entries(&board.cells()[1..])[..]);
        assert!(lines(&board.cells()[1..]).is_empty() && inside(&board.cells()[1..]).is_empty());

        EntryStore::clear(&mut noted);

        assert!(entries(&board.cells()[1..]).is_empty());
        Ok(())
    }

    /// The record names the requests inside the application, with an id of any form, and leaves their queries out.
    #[test]
    fn requests_inside() -> io::Result<()> {
        let board = board()?;
        let mut ids = RequestIds::new(1);
        let traces: Vec<Option<Trace>> = (0..=TRACES).map(|_| Trace::take(&board, 1)).collect();
        assert_eq!(TRACES, traces.iter().flatten().count());
        let (plain, given) = (ids.next(None, None), ids.next(Some(&[b'i'; 128]), None));
        let Some([first, second, third]) = traces.first_chunk() else { return Ok(()) };
        let head = format!("POST /{} HTTP/1.1\r\n", "p".repeat(200));
        for (trace, head, id) in [
            (first, &b"GET /login?secret=1 HTTP/1.1\r\nHost: x\r\n\r\n"[..], &plain),
            (second, head.as_bytes(), &given),
            (third, b"", &plain),
        ] {
            trace.as_ref().inspect(|trace| trace.enter(head, id));
        }
        let expected = [
            format!("GET /login (request {plain})"),
            format!("POST /{} (request {})", "p".repeat(90), "i".repeat(128)),
            format!("the rest of an answer (request {plain})"),
        ];

        assert_eq!(&expected[..], inside(&board.cells()[1..]));

        first.as_ref().inspect(|trace| trace.leave());

        assert_eq!(&expected[1..], inside(&board.cells()[1..]));

        drop(traces);

        assert!(inside(&board.cells()[1..]).is_empty() && Trace::take(&board, 1).is_some());
        Ok(())
    }
}
