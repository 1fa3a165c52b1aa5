//! A thread of the server: it drives a loop and runs its errands, or runs errands that wait in the queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_crew::{Crew, Duty, Post};
use adyton_http1::Framing;
use adyton_log::request::{self, RequestId};
use adyton_log::{self as log, messages};
use adyton_sys::{clock, process};

use crate::answering::errand::{Errand, Job, LOOK_AT_CLIENT_MS, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::later::Made;
use crate::answering::outcome::{Left, Outcome, Pull, Stream};
use crate::answering::reply::Reply;
use crate::app::{Call, MountPoint};
use crate::board::crash_record::Trace;
use crate::board::tally::Histogram;
use crate::client::body::Body;
use crate::client::output::Flushed;
use crate::config::HandOver;
use crate::course::resuming::returning::{answered, pulled};
use crate::event_loop::rounds::{advance, wait};
use crate::event_loop::{Advance, Loop};
use crate::lock::lock;
use crate::threads::desk::Desk;
use crate::threads::endpoints::Endpoint;
use crate::threads::hand::{Employment, Hand};
use crate::threads::inbox::Return;
use crate::threads::pace::{Mark, Pace, WAITS_US, Waited};
use crate::threads::shared::{Http, Own, Shared};
use crate::threads::task::{NO_KEY, Task, What};
use crate::threads::waiter::set_waiter;

/// Late answers up to this size are sent by the loop.
const LOOP_SENDS_BYTES_MAX: u64 = 16 << 10;

/// CPU time from which on a request counts as one that computes.
const COMPUTES_US: u64 = 10_000;

/// One thread of the server.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    desk: Desk,
    hand: Hand,
    /// The loop that the errand at hand came from.
    home: usize,
    /// Whether this thread runs at a lower priority already, or is never to run at one.
    gives_way: bool,
    /// Notes the request that the thread is in, in case that request makes the process die.
    trace: Option<Trace>,
}

impl Driver {
    pub(crate) fn new(shared: &Arc<Shared>, enters: bool, thread: u64) -> Self {
        let post = shared.crew.join(enters, Own::new(thread));
        set_waiter(Some(Rc::new(Employment { shared: Arc::clone(shared), post: Arc::clone(&post) })));
        let hand = Hand::new(Arc::clone(shared), post);
        // With one slot this thread also drives the loop, so it keeps its priority.
        let gives_way = shared.config.nice == 0 || shared.crew.slots() == 1;
        let desk = Desk::new(&shared.config);
        Self { shared: Arc::clone(shared), desk, hand, home: 0, gives_way, trace: shared.tally.trace() }
    }

    fn crew(&self) -> &Crew<Http> {
        &self.shared.crew
    }

    /// Works until the crew no longer needs this thread.
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

    /// Runs the quick requests that have queued while this thread waited for the interpreter, and then lets go of the
    /// interpreter.
    fn take_along(&mut self) {
        if std::mem::take(&mut self.hand.takes_along) {
            self.crew().begin_taking();
            // Requests that come from now on are left out: with clients that ask again at once there would be no end.
            for _ in 0..self.crew().waiting() {
                let Some(job) = self.crew().withdraw(|job| job.is_quick) else { break };
                self.crew().note_back(&self.hand.post);
                self.run_job(job, Mark::now());
            }
            self.crew().end_taking();
            self.hand.detach();
        }
        self.call_up_rest();
    }

    /// Calls up other threads for requests that were left to this one.
    fn call_up_rest(&mut self) {
        if std::mem::take(&mut self.hand.leaves_rest) {
            self.crew().call_up_rest(clock::monotonic_ms());
        }
    }

