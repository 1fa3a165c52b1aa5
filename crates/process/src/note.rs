//! What a supervisor leaves to the program that takes its place (SIGUSR2): all it knows, and descriptors by their numbers.
//!
//! They stay open, and the workers are the children of the same process before and after.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use adyton_server::prefixes::Asked;
use adyton_server::share;
use adyton_server::tally::{Sample, Tally};
use adyton_sys::board::Board;
use adyton_sys::child;
use serde::{Deserialize, Serialize};

use crate::cause::Reason;
use crate::demand::Bounds;
use crate::message::Channel;
use crate::ports::Sockets;
use crate::pulse::Pulse;
use crate::slot::{Slot, Staff, State};

/// Stands where the number of a note would: the program shall only look whether it could go on here, with what the user
/// typed.
pub const TRIAL: &str = "trial";

/// Everything that a supervisor knows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    pub(crate) slots: Vec<NotedSlot>,
    /// Between which numbers the workers change by themselves, however many they are now.
    pub(crate) bounds: Option<Bounds>,
    pub(crate) generation: u32,
    pub(crate) proven: u32,
    pub(crate) starts: u64,
    pub(crate) since_ms: u64,
    pub(crate) serves: String,
    pub(crate) past: Vec<u64>,
    /// Requests, errors and microseconds of each prefix.
    #[serde(default)]
    pub(crate) prefixes: BTreeMap<String, [u64; 3]>,
    pub(crate) deaths: BTreeMap<String, u64>,
    /// From where on is logged, if somebody has changed that.
    pub(crate) log_level: Option<String>,
    pub(crate) control: Option<RawFd>,
    pub(crate) admin: Option<RawFd>,
    pub(crate) shares: RawFd,
    /// Sockets of slots that there are no more.
    pub(crate) spare: Vec<Vec<Vec<RawFd>>>,
}

/// The sockets of an earlier life.
pub struct Taken {
    /// Those of each slot.
    pub slots: Vec<Sockets>,
    /// Where programs give orders.
    pub control: Option<OwnedFd>,
    /// Where monitors ask.
    pub admin: Option<OwnedFd>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedSlot {
    pub(crate) sockets: Vec<Vec<RawFd>>,
    pub(crate) workers: Vec<NotedWorker>,
    pub(crate) retires_ms: Option<u64>,
}

/// A worker that serves, or drains; others are not there when a note is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedWorker {
    pid: u32,
    generation: u32,
    drains: bool,
    seat: usize,
    channel: RawFd,
    board: RawFd,
    started_ms: u64,
    serving_ms: Option<u64>,
    due_ms: Option<u64>,
    replace: Option<Reason>,
    told: Option<Reason>,
    hurried: bool,
    requests_max: u64,
    lifetime_max_ms: u64,
}

impl Note {
    /// Reads the note that lies in the descriptor with this number.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn read(number: &str) -> io::Result<Self> {
        let number = number.parse().map_err(io::Error::other)?;
        let text = io::read_to_string(std::fs::File::from(child::inherit(number)?))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Takes the sockets over.
    ///
    /// # Errors
    ///
    /// One is not there.
    pub fn take_sockets(&self) -> io::Result<Taken> {
        Ok(Taken {
            slots: self.slots.iter().map(|slot| take(&slot.sockets)).collect::<io::Result<_>>()?,
            control: self.control.map(child::inherit).transpose()?,
            admin: self.admin.map(child::inherit).transpose()?,
        })
    }

    /// The bounds of the number of workers, which that number may have left since they were set; a program that is older
    /// than they are says nothing of them.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// Takes over where workers count their connections.
    pub(crate) fn take_shares(&self) -> io::Result<Board> {
        Board::open(child::inherit(self.shares)?, share::CELLS)
    }

    /// Takes over what slots had that there are no more.
    pub(crate) fn take_spare(&self) -> io::Result<Vec<Sockets>> {
        self.spare.iter().map(|slot| take(slot)).collect()
    }

    /// Takes the workers over, into the slots that have their sockets already.
    pub(crate) fn take_workers(&self, slots: &mut [Slot]) -> io::Result<Sample> {
        let is_readable = self.past.len() == Sample::default().cells().len();
        for (slot, noted) in slots.iter_mut().zip(&self.slots) {
            slot.retires_ms = noted.retires_ms;
            for worker in &noted.workers {
                slot.workers.push(worker.take(is_readable)?);
            }
        }
        let asked = |&[requests, errors, duration_us]: &[u64; 3]| Asked { requests, errors, duration_us };
        let prefixes = self.prefixes.iter().map(|(name, counts)| (name.clone(), asked(counts))).collect();
        Ok(Sample::of(&self.past, prefixes))
    }
}

