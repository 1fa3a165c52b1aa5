//! A thread of the server: drives a loop, runs its errands, or those that wait in the queue.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use adyton_sys::tid::Tid;
use adyton_sys::{clock, process};

use crate::app::{Call, Outcome, Pull, Stream};
use crate::body::{Body, Live};
use crate::config::HandOver;
use crate::connection::{After, Connection, Phase, Respond};
use crate::desk::Desk;
use crate::endpoints::Endpoint;
use crate::errand::{Ask, Errand, Place, parse_again};
use crate::estate::Seat;
use crate::event_loop::{Advance, Loop};
use crate::lock::lock;
use crate::reply::{Answer, Reply};
use crate::server::{Http, Job, Own, Return, Shared};
use crate::tally::{Cell, Histogram};
use crate::task::{Limit, NO_KEY, Stage, Task, What};
use crate::waiter::{Waiter, set_waiter};
use adyton_crew::{Crew, Duty, Place as Spot, Post};
use adyton_log::{self as log, messages, request};

/// Threads that may wait for their clients beside those inside the application; further ones keep their slots.
const PARKED_MAX: usize = 1024;

/// Late answers up to this size are left to the loop.
const LOOP_SENDS_BYTES_MAX: u64 = 16 << 10;

/// Items of a stream that come faster than this, one after the other, are sent together.
const QUICK_ITEM_US: u64 = 100;

/// A request that has used the CPU for so long computes.
const COMPUTES_US: u64 = 10_000;

/// A request that has waited so long is worth a look at whether its client is still there at all.
const LOOK_AT_CLIENT_MS: u64 = 5;

/// And so long, at whether it still listens: one that has ended its own side is taken for gone.
pub(crate) const LOOK_FOR_CLIENT_MS: u64 = 100;

/// What an errand came to.
pub(crate) struct Done {
    pub(crate) connection: Box<Connection>,
    pub(crate) answer: Answer,
    pub(crate) live: Option<Arc<Mutex<Live>>>,
    pub(crate) stream: Option<Box<dyn Stream>>,
}

impl Done {
    /// Ends an answer as the outcome of its call demands.
    fn of(outcome: Outcome, mut reply: Reply<'_>) -> Self {
        let stream = match outcome {
            Outcome::Stream(stream) => Some(stream),
            Outcome::Done => None,
            Outcome::Failed => {
                reply.abort();
                None
            }
            Outcome::TimedOut => {
                if reply.has_begun() {
                    reply.abort();
                } else {
                    reply.fail(504, "The application took too long.");
                }
                None
            }
        };
        if stream.is_none() {
            reply.end();
        }
        let (connection, answer, live) = reply.into_parts();
        Self { connection, answer, live, stream }
    }
}

/// A thread's hold on its loop, or on nothing but a connection.
#[expect(clippy::struct_excessive_bools, reason = "each says something else, and all combinations occur")]
pub(crate) struct Hand {
    shared: Arc<Shared>,
    post: Arc<Post<Http>>,
    /// The loop, while this thread holds it.
    driven: Option<Box<Loop>>,
    /// Whether the errand at hand has no loop to come back to.
    late: bool,
    /// Whether this thread has a slot of its own.
    slot: bool,
    attached: bool,
    /// When it last lent a connection while it was late.
    lent_us: u64,
    /// How much of the answer's body there was then.
    lent_body_bytes: u64,
    /// How often something unsent was in it.
    lent_times: usize,
    /// Whether it has waited so long for the interpreter that requests have queued, which it takes along.
    takes_along: bool,
    /// How long it has waited for the interpreter: that says nothing of what it is taken for.
    waited_us: u64,
}

impl Hand {
    /// Before the application has the thread: the connection can be reached by others, and so can the loop.
    /// `body_bytes` is what there is of the answer's body: more than before is a sign of life.
    pub(crate) fn lend(&mut self, mut connection: Option<Box<Connection>>, body_bytes: u64) {
        if let Some(mut driven) = self.driven.take() {
            driven.lent = connection;
            self.shared.publish(&self.post, driven);
        } else if let Some(connection) = connection.take() {
            self.lend_late(connection, body_bytes);
        }
    }

