//! Rounds of a loop: all that needs no waiting is done, and then the kernel is asked for more.

use std::io;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use adyton_files::{Counts, Folder};
use adyton_log::{self as log, messages};
use adyton_sys::clock;

use crate::answering::date::date_now;
use crate::answering::errand::Errand;
use crate::board::tally::Cell;
use crate::client::connection::Phase;
use crate::common::Ending;
use crate::course::admitting::admit_waiting;
use crate::course::dispatch::{recall, send};
use crate::course::resuming::overdue::{give_up, look_at_discards, overdue};
use crate::course::resuming::redeeming::redeem_guarded;
use crate::course::resuming::returning::take_back;
use crate::course::resuming::script_events::{end_script, hear_script};
use crate::course::resuming::turning::{expire, give_turn};
use crate::course::turn::{Turn, guarded};
use crate::event_loop::arrivals::accept;
use crate::event_loop::poll::Told;
use crate::event_loop::scripts::FIRST_SCRIPT;
use crate::event_loop::{Advance, Loop};
use crate::lock::lock;
use crate::site::plan::LastHost;
use crate::threads::desk::Desk;
use crate::threads::task::NO_KEY;

/// Time between two looks at the queue for requests that have waited too long, while there is a queue.
const QUEUE_LOOK_MS: u64 = 10;

/// Time between two looks at the inbox while any connection is away.
const INBOX_LOOK_MS: u64 = 500;

/// How long idle connections are kept at a stop that is in no hurry.
const IDLE_MS_MAX: u64 = 5_000;

/// How long idle connections are kept at a stop in a hurry: a request that is on its way is answered.
const IDLE_HURRY_MS: u64 = 250;

/// Works until the driver is needed.
pub(crate) fn advance(driven: &mut Loop, desk: &mut Desk) -> Advance {
    loop {
        match step(driven, desk) {
            Some(None) => {}
            Some(Some(errand)) => return Advance::Errand(errand),
            None if is_finished(driven) => return Advance::End,
            None => return before_wait(driven),
        }
    }
}

/// Does one thing that needs no waiting, and returns its errand, if it has one; `None` if there is nothing to do.
#[expect(clippy::option_option, reason = "whether something was done, and whether an errand came of it")]
fn step(driven: &mut Loop, desk: &mut Desk) -> Option<Option<Errand>> {
    // The first to go on are requests whose event had come before they began to wait.
    if let Some(key) = driven.tickets.at_once.pop_front() {
        return Some(redeem_guarded(driven, key, desk));
    }
    if let Some(listener) = driven.acceptor.next() {
        return Some(accept(driven, listener, desk));
    }
    if driven.acceptor.close() {
        driven.shared.tally.shift(Cell::Listening, 1, 0);
        return Some(None);
    }
    // Exchanges that come back are handled before the events, which may be for their connections.
    if let Some(back) = driven.returned.pop_front() {
        return Some(take_back(driven, back, desk));
    }
    if driven.shared.inboxes[driven.home].filled.load(Ordering::Relaxed) {
        let inbox = &driven.shared.inboxes[driven.home];
        driven.returned.extend(inbox.take());
        driven.tickets.redeemed.extend(inbox.take_redeemed());
        if let Some((plan, folders)) = inbox.take_plan() {
            (driven.plan, driven.folders, driven.last_host) = (plan, folders, LastHost::default());
        }
        return Some(None);
    }
    if let Some(key) = driven.tickets.redeemed.pop() {
        return Some(redeem_guarded(driven, key, desk));
    }
    if let Some(told) = driven.poll.next() {
        return Some(match told {
            Told::Wake => {
                look_at_wake(driven);
                None
            }
            Told::Listener(listener) => {
                driven.acceptor.note_ready(listener);
                None
            }
            Told::Room(passage) => {
                for key in driven.departures.take_waiting(passage) {
                    driven.queue(key);
                }
                None
            }
            Told::Connection { key, ending } => see(driven, key, ending, desk),
            Told::Script { number, part } => hear_script(driven, number, part, desk),
        });
    }
    if let Some(job) = driven.expired.pop_front() {
        return Some(give_up(driven, job, desk));
    }
    if let Some((key, tick)) = driven.due.pop() {
        if key >= FIRST_SCRIPT {
            return Some(end_script(driven, key - FIRST_SCRIPT, desk));
        }
        let fired = driven.timers.fired(key, tick, driven.now_ms);
        return Some(if fired { time_out(driven, key, desk) } else { None });
    }
    if driven.recalls
        && let Some(done) = recall(driven, desk)
    {
        return Some(done);
    }
    if let Some(key) = driven.turns.next() {
        return Some(turn_again(driven, key, desk));
    }
    let remains = driven.shared.host.as_ref().and_then(|host| host.remains())?;
    Some(send(driven, NO_KEY, Errand::Discard(remains, driven.plan.first().terms.limits.call)))
}

