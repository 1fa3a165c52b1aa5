//! A server: loops, the threads that drive them and run the application, and all that they share.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adyton_files::Folder;
use adyton_log::{self as log, messages};
use adyton_sys::{clock, process};

use crate::app::Host;
use crate::board::tally::{Cell, Tally};
use crate::common::StopRequest;
use crate::config::{Config, HandOver};
use crate::event_loop::{Loop, Parts};
use crate::lock::lock;
use crate::site::plan::Plan;
use crate::threads::driver::Driver;
use crate::threads::shared::Shared;
use crate::threads::watch;

/// Counts of a server's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls that ran on the loop's thread to their end.
    pub inline: u64,
    /// Calls that took so long that another thread took over the loop.
    pub handed_over: u64,
    /// Calls that waited in the queue for a thread.
    pub queued: u64,
    /// Requests that were answered 503 because no thread came free in time.
    pub turned_away: u64,
    /// Requests in the queue whose client had gone.
    pub departed: u64,
    /// Calls that were interrupted.
    pub timed_out: u64,
    /// Calls that went on although they were interrupted.
    pub stuck: u64,
    /// Threads of the server that run the application or could.
    pub threads: u64,
    /// Threads inside the application.
    pub threads_busy: u64,
    /// Requests that wait in the queue.
    pub queue_length: u64,
}

/// A server that is ready to be driven by the threads that call [`Server::work`].
pub struct Server {
    shared: Arc<Shared>,
    loops: usize,
    watch: Mutex<Option<(JoinHandle<()>, Arc<AtomicBool>)>>,
    /// Whether the thread that waits for the end has to call its `attend` first.
    summoned: AtomicBool,
}

impl Server {
    /// Makes a server of one loop for each of `parts`. All loops have the same configuration, and serve the same plan,
    /// whose applications run in `host`. Events are counted in `tally`.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors, memory or threads; `InvalidInput`, with a sentence, when the plan names a
    /// folder that the parts do not have.
    pub fn new(
        config: Config,
        plan: Plan,
        parts: Vec<Parts>,
        stop: StopRequest,
        host: Option<Arc<dyn Host>>,
        tally: Tally,
    ) -> io::Result<Self> {
        let loops = parts.len();
        let folders = parts.iter().map(|parts| parts.folders.len()).min().unwrap_or(0);
        plan.check_folders(folders).map_err(unfit)?;
        let passages = parts.iter().map(|parts| parts.passages.len()).min().unwrap_or(0);
        plan.check_passages(passages).map_err(unfit)?;
        let wakes = parts.iter().map(|parts| Arc::clone(&parts.wake)).collect();
        let shared = Arc::new(Shared::new(config, plan, wakes, stop, host, tally));
        shared.begin_logs(&lock(&shared.plan));
        shared.begin_counts(&lock(&shared.plan));
        shared.begin_scripts(&lock(&shared.plan))?;
        for (home, parts) in parts.into_iter().enumerate() {
            shared.crew.offer(Box::new(Loop::new(parts, home, Arc::clone(&shared))?));
        }
        let watched = shared.config.hand_over == HandOver::Auto && shared.host.is_some();
        let watch = if watched { Some(watch::start(&shared, loops)?) } else { None };
        let server = Self { shared, loops, watch: Mutex::new(watch), summoned: AtomicBool::new(false) };
        // A reader of the board finds the number of threads before the first request.
        server.shared.tally.set(Cell::Threads, server.threads() as u64);
        Ok(server)
    }

    /// Threads that have to call [`Server::work`]. If the application has one thread, only the first of these threads
    /// enters it; else all do.
    pub fn threads(&self) -> usize {
        if self.shared.host.is_some() { self.shared.crew.threads_wanted() } else { self.loops }
    }

