//! Requests out of a buffer, answers into the output.

use std::sync::{Arc, Mutex};

use adyton_http1::{Asked, Framing, Head, Parsed, Refusal, Version};
use adyton_sys::socket;

use crate::answer::{Request, Verdict};
use crate::app::App;
use crate::body::{Body, Live, NO_ROOM, TOO_LARGE, Upload};
use crate::connection::{After, Connection, Phase, Reader};
use crate::event_loop::{Desk, Loop};
use crate::log::{self, Level};
use crate::reply::{Answer, PENDING_BYTES_MAX, Reply};
use crate::turn::{Next, Step, worth_parsing};

/// A client that needs too long for its request (RFC 9110 section 15.5.9).
pub(crate) const TOO_SLOW: Refusal = Refusal { status: 408, reason: "the request came too slowly" };

impl<A: App> Loop<A> {
    /// Receives, and answers every request that is whole.
    pub(crate) fn receive_head(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
    ) -> Step {
        let carried = connection.carry.len();
        desk.buffer[..carried].copy_from_slice(&connection.carry);
        let mut filled = carried;
        if !std::mem::take(&mut connection.unparsed) {
            match socket::recv(&*connection, &mut desk.buffer[carried..]) {
                Ok(None) => return (connection, Next::Wait),
                Ok(Some(bytes)) if bytes > 0 => filled += bytes,
                _ => return (connection, Next::Close),
            }
            connection.more = filled == desk.buffer.len();
            self.receives += 1;
            if carried == 0 {
                connection.since_ms = self.now_ms;
            } else if !worth_parsing(carried, &desk.buffer[..filled], &self.config.head) {
                connection.carry.extend_from_slice(&desk.buffer[carried..filled]);
                return (connection, Next::Wait);
            }
        }
        connection.carry = Vec::new();
        connection.output.lend(&mut desk.spare);
        self.answer_buffered(key, connection, desk, filled)
    }

    /// Answers the requests in the buffer's first `filled` bytes; their answers leave together.
    fn answer_buffered(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        filled: usize,
    ) -> Step {
        let mut at = 0;
        while at < filled {
            if at > 0 && connection.output.pending_bytes() > PENDING_BYTES_MAX {
                connection.keep(&desk.buffer[at..filled], true);
                break;
            }
            let Desk { buffer, head, .. } = desk;
            match head.parse(&buffer[at..filled], &self.config.head) {
                Ok(Parsed::Complete) => {}
                Ok(Parsed::Partial) => {
                    connection.keep(&buffer[at..filled], false);
                    break;
                }
                Err(refusal) => {
                    let start = start_of(&buffer[at..filled]);
                    return self.refuse(key, connection, desk, refusal, &start);
                }
            }
            if self.config.refuse_underscores && has_underscore(head, &buffer[at..filled]) {
                let start = start_of(&buffer[at..filled]);
                return self.refuse(key, connection, desk, UNDERSCORE, &start);
            }
            let body_at = at + head.bytes();
            let Some(end) = body_end(head.framing(), body_at, filled) else {
                return self.begin_body(key, connection, desk, at..filled);
            };
            if (end - body_at) as u64 > self.config.body_bytes_max {
                let start = start_of(&buffer[at..filled]);
                return self.refuse(key, connection, desk, TOO_LARGE, &start);
            }
            let body = if end == body_at { Body::Empty } else { Body::Bytes(&buffer[body_at..end]) };
            let request = Request { head, bytes: &buffer[at..body_at], body, unread: false };
            let (held, verdict) = self.answer(connection, request);
            connection = held;
            at = end;
            if !matches!(verdict, Verdict::Answered(After::Next)) {
                connection.keep(&desk.buffer[at..filled], true);
                return self.conclude(key, connection, desk, verdict);
            }
        }
        self.settle(key, connection, desk, After::Next)
    }