    /// What is written so far must not wait for the application. But items that come one right after the other are sent
    /// together: a system call for each would take ten times as long as the items.
    fn lend_late(&mut self, mut connection: Box<Connection>, body_bytes: u64) {
        let now_us = clock::monotonic_us();
        if std::mem::replace(&mut self.lent_body_bytes, body_bytes) != body_bytes {
            self.post.own.item_ms.store(now_us / 1000, Ordering::Relaxed);
        }
        let since_us = now_us.saturating_sub(std::mem::replace(&mut self.lent_us, now_us));
        let is_watched = self.shared.watch.get().is_some();
        if is_watched && since_us < QUICK_ITEM_US && !connection.output.is_empty() {
            self.lent_times += 1;
            self.shared.lend_unsent(&self.post, connection, self.lent_times);
        } else {
            connection.send();
            self.post.own.lent.put(connection);
        }
    }

    /// Afterwards: the connection again, and the loop if nobody else drives it now.
    pub(crate) fn reclaim(&mut self) -> Box<Connection> {
        loop {
            if !self.late {
                if let Some(connection) = self.reclaim_loop() {
                    return connection;
                }
            } else if let Some(connection) = self.post.own.lent.take() {
                return connection;
            } else {
                // Whoever has taken the loop is about to put the connection here.
                std::thread::yield_now();
            }
        }
    }

    /// Takes the loop back with what was lent, or finds that this thread is late.
    fn reclaim_loop(&mut self) -> Option<Box<Connection>> {
        let Some(mut driven) = self.post.reclaim() else {
            self.become_late();
            return None;
        };
        let connection = driven.lent.take();
        self.driven = Some(driven);
        connection
    }

    /// The loop's slot is this thread's from now on.
    fn become_late(&mut self) {
        self.late = true;
        self.slot = true;
    }

    /// Whether this thread is on its own: what it writes, it sends.
    pub(crate) fn is_late(&self) -> bool {
        self.late
    }

    /// Whether it may wait for a client inside the application.
    pub(crate) fn may_wait(&self) -> bool {
        self.shared.crew.slots() > 1
    }

    /// Gives the loop up, if this thread still has it, because it is about to wait.
    fn give_up(&mut self) {
        if !self.late {
            if let Some(driven) = self.driven.take() {
                give_up(&self.shared, &self.post, driven);
            }
            self.become_late();
        }
    }

    /// Waits for the client, while others have the loop and the slot. Detached.
    ///
    /// # Errors
    ///
    /// Those of `wait`; or there is nobody left to go on meanwhile.
    pub(crate) fn park<R>(&mut self, wait: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.give_up();
        park(&self.shared, &self.post, PARKED_MAX, wait)
    }

    /// Takes what the application's calls need.
    pub(crate) fn attach(&mut self) {
        if !self.attached
            && let Some(app) = &self.shared.app
        {
            let since_us = clock::monotonic_us();
            let mut waited_us = 0;
            let attach = || {
                app.attach();
                waited_us = clock::monotonic_us() - since_us;
            };
            if self.late {
                self.shared.crew.attach_worker(since_us / 1000, attach);
            } else if self.shared.crew.attach_driver(&self.post, attach) {
                self.takes_along = true;
                self.shared.wake_watch();
            }
            self.shared.tally.observe(Histogram::InterpreterWait, waited_us);
            self.waited_us += waited_us;
            self.attached = true;
        }
    }

    fn detach(&mut self) {
        if std::mem::take(&mut self.attached)
            && let Some(app) = &self.shared.app
        {
            app.detach();
        }
    }
}

fn give_up(shared: &Shared, post: &Post<Http>, mut driven: Box<Loop>) {
    driven.relieve(post);
    shared.crew.offer(driven);
}

