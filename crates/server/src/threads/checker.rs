//! The thread that verifies passwords: computing a good hash takes milliseconds, and no loop waits for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use adyton_log::{self as log, messages};
use adyton_sys::process;

use crate::answering::verdict::Verdict;
use crate::guard::Credentials;
use crate::threads::home::Home;

/// Number of passwords that may wait to be verified; further requests with passwords are answered 503. At 50 ms for
/// each password, the last one waits for some seconds.
const WAITING_MAX: usize = 128;

/// Credentials of a request that waits with its loop until they are verified.
pub(crate) struct Check {
    key: usize,
    home: Arc<dyn Home>,
    credentials: Box<Credentials>,
    verdict: OnceLock<Verdict>,
}

impl Check {
    /// Makes a check of the credentials of the request of connection `key`, whose loop hears at `home` when they are
    /// verified.
    pub(crate) fn new(key: usize, home: Arc<dyn Home>, credentials: Box<Credentials>) -> Arc<Check> {
        Arc::new(Check { key, home, credentials, verdict: OnceLock::new() })
    }

    /// Returns the verdict, as soon as it is known.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.verdict.get()
    }

    fn run(&self) {
        let verdict = catch_unwind(AssertUnwindSafe(|| self.credentials.verify()));
        let verdict = verdict.unwrap_or_else(|_| {
            // The panic's own message is in the log already.
            log::write(
                &messages::SERVER_FAILED,
                format_args!("the server itself failed to verify a password"),
            );
            self.credentials.refused()
        });
        // The verdict is set once: here.
        let _ = self.verdict.set(verdict);
        self.home.redeemed(self.key);
    }
}

/// The thread that verifies passwords; it runs from the first password on.
#[derive(Default)]
pub(crate) struct Checker {
    queue: OnceLock<Option<SyncSender<Arc<Check>>>>,
}

impl Checker {
    /// Has credentials verified; `false` if too many wait already, or the thread cannot be started. `nice` is how much
    /// lower the thread's priority is than the priority of the loops' threads.
    pub(crate) fn submit(&self, check: Arc<Check>, nice: u8) -> bool {
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = sync_channel(WAITING_MAX);
            let begun =
                thread::Builder::new().name("adyton-check".to_owned()).spawn(move || run(&receiver, nice));
            begun.is_ok().then_some(sender)
        });
        queue.as_ref().is_some_and(|queue| queue.try_send(check).is_ok())
    }
}

/// Verifies credentials until the server ends.
fn run(queue: &Receiver<Arc<Check>>, nice: u8) {
    if nice > 0 {
        process::give_way(nice);
    }
    for check in queue {
        check.run();
    }
}
