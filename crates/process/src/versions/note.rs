//! The note that a supervisor leaves to the program that takes its place (SIGUSR2): its whole state, with descriptors
//! by their numbers.
//!
//! The descriptors stay open, and the workers are children of the same process before and after.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use adyton_server::prefixes::PrefixCount;
use adyton_server::share;
use adyton_server::tally::{Sample, Tally};
use adyton_sys::board::Board;
use adyton_sys::child;
use serde::{Deserialize, Serialize};

use crate::groups::branches::{Branch, BranchId, Branches, Standing};
use crate::groups::doorways::{Doorway, Doorways, GroupPlan};
use crate::groups::group_sockets::{GroupSocket, NotedSocket};
use crate::lines::links::Link;
use crate::lines::message::Channel;
use crate::lines::ports::{self, Sockets};
use crate::workers::cause::Reason;
use crate::workers::demand::Bounds;
use crate::workers::worker_process::Record;

/// A word in the place of a note's number: the program is only to check whether it could take over, with the user's
/// arguments.
pub const TRIAL: &str = "trial";

/// The whole state of a supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    pub(crate) slots: Vec<NotedSlot>,
    /// Bounds between which the number of workers changes by itself, whatever the number is now.
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
    /// Requests, errors and microseconds of each site.
    #[serde(default)]
    pub(crate) sites: BTreeMap<String, [u64; 3]>,
    pub(crate) deaths: BTreeMap<String, u64>,
    /// The level of the log, if it was changed while the server ran.
    pub(crate) log_level: Option<String>,
    pub(crate) control: Option<RawFd>,
    pub(crate) admin: Option<RawFd>,
    pub(crate) shares: RawFd,
    /// Sockets of former slots.
    pub(crate) spare: Vec<Vec<Vec<RawFd>>>,
    /// The groups; an earlier program had none.
    #[serde(default)]
    pub(crate) branches: Option<NotedBranches>,
}

/// The groups of a server, and their supervisors.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedBranches {
    pub(crate) all: Vec<NotedBranch>,
    /// The branches of each version, by generation.
    pub(crate) versions: BTreeMap<u32, Vec<BranchId>>,
    pub(crate) open: RawFd,
    pub(crate) secret: RawFd,
    /// The sockets that groups have to themselves, each once; an earlier program had none.
    #[serde(default)]
    pub(crate) sockets: Vec<NotedSocket>,
}

/// A branch that serves, or sleeps; no branch is in another state when a note is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedBranch {
    pub(crate) id: BranchId,
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    /// The branch's process; 0 if it sleeps.
    pub(crate) pid: u32,
    pub(crate) since_ms: u64,
    pub(crate) starts: u64,
    pub(crate) cell: usize,
    pub(crate) door: RawFd,
    pub(crate) branch: RawFd,
    pub(crate) line: Option<RawFd>,
    pub(crate) edition: RawFd,
    /// The addresses that the branch has to itself.
    #[serde(default)]
    pub(crate) addresses: Vec<String>,
}

/// The sockets that an earlier program has left.
pub struct Taken {
    /// The sockets of each slot.
    pub slots: Vec<Sockets>,
    /// The control socket, where programs give orders.
    pub control: Option<OwnedFd>,
    /// The admin listener, where monitors ask.
    pub admin: Option<OwnedFd>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedSlot {
    pub(crate) sockets: Vec<Vec<RawFd>>,
    pub(crate) workers: Vec<NotedWorker>,
    pub(crate) retires_ms: Option<u64>,
}

/// A worker that serves, or drains; no worker is in another state when a note is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotedWorker {
    #[serde(flatten)]
    record: Record,
    channel: RawFd,
    board: RawFd,
}

/// The time at which a slot is given up, if it is, and the records of its workers.
pub(crate) type TakenSlot = (Option<u64>, Vec<Record>);