/// Waits for a client without a slot, unless `parked_max` others do.
fn park<R>(
    shared: &Shared,
    post: &Arc<Post<Http>>,
    parked_max: usize,
    wait: impl FnOnce() -> io::Result<R>,
) -> io::Result<R> {
    let crew = &shared.crew;
    let since_ms = clock::monotonic_ms();
    if let Some(task) = &mut *lock(&post.own.task) {
        task.park();
    }
    let gives_slot = crew.slots() > 1 && crew.parked() < parked_max;
    let lacks = gives_slot && crew.park(since_ms);
    let spawned = lacks && shared.app.as_ref().is_some_and(|app| app.spawn());
    let waited = if !lacks || spawned || crew.manages_without(since_ms) {
        wait()
    } else {
        Err(io::Error::other(
            "no other thread can be started, and those that do not wait for a client are needed",
        ))
    };
    if gives_slot {
        crew.unpark(post);
    }
    if let Some(task) = &mut *lock(&post.own.task) {
        let waited_ms = clock::monotonic_ms() - since_ms;
        task.unpark(waited_ms);
        // No later than the task's own time, which has moved as far.
        post.own.item_ms.fetch_add(waited_ms, Ordering::Relaxed);
    }
    waited
}

/// A server, and a thread's place there: what the thread needs in order to wait from deep inside the application.
struct Employment {
    shared: Arc<Shared>,
    post: Arc<Post<Http>>,
}

impl Waiter for Employment {
    fn wait(&self, wait: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if let Some(driven) = self.post.reclaim() {
            give_up(&self.shared, &self.post, driven);
        }
        // Bodies that are read live have a limit of their own.
        park(&self.shared, &self.post, usize::MAX, wait)
    }
}

/// One thread of the server.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    desk: Desk,
    hand: Hand,
    /// The loop that the errand at hand came from.
    home: usize,
    /// Whether it runs at a lower priority, or never shall.
    gives_way: bool,
    /// Where it notes the request that it is in, for the case that the process dies of it.
    seat: Option<Seat>,
}

impl Driver {
    pub(crate) fn new(shared: &Arc<Shared>, enters: bool, thread: u64) -> Self {
        let own = Own {
            lent: Spot::empty(),
            unsent: AtomicUsize::new(0),
            item_ms: AtomicU64::new(0),
            task: Mutex::new(None),
            thread,
            tid: Tid::own(),
        };
        let post = shared.crew.join(enters, own);
        set_waiter(Some(Rc::new(Employment { shared: Arc::clone(shared), post: Arc::clone(&post) })));
        let hand = Hand {
            shared: Arc::clone(shared),
            post,
            driven: None,
            late: false,
            slot: false,
            attached: false,
            lent_us: 0,
            lent_body_bytes: 0,
            lent_times: 0,
            takes_along: false,
            waited_us: 0,
        };
        // With one slot this thread is the loop's driver, too.
        let gives_way = shared.config.nice == 0 || shared.crew.slots() == 1;
        let desk = Desk::new(&shared.config);
        Self { shared: Arc::clone(shared), desk, hand, home: 0, gives_way, seat: shared.tally.seat() }
    }

    fn crew(&self) -> &Crew<Http> {
        &self.shared.crew
    }

    /// Works until the crew needs this thread no more.
    pub(crate) fn work(mut self) {
        loop {
            self.take_along();
            let Self { shared, hand, .. } = &mut self;
            let (post, mut slot) = (Arc::clone(&hand.post), hand.slot);
            let duty = shared.crew.next(&post, &mut slot, clock::monotonic_ms(), || hand.detach());
            self.hand.slot = slot;
            match duty {
                Duty::Drive(driven) => self.drive(driven),
                Duty::Work(job) => self.work_on(job),
                Duty::Resume => debug_assert!(false, "this thread was not parked"),
                Duty::Leave => break,
            }
        }
        self.hand.detach();
        set_waiter(None);
    }

