//! Requests that are answered later: their exchanges wait with the loop until the ticket is redeemed.

use adyton_sys::clock;

use crate::answering::errand::Errand;
use crate::answering::exchange::Exchange;
use crate::answering::later::Claim;
use crate::answering::step::Worked;
use crate::board::tally::Cell;
use crate::course::concluding::refuse_as;
use crate::course::dispatch::{send, send_and_watch};
use crate::course::resuming::checked::answer_checked;
use crate::course::resuming::departed::look_for_waiting;
use crate::course::resuming::kept::{awaits_kept, look_again};
use crate::course::resuming::script_events::take_place;
use crate::course::serve::resume;
use crate::course::turn::guarded;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::threads::desk::Desk;

/// Keeps an exchange until its ticket is redeemed, which may have happened already.
pub(crate) fn keep_ticket(
    driven: &mut Loop,
    mut exchange: Box<Exchange>,
    claim: Claim,
    desk: &mut Desk,
) -> Option<Errand> {
    let key = exchange.key;
    let mut rest = std::mem::take(&mut exchange.rest);
    if let Some(behind) = exchange.leave_desk(&desk.buffer) {
        rest = behind.to_vec();
    }
    if let (false, Some(connection)) = (rest.is_empty(), driven.connections.kept(key)) {
        connection.carry = rest;
        connection.unparsed = true;
    }
    send_and_watch(driven, key, exchange.outbox(), desk);
    let now_ms = clock::monotonic_ms();
    let limits = exchange.call_limits();
    let due_ms = limits.first_ms().map(|timeout_ms| now_ms + timeout_ms);
    driven.expect(key, now_ms, limits);
    if driven.connections.has_ended(key) {
        driven.expect_departed(key);
    }
    let awaits = Awaited::Ticket(claim);
    driven.tickets.waiting.insert(key, Waiting { exchange, awaits, since_ms: now_ms, due_ms });
    redeem(driven, key, desk)
}

/// Does what [`redeem`] does; a panic, a fault of our own, ends that connection and no more.
#[inline(never)]
pub(crate) fn redeem_guarded(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    guarded(driven, key, desk, |driven, desk| Worked::Away(redeem(driven, key, desk)))
}

/// Goes on with the request of a connection, if the event for which it waits has come.
fn redeem(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    match &driven.tickets.waiting.get(&key)?.awaits {
        Awaited::Ticket(claim) => {
            let made = claim.take()?;
            let Waiting { exchange, .. } = driven.tickets.waiting.remove(&key)?;
            driven.connections.away -= 1;
            send(driven, key, Errand::Redeem(exchange, made))
        }
        Awaited::Check(check) => {
            let verdict = check.verdict()?.clone();
            let Waiting { exchange, .. } = driven.tickets.waiting.remove(&key)?;
            driven.connections.away -= 1;
            resume(driven, key, desk, |turn| answer_checked(turn, exchange, verdict))
        }
        Awaited::Place(..) => take_place(driven, key, desk),
        Awaited::Script => None,
        Awaited::Kept(_) => look_again(driven, key, desk, false),
    }
}

/// Handles a request that waits with the loop and whose deadline has come.
pub(crate) fn overdue_waiting(driven: &mut Loop, key: usize, desk: &mut Desk) -> Option<Errand> {
    if let Some(errand) = redeem(driven, key, desk) {
        return Some(errand);
    }
    if driven.connections.has_ended(key) && look_for_waiting(driven, key) {
        return None;
    }
    let due_ms = driven.tickets.waiting.get(&key)?.due_ms;
    match due_ms {
        None => driven.timers.clear(key),
        Some(due_ms) if driven.now_ms < due_ms => driven.timers.set(key, due_ms),
        Some(_) if awaits_kept(driven, key) => return look_again(driven, key, desk, true),
        Some(_) => {
            let Waiting { mut exchange, awaits, .. } = driven.tickets.waiting.remove(&key)?;
            driven.connections.away -= 1;
            driven.shared.tally.count(Cell::TimedOut);
            let refusal = awaits.refusal();
            // From here on the holder of the ticket can see that the time is over, even before the client is told.
            drop(awaits);
            return resume(driven, key, desk, |mut turn| {
                turn.connection.outbox = exchange.answer.outbox.take();
                let id = exchange.answer.id.clone();
                let start = exchange.request.head_bytes(&[]).to_vec();
                refuse_as(turn, id, refusal, &start)
            });
        }
    }
    None
}
