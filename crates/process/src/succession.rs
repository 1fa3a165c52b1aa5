//! What a supervisor leaves to the program that takes its place (SIGUSR2): all it knows, and descriptors by their numbers.
//!
//! They stay open, and the workers are the children of the same process before and after.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use adyton_log::{self as log, Level, messages};
use adyton_server::prefixes::Asked;
use adyton_server::share;
use adyton_server::tally::{Sample, Tally};
use adyton_sys::board::Board;
use adyton_sys::child::{self, Exit, Kick};
use adyton_sys::clock;
use serde::{Deserialize, Serialize};

use crate::admin::AdminServers;
use crate::cause::{Cause, Reason};
use crate::demand::Bounds;
use crate::message::Channel;
use crate::plan::Sockets;
use crate::pulse::Pulse;
use crate::slot::{Slot, Staff, State};
use crate::supervisor::Supervisor;

/// Stands where the number of a note would: the program shall only look whether it could go on here, with what the user
/// typed.
pub const TRIAL: &str = "trial";

/// How long the trial may take: an interpreter has to start, and to read settings.
const TRIAL_MS: u64 = 30_000;

/// How far another program has come on its way into this one's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Succession {
    /// Nobody has asked for it.
    #[default]
    Unasked,
    /// It is to be tried out.
    Wanted,
    /// A process shows whether it can be started, with these settings.
    Tried {
        pid: u32,
        /// Until when it has to be done; `None`: it was not, and has been killed.
        due_ms: Option<u64>,
    },
    /// It can be: its time comes when workers are not between two states.
    Proven,
    /// Whoever has asked how things stand gets the answer first.
    Closing,
}

impl Succession {
    /// The process of the trial.
    pub(crate) fn trial(self) -> Option<u32> {
        if let Self::Tried { pid, .. } = self { Some(pid) } else { None }
    }

    /// Whether a program is on its way whose trial is not to be repeated.
    pub(crate) fn has_begun(self) -> bool {
        matches!(self, Self::Tried { .. } | Self::Closing)
    }
}

/// Everything that a supervisor knows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    slots: Vec<NotedSlot>,
    /// Between which numbers the workers change by themselves, however many they are now.
    bounds: Option<Bounds>,
    pub(crate) generation: u32,
    pub(crate) proven: u32,
    pub(crate) starts: u64,
    pub(crate) since_ms: u64,
    pub(crate) serves: String,
    past: Vec<u64>,
    /// Requests, errors and microseconds of each prefix.
    #[serde(default)]
    prefixes: BTreeMap<String, [u64; 3]>,
    pub(crate) deaths: BTreeMap<String, u64>,
    /// From where on is logged, if somebody has changed that.
    log_level: Option<String>,
    control: Option<RawFd>,
    admin: Option<RawFd>,
    shares: RawFd,
    /// Sockets of slots that there are no more.
    spare: Vec<Vec<Vec<RawFd>>>,
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
struct NotedSlot {
    sockets: Vec<Vec<RawFd>>,
    workers: Vec<NotedWorker>,
    retires_ms: Option<u64>,
}

/// A worker that serves, or drains; others are not there when a note is written.
#[derive(Debug, Serialize, Deserialize)]
struct NotedWorker {
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
    fn take_shares(&self) -> io::Result<Board> {
        Board::open(child::inherit(self.shares)?, share::CELLS)
    }

    /// Takes over what slots had that there are no more.
    fn take_spare(&self) -> io::Result<Vec<Sockets>> {
        self.spare.iter().map(|slot| take(slot)).collect()
    }

