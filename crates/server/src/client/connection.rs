//! One client connection: its phase, and the bytes that it has received.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::answering::answer::After;
use crate::answering::exchange::Exchange;
use crate::answering::outcome::Stream;
use crate::client::body::{Live, Upload, unless_read};
use crate::client::held::Held;
use crate::client::outbox::Outbox;
use crate::client::output::{Flushed, Output};
use crate::client::passage::{Arrival, Elsewhere};
use crate::client::reader::Reader;
use crate::client::transport::Transport;
use crate::site::terms::Terms;

/// Pipelined requests of one connection before the other connections get their turn.
const REQUESTS_PER_TURN: u32 = 256;

/// A connection, which its loop holds.
///
/// An idle connection costs this struct (some 80 bytes), its outbox (as much), its place in the loop's table, and an
/// entry in the timer wheel: buffers are lent by the loop and go back to it.
pub(crate) struct Connection {
    /// The way to the client; `None` while the outbox is away, with the exchange that the application answers.
    pub(crate) outbox: Option<Box<Outbox>>,
    /// Whether `carry` may hold a whole request, which is to be parsed before more is received.
    pub(crate) unparsed: bool,
    /// Whether the kernel may have more bytes, of which no event will tell: the last receive filled its buffer, or the
    /// event has come already.
    pub(crate) more: bool,
    /// Whether a header of the PROXY protocol is still to come, or the first request of a client whom no process can
    /// take.
    pub(crate) begins_with_header: bool,
    /// Requests received so far.
    pub(crate) requests: u32,
    /// The value of `requests` when the other connections last had their turn.
    pub(crate) requests_before: u32,
    pub(crate) phase: Phase,
    /// How the connection came here, if another process has passed it on.
    pub(crate) arrived: Option<Box<Arrival>>,
    /// Received bytes that no request has used: the beginning of a head, or pipelined requests.
    pub(crate) carry: Vec<u8>,
    /// When the phase began, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
}

impl Connection {
    pub(crate) fn new(
        transport: Transport,
        peer: Option<SocketAddr>,
        listener: u16,
        terms: Arc<Terms>,
        now_ms: u64,
    ) -> Self {
        Self {
            outbox: Some(Box::new(Outbox::new(transport, peer, listener, terms))),
            unparsed: false,
            more: false,
            begins_with_header: false,
            requests: 0,
            requests_before: 0,
            phase: Phase::Head,
            arrived: None,
            carry: Vec::new(),
            since_ms: now_ms,
        }
    }

    /// Whether the process that has passed the connection on has asked a folder for its next request already, and the
    /// folder lacks the file.
    pub(crate) fn has_missed(&self) -> bool {
        self.requests == 0 && self.arrived.as_ref().is_some_and(|arrival| arrival.has_missed)
    }

    /// Whether its outbox is with the application.
    pub(crate) fn is_away(&self) -> bool {
        self.outbox.is_none()
    }

    /// The way to its client. To be called only while the connection is not away.
    pub(crate) fn outbox(&self) -> &Outbox {
        let Some(outbox) = &self.outbox else { unreachable!("{IS_AWAY}") };
        outbox
    }

    /// The way to its client. To be called only while the connection is not away.
    pub(crate) fn outbox_mut(&mut self) -> &mut Outbox {
        let Some(outbox) = &mut self.outbox else { unreachable!("{IS_AWAY}") };
        outbox
    }

    /// The transport that carries its bytes. To be called only while the connection is not away.
    pub(crate) fn transport(&mut self) -> &mut Transport {
        &mut self.outbox_mut().transport
    }

