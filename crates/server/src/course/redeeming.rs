//! Requests that are answered later: their exchanges wait with the loop until the ticket is redeemed.

use adyton_sys::clock;

use crate::answering::errand::{Errand, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::Exchange;
use crate::answering::later::Claim;
use crate::board::tally::Cell;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::threads::desk::Desk;

impl Loop {
    /// Keeps an exchange until its ticket is redeemed, which may have happened already.
    pub(crate) fn keep_ticket(
        &mut self,
        mut exchange: Box<Exchange>,
        claim: Claim,
        desk: &mut Desk,
    ) -> Option<Errand> {
        let key = exchange.key;
        let mut rest = std::mem::take(&mut exchange.rest);
        if let Some(behind) = exchange.leave_desk(&desk.buffer) {
            rest = behind.to_vec();
        }
        if let (false, Some(connection)) = (rest.is_empty(), self.connections.kept(key)) {
            connection.carry = rest;
            connection.unparsed = true;
        }
        self.send_and_watch(key, exchange.outbox(), desk);
        let now_ms = clock::monotonic_ms();
        let limits = exchange.call_limits();
        let due_ms = limits.first_ms().map(|timeout_ms| now_ms + timeout_ms);
        self.expect(key, now_ms, limits);
        if self.connections.has_ended(key) {
            self.expect_departed(key);
        }
        let awaits = Awaited::Ticket(claim);
        self.tickets.waiting.insert(key, Waiting { exchange, awaits, since_ms: now_ms, due_ms });
        self.redeem(key, desk)
    }

    /// Goes on with the request of a connection, if the event for which it waits has come.
    pub(crate) fn redeem(&mut self, key: usize, desk: &mut Desk) -> Option<Errand> {
        match &self.tickets.waiting.get(&key)?.awaits {
            Awaited::Ticket(claim) => {
                let made = claim.take()?;
                let Waiting { exchange, .. } = self.tickets.waiting.remove(&key)?;
                self.connections.away -= 1;
                self.send(key, Errand::Redeem(exchange, made))
            }
            Awaited::Check(check) => {
                let verdict = check.verdict()?.clone();
                let Waiting { exchange, .. } = self.tickets.waiting.remove(&key)?;
                self.connections.away -= 1;
                self.guarded(key, desk, |this, desk| {
                    let connection = this.connections.take_away(key);
                    let step = this.answer_checked(connection, exchange, verdict, desk);
                    this.work_on(key, step, desk)
                })
            }
            Awaited::Place(..) => self.take_place(key, desk),
            Awaited::Script => None,
            Awaited::Kept(_) => self.look_again(key, desk, false),
        }
    }

    /// Whether a connection's request waits with the loop.
    pub(crate) fn is_waiting(&self, key: usize) -> bool {
        self.tickets.waiting.contains_key(&key)
    }

    /// Forgets a request that waits with the loop, and its connection, if the client has gone.
    pub(crate) fn look_for_waiting(&mut self, key: usize) -> bool {
        let now_ms = clock::monotonic_ms();
        let has_gone = |waiting: &Waiting| {
            let far = now_ms.saturating_sub(waiting.since_ms) >= LOOK_FOR_CLIENT_MS;
            // A client that has gone is noticed when an answer that is there is sent.
            !waiting.awaits.is_there() && waiting.exchange.is_abandoned(far)
        };
        let departed = self.tickets.waiting.get(&key).is_some_and(has_gone);
        if departed {
            self.connections.away -= 1;
            self.forget(key);
            self.shared.tally.count(Cell::Departed);
        }
        departed
    }

    /// Handles a request that waits with the loop and whose deadline has come.
    pub(crate) fn overdue_waiting(&mut self, key: usize, desk: &mut Desk) -> Option<Errand> {
        if let Some(errand) = self.redeem(key, desk) {
            return Some(errand);
        }
        if self.connections.has_ended(key) && self.look_for_waiting(key) {
            return None;
        }
        let due_ms = self.tickets.waiting.get(&key)?.due_ms;
        match due_ms {
            None => self.timers.clear(key),
            Some(due_ms) if self.now_ms < due_ms => self.timers.set(key, due_ms),
            Some(_) if self.awaits_kept(key) => return self.look_again(key, desk, true),
            Some(_) => {
                let Waiting { mut exchange, awaits, .. } = self.tickets.waiting.remove(&key)?;
                self.connections.away -= 1;
                self.shared.tally.count(Cell::TimedOut);
                let refusal = awaits.refusal();
                // The holder of the ticket can know of the timeout before the client does.
                drop(awaits);
                return self.guarded(key, desk, |this, desk| {
                    let mut connection = this.connections.take_away(key);
                    connection.outbox = exchange.answer.outbox.take();
                    let id = exchange.answer.id.clone();
                    let start = exchange.request.head_bytes(&[]).to_vec();
                    let step = this.refuse_as(id, key, connection, desk, refusal, &start);
                    this.work_on(key, step, desk)
                });
            }
        }
        None
    }
}
