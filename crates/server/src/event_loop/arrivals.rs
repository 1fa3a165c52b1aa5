//! Connections that arrive: from the listeners, and through passages from other processes.

use adyton_log::{self as log, messages};

use crate::answering::errand::Errand;
use crate::board::tally::Cell;
use crate::client::connection::Connection;
use crate::client::passage::{Arrival, Passenger};
use crate::course::resuming::turning::give_turn;
use crate::event_loop::Loop;
use crate::event_loop::acceptor::Accepted;
use crate::event_loop::shed::shed;
use crate::threads::desk::Desk;

/// Takes a connection that waits at a listener.
pub(crate) fn accept(driven: &mut Loop, listener: usize, desk: &mut Desk) -> Option<Errand> {
    if let Some(connection) = accept_one(driven, listener, desk) {
        return welcome(driven, connection, desk);
    }
    driven.acceptor.note_empty(listener);
    None
}

/// Accepts a connection; `None` if no more come for now.
fn accept_one(driven: &mut Loop, listener: usize, desk: &mut Desk) -> Option<Box<Connection>> {
    let is_full = driven.is_full();
    if driven.acceptor.leaves_to_others(driven.now_ms, is_full) {
        return None;
    }
    loop {
        let is_full = driven.connections.len() >= driven.shared.config.connections_max;
        match driven.acceptor.take(listener, is_full, &mut desk.buffer, &driven.shared.tally) {
            Accepted::Passed(socket, passenger, seal, bytes) => {
                driven.shared.tally.add(Cell::Arrived, 1);
                let Passenger { peer, listener, hops, has_missed } = passenger;
                let mut connection = driven.new_connection(socket, peer, listener);
                connection.arrived = Some(Box::new(Arrival { hops, has_missed, seal }));
                connection.keep(&desk.buffer[..bytes], true);
                return Some(Box::new(connection));
            }
            Accepted::Client(socket, peer) => {
                driven.shared.tally.add(Cell::Accepted, 1);
                let address = driven.acceptor.address(listener);
                return Some(Box::new(driven.new_connection(socket, peer, address)));
            }
            Accepted::Nothing => return None,
            Accepted::End => {
                driven.acceptor.note_end(listener, &driven.poll.epoll);
                return None;
            }
            Accepted::NoRoom(error) => {
                if !shed(driven, desk) {
                    driven.acceptor.pause(driven.now_ms, error.as_ref());
                    return None;
                }
            }
        }
    }
}

/// Takes a new connection in. Its first request has often arrived already; if that is the only one, it is answered,
/// and the connection closed, without ever being watched.
pub(super) fn welcome(driven: &mut Loop, mut connection: Box<Connection>, desk: &mut Desk) -> Option<Errand> {
    let key = driven.connections.next_key();
    let config = &driven.shared.config;
    let is_proxy = config.trusts(connection.peer());
    connection.begins_with_header = match &connection.arrived {
        None => is_proxy && config.proxy_headers,
        Some(arrival) => arrival.is_stranded(),
    };
    // A proxy has the connections of many clients.
    if !driven.acceptor.enter(key, connection.peer().filter(|_| !is_proxy)) {
        log::write(
            &messages::CLIENT_CONNECTIONS,
            format_args!("a client has too many connections; one more was closed"),
        );
        return None;
    }
    let deadline_ms = driven.now_ms + driven.shared.config.first_byte_timeout_ms;
    driven.timers.set(key, deadline_ms);
    driven.connections.insert(connection);
    // The first request may have been sent since the wait.
    driven.looks += 1;
    give_turn(driven, key, false, desk)
}
