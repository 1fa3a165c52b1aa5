//! One request and its answer: the value that travels between a loop and the threads that call the application.

use std::sync::Arc;

use adyton_http1::{Head, Limits, Parsed};

use crate::answering::answer::Answer;
use crate::answering::verdict::Verdict;
use crate::client::asker::Asker;
use crate::client::body::{OwnedBody, Pieces};
use crate::client::outbox::Outbox;
use crate::site::limits::CallLimits;
use crate::site::plan::Site;
use crate::threads::endpoints::Endpoint;

/// A request and its answer. The connection that it came from stays with its loop.
pub(crate) struct Exchange {
    /// The connection's key in its loop.
    pub(crate) key: usize,
    pub(crate) endpoint: Endpoint,
    /// When the request came, in us of the monotonic clock.
    pub(crate) started_us: u64,
    pub(crate) request: RequestBytes,
    /// The site of the application that is asked, and the number of its route; `None` until an application is asked.
    pub(crate) site: Option<Arc<Site>>,
    pub(crate) route: usize,
    pub(crate) answer: Answer,
    /// Bytes received behind the request, which a thread without the loop leaves to the loop.
    pub(crate) rest: Vec<u8>,
    /// The request's head, for the access log, if the answer ends later than the call.
    pub(crate) head: Vec<u8>,
    /// The verdict on the request's credentials, if they were checked before.
    pub(crate) verdict: Option<Box<Verdict>>,
    /// Whether nothing that the client has sent is left to read: after the answer, only its next request can come.
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
            site: None,
            route: 0,
            answer: Answer::nothing(),
            rest: Vec::new(),
            head: Vec::new(),
            verdict: None,
            is_last: false,
        })
    }

    /// Notes the route whose application is to be asked. A site that is noted already is not cloned again: each clone
    /// writes to the reference count, a place in memory that all threads share.
    pub(crate) fn take_route(&mut self, site: &Arc<Site>, route: usize) {
        if self.site.as_ref().is_none_or(|before| !Arc::ptr_eq(before, site)) {
            self.site = Some(Arc::clone(site));
        }
        self.route = route;
    }

    /// Takes the verdict on the credentials of a request that is answered anew.
    pub(crate) fn verdict_of_user(&mut self) -> Option<Box<Verdict>> {
        let Asker { user, guard, .. } = *self.answer.asker.take()?;
        Some(Box::new(Verdict { guard: guard?, outcome: Ok(Some(user?)), of: None, before: None }))
    }

    /// Drops the request's bytes: the answer no longer needs them.
    pub(crate) fn forget_request(&mut self) {
        if !matches!(self.request, RequestBytes::Lent { .. }) {
            self.take_request();
        }
    }

    /// Takes the request's bytes out of the exchange.
    pub(crate) fn take_request(&mut self) -> RequestBytes {
        let nothing = RequestBytes::Lent { start: 0, body_at: 0, end: 0, filled: 0 };
        std::mem::replace(&mut self.request, nothing)
    }

    /// Makes the exchange free for the next request.
    pub(crate) fn clear(&mut self) {
        debug_assert!(self.answer.outbox.is_none(), "the outbox is with the connection");
        self.forget_request();
        self.answer.live = None;
        self.answer.onward = None;
        self.rest = Vec::new();
        self.head = Vec::new();
    }

    /// The time limits of its call.
    pub(crate) fn call_limits(&self) -> CallLimits {
        self.answer.outbox.as_ref().map_or_else(CallLimits::default, |outbox| outbox.terms.limits.call)
    }

    /// The way to the client.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        self.answer.outbox()
    }

    /// Whether its client has gone; see [`Outbox::is_abandoned`].
    pub(crate) fn is_abandoned(&self, far: bool) -> bool {
        self.answer.outbox.as_ref().is_some_and(|outbox| outbox.is_abandoned(far))
    }

    /// Makes the exchange independent of the desk, and returns the bytes received behind the request.
    pub(crate) fn leave_desk<'b>(&mut self, buffer: &'b [u8]) -> Option<&'b [u8]> {
        let RequestBytes::Lent { start, body_at, end, filled } = self.request else { return None };
        let body = match &buffer[body_at..end] {
            [] => OwnedBody::Empty,
            bytes => OwnedBody::Memory(Pieces::from(bytes.to_vec())),
        };
        let head = buffer[start..body_at].to_vec();
        self.request = RequestBytes::Owned(Box::new(Owned { head, body }));
        Some(&buffer[end..filled])
    }

    /// Whether the answer is whole and sent, and its connection only waits for the next request, whose arrival makes an
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
            && !self.answer.goes_on()
            && self.rest.is_empty()
    }
}

/// The place of a request's bytes.
pub(crate) enum RequestBytes {
    /// In the desk's buffer: the head from `start`, the body from `body_at` to `end`; the received bytes go up to
    /// `filled`. The desk's head is parsed.
    Lent { start: usize, body_at: usize, end: usize, filled: usize },
    /// In memory of their own.
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
