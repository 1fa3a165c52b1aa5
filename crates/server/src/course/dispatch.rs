//! The choice of the thread that runs a request: the driver at once, a thread that takes it from the queue later, or
//! none.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;

use adyton_crew::QueueTimes;
use adyton_http::Request;
use adyton_sys::clock;

use crate::answering::errand::{Errand, Job, LOOK_AT_CLIENT_MS, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::refusals::NO_THREAD;
use crate::answering::reply::Reply;
use crate::answering::step::Step;
use crate::board::tally::{Cell, Histogram};
use crate::client::connection::Connection;
use crate::client::outbox::Outbox;
use crate::client::output::Flushed;
use crate::course::concluding::{conclude, conclude_answer};
use crate::course::turn::Turn;
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

/// Queue deadline for the rest of an answer that has begun: it never expires and is never refused.
const ALWAYS_MS: u64 = u64::MAX;

/// Threads that are woken together.
const CALLED_MAX: usize = 32;

/// The greatest age of a request that is believed: if a proxy tells a greater one, its clock differs from ours.
const AGE_MS_MAX: u64 = 60 * 60 * 1_000;

/// Has the application answer the request of the desk's exchange; the desk's head is parsed.
pub(crate) fn ask_application(mut turn: Turn<'_>) -> Step {
    let mut exchange = turn.desk.take_exchange();
    exchange.key = turn.key;
    let slow = turn.driven.learns() && turn.driven.calls.endpoints.is_slow(exchange.endpoint);
    if !slow && may_enter(turn.driven) {
        return Step::Away(Some(enter(turn.driven, turn.connection, exchange, turn.desk)));
    }
    let now_ms = clock::monotonic_ms();
    let since_ms = if is_near(exchange.outbox().peer) {
        waiting_since_ms(turn.desk.head.of(exchange.request.head_bytes(&turn.desk.buffer)), now_ms)
    } else {
        now_ms
    };
    if let Some(rest) = exchange.leave_desk(&turn.desk.buffer) {
        turn.connection.keep(rest, true);
    }
    exchange.is_last = turn.connection.carry.is_empty() && !turn.connection.more;
    send_and_watch(turn.driven, turn.key, exchange.outbox(), turn.desk);
    let limits = exchange.call_limits();
    let job =
        Job { errand: Errand::Ask(exchange), home: turn.driven.home, is_quick: !slow, since_ms: now_ms };
    match submit(turn.driven, job, since_ms, now_ms) {
        Ok(()) => {
            turn.driven.has_queued |= !slow;
            turn.driven.connections.put_away(turn.key, turn.connection);
            turn.driven.shared.tally.count(Cell::Queued);
            turn.driven.expect(turn.key, now_ms, limits);
            if turn.driven.connections.has_ended(turn.key) {
                turn.driven.expect_departed(turn.key);
            }
            Step::Away(None)
        }
        // The queue is full: better to run the request here and now than not at all.
        Err(Job { errand: Errand::Ask(exchange), .. }) if since_ms == now_ms && may_enter(turn.driven) => {
            Step::Away(Some(enter(turn.driven, turn.connection, exchange, turn.desk)))
        }
        Err(Job { errand: Errand::Ask(exchange), .. }) => turn_away(turn, exchange),
        Err(_) => unreachable!("what comes back is what was put in"),
    }
}

/// Whether the driver may enter the application now.
fn may_enter(driven: &mut Loop) -> bool {
    if !driven.driver.as_ref().is_some_and(|driver| driver.enters) || driven.shared.crew.is_starved() {
        return false;
    }
    driven.calls.note_quick(driven.now_ms);
    driven.shared.crew.take_slot(&mut driven.calls.slot)
}

/// Puts a job into the queue. The loop gives its own slot to the job if that slot is the last one, and the loop has no
/// use for it.
fn submit(driven: &mut Loop, job: Job, since_ms: u64, now_ms: u64) -> Result<(), Job> {
    let spare = !driven.needs_slot();
    let Loop { called, calls, .. } = driven;
    let slot = &mut calls.slot;
    let times = QueueTimes { since_ms, now_ms };
    let submitted = driven.shared.crew.submit(job, times, spare.then_some(slot), called);
    if called.len() >= CALLED_MAX {
        called.wake();
    }
    submitted
}

/// Has the driver enter the application with a request.
fn enter(driven: &mut Loop, connection: Box<Connection>, exchange: Box<Exchange>, desk: &Desk) -> Errand {
    driven.note_call(&exchange, &desk.buffer);
    driven.connections.put_away(exchange.key, connection);
    Errand::Ask(exchange)
}

/// Answers 503, because the server has no time for this request (RFC 9110 section 15.6.4).
pub(crate) fn turn_away(mut turn: Turn<'_>, mut exchange: Box<Exchange>) -> Step {
    turn.driven.shared.tally.count(Cell::TurnedAway);
    let Exchange { request, answer, started_us, .. } = &mut *exchange;
    turn.driven.shared.refusals.note(&turn.driven.shared.tally, NO_THREAD, false, answer.outbox().peer);
    let RequestBytes::Owned(owned) = request else {
        unreachable!("a request in the queue has left the desk")
    };
    parse_again(&mut turn.desk.head, &owned.head, &turn.driven.shared.config.head);
    answer.outbox().output.lend(&mut turn.desk.spare);
    let mut reply = Reply::new(answer, &turn.driven.shared.common, &turn.driven.date);
    // Clients that were turned away together should not come back together.
    let seconds = [b'1' + u8::try_from(clock::monotonic_us() % 3).unwrap_or(0)];
    reply.page(503, "The server has too much to do just now.", &[(b"Retry-After", &seconds)]);
    let asked_for = turn.desk.head.of(&owned.head);
    let after = conclude_answer(turn.driven, &mut turn.connection, answer, *started_us, asked_for);
    turn.desk.keep_exchange(exchange);
    conclude(turn, after)
}

/// Prepares the wait of a request: the answers to earlier requests are sent, and the client is watched.
pub(crate) fn send_and_watch(driven: &mut Loop, key: usize, outbox: &mut Outbox, desk: &mut Desk) {
    // An error shows again when more is sent.
    if matches!(outbox.flush(), Ok(Flushed::All)) {
        outbox.output.give_back(&mut desk.spare);
    }
    // The watch tells of a client that goes away meanwhile. If watching fails, the client is looked at later.
    let _ = driven.watch(key, outbox);
}

/// Gives an errand to the driver, by returning it, or puts it into the queue.
pub(crate) fn send(driven: &mut Loop, key: usize, errand: Errand) -> Option<Errand> {
    if may_enter(driven) {
        driven.calls.begin_rest(key, errand.request_id().cloned(), errand.limits());
        return Some(errand);
    }
    let limits = errand.limits();
    let job = Job { errand, home: driven.home, is_quick: false, since_ms: driven.now_ms };
    // The rest of an answer is never turned away.
    let _ = submit(driven, job, ALWAYS_MS, driven.now_ms);
    driven.expect(key, driven.now_ms, limits);
    None
}

/// Takes the next quick request of this loop back out of the queue. The request was queued because the driver could not
/// enter the application when it came. If the driver runs it now, no other thread has to be woken for it and then wait
/// for the interpreter. `None` if there is no such request, or the driver still cannot enter.
#[expect(clippy::option_option, reason = "as for `rounds::step`")]
pub(crate) fn recall(driven: &mut Loop, desk: &mut Desk) -> Option<Option<Errand>> {
    driven.recalls = false;
    if driven.shared.crew.waiting() > 0 && !may_enter(driven) {
        return None;
    }
    let home = driven.home;
    let job = driven.shared.crew.withdraw(|job| job.is_quick && job.home == home);
    let Some(Job { errand: Errand::Ask(mut exchange), since_ms, .. }) = job else {
        driven.has_queued = false;
        // Requests that stay in the queue were held back for this driver, or for an earlier one that is still in its
        // call.
        driven.shared.crew.call_up_rest(driven.now_ms);
        return None;
    };
    // The watch need not call up other threads for the rest, unless this request takes long.
    driven.shared.crew.left_some();
    driven.recalls = true;
    let key = exchange.key;
    let waited_ms = clock::monotonic_ms().saturating_sub(since_ms);
    driven.shared.tally.observe(Histogram::QueueWait, waited_ms * 1000);
    driven.connections.away -= 1;
    if waited_ms >= LOOK_AT_CLIENT_MS && exchange.is_abandoned(waited_ms >= LOOK_FOR_CLIENT_MS) {
        driven.shared.note_departed();
        driven.forget(key);
        return Some(None);
    }
    let mut connection = driven.connections.take_away(key);
    if driven.connections.take_missed(key) {
        driven.shared.inboxes[home].missed.fetch_sub(1, Ordering::Relaxed);
        connection.more = true;
    }
    exchange.outbox().output.lend(&mut desk.spare);
    driven.calls.begin(&exchange, &desk.buffer);
    // The request was counted when it was queued.
    driven.calls.now.counts = false;
    driven.connections.put_away(key, connection);
    Some(Some(Errand::Ask(exchange)))
}

/// Whether the peer may be a proxy of our own. Any other client could claim a false time for its requests.
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

/// Returns the time at which a request began to wait, in ms of the monotonic clock. A proxy may have set an
/// `X-Request-Start` field: `t=` and a time since 1970 in seconds with a fraction, in ms or in us.
fn waiting_since_ms(request: Request<'_>, now_ms: u64) -> u64 {
    let Some(value) = request.all_named(b"X-Request-Start").next() else { return now_ms };
    let value = value.strip_prefix(b"t=").unwrap_or(value);
    let Some(at_ms) = std::str::from_utf8(value).ok().and_then(unix_ms) else { return now_ms };
    match clock::unix_ms().checked_sub(at_ms) {
        Some(age_ms) if age_ms <= AGE_MS_MAX => now_ms.saturating_sub(age_ms),
        _ => now_ms,
    }
}

/// Parses a time since 1970 and returns it in ms; the size of the number shows its unit.
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

    use super::{ALWAYS_MS, is_near, recall, unix_ms};
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
            let is_taken = recall(&mut driven, &mut desk).is_some();
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

    /// Times in all three units that proxies use are read, and any other text is not.
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
