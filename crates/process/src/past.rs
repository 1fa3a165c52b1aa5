//! What workers have left that are gone: what they have counted, why they have ended, and lines that they had not logged.

use std::collections::BTreeMap;

use adyton_log::sink::Destination;
use adyton_log::{self as log, Journal, messages};
use adyton_server::tally::{Cell, Sample, Tally};

use crate::cause::Cause;

/// What the lines of dead workers may take in memory, whatever else may wait for a log: several can leave 272 KiB each.
const LEFT_BYTES_MAX: usize = 4 << 20;

/// What is left of them.
pub(crate) struct Past {
    counted: Sample,
    deaths: BTreeMap<Cause, u64>,
    /// Where the lines go, once there were any.
    lines_left: Option<Journal>,
    /// Where requests are logged.
    access_log: Option<Destination>,
    queue_bytes_max: usize,
}

impl Past {
    /// No worker is gone yet. Lines go to this access log; at most `queue_bytes_max` bytes wait for it.
    pub(crate) fn new(access_log: Option<Destination>, queue_bytes_max: usize) -> Self {
        Self {
            counted: Sample::default(),
            deaths: BTreeMap::new(),
            lines_left: None,
            access_log,
            queue_bytes_max,
        }
    }

    /// Goes on where another program has left off.
    pub(crate) fn take(&mut self, counted: Sample, deaths: BTreeMap<Cause, u64>) {
        (self.counted, self.deaths) = (counted, deaths);
    }

    /// A worker is gone, whose board this was.
    pub(crate) fn add(&mut self, cause: Cause, tally: &Tally) {
        let lines = tally.lines_left();
        *self.deaths.entry(cause).or_default() += 1;
        self.counted.add_past(&tally.sample());
        self.write_lines(lines);
        let entries = tally.entries_left();
        if !entries.is_empty() {
            log::put_left(entries);
        }
    }

    /// Writes the lines of its access log that a worker has left, on a thread of the log's.
    fn write_lines(&mut self, lines: Vec<u8>) {
        let Some(target) = self.access_log.as_ref().filter(|_| !lines.is_empty()) else { return };
        let journal = match self.lines_left.take() {
            Some(journal) => Ok(journal),
            None => Journal::passing_access(target, self.queue_bytes_max.max(LEFT_BYTES_MAX)),
        };
        match journal {
            Ok(journal) => {
                journal.put_lines(lines, None);
                self.lines_left = Some(journal);
            }
            Err(error) => log::write(
                &messages::ACCESS_LOG_LOST,
                format_args!("no thread could be started to write the last lines of a worker: {error}"),
            ),
        }
    }

    /// How many have ended, by cause.
    pub(crate) fn deaths(&self) -> &BTreeMap<Cause, u64> {
        &self.deaths
    }

    /// What they have counted, with what this process itself could not log.
    pub(crate) fn total(&self) -> Sample {
        let mut sum = self.counted.clone();
        sum.count(Cell::LinesLost, self.lines_left.as_ref().map_or(0, Journal::lost));
        sum.count(Cell::EntriesLost, log::entries_lost());
        sum
    }

    /// Waits a moment for the lines to be written.
    pub(crate) fn settle(&self) {
        if let Some(lines) = &self.lines_left {
            lines.settle(log::END_PATIENCE);
        }
    }
}
