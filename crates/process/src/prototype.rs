//! The prototype (`--preload`): a process that has imported the application once, and forks workers that share its
//! memory.
//!
//! A worker is forked twice, so that it is the supervisor's child and not the prototype's. What the application does at
//! forks may hang in each of the three: the supervisor hears of both new processes at once, to be able to end them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use adyton_log::{self as log, messages};
use adyton_sys::child::Kick;
use adyton_sys::{child, pass, socket};

use crate::message::{FromWorker, Source};
use crate::slot::LAST_WORDS_MS;
use crate::supervisor::Supervisor;
use crate::worker::{Place, Worker};

/// How long nobody is started in the place of the first prototype that could not import the application.
pub(crate) const PROTOTYPE_PAUSE_MS: u64 = 1_000;

/// What a prototype says when it has imported the application.
const READY: &[u8] = b"ready";

/// What it is told when logs are to be opened again.
const REOPEN: &[u8] = b"reopen";

/// A prototype, as the supervisor has it.
pub(crate) struct Prototype {
    pub(crate) pid: u32,
    pub(crate) generation: u32,
    pub(crate) is_ready: bool,
    pub(crate) due_ms: Option<u64>,
    /// It was not ready in time, or has not forked in time, and was made to say where it is.
    pub(crate) is_doomed: bool,
    line: OwnedFd,
}

/// One that nobody needs any more.
pub(crate) struct Dismissed {
    pub(crate) pid: u32,
    /// When it is killed.
    due_ms: Option<u64>,
}

impl Prototype {
    pub(crate) fn new(pid: u32, generation: u32, line: OwnedFd, due_ms: Option<u64>) -> Self {
        Self { pid, generation, is_ready: false, due_ms, is_doomed: false, line }
    }

    /// Takes note of what it says: that it is ready, or else which files are to blame, which are returned.
    pub(crate) fn listen(&mut self) -> Vec<Source> {
        let mut blamed = Vec::new();
        let says =
            |line: &OwnedFd| socket::wait_readable(&[line.as_fd()], 0).is_ok_and(|says| says == [true]);
        while !self.is_ready && says(&self.line) {
            // Its end is noticed as that of a child.
            let Ok(Some((said, _))) = pass::receive(&self.line) else { break };
            if said == READY {
                (self.is_ready, self.due_ms) = (true, None);
            } else if let Ok(FromWorker::Sources(files)) = serde_json::from_slice(&said) {
                blamed.extend(files);
            }
        }
        blamed
    }

    /// It does not follow orders: it is made to say where it is, and ended.
    pub(crate) fn doom(&mut self, now_ms: u64) {
        if !self.is_doomed {
            (self.is_ready, self.due_ms) = (false, Some(now_ms));
        }
    }

    /// Has it fork a worker.
    pub(crate) fn fork(&self, place: &Place, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        pass::send(&self.line, place.written().as_bytes(), descriptors)
    }
}

impl Supervisor {
    /// Has prototypes open their log again: else the file that was renamed stays open until the next reload.
    pub(crate) fn reopen_in_prototypes(&self) {
        for prototype in self.prototypes.iter().filter(|prototype| prototype.is_ready) {
            // One that is gone is noticed by its end.
            let _ = pass::send(&prototype.line, REOPEN, &[]);
        }
    }
}

