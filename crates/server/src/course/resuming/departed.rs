//! Clients that go away while their requests wait, or are with another thread.

use adyton_sys::clock;

use crate::answering::errand::{Errand, Job, LOOK_FOR_CLIENT_MS};
use crate::board::tally::Cell;
use crate::event_loop::{Loop, Waiting};

/// Looks at a connection that is away and whose client has ended its side: if the client has gone, and the request
/// is in the queue, both are forgotten.
pub(crate) fn look_for_departed(driven: &mut Loop, key: usize) -> bool {
    if driven.is_waiting(key) {
        return look_for_waiting(driven, key);
    }
    let (home, now_ms) = (driven.home, clock::monotonic_ms());
    let is_gone = |job: &Job| {
        let Errand::Ask(exchange) = &job.errand else { return false };
        let far = now_ms.saturating_sub(job.since_ms) >= LOOK_FOR_CLIENT_MS;
        job.home == home && exchange.key == key && exchange.is_abandoned(far)
    };
    let departed = driven.shared.crew.withdraw(is_gone).is_some();
    if departed {
        driven.shared.note_departed();
        driven.connections.away -= 1;
        driven.forget(key);
    }
    departed
}

/// Forgets a request that waits with the loop, and its connection, if the client has gone.
pub(crate) fn look_for_waiting(driven: &mut Loop, key: usize) -> bool {
    let now_ms = clock::monotonic_ms();
    let has_gone = |waiting: &Waiting| {
        let far = now_ms.saturating_sub(waiting.since_ms) >= LOOK_FOR_CLIENT_MS;
        // If the answer is there, sending it will show whether the client has gone.
        !waiting.awaits.is_there() && waiting.exchange.is_abandoned(far)
    };
    let departed = driven.tickets.waiting.get(&key).is_some_and(has_gone);
    if departed {
        driven.connections.away -= 1;
        driven.forget(key);
        driven.shared.tally.count(Cell::Departed);
    }
    departed
}
