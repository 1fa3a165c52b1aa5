//! Requests that have waited for the answer to another request.

use std::sync::Arc;

use adyton_cache::status::Forward;
use adyton_cache::{Entry, Found};
use adyton_sys::clock;

use crate::answering::errand::Errand;
use crate::answering::exchange::parse_again;
use crate::cache::keeping::Keeping;
use crate::cache::store::{Filling, WaitingConnection};
use crate::cache::wanting::Wanting;
use crate::course::dispatch::ask_application;
use crate::course::resuming::awaited::{Rest, answer_waiting};
use crate::course::scripting::begin_script;
use crate::course::serve::resume;
use crate::event_loop::{Awaited, Loop, Waiting};
use crate::threads::desk::Desk;

/// Whether a connection's request waits for the answer to another request.
pub(crate) fn awaits_kept(driven: &Loop, key: usize) -> bool {
    let waiting = driven.tickets.waiting.get(&key);
    waiting.is_some_and(|waiting| matches!(waiting.awaits, Awaited::Kept(_)))
}

/// Looks whether the answer for which a connection's request waits is there. `has_waited`: the request has waited for
/// as long as it may, and is answered now; if need be, the application is asked.
pub(crate) fn look_again(driven: &mut Loop, key: usize, desk: &mut Desk, has_waited: bool) -> Option<Errand> {
    let now_ms = clock::monotonic_ms();
    let Waiting { exchange, awaits: Awaited::Kept(wanting), .. } = driven.tickets.waiting.get(&key)? else {
        return None;
    };
    let head = exchange.request.head_bytes(&[]);
    parse_again(&mut desk.head, head, &driven.shared.config.head);
    let cache = &driven.shared.cache;
    let found = loop {
        let ask = wanting.fill.ask(desk.head.of(head));
        match cache.look(&ask, now_ms, !has_waited) {
            Found::Fresh(kept) | Found::Stale(kept) => {
                return answer_waiting(driven, key, desk, |reply, request| {
                    reply.give_kept(request, &kept, now_ms, true);
                    Rest::Nothing
                });
            }
            Found::Wait(fill) => {
                let waiter = WaitingConnection { home: Arc::clone(&driven.shared.homes[driven.home]), key };
                if cache.join(&fill, waiter) {
                    return None;
                }
            }
            Found::Fill(fill, stale) => break Some((Filling::new(cache, fill), stale)),
            Found::Pass => break None,
        }
    };
    ask_after_all(driven, key, desk, found)
}

/// Has the application, or a script, answer a request that has waited for the answer to another one; the new answer may
/// be kept.
fn ask_after_all(
    driven: &mut Loop,
    key: usize,
    desk: &mut Desk,
    found: Option<(Filling, Option<Arc<Entry>>)>,
) -> Option<Errand> {
    let Waiting { mut exchange, awaits, .. } = driven.tickets.waiting.remove(&key)?;
    driven.connections.away -= 1;
    resume(driven, key, desk, |turn| {
        let Awaited::Kept(wanting) = awaits else { unreachable!("it was looked at by the caller") };
        let Wanting { site, route, rules, script, .. } = *wanting;
        let desk = &mut *turn.desk;
        exchange.outbox().output.lend(&mut desk.spare);
        exchange.endpoint =
            desk.endpoint.of(desk.head.reads(), desk.head.of(exchange.request.head_bytes(&[])));
        let (filling, stale) = found.map_or((None, None), |(filling, stale)| (Some(filling), stale));
        exchange.answer.keeping = Some(Box::new(Keeping {
            cache: Arc::clone(&turn.driven.shared.cache),
            forward: Forward::Miss,
            is_collapsed: filling.is_none(),
            rules,
            filling,
            stale,
            changes: None,
        }));
        exchange.take_route(&site, route);
        desk.exchange = Some(exchange);
        match script {
            Some(script) => begin_script(turn, script),
            None => ask_application(turn),
        }
    })
}
