//! Room for new connections when there is none: idle connections give way, and then connections of slow clients.

use crate::answering::refusals::CROWDED;
use crate::client::connection::{Connection, Phase};
use crate::course::concluding::{refuse, start_of_request};
use crate::course::turn::Turn;
use crate::event_loop::{Loop, Slot};
use crate::threads::desk::Desk;

/// Age up to which an upload is spared although it is slower than `--body-rate-min`.
const SLOW_MS: u64 = 1_000;

/// Makes room for a connection that waits; `false` if no connection can give way.
pub(crate) fn shed(driven: &mut Loop, desk: &mut Desk) -> bool {
    shed_idle(driven) || shed_slow(driven, desk)
}

/// Closes the eighth of the idle connections that has idled longest. Clients have to expect that (RFC 9112 section
/// 9.5). `false` if none was closed.
fn shed_idle(driven: &mut Loop) -> bool {
    let is_idle = |slot: &Slot| slot.here().is_some_and(|held| held.requests > 0 && held.is_idle());
    let idle = driven.connections.iter().filter(|(_, slot)| is_idle(slot));
    let mut keys: Vec<(u64, usize)> = idle.map(|(key, _)| (driven.timers.deadline_ms(key), key)).collect();
    if keys.is_empty() {
        return false;
    }
    let count = keys.len().div_ceil(8);
    keys.select_nth_unstable(count - 1);
    let mut closed = false;
    for (_, key) in keys.drain(..count) {
        let silent = |slot: &Slot| slot.here().is_some_and(|held| !held.outbox().transport.has_arrived());
        // A request that has just arrived is answered rather than lost.
        if driven.connections.get(key).is_some_and(silent) {
            driven.forget(key);
            closed = true;
        }
    }
    closed
}

/// Refuses the eighth of the slow connections that has been slow for longest. `false` if none was closed.
fn shed_slow(driven: &mut Loop, desk: &mut Desk) -> bool {
    let slow = |(key, slot): (usize, &Slot)| Some((slow_for_ms(driven, key, slot.here()?)?, key));
    let mut keys: Vec<(u64, usize)> = driven.connections.iter().filter_map(slow).collect();
    if keys.is_empty() {
        return false;
    }
    let count = keys.len().div_ceil(8);
    keys.select_nth_unstable_by_key(count - 1, |&(slow_ms, _)| std::cmp::Reverse(slow_ms));
    let mut closed = false;
    for (_, key) in keys.drain(..count) {
        let connection = driven.connections.get_mut(key).and_then(Slot::take_here);
        closed |= connection.is_some_and(|connection| give_way(driven, key, connection, desk));
    }
    closed
}

/// Returns how long the client of a connection has kept the server waiting; `None` if the client is not slow.
fn slow_for_ms(driven: &Loop, key: usize, connection: &Connection) -> Option<u64> {
    let config = &driven.shared.config;
    // The deadline moves with the bytes that come.
    let left_ms = driven.timers.deadline_ms(key).saturating_sub(driven.now_ms);
    match &connection.phase {
        Phase::Head if connection.is_idle() && connection.requests > 0 => None,
        Phase::Head if connection.outbox().output.is_empty() && !connection.more && !connection.unparsed => {
            let begun = !connection.carry.is_empty();
            let timeout_ms = if begun { config.head_timeout_ms } else { config.first_byte_timeout_ms };
            Some(timeout_ms.saturating_sub(left_ms)).filter(|&slow_ms| slow_ms >= config.crowded_timeout_ms)
        }
        // The server keeps this client waiting, so the client is not slow.
        Phase::Upload(upload) if upload.waits.is_some() => None,
        Phase::Upload(upload) => {
            let limits = &connection.outbox().terms.limits;
            let stalled_ms = limits.body_idle_timeout_ms.saturating_sub(left_ms);
            let age_ms = driven.now_ms.saturating_sub(upload.since_ms);
            let is_slow = age_ms >= SLOW_MS.max(config.crowded_timeout_ms)
                && upload.bytes() * 1000 < limits.body_rate * age_ms;
            (stalled_ms >= config.crowded_timeout_ms || is_slow).then_some(age_ms)
        }
        _ => None,
    }
}

/// Closes a slow connection now. A request that has begun is answered, as far as the kernel takes the answer. Returns
/// `false` if the bytes that the server waited for have just arrived.
fn give_way(driven: &mut Loop, key: usize, connection: Box<Connection>, desk: &mut Desk) -> bool {
    if connection.outbox().transport.has_arrived() {
        // The kernel has an event for the bytes that have arrived.
        driven.connections.put(key, connection);
        return false;
    }
    let start = start_of_request(&connection);
    if !start.is_empty() {
        // The descriptor is closed at once, without lingering: other connections wait for it.
        drop(refuse(Turn::new(driven, desk, key, connection), CROWDED, &start));
    }
    driven.forget(key);
    true
}
