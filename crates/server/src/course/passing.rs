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
use crate::client::connection::{Connection, Departing, Phase};
use crate::client::passage::{self, Arrival, Elsewhere, HOPS_MAX, Passenger};
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

impl Loop {
    /// Passes a connection on to the process that answers its next request. `received`: the part of the buffer with the
    /// bytes received behind the last answered request; the next request begins there.
    pub(crate) fn pass_on(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        elsewhere: Elsewhere,
        received: Range<usize>,
    ) -> Step {
        if !connection.outbox().output.is_empty() {
            // Answers of this process are sent by it, and before anything else.
            connection.keep(&desk.buffer[received], true);
            return self.settle(key, connection, desk, After::Next);
        }
        let hops = match connection.arrived.as_deref() {
            Some(Arrival { hops, .. }) if connection.requests == 0 => hops.saturating_add(1),
            _ => 1,
        };
        if hops > HOPS_MAX {
            let start = start_of(&desk.buffer[received]);
            return self.refuse(key, connection, desk, NO_AGREEMENT, &start);
        }
        connection.keep(&desk.buffer[received], false);
        let departing = Departing { elsewhere, hops };
        connection.phase = Phase::Depart(departing);
        let deadline_ms = self.now_ms.saturating_add(self.shared.config.queue_timeout_ms);
        self.timers.set(key, deadline_ms);
        self.depart(key, connection, desk, departing)
    }

    /// Passes a connection on whose request is complete, but not in the buffer any more. A body in a file cannot move.
    pub(crate) fn pass_on_owned(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        desk: &mut Desk,
        elsewhere: Elsewhere,
        owned: &Owned,
    ) -> Step {
        let mut bytes = owned.head.clone();
        let is_chunked = desk.head.framing() == adyton_http1::Framing::Chunked;
        match &owned.body {
            OwnedBody::Empty if is_chunked => bytes.extend_from_slice(b"0\r\n\r\n"),
            OwnedBody::Empty => {}
            OwnedBody::Memory(body) if body.len() <= desk.buffer.len() => {
                if is_chunked {
                    bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                }
                body.iter().for_each(|piece| bytes.extend_from_slice(piece));
                if is_chunked {
                    bytes.extend_from_slice(b"\r\n0\r\n\r\n");
                }
            }
            // The bytes that follow the body must not go in its place.
            OwnedBody::Memory(_) | OwnedBody::File(_) | OwnedBody::Live(_) => {
                let start = start_of(&owned.head);
                return self.refuse(key, connection, desk, NOT_MOVED, &start);
            }
        }
        bytes.extend_from_slice(&connection.carry);
        let end = bytes.len();
        if end > desk.buffer.len() {
            let start = start_of(&owned.head);
            return self.refuse(key, connection, desk, NOT_MOVED, &start);
        }
        desk.buffer[..end].copy_from_slice(&bytes);
        self.pass_on(key, connection, desk, elsewhere, 0..end)
    }

    /// Tries to pass a connection on, or has it wait for room in the passage.
    pub(crate) fn depart(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        desk: &mut Desk,
        departing: Departing,
    ) -> Step {
        let Departing { elsewhere: Elsewhere { passage, has_missed }, hops } = departing;
        let (peer, listener) = (connection.peer(), connection.outbox().listener);
        let passenger = Passenger { peer, listener, hops, has_missed };
        let transport = &connection.outbox().transport;
        let seal = match (&connection.arrived, &self.shared.config.seal_key) {
            (Some(arrival), _) => Ok(arrival.seal),
            (None, Some(key)) => passenger.seal(key, transport),
            (None, None) => Ok([0; 32]),
        };
        let Some(end) = self.departures.end(passage) else {
            return self.strand_departing(key, connection, desk);
        };
        let sent = seal.and_then(|seal| passage::send(end, passenger, &seal, &connection.carry, transport));
        match sent {
            Ok(true) => {
                self.shared.tally.add(Cell::PassedOn, 1);
                self.unwatch(&connection);
                Step::On(connection, Next::Close)
            }
            Ok(false) if self.await_room(passage, key) => Step::On(connection, Next::Wait),
            Ok(false) => self.strand_departing(key, connection, desk),
            // No process is left at the other end: the server stops, or that version is no more.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.strand_departing(key, connection, desk)
            }
            Err(error) => {
                log::write(
                    &messages::NOT_PASSED,
                    format_args!("a connection cannot be passed to the process that answers it: {error}"),
                );
                self.strand_departing(key, connection, desk)
            }
        }
    }

    /// Refuses a connection that has waited for room in a passage for as long as it may.
    pub(crate) fn expire_departing(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        desk: &mut Desk,
        departing: Departing,
    ) -> Step {
        if let Some(name) = self.departures.note_stuck(departing.elsewhere.passage, self.now_ms) {
            log::write(
                &messages::NOT_PASSED,
                format_args!(
                    "{name} takes no more connections; those that wait for longer than --queue-timeout says are \
                     answered 503"
                ),
            );
        }
        self.strand_departing(key, connection, desk)
    }

    /// Refuses a request that another process should have answered.
    fn strand_departing(&mut self, key: usize, mut connection: Box<Connection>, desk: &mut Desk) -> Step {
        let received = std::mem::take(&mut connection.carry);
        let start = start_of(&received);
        self.refuse(key, connection, desk, NO_PROCESS, &start)
    }
}
