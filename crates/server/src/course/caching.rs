//! Requests that wait for the answer to another request.

use std::sync::Arc;

use adyton_sys::clock;

use crate::answering::step::Step;
use crate::board::tally::Cell;
use crate::cache::store::WaitingConnection;
use crate::cache::wanting::Wanting;
use crate::course::dispatch::send_and_watch;
use crate::course::turn::Turn;
use crate::event_loop::{Awaited, Waiting};

/// The longest wait of a request for the answer to another request; after it, the request is answered on its own.
const WAIT_MS_MAX: u64 = 5_000;

/// Has the request of the desk's exchange wait for the answer to another request; the desk's head is parsed.
pub(crate) fn await_kept(mut turn: Turn<'_>, wanting: Box<Wanting>) -> Step {
    let mut exchange = turn.desk.take_exchange();
    exchange.key = turn.key;
    if let Some(rest) = exchange.leave_desk(&turn.desk.buffer) {
        turn.connection.keep(rest, true);
    }
    send_and_watch(turn.driven, turn.key, exchange.outbox(), turn.desk);
    let now_ms = clock::monotonic_ms();
    let limits = exchange.call_limits();
    turn.driven.connections.put_away(turn.key, turn.connection);
    turn.driven.expect(turn.key, now_ms, limits);
    let due_ms = now_ms + WAIT_MS_MAX;
    turn.driven.timers.set(turn.key, due_ms);
    if turn.driven.connections.has_ended(turn.key) {
        turn.driven.expect_departed(turn.key);
    }
    turn.driven.shared.tally.add(Cell::CacheCollapsed, 1);
    let fill = wanting.fill.clone();
    let awaits = Awaited::Kept(wanting);
    turn.driven
        .tickets
        .waiting
        .insert(turn.key, Waiting { exchange, awaits, since_ms: now_ms, due_ms: Some(due_ms) });
    let waiter =
        WaitingConnection { home: Arc::clone(&turn.driven.shared.homes[turn.driven.home]), key: turn.key };
    if !turn.driven.shared.cache.join(&fill, waiter) {
        turn.driven.tickets.at_once.push_back(turn.key);
    }
    Step::Away(None)
}
