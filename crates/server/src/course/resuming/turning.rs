//! Turns that the loop gives: because something has come for a connection, or because the connection's time is over.

use std::sync::atomic::Ordering;

use adyton_log::{self as log, messages};

use crate::answering::errand::Errand;
use crate::answering::refusals::TOO_SLOW;
use crate::answering::step::Worked;
use crate::client::connection::Phase;
use crate::client::reader::Reader;
use crate::course::admitting::{Wait, look_for_memory};
use crate::course::concluding::{refuse, start_of_request};
use crate::course::passing::expire_departing;
use crate::course::resuming::departed::look_for_departed;
use crate::course::sending::close;
use crate::course::serve::{work, work_from};
use crate::course::turn::{Turn, guarded};
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

/// Works on one connection until it waits, or needs the application.
pub(crate) fn give_turn(driven: &mut Loop, key: usize, ending: bool, desk: &mut Desk) -> Option<Errand> {
    driven.turns.begin();
    let slot = driven.connections.get_mut(key)?;
    slot.note_ending(ending);
    let Some(connection) = slot.take_here() else {
        let first = slot.miss();
        driven.shared.inboxes[driven.home].missed.fetch_add(usize::from(first), Ordering::SeqCst);
        if ending && !look_for_departed(driven, key) {
            driven.expect_departed(key);
        }
        return None;
    };
    guarded(driven, key, desk, |driven, desk| work(Turn::new(driven, desk, key, connection)))
}

/// Handles a connection whose deadline has come.
pub(crate) fn expire(mut turn: Turn<'_>) -> Worked {
    if matches!(turn.connection.phase, Phase::Respond(_)) {
        return look_at_reader(turn);
    }
    if let Phase::Depart(departing) = turn.connection.phase {
        return work_from(turn, |turn| expire_departing(turn, departing));
    }
    match look_for_memory(turn.driven, turn.key, &mut turn.connection) {
        Wait::Not => {}
        Wait::On => return Worked::Kept(turn.connection),
        Wait::Over => return work(turn),
    }
    let start = start_of_request(&turn.connection);
    if start.is_empty() {
        return Worked::Ended(close(turn.driven, *turn.connection));
    }
    work_from(turn, |turn| refuse(turn, TOO_SLOW, &start))
}

/// Looks at how fast the client reads, and ends the connection if the client is too slow.
fn look_at_reader(mut turn: Turn<'_>) -> Worked {
    if matches!(&turn.connection.phase, Phase::Respond(respond) if respond.is_script)
        && turn.connection.outbox().output.is_empty()
    {
        // The client has nothing to read.
        return work(turn);
    }
    let Phase::Respond(mut respond) = std::mem::replace(&mut turn.connection.phase, Phase::Head) else {
        unreachable!("only called in this phase")
    };
    let too_slow = respond.reader.is_too_slow(turn.connection.outbox(), turn.driven.now_ms);
    turn.connection.phase = Phase::Respond(respond);
    if too_slow {
        log::write(&messages::CLIENT_SLOW, format_args!("a client reads its answer too slowly; closed"));
        // Without a reset the kernel would keep the sent bytes for minutes, for a client that does not take them.
        turn.connection.transport().reset_on_close();
        return Worked::Ended(close(turn.driven, *turn.connection));
    }
    turn.driven
        .timers
        .set(turn.key, turn.driven.now_ms + Reader::look_again_ms(&turn.connection.outbox().terms.limits));
    Worked::Kept(turn.connection)
}
