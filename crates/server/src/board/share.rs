//! A worker's share of the connections: a worker leaves new connections to other workers while it has more than they
//! do, or while all its threads are inside the application and another worker has a free thread.
//!
//! The kernel spreads connections over the sockets of a shared address by a hash, so that one worker of four may have
//! half as many connections again as another worker. Each worker therefore listens at the sockets of all workers, and
//! stops while it is ahead.

use std::sync::atomic::{AtomicU64, Ordering};

use adyton_sys::board::Board;

/// Maximum number of workers at the same time, draining ones included.
pub const ROWS: usize = 4096;

/// Cells of the board: the number of serving workers, the number of used rows, and for each worker its connections and
/// whether it is full.
pub const CELLS: usize = FULL + ROWS;

/// Connections that a worker takes without asking how many the other workers have.
const FEW: u64 = 2;

/// Number of looks, one each second: so many in a row have to find a surplus before any connection is given away. When
/// many clients end at once, the last connections are often all with one worker for a moment. They are not worth giving
/// away: some clients report an answer that ends the connection as an error.
const SURPLUS_LOOKS: u32 = 5;

const SERVING: usize = 0;
const USED: usize = 1;
const FIRST: usize = 2;
const FULL: usize = FIRST + ROWS;

/// One worker's view of the board that all workers share.
pub struct Share {
    board: Board,
    row: usize,
}

impl Share {
    /// Returns the view of the worker that has this row.
    pub fn new(board: Board, row: usize) -> Self {
        Self { board, row: row.min(ROWS - 1) }
    }

    fn own(&self) -> &AtomicU64 {
        &self.board.cells()[FIRST + self.row]
    }

    /// Adds one connection to the count.
    pub(crate) fn enter(&self) {
        self.own().fetch_add(1, Ordering::Relaxed);
    }

    /// Subtracts `connections` from the count.
    pub(crate) fn leave(&self, connections: usize) {
        self.own().fetch_sub(connections as u64, Ordering::Relaxed);
    }

    /// Says whether all threads of this worker are inside the application.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.board.cells()[FULL + self.row].store(u64::from(is_full), Ordering::Relaxed);
    }

    /// Whether any worker has a free thread.
    pub(crate) fn has_free(&self) -> bool {
        let cells = self.board.cells();
        let used = usize::try_from(cells[USED].load(Ordering::Relaxed)).unwrap_or(0).min(ROWS);
        let full: u64 = cells[FULL..FULL + used].iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
        cells[SERVING].load(Ordering::Relaxed) > full
    }

    /// Returns the connections of each worker if all had the same number; `None` while this worker is alone.
    fn fair(&self) -> Option<u64> {
        let cells = self.board.cells();
        let read = |at: usize| cells[at].load(Ordering::Relaxed);
        let (serving, used) = (read(SERVING), usize::try_from(read(USED)).unwrap_or(0).min(ROWS));
        let total: u64 = cells[FIRST..FIRST + used].iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
        (serving > 1).then(|| total / serving)
    }

    /// Whether this worker has more than its share; a few connections do not matter.
    pub(crate) fn is_ahead(&self) -> bool {
        let own = self.own().load(Ordering::Relaxed);
        self.fair().is_some_and(|fair| own > (fair + fair / 16).max(FEW))
    }

    /// Returns how many of this worker's connections other workers should have; 0 if they are few. Clients that keep
    /// their connections open would otherwise leave a new worker without work.
    pub(crate) fn surplus(&self) -> u64 {
        let own = self.own().load(Ordering::Relaxed);
        self.fair().filter(|fair| own > fair + (fair / 2).max(FEW)).map_or(0, |fair| own - fair)
    }
}

/// Connections that a loop ends with their next answers, because other workers have had few for a while.
#[derive(Default)]
pub(crate) struct Surplus {
    looks: u32,
    left: u64,
}

impl Surplus {
    /// Notes how many of this worker's connections other workers should have now.
    pub(crate) fn look(&mut self, now: u64) {
        self.looks = if now > 0 { self.looks.saturating_add(1) } else { 0 };
        self.left = if self.looks >= SURPLUS_LOOKS { now } else { 0 };
    }

