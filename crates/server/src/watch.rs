//! Sends what an answer has so far when the application makes its next piece wait.
//!
//! A streaming application is asked for its next item on the thread that drives the loop. If the
//! items come quickly, they leave together; if the application waits, what it has made must not.
//! So before each such call the thread lends the connection to this watch, and takes it back
//! after: two uncontended locks. The watch looks every millisecond, and a connection that it sees
//! twice in the same call has its output sent. It sleeps while nothing is lent.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::connection::Connection;

/// How often the watch looks: late by this much is still prompt, and costs 0.3 % of a CPU.
const TICK: Duration = Duration::from_millis(1);

/// Idle ticks before the watch goes to sleep: waking it costs a system call.
const TICKS_AWAKE: u32 = 50;

#[derive(Default)]
struct Slot {
    lent: Option<Box<Connection>>,
    /// Counts the lendings, so that two looks at the same one can be told.
    sequence: u64,
    asleep: bool,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    slot: Mutex<Slot>,
    change: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        // A panic under this lock leaves the slot whole: it holds a connection or none.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The watch of one loop.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// The process may not have another thread.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("adyton-watch".into()).spawn(move || run(&watched))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Gives the connection to the watch for the time of a call.
    pub(crate) fn lend(&self, connection: Box<Connection>) {
        let mut slot = self.shared.lock();
        debug_assert!(slot.lent.is_none());
        slot.lent = Some(connection);
        slot.sequence += 1;
        if std::mem::take(&mut slot.asleep) {
            self.shared.change.notify_one();
        }
    }

    /// Takes it back; `None` when none was lent.
    pub(crate) fn reclaim(&self) -> Option<Box<Connection>> {
        self.shared.lock().lent.take()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.change.notify_one();
        if let Some(thread) = self.thread.take() {
            // It only fails when the watch panicked, which its own message has said.
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    let (mut seen, mut idle_ticks) = (0, 0);
    let mut slot = shared.lock();
    while !slot.stop {
        idle_ticks = if slot.lent.is_some() { 0 } else { idle_ticks + 1 };
        slot.asleep = idle_ticks > TICKS_AWAKE;
        let timeout = if slot.asleep { Duration::MAX } else { TICK };
        slot = shared.change.wait_timeout(slot, timeout).unwrap_or_else(PoisonError::into_inner).0;
        let sequence = slot.sequence;
        if let Some(connection) = slot.lent.as_mut()
            && std::mem::replace(&mut seen, sequence) == sequence
        {
            let Connection { output, socket, .. } = &mut **connection;
            // An error shows again when the loop sends the rest.
            let _ = output.flush(socket.as_fd());
        }
    }
}
