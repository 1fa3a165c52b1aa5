//! The choice of the thread that runs a request: the driver at once, a thread that takes it from the queue later, or
//! none.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_crew::{Post, QueueTimes};
use adyton_http::Request;
use adyton_log::{self as log, messages};
use adyton_sys::clock;

use crate::answering::errand::{Errand, Job, LOOK_AT_CLIENT_MS, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::refusals::{NO_THREAD, TIMED_OUT};
use crate::answering::reply::Reply;
use crate::answering::step::{Next, Step, Worked};
use crate::board::tally::{Cell, Histogram};
use crate::client::connection::Connection;
use crate::client::outbox::Outbox;
use crate::client::output::Flushed;
use crate::event_loop::Loop;
use crate::lock::lock;
use crate::threads::desk::Desk;
use crate::threads::interrupt::interrupt;
use crate::threads::shared::Http;
use crate::threads::task::{NO_KEY, Stage, Task, log_stuck};

/// Queue deadline for the rest of an answer that has begun: it never expires and is never refused.
const ALWAYS_MS: u64 = u64::MAX;

/// Threads that are woken together.
const CALLED_MAX: usize = 32;

/// Time that an interrupted call has to end.
const REACTION_MS: u64 = 1_000;

/// Time between two searches for an overdue call that is not found: it waits in the queue, or is on its way back.
const LOOK_AGAIN_MS: u64 = 1_000;

/// The greatest age of a request that is believed: above it the clocks differ.
const AGE_MS_MAX: u64 = 60 * 60 * 1_000;

impl Loop {
    /// Whether the driver may enter the application now.
    fn may_enter(&mut self) -> bool {
        if !self.driver.as_ref().is_some_and(|driver| driver.enters) || self.shared.crew.is_starved() {
            return false;
        }
        self.calls.note_quick(self.now_ms);
        self.shared.crew.take_slot(&mut self.calls.slot)
    }

    /// Puts a job into the queue. The loop's own slot goes with it if it is the last slot and the loop has no use for
    /// it.
    fn submit(&mut self, job: Job, since_ms: u64, now_ms: u64) -> Result<(), Job> {
        let spare = !self.needs_slot();
        let Self { called, calls, .. } = self;
        let slot = &mut calls.slot;
        let times = QueueTimes { since_ms, now_ms };
        let submitted = self.shared.crew.submit(job, times, spare.then_some(slot), called);
        if called.len() >= CALLED_MAX {
            called.wake();
        }
        submitted
    }

    /// Gives an errand to the driver, by returning it, or puts it into the queue.
    pub(crate) fn send(&mut self, key: usize, errand: Errand) -> Option<Errand> {
        if self.may_enter() {
            self.calls.begin_rest(key, errand.request_id().cloned(), errand.limits());
            return Some(errand);
        }
        let limits = errand.limits();
        let job = Job { errand, home: self.home, is_quick: false, since_ms: self.now_ms };
        // The rest of an answer is never turned away.
        let _ = self.submit(job, ALWAYS_MS, self.now_ms);
        self.expect(key, self.now_ms, limits);
        None
    }

    /// Has the application answer the request of the desk's exchange; the desk's head is parsed.
    pub(crate) fn ask(&mut self, key: usize, mut connection: Box<Connection>, desk: &mut Desk) -> Step {
        let mut exchange = desk.take_exchange();
        exchange.key = key;
        let slow = self.learns() && self.calls.endpoints.is_slow(exchange.endpoint);
        if !slow && self.may_enter() {
            return Step::Away(Some(self.enter(connection, exchange, desk)));
        }
        let now_ms = clock::monotonic_ms();
        let since_ms = if is_near(exchange.outbox().peer) {
            waiting_since_ms(desk.head.of(exchange.request.head_bytes(&desk.buffer)), now_ms)
        } else {
            now_ms
        };
        if let Some(rest) = exchange.leave_desk(&desk.buffer) {
            connection.keep(rest, true);
        }
        exchange.is_last = connection.carry.is_empty() && !connection.more;
        self.send_and_watch(key, exchange.outbox(), desk);
        let limits = exchange.call_limits();
        let job = Job { errand: Errand::Ask(exchange), home: self.home, is_quick: !slow, since_ms: now_ms };
        match self.submit(job, since_ms, now_ms) {
            Ok(()) => {
                self.has_queued |= !slow;
                self.connections.put_away(key, connection);
                self.shared.tally.count(Cell::Queued);
                self.expect(key, now_ms, limits);
                if self.connections.has_ended(key) {
                    self.expect_departed(key);
                }
                Step::Away(None)
            }
            // The queue is full: better to run the request here and now than not at all.
            Err(Job { errand: Errand::Ask(exchange), .. }) if since_ms == now_ms && self.may_enter() => {
                Step::Away(Some(self.enter(connection, exchange, desk)))
            }
            Err(Job { errand: Errand::Ask(exchange), .. }) => self.turn_away(connection, exchange, desk),
            Err(_) => unreachable!("what comes back is what was put in"),
        }
    }

    /// Takes the next quick request of this loop back out of the queue. It was queued because the driver could not
    /// enter the application when it came; if the driver runs it now, no other thread need be woken for it, nor wait
    /// for the interpreter beside this one. `None` if there is none, or the driver still cannot enter.
    #[expect(clippy::option_option, reason = "as for `Loop::step`")]
    pub(crate) fn recall(&mut self, desk: &mut Desk) -> Option<Option<Errand>> {
        self.recalls = false;
        if self.shared.crew.waiting() > 0 && !self.may_enter() {
            return None;
        }
        let home = self.home;
        let job = self.shared.crew.withdraw(|job| job.is_quick && job.home == home);
        let Some(Job { errand: Errand::Ask(mut exchange), since_ms, .. }) = job else {
            self.has_queued = false;
            // Requests that stay in the queue were held back for this driver, or for one before it that is still in its call.
            self.shared.crew.call_up_rest(self.now_ms);
            return None;
        };
        // The watch need not call up other threads for the rest, unless this request takes long.
        self.shared.crew.left_some();
        self.recalls = true;
        let key = exchange.key;
        let waited_ms = clock::monotonic_ms().saturating_sub(since_ms);
        self.shared.tally.observe(Histogram::QueueWait, waited_ms * 1000);
        self.connections.away -= 1;
        if waited_ms >= LOOK_AT_CLIENT_MS && exchange.is_abandoned(waited_ms >= LOOK_FOR_CLIENT_MS) {
            self.shared.note_departed();
            self.forget(key);
            return Some(None);
        }
        let mut connection = self.connections.take_away(key);
        if self.connections.take_missed(key) {
            self.shared.inboxes[home].missed.fetch_sub(1, Ordering::Relaxed);
            connection.more = true;
        }
        exchange.outbox().output.lend(&mut desk.spare);
        self.calls.begin(&exchange, &desk.buffer);
        // The request was counted when it was queued.
        self.calls.now.counts = false;
        self.connections.put_away(key, connection);
        Some(Some(Errand::Ask(exchange)))
    }

    /// Prepares the wait of a request: the answers to earlier requests are sent, and the client is watched.
    pub(crate) fn send_and_watch(&mut self, key: usize, outbox: &mut Outbox, desk: &mut Desk) {
        // An error shows again when more is sent.
        if matches!(outbox.flush(), Ok(Flushed::All)) {
            outbox.output.give_back(&mut desk.spare);
        }
        // The watch tells of a client that goes away meanwhile. If it fails, the client is looked at later.
        let _ = self.watch(key, outbox);
    }

    /// Has the driver enter the application with a request.
    fn enter(&mut self, connection: Box<Connection>, exchange: Box<Exchange>, desk: &Desk) -> Errand {
        self.note_call(&exchange, &desk.buffer);
        self.connections.put_away(exchange.key, connection);
        Errand::Ask(exchange)
    }

    /// Looks at a connection that is away and whose client has ended its side: if the client has gone, and the request
    /// is in the queue, both are forgotten.
    pub(crate) fn look_for_departed(&mut self, key: usize) -> bool {
        if self.is_waiting(key) {
            return self.look_for_waiting(key);
        }
        let (home, now_ms) = (self.home, clock::monotonic_ms());
        let is_gone = |job: &Job| {
            let Errand::Ask(exchange) = &job.errand else { return false };
            let far = now_ms.saturating_sub(job.since_ms) >= LOOK_FOR_CLIENT_MS;
            job.home == home && exchange.key == key && exchange.is_abandoned(far)
        };
        let departed = self.shared.crew.withdraw(is_gone).is_some();
        if departed {
            self.shared.note_departed();
            self.connections.away -= 1;
            self.forget(key);
        }
        departed
    }

    /// Refuses a request that has waited too long in the queue.
    pub(crate) fn give_up(&mut self, job: Job, desk: &mut Desk) -> Option<Errand> {
        let Errand::Ask(exchange) = job.errand else { unreachable!("nothing else is given up") };
        let key = exchange.key;
        self.connections.away -= 1;
        self.guarded(key, desk, |this, desk| {
            let connection = this.connections.take_away(key);
            let step = this.turn_away(connection, exchange, desk);
            this.work_on(key, step, desk)
        })
    }

    /// Answers 503, because the server has no time for this request (RFC 9110 section 15.6.4).
    fn turn_away(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        desk: &mut Desk,
    ) -> Step {
        self.shared.tally.count(Cell::TurnedAway);
        let Exchange { key, request, answer, started_us, .. } = &mut *exchange;
        self.shared.refusals.note(&self.shared.tally, NO_THREAD, false, answer.outbox().peer);
        let RequestBytes::Owned(owned) = request else {
            unreachable!("a request in the queue has left the desk")
        };
        parse_again(&mut desk.head, &owned.head, &self.shared.config.head);
        answer.outbox().output.lend(&mut desk.spare);
        let mut reply = Reply::new(answer, &self.shared.common, &self.date);
        // Clients that were turned away together should not come back together.
        let seconds = [b'1' + u8::try_from(clock::monotonic_us() % 3).unwrap_or(0)];
        reply.page(503, "The server has too much to do just now.", &[(b"Retry-After", &seconds)]);
        let asked_for = desk.head.of(&owned.head);
        let after = self.conclude_answer(&mut connection, answer, *started_us, asked_for);
        let key = *key;
        desk.keep_exchange(exchange);
        self.conclude(key, connection, desk, after)
    }

    /// Handles a connection that is away and whose request may have passed one of its limits.
    pub(crate) fn overdue(&mut self, key: usize, desk: &mut Desk) -> Option<Errand> {
        if self.is_waiting(key) {
            return self.overdue_waiting(key, desk);
        }
        let home = self.home;
        let is_its = |task: &Task| task.home == home && task.key == key && !task.lost;
        let post = self.shared.crew.find(|post| lock(&post.own.task).as_ref().is_some_and(is_its));
        let task = post.as_ref().and_then(|post| lock(&post.own.task).clone());
        let (Some(post), Some(task)) = (post, task) else {
            self.timers.set(key, self.now_ms + LOOK_AGAIN_MS);
            if self.connections.has_ended(key) {
                self.look_for_departed(key);
            }
            return None;
        };
        // Without limits nothing is ever overdue.
        task.limits.first_ms()?;
        if let Some(again_ms) = self.press(&post, &task) {
            self.timers.set(key, again_ms);
            return None;
        }
        let Some(outbox) = post.own.lent.take() else {
            self.timers.set(key, self.now_ms + REACTION_MS);
            return None;
        };
        self.lose(&post, &task);
        let (outbox, left) = outbox.disown();
        post.own.lent.put(left);
        self.connections.away -= 1;
        self.guarded(key, desk, |this, desk| this.answer_in_place(outbox, desk, &task))
    }

    /// Looks at threads that drop the rest of answers whose clients have gone, which may take longer than a request
    /// may.
    pub(crate) fn look_at_discards(&mut self) {
        let home = self.home;
        let discards = self.shared.crew.posts(|own| {
            lock(&own.task).clone().filter(|task| task.home == home && task.key == NO_KEY && !task.lost)
        });
        let are_left = self.shared.inboxes[home].discards.load(Ordering::SeqCst) > 0;
        self.discards_due_ms = are_left.then_some(self.now_ms + LOOK_AGAIN_MS);
        for (post, task) in discards {
            match self.press(&post, &task) {
                Some(again_ms) => self.look_at_discards_by(again_ms),
                None => self.lose(&post, &task),
            }
        }
    }

    /// Has threads that drop the rest of answers looked at by `due_ms` at the latest.
    pub(crate) fn look_at_discards_by(&mut self, due_ms: u64) {
        self.discards_due_ms = Some(self.discards_due_ms.map_or(due_ms, |before_ms| before_ms.min(due_ms)));
    }

    /// Interrupts a call whose time is over. Returns when to look again; `None` if the call does not react.
    fn press(&self, post: &Arc<Post<Http>>, task: &Task) -> Option<u64> {
        let look_again_ms = self.now_ms + task.limits.first_ms().unwrap_or(LOOK_AGAIN_MS);
        let Some((due_ms, _)) = task.due_ms(&post.own.item_ms) else { return Some(look_again_ms) };
        match task.stage {
            Stage::Parked => Some(look_again_ms),
            Stage::Runs if self.now_ms < due_ms => Some(due_ms),
            Stage::Runs => {
                note(post, task, Task::expire);
                if let Err(error) = interrupt(&self.shared, post, task.clone()) {
                    let text = format_args!("a call cannot be interrupted: {error}");
                    log::write_about(task.id.as_ref(), &messages::NOT_INTERRUPTED, text);
                }
                Some(self.now_ms + REACTION_MS)
            }
            Stage::Overdue | Stage::Interrupted => None,
        }
    }

    /// Gives up the thread of a call that does not react.
    fn lose(&self, post: &Post<Http>, task: &Task) {
        note(post, task, |task| task.lost = true);
        let stacks = || self.shared.host.as_ref().and_then(|host| host.held_stacks());
        log_stuck(task, self.now_ms.saturating_sub(task.since_ms), stacks);
        // The supervisor, which reads the count and replaces the worker, finds the stacks in the log.
        self.shared.tally.count(Cell::Stuck);
    }

    /// Answers a request in the place of a lost thread.
    fn answer_in_place(&mut self, outbox: Option<Box<Outbox>>, desk: &mut Desk, task: &Task) -> Worked {
        let Some(outbox) = outbox else { return Worked::Ended(None) };
        let (key, begun) = (task.key, outbox.begun);
        let mut connection = self.connections.take_away(key);
        connection.restart(outbox, self.now_ms);
        if begun {
            connection.transport().reset_on_close();
            return self.work_on(key, Step::On(connection, Next::Close), desk);
        }
        let id = task.id.clone().unwrap_or_else(|| self.ids.next(None, None));
        let step = self.refuse_as(id, key, connection, desk, TIMED_OUT, task.what.to_string().as_bytes());
        self.work_on(key, step, desk)
    }
}

/// Changes a thread's task, if it is still the same.
fn note(post: &Post<Http>, task: &Task, change: fn(&mut Task)) {
    if let Some(same) = lock(&post.own.task).as_mut().filter(|now| now.place() == task.place() && !now.lost) {
        change(same);
    }
}

/// Whether the peer may be a proxy of our own: other clients could tell any time for their requests.
fn is_near(peer: Option<SocketAddr>) -> bool {
    let is_near_v4 = |ip: Ipv4Addr| ip.is_loopback() || ip.is_private();
    match peer.map(|peer| peer.ip()) {
        None => true,
        Some(IpAddr::V4(ip)) => is_near_v4(ip),
        Some(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.to_ipv4_mapped().is_some_and(is_near_v4)
        }
    }
}

/// Returns when a request began to wait, in ms of the monotonic clock. A proxy may have set an `X-Request-Start` field:
/// `t=` and a time since 1970 in seconds with a fraction, in ms or in us.
fn waiting_since_ms(request: Request<'_>, now_ms: u64) -> u64 {
    let Some(value) = request.all_named(b"X-Request-Start").next() else { return now_ms };
    let value = value.strip_prefix(b"t=").unwrap_or(value);
    let Some(at_ms) = std::str::from_utf8(value).ok().and_then(unix_ms) else { return now_ms };
    match clock::unix_ms().checked_sub(at_ms) {
        Some(age_ms) if age_ms <= AGE_MS_MAX => now_ms.saturating_sub(age_ms),
        _ => now_ms,
    }
}

/// Parses a time since 1970, whose unit shows in its size, and returns it in ms.
fn unix_ms(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty()
        || whole.len() > 17
        || !(whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let number: u64 = whole.parse().ok()?;
    Some(match whole.len() {
        0..12 => {
            let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
            number * 1000 + digits.parse::<u64>().ok()?
        }
        12..15 => number,
        _ => number / 1000,
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use adyton_crew::{Called, Duty, Held, QueueTimes};
    use adyton_route::Routes;
    use adyton_sys::wake::Wake;

    use super::{ALWAYS_MS, is_near, unix_ms};
    use crate::answering::errand::{Errand, Job};
    use crate::answering::outcome::{Pull, Stream};
    use crate::answering::reply::Reply;
    use crate::board::tally::Tally;
    use crate::config::Config;
    use crate::event_loop::{Loop, Parts};
    use crate::site::limits::{CallLimits, SiteLimits};
    use crate::site::plan::{Plan, Site};
    use crate::threads::desk::Desk;
    use crate::threads::shared::{Own, Shared};

    /// The empty rest of an answer.
    struct Nothing;

    impl Stream for Nothing {
        fn pull(&mut self, _: &mut Reply<'_>) -> Pull {
            Pull::End
        }
    }

    /// A loop that can take nothing back calls up other threads for requests that were held back for its driver.
    #[test]
    fn requests_held_back_are_called_up() -> io::Result<()> {
        let wake = Arc::new(Wake::new()?);
        let config = Config { threads: 2, ..Config::default() };
        let mut desk = Desk::new(&config);
        let site = Site::new(Vec::new(), Routes::new(Vec::new()), SiteLimits::default(), None);
        let plan = Plan::new(vec![site]).map_err(|_| io::Error::other("no plan"))?;
        let wakes = vec![Arc::clone(&wake)];
        let shared = Arc::new(Shared::new(config, plan, wakes, Box::new(|| None), None, Tally::new()?));
        let (listeners, passages, folders) = (Vec::new(), Vec::new(), Vec::new());
        let parts = Parts { listeners, addresses: 1, passages, share: None, folders, wake };
        let mut driven = Loop::new(parts, 0, Arc::clone(&shared))?;
        let crew = &shared.crew;

        let (held, waiting, duty) = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let post = crew.join(true, Own::new(0));
                crew.next(&post, &mut false, 0, || ())
            });
            while !crew.has_entering_idle() {
                std::thread::yield_now();
            }
            let post = crew.join(true, Own::new(0));
            driven.driver = Some(Arc::clone(&post));
            let held = crew.attach_driver(&post, || {
                let errand = Errand::Discard(Box::new(Nothing), CallLimits::default());
                let job = Job { errand, home: 0, is_quick: false, since_ms: 0 };
                let times = QueueTimes { since_ms: ALWAYS_MS, now_ms: 0 };
                let submitted = crew.submit(job, times, None, &mut Called::empty());
                debug_assert!(submitted.is_ok(), "there is room in the queue");
            });
            let is_taken = driven.recall(&mut desk).is_some();
            let waiting = crew.waiting();
            // The worker ends if it has been given nothing.
            crew.end_loop();
            (held, (is_taken, waiting), worker.join())
        });
        assert_eq!(held, Held::Some);
        assert_eq!(waiting, (false, 0));
        assert!(matches!(duty, Ok(Duty::Work(_))), "the worker has the request");
        Ok(())
    }

    /// Loopback addresses, private addresses and unix sockets are near, and nothing else.
    #[test]
    fn proxies_are_near() {
        for near in [
            "127.0.0.1:80",
            "10.1.2.3:80",
            "192.168.0.1:80",
            "[::1]:80",
            "[fd00::1]:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            assert!(is_near(near.parse().ok()), "{near}");
        }
        assert!(is_near(None));
        for far in ["203.0.113.5:80", "172.15.0.1:80", "[2001:db8::1]:80", "[::ffff:8.8.8.8]:80"] {
            assert!(!is_near(far.parse().ok()), "{far}");
        }
    }

    /// All three units that proxies use are read, and nonsense is not.
    #[test]
    fn times_in_any_unit() {
        assert_eq!(Some(1_700_000_000_123), unix_ms("1700000000.123"));
        assert_eq!(Some(1_700_000_000_120), unix_ms("1700000000.12"));
        assert_eq!(Some(1_700_000_000_000), unix_ms("1700000000"));
        assert_eq!(Some(1_700_000_000_123), unix_ms("1700000000123"));
        assert_eq!(Some(1_700_000_000_123), unix_ms("1700000000123456"));
        for bad in ["", ".5", "-1", "soon", "17e9", "1700000000.12x", "999999999999999999999"] {
            assert_eq!(None, unix_ms(bad), "{bad}");
        }
    }
}