    /// Whether one more connection is given away. `now` returns the present surplus, which may differ much from the
    /// surplus at the last look.
    pub(crate) fn gives(&mut self, now: impl FnOnce() -> u64) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left = self.left.min(now());
        let gives = self.left > 0;
        self.left -= u64::from(gives);
        gives
    }
}

/// Says how many workers serve, and how many rows are in use.
pub fn set_serving(board: &Board, serving: usize, used: usize) {
    board.cells()[SERVING].store(serving as u64, Ordering::Relaxed);
    board.cells()[USED].store(used as u64, Ordering::Relaxed);
}

/// Empties the row of a worker that has ended.
pub fn clear(board: &Board, row: usize) {
    for first in [FIRST, FULL] {
        board.cells()[first + row.min(ROWS - 1)].store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::AsFd;

    use adyton_sys::board::Board;

    use super::{CELLS, SURPLUS_LOOKS, Share, Surplus, clear, set_serving};

    /// The board of two workers that serve, and the view of each.
    fn two_workers() -> io::Result<(Board, Share, Share)> {
        let board = Board::new(CELLS)?;
        let view =
            |row| io::Result::Ok(Share::new(Board::open(board.as_fd().try_clone_to_owned()?, CELLS)?, row));
        let (one, other) = (view(0)?, view(1)?);
        set_serving(&board, 2, 2);
        Ok((board, one, other))
    }

    /// Only a surplus that lasts is given away, and no more than there is at that moment.
    #[test]
    fn a_surplus_has_to_last() {
        let mut surplus = Surplus::default();
        for _ in 0..2 {
            for _ in 1..SURPLUS_LOOKS {
                surplus.look(9);
                assert!(!surplus.gives(|| 9));
            }
            surplus.look(0);
            assert!(!surplus.gives(|| 9));
        }
        for _ in 0..SURPLUS_LOOKS {
            surplus.look(9);
        }
        assert_eq!([true, true, false], [3, 2, 0].map(|now| surplus.gives(|| now)));
        assert!(!surplus.gives(|| 9), "until the next look");
        surplus.look(2);
        assert_eq!([true, true, false], [9; 3].map(|now| surplus.gives(|| now)));
    }

    /// A worker that has half as many connections again as the average gives the surplus away; a worker that is alone
    /// does not.
    #[test]
    fn surplus() -> io::Result<()> {
        let board = Board::new(CELLS)?;
        let one = Share::new(Board::open(board.as_fd().try_clone_to_owned()?, CELLS)?, 0);
        let mut surplus = Vec::new();
        for connections in 1..=12 {
            one.enter();
            set_serving(&board, 1, 1);
            assert_eq!(0, one.surplus(), "{connections}");
            set_serving(&board, 2, 2);
            surplus.push(one.surplus());
        }

        assert_eq!([0, 0, 0, 0, 3, 3, 4, 4, 5, 5, 6, 6], surplus[..]);
        Ok(())
    }

    /// A worker is free until it says otherwise; an ended worker is not full.
    #[test]
    fn full() -> io::Result<()> {
        let (board, one, other) = two_workers()?;
        one.set_full(true);

        assert!(one.has_free() && other.has_free());

        other.set_full(true);

        assert!(!one.has_free() && !other.has_free());

        clear(&board, 1);

        assert!(one.has_free());
        Ok(())
    }

    /// A worker that has clearly more connections than the other workers is ahead; a worker that is alone is not.
    #[test]
    fn ahead() -> io::Result<()> {
        let (board, one, other) = two_workers()?;
        for _ in 0..3 {
            one.enter();
        }

        assert!(one.is_ahead());
        assert!(!other.is_ahead());

        for _ in 0..3 {
            other.enter();
        }

        assert!(!one.is_ahead());

        clear(&board, 1);
        one.leave(1);

        assert!(!one.is_ahead(), "two are few");

        one.enter();
        set_serving(&board, 1, 2);

        assert!(!one.is_ahead());
        Ok(())
    }
}
