//! An answer while it is given: how far it has come, and where it goes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use adyton_http::Version;
use adyton_http1::{Asked, BodyFraming, Framed};
use adyton_log::request::RequestId;

use crate::answering::changes::Changes;
use crate::answering::coder::{Coder, Wanted};
use crate::answering::onward::Onward;
use crate::board::prefixes::NOWHERE;
use crate::cache::keeping::Keeping;
use crate::client::asker::Asker;
use crate::client::body::Live;
use crate::client::outbox::Outbox;

/// An answer: how far it has come, and where it goes.
pub(crate) struct Answer {
    /// The way to the client. `None` between two requests, and while the application has the thread: other threads may
    /// use the outbox meanwhile.
    pub(crate) outbox: Option<Box<Outbox>>,
    /// The body that the application reads live, until the answer ends.
    pub(crate) live: Option<Arc<Mutex<Live>>>,
    pub(crate) asked: Asked,
    pub(crate) id: RequestId,
    /// The header line that tells the client the request's id; empty if the client is not told.
    pub(crate) lines: Box<[u8]>,
    /// Changes that the request's route makes to the answer.
    pub(crate) changes: Option<Arc<Changes>>,
    /// The request's way to another target, if it was sent on or rewritten.
    pub(crate) onward: Option<Box<Onward>>,
    /// The way in which the body may be compressed; looked at only if there are `changes`.
    pub(crate) compress: Option<Wanted>,
    /// The cache's plans for the answer; looked at only if there are `changes`.
    pub(crate) keeping: Option<Box<Keeping>>,
    /// The coder that its body passes through; looked at only if the body is sent in chunks.
    pub(crate) coder: Option<Box<Coder>>,
    /// The sender of the request, if more is known of it than the address at the other end of the connection.
    pub(crate) asker: Option<Box<Asker>>,
    /// The row of the board that counts the request by its path.
    pub(crate) row: u8,
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    pub(crate) framed: Option<Framed>,
    /// Body bytes that the head promised and that were not written yet.
    pub(crate) left: u64,
    pub(crate) overrun: bool,
    /// Whether something failed after the head: then no last chunk follows, and no next request.
    pub(crate) aborted: bool,
}

impl Answer {
    pub(crate) fn nothing() -> Self {
        Self {
            outbox: None,
            live: None,
            asked: Asked { version: Version::Http11, is_head: false, keep_alive: false },
            id: RequestId::NONE,
            lines: Box::default(),
            changes: None,
            onward: None,
            compress: None,
            keeping: None,
            coder: None,
            asker: None,
            row: NOWHERE,
            status: 0,
            body_bytes: 0,
            framed: None,
            left: 0,
            overrun: false,
            aborted: false,
        }
    }

    /// Begins the answer to the request with this id.
    pub(crate) fn begin(&mut self, asked: Asked, id: RequestId) {
        (self.asked, self.id, self.changes, self.asker) = (asked, id, None, None);
        (self.row, self.status, self.body_bytes) = (NOWHERE, 0, 0);
        (self.framed, self.left, self.overrun, self.aborted) = (None, 0, false, false);
        // The cache may have wanted to keep an earlier answer, which was never given: the present answer must not be
        // kept in its place. Nor may the present answer be compressed in a coding that only an earlier client accepts.
        self.keeping = None;
        if self.compress.is_some() {
            self.compress = None;
        }
    }

    /// Whether the application has sent the request on, and the request has not reached its target yet.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.onward.as_ref().is_some_and(|onward| onward.to.is_some())
    }

    /// The client's address, if it is known. Behind a trusted proxy it is the address that the proxy tells, whose port
    /// may be 0.
    #[inline]
    pub(crate) fn client(&self, peer: Option<SocketAddr>) -> Option<SocketAddr> {
        self.asker.as_ref().and_then(|asker| asker.client).or(peer)
    }

    /// Returns the way to the client. To be called only while no other thread can have the outbox.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        let Some(outbox) = &mut self.outbox else { unreachable!("nobody else has it now") };
        outbox
    }

    pub(crate) fn commit(&mut self, status: u16, framed: Framed) {
        self.status = status;
        self.left = if let BodyFraming::Length(bytes) = framed.framing {
            bytes
        } else {
            self.coder = None;
            0
        };
        self.framed = Some(framed);
    }

    /// Has the body pass through a coder and be sent in chunks, whatever framing `commit` was given.
    pub(crate) fn code(&mut self, coder: Box<Coder>) {
        if let Some(framed) = &mut self.framed {
            framed.framing = BodyFraming::Chunked;
            self.coder = Some(coder);
        }
    }

    /// Whether a compressor holds bytes that were not sent.
    pub(crate) fn has_unflushed(&self) -> bool {
        let is_chunked = self.framed.is_some_and(|framed| framed.framing == BodyFraming::Chunked);
        is_chunked && self.coder.as_ref().is_some_and(|coder| coder.unflushed > 0)
    }

    /// Whether the connection can carry another request after this answer.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.framed.is_some_and(|framed| framed.keep_alive)
    }

    /// Whether the answer ends early: the client has to notice that it is not whole.
    pub(crate) fn is_cut(&self) -> bool {
        self.aborted || self.left > 0
    }

    /// Returns the connection's next step after an answer that was cut. An answer that ends with its connection looks
    /// whole unless the connection is reset.
    pub(crate) fn after_cut(&self) -> After {
        if self.framed.is_some_and(|framed| framed.framing == BodyFraming::UntilClose) {
            After::Reset
        } else {
            After::Close
        }
    }

    /// Returns the connection's next step after an answer that is not cut.
    pub(crate) fn after(&self) -> After {
        if self.keeps_alive() { After::Next } else { After::Close }
    }
}

/// A connection's next step once its answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next request.
    Next,
    /// The client has sent nothing that was not read: close.
    Close,
    /// The answer was cut, and only a reset can tell the client so.
    Reset,
    /// The client may still be sending: closing now would reset the connection, and the reset may overtake the answer
    /// (RFC 9112 section 9.6). The server's side is shut down, and the rest is read for a while.
    Linger,
}