/// Gives a connection its turn, because something has come for it. A connection that waits for its turn gets no further
/// turn; otherwise a client that sends more would get more turns.
fn see(driven: &mut Loop, key: usize, ending: bool, desk: &mut Desk) -> Option<Errand> {
    if driven.connections.get_mut(key)?.hears_while_queued(ending) {
        return None;
    }
    give_turn(driven, key, ending, desk)
}

/// Has a connection whose deadline has come go on, or looks for the thread that has its exchange.
pub(super) fn time_out(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    match driven.connections.get_mut(key)?.take_here() {
        Some(connection) => {
            guarded(driven, key, desk, |driven, desk| expire(Turn::new(driven, desk, key, connection)))
        }
        None => overdue(driven, key, desk),
    }
}

/// Gives a connection that was queued its turn.
fn turn_again(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    driven.connections.dequeue(key)?;
    driven.looks += 1;
    give_turn(driven, key, false, desk)
}

fn is_finished(driven: &mut Loop) -> bool {
    match driven.stopping_ms {
        None => false,
        Some(_) if driven.connections.is_empty() => true,
        Some(deadline_ms) if driven.now_ms < deadline_ms => false,
        Some(_) => {
            let left = driven.connections.len();
            log::write(&messages::STILL_OPEN, format_args!("stopped with {left} connections still open"));
            true
        }
    }
}

/// Prepares the wait for the kernel, when nothing else is left to do.
fn before_wait(driven: &mut Loop) -> Advance {
    if !driven.bodies.is_empty() {
        admit_waiting(driven);
    }
    let learns = driven.learns();
    let calls = driven.calls.end_batch(learns);
    let is_full = driven.is_full();
    driven.acceptor.update_watch(&driven.poll.epoll, driven.now_ms, is_full);
    let inbox = &driven.shared.inboxes[driven.home];
    // SeqCst on both sides: either this thread sees that the inbox is filled, or the thread that fills it sees the
    // loop asleep.
    inbox.asleep.store(true, Ordering::SeqCst);
    if inbox.filled.load(Ordering::SeqCst) {
        inbox.asleep.store(false, Ordering::Relaxed);
        return Advance::Wait { lets_go: calls == 0 };
    }
    Advance::Wait { lets_go: calls == 0 || driven.turns.is_empty() }
}

/// Waits for the kernel.
///
/// # Errors
///
/// The kernel refuses to wait, which does not happen to a correct program.
pub(crate) fn wait(driven: &mut Loop) -> io::Result<()> {
    if driven.standing.take_due(driven.now_ms) {
        publish_standing(driven);
    }
    let inbox = &driven.shared.inboxes[driven.home];
    let timeout_ms = if inbox.asleep.load(Ordering::Relaxed) { timeout_ms(driven) } else { Some(0) };
    if driven.shared.inboxes.len() > 1 {
        // Another loop may need the slot, and could not take it from a loop that sleeps.
        driven.shared.crew.give_slot(&mut driven.calls.slot, driven.now_ms);
    }
    driven.shared.tally.add(Cell::Waits, 1);
    let waited = driven.poll.wait(timeout_ms);
    driven.shared.inboxes[driven.home].asleep.store(false, Ordering::Relaxed);
    if waited? {
        driven.standing.change(driven.now_ms);
    }
    driven.looks += 1;
    driven.recalls = driven.has_queued;
    let now_us = clock::monotonic_us();
    driven.now_ms = now_us / 1000;
    driven.calls.begin_batch(now_us);
    if driven.now_ms >= driven.date_due_ms {
        update_date(driven);
    }
    if driven.idle_until_ms.is_some_and(|until_ms| until_ms <= driven.now_ms) {
        close_idle(driven);
    }
    if driven.discards_due_ms.is_some_and(|due_ms| due_ms <= driven.now_ms) {
        look_at_discards(driven);
    }
    driven.timers.take_due(driven.now_ms, &mut driven.due);
    driven.scripts.take_due(driven.now_ms, &mut driven.due);
    driven.turns.begin_round(now_us);
    if driven.acceptor.pauses_full() {
        let is_full = driven.is_full();
        driven.acceptor.end_pause(driven.now_ms, is_full);
    }
    if driven.shared.crew.waiting() > 0 {
        let home = driven.home;
        driven.expired.extend(driven.shared.crew.expire(driven.now_ms, |job| job.home == home));
        if !driven.needs_slot() {
            driven.shared.crew.give_slot(&mut driven.calls.slot, driven.now_ms);
        }
    }
    Ok(())
}

