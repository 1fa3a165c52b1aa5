//! What a worker leaves when it dies: lines of the access log that it has not written yet, and the requests that were
//! inside the application.
//!
//! Both are on its board, which its supervisor reads when it is dead, of whatever it died. To write each line at once
//! instead would cost a system call for each answer, and to write before each wait for the kernel as much on a server
//! with little to do; to note it here costs a store for each eight bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_log::request::{GIVEN_BYTES_MAX, RequestId};
use adyton_sys::board::Board;

use crate::access_log::HELD_BYTES_CAPACITY;
use crate::server::What;

/// Cells of everything here.
pub(crate) const CELLS: usize = LINES_CELLS + SEATS * SEAT_CELLS;

/// Bytes in a cell.
const CELL_BYTES: usize = size_of::<u64>();

/// How many cells are filled, and those.
const LINES_CELLS: usize = 1 + HELD_BYTES_CAPACITY / CELL_BYTES;

/// Threads whose requests are noted: more than `--threads` is for most, and 32 KiB that are only touched when used.
const SEATS: usize = 128;

/// How it stands, number and given name of the request, the beginning of its head.
const SEAT_CELLS: usize = 3 + GIVEN_CELLS + HEAD_CELLS;

/// Cells of the name that a request was given.
const GIVEN_CELLS: usize = GIVEN_BYTES_MAX / CELL_BYTES;

/// Cells of the beginning of a head.
const HEAD_CELLS: usize = What::HEAD_BYTES_MAX / CELL_BYTES;

/// How a seat stands: it is nobody's.
const FREE: u64 = 0;

/// How a seat stands: its thread is not inside the application.
const OUTSIDE: u64 = 1;

/// How a seat stands: its thread is inside, with so many bytes of a head more than this.
const INSIDE: u64 = 2;

/// Lines that are to be written, from `start` on a board. Each begins in a cell of its own, and zeros, of which no line
/// has any, fill its last one.
pub(crate) struct Lines {
    board: Arc<Board>,
    start: usize,
    /// Cells that are filled.
    filled: usize,
}

impl Lines {
    pub(crate) fn new(board: Arc<Board>, start: usize) -> Self {
        Self { board, start, filled: 0 }
    }

    /// Notes further lines; `false` when there is no room.
    pub(crate) fn push(&mut self, lines: &[u8]) -> bool {
        let end = self.filled + lines.len().div_ceil(CELL_BYTES);
        let cells = &self.board.cells()[self.start..self.start + LINES_CELLS];
        let Some(room) = cells.get(1 + self.filled..=end) else { return false };
        store(room, lines);
        // After the lines: who reads them when this process has died finds whole ones.
        cells[0].store(end as u64, Ordering::Release);
        self.filled = end;
        true
    }

    /// They are written.
    pub(crate) fn clear(&mut self) {
        self.filled = 0;
        self.board.cells()[self.start].store(0, Ordering::Release);
    }
}

/// Where one thread notes the request that it is in.
pub(crate) struct Seat {
    board: Arc<Board>,
    start: usize,
}