fn take(slot: &[Vec<RawFd>]) -> io::Result<Sockets> {
    slot.iter().map(|all| child::inherit_all(all)).collect()
}

impl NotedWorker {
    pub(crate) fn of(worker: &Staff) -> Self {
        Self {
            pid: worker.pid,
            generation: worker.generation,
            drains: worker.state != State::Serving,
            seat: worker.seat,
            channel: worker.channel.as_fd().as_raw_fd(),
            board: worker.tally.board().as_fd().as_raw_fd(),
            started_ms: worker.started_ms,
            serving_ms: worker.serving_ms,
            due_ms: worker.due_ms,
            replace: worker.replace.clone(),
            told: worker.told.clone(),
            hurried: worker.hurried,
            requests_max: worker.requests_max,
            lifetime_max_ms: worker.lifetime_max_ms,
        }
    }

    /// Takes a worker over. What one counts on a board of another version cannot be read: it is replaced.
    fn take(&self, is_readable: bool) -> io::Result<Staff> {
        let tally = Tally::open(child::inherit(self.board)?).ok().filter(|_| is_readable);
        let is_readable = tally.is_some();
        let other_version = || Reason::other("the supervisor is of another version");
        Ok(Staff {
            pid: self.pid,
            midwife: None,
            generation: self.generation,
            state: if self.drains { State::Draining } else { State::Serving },
            seat: self.seat,
            channel: Channel::new(child::inherit(self.channel)?),
            tally: tally.map_or_else(Tally::new, Ok)?,
            started_ms: self.started_ms,
            serving_ms: self.serving_ms,
            due_ms: self.due_ms,
            replace: if is_readable { self.replace.clone() } else { Some(other_version()) },
            told: self.told.clone(),
            hurried: self.hurried,
            doomed: None,
            requests_max: self.requests_max,
            lifetime_max_ms: self.lifetime_max_ms,
            rss_bytes: 0,
            cpu_ms: 0,
            pulse: Pulse::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::{AsFd, IntoRawFd, OwnedFd};

    use adyton_server::tally::Tally;
    use adyton_sys::board::Board;
    use adyton_sys::socket;

    use super::NotedWorker;
    use crate::cause::Reason;

    fn noted(board: &Board) -> io::Result<(NotedWorker, OwnedFd)> {
        let (ours, theirs) = socket::pair()?;
        let worker = NotedWorker {
            pid: 7,
            generation: 1,
            drains: false,
            seat: 0,
            channel: ours.into_raw_fd(),
            board: board.as_fd().try_clone_to_owned()?.into_raw_fd(),
            started_ms: 1,
            serving_ms: Some(2),
            due_ms: None,
            replace: None,
            told: None,
            hurried: false,
            requests_max: 0,
            lifetime_max_ms: 0,
        };
        Ok((worker, theirs))
    }

    /// A worker of this version goes on; one whose board nobody can read is replaced, and nothing fails.
    #[test]
    fn boards() -> io::Result<()> {
        let (same, _line) = noted(Tally::new()?.board())?;
        let (other, _line) = noted(&Board::new(3)?)?;

        assert_eq!(None, same.take(true)?.replace);
        assert_eq!(Some(Reason::other("the supervisor is of another version")), other.take(false)?.replace);
        Ok(())
    }

    /// Why a worker is to end is known afterwards, too; earlier programs have written the words alone.
    #[test]
    fn reasons() -> io::Result<()> {
        let (mut worker, _line) = noted(Tally::new()?.board())?;
        worker.replace = Some(Reason::Limit { limit: "it has answered 9 requests".to_owned() });
        worker.told = worker.replace.clone();
        let mut written = serde_json::to_value(&worker)?;

        assert_eq!(worker.told, serde_json::from_value::<NotedWorker>(written.clone())?.told);

        written["told"] = "a new version serves".into();

        assert_eq!(
            Some(Reason::other("a new version serves")),
            serde_json::from_value::<NotedWorker>(written)?.told
        );
        Ok(())
    }
}