impl AsFd for Prototype {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

impl Supervisor {
    /// Starts the process that workers of this generation are forked from; ends those that are no longer needed.
    pub(crate) fn keep_prototypes(&mut self, now_ms: u64) {
        if !self.plan.preload {
            return;
        }
        let (generation, proven) = (self.generation, self.proven);
        // The newest that has served is what is left if this one does not.
        self.dismiss_prototypes(|prototype| ![generation, proven].contains(&prototype.generation), now_ms);
        for prototype in &mut self.prototypes {
            if prototype.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                let pid = prototype.pid;
                if std::mem::replace(&mut prototype.is_doomed, true) {
                    child::kick(pid, Kick::Kill);
                    prototype.due_ms = None;
                    continue;
                }
                log::write(
                    &messages::PROTOTYPE_STUCK,
                    format_args!("the prototype (process {pid}) is not ready; this is where it is:"),
                );
                child::kick(pid, Kick::Abort);
                prototype.due_ms = Some(now_ms + LAST_WORDS_MS);
            }
        }
        let is_there = self.prototypes.iter().any(|prototype| prototype.generation == generation);
        let is_wanted = self.slots.iter().any(|slot| slot.wants_worker(generation, now_ms));
        if is_there || !is_wanted || now_ms < self.prototype_not_before_ms {
            return;
        }
        if let Err(error) = self.start_prototype(now_ms) {
            log::write(
                &messages::PROTOTYPE_NOT_STARTED,
                format_args!("the prototype cannot be started: {error}"),
            );
            self.prototype_not_before_ms = now_ms + PROTOTYPE_PAUSE_MS;
        }
    }

    /// Lets prototypes go. One that imports has nothing to finish; the others end by themselves, unless threads that the
    /// application has started keep them.
    pub(crate) fn dismiss_prototypes(&mut self, which: impl Fn(&Prototype) -> bool, now_ms: u64) {
        for prototype in self.prototypes.extract_if(.., |prototype| which(prototype)) {
            let grace_ms = if prototype.is_ready { LAST_WORDS_MS } else { 0 };
            self.dismissed.push(Dismissed { pid: prototype.pid, due_ms: Some(now_ms + grace_ms) });
        }
        for dismissed in &mut self.dismissed {
            if dismissed.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                child::kick(dismissed.pid, Kick::Kill);
                dismissed.due_ms = None;
            }
        }
    }

    fn start_prototype(&mut self, now_ms: u64) -> io::Result<()> {
        let (ours, theirs) = pass::pair()?;
        let arguments = self.plan.arguments_of("prototype", theirs.as_raw_fd().to_string());
        let pid = self.plan.program.spawn(&arguments, &[theirs.as_fd()])?;
        let due_ms = self.plan.limits.startup_due_ms(now_ms);
        self.prototypes.push(Prototype::new(pid, self.generation, ours, due_ms));
        Ok(())
    }

    /// The prototype of this generation, once it can fork.
    pub(crate) fn prototype(&self) -> Option<&Prototype> {
        self.prototypes.iter().find(|prototype| prototype.is_ready && prototype.generation == self.generation)
    }
}

/// The line of a prototype to its supervisor.
pub struct Orders {
    line: OwnedFd,
}

impl Orders {
    /// The line that is the descriptor with this number.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn open(number: &str) -> io::Result<Self> {
        Ok(Self { line: child::inherit(number.parse().map_err(io::Error::other)?)? })
    }

    /// Says that the application is imported.
    ///
    /// # Errors
    ///
    /// The supervisor is gone.
    pub fn ready(&self) -> io::Result<()> {
        pass::send(&self.line, READY, &[])
    }

    /// Says which files the application is made of, although it could not be imported.
    pub fn blame(&self, files: Vec<Source>) {
        for file in files {
            // One at a time, because a message has a longest length. A supervisor that is gone needs to know nothing.
            let said = serde_json::to_vec(&FromWorker::Sources(vec![file]));
            let _ = said.map(|said| pass::send(&self.line, &said, &[]));
        }
    }

    /// Waits for the next worker that is wanted, and opens the log again meanwhile when it is told so; `None` when no more
    /// are wanted.
    ///
    /// # Errors
    ///
    /// What the supervisor says is not understood.
    pub fn next(&self) -> io::Result<Option<Worker>> {
        let (text, descriptors) = loop {
            match pass::receive(&self.line)? {
                None => return Ok(None),
                Some((text, _)) if text == REOPEN => log::reopen(),
                Some(order) => break order,
            }
        };
        let place = std::str::from_utf8(&text).map_err(io::Error::other)?;
        let place = Place::read(place).map_err(io::Error::other)?;
        Worker::received(place, descriptors).map(Some)
    }
}