    /// Runs the quick requests that have queued while this thread waited for the interpreter, and lets go of it then.
    fn take_along(&mut self) {
        if !self.hand.takes_along {
            return;
        }
        while let Some(job) = self.crew().withdraw(|job| job.is_quick) {
            self.crew().note_back(&self.hand.post);
            self.run_job(job);
        }
        self.hand.takes_along = false;
        self.hand.detach();
        self.crew().call_up_rest(clock::monotonic_ms());
    }

    /// Drives a loop until it ends, or goes on without this thread.
    fn drive(&mut self, mut driven: Box<Loop>) {
        let post = Arc::clone(&self.hand.post);
        self.crew().begin_driving(driven.home, &post);
        driven.driver = Some(Arc::clone(&post));
        if std::mem::take(&mut self.hand.slot) {
            self.crew().bring_slot(&mut driven.slot, clock::monotonic_ms());
        }
        self.hand.late = false;
        self.home = driven.home;
        loop {
            match driven.advance(&mut self.desk) {
                Advance::Errand(errand) => match self.run_errands(driven, errand) {
                    Some(back) => driven = back,
                    None => return,
                },
                Advance::Wait { lets_go } => {
                    if lets_go || !driven.called.is_empty() {
                        self.hand.detach();
                    }
                    driven.called.wake();
                    if self.should_give_back(&post) {
                        // The next driver takes one if it needs it; this thread may have a use for it now.
                        self.hand.slot = std::mem::take(&mut driven.slot.held);
                        self.crew().offer(driven);
                        return;
                    }
                    if let Err(error) = driven.wait() {
                        log::write(
                            &messages::WAIT_REFUSED,
                            format_args!("the kernel refuses to wait: {error}"),
                        );
                        break;
                    }
                }
                Advance::End => break,
            }
        }
        self.shared.end(driven);
    }

    /// Whether another thread should drive on.
    fn should_give_back(&self, post: &Post<Http>) -> bool {
        let crew = self.crew();
        let asked = || crew.has_entering_idle() && self.shared.change.swap(false, Ordering::SeqCst);
        crew.should_give_up(post) || (self.shared.change.load(Ordering::Relaxed) && asked())
    }

    /// Goes on errands until the loop can go on (it comes back), or has gone on without this thread.
    fn run_errands(&mut self, mut driven: Box<Loop>, errand: Errand) -> Option<Box<Loop>> {
        let mut next = Some(errand);
        while let Some(errand) = next {
            (driven, next) = self.run_errand(driven, errand)?;
        }
        Some(driven)
    }

    /// Goes on an errand; comes back with the loop and its next errand, or not at all.
    fn run_errand(&mut self, mut driven: Box<Loop>, errand: Errand) -> Option<(Box<Loop>, Option<Errand>)> {
        self.hand.post.begin_errand();
        let date = driven.date;
        let started_us = driven.closely.then(clock::monotonic_us);
        self.hand.waited_us = 0;
        match self.shared.config.hand_over {
            HandOver::Auto => self.hand.driven = Some(driven),
            HandOver::Always => {
                self.hand.driven = Some(driven);
                self.hand.give_up();
            }
            HandOver::Never => {
                // Nobody else would, however long this takes.
                driven.called.wake();
                self.hand.driven = Some(driven);
            }
        }
        match errand {
            Errand::Ask(ask) => {
                let (ask, done) = self.ask(ask, &date);
                let Some(mut driven) = self.hand.driven.take() else {
                    self.come_late(&ask, done, None);
                    return None;
                };
                if driven.away > 0 {
                    // Others are inside the application and will want the interpreter before this batch is over.
                    self.hand.detach();
                }
                if let Some(started_us) = started_us {
                    let took_us = clock::monotonic_us() - started_us;
                    driven.endpoints.took(ask.endpoint, took_us.saturating_sub(self.hand.waited_us));
                }
                let next = driven.answered(ask, done, &mut self.desk);
                Some((driven, next))
            }
            Errand::Pull { key, connection, respond } => {
                let (connection, respond) = self.pull(connection, respond, &date);
                let Some(mut driven) = self.hand.driven.take() else {
                    self.give_back(key, connection, respond, (Endpoint::NONE, None));
                    return None;
                };
                let next = driven.pulled(key, connection, respond, &mut self.desk);
                Some((driven, next))
            }
            Errand::Discard(stream) => {
                self.discard(stream);
                self.hand.driven.take().map(|driven| (driven, None))
            }
        }
    }