    /// Takes the workers over, into the slots that have their sockets already.
    fn take_workers(&self, slots: &mut [Slot]) -> io::Result<Sample> {
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
    fn of(worker: &Staff) -> Self {
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

impl Supervisor {
    /// Puts its program, as it is on the disk now, into its own place. Comes back only if that fails.
    fn succeed(&self) -> io::Error {
        let note = match self.written() {
            Ok(note) => note,
            Err(error) => return error,
        };
        let number = note.as_raw_fd().to_string();
        let mut kept: Vec<BorrowedFd<'_>> = vec![note.as_fd()];
        for slot in &self.slots {
            kept.extend(slot.sockets.iter().flatten().map(AsFd::as_fd));
            for worker in &slot.workers {
                kept.extend([worker.channel.as_fd(), worker.tally.board().as_fd()]);
            }
        }
        kept.push(self.shares.as_fd());
        kept.extend(self.spare.iter().flatten().flatten().map(AsFd::as_fd));
        kept.extend([&self.control, &self.admin].into_iter().flatten().map(AsFd::as_fd));
        if let Some(lines) = &self.lines_left {
            lines.settle(log::END_PATIENCE);
        }
        log::settle();
        self.plan.program.replace_this(&self.plan.arguments_of("succeed", number), &kept)
    }

    fn written(&self) -> io::Result<OwnedFd> {
        let numbers = |all: &Vec<OwnedFd>| all.iter().map(AsRawFd::as_raw_fd).collect();
        let slots = self.slots.iter().map(|slot| NotedSlot {
            sockets: slot.sockets.iter().map(numbers).collect(),
            workers: slot.workers.iter().map(NotedWorker::of).collect(),
            // One that is back for a moment goes as if it had been given up now.
            retires_ms: slot.retires_ms.or(slot.is_recalled.then(clock::monotonic_ms)),
        });
        let mut past = self.past.clone();
        self.add_own_losses(&mut past);
        let note = Note {
            slots: slots.collect(),
            bounds: Some(self.plan.bounds),
            generation: self.generation,
            proven: self.proven,
            starts: self.starts,
            since_ms: self.since_ms,
            serves: self.serves.clone(),
            past: past.cells().to_vec(),
            prefixes: self
                .past
                .prefixes()
                .iter()
                .map(|(name, asked)| (name.clone(), [asked.requests, asked.errors, asked.duration_us]))
                .collect(),
            deaths: self.deaths.iter().map(|(cause, count)| (cause.word().to_owned(), *count)).collect(),
            log_level: self.log_level.map(|level| level.name().to_owned()),
            shares: self.shares.as_fd().as_raw_fd(),
            spare: self.spare.iter().map(|slot| slot.iter().map(numbers).collect()).collect(),
            control: self.control.as_ref().map(AsRawFd::as_raw_fd),
            admin: self.admin.as_ref().map(AsRawFd::as_raw_fd),
        };
        child::note(&serde_json::to_vec(&note)?)
    }

    /// Goes on where another program has left off.
    pub(crate) fn go_on(&mut self, note: &Note) -> io::Result<()> {
        self.past = note.take_workers(&mut self.slots)?;
        (self.shares, self.spare) = (note.take_shares()?, note.take_spare()?);
        (self.generation, self.proven, self.announced) = (note.generation, note.proven, note.generation);
        (self.starts, self.since_ms, self.serves) = (note.starts, note.since_ms, note.serves.clone());
        let known =
            note.deaths.iter().filter_map(|(word, count)| Cause::named(word).map(|cause| (cause, *count)));
        self.deaths = known.collect();
        if let Some(level) = note.log_level.as_deref().and_then(Level::named) {
            log::set_level(level);
            self.log_level = Some(level);
        }
        log::write(
            &messages::PROGRAM_REPLACED,
            format_args!("the supervisor is version {} now", env!("CARGO_PKG_VERSION")),
        );
        Ok(())
    }

    /// Has the program that is on the disk now take the place of this one, if it can be started: not while workers
    /// are between two states.
    pub(crate) fn make_way(&mut self, now_ms: u64) {
        match self.succession {
            Succession::Wanted if self.is_calm(now_ms) => self.try_out(now_ms),
            Succession::Tried { pid, due_ms: Some(due_ms) } if due_ms <= now_ms => {
                child::kick(pid, Kick::Kill);
                self.succession = Succession::Tried { pid, due_ms: None };
            }
            // What has begun while it was tried out is done first.
            Succession::Proven if self.is_calm(now_ms) => {
                // The next supervisor would not know them.
                self.dismiss_prototypes(|_| true, now_ms);
                if self.dismissed.is_empty() {
                    self.admin_servers.give_up();
                    self.succession = Succession::Closing;
                }
            }
            // What has begun meanwhile is done first.
            Succession::Closing if self.stop.is_none() && !self.is_calm(now_ms) => {
                self.succession = Succession::Proven;
                self.answer_again();
            }
            Succession::Closing if self.stop.is_none() && self.admin_servers.have_ended() => {
                let error = self.succeed();
                self.stay(&error);
                self.answer_again();
            }
            _ => {}
        }
    }

    /// Opens anew what was given up for a program that has not taken this one's place.
    fn answer_again(&mut self) {
        match AdminServers::open(&self.desk, self.control.as_ref(), self.admin.as_ref(), &self.plan.access) {
            Ok(servers) => std::mem::replace(&mut self.admin_servers, servers).clear(),
            Err(error) => log::write(
                &messages::PROGRAM_NOT_REPLACED,
                format_args!("nobody can ask this server any more, nor give it orders: {error}"),
            ),
        }
    }

    /// Whether what is to be there is there, and nothing has begun that a note does not tell of.
    fn is_calm(&self, now_ms: u64) -> bool {
        self.stop.is_none()
            && self.proven > 0
            && (self.announced == self.generation || self.stalled == self.generation)
            && self.prototypes.iter().all(|prototype| prototype.is_ready)
            && self.workers().all(|worker| worker.serving_ms.is_some())
            && !self.slots.iter().any(|slot| slot.wants_worker(self.generation, now_ms))
    }

    fn try_out(&mut self, now_ms: u64) {
        match self.plan.program.spawn(&self.plan.arguments_of("succeed", TRIAL.to_owned()), &[]) {
            Ok(pid) => self.succession = Succession::Tried { pid, due_ms: Some(now_ms + TRIAL_MS) },
            Err(error) => {
                self.succession = Succession::Unasked;
                log::write(
                    &messages::PROGRAM_NOT_STARTED,
                    format_args!("the program cannot be started: {error}"),
                );
            }
        }
    }

    /// The trial is over.
    pub(crate) fn note_trial(&mut self, exit: Exit) {
        match (self.succession, exit) {
            (Succession::Tried { due_ms: None, .. }, _) => {
                self.stay(&format_args!("it is not ready after {} s", TRIAL_MS / 1000));
            }
            (_, Exit::Status(0)) => self.succession = Succession::Proven,
            (_, Exit::Status(status)) => {
                self.stay(&format_args!("it ends with status {status}; the reason stands above"));
            }
            (_, Exit::Signal(number)) => {
                self.stay(&format_args!("it ends by {}", child::signal_name(number)));
            }
        }
    }

    fn stay(&mut self, why: &dyn fmt::Display) {
        self.succession = Succession::Unasked;
        log::write(
            &messages::PROGRAM_NOT_REPLACED,
            format_args!("the program cannot take this one's place, which goes on: {why}"),
        );
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
