//! Requests whose credentials are verified: how their exchanges wait with the loop meanwhile.

use adyton_sys::clock;

use crate::checker::Check;
use crate::connection::Connection;
use crate::desk::Desk;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::exchange::{Exchange, RequestBytes, parse_again};
use crate::guard::{Credentials, Verdict};
use crate::refusals::CHECKS_FULL;
use crate::step::{Next, Step};
use crate::tally::Cell;

impl Loop {
    /// Has the credentials of the request of the desk's exchange verified; the desk's head is parsed.
    pub(crate) fn begin_check(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        credentials: Box<Credentials>,
    ) -> Step {
        let mut exchange = desk.take_exchange();
        exchange.key = key;
        if let Some(rest) = exchange.leave_desk(&desk.buffer) {
            connection.keep(rest, true);
        }
        let check = Check::new(key, self.shared.homes[self.home].clone(), credentials);
        if !self.shared.checker.submit(check.clone(), self.shared.config.nice) {
            self.shared.tally.count(Cell::TurnedAway);
            connection.outbox = exchange.answer.outbox.take();
            let start = exchange.request.head_bytes(&[]).to_vec();
            let id = exchange.answer.id.clone();
            desk.keep_exchange(exchange);
            return self.refuse_as(id, key, connection, desk, CHECKS_FULL, &start);
        }
        self.send_and_watch(key, exchange.outbox(), desk);
        let (now_ms, limits) = (clock::monotonic_ms(), exchange.call_limits());
        self.connections.put_away(key, connection);
        self.expect(key, now_ms, limits);
        if self.connections.has_ended(key) {
            self.expect_departed(key);
        }
        let due_ms = limits.first_ms().map(|timeout_ms| now_ms + timeout_ms);
        let awaits = Awaited::Check(check);
        self.tickets.waiting.insert(key, Waiting { exchange, awaits, since_ms: now_ms, due_ms });
        Step::Away(None)
    }

    /// The credentials of a request are verified: it is answered as if it had come now.
    pub(crate) fn answer_checked(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        mut verdict: Verdict,
        desk: &mut Desk,
    ) -> Step {
        let key = exchange.key;
        connection.outbox = exchange.answer.outbox.take();
        let RequestBytes::Owned(owned) = exchange.take_request() else {
            return Step::On(connection, Next::Close);
        };
        connection.outbox_mut().output.lend(&mut desk.spare);
        parse_again(&mut desk.head, &owned.head, &self.shared.config.head);
        // It was counted when it came.
        connection.requests -= 1;
        verdict.started_us = Some(exchange.started_us);
        desk.keep_exchange(exchange);
        desk.exchange.get_or_insert_with(Exchange::empty).verdict = Some(Box::new(verdict));
        self.answer_owned(key, connection, desk, *owned)
    }
}
