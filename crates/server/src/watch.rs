//! Sends what an answer has so far when the application makes its next piece wait.
//!
//! A streaming application is asked for its next item on the thread that drives the loop. If the
//! items come quickly, they leave together; if the application waits, what it has made must not.
//! So before each such call the thread lends the connection to this watch, and takes it back
//! after: two swaps of a pointer. The watch looks every millisecond, and a connection that it sees
//! twice in a row has its output sent. It sleeps while nothing is lent.
//!
//! The same connection may have been lent twice between two looks; its output is then sent a little
//! early, which is no harm.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use crossbeam_utils::atomic::AtomicCell;

use crate::connection::Connection;

/// How often the watch looks: late by this much is still prompt, and costs 0.3 % of a CPU.
const TICK: Duration = Duration::from_millis(1);

/// Idle ticks before the watch goes to sleep: waking it costs a system call.
const TICKS_AWAKE: u32 = 50;

#[derive(Default)]
struct Shared {
    lent: AtomicCell<Option<Box<Connection>>>,
    asleep: AtomicBool,
    stop: AtomicBool,
}

/// The watch of one loop.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: Thread,
    handle: Option<JoinHandle<()>>,
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
        let handle = std::thread::Builder::new().name("adyton-watch".into()).spawn(move || run(&watched))?;
        Ok(Self { shared, thread: handle.thread().clone(), handle: Some(handle) })
    }

    /// Gives the connection to the watch for the time of a call.
    pub(crate) fn lend(&self, connection: Box<Connection>) {
        let former = self.shared.lent.swap(Some(connection));
        debug_assert!(former.is_none(), "a loop has one call at a time");
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }

    /// Takes it back. Only after [`Watch::lend`].
    pub(crate) fn reclaim(&self) -> Box<Connection> {
        loop {
            if let Some(connection) = self.shared.lent.take() {
                return connection;
            }
            // The watch is in the middle of a send, which does not block.
            std::thread::yield_now();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.thread.unpark();
        if let Some(handle) = self.handle.take() {
            // It only fails when the watch panicked, which its own message has said.
            let _ = handle.join();
        }
    }
}

fn run(shared: &Shared) {
    let (mut seen, mut idle_ticks) = (0, 0);
    while !shared.stop.load(Ordering::SeqCst) {
        // SeqCst on both sides: either the lender sees us asleep, or we see what it lent.
        shared.asleep.store(idle_ticks > TICKS_AWAKE, Ordering::SeqCst);
        let lent = look(shared, &mut seen);
        if lent || idle_ticks <= TICKS_AWAKE {
            idle_ticks = if lent { 0 } else { idle_ticks + 1 };
            std::thread::park_timeout(TICK);
        } else {
            std::thread::park();
            idle_ticks = 0;
        }
    }
}

/// Takes what is lent for a moment, and sends its output if it was there at the last look too.
fn look(shared: &Shared, seen: &mut usize) -> bool {
    let Some(mut connection) = shared.lent.take() else { return false };
    let address = std::ptr::from_ref(&*connection).addr();
    if std::mem::replace(seen, address) == address {
        let Connection { output, socket, .. } = &mut *connection;
        // An error shows again when the loop sends the rest.
        let _ = output.flush(socket.as_fd());
    }
    shared.lent.store(Some(connection));
    true
}
