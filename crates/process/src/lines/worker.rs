//! The worker's side: its place and sockets, and a thread that listens to the supervisor.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_log::{self as log, messages};
use adyton_server::share::{self, Share};
use adyton_server::tally::Tally;
use adyton_server::{Ending, Passage, SealKey};
use adyton_sys::board::Board;
use adyton_sys::{clock, forks, socket};

use crate::groups::doorways::{BRANCHES_MAX, seal_key};
use crate::lines::message::{Channel, FromWorker, Source, ToWorker};
use crate::lines::place::{Given, Place};
use crate::lines::ports::Sockets;

/// A worker's own place, sockets and boards.
pub struct Worker {
    /// The worker's place.
    pub place: Place,
    /// The worker's sockets: for each of its loops, the sockets of all addresses.
    pub sockets: Sockets,
    /// The sockets of other workers: one for each address and worker.
    pub others: Vec<OwnedFd>,
    /// The worker's ends of passages to other processes.
    pub passages: Vec<Passage>,
    /// The key with which a worker of the door seals connections.
    pub seal_key: Option<SealKey>,
    /// The board on which the worker keeps its counts.
    pub tally: Tally,
    /// The worker's share of the connections.
    pub share: Share,
    channel: Channel,
}

/// A worker, taken apart.
#[expect(missing_docs, reason = "the same as the worker's")]
pub struct Parts {
    pub place: Place,
    pub sockets: Sockets,
    pub others: Vec<OwnedFd>,
    pub passages: Vec<Passage>,
    pub seal_key: Option<SealKey>,
    pub tally: Tally,
    pub share: Share,
    /// The line to the supervisor.
    pub line: Line,
}

/// The orders that a worker obeys.
pub trait Orders: Send + Sync + 'static {
    /// Takes no more connections, finishes running requests, and ends.
    fn drain(&self, ending: Ending);
    /// Returns the place in the code of every thread. May take long, or for ever.
    fn dump(&self) -> serde_json::Value;
    /// Returns the requests that run.
    fn running(&self) -> serde_json::Value;
    /// Returns the files that the application was imported from.
    fn sources(&self) -> Vec<Source>;
    /// Opens the logs again.
    fn reopen(&self);
    /// Gives a sign of life, unless a loop hangs, or threads that wait for the interpreter do not get it.
    fn beat(&self);
}

impl Worker {
    /// Takes over the descriptors of its place.
    ///
    /// # Errors
    ///
    /// A descriptor is not there.
    pub fn new(place: Place) -> io::Result<Self> {
        let given = place.inherit()?;
        Self::of(place, given)
    }

    /// Takes the descriptors that a prototype has received for the worker.
    ///
    /// # Errors
    ///
    /// A descriptor is missing.
    pub(crate) fn received(place: Place, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let given = place.receive(descriptors)?;
        Self::of(place, given)
    }

    fn of(place: Place, given: Given) -> io::Result<Self> {
        let Given { channel, board, shares, sockets, others, passages, door } = given;
        let (open, seal_key) = match door {
            Some([board, secret]) => {
                (Some(Arc::new(Board::open(board, BRANCHES_MAX)?)), Some(seal_key(secret)?))
            }
            None => (None, None),
        };
        let passage = |(end, (cell, name)): (OwnedFd, (Option<usize>, &str))| {
            forks::own(&end);
            Passage { end, name: name.into(), open: open.clone().zip(cell) }
        };
        let passages = passages.into_iter().zip(place.doorways()).map(passage).collect();
        let (channel, tally) = (Channel::new(channel), Tally::open(board)?);
        let share = Share::new(Board::open(shares, share::CELLS)?, place.row());
        let parts = Self { place, sockets, others, passages, seal_key, tally, share, channel };
        Ok(Self::listening(parts))
    }

    /// Marks the listeners, so that children that the application forks do not keep the addresses in use.
    fn listening(self) -> Self {
        self.sockets.iter().flatten().chain(&self.others).for_each(forks::own_listener);
        self
    }

    /// Tells the supervisor the process number of this worker, which the supervisor does not know if the worker was
    /// forked.
    ///
    /// # Errors
    ///
    /// The supervisor is gone.
    pub fn say_hello(&self, pid: u32) -> io::Result<()> {
        self.channel.send(&FromWorker::Hello { pid })
    }

    /// Tells the supervisor the process that is about to fork this worker. That process may hang in the application's
    /// fork handlers.
    ///
    /// # Errors
    ///
    /// The supervisor is gone.
    pub fn say_forking(&self, pid: u32) -> io::Result<()> {
        self.channel.send(&FromWorker::Forking { pid })
    }

    /// Splits off the line to the supervisor.
    pub fn into_parts(self) -> Parts {
        let Self { place, sockets, others, passages, seal_key, tally, share, channel } = self;
        if let Some(group) = &place.group {
            log::set_group(group);
        }
        log::set_worker(place.number);
        Parts { place, sockets, others, passages, seal_key, tally, share, line: Line { channel } }
    }
}

/// The line to the supervisor.
pub struct Line {
    channel: Channel,
}