    /// Begins to read a body that is not here yet; or answers at once, if nobody would read it.
    fn begin_body(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        request: std::ops::Range<usize>,
    ) -> Step {
        let Desk { buffer, head, .. } = desk;
        let (bytes, early) = buffer[request.clone()].split_at(head.bytes());
        if matches!(head.framing(), Framing::Length(length) if length > self.config.body_bytes_max) {
            let start = start_of(bytes);
            return self.refuse(key, connection, desk, TOO_LARGE, &start);
        }
        if self.app.is_none()
            || self.mount_of(head.path().of(bytes)).is_some_and(|mount| !mount.falls_through)
        {
            connection.keep(early, true);
            let request = Request { head, bytes, body: Body::Empty, unread: true };
            let (connection, verdict) = self.answer(connection, request);
            return self.conclude(key, connection, desk, verdict);
        }
        if head.expects_continue() && early.is_empty() {
            if !connection.output.is_empty() {
                // `100 Continue` must not overtake the answers to earlier requests: they are sent first.
                connection.keep(&buffer[request], true);
                return self.settle(key, connection, desk, After::Next);
            }
            let Ok(socket) = connection.socket.try_clone() else {
                let start = start_of(bytes);
                return self.refuse(key, connection, desk, NO_ROOM, &start);
            };
            let live = Live::new(socket, head.framing(), &self.config);
            let request =
                Request { head, bytes, body: Body::Live(Arc::new(Mutex::new(live))), unread: false };
            let (connection, verdict) = self.answer(connection, request);
            return self.conclude(key, connection, desk, verdict);
        }
        connection.phase = Phase::Upload(Box::new(Upload::new(bytes, head.framing(), self.now_ms)));
        connection.keep(early, true);
        let deadline_ms = self.now_ms + self.config.body_idle_timeout_ms;
        self.timers.set(key, deadline_ms);
        // Answers to earlier requests do not wait for this one's body.
        let Connection { output, socket, .. } = &mut *connection;
        if output.flush(std::os::fd::AsFd::as_fd(socket)).is_err() {
            return (connection, Next::Close);
        }
        if output.is_empty() {
            output.give_back(&mut desk.spare);
        }
        (connection, Next::Continue)
    }

    /// Answers a request whose body has come in.
    pub(crate) fn answer_upload(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
    ) -> Step {
        let Phase::Upload(mut upload) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            unreachable!("only called in this phase")
        };
        connection.output.lend(&mut desk.spare);
        let bytes = std::mem::take(&mut upload.head);
        let parsed = desk.head.parse(&bytes, &self.config.head);
        let (Ok(Parsed::Complete), Ok(body)) = (parsed, upload.body()) else {
            let start = start_of(&bytes);
            return self.refuse(key, connection, desk, NO_ROOM, &start);
        };
        let request = Request { head: &desk.head, bytes: &bytes, body, unread: false };
        let (connection, verdict) = self.answer(connection, request);
        self.conclude(key, connection, desk, verdict)
    }

    fn conclude(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        verdict: Verdict,
    ) -> Step {
        match verdict {
            // Closing over bytes that were not read resets the connection.
            Verdict::Answered(After::Close) if connection.unparsed || connection.more => {
                self.settle(key, connection, desk, After::Linger)
            }
            Verdict::Answered(after) => self.settle(key, connection, desk, after),
            Verdict::Streaming(mut respond) => {
                respond.reader = Reader::new(&connection, self.now_ms);
                self.timers.set(key, self.now_ms + Reader::look_again_ms(&self.config));
                connection.phase = Phase::Respond(respond);
                (connection, Next::Continue)
            }
        }
    }

    /// Refuses what cannot be served: the answer, then a close that lets the client read it. `start` is how the
    /// request begins, for the log and to know a HEAD.
    pub(crate) fn refuse(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        refusal: Refusal,
        start: &[u8],
    ) -> Step {
        log::write(Level::Debug, format_args!("refused with {}: {}", refusal.status, refusal.reason));
        connection.phase = Phase::Head;
        connection.output.lend(&mut desk.spare);
        let (peer, started_us) = (connection.peer, self.start_us());
        let asked =
            Asked { version: Version::Http11, is_head: start.starts_with(b"HEAD "), keep_alive: false };
        let mut reply = Reply::new(connection, Answer::new(asked), &self.room, None);
        reply.fail(refusal.status, refusal.reason);
        let (connection, answer, _) = reply.into_parts();
        self.log_answer(peer, None, start, &answer, started_us);
        self.settle(key, connection, desk, After::Linger)
    }
}

/// How much of a refused request is looked at and logged.
const START_BYTES: usize = 256;

/// The beginning of a request, without the empty line that may precede it.
pub(crate) fn start_of(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\r\n").unwrap_or(bytes);
    bytes[..bytes.len().min(START_BYTES)].to_vec()
}

const UNDERSCORE: Refusal = Refusal { status: 400, reason: "a field name has an underscore" };

/// `X_Forwarded_For` would look like `X-Forwarded-For` to an application.
fn has_underscore(head: &Head, bytes: &[u8]) -> bool {
    head.fields().iter().any(|field| memchr::memchr(b'_', field.name.of(bytes)).is_some())
}

/// Where a body ends that is here already; `None` when more has to come, or to be decoded.
fn body_end(framing: Framing, body_at: usize, filled: usize) -> Option<usize> {
    match framing {
        Framing::None => Some(body_at),
        Framing::Length(bytes) => usize::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes <= filled - body_at)
            .map(|bytes| body_at + bytes),
        Framing::Chunked => None,
    }
}
