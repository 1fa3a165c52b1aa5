//! Requests whose credentials are being verified: their exchanges wait with the loop meanwhile.

use std::sync::Arc;

use adyton_sys::clock;

use crate::answering::exchange::{Exchange, RequestBytes, parse_again};
use crate::answering::judged::Judged;
use crate::answering::refusals::CHECKS_FULL;
use crate::answering::step::{Next, Step};
use crate::answering::verdict::{Arrived, Verdict};
use crate::board::tally::Cell;
use crate::client::connection::Connection;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::guard::Credentials;
use crate::site::asking::site_of;
use crate::threads::checker::Check;
use crate::threads::desk::Desk;

impl Loop {
    /// Has the credentials of the request of the desk's exchange verified; the desk's head is parsed.
    pub(crate) fn begin_check(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        credentials: Box<Credentials>,
    ) -> Step {
        if credentials.are_asked() {
            return self.begin_asking(key, connection, desk, credentials);
        }
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

    /// Has a guard's program say who the client of the desk's exchange is, in a call like an application's; the desk's
    /// head is parsed.
    fn begin_asking(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        credentials: Box<Credentials>,
    ) -> Step {
        let Desk { buffer, head, exchange, endpoint, .. } = &mut *desk;
        let exchange = exchange.get_or_insert_with(Exchange::empty);
        if let Some(rest) = exchange.leave_desk(buffer) {
            connection.keep(rest, true);
        }
        exchange.endpoint = endpoint.of(head.reads(), head.of(exchange.request.head_bytes(&[])));
        if let RequestBytes::Owned(owned) = &exchange.request {
            exchange.answer.live = owned.body.live();
        }
        exchange.take_route(&Arc::new(site_of(credentials)), 0);
        self.ask(key, connection, desk)
    }

    /// Answers a request after a program has said who the client is.
    pub(crate) fn answer_judged(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        judged: Judged,
        desk: &mut Desk,
    ) -> Step {
        if !exchange.rest.is_empty() {
            (connection.carry, connection.unparsed) = (std::mem::take(&mut exchange.rest), true);
        }
        (exchange.answer.live, exchange.site) = (None, None);
        if let (RequestBytes::Owned(owned), Some(body)) = (&mut exchange.request, judged.body) {
            owned.body = body;
        }
        self.answer_checked(connection, exchange, judged.verdict, desk)
    }

    /// Answers a request whose credentials are verified, as if it had come now.
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
        // The request was counted when it came, and `answer` counts it again.
        connection.requests -= 1;
        verdict.of = Some(Arrived { started_us: exchange.started_us, id: exchange.answer.id.clone() });
        let onward = exchange.answer.onward.take();
        desk.keep_exchange(exchange);
        let exchange = desk.exchange.get_or_insert_with(Exchange::empty);
        (exchange.verdict, exchange.answer.onward) = (Some(Box::new(verdict)), onward);
        let step = self.answer_owned(key, connection, desk, *owned);
        if let Some(exchange) = &mut desk.exchange {
            exchange.answer.onward = None;
        }
        step
    }
}
