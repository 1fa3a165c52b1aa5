//! State that all threads of a server share.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::Thread;

use adyton_compress::Room;
use adyton_crew::{Crew, Duties, Post, Size, Spot};
use adyton_spawn::Spawner;
use adyton_sys::clock;
use adyton_sys::tid::Tid;
use adyton_sys::wake::Wake;

use crate::answering::errand::Job;
use crate::answering::refusals::Refusals;
use crate::app::Host;
use crate::board::crash_record::LinePages;
use crate::board::tally::{Cell, Tally};
use crate::cache::store::Cache;
use crate::cgi::Places;
use crate::client::body::Reading;
use crate::client::outbox::Outbox;
use crate::common::{Common, StopRequest};
use crate::config::Config;
use crate::event_loop::Loop;
use crate::lock::lock;
use crate::site::limits::SiteLimits;
use crate::site::plan::Plan;
use crate::threads::checker::Checker;
use crate::threads::home::Home;
use crate::threads::inbox::Inbox;
use crate::threads::task::Task;

/// The duties of this server's threads.
pub(crate) struct Http;

impl Duties for Http {
    type Loop = Loop;
    type Job = Job;
    type Own = Own;
}

/// State of one thread, besides its place in the crew.
pub(crate) struct Own {
    /// The way to the client of a late thread's or a worker's request, while the application has the thread.
    pub(crate) lent: Spot<Outbox>,
    /// The number of the loan, if the outbox is lent with unsent bytes that the watch sends if the loan lasts; else 0.
    pub(crate) unsent: AtomicUsize,
    /// The task of a late thread or a worker.
    pub(crate) task: Mutex<Option<Task>>,
    /// The time at which something of the answer's body came last while the thread was late. If this time is before the
    /// beginning of the task, nothing came yet.
    pub(crate) item_ms: AtomicU64,
    /// The thread's number, as the application knows it.
    pub(crate) thread: u64,
    /// The thread's id, as the kernel knows it.
    pub(crate) tid: Tid,
}

impl Own {
    /// Makes the state of the calling thread, which the application knows by this number.
    pub(crate) fn new(thread: u64) -> Self {
        Own {
            lent: Spot::empty(),
            unsent: AtomicUsize::new(0),
            task: Mutex::new(None),
            item_ms: AtomicU64::new(0),
            thread,
            tid: Tid::own(),
        }
    }
}

/// State that all threads of a server share.
pub(crate) struct Shared {
    pub(crate) common: Common,
    /// The interpreter in which applications run; `None` if only files are served.
    pub(crate) host: Option<Arc<dyn Host>>,
    /// The plan that is served now; a loop may not have it yet.
    pub(crate) plan: Mutex<Arc<Plan>>,
    pub(crate) crew: Crew<Http>,
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    /// The inboxes, as tickets know them.
    pub(crate) homes: Vec<Arc<dyn Home>>,
    /// Starts scripts.
    pub(crate) spawner: Spawner,
    /// Places for scripts, which limit how many run at once.
    pub(crate) places: Arc<Places>,
    /// Verifies passwords.
    pub(crate) checker: Checker,
    /// Number of bodies that the application reads from their connections.
    pub(crate) readings: Arc<AtomicUsize>,
    /// Pages in which lines of access logs are noted until they are written.
    pub(crate) pages: LinePages,
    /// Number of threads that interrupt a call.
    pub(crate) interrupters: AtomicUsize,
    /// How often threads had got the interpreter when the server's pulse was last taken.
    pub(crate) got_interpreter: AtomicU64,
    /// Whether each loop is to change hands at its next wait.
    pub(crate) change: AtomicBool,
    /// Whether some thread has lent an outbox with unsent bytes since the watch looked.
    pub(crate) unsent: AtomicBool,
    /// The watch's thread.
    pub(crate) watch: OnceLock<Thread>,
    /// Loops that have ended.
    pub(crate) ended: Mutex<Vec<Loop>>,
    pub(crate) has_ended: Condvar,
}

impl Deref for Shared {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.common
    }
}