    /// Its client's address; `None` on unix sockets.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.outbox().peer
    }

    /// Sends what is written, as far as the client takes it.
    ///
    /// # Errors
    ///
    /// The errors of [`Outbox::flush`].
    pub(crate) fn flush(&mut self) -> io::Result<Flushed> {
        self.outbox_mut().flush()
    }

    /// Keeps received bytes for later; `unparsed` says that they may hold a whole request.
    pub(crate) fn keep(&mut self, bytes: &[u8], unparsed: bool) {
        self.carry = bytes.to_vec();
        self.unparsed = unparsed && !bytes.is_empty();
    }

    /// Takes its exchange back from the application, with the rest of the answer that is still to be given.
    pub(crate) fn come_back(&mut self, mut exchange: Box<Exchange>, stream: Option<Box<dyn Stream>>) {
        self.outbox = exchange.answer.outbox.take();
        if !exchange.rest.is_empty() {
            self.carry = std::mem::take(&mut exchange.rest);
            self.unparsed = true;
        }
        if !matches!(self.phase, Phase::Respond(_)) {
            self.phase = Phase::Respond(Box::new(Respond::new(exchange.answer.after())));
        }
        if let Phase::Respond(respond) = &mut self.phase {
            (respond.exchange, respond.stream) = (Some(exchange), stream);
        }
    }

    /// Ends the connection without an answer to its request: the client has gone.
    pub(crate) fn depart(&mut self, mut exchange: Box<Exchange>) {
        self.outbox = exchange.answer.outbox.take();
        self.outbox_mut().output = Output::default();
        self.phase = Phase::Respond(Box::new(Respond::new(After::Close)));
    }

    /// Gives up the connection's request, which cannot be answered as usual: the next answer ends the connection.
    pub(crate) fn restart(&mut self, outbox: Box<Outbox>, now_ms: u64) {
        self.outbox = Some(outbox);
        (self.unparsed, self.more) = (false, false);
        self.phase = Phase::Head;
        self.carry = Vec::new();
        self.since_ms = now_ms;
    }

    /// Whether its answer is whole and sent, and it only waits for the next request, whose arrival makes an event.
    pub(crate) fn is_answered(&self) -> bool {
        let Phase::Respond(respond) = &self.phase else { return false };
        let outbox = self.outbox();
        outbox.watched
            && !outbox.broken
            && outbox.output.is_empty()
            && respond.after == After::Next
            && respond.stream.is_none()
            && !respond.is_script
            && !respond.missed
            && self.carry.is_empty()
            && respond
                .exchange
                .as_ref()
                .is_none_or(|exchange| exchange.answer.live.is_none() && !exchange.answer.is_cut())
    }

    /// Whether the connection is between two requests, and nothing has begun: a stopping server may close it.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Head)
            && self.carry.is_empty()
            && self.outbox().output.is_empty()
            && !self.more
    }

    /// Whether so many of its requests were answered in a row that the other connections come first.
    pub(crate) fn has_had_its_turn(&self) -> bool {
        self.requests.wrapping_sub(self.requests_before) >= REQUESTS_PER_TURN
    }
}

/// Message of a panic that only a fault of the server causes.
const IS_AWAY: &str = "a connection that is away is not worked on";

/// The event that a connection waits for.
///
/// | phase | waits for | then |
/// | --- | --- | --- |
/// | `Head` | the rest of a request head, or the next one | an answer, or `Upload` |
/// | `Upload` | the rest of a request body | an answer |
/// | `Respond` | the client to take bytes, then the application's next piece | `Head`, `Linger`, or the end |
/// | `Depart` | room in the passage to another process | the end |
/// | `Linger` | the client to see the last answer and close | the end |
pub(crate) enum Phase {
    Head,
    Upload(Box<Upload>),
    Respond(Box<Respond>),
    Depart(Departing),
    Linger(Box<Linger>),
}

/// An answer that the client did not take at once, or that the application has not finished.
pub(crate) struct Respond {
    /// The next step when everything is sent.
    pub(crate) after: After,
    /// The rest of the answer, which the application still has to give.
    pub(crate) stream: Option<Box<dyn Stream>>,
    /// The exchange that is answered, if it is not in the access log yet.
    pub(crate) exchange: Option<Box<Exchange>>,
    /// Pulls since the other connections had their turn.
    pub(crate) pulls: u32,
    /// Whether a script gives the answer, and the rest is read from it.
    pub(crate) is_script: bool,
    /// The time at which the client of a script's answer was seen to have ended its side, in ms of the monotonic clock.
    pub(crate) ended_ms: Option<u64>,
    /// Whether an event may have told of the next request.
    pub(crate) missed: bool,
    /// How fast the client reads.
    pub(crate) reader: Reader,
    /// The memory that the answer takes meanwhile.
    pub(crate) held: Option<Held>,
}

impl Respond {
    /// An answer that is written and only has to be sent.
    pub(crate) fn new(after: After) -> Self {
        Self {
            after,
            stream: None,
            exchange: None,
            is_script: false,
            ended_ms: None,
            pulls: 0,
            missed: false,
            reader: Reader::default(),
            held: None,
        }
    }
}

/// The destination of a connection that moves because another process answers its next request.
#[derive(Clone, Copy)]
pub(crate) struct Departing {
    pub(crate) elsewhere: Elsewhere,
    /// How often it will have moved since its last answer.
    pub(crate) hops: u8,
}

/// Reads and throws away what the client still sends, within limits.
pub(crate) struct Linger {
    pub(crate) bytes_left: u64,
}

/// Returns the step after a request with a live body. If the application has not read all of the body, the bytes that
/// the client still sends cannot be told from its next request.
pub(crate) fn after_live(connection: &mut Connection, live: &Mutex<Live>) -> After {
    let Some(mut live) = unless_read(live).filter(|live| live.is_done()) else { return After::Linger };
    let mut carry = live.leftover();
    carry.append(&mut connection.carry);
    connection.unparsed = !carry.is_empty();
    connection.carry = carry;
    After::Next
}
