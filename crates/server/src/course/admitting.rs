//! Large bodies, which wait for their turn if there is not enough memory for all of them.
//!
//! A body that waits is not received: the kernel holds its client back. If the bodies before it are slow, so that no
//! memory becomes free, the waiting body goes to a file.

use crate::answering::step::{Next, Step};
use crate::client::body::{Upload, Waits};
use crate::client::connection::{Connection, Phase};
use crate::course::turn::Turn;
use crate::event_loop::{Loop, Slot};

/// Time between two looks at whether a body waits in vain.
const LOOK_MS: u64 = 100;

/// The longest wait of a body.
const WAIT_MS_MAX: u64 = 5_000;

/// The result of a look at a body that may wait for memory.
pub(crate) enum Wait {
    /// The body does not wait.
    Not,
    /// The body waits on.
    On,
    /// The body has waited for long enough, and goes to a file.
    Over,
}

/// Returns the body that a connection receives, if it waits for memory.
fn waiting(connection: &mut Connection) -> Option<&mut Upload> {
    match &mut connection.phase {
        Phase::Upload(upload) if upload.waits.is_some() => Some(upload),
        _ => None,
    }
}

/// Whether more of a body may be received now: the body is small, or has the memory that it needs, or gets that memory
/// now.
pub(crate) fn admits(driven: &Loop, upload: &mut Upload) -> bool {
    let is_first = driven.bodies.is_empty();
    upload.needs_blocks().is_none_or(|blocks| is_first && upload.reserve(blocks, driven.now_ms))
}

/// Has a body wait until there is memory for all of it.
pub(crate) fn await_memory(mut turn: Turn<'_>) -> Step {
    turn.connection.more = true;
    if let Phase::Upload(upload) = &mut turn.connection.phase
        && upload.waits.is_none()
    {
        let returns = turn.driven.shared.config.body_memory.returns();
        upload.waits = Some(Waits { since_ms: turn.driven.now_ms, returns });
        turn.driven.bodies.push_back(turn.key);
        turn.driven.timers.set(turn.key, turn.driven.now_ms + LOOK_MS);
    }
    Step::On(turn.connection, Next::Wait)
}

/// Has bodies that wait go on, in their order, as far as there is memory. If bodies still have to wait, the loop is
/// woken when there is more memory.
pub(crate) fn admit_waiting(driven: &mut Loop) {
    while let Some(&key) = driven.bodies.front() {
        let now_ms = driven.now_ms;
        let here = driven.connections.get_mut(key).and_then(Slot::here_mut);
        if let Some(connection) = here
            && let Some(upload) = waiting(connection)
            && let Some(blocks) = upload.needs_blocks()
        {
            if !upload.reserve(blocks, now_ms) {
                if driven.shared.config.body_memory.wake_for(blocks, driven.wake()) {
                    return;
                }
                continue;
            }
            // The client is not to blame for the wait, which must not count for its rate.
            upload.since_ms += upload.waits.take().map_or(0, |waits| now_ms - waits.since_ms);
            let idle_ms = connection.outbox().terms.limits.body_idle_timeout_ms;
            driven.timers.set(key, now_ms + idle_ms);
            driven.queue(key);
        }
        driven.bodies.pop_front();
    }
}

/// Has a body that waits for memory go to a file, if it waits in vain or for too long.
pub(crate) fn look_for_memory(driven: &mut Loop, key: usize, connection: &mut Connection) -> Wait {
    let (now_ms, returns) = (driven.now_ms, driven.shared.config.body_memory.returns());
    let Some(upload) = waiting(connection) else { return Wait::Not };
    let Some(waits) = &mut upload.waits else { return Wait::Not };
    let is_vain = std::mem::replace(&mut waits.returns, returns) == returns;
    if is_vain || now_ms - waits.since_ms >= WAIT_MS_MAX {
        upload.since_ms += now_ms - waits.since_ms;
        upload.waits = None;
        upload.leave_memory();
        return Wait::Over;
    }
    driven.timers.set(key, now_ms + LOOK_MS);
    for (_, slot) in driven.connections.iter_mut() {
        if let Some(Phase::Upload(upload)) = slot.here_mut().map(|other| &mut other.phase) {
            upload.lapse(now_ms);
        }
    }
    Wait::On
}