    fn run_job(&mut self, job: Job) {
        let Job { errand, home, since_ms, is_quick: _ } = job;
        self.hand.late = true;
        self.home = home;
        self.hand.waited_us = 0;
        let begun_us = clock::monotonic_us();
        let (key, what) = match &errand {
            Errand::Ask(ask) => (ask.key, What::of(ask.place.head_bytes(&self.desk.buffer))),
            Errand::Pull { key, .. } => (*key, What::REST),
            Errand::Discard(_) => (NO_KEY, What::REST),
        };
        let id = errand.request_id().cloned();
        *lock(&self.hand.post.own.task) = Some(Task::new(home, key, begun_us / 1000, what, id));
        let date = crate::date::date_now();
        match errand {
            Errand::Ask(mut ask) => {
                let waited_ms = (begun_us / 1000).saturating_sub(since_ms);
                self.shared.tally.observe(Histogram::QueueWait, waited_ms * 1000);
                let looks = waited_ms >= LOOK_AT_CLIENT_MS;
                if looks && ask.connection.is_abandoned(waited_ms >= LOOK_FOR_CLIENT_MS) {
                    self.shared.note_departed();
                    ask.connection.leave();
                    self.put_into_inbox(ask.key, ask.connection, (Endpoint::NONE, None));
                    return;
                }
                ask.connection.output.lend(&mut self.desk.spare);
                let (ask, done) = self.ask(ask, &date);
                let took_us = (clock::monotonic_us() - begun_us).saturating_sub(self.hand.waited_us);
                self.come_late(&ask, done, Some(took_us));
            }
            Errand::Pull { key, connection, respond } => {
                let (connection, respond) = self.pull(connection, respond, &date);
                self.give_back(key, connection, respond, (Endpoint::NONE, None));
            }
            Errand::Discard(stream) => self.discard(stream),
        }
    }

    /// Runs what has waited in the queue. What computes leaves the CPU to the loop: with its first such request, a thread
    /// gives way for good (an ordinary user cannot take that back).
    fn work_on(&mut self, job: Job) {
        if self.gives_way {
            return self.run_job(job);
        }
        let since_us = clock::thread_us();
        self.run_job(job);
        if clock::thread_us() - since_us >= COMPUTES_US {
            self.gives_way = true;
            process::give_way(self.shared.config.nice);
        }
    }

    /// Calls the application.
    fn ask(&mut self, mut ask: Ask, date: &[u8; 29]) -> (AskLeft, Done) {
        let Some(app) = &self.shared.app else { unreachable!("no errand without an application") };
        let live = ask.live();
        let Desk { buffer, head, .. } = &mut self.desk;
        let (listener, peer) = (usize::from(ask.connection.listener), ask.connection.peer);
        request::enter(&ask.answer.id);
        if let Some(seat) = &self.seat {
            seat.enter(ask.place.head_bytes(buffer), &ask.answer.id);
        }
        let mut reply = Reply::new(ask.connection, ask.answer, &self.shared, date, live);
        reply.lay_in(&mut self.hand);
        let (bytes, body) = match &mut ask.place {
            Place::Desk { start, body_at, end, .. } => {
                let body = if end == body_at { Body::Empty } else { Body::Bytes(&buffer[*body_at..*end]) };
                (&buffer[*start..*body_at], body)
            }
            Place::Own(owned) => {
                parse_again(head, &owned.head, &self.shared.config.head);
                (&*owned.head, owned.body.lend())
            }
        };
        reply.before_wait();
        reply.attach();
        let mut call = Call { head, bytes, body, listener, peer, reply };
        let outcome = catch_unwind(AssertUnwindSafe(|| app.call(&mut call))).unwrap_or_else(|_| {
            // The panic's own message is in the log already.
            let target = String::from_utf8_lossy(head.target().of(bytes)).escape_default().to_string();
            log::write(
                &messages::SERVER_FAILED,
                format_args!("the server itself failed in a request for {target}"),
            );
            Outcome::Failed
        });
        let done = Done::of(outcome, call.reply);
        leave(self.seat.as_ref());
        let Ask { key, started_us, endpoint, place, .. } = ask;
        (AskLeft { key, started_us, endpoint, place }, done)
    }