impl Shared {
    /// Makes the state of a new server, with a loop for each of `wakes`; see [`crate::Server::new`].
    pub(crate) fn new(
        config: Config,
        plan: Plan,
        wakes: Vec<Arc<Wake>>,
        stop: StopRequest,
        host: Option<Arc<dyn Host>>,
        mut tally: Tally,
    ) -> Self {
        let loops = wakes.len();
        tally.set_single(loops == 1);
        let host = host.filter(|_| plan.has_app());
        // Besides the drivers of the loops one more thread is kept in reserve, to take over when a driver is late.
        let reserve = if config.threads > 1 && host.is_some() { loops + 1 } else { 0 };
        let crew = Crew::new(Size {
            loops,
            slots: config.threads,
            reserve,
            queue_max: config.queue_max,
            queue_timeout_ms: config.queue_timeout_ms,
        });
        let inboxes: Vec<Arc<Inbox>> = wakes.into_iter().map(|wake| Arc::new(Inbox::new(wake))).collect();
        let pages = tally.pages();
        let (spawner, places) =
            (Spawner::new(config.spawn_command.clone()), Places::new(config.scripts_max, config.queue_max));
        Self {
            common: Common {
                compress_room: Room::new(config.compress_memory_max),
                cache: Cache::new(config.cache_memory_max),
                config,
                tally,
                refusals: Refusals::default(),
                output_bytes: Arc::default(),
                stop,
            },
            host,
            plan: Mutex::new(Arc::new(plan)),
            crew,
            homes: inboxes.iter().map(|inbox| Arc::clone(inbox) as Arc<dyn Home>).collect(),
            inboxes,
            checker: Checker::default(),
            spawner,
            places,
            pages,
            readings: Arc::default(),
            interrupters: AtomicUsize::new(0),
            got_interpreter: AtomicU64::new(0),
            change: AtomicBool::new(false),
            unsent: AtomicBool::new(false),
            watch: OnceLock::new(),
            ended: Mutex::new(Vec::new()),
            has_ended: Condvar::new(),
        }
    }

    /// Takes a loop that has come to its end.
    pub(crate) fn end(&self, mut driven: Box<Loop>) {
        driven.called.wake();
        self.crew.give_slot(&mut driven.calls.slot, clock::monotonic_ms());
        self.crew.end_loop();
        lock(&self.ended).push(*driven);
        self.has_ended.notify_all();
    }

    /// Takes a place for a body that the application reads from its connection, if the site's settings ask for that. If
    /// the application has only one thread, there is no such place: while that thread waited for a client, no other
    /// client would be served.
    pub(crate) fn begin_reading(&self, limits: &SiteLimits) -> Option<Reading> {
        if !limits.stream_body || self.crew.slots() == 1 {
            return None;
        }
        Reading::begin(&self.readings, self.config.stream_body_threads_max)
    }

    /// The plan that is served now.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&lock(&self.plan))
    }

    /// Has the spawner ready, if a plan has scripts.
    ///
    /// # Errors
    ///
    /// The spawner cannot be started.
    pub(crate) fn begin_scripts(&self, plan: &Plan) -> io::Result<()> {
        if plan.has_scripts() { self.spawner.begin() } else { Ok(()) }
    }

    /// Has the logs of a plan note unwritten lines on the board, so that the lines outlive this process.
    pub(crate) fn begin_logs(&self, plan: &Plan) {
        for log in plan.logs() {
            lock(log).leave_on(&self.pages, self.tally.counter(Cell::LinesLost));
        }
    }

    /// Gives each site of a plan its row on the board. A single site gets no row, because its answers are all answers.
    pub(crate) fn begin_counts(&self, plan: &Plan) {
        for terms in plan.terms_of_several() {
            terms.set_row(self.tally.row_of_site(terms.name.as_deref()));
        }
    }

    /// Writes the state of the threads on the board.
    pub(crate) fn publish_threads(&self) {
        let (threads, busy) = self.crew.threads(|own| lock(&own.task).is_some());
        self.tally.set(Cell::Threads, threads as u64);
        self.tally.set(Cell::ThreadsBusy, busy as u64);
        self.tally.set(Cell::QueueLength, self.crew.waiting() as u64);
    }

    /// Counts a request whose client has gone while the request waited.
    pub(crate) fn note_departed(&self) {
        self.tally.count(Cell::Departed);
        self.crew.note_departed();
    }

    /// Publishes a driver's loop for the duration of a call.
    pub(crate) fn publish(&self, post: &Post<Http>, driven: Box<Loop>) {
        post.publish(driven);
        self.wake_watch();
    }

    /// Lends a late thread's outbox for the duration of a call: its unsent bytes are sent if the call lasts.
    pub(crate) fn lend_unsent(&self, post: &Post<Http>, outbox: Box<Outbox>, number: usize) {
        post.own.lent.put(outbox);
        post.own.unsent.store(number, Ordering::Release);
        self.unsent.store(true, Ordering::Relaxed);
        self.wake_watch();
    }

    pub(crate) fn wake_watch(&self) {
        if let Some(watch) = self.watch.get() {
            self.crew.wake_watch(watch);
        }
    }
}
