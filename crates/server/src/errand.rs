//! What the loop wants of the application, as a value.
//!
//! The loop itself never calls the application: it says what is to be done, and the thread that drives it
//! goes on that errand, or another one does.

use std::sync::{Arc, Mutex};

use adyton_http1::{Head, Limits, Parsed};
use adyton_log::request::RequestId;

use crate::app::Stream;
use crate::body::{Live, OwnedBody};
use crate::connection::{Connection, Respond};
use crate::endpoints::Endpoint;
use crate::reply::Answer;

/// Something that only the application can do.
pub(crate) enum Errand {
    /// Answer a request.
    Ask(Ask),
    /// Go on with an answer; the connection is in phase `Respond`, whose contents are beside it.
    Pull { key: usize, connection: Box<Connection>, respond: Box<Respond> },
    /// Drop what is left of an answer whose client has gone, or of those that were sent.
    Discard(Box<dyn Stream>),
}

impl Errand {
    /// What the logs call the request that it is about.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Ask(ask) => Some(&ask.answer.id),
            Self::Pull { respond, .. } => respond.answer.as_ref().map(|answer| &answer.id),
            Self::Discard(_) => None,
        }
    }
}

/// A request for the application.
pub(crate) struct Ask {
    pub(crate) key: usize,
    pub(crate) connection: Box<Connection>,
    pub(crate) answer: Answer,
    pub(crate) started_us: u64,
    pub(crate) endpoint: Endpoint,
    pub(crate) place: Place,
}

/// Where a request's bytes are.
pub(crate) enum Place {
    /// In the desk's buffer: the head from `start`, the body from `body_at` to `end`; what was received goes up to
    /// `filled`. The desk's head is parsed.
    Desk { start: usize, body_at: usize, end: usize, filled: usize },
    /// By themselves.
    Own(Box<Owned>),
}

/// A request that needs no desk.
pub(crate) struct Owned {
    pub(crate) head: Vec<u8>,
    pub(crate) body: OwnedBody,
}

impl Ask {
    /// The same request without the desk, and its head parsed if it was there already.
    pub(crate) fn leave_desk(mut self, buffer: &[u8]) -> Self {
        if let Place::Desk { start, body_at, end, filled } = self.place {
            let body = if end == body_at {
                OwnedBody::Empty
            } else {
                OwnedBody::Bytes(buffer[body_at..end].to_vec())
            };
            self.connection.keep(&buffer[end..filled], true);
            let head = buffer[start..body_at].to_vec();
            self.place = Place::Own(Box::new(Owned { head, body }));
        }
        self
    }

    /// The body that is read live, if it is.
    pub(crate) fn live(&self) -> Option<Arc<Mutex<Live>>> {
        match &self.place {
            Place::Desk { .. } => None,
            Place::Own(owned) => owned.body.live(),
        }
    }
}

impl Place {
    /// The bytes of the head.
    pub(crate) fn head_bytes<'p>(&'p self, buffer: &'p [u8]) -> &'p [u8] {
        match self {
            Self::Desk { start, body_at, .. } => &buffer[*start..*body_at],
            Self::Own(owned) => &owned.head,
        }
    }
}

/// Parses a head that was parsed before.
pub(crate) fn parse_again(head: &mut Head, bytes: &[u8], limits: &Limits) {
    let parsed = head.parse(bytes, limits);
    debug_assert!(matches!(parsed, Ok(Parsed::Complete)), "it was whole when it came");
}
