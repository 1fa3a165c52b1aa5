//! Counters and states of a server: numbers on a board that another process may read at any time.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_log::Counter;
use adyton_sys::board::Board;

use crate::board::crash_record::{self, LinePages, Trace, UnwrittenLines};
use crate::board::prefixes::{self, Prefixes};
use crate::board::site_counts::{self, Sites};

/// A number on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Cell {
    /// Calls that began inline, including those that were handed over.
    Begun,
    /// Calls that took so long that another thread took over the loop.
    HandedOver,
    /// Calls that waited in the queue for a thread.
    Queued,
    /// Requests that were answered 503 because no thread came free in time.
    TurnedAway,
    /// Requests in the queue whose client had gone.
    Departed,
    /// Calls that were interrupted.
    TimedOut,
    /// Calls that went on although they were interrupted.
    Stuck,
    /// Waits for the kernel.
    Waits,
    /// Connections that were accepted.
    Accepted,
    /// Connections that were passed on to another process.
    PassedOn,
    /// Connections that another process has passed on.
    Arrived,
    /// Answers with 1xx. The other classes follow.
    Answers1,
    /// Answers with 2xx.
    Answers2,
    /// Answers with 3xx.
    Answers3,
    /// Answers with 4xx.
    Answers4,
    /// Answers with 5xx.
    Answers5,
    /// Bytes of response bodies.
    BodyBytes,
    /// Bytes that clients have sent and a loop has read.
    ReceivedBytes,
    /// Static files: answers from the cache.
    StaticHits,
    /// Static files: opened.
    StaticLoads,
    /// Static files: evicted to keep within the cache's limits.
    StaticEvictions,
    /// Requests that were answered with a kept answer.
    CacheHits,
    /// Requests that were answered with a stale kept answer while it was fetched anew.
    CacheStale,
    /// Requests to routes that keep answers, if no answer was kept for the request.
    CacheMisses,
    /// Requests that have waited for the answer to another request.
    CacheCollapsed,
    /// Refused: malformed requests. The other causes follow.
    Malformed,
    /// Refused: heads that took too long.
    HeadTooSlow,
    /// Refused: bodies that took too long.
    BodyTooSlow,
    /// Refused: bodies that were too large.
    BodyTooLarge,
    /// Refused: request lines that were too long.
    LineTooLong,
    /// Refused: heads, or fields, that were too large, or too many.
    HeadTooLarge,
    /// Refused: bodies for which there was no room.
    NoRoom,
    /// Refused: slow connections that had to make room for other connections.
    Crowded,
    /// Refused: requests for which there was no thread in time.
    Overload,
    /// Refused: requests for a group of which no process took the request.
    NoGroup,
    /// Refused: versions, codings and expectations that are not known here, and bodies that cannot move.
    Unsupported,
    /// Lines of the access log that were lost.
    LinesLost,
    /// Entries of the error log that were lost.
    EntriesLost,
    /// Connections that were in the middle of a request when their process died, or that could not be taken from a
    /// passage.
    ConnectionsLost,
    /// Connections that wait for a request. This cell and all below describe the present state.
    Idle,
    /// Connections that send a request.
    Receiving,
    /// Connections that are with the application, or wait for it.
    Asking,
    /// Connections that take an answer.
    Answering,
    /// Connections that wait for room on the way to another process.
    Moving,
    /// Connections that are being closed.
    Closing,
    /// Threads of the server that run the application, or could.
    Threads,
    /// Threads inside the application.
    ThreadsBusy,
    /// Requests that wait in the queue.
    QueueLength,
    /// Files in the static cache.
    StaticEntries,
    /// Memory of the static cache, bytes.
    StaticBytes,
    /// Answers that are kept for other requests.
    CacheEntries,
    /// Memory of the kept answers, bytes.
    CacheBytes,
    /// Loops that take connections.
    Listening,
    /// Signs of life.
    Beats,
    /// The number of the ailment that keeps the server from giving signs of life.
    Ailment,
    /// How many cells there are.
    End,
}

