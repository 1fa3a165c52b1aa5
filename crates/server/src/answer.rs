//! One request, answered: from a folder, by the application, or by the server itself.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use adyton_files::{Ask, error_page};
use adyton_http1::{BadResponse, BodySize, Head, Method};
use adyton_sys::clock;

use crate::access_log::Record;
use crate::app::{App, Call, Outcome};
use crate::body::{Body, Live};
use crate::connection::{After, Connection, Respond};
use crate::event_loop::{Loop, Mount};
use crate::log::{self, Level};
use crate::reply::{Answer, Reply};
use crate::turn::after_live;

/// What `OPTIONS *` answers for the server as a whole (RFC 9110 section 9.3.7).
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// A request with its body: what an answer needs.
pub(crate) struct Request<'r> {
    pub(crate) head: &'r Head,
    pub(crate) bytes: &'r [u8],
    pub(crate) body: Body<'r>,
    /// There is a body that was not read and will not be.
    pub(crate) unread: bool,
}

/// What became of a request.
pub(crate) enum Verdict {
    /// The answer is written.
    Answered(After),
    /// The answer has begun.
    Streaming(Box<Respond>),
}

/// A connection with its answer, on the way from the application back to the loop.
type Parts = (Box<Connection>, Answer, Option<Arc<Mutex<Live>>>);

impl<A: App> Loop<A> {
    /// The folder that is served at `path`, if there is one.
    pub(crate) fn mount_of(&self, path: &[u8]) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.matches(path))
    }

    /// Answers one request.
    pub(crate) fn answer(
        &mut self,
        mut connection: Box<Connection>,
        request: Request<'_>,
    ) -> (Box<Connection>, Verdict) {
        connection.requests += 1;
        let started_us = self.start_us();
        let mut asked = request.head.asked();
        let requests_max = self.config.keep_alive_requests_max;
        let last = requests_max != 0 && connection.requests >= requests_max;
        asked.keep_alive &= !(last || request.unread || self.stopping_ms.is_some());
        let (head, bytes, unread) = (request.head, request.bytes, request.unread);
        let path = head.path().of(bytes);
        if let Some(index) = self.mounts.iter().position(|mount| mount.matches(path)) {
            let mount = &mut self.mounts[index];
            let fresh = self.receives;
            let mut reply = Reply::new(connection, Answer::new(asked), &self.room, None);
            let made = reply.render(|out, asked, identity| {
                mount.site.answer(&Ask { head, bytes, prefix: &mount.prefix, asked, identity, fresh }, out)
            });
            let answered = reply.take(made);
            let parts = reply.into_parts();
            if answered {
                return self.conclude_answer(parts, head, bytes, unread, started_us);
            }
            connection = parts.0;
        }
        let special = self.app.is_none()
            || matches!(head.method(), Method::Trace | Method::Connect)
            || head.target().of(bytes) == b"*";
        if special {
            let mut reply = Reply::new(connection, Answer::new(asked), &self.room, None);
            answer_ourselves(&mut reply, head.method(), head.target().of(bytes) == b"*");
            return self.conclude_answer(reply.into_parts(), head, bytes, unread, started_us);
        }
        self.ask_application(connection, Answer::new(asked), request, started_us)
    }

    fn ask_application(
        &mut self,
        connection: Box<Connection>,
        answer: Answer,
        request: Request<'_>,
        started_us: u64,
    ) -> (Box<Connection>, Verdict) {
        self.attach();
        let Request { head, bytes, body, unread } = request;
        let Some(app) = &self.app else { unreachable!("`answer` has asked for one") };
        let live = if let Body::Live(live) = &body { Some(Arc::clone(live)) } else { None };
        let (listener, peer) = (usize::from(connection.listener), connection.peer);
        let mut reply = Reply::new(connection, answer, &self.room, live);
        reply.before_wait();
        let mut call = Call { head, bytes, body, listener, peer, reply };
        let outcome = catch_unwind(AssertUnwindSafe(|| app.call(&mut call))).unwrap_or_else(|_| {
            // The panic's own message is in the log already.
            let target = String::from_utf8_lossy(head.target().of(bytes)).escape_default().to_string();
            log::write(Level::Error, format_args!("the server itself failed in a request for {target}"));
            Outcome::Failed
        });
        let Call { mut reply, .. } = call;
        let stream = match outcome {
            Outcome::Done => None,
            Outcome::Stream(stream) => Some(stream),
            Outcome::Failed => {
                reply.abort();
                None
            }
        };
        let Some(stream) = stream else {
            reply.end();
            return self.conclude_answer(reply.into_parts(), head, bytes, unread, started_us);
        };
        let (connection, answer, live) = reply.into_parts();
        let mut respond = Respond::new(if answer.keeps_alive() { After::Next } else { After::Close });
        (respond.answer, respond.live, respond.stream) = (Some(answer), live, Some(stream));
        if self.access_log.is_some() {
            respond.head = bytes.to_vec();
            respond.started_us = started_us;
        }
        (connection, Verdict::Streaming(Box::new(respond)))
    }

    /// What follows a whole answer.
    fn conclude_answer(
        &mut self,
        parts: Parts,
        head: &Head,
        bytes: &[u8],
        unread: bool,
        started_us: u64,
    ) -> (Box<Connection>, Verdict) {
        let (mut connection, answer, live) = parts;
        self.log_answer(connection.peer, Some(head), bytes, &answer, started_us);
        let after = if answer.is_cut() {
            answer.after_cut()
        } else if unread {
            After::Linger
        } else if let Some(live) = live {
            match after_live(&mut connection, &live) {
                After::Next if !answer.keeps_alive() => After::Close,
                after => after,
            }
        } else if answer.keeps_alive() {
            After::Next
        } else {
            After::Close
        };
        (connection, Verdict::Answered(after))
    }

    /// The time, if the access log wants durations; the path of a request reads no clock otherwise.
    pub(crate) fn start_us(&self) -> u64 {
        if self.access_log.as_ref().is_some_and(crate::access_log::AccessLog::wants_duration) {
            clock::monotonic_us()
        } else {
            0
        }
    }

    pub(crate) fn log_answer(
        &mut self,
        peer: Option<SocketAddr>,
        head: Option<&Head>,
        bytes: &[u8],
        answer: &Answer,
        started_us: u64,
    ) {
        let Some(log) = &mut self.access_log else { return };
        let duration_us = if log.wants_duration() { clock::monotonic_us() - started_us } else { 0 };
        let (status, body_bytes) = (answer.status, answer.body_bytes);
        log.record(&Record { peer, head, bytes, status, body_bytes, duration_us });
    }
}

/// What no application is asked: the server as a whole, tunnels, reflections, and nobody.
fn answer_ourselves(reply: &mut Reply<'_>, method: Method, whole_server: bool) {
    let (status, detail) = match method {
        // Reflecting a request shows a script what the browser hides from it.
        Method::Trace => (405, "The method TRACE is not served."),
        Method::Connect => (501, "The method CONNECT is not served."),
        Method::Options if whole_server => {
            let written: Result<(), BadResponse> =
                reply.head(204, b"No Content", BodySize::Known(0), |head| head.field(b"Allow", METHODS));
            debug_assert!(written.is_ok());
            return;
        }
        _ => return reply.fail(404, "Nothing is served here."),
    };
    let page = reply.render(|out, asked, identity| {
        error_page(out, asked, &identity, status, detail, &[(b"Allow", METHODS)])
    });
    reply.take(page);
}