    /// Makes the calling thread a thread of the server, until the server ends. `enters` says whether the thread may
    /// enter the application, which knows the thread by the number `thread`. The thread is detached when this is
    /// called, and when it returns. If our own code panics outside the work on a connection, the process ends: a loop
    /// without a thread would keep its clients waiting for ever.
    pub fn work(&self, enters: bool, thread: u64) {
        // The kernel wakes this thread at the exact time: a page that waits is answered, and the next one let in,
        // without delay.
        process::wake_on_time();
        let work = || Driver::new(&self.shared, enters, thread).work();
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            // The log has the panic's own message already.
            log::write(
                &messages::THREAD_FAILED,
                format_args!("a thread of the server failed; the process ends"),
            );
            log::settle();
            std::process::abort();
        }
    }

    /// Waits until all loops have ended, and then for at most `patience` until no thread is inside the application or
    /// interrupts a call. Returns whether that was reached in time.
    pub fn wait(&self, patience: Duration) -> bool {
        let mut ended = lock(&self.shared.ended);
        while ended.len() < self.loops {
            ended = self.shared.has_ended.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
        drop(ended);
        let since = Instant::now();
        let interrupts = || self.shared.interrupters.load(Ordering::SeqCst) > 0;
        while self.shared.crew.threads(|_| false).0 > 0 || interrupts() {
            if since.elapsed() >= patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Waits until all loops have ended, and runs `attend` whenever [`Server::summon`] was called.
    pub fn wait_attentively(&self, mut attend: impl FnMut()) {
        let mut ended = lock(&self.shared.ended);
        while ended.len() < self.loops {
            if self.summoned.swap(false, Ordering::SeqCst) {
                drop(ended);
                attend();
                ended = lock(&self.shared.ended);
            } else {
                ended = self.shared.has_ended.wait(ended).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Has the thread in [`Server::wait_attentively`] run its `attend`, and each loop see whether its host has
    /// something for it to discard ([`Host::remains`]).
    pub fn summon(&self) {
        self.summoned.store(true, Ordering::SeqCst);
        // Taking the lock makes sure that the notification does not come between that thread's look and its wait.
        drop(lock(&self.shared.ended));
        self.shared.has_ended.notify_all();
        for inbox in &self.shared.inboxes {
            inbox.wake.wake();
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Whether every loop has ended.
    pub fn has_ended(&self) -> bool {
        lock(&self.shared.ended).len() == self.loops
    }

    /// Ends what is left of the server: stops the watch, drops the loops with their objects of the application, and
    /// writes the rest of the access log. Call it attached.
    pub fn clear(&self) {
        if let Some((handle, stop)) = lock(&self.watch).take() {
            stop.store(true, Ordering::SeqCst);
            handle.thread().unpark();
            // The watch fails only if it panics, and then it has written a message already.
            let _ = handle.join();
        }
        drop(std::mem::take(&mut *lock(&self.shared.ended)));
        self.shared.refusals.tell(clock::monotonic_ms(), true);
        self.settle_log();
    }

    /// Has the rest of the access log written, and waits for a moment until it is.
    pub fn settle_log(&self) {
        let plan = self.shared.plan();
        plan.logs().for_each(|log| lock(log).settle(log::END_PATIENCE));
    }

    /// Returns the requests that threads are in without a loop: a description of each, and the milliseconds that it has
    /// taken so far.
    pub fn running(&self) -> Vec<(String, u64)> {
        let now_ms = clock::monotonic_ms();
        let running = Mutex::new(Vec::new());
        let nobody = self.shared.crew.find(|post| {
            if let Some(task) = &*lock(&post.own.task) {
                lock(&running).push((task.what.to_string(), now_ms.saturating_sub(task.since_ms)));
            }
            false
        });
        debug_assert!(nobody.is_none(), "everybody was asked, and nobody taken");
        let mut running = running.into_inner().unwrap_or_else(PoisonError::into_inner);
        running.sort_by_key(|(_, for_ms)| std::cmp::Reverse(*for_ms));
        running
    }

    /// Has the access log opened again under its name, because the file was renamed. A failure is logged, and the old
    /// file stays.
    pub fn reopen_log(&self) {
        let plan = self.shared.plan();
        plan.logs().for_each(|log| lock(log).reopen());
    }

    /// Serves another plan, from each loop's next request on: `folders` has the folders of each loop. Answers that have
    /// begun, and requests that an application has, end under the old plan.
    ///
    /// # Errors
    ///
    /// `InvalidInput`, with a sentence, when the plan names a folder that does not exist, or has applications and the
    /// server was made for none. Nothing changes then.
    pub fn swap(&self, plan: Plan, folders: Vec<Vec<Folder>>) -> io::Result<()> {
        plan.check_folders(folders.iter().map(Vec::len).min().unwrap_or(0)).map_err(unfit)?;
        if folders.len() != self.loops {
            return Err(unfit("a new plan needs the folders of each loop"));
        }
        if plan.has_app() && self.shared.host.is_none() {
            return Err(unfit("a server that was made without applications cannot get one"));
        }
        let plan = Arc::new(plan);
        self.shared.begin_scripts(&plan)?;
        self.shared.begin_logs(&plan);
        self.shared.begin_counts(&plan);
        let old = std::mem::replace(&mut *lock(&self.shared.plan), Arc::clone(&plan));
        for (inbox, folders) in self.shared.inboxes.iter().zip(folders) {
            inbox.put_plan(Arc::clone(&plan), folders);
            inbox.wake.wake();
        }
        // The new sites have other numbers: answers kept for the old ones would only take room.
        self.shared.cache.clear();
        // The old plan's logs may hold lines, and no loop ticks a log that the new plan lacks.
        old.logs().for_each(|log| lock(log).flush());
        Ok(())
    }

    /// Has each loop go to another thread at its next wait for the kernel, if a thread is idle.
    pub fn change_hands(&self) {
        self.shared.change.store(true, Ordering::SeqCst);
        for inbox in &self.shared.inboxes {
            inbox.wake.wake();
        }
    }

    /// The number of times that the loops have waited for the kernel. It grows all the time while a loop spins.
    pub fn waits(&self) -> u64 {
        self.shared.tally.get(Cell::Waits)
    }

    /// The counts so far.
    pub fn counters(&self) -> Counters {
        self.shared.publish_threads();
        let tally = &self.shared.tally;
        let handed_over = tally.get(Cell::HandedOver);
        Counters {
            inline: tally.get(Cell::Begun).saturating_sub(handed_over),
            handed_over,
            queued: tally.get(Cell::Queued),
            turned_away: tally.get(Cell::TurnedAway),
            departed: tally.get(Cell::Departed),
            timed_out: tally.get(Cell::TimedOut),
            stuck: tally.get(Cell::Stuck),
            threads: tally.get(Cell::Threads),
            threads_busy: tally.get(Cell::ThreadsBusy),
            queue_length: tally.get(Cell::QueueLength),
        }
    }
}

/// An error that says in a sentence what cannot be served.
fn unfit(why: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