    /// Asks the application for the next pieces of an answer.
    fn pull(
        &mut self,
        connection: Box<Connection>,
        mut respond: Box<Respond>,
        date: &[u8; 29],
    ) -> (Box<Connection>, Box<Respond>) {
        let (Some(stream), Some(answer)) = (respond.stream.as_mut(), respond.answer.take()) else {
            return (connection, respond);
        };
        request::enter(&answer.id);
        if let Some(seat) = &self.seat {
            seat.enter(&[], &answer.id);
        }
        let mut reply = Reply::new(connection, answer, &self.shared, date, respond.live.take());
        reply.lay_in(&mut self.hand);
        reply.before_wait();
        reply.attach();
        let pulled = catch_unwind(AssertUnwindSafe(|| stream.pull(&mut reply))).unwrap_or(Pull::Failed);
        match pulled {
            Pull::More => {}
            Pull::End => reply.end(),
            Pull::Failed => reply.abort(),
        }
        leave(self.seat.as_ref());
        let (connection, answer, live) = reply.into_parts();
        if pulled != Pull::More {
            respond.stream = None;
        }
        (respond.answer, respond.live) = (Some(answer), live);
        (connection, respond)
    }

    /// Closes what is left of an answer.
    fn discard(&mut self, stream: Box<dyn Stream>) {
        self.hand.lend(None, 0);
        self.hand.attach();
        if catch_unwind(AssertUnwindSafe(|| drop(stream))).is_err() {
            log::write(
                &messages::SERVER_FAILED,
                format_args!("the server itself failed while it closed an answer"),
            );
        }
        // What it has begun to say is not the next request's.
        request::leave();
        if !self.hand.late {
            let nothing = self.hand.reclaim_loop();
            debug_assert!(nothing.is_none(), "no connection was lent");
        }
        if self.hand.late {
            // It is over, if it was handed over: no connection comes home to say so.
            self.end_task();
            self.shared.inboxes[self.home].discards.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Brings an answer home to a loop that has gone on: sends what the client takes, and leaves the rest to the loop.
    fn come_late(&mut self, ask: &AskLeft, done: Done, took_us: Option<u64>) {
        let Done { mut connection, mut answer, live, stream } = done;
        let bytes = ask.place.head_bytes(&self.desk.buffer);
        answer.row = self.shared.tally.row_of(self.desk.head.path().of(bytes), answer.status);
        if let Place::Desk { end, filled, .. } = ask.place {
            connection.keep(&self.desk.buffer[end..filled], true);
        }
        let mut respond = Respond::new(if answer.keeps_alive() { After::Next } else { After::Close });
        (respond.answer, respond.live, respond.stream) = (Some(answer), live, stream);
        respond.started_us = ask.started_us;
        if self.shared.access_log.is_some() {
            respond.head = bytes.to_vec();
        }
        self.give_back(ask.key, connection, Box::new(respond), (ask.endpoint, took_us));
    }

    fn give_back(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        respond: Box<Respond>,
        learned: (Endpoint, Option<u64>),
    ) {
        self.crew().note_done(&self.hand.post);
        if !self.hand.takes_along {
            self.hand.detach();
        }
        // Small answers are sent by the loop, many in a row: each wakes a client, and while one is awake to take the
        // first the next cost less. For large ones the loop has no time; an error shows again when it sends the rest.
        if connection.output.pending_bytes() > LOOP_SENDS_BYTES_MAX
            && matches!(connection.flush(), Ok(crate::output::Flushed::All))
        {
            connection.output.give_back(&mut self.desk.spare);
        }
        connection.phase = Phase::Respond(respond);
        self.put_into_inbox(key, connection, learned);
    }

    /// What the thread was in is over: if its time was, too, whatever is left of the interruption ends with it.
    fn end_task(&mut self) {
        let task = lock(&self.hand.post.own.task).take();
        if task.is_some_and(|task| task.is_interrupted())
            && let Some(app) = &self.shared.app
        {
            self.hand.attach();
            app.absolve(self.hand.post.own.thread);
        }
    }

    /// The request is over for this thread.
    fn put_into_inbox(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        (endpoint, took_us): (Endpoint, Option<u64>),
    ) {
        if connection.disowned {
            // What is left of a stream is dropped while attached.
            self.hand.attach();
        }
        self.end_task();
        if !connection.disowned {
            let stopping = (self.shared.stop)().is_some();
            self.shared.inboxes[self.home].put(Return { key, connection, endpoint, took_us }, stopping);
        }
    }
}

/// The thread of this seat has come back from a request.
fn leave(seat: Option<&Seat>) {
    request::leave();
    if let Some(seat) = seat {
        seat.leave();
    }
}

/// A request without its connection and answer, which are with the call.
pub(crate) struct AskLeft {
    pub(crate) key: usize,
    pub(crate) started_us: u64,
    pub(crate) endpoint: Endpoint,
    pub(crate) place: Place,
}

/// Counted while it lives: an interpreter is not taken down meanwhile.
struct Interrupter(Arc<Shared>);

impl Interrupter {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.interrupters.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Interrupter {
    fn drop(&mut self) {
        self.0.interrupters.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Interrupts the request of connection `key`, on a thread of its own: taking the interpreter may take long.
///
/// # Errors
///
/// The process may not have another thread.
pub(crate) fn interrupt(shared: &Arc<Shared>, post: &Arc<Post<Http>>, task: Task) -> io::Result<()> {
    let interrupter = Interrupter::new(shared);
    let post = Arc::clone(post);
    let run = move || {
        let Some(app) = &interrupter.0.app else { return };
        let mut passed = None;
        let mut if_still = |strike: &mut dyn FnMut()| {
            // Held meanwhile, so that the call cannot end.
            let mut now = lock(&post.own.task);
            let is_it = |now: &&mut Task| now.place() == task.place() && now.stage == Stage::Overdue;
            let Some(same) = now.as_mut().filter(is_it) else { return };
            let due = same.due_ms(&post.own.item_ms, &interrupter.0.config);
            match due.filter(|&(due_ms, _)| due_ms <= clock::monotonic_ms()) {
                Some((_, limit)) => {
                    passed = Some((limit, same.last_item_ms(&post.own.item_ms)));
                    same.stage = Stage::Interrupted;
                    interrupter.0.tally.count(Cell::TimedOut);
                    strike();
                }
                // Something has come meanwhile.
                None => same.stage = Stage::Runs,
            }
        };
        let stack = app.interrupt(post.own.thread, &mut if_still);
        if let (Some(stack), Some(passed)) = (stack, passed) {
            let how = match passed {
                (Limit::Silence, None) => "takes longer than --request-timeout",
                (Limit::Silence, Some(_)) => "has given nothing more for longer than --request-timeout",
                (Limit::Whole, _) => "takes longer than --request-total-timeout",
            };
            log::write_about(
                task.id.as_ref(),
                &messages::REQUEST_TIMEOUT,
                format_args!(
                    "{} {how} allows and is interrupted; it was here:\n{}",
                    task.what,
                    stack.trim_end()
                ),
            );
        }
    };
    std::thread::Builder::new().name("adyton-interrupt".into()).spawn(run).map(|_| ())
}
