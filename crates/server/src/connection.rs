//! One client connection: its socket, where it stands, and what is still to be sent.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use adyton_sys::socket;

use crate::app::Stream;
use crate::body::{Live, Upload, unless_read};
use crate::config::Config;
use crate::held::Held;
use crate::output::{Flushed, Output};
use crate::reply::Answer;

/// Pipelined requests of one connection before the others get their turn.
const REQUESTS_PER_TURN: u32 = 256;

/// A connection. The loop holds it, or the thread that answers one of its requests: never both.
///
/// An idle one costs this struct (some 160 bytes), its place in the loop's table, and an entry in
/// the timer wheel: buffers are lent by the loop and go back to it.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they come in any mixture")]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// The listener that accepted it.
    pub(crate) listener: u16,
    /// Bytes in `carry` may hold a whole request: parse before receiving.
    pub(crate) unparsed: bool,
    /// The kernel may have more, and no event will say so: the last receive filled its buffer, or the event has come.
    pub(crate) more: bool,
    /// Whether the loop's epoll instance knows it.
    pub(crate) watched: bool,
    /// The answer to the present request has begun.
    pub(crate) begun: bool,
    /// Sending has failed: the client is gone.
    pub(crate) broken: bool,
    /// The loop has answered in its place and given it up: whoever has it drops it.
    pub(crate) disowned: bool,
    /// Requests so far.
    pub(crate) requests: u32,
    /// How many of them there were when the others last had their turn.
    pub(crate) requests_before: u32,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) phase: Phase,
    /// Received bytes that no request has used: the beginning of a head, or pipelined requests.
    pub(crate) carry: Vec<u8>,
    pub(crate) output: Output,
    /// When the phase began, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd, peer: Option<SocketAddr>, listener: u16, now_ms: u64) -> Box<Self> {
        Box::new(Self {
            socket,
            listener,
            unparsed: false,
            more: false,
            watched: false,
            begun: false,
            broken: false,
            disowned: false,
            requests: 0,
            requests_before: 0,
            peer,
            phase: Phase::Head,
            carry: Vec::new(),
            output: Output::default(),
            since_ms: now_ms,
        })
    }

    /// Sends what is written, as far as the client takes it.
    ///
    /// # Errors
    ///
    /// Those of [`Output::flush`].
    pub(crate) fn flush(&mut self) -> io::Result<Flushed> {
        self.output.flush(self.socket.as_fd())
    }

    /// The same while the application goes on: who has it finds out later that the client is gone.
    pub(crate) fn send(&mut self) {
        self.broken |= self.flush().is_err();
    }

    /// Keeps received bytes for later; `unparsed` says that they may hold a whole request.
    pub(crate) fn keep(&mut self, bytes: &[u8], unparsed: bool) {
        self.carry = bytes.to_vec();
        self.unparsed = unparsed && !bytes.is_empty();
    }

    /// Whether its client has gone. One that has only ended its own side may still read: `far` says whether to take
    /// that for an end, too, as proxies do.
    pub(crate) fn is_abandoned(&self, far: bool) -> bool {
        match socket::peek(self) {
            Ok(Some(0)) => far,
            Ok(_) => false,
            Err(_) => true,
        }
    }

    /// Takes it from the thread that has it: a connection with the same client, if there can be one, and what the
    /// thread keeps, which goes nowhere.
    pub(crate) fn disown(mut self: Box<Self>, now_ms: u64) -> (Option<Box<Self>>, Box<Self>) {
        self.disowned = true;
        let Ok(nowhere) = std::fs::File::open("/dev/null") else { return (None, self) };
        let socket = std::mem::replace(&mut self.socket, nowhere.into());
        let mut taken = Self::new(socket, self.peer, self.listener, now_ms);
        (taken.requests, taken.watched, taken.begun) = (self.requests, self.watched, self.begun);
        taken.output = std::mem::take(&mut self.output);
        (Some(taken), self)
    }

    /// Whether its answer is whole and sent, and it waits for nothing but the next request, which makes an event.
    pub(crate) fn is_answered(&self) -> bool {
        let Phase::Respond(respond) = &self.phase else { return false };
        self.watched
            && respond.after == After::Next
            && respond.stream.is_none()
            && respond.live.is_none()
            && !respond.missed
            && respond.answer.as_ref().is_none_or(|answer| !answer.is_cut())
            && self.output.is_empty()
            && self.carry.is_empty()
            && !self.broken
    }

    /// Makes it end, with nothing more said.
    pub(crate) fn leave(&mut self) {
        self.output = Output::default();
        self.phase = Phase::Respond(Box::new(Respond::new(After::Close)));
    }

    /// Whether it is between two requests, with nothing begun: what a stopping server may close.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Head) && self.carry.is_empty() && self.output.is_empty() && !self.more
    }

    /// Whether it has had so many requests answered in a row that the others come first.
    pub(crate) fn has_had_its_turn(&self) -> bool {
        self.requests.wrapping_sub(self.requests_before) >= REQUESTS_PER_TURN
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What a connection is waiting for.
///
/// | phase | waits for | then |
/// | --- | --- | --- |
/// | `Head` | the rest of a request head, or the next one | an answer, or `Upload` |
/// | `Upload` | the rest of a request body | an answer |
/// | `Respond` | the client to take bytes, then the application's next piece | `Head`, `Linger`, or the end |
/// | `Linger` | the client to see the last answer and close | the end |
pub(crate) enum Phase {
    Head,
    Upload(Box<Upload>),
    Respond(Box<Respond>),
    Linger(Box<Linger>),
}

/// An answer that the client did not take at once, or that the application has not finished.
pub(crate) struct Respond {
    /// What happens when everything is sent.
    pub(crate) after: After,
    /// What the application still has to give, and the answer that it belongs to.
    pub(crate) stream: Option<Box<dyn Stream>>,
    pub(crate) answer: Option<Answer>,
    /// The body that the application reads live, until the answer ends.
    pub(crate) live: Option<Arc<Mutex<Live>>>,
    /// The request's head and time, for the access log.
    pub(crate) head: Vec<u8>,
    pub(crate) started_us: u64,
    /// Pulls since the others had their turn.
    pub(crate) pulls: u32,
    /// Whether an event may have told of the next request.
    pub(crate) missed: bool,
    /// How fast the client reads.
    pub(crate) reader: Reader,
    /// What is in memory meanwhile.
    pub(crate) held: Option<Held>,
}

impl Respond {
    /// An answer that is written and only has to be sent.
    pub(crate) fn new(after: After) -> Self {
        Self {
            after,
            stream: None,
            answer: None,
            live: None,
            head: Vec::new(),
            started_us: 0,
            pulls: 0,
            missed: false,
            reader: Reader::default(),
            held: None,
        }
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

/// Reads and forgets, within limits.
pub(crate) struct Linger {
    pub(crate) bytes_left: u64,
}

/// The live body is done when the application has read it all; else what the client still sends
/// cannot be told from its next request.
pub(crate) fn after_live(connection: &mut Connection, live: &Mutex<Live>) -> After {
    let Some(mut live) = unless_read(live).filter(|live| live.is_done()) else { return After::Linger };
    let mut carry = live.leftover();
    carry.append(&mut connection.carry);
    connection.unparsed = !carry.is_empty();
    connection.carry = carry;
    After::Next
}

/// How fast a client takes an answer, looked at from time to time.
///
/// The kernel says that it has room only when a third of a send buffer of megabytes is free: a client may read all
/// the time and make no event for a minute. So the bytes that its side has taken are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reader {
    since_ms: u64,
    since_bytes: u64,
    taken_bytes: u64,
    progress_ms: u64,
}

impl Reader {
    pub(crate) fn new(connection: &Connection, now_ms: u64) -> Self {
        let taken_bytes = taken_bytes(connection);
        Self { since_ms: now_ms, since_bytes: taken_bytes, taken_bytes, progress_ms: now_ms }
    }

    /// Whether the client is too slow by now.
    pub(crate) fn is_too_slow(&mut self, connection: &Connection, now_ms: u64, config: &Config) -> bool {
        let taken_bytes = taken_bytes(connection);
        if taken_bytes > self.taken_bytes {
            self.taken_bytes = taken_bytes;
            self.progress_ms = now_ms;
        }
        let age_ms = now_ms - self.since_ms;
        let too_few = taken_bytes.saturating_sub(self.since_bytes) * 1000 < config.write_rate * age_ms;
        now_ms - self.progress_ms >= config.write_idle_timeout_ms
            || (age_ms >= config.write_rate_grace_ms && too_few)
    }

    /// When to look again: often enough for both limits.
    pub(crate) fn look_again_ms(config: &Config) -> u64 {
        let rate_ms = if config.write_rate > 0 { config.write_rate_grace_ms } else { u64::MAX };
        config.write_idle_timeout_ms.min(rate_ms).div_ceil(2)
    }
}

fn taken_bytes(connection: &Connection) -> u64 {
    connection.output.total_bytes().saturating_sub(socket::untaken_bytes(connection))
}
