//! Requests whose credentials are being verified: their exchanges wait with the loop meanwhile.

use std::sync::Arc;

use adyton_sys::clock;

use crate::answering::exchange::{Exchange, RequestBytes};
use crate::answering::refusals::CHECKS_FULL;
use crate::answering::step::Step;
use crate::board::tally::Cell;
use crate::course::concluding::refuse_as;
use crate::course::dispatch::{ask_application, send_and_watch};
use crate::course::turn::Turn;
use crate::event_loop::{Awaited, Waiting};
use crate::guard::Credentials;
use crate::site::asking::site_of;
use crate::threads::checker::Check;
use crate::threads::desk::Desk;

/// Has credentials verified that came with the request of the desk's exchange; the desk's head is parsed.
pub(crate) fn begin_check(mut turn: Turn<'_>, credentials: Box<Credentials>) -> Step {
    if credentials.are_asked() {
        return begin_asking(turn, credentials);
    }
    let mut exchange = turn.desk.take_exchange();
    exchange.key = turn.key;
    if let Some(rest) = exchange.leave_desk(&turn.desk.buffer) {
        turn.connection.keep(rest, true);
    }
    let check = Check::new(turn.key, turn.driven.shared.homes[turn.driven.home].clone(), credentials);
    if !turn.driven.shared.checker.submit(check.clone(), turn.driven.shared.config.nice) {
        turn.driven.shared.tally.count(Cell::TurnedAway);
        turn.connection.outbox = exchange.answer.outbox.take();
        let start = exchange.request.head_bytes(&[]).to_vec();
        let id = exchange.answer.id.clone();
        turn.desk.keep_exchange(exchange);
        return refuse_as(turn, id, CHECKS_FULL, &start);
    }
    send_and_watch(turn.driven, turn.key, exchange.outbox(), turn.desk);
    let (now_ms, limits) = (clock::monotonic_ms(), exchange.call_limits());
    turn.driven.connections.put_away(turn.key, turn.connection);
    turn.driven.expect(turn.key, now_ms, limits);
    if turn.driven.connections.has_ended(turn.key) {
        turn.driven.expect_departed(turn.key);
    }
    let due_ms = limits.first_ms().map(|timeout_ms| now_ms + timeout_ms);
    let awaits = Awaited::Check(check);
    turn.driven.tickets.waiting.insert(turn.key, Waiting { exchange, awaits, since_ms: now_ms, due_ms });
    Step::Away(None)
}

/// Has a guard's program say who the client of the desk's exchange is, in a call like an application's; the desk's
/// head is parsed.
fn begin_asking(mut turn: Turn<'_>, credentials: Box<Credentials>) -> Step {
    let Desk { buffer, head, exchange, endpoint, .. } = &mut *turn.desk;
    let exchange = exchange.get_or_insert_with(Exchange::empty);
    if let Some(rest) = exchange.leave_desk(buffer) {
        turn.connection.keep(rest, true);
    }
    exchange.endpoint = endpoint.of(head.reads(), head.of(exchange.request.head_bytes(&[])));
    if let RequestBytes::Owned(owned) = &exchange.request {
        exchange.answer.live = owned.body.live();
    }
    exchange.take_route(&Arc::new(site_of(credentials)), 0);
    ask_application(turn)
}
