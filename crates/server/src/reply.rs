//! The answer to one request: written by the application into the connection's output.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use adyton_http1::{
    Asked, BadResponse, BodyFraming, BodySize, CHUNK_END, Framed, HeadFacts, Identity, LAST_CHUNK,
    ResponseHead, write_chunk_head,
};
use adyton_sys::{clock, socket};

use crate::body::Live;
use crate::connection::{After, Connection};
use crate::output::{Flushed, Output, Payload, Segment};
use crate::watch::Watch;

/// From this size on, bytes are borrowed and sent from where they are; below it, copying them
/// beside the head is cheaper than a second slice.
pub const SHARE_BYTES_MIN: usize = 16 << 10;

/// An answer waits for its client when this much of it is in memory.
pub const PENDING_BYTES_MAX: u64 = 64 << 10;

/// What all answers of a loop share.
pub(crate) struct Room {
    pub(crate) date: [u8; 29],
    pub(crate) server: Vec<u8>,
    pub(crate) watch: Watch,
    pub(crate) write_idle_timeout_ms: u64,
    /// Whether a clean stop was asked for.
    pub(crate) stop: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Room {
    pub(crate) fn identity(&self) -> Identity<'_> {
        Identity { date: &self.date, server: &self.server }
    }
}

/// How far one answer has come.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) asked: Asked,
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    framed: Option<Framed>,
    /// Body bytes that the head promised and that were not written yet.
    left: u64,
    overrun: bool,
    /// Something failed after the head: no last chunk, no next request.
    aborted: bool,
}

impl Answer {
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked, status: 0, body_bytes: 0, framed: None, left: 0, overrun: false, aborted: false }
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
}

/// The place for the answer to one request.
pub struct Reply<'c> {
    /// `None` while the watch has it, which only a wait of the application does.
    connection: Option<Box<Connection>>,
    answer: Answer,
    room: &'c Room,
    live: Option<Arc<Mutex<Live>>>,
}

impl<'c> Reply<'c> {
    pub(crate) fn new(
        connection: Box<Connection>,
        answer: Answer,
        room: &'c Room,
        live: Option<Arc<Mutex<Live>>>,
    ) -> Self {
        Self { connection: Some(connection), answer, room, live }
    }

    pub(crate) fn into_parts(mut self) -> (Box<Connection>, Answer, Option<Arc<Mutex<Live>>>) {
        self.connection();
        let Self { connection: Some(connection), answer, live, .. } = self else {
            unreachable!("`connection` has just filled it")
        };
        (connection, answer, live)
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.get_or_insert_with(|| self.room.watch.reclaim())
    }

    fn output(&mut self) -> &mut Output {
        &mut self.connection().output
    }

    /// What the request asked of the answer's form.
    pub fn asked(&self) -> Asked {
        self.answer.asked
    }

