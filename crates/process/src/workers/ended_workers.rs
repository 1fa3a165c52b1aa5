//! Workers that have ended: their counts, the causes of their ends, and lines that they had not logged.

use std::collections::BTreeMap;

use adyton_log::sink::Destination;
use adyton_log::{self as log, Journal, messages};
use adyton_server::tally::{Cell, Sample, Tally};

use crate::workers::cause::Cause;

/// At least so many bytes of dead workers' lines may wait for a log, whatever the limit is set to: several workers can
/// leave 272 KiB each.
const LEFT_BYTES_MAX: usize = 4 << 20;

/// The counts and lines of all workers that have ended.
pub(crate) struct EndedWorkers {
    counted: Sample,
    deaths: BTreeMap<Cause, u64>,
    /// The logs that have got such lines, by the keys of their destinations.
    lines_left: BTreeMap<u64, Journal>,
    /// The outputs of access logs: a worker whose board names another log is not believed.
    access_logs: Vec<Destination>,
    queue_bytes_max: usize,
}

/// Returns the number of connections that a worker's end has cut in the middle of a request. The board has the
/// connections as they stood a moment before the end, and the requests inside the application as they stood at the end.
fn lost(cause: Cause, sample: &Sample, tally: &Tally) -> u64 {
    if matches!(cause, Cause::Told | Cause::Limit | Cause::NotStarted) {
        return 0;
    }
    let others = [Cell::Receiving, Cell::Answering, Cell::Moving].map(|cell| sample.get(cell));
    let inside = u64::try_from(tally.inside().len()).unwrap_or(0);
    sample.get(Cell::Asking).max(inside) + others.iter().sum::<u64>()
}

impl EndedWorkers {
    /// Begins for a server of which no worker has ended. Lines go to these access logs; at most `queue_bytes_max` bytes
    /// wait for each.
    pub(crate) fn new(access_logs: Vec<Destination>, queue_bytes_max: usize) -> Self {
        Self {
            counted: Sample::default(),
            deaths: BTreeMap::new(),
            lines_left: BTreeMap::new(),
            access_logs,
            queue_bytes_max,
        }
    }

    /// Takes over from another program.
    pub(crate) fn take(&mut self, counted: Sample, deaths: BTreeMap<Cause, u64>) {
        (self.counted, self.deaths) = (counted, deaths);
    }

    /// Adds a worker that has ended, with the counts and lines on its board.
    pub(crate) fn add(&mut self, cause: Cause, tally: &Tally) {
        let lines = tally.lines_left();
        *self.deaths.entry(cause).or_default() += 1;
        let sample = tally.sample();
        self.counted.add_past(&sample);
        self.counted.count(Cell::ConnectionsLost, lost(cause, &sample, tally));
        for (key, lines) in lines {
            self.write_lines(key, lines);
        }
        let entries = tally.entries_left();
        if !entries.is_empty() {
            log::put_left(entries);
        }
    }

    /// Adds access logs, which workers write to from now on, too.
    pub(crate) fn add_logs(&mut self, access_logs: Vec<Destination>) {
        for log in access_logs {
            if !self.access_logs.contains(&log) {
                self.access_logs.push(log);
            }
        }
    }

    /// Writes the lines of an access log that a worker has left, on a thread of the log's.
    fn write_lines(&mut self, key: u64, lines: Vec<u8>) {
        if let Some(journal) = self.lines_left.get(&key) {
            journal.put_lines(lines, None);
            return;
        }
        let Some(target) = self.access_logs.iter().find(|log| log.key() == key) else { return };
        match Journal::passing_access(target, self.queue_bytes_max.max(LEFT_BYTES_MAX)) {
            Ok(journal) => {
                journal.put_lines(lines, None);
                self.lines_left.insert(key, journal);
            }
            Err(error) => log::write(
                &messages::ACCESS_LOG_LOST,
                format_args!("no thread could be started to write the last lines of a worker: {error}"),
            ),
        }
    }

    /// Returns how many workers have ended, by cause.
    pub(crate) fn deaths(&self) -> &BTreeMap<Cause, u64> {
        &self.deaths
    }

    /// Returns the workers' counts, with the lines and entries that this process itself could not log.
    pub(crate) fn total(&self) -> Sample {
        let mut sum = self.counted.clone();
        sum.count(Cell::LinesLost, self.lines_left.values().map(Journal::lost).sum());
        sum.count(Cell::EntriesLost, log::entries_lost());
        sum
    }

    /// Waits a moment for the lines to be written.
    pub(crate) fn settle(&self) {
        self.lines_left.values().for_each(|journal| journal.settle(log::END_PATIENCE));
    }
}
