//! Connections that leave for another process, or come from one.

use std::io::ErrorKind;
use std::ops::Range;

use adyton_log::{self as log, messages};

use crate::answering::answer::After;
use crate::answering::exchange::Owned;
use crate::answering::refusals::{NO_AGREEMENT, NO_PROCESS, NOT_MOVED, start_of};
use crate::answering::step::{Next, Step};
use crate::board::tally::Cell;
use crate::client::body::OwnedBody;
use crate::client::connection::{Departing, Phase};
use crate::client::passage;
use crate::client::passage::{Arrival, Elsewhere, HOPS_MAX, Passenger};
use crate::course::concluding::{refuse, settle};
use crate::course::turn::Turn;

/// Passes a connection on to the process that answers its next request. `received`: the part of the buffer with the
/// bytes received behind the last answered request; the next request begins there.
pub(crate) fn pass_on(mut turn: Turn<'_>, elsewhere: Elsewhere, received: Range<usize>) -> Step {
    if !turn.connection.outbox().output.is_empty() {
        // This process sends its own answers first.
        turn.connection.keep(&turn.desk.buffer[received], true);
        return settle(turn, After::Next);
    }
    let hops = match turn.connection.arrived.as_deref() {
        Some(Arrival { hops, .. }) if turn.connection.requests == 0 => hops.saturating_add(1),
        _ => 1,
    };
    if hops > HOPS_MAX {
        let start = start_of(&turn.desk.buffer[received]);
        return refuse(turn, NO_AGREEMENT, &start);
    }
    turn.connection.keep(&turn.desk.buffer[received], false);
    let departing = Departing { elsewhere, hops };
    turn.connection.phase = Phase::Depart(departing);
    let deadline_ms = turn.driven.now_ms.saturating_add(turn.driven.shared.config.queue_timeout_ms);
    turn.driven.timers.set(turn.key, deadline_ms);
    depart(turn, departing)
}

/// Passes on a connection whose request is complete, and no longer in the buffer. A body in a file cannot move.
pub(crate) fn pass_on_owned(turn: Turn<'_>, elsewhere: Elsewhere, owned: &Owned) -> Step {
    let mut bytes = owned.head.clone();
    let is_chunked = turn.desk.head.framing() == adyton_http1::Framing::Chunked;
    match &owned.body {
        OwnedBody::Empty if is_chunked => bytes.extend_from_slice(b"0\r\n\r\n"),
        OwnedBody::Empty => {}
        OwnedBody::Memory(body) if body.len() <= turn.desk.buffer.len() => {
            if is_chunked {
                bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
            }
            body.iter().for_each(|piece| bytes.extend_from_slice(piece));
            if is_chunked {
                bytes.extend_from_slice(b"\r\n0\r\n\r\n");
            }
        }
        // The bytes behind the body must not be passed on as if they were the body.
        OwnedBody::Memory(_) | OwnedBody::File(_) | OwnedBody::Live(_) => {
            let start = start_of(&owned.head);
            return refuse(turn, NOT_MOVED, &start);
        }
    }
    bytes.extend_from_slice(&turn.connection.carry);
    let end = bytes.len();
    if end > turn.desk.buffer.len() {
        let start = start_of(&owned.head);
        return refuse(turn, NOT_MOVED, &start);
    }
    turn.desk.buffer[..end].copy_from_slice(&bytes);
    pass_on(turn, elsewhere, 0..end)
}

/// Tries to pass a connection on, or has it wait for room in the passage.
pub(crate) fn depart(turn: Turn<'_>, departing: Departing) -> Step {
    let Departing { elsewhere: Elsewhere { passage, has_missed }, hops } = departing;
    let (peer, listener) = (turn.connection.peer(), turn.connection.outbox().listener);
    let passenger = Passenger { peer, listener, hops, has_missed };
    let transport = &turn.connection.outbox().transport;
    let seal = match (&turn.connection.arrived, &turn.driven.shared.config.seal_key) {
        (Some(arrival), _) => Ok(arrival.seal),
        (None, Some(key)) => passenger.seal(key, transport),
        (None, None) => Ok([0; 32]),
    };
    let Some(end) = turn.driven.departures.end(passage) else {
        return strand_departing(turn);
    };
    let sent = seal.and_then(|seal| passage::send(end, passenger, &seal, &turn.connection.carry, transport));
    match sent {
        Ok(true) => {
            turn.driven.shared.tally.add(Cell::PassedOn, 1);
            turn.driven.unwatch(&turn.connection);
            Step::On(turn.connection, Next::Close)
        }
        Ok(false) if turn.driven.await_room(passage, turn.key) => Step::On(turn.connection, Next::Wait),
        Ok(false) => strand_departing(turn),
        // No process is left at the other end: the server is stopping, or the version at that end has ended.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => strand_departing(turn),
        Err(error) => {
            log::write(
                &messages::NOT_PASSED,
                format_args!("a connection cannot be passed to the process that answers it: {error}"),
            );
            strand_departing(turn)
        }
    }
}

/// Refuses a connection that has waited for room in a passage for as long as it may.
pub(crate) fn expire_departing(turn: Turn<'_>, departing: Departing) -> Step {
    if let Some(name) = turn.driven.departures.note_stuck(departing.elsewhere.passage, turn.driven.now_ms) {
        log::write(
            &messages::NOT_PASSED,
            format_args!(
                "{name} takes no more connections; those that wait for longer than --queue-timeout says are \
                 answered 503"
            ),
        );
    }
    strand_departing(turn)
}

/// Refuses a request that another process should have answered.
fn strand_departing(mut turn: Turn<'_>) -> Step {
    let received = std::mem::take(&mut turn.connection.carry);
    let start = start_of(&received);
    refuse(turn, NO_PROCESS, &start)
}