    /// Date and server name, for heads that are rendered elsewhere.
    pub fn identity(&self) -> Identity<'c> {
        self.room.identity()
    }

    /// Whether the head is written: after that only the body can follow.
    pub fn has_begun(&self) -> bool {
        self.answer.framed.is_some()
    }

    /// How much more body the head has promised; `None` without a Content-Length.
    pub fn left_bytes(&self) -> Option<u64> {
        self.answer
            .framed
            .filter(|framed| matches!(framed.framing, BodyFraming::Length(_)))
            .map(|_| self.answer.left)
    }

    /// Whether more was written than the head promised; the excess was not sent.
    pub fn overran(&self) -> bool {
        self.answer.overrun
    }

    /// Writes the head: status line, what `fill` adds, and what the server knows.
    ///
    /// # Errors
    ///
    /// Those of `fill`, or [`BadResponse`] when a status or field cannot be sent; nothing is written then.
    pub fn head<E: From<BadResponse>>(
        &mut self,
        status: u16,
        reason: &[u8],
        size: BodySize,
        fill: impl FnOnce(&mut ResponseHead<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert!(!self.has_begun());
        self.settle_connection();
        let (asked, room) = (self.answer.asked, self.room);
        let tail = self.output().tail();
        let mark = tail.len();
        let written =
            ResponseHead::begin(tail, asked, status, reason).map_err(E::from).and_then(|mut head| {
                fill(&mut head)?;
                Ok(head.finish(&room.identity(), size))
            });
        match written {
            Ok(framed) => {
                self.answer.commit(status, framed);
                Ok(())
            }
            Err(error) => {
                self.output().tail().truncate(mark);
                Err(error)
            }
        }
    }

    /// Writes a head that was rendered before and paused.
    pub fn head_from(&mut self, rendered: &[u8], facts: HeadFacts, size: BodySize) {
        debug_assert!(!self.has_begun());
        self.settle_connection();
        let (keep_alive, room) = (self.answer.asked.keep_alive, self.room);
        let tail = self.output().tail();
        tail.extend_from_slice(rendered);
        let framed = ResponseHead::resume(tail, facts, keep_alive).finish(&room.identity(), size);
        self.answer.commit(facts.status(), framed);
    }

    /// Whether bytes of a body may follow the head at all.
    pub fn wants_body(&self) -> bool {
        self.answer.framed.is_some_and(|framed| framed.framing != BodyFraming::None)
    }

    /// Decides at the last moment whether the connection may live on: not when the server is to stop, and not when
    /// the client still holds back a body that would be taken for the next request.
    fn settle_connection(&mut self) {
        self.answer.asked.keep_alive &= !(self.room.stop)();
        if let Some(live) = &self.live {
            let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
            self.answer.asked.keep_alive &= live.is_done();
            live.answered();
        }
    }

    /// Hands `write` the output and the form of the answer, for a head and body rendered elsewhere.
    pub fn render<R>(&mut self, write: impl FnOnce(&mut Vec<u8>, Asked, Identity<'_>) -> R) -> R {
        self.settle_connection();
        let (asked, room) = (self.answer.asked, self.room);
        write(self.output().tail(), asked, room.identity())
    }

    /// Answers with an error page, if nothing was answered yet; `detail` is for the client.
    pub fn fail(&mut self, status: u16, detail: &str) {
        if !self.has_begun() {
            let page = self.render(|out, asked, identity| {
                adyton_files::error_page(out, asked, &identity, status, detail, &[])
            });
            self.take(page);
        }
    }

    /// Takes an answer that `render` wrote, and the parts that follow it; `false` when there was none.
    pub fn take(&mut self, answer: adyton_files::Answer) -> bool {
        use adyton_files::{Answer as Made, Part};
        let (status, body_bytes, keep_alive, parts) = match answer {
            Made::Whole { status, body_bytes, keep_alive } => (status, body_bytes, keep_alive, Vec::new()),
            Made::Parts { status, body_bytes, keep_alive, parts } => (status, body_bytes, keep_alive, parts),
            Made::FallThrough => return false,
        };
        self.answer.commit(status, Framed { framing: BodyFraming::None, keep_alive });
        self.answer.body_bytes = body_bytes;
        for part in parts {
            self.output().push(match part {
                Part::Bytes(bytes) => Segment::Owned(bytes),
                Part::File { file, offset, bytes } => Segment::File { file, offset, bytes },
            });
        }
        true
    }

    /// How much of the next `bytes` the head allows.
    fn admit(&mut self, bytes: u64) -> u64 {
        let Some(framed) = self.answer.framed else { return 0 };
        let admitted = match framed.framing {
            BodyFraming::None => 0,
            BodyFraming::Length(_) => {
                let admitted = bytes.min(self.answer.left);
                self.answer.left -= admitted;
                self.answer.overrun |= admitted < bytes;
                admitted
            }
            BodyFraming::Chunked | BodyFraming::UntilClose => bytes,
        };
        self.answer.body_bytes += admitted;
        admitted
    }

    fn is_chunked(&self) -> bool {
        self.answer.framed.is_some_and(|framed| framed.framing == BodyFraming::Chunked)
    }

    /// Writes a piece of the body.
    pub fn write(&mut self, bytes: &[u8]) {
        let admitted = usize::try_from(self.admit(bytes.len() as u64)).unwrap_or(usize::MAX);
        if admitted == 0 {
            return;
        }
        let chunked = self.is_chunked();
        let tail = self.output().tail();
        if chunked {
            write_chunk_head(tail, admitted);
        }
        tail.extend_from_slice(&bytes[..admitted]);
        if chunked {
            tail.extend_from_slice(CHUNK_END);
        }
    }

    /// Writes a piece of the body without copying it.
    pub fn share(&mut self, payload: Box<dyn Payload>) {
        let bytes = payload.bytes().len();
        if self.left_bytes().is_some_and(|left| left < bytes as u64) {
            self.write(payload.bytes());
            return;
        }
        if self.admit(bytes as u64) > 0 {
            self.put_body(Segment::Shared(payload), bytes);
        }
    }

    /// Writes `bytes` of a file from `offset`, which the kernel sends.
    pub fn send_file(&mut self, file: Arc<OwnedFd>, offset: u64, bytes: u64) {
        let bytes = self.admit(bytes);
        if bytes > 0 {
            let length = usize::try_from(bytes).unwrap_or(usize::MAX);
            self.put_body(Segment::File { file, offset, bytes }, length);
        }
    }

    fn put_body(&mut self, segment: Segment, bytes: usize) {
        let chunked = self.is_chunked();
        let output = self.output();
        if chunked {
            write_chunk_head(output.tail(), bytes);
        }
        output.push(segment);
        if chunked {
            output.tail().extend_from_slice(CHUNK_END);
        }
    }

    /// Ends the body. One that is shorter than its head promised is cut.
    pub(crate) fn end(&mut self) {
        if !self.has_begun() {
            self.fail(500, "The application gave no answer.");
        } else if self.is_chunked() && !self.answer.aborted {
            self.output().tail().extend_from_slice(LAST_CHUNK);
        }
    }

    /// Gives the answer up: a 500 if nothing of it was written, else an end that cannot be taken
    /// for a good one.
    pub(crate) fn abort(&mut self) {
        if self.has_begun() {
            self.answer.aborted = true;
        } else {
            self.fail(500, "The server could not answer this request.");
        }
    }

    /// Whether the client should take something before more is made.
    pub fn is_backed_up(&mut self) -> bool {
        self.output().memory_bytes() >= PENDING_BYTES_MAX
    }

    /// To be said before a call that may take long: what is written so far is sent if it does.
    pub fn before_wait(&mut self) {
        if self.connection.as_ref().is_some_and(|connection| !connection.output.is_empty())
            && let Some(connection) = self.connection.take()
        {
            self.room.watch.lend(connection);
        }
    }

    /// Sends everything written so far, and waits until the kernel has it.
    ///
    /// # Errors
    ///
    /// The client is gone, or takes nothing for the time that `--write-idle-timeout` allows.
    pub fn send_now(&mut self) -> io::Result<()> {
        let timeout_ms = self.room.write_idle_timeout_ms;
        let connection = self.connection();
        let Connection { output, socket, .. } = connection;
        let mut pending_bytes = output.pending_bytes();
        let mut deadline_ms = clock::monotonic_ms() + timeout_ms;
        loop {
            if output.flush(socket.as_fd())? == Flushed::All {
                return Ok(());
            }
            let now_ms = clock::monotonic_ms();
            if output.pending_bytes() < pending_bytes {
                pending_bytes = output.pending_bytes();
                deadline_ms = now_ms + timeout_ms;
            }
            let left_ms = deadline_ms.saturating_sub(now_ms);
            if left_ms == 0 || !socket::wait(&*socket, socket::Until::Writable, left_ms)? {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client takes nothing of the answer",
                ));
            }
        }
    }
}
