//! One request and its answer: what travels between a loop and the threads that call the application.

use std::sync::{Arc, Mutex};

use adyton_http::Version;
use adyton_http1::{Asked, BodyFraming, Framed, Head, Limits, Parsed};
use adyton_log::request::RequestId;

use crate::body::{Live, OwnedBody};
use crate::endpoints::Endpoint;
use crate::outbox::Outbox;
use crate::prefixes::NOWHERE;

/// A request and its answer. The connection that it came from stays with its loop.
pub(crate) struct Exchange {
    /// The connection's key in its loop.
    pub(crate) key: usize,
    pub(crate) endpoint: Endpoint,
    /// When the request came, in us of the monotonic clock.
    pub(crate) started_us: u64,
    pub(crate) request: RequestBytes,
    /// The route of its site whose application is asked.
    pub(crate) route: usize,
    pub(crate) answer: Answer,
    /// What was received behind the request, if the thread that has it had to leave it to the loop.
    pub(crate) rest: Vec<u8>,
    /// The request's head, for the access log, where the answer ends later than the call.
    pub(crate) head: Vec<u8>,
    /// Whether the client is not known to have sent anything else: once answered, it can only send the next request.
    pub(crate) is_last: bool,
}

impl Exchange {
    /// A place for a request.
    pub(crate) fn empty() -> Box<Self> {
        Box::new(Self {
            key: 0,
            endpoint: Endpoint::NONE,
            started_us: 0,
            request: RequestBytes::Lent { start: 0, body_at: 0, end: 0, filled: 0 },
            route: 0,
            answer: Answer::nothing(),
            rest: Vec::new(),
            head: Vec::new(),
            is_last: false,
        })
    }

    /// Drops the request's bytes: the answer needs them no more.
    pub(crate) fn forget_request(&mut self) {
        if !matches!(self.request, RequestBytes::Lent { .. }) {
            self.request = RequestBytes::Lent { start: 0, body_at: 0, end: 0, filled: 0 };
        }
    }

    /// Makes it free for the next request.
    pub(crate) fn clear(&mut self) {
        debug_assert!(self.answer.outbox.is_none(), "it is with the connection");
        self.forget_request();
        self.answer.live = None;
        self.rest = Vec::new();
        self.head = Vec::new();
    }

    /// The way to the client.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        self.answer.outbox()
    }

    /// Whether its client has gone; see [`Outbox::is_abandoned`].
    pub(crate) fn is_abandoned(&self, far: bool) -> bool {
        self.answer.outbox.as_ref().is_some_and(|outbox| outbox.is_abandoned(far))
    }

    /// Makes it independent of the desk; what was received behind the request is returned.
    pub(crate) fn leave_desk<'b>(&mut self, buffer: &'b [u8]) -> Option<&'b [u8]> {
        let RequestBytes::Lent { start, body_at, end, filled } = self.request else { return None };
        let body =
            if end == body_at { OwnedBody::Empty } else { OwnedBody::Bytes(buffer[body_at..end].to_vec()) };
        let head = buffer[start..body_at].to_vec();
        self.request = RequestBytes::Owned(Box::new(Owned { head, body }));
        Some(&buffer[end..filled])
    }

    /// Whether the answer is whole and sent, and its connection waits for nothing but the next request, which makes an
    /// event.
    pub(crate) fn is_answered(&self) -> bool {
        let Some(outbox) = &self.answer.outbox else { return false };
        self.is_last
            && outbox.watched
            && !outbox.broken
            && outbox.output.is_empty()
            && self.answer.keeps_alive()
            && !self.answer.is_cut()
            && self.answer.live.is_none()
            && self.rest.is_empty()
    }
}

/// Where a request's bytes are.
pub(crate) enum RequestBytes {
    /// In the desk's buffer: the head from `start`, the body from `body_at` to `end`; what was received goes up to
    /// `filled`. The desk's head is parsed.
    Lent { start: usize, body_at: usize, end: usize, filled: usize },
    /// By themselves.
    Owned(Box<Owned>),
}