impl Cell {
    /// Returns the cell of a status's class; a status that no client ever sees (an answer that was cut before its head)
    /// is a 5xx.
    pub(crate) fn of_status(status: u16) -> Self {
        match status / 100 {
            1 => Self::Answers1,
            2 => Self::Answers2,
            3 => Self::Answers3,
            4 => Self::Answers4,
            _ => Self::Answers5,
        }
    }
}

/// A distribution on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Histogram {
    /// Time from the moment in which the loop learned of a request until its answer was whole.
    Duration,
    /// Time that requests have waited in the queue.
    QueueWait,
    /// Time that threads have waited for the interpreter.
    InterpreterWait,
    /// How many histograms there are.
    End,
}

/// Upper bounds of a histogram's classes in microseconds; one more class counts all longer times.
pub const BOUNDS_US: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

/// Cells of one histogram: its classes, and the sum in microseconds.
const HISTOGRAM_CELLS: usize = BOUNDS_US.len() + 2;

/// Cells of the numbers of a board.
const CELLS: usize = Cell::End as usize + Histogram::End as usize * HISTOGRAM_CELLS;

/// Place on a board of the distribution of answers' durations.
const DURATIONS: usize = Cell::End as usize + Histogram::Duration as usize * HISTOGRAM_CELLS;

/// Place on a board of the table of sites.
const SITES: usize = CELLS + prefixes::CELLS;

/// Place on a board of the record that a worker leaves when it dies.
const CRASH_RECORD: usize = SITES + site_counts::CELLS;

/// Cells of a whole board.
const BOARD_CELLS: usize = CRASH_RECORD + crash_record::CELLS;

/// An answer, as far as it is counted.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    /// The row of the request's path.
    pub(crate) row: u8,
    /// The row of the request's site, if sites are counted.
    pub(crate) row_of_site: Option<u8>,
    pub(crate) duration_us: u64,
}

/// The numbers of one server.
pub struct Tally {
    board: Arc<Board>,
    /// Whether only one loop writes the cells that loops write: then no locked instruction is needed.
    single: bool,
}

