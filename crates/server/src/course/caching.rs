//! Requests that wait for the answer to another request.

use std::sync::Arc;

use adyton_cache::status::Forward;
use adyton_cache::{Entry, Found};
use adyton_sys::clock;

use crate::answering::errand::Errand;
use crate::answering::exchange::parse_again;
use crate::answering::step::Step;
use crate::board::tally::Cell;
use crate::cache::keeping::Keeping;
use crate::cache::store::{Filling, WaitingConnection};
use crate::cache::wanting::Wanting;
use crate::client::connection::Connection;
use crate::course::script_answer::Rest;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::threads::desk::Desk;

/// The longest wait of a request for the answer to another; after it the request is answered by itself.
const WAIT_MS_MAX: u64 = 5_000;

impl Loop {
    /// Has the request of the desk's exchange wait for the answer to another request; the desk's head is parsed.
    pub(crate) fn await_kept(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        wanting: Box<Wanting>,
    ) -> Step {
        let mut exchange = desk.take_exchange();
        exchange.key = key;
        if let Some(rest) = exchange.leave_desk(&desk.buffer) {
            connection.keep(rest, true);
        }
        self.send_and_watch(key, exchange.outbox(), desk);
        let now_ms = clock::monotonic_ms();
        let limits = exchange.call_limits();
        self.connections.put_away(key, connection);
        self.expect(key, now_ms, limits);
        let due_ms = now_ms + WAIT_MS_MAX;
        self.timers.set(key, due_ms);
        if self.connections.has_ended(key) {
            self.expect_departed(key);
        }
        self.shared.tally.add(Cell::CacheCollapsed, 1);
        let fill = wanting.fill.clone();
        let awaits = Awaited::Kept(wanting);
        self.tickets
            .waiting
            .insert(key, Waiting { exchange, awaits, since_ms: now_ms, due_ms: Some(due_ms) });
        let waiter = WaitingConnection { home: Arc::clone(&self.shared.homes[self.home]), key };
        let waits = self.shared.cache.join(&fill, waiter);
        Step::Away(if waits { None } else { self.look_again(key, desk, false) })
    }

    /// Whether a connection's request waits for the answer to another request.
    pub(crate) fn awaits_kept(&self, key: usize) -> bool {
        let waiting = self.tickets.waiting.get(&key);
        waiting.is_some_and(|waiting| matches!(waiting.awaits, Awaited::Kept(_)))
    }

    /// Looks whether the answer for which a connection's request waits is there. `has_waited`: the request has waited
    /// for as long as it may, and is answered now, by itself if need be.
    pub(crate) fn look_again(&mut self, key: usize, desk: &mut Desk, has_waited: bool) -> Option<Errand> {
        let now_ms = clock::monotonic_ms();
        let Waiting { exchange, awaits: Awaited::Kept(wanting), .. } = self.tickets.waiting.get(&key)? else {
            return None;
        };
        let head = exchange.request.head_bytes(&[]);
        parse_again(&mut desk.head, head, &self.shared.config.head);
        let cache = &self.shared.cache;
        let found = loop {
            let ask = wanting.fill.ask(desk.head.of(head));
            match cache.look(&ask, now_ms, !has_waited) {
                Found::Fresh(kept) | Found::Stale(kept) => {
                    return self.answer_waiting(key, desk, |reply, request| {
                        reply.give_kept(request, &kept, now_ms, true);
                        Rest::Nothing
                    });
                }
                Found::Wait(fill) => {
                    let waiter = WaitingConnection { home: Arc::clone(&self.shared.homes[self.home]), key };
                    if cache.join(&fill, waiter) {
                        return None;
                    }
                }
                Found::Fill(fill, stale) => break Some((Filling::new(cache, fill), stale)),
                Found::Pass => break None,
            }
        };
        self.ask_after_all(key, desk, found)
    }

    /// Answers a request that has waited by itself; its answer may be kept.
    fn ask_after_all(
        &mut self,
        key: usize,
        desk: &mut Desk,
        found: Option<(Filling, Option<Arc<Entry>>)>,
    ) -> Option<Errand> {
        let Waiting { mut exchange, awaits, .. } = self.tickets.waiting.remove(&key)?;
        self.connections.away -= 1;
        self.guarded(key, desk, |this, desk| {
            let connection = this.connections.take_away(key);
            let Awaited::Kept(wanting) = awaits else { unreachable!("it was looked at by the caller") };
            let Wanting { site, route, rules, script, .. } = *wanting;
            exchange.outbox().output.lend(&mut desk.spare);
            exchange.endpoint =
                desk.endpoint.of(desk.head.reads(), desk.head.of(exchange.request.head_bytes(&[])));
            let (filling, stale) = found.map_or((None, None), |(filling, stale)| (Some(filling), stale));
            exchange.answer.keeping = Some(Box::new(Keeping {
                cache: Arc::clone(&this.shared.cache),
                forward: Forward::Miss,
                is_collapsed: filling.is_none(),
                rules,
                filling,
                stale,
                changes: None,
            }));
            exchange.take_route(&site, route);
            desk.exchange = Some(exchange);
            let step = match script {
                Some(script) => this.begin_script(key, connection, desk, script),
                None => this.ask(key, connection, desk),
            };
            this.work_on(key, step, desk)
        })
    }
}
