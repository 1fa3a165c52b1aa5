//! The header before the first request of a connection, from a proxy or from another process.

use std::sync::Arc;

use adyton_http1::{Parsed, Refusal};
use adyton_proxied::proxy_protocol::{self, Client, Read};

use crate::answering::refusals::{NO_PROCESS, start_of};
use crate::answering::step::{Next, Step};
use crate::course::concluding::refuse;
use crate::course::turn::Turn;
use crate::threads::desk::Desk;

/// The result of reading a header.
pub(crate) enum Header<'t> {
    /// The header is read: so many bytes of the buffer are its own.
    Read(Turn<'t>, usize),
    /// The header is not whole, or wrong.
    Not(Step),
}

/// Reads the header that a proxy sends before the first request (PROXY protocol).
pub(crate) fn receive_header(mut turn: Turn<'_>, filled: usize) -> Header<'_> {
    if turn.connection.arrived.is_some() {
        return Header::Not(receive_stranded(turn, filled));
    }
    match proxy_protocol::read(&turn.desk.buffer[..filled]) {
        Read::NeedMore => {
            turn.connection.keep(&turn.desk.buffer[..filled], false);
            Header::Not(Step::On(turn.connection, Next::Wait))
        }
        Read::Wrong(reason) => {
            let start = start_of(&turn.desk.buffer[..filled]);
            Header::Not(refuse(turn, Refusal { status: 400, reason }, &start))
        }
        Read::Header { bytes, client } => {
            turn.connection.begins_with_header = false;
            if let Client::Addresses { source, .. } = client {
                turn.connection.outbox_mut().peer = Some(source);
            }
            turn.connection.carry = Vec::new();
            turn.connection.outbox_mut().output.lend(&mut turn.desk.spare);
            Header::Read(turn, bytes)
        }
    }
}

/// Reads the first request of a client that no process can take, and answers it 503: this process does not serve
/// the sites of the address to which the client has connected.
fn receive_stranded(mut turn: Turn<'_>, filled: usize) -> Step {
    let Desk { buffer, head, .. } = &mut *turn.desk;
    let (received, config) = (&buffer[..filled], &turn.driven.shared.config);
    let begins_with_header = config.proxy_headers && config.trusts(turn.connection.peer());
    let header = if begins_with_header {
        proxy_protocol::read(received)
    } else {
        Read::Header { bytes: 0, client: Client::Unknown }
    };
    let (start, refusal) = match header {
        Read::Wrong(reason) => (0, Some(Refusal { status: 400, reason })),
        Read::NeedMore => (0, None),
        Read::Header { bytes, .. } => match head.parse(&received[bytes..], &config.head) {
            Ok(Parsed::Complete) => (bytes, Some(NO_PROCESS)),
            Ok(Parsed::Partial) => (bytes, None),
            Err(refusal) => (bytes, Some(refusal)),
        },
    };
    let Some(refusal) = refusal else {
        turn.connection.keep(received, false);
        return Step::On(turn.connection, Next::Wait);
    };
    let start = start_of(&received[start..]);
    turn.connection.carry = Vec::new();
    let terms = turn.connection.outbox().terms.of_no_site();
    turn.connection.outbox_mut().terms = Arc::new(terms);
    refuse(turn, refusal, &start)
}