    /// Drives a loop until it ends, or goes on without this thread.
    fn drive(&mut self, mut driven: Box<Loop>) {
        let post = Arc::clone(&self.hand.post);
        self.crew().begin_driving(driven.home, &post);
        driven.driver = Some(Arc::clone(&post));
        if std::mem::take(&mut self.hand.slot) {
            self.crew().bring_slot(&mut driven.calls.slot, clock::monotonic_ms());
        }
        self.hand.late = false;
        self.home = driven.home;
        loop {
            match advance(&mut driven, &mut self.desk) {
                Advance::Errand(errand) => match self.run_errands(driven, errand) {
                    Some(back) => driven = back,
                    None => return,
                },
                Advance::Wait { lets_go } => {
                    if lets_go || !driven.called.is_empty() {
                        self.hand.detach();
                    }
                    driven.called.wake();
                    self.call_up_rest();
                    if self.should_give_back(&post) {
                        // The next driver takes a slot if it needs one; this slot stays with this thread, which may
                        // need it now.
                        self.hand.slot = std::mem::take(&mut driven.calls.slot.held);
                        self.crew().offer(driven);
                        return;
                    }
                    if let Err(error) = wait(&mut driven) {
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

    /// Whether another thread should go on with the loop.
    fn should_give_back(&self, post: &Post<Http>) -> bool {
        let crew = self.crew();
        let asked = || crew.has_entering_idle() && self.shared.change.swap(false, Ordering::SeqCst);
        crew.should_give_up(post) || (self.shared.change.load(Ordering::Relaxed) && asked())
    }

    /// Runs errands until the loop can go on. Returns the loop, or `None` if it has gone on without this thread.
    fn run_errands(&mut self, mut driven: Box<Loop>, errand: Errand) -> Option<Box<Loop>> {
        let mut next = Some(errand);
        while let Some(errand) = next {
            (driven, next) = self.run_errand(driven, errand)?;
            if self.hand.leaves_rest {
                // The loop takes its own queued requests back.
                self.hand.takes_along = false;
                if !driven.has_queued {
                    self.call_up_rest();
                }
            }
        }
        Some(driven)
    }

    /// Runs an errand. Returns the loop and its next errand, or `None` if the loop has gone on without this thread.
    fn run_errand(&mut self, mut driven: Box<Loop>, errand: Errand) -> Option<(Box<Loop>, Option<Errand>)> {
        self.hand.post.begin_errand();
        let date = driven.date;
        let timed_us = driven.calls.begin_timed();
        self.hand.waited = Waited::default();
        match self.shared.config.hand_over {
            HandOver::Auto => self.hand.driven = Some(driven),
            HandOver::Always => {
                self.hand.driven = Some(driven);
                self.hand.give_up();
            }
            HandOver::Never => {
                // No other thread takes the loop over, however long this call takes, so no other thread would wake the
                // threads that were called.
                driven.called.wake();
                self.hand.driven = Some(driven);
            }
        }
        match errand {
            Errand::Ask(mut exchange) => {
                let left = self.ask(&mut exchange, &date);
                let Some(mut driven) = self.hand.driven.take() else {
                    self.come_late(exchange, left, None);
                    return None;
                };
                if driven.connections.away > 0 {
                    // Other threads are inside the application and will want the interpreter before this batch is over.
                    self.hand.detach();
                }
                if let Some(timed_us) = timed_us {
                    driven.calls.end_timed(exchange.endpoint, timed_us, self.hand.waited);
                }
                let next = answered(&mut driven, exchange, left, &mut self.desk);
                Some((driven, next))
            }
            Errand::Pull(mut exchange, stream) => {
                let stream = self.pull(&mut exchange, stream, &date);
                let Some(mut driven) = self.hand.driven.take() else {
                    self.give_back(exchange, stream.map_or(Left::Nothing, Left::Stream), None);
                    return None;
                };
                let next = pulled(&mut driven, exchange, stream, &mut self.desk);
                Some((driven, next))
            }
            Errand::Redeem(mut exchange, made) => {
                let left = self.redeem(&mut exchange, made, &date);
                let Some(mut driven) = self.hand.driven.take() else {
                    self.come_late(exchange, left, None);
                    return None;
                };
                let next = answered(&mut driven, exchange, left, &mut self.desk);
                Some((driven, next))
            }
            Errand::Discard(stream, _) => {
                self.discard(stream);
                self.hand.driven.take().map(|driven| (driven, None))
            }
        }
    }

    fn run_job(&mut self, job: Job, begun: Mark) {
        let Job { errand, home, since_ms, is_quick: _ } = job;
        self.hand.late = true;
        self.home = home;
        self.hand.waited = Waited::default();
        let begun_us = begun.us;
        let (key, what) = match &errand {
            Errand::Ask(exchange) | Errand::Redeem(exchange, _) => {
                (exchange.key, What::of(exchange.request.head_bytes(&self.desk.buffer)))
            }
            Errand::Pull(exchange, _) => (exchange.key, What::REST),
            Errand::Discard(..) => (NO_KEY, What::REST),
        };
        let (id, limits) = (errand.request_id().cloned(), errand.limits());
        *lock(&self.hand.post.own.task) = Some(Task::new(home, key, begun_us / 1000, what, id, limits));
        let date = crate::answering::date::date_now();
        match errand {
            Errand::Ask(mut exchange) => {
                let waited_ms = (begun_us / 1000).saturating_sub(since_ms);
                self.shared.tally.observe(Histogram::QueueWait, waited_ms * 1000);
                let looks = waited_ms >= LOOK_AT_CLIENT_MS;
                if looks && exchange.outbox().is_abandoned(waited_ms >= LOOK_FOR_CLIENT_MS) {
                    self.shared.note_departed();
                    let left = Left::Nothing;
                    self.put_into_inbox(Return { exchange, left, is_departed: true, learned: None });
                    return;
                }
                exchange.outbox().output.lend(&mut self.desk.spare);
                let left = self.ask(&mut exchange, &date);
                let took_us = clock::monotonic_us() - begun.us;
                let pace = if took_us < WAITS_US {
                    Pace::Quick
                } else {
                    begun.pace_until(&Mark::now(), self.hand.waited)
                };
                self.come_late(exchange, left, Some(pace));
            }
            Errand::Pull(mut exchange, stream) => {
                let stream = self.pull(&mut exchange, stream, &date);
                self.give_back(exchange, stream.map_or(Left::Nothing, Left::Stream), None);
            }
            Errand::Redeem(mut exchange, made) => {
                exchange.outbox().output.lend(&mut self.desk.spare);
                let left = self.redeem(&mut exchange, made, &date);
                self.come_late(exchange, left, None);
            }
            Errand::Discard(stream, _) => self.discard(stream),
        }
    }

    /// Runs an errand from the queue. After its first request that computes, a thread has a lower priority than the
    /// loop, for good (an ordinary user cannot raise a priority again).
    fn work_on(&mut self, job: Job) {
        let begun = Mark::now();
        self.run_job(job, begun);
        if !self.gives_way && begun.computed_us() >= COMPUTES_US {
            self.gives_way = true;
            process::give_way(self.shared.config.nice);
        }
    }

    /// Calls the application.
    fn ask(&mut self, exchange: &mut Exchange, date: &[u8; 29]) -> Left {
        let Desk { buffer, head, .. } = &mut self.desk;
        let outbox = exchange.outbox();
        let (listener, peer) = (usize::from(outbox.listener), outbox.peer);
        let peer = exchange.answer.client(peer);
        let Exchange { key, request: asked, answer, site, route, .. } = exchange;
        let Some(app) = site.as_ref().and_then(|site| site.app(*route)) else {
            unreachable!("no errand without an application")
        };
        enter(self.trace.as_ref(), &answer.id, asked.head_bytes(buffer));
        let (bytes, body) = match asked {
            RequestBytes::Lent { start, body_at, end, .. } => {
                let body = if end == body_at { Body::Empty } else { Body::Bytes(&buffer[*body_at..*end]) };
                (&buffer[*start..*body_at], body)
            }
            RequestBytes::Owned(owned) => {
                parse_again(head, &owned.head, &self.shared.config.head);
                (&*owned.head, owned.body.lend())
            }
        };
        let reply = Reply::of_application(answer, &self.shared, date, &mut self.hand);
        let (key, home) = (*key, &self.shared.homes[self.home]);
        let request = head.of(bytes);
        let is_chunked = head.framing() == Framing::Chunked;
        let mount = site.as_ref().map_or_else(MountPoint::default, |site| site.mount(*route, request.path()));
        let mut call = Call { request, mount, is_chunked, body, listener, peer, reply, key, home };
        let outcome = catch_unwind(AssertUnwindSafe(|| app.call(&mut call))).unwrap_or_else(|_| {
            // The panic's own message is in the log already.
            let target = String::from_utf8_lossy(request.target()).escape_default().to_string();
            log::write(
                &messages::SERVER_FAILED,
                format_args!("the server itself failed in a request for {target}"),
            );
            Outcome::Failed
        });
        let left = conclude(outcome, &mut call.reply);
        leave(self.trace.as_ref());
        left
    }

    /// Has `made` give an answer that comes after its call.
    fn redeem(&mut self, exchange: &mut Exchange, made: Made, date: &[u8; 29]) -> Left {
        let Exchange { request, answer, .. } = exchange;
        let Desk { buffer, head, .. } = &mut self.desk;
        let bytes = request.head_bytes(buffer);
        // The steps after the answer look at the desk's head.
        parse_again(head, bytes, &self.shared.config.head);
        enter(self.trace.as_ref(), &answer.id, bytes);
        let mut reply = Reply::of_application(answer, &self.shared, date, &mut self.hand);
        let outcome = catch_unwind(AssertUnwindSafe(|| made(&mut reply))).unwrap_or(Outcome::Failed);
        let left = conclude(outcome, &mut reply);
        leave(self.trace.as_ref());
        left
    }

    /// Asks the application for the next pieces of an answer. Returns the stream, unless it has ended.
    fn pull(
        &mut self,
        exchange: &mut Exchange,
        mut stream: Box<dyn Stream>,
        date: &[u8; 29],
    ) -> Option<Box<dyn Stream>> {
        enter(self.trace.as_ref(), &exchange.answer.id, &[]);
        let mut reply = Reply::of_application(&mut exchange.answer, &self.shared, date, &mut self.hand);
        let pulled = catch_unwind(AssertUnwindSafe(|| stream.pull(&mut reply))).unwrap_or(Pull::Failed);
        match pulled {
            Pull::More => {}
            Pull::End => reply.end(),
            Pull::Failed => reply.abort(),
        }
        leave(self.trace.as_ref());
        reply.outbox();
        (pulled == Pull::More).then_some(stream)
    }

    /// Drops the rest of an answer.
    fn discard(&mut self, stream: Box<dyn Stream>) {
        self.hand.lend_loop();
        self.hand.take_interpreter();
        if catch_unwind(AssertUnwindSafe(|| drop(stream))).is_err() {
            log::write(
                &messages::SERVER_FAILED,
                format_args!("the server itself failed while it closed an answer"),
            );
        }
        // If the application has begun a log line here, the line must not go on in the next request.
        request::leave();
        if !self.hand.late {
            let nothing = self.hand.reclaim_loop();
            debug_assert!(nothing.is_none(), "no outbox was lent");
        }
        if self.hand.late {
            // This errand has no exchange that comes home, so a late thread ends its task here.
            self.end_task();
            self.shared.inboxes[self.home].discards.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Brings an answer home to a loop that has gone on: sends as much as the client takes, and leaves the rest to the
    /// loop.
    fn come_late(&mut self, mut exchange: Box<Exchange>, left: Left, pace: Option<Pace>) {
        if matches!(left, Left::Later(_) | Left::Onward | Left::Judged(_)) {
            if let Some(rest) = exchange.leave_desk(&self.desk.buffer) {
                exchange.rest = rest.to_vec();
            }
            return self.give_back(exchange, left, None);
        }
        let Exchange { request, answer, head, rest, endpoint, .. } = &mut *exchange;
        let bytes = request.head_bytes(&self.desk.buffer);
        answer.row = self.shared.tally.row_of(self.desk.head.path.of(bytes), answer.status);
        if answer.outbox().terms.log.is_some() {
            *head = bytes.to_vec();
        }
        if let RequestBytes::Lent { end, filled, .. } = request {
            *rest = self.desk.buffer[*end..*filled].to_vec();
        }
        let learned = pace.map(|pace| (*endpoint, pace));
        exchange.forget_request();
        self.give_back(exchange, left, learned);
    }

    fn give_back(&mut self, mut exchange: Box<Exchange>, left: Left, learned: Option<(Endpoint, Pace)>) {
        self.crew().note_done(&self.hand.post);
        if !self.hand.takes_along {
            self.hand.detach();
        }
        let outbox = exchange.outbox();
        // A loop that is awake sends small answers, many in a row. Each answer wakes a client, and while a client is
        // awake with its first answer, the next answers cost less. A loop has no time for large answers, and a sleeping
        // loop need not be woken. An error shows again when the loop sends the rest.
        let sends = outbox.output.pending_bytes() > LOOP_SENDS_BYTES_MAX
            || self.shared.inboxes[self.home].asleep.load(Ordering::Relaxed);
        if sends && matches!(outbox.flush(), Ok(Flushed::All)) {
            outbox.output.give_back(&mut self.desk.spare);
        }
        self.put_into_inbox(Return { exchange, left, is_departed: false, learned });
    }

    /// Ends the thread's task. If the task was interrupted, takes back whatever is left of the interruption.
    fn end_task(&mut self) {
        let task = lock(&self.hand.post.own.task).take();
        if task.is_some_and(|task| task.is_interrupted())
            && let Some(host) = &self.shared.host
        {
            self.hand.take_interpreter();
            host.absolve(self.hand.post.own.thread);
        }
    }

    /// Puts a request with which this thread is done into the inbox of the request's loop.
    fn put_into_inbox(&mut self, mut back: Return) {
        let is_disowned = back.exchange.outbox().disowned;
        if is_disowned {
            // The rest of a stream is dropped while attached.
            self.hand.take_interpreter();
        }
        self.end_task();
        if !is_disowned {
            let stopping = (self.shared.stop)().is_some();
            self.shared.inboxes[self.home].put(back, stopping);
        }
    }
}

/// Ends an answer as the outcome of its call demands. Returns the rest of the answer.
fn conclude(outcome: Outcome, reply: &mut Reply<'_>) -> Left {
    if reply.goes_on() {
        if !matches!(outcome, Outcome::Failed | Outcome::TimedOut) {
            // The rest of a stream is dropped here, while attached.
            drop(outcome);
            reply.outbox();
            return Left::Onward;
        }
        reply.take_back();
    }
    let left = match outcome {
        Outcome::Stream(stream) => Left::Stream(stream),
        Outcome::Later(claim) if !reply.has_begun() => Left::Later(claim),
        Outcome::Judged(judged) if !reply.has_begun() => Left::Judged(judged),
        Outcome::Done => Left::Nothing,
        Outcome::TimedOut if !reply.has_begun() => {
            reply.fail(504, "The application took too long.");
            Left::Nothing
        }
        // An answer that has begun cannot be given later.
        Outcome::Failed | Outcome::TimedOut | Outcome::Later(_) | Outcome::Judged(_) => {
            reply.abort();
            Left::Nothing
        }
    };
    if matches!(left, Left::Nothing) {
        reply.end();
    }
    reply.outbox();
    left
}

/// Notes that the thread is in a request from here on: its log lines are about that request, and so is a crash.
fn enter(trace: Option<&Trace>, id: &RequestId, head: &[u8]) {
    request::enter(id);
    if let Some(trace) = trace {
        trace.enter(head, id);
    }
}

/// Notes that the thread of this trace has come back from a request.
fn leave(trace: Option<&Trace>) {
    request::leave();
    if let Some(trace) = trace {
        trace.leave();
    }
}