impl Note {
    /// Reads the note in the descriptor with this number.
    ///
    /// # Errors
    ///
    /// No descriptor has this number, or it holds no note.
    pub fn read(number: &str) -> io::Result<Self> {
        let number = number.parse().map_err(io::Error::other)?;
        let text = io::read_to_string(std::fs::File::from(child::inherit(number)?))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Takes the sockets over.
    ///
    /// # Errors
    ///
    /// A socket is not there.
    pub fn take_sockets(&self) -> io::Result<Taken> {
        Ok(Taken {
            slots: self.slots.iter().map(|slot| ports::inherit(&slot.sockets)).collect::<io::Result<_>>()?,
            control: self.control.map(child::inherit).transpose()?,
            admin: self.admin.map(child::inherit).transpose()?,
        })
    }

    /// Takes over the sockets that groups have to themselves.
    ///
    /// # Errors
    ///
    /// A socket is not there.
    pub fn take_group_sockets(&self) -> io::Result<Vec<Arc<GroupSocket>>> {
        let noted = self.branches.iter().flat_map(|branches| &branches.sockets);
        noted.map(|socket| socket.take().map(Arc::new)).collect()
    }

    /// Returns the bounds of the number of workers; the number may be outside of them by now. An older program, which
    /// knew no bounds, has noted none.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// Takes over the board on which workers count their connections.
    pub(crate) fn take_shares(&self) -> io::Result<Board> {
        Board::open(child::inherit(self.shares)?, share::CELLS)
    }

    /// Takes over the sockets of former slots.
    pub(crate) fn take_spare(&self) -> io::Result<Vec<Sockets>> {
        self.spare.iter().map(|slot| ports::inherit(slot)).collect()
    }

    /// Takes over the branches, each with the plan of its name among `groups`, and with its own addresses among
    /// `sockets`. A branch that no plan names any more gets a stand-in, and is not started again.
    pub(crate) fn take_branches(
        &self,
        groups: &[GroupPlan],
        sockets: &[Arc<GroupSocket>],
        leave_ms: u64,
    ) -> io::Result<Option<(Branches, Doorways)>> {
        let Some(noted) = &self.branches else { return Ok(None) };
        let (mut all, mut doorways) = (Vec::new(), BTreeMap::new());
        for branch in &noted.all {
            let plan = groups.iter().find(|group| group.name == branch.name);
            let Some(plan) = plan.or(groups.first()) else { continue };
            let plan = GroupPlan {
                name: branch.name.clone(),
                fingerprint: branch.fingerprint.clone(),
                sockets: sockets
                    .iter()
                    .filter(|one| branch.addresses.contains(&one.address))
                    .cloned()
                    .collect(),
                ..plan.clone()
            };
            let standing = match branch.pid {
                0 => Standing::Asleep,
                pid => Standing::Serving { pid, since_ms: branch.since_ms, idles: false },
            };
            all.push(Branch { id: branch.id, key: plan.key(), standing, failures: 0, starts: branch.starts });
            let line = branch.line.map(|line| child::inherit(line).map(Channel::new)).transpose()?;
            let [door, ours, edition] = [branch.door, branch.branch, branch.edition].map(child::inherit);
            doorways.insert(branch.id, Doorway::new([door?, ours?, edition?], line, branch.cell, plan));
        }
        let doorways = Doorways::taken(doorways, child::inherit(noted.open)?, child::inherit(noted.secret)?)?;
        Ok(Some((Branches::taken(all, noted.versions.clone(), leave_ms), doorways)))
    }

    /// Returns the counts of workers that had ended.
    pub(crate) fn past(&self) -> Sample {
        let asked =
            |&[requests, errors, duration_us]: &[u64; 3]| PrefixCount { requests, errors, duration_us };
        let table = |noted: &BTreeMap<String, [u64; 3]>| {
            noted.iter().map(|(name, counts)| (name.clone(), asked(counts))).collect()
        };
        Sample::of(&self.past, table(&self.prefixes), table(&self.sites))
    }

    /// Takes the workers over. Returns for each slot the time when the slot is given up, with its workers, and the
    /// links to all workers in the same order.
    pub(crate) fn take_workers(&self) -> io::Result<(Vec<TakenSlot>, Vec<Link>)> {
        let is_readable = self.past.len() == Sample::default().cells().len();
        let (mut slots, mut links) = (Vec::new(), Vec::new());
        for slot in &self.slots {
            let mut records = Vec::new();
            for worker in &slot.workers {
                let (record, link) = worker.take(is_readable)?;
                records.push(record);
                links.push(link);
            }
            slots.push((slot.retires_ms, records));
        }
        Ok((slots, links))
    }
}

impl NotedWorker {
    pub(crate) fn new(record: Record, link: &Link) -> Self {
        let (channel, board) = (link.channel().as_fd().as_raw_fd(), link.tally().board().as_fd().as_raw_fd());
        Self { record, channel, board }
    }

    /// Takes a worker over. The counts of a worker on a board of another version cannot be read, so that worker is
    /// replaced.
    fn take(&self, is_readable: bool) -> io::Result<(Record, Link)> {
        let tally = Tally::open(child::inherit(self.board)?).ok().filter(|_| is_readable);
        let mut record = self.record.clone();
        if tally.is_none() {
            record.replace = Some(Reason::other("the supervisor is of another version"));
        }
        let channel = Channel::new(child::inherit(self.channel)?);
        Ok((record, Link::new(channel, tally.map_or_else(Tally::new, Ok)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::{AsFd, IntoRawFd, OwnedFd};

    use adyton_server::tally::Tally;
    use adyton_sys::board::Board;
    use adyton_sys::socket;

    use super::{NotedWorker, Record};
    use crate::workers::cause::Reason;

    fn noted(board: &Board) -> io::Result<(NotedWorker, OwnedFd)> {
        let (ours, theirs) = socket::pair()?;
        let record = Record {
            pid: 7,
            generation: 1,
            drains: false,
            row: 0,
            started_ms: 1,
            serving_ms: Some(2),
            due_ms: None,
            replace: None,
            told: None,
            hurried: false,
            requests_max: 0,
            lifetime_max_ms: 0,
        };
        let worker = NotedWorker {
            record,
            channel: ours.into_raw_fd(),
            board: board.as_fd().try_clone_to_owned()?.into_raw_fd(),
        };
        Ok((worker, theirs))
    }

    /// A worker of this version goes on; a worker whose board cannot be read is replaced, and nothing fails.
    #[test]
    fn boards() -> io::Result<()> {
        let (same, _line) = noted(Tally::new()?.board())?;
        let (other, _line) = noted(&Board::new(3)?)?;

        assert_eq!(None, same.take(true)?.0.replace);
        assert_eq!(Some(Reason::other("the supervisor is of another version")), other.take(false)?.0.replace);
        Ok(())
    }

    /// The next program learns the reason why a worker is to end. Earlier programs noted a reason only in words; such a
    /// note is read, too.
    #[test]
    fn reasons() -> io::Result<()> {
        let (mut worker, _line) = noted(Tally::new()?.board())?;
        worker.record.replace = Some(Reason::Limit { limit: "it has answered 9 requests".to_owned() });
        worker.record.told = worker.record.replace.clone();
        let mut written = serde_json::to_value(&worker)?;

        assert_eq!(worker.record.told, serde_json::from_value::<NotedWorker>(written.clone())?.record.told);

        written["told"] = "a new version serves".into();

        assert_eq!(
            Some(Reason::other("a new version serves")),
            serde_json::from_value::<NotedWorker>(written)?.record.told
        );
        Ok(())
    }
}
