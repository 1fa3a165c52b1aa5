//! One request, answered: from a folder, by the application, or by the server itself.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use adyton_files::{Ask as FileAsk, error_page};
use adyton_http1::{Asked, BadResponse, BodySize, Head, Known, Method};
use adyton_log::request::RequestId;
use adyton_sys::clock;

use crate::access_log::Record;
use crate::body::Live;
use crate::connection::after_live;
use crate::connection::{After, Connection, Respond};
use crate::desk::Desk;
use crate::driver::{AskLeft, Done};
use crate::errand::{Errand, Place};
use crate::event_loop::{Loop, Mount};
use crate::lock::lock;
use crate::reply::{Answer, Reply};
use crate::step::Step;
use crate::step::{Answering, Verdict};
use crate::tally::{Cell, Histogram};

/// What `OPTIONS *` answers for the server as a whole (RFC 9110 section 9.3.7).
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// A connection with its answer, on the way from the application back to the loop.
type Parts = (Box<Connection>, Answer, Option<Arc<Mutex<Live>>>);

impl Loop {
    /// The folder that is served at `path`, if there is one.
    pub(crate) fn mount_of(&self, path: &[u8]) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.matches(path))
    }

    /// Answers one request, or says that the application has to. `unread`: it has a body that was not read.
    pub(crate) fn answer(
        &mut self,
        mut connection: Box<Connection>,
        head: &Head,
        bytes: &[u8],
        unread: bool,
    ) -> Answering {
        connection.requests += 1;
        connection.begun = false;
        let started_us = self.start_us();
        let mut asked = head.asked();
        let requests_max = self.shared.config.keep_alive_requests_max;
        let last = requests_max != 0 && connection.requests >= requests_max;
        asked.keep_alive &= !(last || self.stopping_ms.is_some() || self.gives_away());
        let path = head.path().of(bytes);
        let mut own = asked;
        own.keep_alive &= !unread;
        let mut answer = self.name(own, head, bytes);
        if let Some(index) = self.mounts.iter().position(|mount| mount.matches(path)) {
            let mount = &mut self.mounts[index];
            let fresh = self.receives;
            let mut reply = Reply::new(connection, answer, &self.shared, &self.date, None);
            let made = reply.render(|out, asked, identity| {
                let ask = FileAsk { head, bytes, prefix: &mount.prefix, asked, identity, fresh };
                mount.site.answer(&ask, out)
            });
            let answered = reply.take(made);
            let parts = reply.into_parts();
            if answered {
                return self.done(parts, head, bytes, unread, started_us);
            }
            (connection, answer, _) = parts;
        }
        let is_web_socket = head.has(Known::SecWebSocketKey) && head.has(Known::Upgrade);
        let special = self.shared.app.is_none()
            || is_web_socket
            || matches!(head.method(), Method::Trace | Method::Connect)
            || head.target().of(bytes) == b"*";
        if special {
            let mut reply = Reply::new(connection, answer, &self.shared, &self.date, None);
            if is_web_socket && self.shared.app.is_some() {
                reply.fail(501, NO_WEB_SOCKETS);
            } else {
                answer_ourselves(&mut reply, head.method(), head.target().of(bytes) == b"*");
            }
            return self.done(reply.into_parts(), head, bytes, unread, started_us);
        }
        answer.asked = asked;
        Answering::Ask(connection, answer, started_us)
    }

    /// Gives a request its name.
    fn name(&mut self, asked: Asked, head: &Head, bytes: &[u8]) -> Answer {
        let config = &self.shared.config;
        let value = |name: &[u8]| head.all_named(name, bytes).next().map(|value| value.of(bytes));
        let names = !config.request_id_field.is_empty();
        let given = if names { value(&config.request_id_field) } else { None };
        let traceparent = if config.logs_traces { value(b"traceparent") } else { None };
        let id = self.ids.next(given, traceparent);
        self.answer_to(asked, id)
    }

    /// Begins the answer to a request that has its name.
    pub(crate) fn answer_to(&self, asked: Asked, id: RequestId) -> Answer {
        let field = &self.shared.config.request_id_field;
        let lines = if field.is_empty() {
            Box::default()
        } else {
            let mut line = field.clone();
            line.extend_from_slice(format!(": {id}\r\n").as_bytes());
            line.into()
        };
        Answer::new(asked, id, lines)
    }

    fn done(&mut self, parts: Parts, head: &Head, bytes: &[u8], unread: bool, started_us: u64) -> Answering {
        let (connection, after) = self.conclude_answer(parts, head, bytes, started_us);
        // What was not read cannot be told from the next request.
        Answering::Done(connection, if unread && after != After::Reset { After::Linger } else { after })
    }

    /// The application has answered, and this loop's driver with it.
    pub(crate) fn answered(&mut self, ask: AskLeft, done: Done, desk: &mut Desk) -> Option<Errand> {
        let key = ask.key;
        self.guarded(key, desk, |this, desk| {
            let step = this.conclude_call(ask, done, desk);
            this.work_on(key, step, desk)
        })
    }

    fn conclude_call(&mut self, ask: AskLeft, done: Done, desk: &mut Desk) -> Step {
        let AskLeft { key, started_us, place, .. } = ask;
        let Done { connection, mut answer, live, stream } = done;
        let bytes = place.head_bytes(&desk.buffer);
        let (mut connection, verdict) = if stream.is_some() {
            answer.row = self.shared.tally.row_of(desk.head.path().of(bytes), answer.status);
            let mut respond = Respond::new(if answer.keeps_alive() { After::Next } else { After::Close });
            (respond.answer, respond.live, respond.stream) = (Some(answer), live, stream);
            respond.started_us = started_us;
            if self.shared.access_log.is_some() {
                respond.head = bytes.to_vec();
            }
            (connection, Verdict::Streaming(Box::new(respond)))
        } else {
            let parts = (connection, answer, live);
            let (connection, after) = self.conclude_answer(parts, &desk.head, bytes, started_us);
            (connection, Verdict::Answered(after))
        };
        if let Place::Desk { end, filled, .. } = place {
            if matches!(verdict, Verdict::Answered(After::Next)) {
                return self.answer_buffered(key, connection, desk, end..filled);
            }
            connection.keep(&desk.buffer[end..filled], true);
        }
        self.conclude(key, connection, desk, verdict)
    }

    /// What follows a whole answer.
    pub(crate) fn conclude_answer(
        &mut self,
        parts: Parts,
        head: &Head,
        bytes: &[u8],
        started_us: u64,
    ) -> (Box<Connection>, After) {
        let (mut connection, mut answer, live) = parts;
        answer.row = self.shared.tally.row_of(head.path().of(bytes), answer.status);
        self.log_answer(connection.peer, Some(head), bytes, &answer, started_us);
        let after = if answer.is_cut() {
            answer.after_cut()
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
        (connection, after)
    }

    /// When the loop learned of the requests that it looks at.
    pub(crate) fn start_us(&self) -> u64 {
        self.batch_since_us
    }

    /// An answer is whole: counts it, and logs it. The path of a request reads the clock here, and nowhere else.
    pub(crate) fn log_answer(
        &mut self,
        peer: Option<SocketAddr>,
        head: Option<&Head>,
        bytes: &[u8],
        answer: &Answer,
        started_us: u64,
    ) {
        self.seen_us = clock::monotonic_us();
        let duration_us = self.seen_us.saturating_sub(started_us);
        let (status, body_bytes) = (answer.status, answer.body_bytes);
        let tally = &self.shared.tally;
        tally.add(Cell::of_status(status), 1);
        tally.add(Cell::BodyBytes, body_bytes);
        tally.note(Histogram::Duration, duration_us);
        tally.note_row(answer.row, status, duration_us);
        if let Some(log) = &self.shared.access_log {
            let id = &answer.id;
            lock(log).record(&Record { peer, head, bytes, status, body_bytes, duration_us, id });
        }
    }
}

/// To ignore `Upgrade` would be allowed (RFC 9110 section 7.8), and then it is the application that fails, with words
/// of its own. 426 would say the opposite: that the client has to upgrade.
const NO_WEB_SOCKETS: &str = "WebSockets are not served here: an application cannot take a connection over.";

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