impl Tally {
    /// A tally that only this process sees.
    ///
    /// # Errors
    ///
    /// The process is out of memory or descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self { board: Arc::new(Board::new(BOARD_CELLS)?), single: false })
    }

    /// A tally on the board that another process has made.
    ///
    /// # Errors
    ///
    /// The descriptor is no board.
    pub fn open(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self { board: Arc::new(Board::open(fd, BOARD_CELLS)?), single: false })
    }

    /// Says whether only one loop writes.
    pub(crate) fn set_single(&mut self, single: bool) {
        self.single = single;
    }

    /// The memory of the tally, for another process.
    pub fn board(&self) -> &Board {
        &self.board
    }

    fn cell(&self, cell: Cell) -> &AtomicU64 {
        &self.board.cells()[cell as usize]
    }

    /// Returns the number in a cell.
    pub fn get(&self, cell: Cell) -> u64 {
        self.cell(cell).load(Ordering::Relaxed)
    }

    /// Sets the number in a cell.
    pub(crate) fn set(&self, cell: Cell, number: u64) {
        self.cell(cell).store(number, Ordering::Relaxed);
    }

    /// Changes the share that one part of the server has in a cell from `before`, the share that was told last, to
    /// `now`; the cell holds the sum of the shares.
    pub(crate) fn shift(&self, cell: Cell, before: u64, now: u64) {
        self.cell(cell).fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Adds one to a cell, on any thread.
    pub(crate) fn count(&self, cell: Cell) {
        self.cell(cell).fetch_add(1, Ordering::Relaxed);
    }

    /// Adds to a cell that only loops write.
    pub(crate) fn add(&self, cell: Cell, number: u64) {
        self.add_to(self.cell(cell), number);
    }

    fn add_to(&self, cell: &AtomicU64, number: u64) {
        if self.single {
            cell.store(cell.load(Ordering::Relaxed) + number, Ordering::Relaxed);
        } else {
            cell.fetch_add(number, Ordering::Relaxed);
        }
    }

    fn histogram(&self, histogram: Histogram) -> &[AtomicU64] {
        let start = Cell::End as usize + histogram as usize * HISTOGRAM_CELLS;
        &self.board.cells()[start..start + HISTOGRAM_CELLS]
    }

    /// Adds a time to a distribution that any thread writes.
    pub(crate) fn observe(&self, histogram: Histogram, us: u64) {
        let cells = self.histogram(histogram);
        cells[class_of(us)].fetch_add(1, Ordering::Relaxed);
        cells[HISTOGRAM_CELLS - 1].fetch_add(us, Ordering::Relaxed);
    }

    /// Returns the row in which an answer to a request for `path` is counted.
    pub(crate) fn row_of(&self, path: &[u8], status: u16) -> u8 {
        // Only a path that was answered with 2xx gets a row: paths that a client guesses mostly get another status.
        prefixes::row_of(&self.board.cells()[CELLS..SITES], path, (200..300).contains(&status))
    }

    /// Counts an answer, in all places at once: each look for the cells of the board costs instructions.
    pub(crate) fn note_answer(&self, answered: &Answered) {
        let Answered { status, body_bytes, row, row_of_site, duration_us } = *answered;
        let cells = self.board.cells();
        let add = |cell: &AtomicU64, number: u64| self.add_to(cell, number);
        add(&cells[Cell::of_status(status) as usize], 1);
        add(&cells[Cell::BodyBytes as usize], body_bytes);
        let durations = &cells[DURATIONS..DURATIONS + HISTOGRAM_CELLS];
        add(&durations[class_of(duration_us)], 1);
        add(&durations[HISTOGRAM_CELLS - 1], duration_us);
        let of_path = prefixes::counts_of(&cells[CELLS..SITES], row);
        let of_site = row_of_site.and_then(|row| site_counts::counts_of(&cells[SITES..CRASH_RECORD], row));
        let count = |[requests, errors, us]: &[AtomicU64; 3]| {
            add(requests, 1);
            add(errors, u64::from(status >= 500));
            add(us, duration_us);
        };
        of_path.map(count);
        of_site.map(count);
    }

    /// Returns the row in which answers of a site are counted. Only one thread at a time may call it.
    pub(crate) fn row_of_site(&self, name: Option<&str>) -> u8 {
        site_counts::row_of(&self.board.cells()[SITES..CRASH_RECORD], name)
    }

    /// The pages for lines of the access log that are not written yet.
    pub(crate) fn pages(&self) -> LinePages {
        LinePages::new(Arc::clone(&self.board), CRASH_RECORD)
    }

    /// Returns a counter for a cell that another part of the process counts in.
    pub(crate) fn counter(&self, cell: Cell) -> Counter {
        Counter::new(Arc::clone(&self.board), cell as usize)
    }

    /// Has the error log of a worker note its unwritten entries on the board, and count the entries that it loses.
    pub fn keep_entries(&self) {
        let entries = UnwrittenLines::of_entries(Arc::clone(&self.board), CRASH_RECORD);
        adyton_log::leave_in(self.counter(Cell::EntriesLost), Box::new(entries));
    }

    /// Returns a place in which a thread notes the request that it is in; `None` when too many threads have one.
    pub(crate) fn trace(&self) -> Option<Trace> {
        Trace::take(&self.board, CRASH_RECORD)
    }

    /// The unwritten lines of a dead process, by the [key](adyton_log::sink::Destination::key) of their access log.
    pub fn lines_left(&self) -> BTreeMap<u64, Vec<u8>> {
        crash_record::lines(&self.board.cells()[CRASH_RECORD..])
    }

    /// The entries of the error log that a dead process has not written.
    pub fn entries_left(&self) -> Vec<u8> {
        crash_record::entries(&self.board.cells()[CRASH_RECORD..])
    }

    /// The requests that were inside the application when the process died.
    pub fn inside(&self) -> Vec<String> {
        crash_record::inside(&self.board.cells()[CRASH_RECORD..])
    }

    /// Reads all numbers as they are now.
    pub fn sample(&self) -> Sample {
        let (numbers, tables) = self.board.cells()[..CRASH_RECORD].split_at(CELLS);
        let (of_prefixes, of_sites) = tables.split_at(prefixes::CELLS);
        let cells = numbers.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
        Sample { cells, prefixes: prefixes::read(of_prefixes), sites: site_counts::read(of_sites) }
    }
}