impl Line {
    /// Says which files the application is made of, although it could not be loaded.
    pub fn blame(&self, files: Vec<Source>) {
        // A supervisor that is gone needs to know nothing.
        let _ = self.channel.send(&FromWorker::Sources(files));
    }

    /// Returns a notice with which this worker can say that it ends without an order of the supervisor.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors.
    pub fn leave_notice(&self) -> io::Result<LeaveNotice> {
        let again = self.channel.as_fd().try_clone_to_owned()?;
        Ok(LeaveNotice { channel: Channel::new(again), has_said: AtomicBool::new(false) })
    }

    /// Obeys orders from now on, on a thread of its own, gives a sign of life every `beat_ms`, and says that this
    /// worker serves. When the supervisor is gone, even before this call, the worker drains.
    ///
    /// # Errors
    ///
    /// The supervisor does not listen, or the process may not have another thread.
    pub fn listen(self, serves: &str, beat_ms: Option<u64>, orders: Arc<dyn Orders>) -> io::Result<()> {
        let says = Channel::new(self.channel.as_fd().try_clone_to_owned()?);
        let run = move || {
            let channel = run(self.channel, beat_ms, &orders);
            // The end of the line must not be taken for the end of the worker, which still has to finish.
            std::mem::forget(channel);
        };
        std::thread::Builder::new().name("adyton-orders".into()).spawn(run)?;
        match says.send(&FromWorker::Ready { serves: serves.to_owned() }) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(error),
            // If the supervisor is gone, the thread notices that, whatever has failed here.
            _ => Ok(()),
        }
    }
}

/// A messenger that says once that a signal has told this worker to end.
pub struct LeaveNotice {
    channel: Channel,
    has_said: AtomicBool,
}

impl LeaveNotice {
    /// Says that this worker ends, unless it has said so already.
    pub fn say(&self) {
        if !self.has_said.swap(true, Ordering::SeqCst) {
            // A supervisor that is gone needs to know nothing.
            let _ = self.channel.send(&FromWorker::Leaving);
        }
    }
}

/// How long a worker that need not give signs of life waits for orders before it checks its line to the supervisor.
const LISTEN_MS: u64 = 60_000;

fn run(mut channel: Channel, beat_ms: Option<u64>, orders: &Arc<dyn Orders>) -> Channel {
    let mut beat_due_ms = 0;
    loop {
        let now_ms = clock::monotonic_ms();
        if let Some(beat_ms) = beat_ms
            && beat_due_ms <= now_ms
        {
            orders.beat();
            beat_due_ms = now_ms + beat_ms;
        }
        let patience_ms = beat_ms.map_or(LISTEN_MS, |_| beat_due_ms - now_ms);
        if let Err(error) = socket::wait_readable(&[channel.as_fd()], patience_ms) {
            log::write(
                &messages::SUPERVISOR_UNHEARD,
                format_args!("the supervisor cannot be heard: {error}"),
            );
        }
        for message in channel.receive() {
            follow(message, &channel, orders);
        }
        if channel.has_ended() {
            log::write(
                &messages::SUPERVISOR_GONE,
                format_args!("the supervisor is gone: finishing running requests"),
            );
            orders.drain(Ending::PROMPT);
            return channel;
        }
    }
}

fn follow(message: ToWorker, channel: &Channel, orders: &Arc<dyn Orders>) {
    let answer = |number, value| {
        // A supervisor that is gone is noticed at the next receive.
        let _ = channel.send(&FromWorker::Answer(number, value));
    };
    match message {
        ToWorker::Drain { is_patient, takes_queue } => orders.drain(Ending { is_patient, takes_queue }),
        ToWorker::Sources => {
            // A supervisor that is gone is noticed at the next receive.
            let _ = channel.send(&FromWorker::Sources(orders.sources()));
        }
        ToWorker::Running(number) => answer(number, orders.running()),
        ToWorker::Dump(number) => answer(number, orders.dump()),
        ToWorker::LogLevel(level) => {
            if let Some(level) = log::Level::named(&level) {
                log::set_level(level);
            }
        }
        ToWorker::Reopen => orders.reopen(),
        // Only supervisors of groups are sent this order.
        ToWorker::Reload(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    use adyton_server::Ending;
    use adyton_sys::socket;

    use super::{Channel, Line, Orders, Source};

    /// Reports orders to drain.
    struct Told(Sender<Ending>);

    impl Orders for Told {
        fn drain(&self, ending: Ending) {
            // The test may have failed already.
            let _ = self.0.send(ending);
        }

        fn dump(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn running(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn sources(&self) -> Vec<Source> {
            Vec::new()
        }

        fn reopen(&self) {}

        fn beat(&self) {}
    }

    /// If the supervisor is killed before its worker serves, the worker does not fail, but ends in the orderly way.
    #[test]
    fn supervisor_gone_before() -> io::Result<()> {
        let (own, supervisor) = socket::pair()?;
        drop(supervisor);
        let (sender, receiver) = channel();
        Line { channel: Channel::new(own) }.listen("an application", None, Arc::new(Told(sender)))?;

        assert_eq!(Ok(Ending::PROMPT), receiver.recv());
        Ok(())
    }
}
