//! A request that looks for its route, and the simple answers that routes have for it.

use std::net::IpAddr;
use std::sync::Arc;

use adyton_files::{ErrorPage, error_page};
use adyton_http::{BadResponse, BodySize, Known, Method, Request, reason_phrase};

use crate::answering::answer::Answer;
use crate::answering::onward::Rewritten;
use crate::answering::reply::Reply;
use crate::answering::verdict::Verdict;
use crate::cache::wanting::Wanting;
use crate::cgi::WantedScript;
use crate::client::passage::Elsewhere;
use crate::common::Common;
use crate::folders::{FolderAnswer, Folders, Place};
use crate::guard::{Credentials, Denial};
use crate::site::plan::{Fixed, Route, Site};

/// The result of looking for a route.
pub(crate) enum Routed {
    /// The answer is written.
    Answered,
    /// The application of the route with this number is to be asked.
    App(usize),
    /// The credentials are to be verified first.
    Check(Box<Credentials>),
    /// The request waits for the answer to another request.
    Await(Box<Wanting>),
    /// Another process is to answer.
    Elsewhere(Elsewhere),
    /// A script is to be run, for the route with this number.
    Script(usize, Box<WantedScript>),
    /// The request has another target from here on.
    Rewritten(Rewritten),
}

/// A request that looks for its route, and the facts about it that the rules of routes ask for.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) request: Request<'a>,
    /// The client's address, as far as it is known.
    pub(crate) client: Option<IpAddr>,
    /// The verdict on the request's credentials, if they were verified.
    pub(crate) verdict: Option<&'a Verdict>,
}

/// Returns the address of the client, as far as it is known.
pub(crate) fn client_of(answer: &mut Answer) -> Option<IpAddr> {
    let peer = answer.outbox().peer;
    answer.client(peer).map(|client| client.ip())
}

/// The parts of the server that each reply needs.
#[derive(Clone, Copy)]
pub(crate) struct Replies<'r> {
    pub(crate) common: &'r Common,
    pub(crate) date: &'r [u8; 29],
}

impl<'r> Replies<'r> {
    /// Begins the reply that becomes this answer.
    #[inline]
    pub(crate) fn to<'c>(self, answer: &'c mut Answer) -> Reply<'c>
    where
        'r: 'c,
    {
        Reply::new(answer, self.common, self.date)
    }
}

/// The moment of a look at folders: its time, and the value of [`Loop::looks`](crate::event_loop::Loop::looks).
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now_ms: u64,
    pub(crate) looks: u64,
}

/// Folders that say themselves how they are served, and their rules for the path of a request.
#[derive(Clone, Copy)]
pub(crate) struct Ruled<'f> {
    pub(crate) folders: &'f Folders,
    pub(crate) place: &'f Place,
}

/// A route that a request has come into.
#[derive(Clone, Copy)]
pub(crate) struct Inside<'p> {
    pub(crate) site: &'p Arc<Site>,
    pub(crate) number: usize,
    pub(crate) route: &'p Route,
    /// The path in its one spelling.
    pub(crate) path: &'p [u8],
    /// Bytes of the path that are the route's own.
    pub(crate) own_bytes: usize,
}

/// Whether a client wants to speak the WebSocket protocol from now on.
pub(crate) fn is_web_socket(request: Request<'_>) -> bool {
    request.has(Known::SecWebSocketKey) && request.has(Known::Upgrade)
}

/// Whether a request is for the server itself, and never for an application: `OPTIONS *` and the like, `CONNECT`, and
/// `TRACE`.
pub(crate) fn is_for_server(request: Request<'_>) -> bool {
    matches!(request.method(), Method::Trace | Method::Connect) || request.target() == b"*"
}

/// Answers with an error page of the server.
pub(crate) fn write_page(reply: &mut Reply<'_>, page: &ErrorPage) {
    let made = reply.render(|out, asked, identity| page.write(out, asked, &identity, &[]));
    reply.take(made);
}

/// Tells a client why it is not let in, and what it can do.
pub(crate) fn deny(reply: &mut Reply<'_>, denial: &Denial) {
    let fields: Vec<(&[u8], &[u8])> = denial.fields.iter().map(|(name, value)| (*name, &**value)).collect();
    reply.page(denial.status, denial.detail, &fields);
}

/// Redirects a client.
pub(crate) fn redirect(reply: &mut Reply<'_>, status: u16, location: &[u8]) {
    let page = reply.render(|out, asked, identity| {
        let text = format!("It is at {}.", String::from_utf8_lossy(location));
        error_page(out, asked, &identity, status, &text, &[(b"Location", location)])
    });
    reply.take(page);
}

/// Gives the answer that a folder's rules have for a path; the first `bytes` of the path are the folder's own.
pub(crate) fn write_folder_answer(
    reply: &mut Reply<'_>,
    answer: &FolderAnswer,
    request: Request<'_>,
    bytes: usize,
) {
    match answer {
        FolderAnswer::Redirect(status, location) => redirect(reply, *status, &location.of(request, bytes)),
        FolderAnswer::Status(status) => reply.fail(*status, ""),
    }
}

/// Gives an answer that the plan fixes.
pub(crate) fn write_fixed(reply: &mut Reply<'_>, fixed: &Fixed) {
    let size = BodySize::Known(fixed.body.len() as u64);
    let reason = reason_phrase(fixed.status);
    let written: Result<(), BadResponse> = reply.head(fixed.status, reason.as_bytes(), size, |head| {
        head.field(b"Content-Type", fixed.content_type.as_bytes())
    });
    match written {
        Ok(()) => reply.write(&fixed.body),
        // The maker of the plan has not checked the answer's media type.
        Err(_) => reply.fail(500, "The answer of this route cannot be sent."),
    }
}

pub(crate) const NOTHING: &str = "Nothing is served here.";

pub(crate) const DENIED: &str = "This path is served to nobody.";