fn class_of(us: u64) -> usize {
    BOUNDS_US.partition_point(|&bound| bound < us)
}

/// A board as it was at one moment, or the sum of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    cells: Vec<u64>,
    prefixes: Prefixes,
    sites: Sites,
}

impl Default for Sample {
    fn default() -> Self {
        Self { cells: vec![0; CELLS], prefixes: Prefixes::new(), sites: Sites::new() }
    }
}

impl Sample {
    /// Adds to the number in a cell.
    pub fn count(&mut self, cell: Cell, number: u64) {
        self.cells[cell as usize] += number;
    }

    /// The numbers, in an order that only this version of the program knows.
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }

    /// Requests by the first segment of their path.
    pub fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }

    /// Requests by the name of their site, if there is more than one.
    pub fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Makes a sample of the numbers that [`Sample::cells`], [`Sample::prefixes`] and [`Sample::sites`] have given; the
    /// cells of another version count as 0.
    pub fn of(cells: &[u64], prefixes: Prefixes, sites: Sites) -> Self {
        let cells = if cells.len() == CELLS { cells.to_vec() } else { vec![0; CELLS] };
        Self { cells, prefixes, sites }
    }

    /// Returns the number in a cell.
    pub fn get(&self, cell: Cell) -> u64 {
        self.cells[cell as usize]
    }

    /// The counts of a histogram's classes, from the quickest on, and the sum in microseconds.
    pub fn histogram(&self, histogram: Histogram) -> (&[u64], u64) {
        let start = Cell::End as usize + histogram as usize * HISTOGRAM_CELLS;
        let cells = &self.cells[start..start + HISTOGRAM_CELLS];
        (&cells[..HISTOGRAM_CELLS - 1], cells[HISTOGRAM_CELLS - 1])
    }

    /// Answers of every class.
    pub fn answers(&self) -> u64 {
        self.cells[Cell::Answers1 as usize..=Cell::Answers5 as usize].iter().sum()
    }

    /// Adds another board to this one.
    pub fn add(&mut self, other: &Self) {
        for (cell, other) in self.cells.iter_mut().zip(&other.cells) {
            *cell = cell.wrapping_add(*other);
        }
        self.add_tables(other);
    }

    fn add_tables(&mut self, other: &Self) {
        prefixes::add(&mut self.prefixes, &other.prefixes);
        prefixes::add(&mut self.sites, &other.sites);
    }

    /// Adds the counters of a board that no process writes any more; its cells for the present state are left out.
    pub fn add_past(&mut self, other: &Self) {
        self.add_tables(other);
        let standing = Cell::Idle as usize..Cell::End as usize;
        for (at, (cell, other)) in self.cells.iter_mut().zip(&other.cells).enumerate() {
            if !standing.contains(&at) {
                *cell = cell.wrapping_add(*other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BOUNDS_US, Cell, Histogram, Tally, class_of};

    /// A time belongs to the first class whose bound it does not exceed.
    #[test]
    fn classes() {
        assert_eq!(0, class_of(0));
        assert_eq!(0, class_of(BOUNDS_US[0]));
        assert_eq!(1, class_of(BOUNDS_US[0] + 1));
        assert_eq!(BOUNDS_US.len(), class_of(u64::MAX));
    }

    /// The counters of an ended worker remain, and its states do not.
    #[test]
    fn passed() -> std::io::Result<()> {
        let tally = Tally::new()?;
        tally.count(Cell::Begun);
        tally.set(Cell::Idle, 7);
        tally.observe(Histogram::QueueWait, 300);

        let mut sum = tally.sample();
        sum.add_past(&tally.sample());

        assert_eq!((2, 7), (sum.get(Cell::Begun), sum.get(Cell::Idle)));
        assert_eq!(
            (&[0, 0, 2][..], 600),
            (&sum.histogram(Histogram::QueueWait).0[..3], sum.histogram(Histogram::QueueWait).1)
        );
        Ok(())
    }
}