impl RequestBytes {
    /// The bytes of the head.
    pub(crate) fn head_bytes<'p>(&'p self, buffer: &'p [u8]) -> &'p [u8] {
        match self {
            Self::Lent { start, body_at, .. } => &buffer[*start..*body_at],
            Self::Owned(owned) => &owned.head,
        }
    }
}

/// A request that needs no desk.
pub(crate) struct Owned {
    pub(crate) head: Vec<u8>,
    pub(crate) body: OwnedBody,
}

/// Parses a head that was parsed before.
pub(crate) fn parse_again(head: &mut Head, bytes: &[u8], limits: &Limits) {
    let parsed = head.parse(bytes, limits);
    debug_assert!(matches!(parsed, Ok(Parsed::Complete)), "it was whole when it came");
}

/// An answer: how far it has come, and where it goes.
pub(crate) struct Answer {
    /// The way to the client. `None` while others may reach it, because the application has the thread, and between two
    /// requests.
    pub(crate) outbox: Option<Box<Outbox>>,
    /// The body that the application reads live, until the answer ends.
    pub(crate) live: Option<Arc<Mutex<Live>>>,
    pub(crate) asked: Asked,
    pub(crate) id: RequestId,
    /// The field that tells the client the id, if it is told.
    pub(crate) lines: Box<[u8]>,
    /// Where it is counted by what was asked for.
    pub(crate) row: u8,
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    pub(crate) framed: Option<Framed>,
    /// Body bytes that the head promised and that were not written yet.
    pub(crate) left: u64,
    pub(crate) overrun: bool,
    /// Something failed after the head: no last chunk, no next request.
    pub(crate) aborted: bool,
}

impl Answer {
    fn nothing() -> Self {
        Self {
            outbox: None,
            live: None,
            asked: Asked { version: Version::Http11, is_head: false, keep_alive: false },
            id: RequestId::NONE,
            lines: Box::default(),
            row: NOWHERE,
            status: 0,
            body_bytes: 0,
            framed: None,
            left: 0,
            overrun: false,
            aborted: false,
        }
    }

    /// Begins the answer to a request that has its name.
    pub(crate) fn begin(&mut self, asked: Asked, id: RequestId) {
        (self.asked, self.id) = (asked, id);
        (self.row, self.status, self.body_bytes) = (NOWHERE, 0, 0);
        (self.framed, self.left, self.overrun, self.aborted) = (None, 0, false, false);
    }

    /// The way to the client, where nobody else can have it.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        let Some(outbox) = &mut self.outbox else { unreachable!("nobody else has it now") };
        outbox
    }

    pub(crate) fn commit(&mut self, status: u16, framed: Framed) {
        self.status = status;
        self.left = if let BodyFraming::Length(bytes) = framed.framing { bytes } else { 0 };
        self.framed = Some(framed);
    }

    /// Whether the connection can carry another request after this answer.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.framed.is_some_and(|framed| framed.keep_alive)
    }

    /// Whether the client must not take what it has for a whole answer.
    pub(crate) fn is_cut(&self) -> bool {
        self.aborted || self.left > 0
    }

    /// What follows an answer that was cut. One that ends with its connection looks whole unless that is reset.
    pub(crate) fn after_cut(&self) -> After {
        if self.framed.is_some_and(|framed| framed.framing == BodyFraming::UntilClose) {
            After::Reset
        } else {
            After::Close
        }
    }

    /// What follows an answer that is not cut.
    pub(crate) fn after(&self) -> After {
        if self.keeps_alive() { After::Next } else { After::Close }
    }
}

/// What happens to a connection once its answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next request.
    Next,
    /// The client has sent nothing that was not read: close.
    Close,
    /// The answer was cut, and only a reset can tell the client so.
    Reset,
    /// The client may still be sending: closing now would reset the connection, and the reset may
    /// overtake the answer (RFC 9112 section 9.6). Ours is shut down, the rest is read for a while.
    Linger,
}