/// Writes the loop's figures on the board.
fn publish_standing(driven: &mut Loop) {
    driven.acceptor.look_at_surplus(driven.shared.inboxes.len());
    let [mut idle, mut receiving, mut asking, mut answering, mut moving, mut closing] = [0; 6];
    for (_, slot) in driven.connections.iter() {
        let kind = match slot.here() {
            None => &mut asking,
            Some(connection) if connection.is_idle() => &mut idle,
            Some(connection) => match connection.phase {
                Phase::Head | Phase::Upload(_) => &mut receiving,
                Phase::Depart(_) => &mut moving,
                Phase::Respond(_) => &mut answering,
                Phase::Linger(_) => &mut closing,
            },
        };
        *kind += 1;
    }
    driven.folders.iter_mut().for_each(Folder::give_way);
    let files = driven.folders.iter().map(Folder::counts);
    let files = files.fold(Counts::default(), |sum, one| Counts {
        hits: sum.hits + one.hits,
        loads: sum.loads + one.loads,
        evictions: sum.evictions + one.evictions,
        entries: sum.entries + one.entries,
        bytes: sum.bytes + one.bytes,
        open_files: sum.open_files + one.open_files,
    });
    let now = [
        (Cell::Idle, idle),
        (Cell::Receiving, receiving),
        (Cell::Asking, asking),
        (Cell::Answering, answering),
        (Cell::Moving, moving),
        (Cell::Closing, closing),
        (Cell::StaticHits, files.hits),
        (Cell::StaticLoads, files.loads),
        (Cell::StaticEvictions, files.evictions),
        (Cell::StaticEntries, files.entries as u64),
        (Cell::StaticBytes, files.bytes),
    ];
    driven.standing.publish(&driven.shared.tally, now);
    // All loops share one cache.
    let (entries, bytes) = driven.shared.cache.size();
    driven.shared.tally.set(Cell::CacheEntries, entries as u64);
    driven.shared.tally.set(Cell::CacheBytes, bytes as u64);
    driven.shared.publish_threads();
}

/// Returns how long the wait for the kernel may last; `None` for ever.
fn timeout_ms(driven: &mut Loop) -> Option<u32> {
    if !driven.turns.is_empty() {
        return Some(0);
    }
    let now_ms = driven.now_ms;
    let log_ms = driven.plan.logs().filter_map(|log| lock(log).tick(now_ms)).min().map(u64::from);
    let deadlines = [
        driven.acceptor.paused_ms(),
        driven.stopping_ms,
        driven.idle_until_ms,
        driven.discards_due_ms,
        driven.standing.due_ms,
        driven.scripts.due_ms(),
    ];
    let waits = [
        driven.timers.next_ms(now_ms),
        log_ms,
        (driven.shared.crew.waiting() > 0).then_some(QUEUE_LOOK_MS),
        // If nothing is left to do for a connection, the thread that gives it back does not wake the loop.
        (driven.connections.away > 0).then_some(INBOX_LOOK_MS),
    ];
    // `u64::MAX` stands for ever. An option would not do: the compiler may compare the content of an empty option
    // before it looks whether the option is empty. That has no effect, but tools that watch the memory report it.
    let mut wait_ms = u64::MAX;
    for deadline_ms in &deadlines {
        wait_ms = wait_ms.min(deadline_ms.map_or(u64::MAX, |at_ms| at_ms.saturating_sub(now_ms)));
    }
    for wait in &waits {
        wait_ms = wait_ms.min(wait.unwrap_or(u64::MAX));
    }
    // The wait is one millisecond longer, because the kernel's clock is finer than ours: waking early would spin.
    (wait_ms < u64::MAX).then(|| u32::try_from(wait_ms + 1).unwrap_or(u32::MAX))
}

fn update_date(driven: &mut Loop) {
    driven.date = date_now();
    driven.shared.refusals.tell(driven.now_ms, false);
    let since_second =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.subsec_millis());
    driven.date_due_ms = driven.now_ms + u64::from(1000 - since_second.min(999));
}

fn look_at_wake(driven: &mut Loop) {
    driven.wake.clear();
    driven.shared.inboxes[driven.home].heard.store(true, Ordering::Relaxed);
    match (driven.shared.stop)() {
        Some(ending) if driven.stopping_ms.is_none() => begin_stop(driven, ending),
        // A patient stop has become one in a hurry.
        Some(Ending { is_patient: false, .. }) => {
            let soon_ms = driven.now_ms + IDLE_HURRY_MS;
            driven.idle_until_ms = driven.idle_until_ms.map(|until_ms| until_ms.min(soon_ms));
        }
        _ => {}
    }
}

/// Begins a stop: no new connections and no further requests are taken, and running requests may finish.
fn begin_stop(driven: &mut Loop, ending: Ending) {
    let graceful_ms = driven.shared.config.graceful_timeout_ms;
    driven.stopping_ms = Some(driven.now_ms + graceful_ms);
    let idle_ms = if ending.is_patient { IDLE_MS_MAX } else { IDLE_HURRY_MS };
    driven.idle_until_ms = Some(driven.now_ms + graceful_ms.min(idle_ms));
    // The signal has woken only one loop. Each loop that is woken looks whether it should stop.
    for (home, inbox) in driven.shared.inboxes.iter().enumerate() {
        if home != driven.home {
            inbox.wake.wake();
        }
    }
    driven.acceptor.begin_stop(
        &driven.poll.epoll,
        ending.takes_queue,
        driven.connections.len(),
        driven.now_ms,
    );
}

/// Ends the connections that idle. A request that has arrived and was not read yet is answered first.
pub(super) fn close_idle(driven: &mut Loop) {
    driven.idle_until_ms = None;
    driven.turns.take_all(driven.connections.iter().map(|(key, _)| key));
}