impl Seat {
    /// Takes one of those that begin at `start`; `None` when too many threads have one.
    pub(crate) fn take(board: &Arc<Board>, start: usize) -> Option<Self> {
        let starts = (0..SEATS).map(|number| start + LINES_CELLS + number * SEAT_CELLS);
        let is_free = |&start: &usize| {
            let cell = &board.cells()[start];
            cell.compare_exchange(FREE, OUTSIDE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        starts.into_iter().find(is_free).map(|start| Self { board: Arc::clone(board), start })
    }

    /// Its thread goes inside with this request; without a head it is the rest of an answer.
    pub(crate) fn enter(&self, head: &[u8], id: &RequestId) {
        let head = &head[..head.len().min(What::HEAD_BYTES_MAX)];
        let cells = &self.board.cells()[self.start..self.start + SEAT_CELLS];
        let (given, rest) = (id.given().unwrap_or_default(), &cells[3..]);
        cells[1].store(id.number(), Ordering::Relaxed);
        cells[2].store(given.len() as u64, Ordering::Relaxed);
        store(rest, given.as_bytes());
        store(&rest[GIVEN_CELLS..], head);
        cells[0].store(INSIDE + head.len() as u64, Ordering::Release);
    }

    /// Its thread has come back.
    pub(crate) fn leave(&self) {
        self.board.cells()[self.start].store(OUTSIDE, Ordering::Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.board.cells()[self.start].store(FREE, Ordering::Relaxed);
    }
}

/// The lines that a process which has died has left.
pub(crate) fn lines(cells: &[AtomicU64]) -> Vec<u8> {
    let filled = usize::try_from(cells[0].load(Ordering::Acquire)).unwrap_or(usize::MAX);
    // What a process of the application's user has written there is believed in nothing.
    let mut lines = load(&cells[1..LINES_CELLS], filled.saturating_mul(CELL_BYTES));
    lines.retain(|&byte| byte != 0);
    lines
}

/// The requests that it has left inside the application: method, path and id of each. A query may hold a secret.
pub(crate) fn inside(cells: &[AtomicU64]) -> Vec<String> {
    let seats = cells[LINES_CELLS..].chunks_exact(SEAT_CELLS);
    let number = |cell: &AtomicU64| cell.load(Ordering::Acquire);
    let taken = seats.filter(|seat| number(&seat[0]) >= INSIDE);
    let say = |seat: &[AtomicU64]| {
        let length = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut head = load(&seat[3 + GIVEN_CELLS..], length(number(&seat[0]) - INSIDE));
        head.truncate(memchr::memchr(b'?', &head).unwrap_or(head.len()));
        let what = if head.is_empty() { What::REST } else { What::of(&head) };
        match load(&seat[3..3 + GIVEN_CELLS], length(number(&seat[2]))) {
            given if given.is_empty() => format!("{what} (request {:016x})", number(&seat[1])),
            given => format!("{what} (request {})", given.escape_ascii()),
        }
    };
    taken.map(say).collect()
}

/// Puts bytes into cells, as far as there are any.
fn store(cells: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<CELL_BYTES>();
    let mut last = [0; CELL_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some(&last);
    for (cell, word) in cells.iter().zip(whole.iter().chain(last)) {
        cell.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
    }
}

/// So many bytes out of cells, or as many as there are.
fn load(cells: &[AtomicU64], count: usize) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_ne_bytes()).take(count).collect()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use adyton_log::request::RequestIds;
    use adyton_sys::board::Board;

    use super::{CELLS, Lines, SEATS, Seat, inside, lines};
    use crate::access_log::HELD_BYTES_CAPACITY;

    fn board() -> io::Result<Arc<Board>> {
        Board::new(CELLS + 1).map(Arc::new)
    }

    /// Lines of every length come back as they were, those that are written do not, and there is an end to the room.
    #[test]
    fn lines_left() -> io::Result<()> {
        let board = board()?;
        let mut noted = Lines::new(Arc::clone(&board), 1);
        let all: Vec<String> = (0..40).map(|length| format!("{}\n", "x".repeat(length))).collect();
        assert!(all.iter().all(|line| noted.push(line.as_bytes())));

        assert_eq!(all.concat().as_bytes(), lines(&board.cells()[1..]));

        noted.clear();

        assert!(lines(&board.cells()[1..]).is_empty());

        assert!(!noted.push(&vec![b'x'; HELD_BYTES_CAPACITY + 1]));
        assert!(noted.push(&vec![b'x'; HELD_BYTES_CAPACITY]));
        assert!(!noted.push(b"\n"));
        Ok(())
    }

    /// Who is inside is known, whatever its request is called, and not what its query says.
    #[test]
    fn requests_inside() -> io::Result<()> {
        let board = board()?;
        let mut ids = RequestIds::new(1);
        let seats: Vec<Option<Seat>> = (0..=SEATS).map(|_| Seat::take(&board, 1)).collect();
        assert_eq!(SEATS, seats.iter().flatten().count());
        let (plain, given) = (ids.next(None, None), ids.next(Some(&[b'i'; 128]), None));
        let Some([first, second, third]) = seats.first_chunk() else { return Ok(()) };
        let head = format!("POST /{} HTTP/1.1\r\n", "p".repeat(200));
        for (seat, head, id) in [
            (first, &b"GET /login?secret=1 HTTP/1.1\r\nHost: x\r\n\r\n"[..], &plain),
            (second, head.as_bytes(), &given),
            (third, b"", &plain),
        ] {
            seat.as_ref().inspect(|seat| seat.enter(head, id));
        }
        let expected = [
            format!("GET /login (request {plain})"),
            format!("POST /{} (request {})", "p".repeat(90), "i".repeat(128)),
            format!("the rest of an answer (request {plain})"),
        ];

        assert_eq!(&expected[..], inside(&board.cells()[1..]));

        first.as_ref().inspect(|seat| seat.leave());

        assert_eq!(&expected[1..], inside(&board.cells()[1..]));

        drop(seats);

        assert!(inside(&board.cells()[1..]).is_empty() && Seat::take(&board, 1).is_some());
        Ok(())
    }
}
