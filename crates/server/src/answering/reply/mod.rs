//! The answer to one request, which the application writes into the connection's output.
//!
//! An answer has a head and a body, or an error page in their place. A thread of the application waits here while its
//! client reads slowly.
//!
//! | file | holds |
//! | --- | --- |
//! | `coded` | the body of an answer that is compressed on its way |
//! | `kept` | answers that are kept for other requests, and answers that are given from the cache |

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_http::{BadResponse, BodySize, HeadFacts, Identity, Request, ResponseHead, reason_phrase};
use adyton_http1::{
    self as http1, Asked, BodyFraming, CHUNK_END, Framed, Head, LAST_CHUNK, write_chunk_head,
};
use adyton_log::request::RequestId;
use adyton_log::{self as log, messages};
use adyton_sys::clock;

use crate::answering::answer::Answer;
use crate::answering::changes::{Changes, stand_in};
use crate::answering::date::date_now;
use crate::answering::onward::{Onward, To};
use crate::client::asker::Asker;
use crate::client::body::unless_read;
use crate::client::held::Held;
use crate::client::outbox::Outbox;
use crate::client::output::{Flushed, Output, Payload, Segment};
use crate::client::reader::Reader;
use crate::client::transport::Until;
use crate::common::Common;
use crate::site::terms::StatusPage;

mod coded;
mod kept;

/// From this size on, bytes are borrowed and sent from where they are; below it, copying them
/// beside the head is cheaper than a second slice.
pub const SHARE_BYTES_MIN: usize = 16 << 10;

/// Bytes of a stream that gather before they are sent, as far as the client takes them. Below this, a system call and
/// the packets that it makes cost more than the bytes that they carry; above it, the bytes have left the CPU's cache.
pub(crate) const GATHER_BYTES: u64 = 256 << 10;

/// The low-water mark: an answer that waited for its client goes on when fewer of its bytes are in memory. When all
/// answers together hold too much, it is the high-water mark, too.
pub const PENDING_BYTES_MAX: u64 = 64 << 10;

/// The high-water mark: an answer waits for its client when so many of its bytes are in memory.
pub const WAITING_BYTES_MAX: u64 = 1 << 20;

/// The thread that answers. While the application works, other threads may use the outbox and the loop that this thread
/// holds.
pub(crate) trait Holder {
    /// Takes the interpreter, which the application's calls need.
    fn attach(&mut self);

    /// Lends the outbox, and the thread's loop, to other threads before the application gets the thread. `body_bytes`
    /// is the size of the answer's body so far: if it has grown since the last call, the application makes progress.
    fn lend(&mut self, outbox: Box<Outbox>, body_bytes: u64);

    /// Takes the outbox back afterwards, and the loop, too, unless another thread drives it now.
    #[expect(clippy::unnecessary_box_returns, reason = "it is moved as a pointer, and lives in its box")]
    fn reclaim(&mut self) -> Box<Outbox>;

    /// Whether this thread is on its own, without its loop.
    fn is_late(&self) -> bool;

    /// Whether it may wait for a client inside the application.
    fn may_wait(&self) -> bool;

    /// Waits for the client, while other threads have the loop and the slot. To be called detached.
    ///
    /// # Errors
    ///
    /// The error of `wait`; or no other thread is left to go on meanwhile.
    fn park(&mut self, wait: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

/// The place for the answer to one request.
pub struct Reply<'c> {
    answer: &'c mut Answer,
    /// Bytes of the body that were written before this call.
    bytes_before: u64,
    /// Bytes of the answer in memory when its client took no more.
    untaken_bytes: u64,
    common: &'c Common,
    /// The value of the `Date` field.
    date: [u8; 29],
    /// `None` for an answer that the loop gives itself.
    holder: Option<&'c mut dyn Holder>,
    /// Whether an application or a script gives the answer, and not the server itself.
    is_theirs: bool,
    /// The count of the bytes in memory while this thread waits for the client.
    held: Option<Held>,
}

impl<'c> Reply<'c> {
    pub(crate) fn new(answer: &'c mut Answer, common: &'c Common, date: &[u8; 29]) -> Self {
        let bytes_before = answer.body_bytes;
        Self {
            answer,
            bytes_before,
            untaken_bytes: 0,
            common,
            date: *date,
            holder: None,
            is_theirs: false,
            held: None,
        }
    }

    /// Makes a reply that the loop writes for a script.
    pub(crate) fn of_script(answer: &'c mut Answer, common: &'c Common, date: &[u8; 29]) -> Self {
        Self { is_theirs: true, ..Self::new(answer, common, date) }
    }

    /// Makes a reply that the application writes: from here on the application has the thread, and the interpreter.
    #[inline]
    pub(crate) fn of_application(
        answer: &'c mut Answer,
        common: &'c Common,
        date: &[u8; 29],
        holder: &'c mut dyn Holder,
    ) -> Self {
        if let Some(outbox) = answer.outbox.take() {
            holder.lend(outbox, answer.body_bytes);
        }
        holder.attach();
        let bytes_before = answer.body_bytes;
        Self {
            answer,
            bytes_before,
            untaken_bytes: 0,
            common,
            date: *date,
            holder: Some(holder),
            is_theirs: true,
            held: None,
        }
    }

    /// The connection's outbox. If it was lent to other threads while the application had the thread, it is taken back.
    pub(crate) fn outbox(&mut self) -> &mut Outbox {
        let holder = &mut self.holder;
        self.answer.outbox.get_or_insert_with(|| match holder {
            Some(holder) => holder.reclaim(),
            None => unreachable!("only a holder lends it"),
        })
    }

    fn output(&mut self) -> &mut Output {
        &mut self.outbox().output
    }

    /// Facts of the request that decide the answer's form.
    pub fn asked(&self) -> Asked {
        self.answer.asked
    }

    /// The date and the server's name, for heads that are rendered elsewhere.
    pub fn identity(&self) -> Identity<'_> {
        Identity { date: &self.date, server: &self.common.config.server, lines: &self.answer.lines }
    }

    /// The id by which the logs call the request.
    pub fn request_id(&self) -> &RequestId {
        &self.answer.id
    }

    /// The sender of the request, if more is known of it than the address at the other end of the connection.
    pub fn asker(&self) -> Option<&Asker> {
        self.answer.asker.as_deref()
    }

    /// Returns the request as the client has sent it, if its target was changed afterwards.
    pub(crate) fn request_as_sent<'h>(&'h self, head: &'h mut Head) -> Option<Request<'h>> {
        self.answer.onward.as_ref()?.first(head, &self.common.config.head)
    }

    /// The user at the other end of a unix socket.
    ///
    /// # Errors
    ///
    /// The client is not connected through a unix socket.
    pub fn peer_user(&mut self) -> io::Result<u32> {
        self.outbox().transport.peer_user()
    }

    /// Whether the head is written: after that only the body can follow.
    pub fn has_begun(&self) -> bool {
        self.answer.framed.is_some()
    }

    /// Bytes of the body that the head has promised and that are not written; `None` without a Content-Length.
    pub fn left_bytes(&self) -> Option<u64> {
        let has_promise = match self.answer.framed?.framing {
            BodyFraming::Length(_) => true,
            BodyFraming::Chunked => self.answer.coder.as_ref().is_some_and(|coder| coder.has_promise),
            BodyFraming::None | BodyFraming::UntilClose => false,
        };
        has_promise.then_some(self.answer.left)
    }

    /// Whether more was written than the head has promised; the excess was not sent.
    pub fn overran(&self) -> bool {
        self.answer.overrun
    }

    /// Writes the head: the status line, the fields that `fill` adds, and the server's own.
    ///
    /// # Errors
    ///
    /// Errors of `fill`, or [`BadResponse`] when a status or field cannot be sent; then nothing is written.
    pub fn head<E: From<BadResponse>>(
        &mut self,
        status: u16,
        reason: &[u8],
        size: BodySize,
        fill: impl FnOnce(&mut ResponseHead<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert!(!self.has_begun());
        if status == 500 && self.refuse_body() {
            return Ok(());
        }
        self.settle_connection();
        let (asked, date, config) = (self.answer.asked, self.date, &self.common.config);
        let lines = std::mem::take(&mut self.answer.lines);
        let tail = self.output().tail();
        let mark = tail.len();
        let written = http1::begin(tail, status, reason).map_err(E::from).and_then(|mut head| {
            fill(&mut head)?;
            let lines = config.lines_for(&head, mark, &lines);
            Ok(http1::finish(head, asked, &Identity { date: &date, server: &config.server, lines }, size))
        });
        self.answer.lines = lines;
        match written {
            Ok(framed) => {
                self.commit_changed(mark, status, framed);
                Ok(())
            }
            Err(error) => {
                self.output().tail().truncate(mark);
                Err(error)
            }
        }
    }

    /// Completes a head that was rendered before, and writes it.
    pub fn head_from(&mut self, rendered: &[u8], facts: HeadFacts, size: BodySize) {
        debug_assert!(!self.has_begun());
        if facts.status() == 500 && self.refuse_body() {
            return;
        }
        self.settle_connection();
        let (asked, date, config) = (self.answer.asked, self.date, &self.common.config);
        let lines = std::mem::take(&mut self.answer.lines);
        let tail = self.output().tail();
        let mark = tail.len();
        tail.extend_from_slice(rendered);
        let head = ResponseHead::resume(tail, facts);
        let told = config.lines_for(&head, mark, &lines);
        let identity = Identity { date: &date, server: &config.server, lines: told };
        let framed = http1::finish(head, asked, &identity, size);
        self.answer.lines = lines;
        self.commit_changed(mark, facts.status(), framed);
    }

    /// Begins an answer of this status, whose head and body are written as they are; the connection ends with the
    /// answer.
    pub(crate) fn begin_raw(&mut self, status: u16) {
        self.answer.keeping = None;
        self.commit(status, Framed { framing: BodyFraming::UntilClose, keep_alive: false });
    }

    /// Makes the route's changes to the head that was written from `mark` on, and commits to the head.
    #[inline]
    fn commit_changed(&mut self, mark: usize, status: u16, framed: Framed) {
        match self.answer.changes.take() {
            None => self.commit(status, framed),
            Some(changes) => self.change(&changes, mark, status, framed),
        }
    }

    #[inline(never)]
    fn change(&mut self, changes: &Arc<Changes>, mark: usize, status: u16, framed: Framed) {
        if self.is_theirs && self.sends_on(changes, mark, status) {
            return self.answer.commit(status, Framed { framing: BodyFraming::None, ..framed });
        }
        if status >= 500 && self.answer.keeping.is_some() {
            let tail = self.output().tail();
            let mut head = tail.split_off(mark);
            if self.rescue(status) {
                return;
            }
            self.output().tail().append(&mut head);
        }
        let terms = Arc::clone(&self.outbox().terms);
        let replaces = changes.replaces_errors && self.is_theirs && status >= 400;
        let Some(page) = terms.page_of(status).filter(|_| replaces) else {
            changes.apply(self.output().tail(), mark);
            self.commit(status, framed);
            return match self.answer.keeping.take() {
                None => self.begin_coding(mark),
                Some(keeping) => self.begin_keeping(*keeping, mark),
            };
        };
        self.answer.keeping = None;
        let is_head = self.answer.asked.is_head;
        stand_in(self.output().tail(), mark, page, is_head);
        changes.apply(self.output().tail(), mark);
        // The page has replaced the application's body, which is dropped.
        self.commit(status, Framed { framing: BodyFraming::None, ..framed });
        self.answer.body_bytes = if is_head { 0 } else { page.body.len() as u64 };
    }

    /// Reads whether the head, which was written from `mark` on, sends the request on; if so, removes the head and
    /// returns `true`.
    fn sends_on(&mut self, changes: &Arc<Changes>, mark: usize, status: u16) -> bool {
        let Some(sends_on) = &changes.sends_on else { return false };
        let id_field = &self.common.config.request_id_field;
        let Some((to, kept)) = sends_on.read(&self.output().tail()[mark..], status, id_field) else {
            return false;
        };
        self.output().tail().truncate(mark);
        self.go_to(to, kept, Arc::clone(changes));
        true
    }

    fn go_to(&mut self, to: To, kept: Vec<u8>, changes: Arc<Changes>) {
        self.answer.keeping = None;
        let is_plain = kept.is_empty() && self.holder.is_none();
        let before = self.answer.onward.take();
        let (times, head) = before.map_or((0, Vec::new()), |before| (before.times, before.head));
        self.answer.onward = Some(Box::new(Onward {
            to: Some(to),
            kept,
            changes,
            is_plain,
            times,
            head,
            named: 0,
            met: None,
        }));
    }

    /// Sends the request on to another path of its site, as if the client had asked for that path.
    pub(crate) fn send_on(&mut self, path: &[u8]) {
        let changes = self.answer.changes.take().unwrap_or_default();
        self.go_to(To::Path(path.to_vec()), Vec::new(), changes);
    }

    /// Whether the application has sent the request on.
    pub(crate) fn goes_on(&self) -> bool {
        self.answer.goes_on()
    }

    /// Undoes the sending on: the application has failed after it, and nothing was answered.
    pub(crate) fn take_back(&mut self) {
        self.answer.onward = None;
        self.answer.framed = None;
    }

    fn commit(&mut self, status: u16, framed: Framed) {
        self.answer.commit(status, framed);
        self.outbox().begun = true;
    }

    /// Whether bytes of a body may follow the head at all.
    pub fn wants_body(&self) -> bool {
        self.answer.framed.is_some_and(|framed| framed.framing != BodyFraming::None)
    }

    /// Decides at the last moment whether the connection may be kept alive: not if the server is to stop, and not if
    /// the client still holds back a body that would be taken for the next request.
    fn settle_connection(&mut self) {
        self.answer.asked.keep_alive &= (self.common.stop)().is_none();
        if self.holder.as_ref().is_some_and(|holder| holder.is_late()) {
            self.date = date_now();
        }
        if let Some(live) = &self.answer.live {
            let live = unless_read(live);
            self.answer.asked.keep_alive &= live.as_ref().is_some_and(|live| live.is_done());
            if let Some(mut live) = live {
                live.answered();
            }
        }
    }

    /// Hands `write` the output and the form of the answer, for a head and body rendered elsewhere.
    pub fn render<R>(&mut self, write: impl FnOnce(&mut Vec<u8>, Asked, Identity<'_>) -> R) -> R {
        self.settle_connection();
        let (asked, date, server) = (self.answer.asked, self.date, &self.common.config.server);
        let lines = std::mem::take(&mut self.answer.lines);
        let tail = self.output().tail();
        let mark = tail.len();
        let made = write(tail, asked, Identity { date: &date, server, lines: &lines });
        self.answer.lines = lines;
        if self.answer.changes.is_some()
            && self.output().tail().len() > mark
            && let Some(changes) = self.answer.changes.take()
        {
            // An answer of the server in the place of an application's is not kept.
            self.answer.keeping = None;
            changes.apply(self.output().tail(), mark);
        }
        made
    }

    /// Answers with an error page, if nothing was answered yet; `detail` is for the client.
    pub fn fail(&mut self, status: u16, detail: &str) {
        if !self.has_begun() {
            self.page(status, detail, &[]);
        }
    }

    /// Answers with the site's page for this status, or the server's own, with these fields; `detail` is for the
    /// client.
    pub(crate) fn page(&mut self, status: u16, detail: &str, fields: &[(&[u8], &[u8])]) {
        if self.answer.changes.is_some() && self.answer.keeping.is_some() && self.rescue(status) {
            return;
        }
        let terms = Arc::clone(&self.outbox().terms);
        if let Some(page) = terms.page_of(status) {
            self.answer.keeping = None;
            let size = BodySize::Known(page.body.len() as u64);
            let reason = reason_phrase(status);
            let written: Result<(), BadResponse> = self.head(status, reason.as_bytes(), size, |head| {
                head.field(b"Content-Type", page.content_type.as_bytes())?;
                fields.iter().try_for_each(|(name, value)| head.field(name, value))
            });
            if written.is_ok() {
                return self.write(&page.body);
            }
        }
        let made = self.render(|out, asked, identity| {
            adyton_files::error_page(out, asked, &identity, status, detail, fields)
        });
        self.take(made);
    }

    /// If the application could not read the body, answers with the refusal of the body, unless the answer has begun.
    /// Returns whether the body could not be read: then the client is to blame for the application's failure, and the
    /// answer is no 500.
    pub fn refuse_body(&mut self) -> bool {
        let live = self.answer.live.as_ref().and_then(|live| unless_read(live));
        let Some(refusal) = live.and_then(|live| live.failure()) else { return false };
        let peer = self.outbox().peer;
        self.common.refusals.note(&self.common.tally, refusal, true, peer);
        self.fail(refusal.status, refusal.reason);
        true
    }

    /// Takes an answer that `render` has written, and the parts that follow it; `false` if there is no answer.
    pub fn take(&mut self, answer: adyton_files::FileAnswer) -> bool {
        use adyton_files::{FileAnswer as Made, Part};
        let (status, body_bytes, keep_alive, parts) = match answer {
            Made::Whole { status, body_bytes, keep_alive } => (status, body_bytes, keep_alive, Vec::new()),
            Made::Parts { status, body_bytes, keep_alive, parts } => (status, body_bytes, keep_alive, parts),
            Made::FallThrough | Made::Named(_) => return false,
        };
        self.commit(status, Framed { framing: BodyFraming::None, keep_alive });
        self.answer.body_bytes = body_bytes;
        for part in parts {
            self.output().push(match part {
                Part::Bytes(bytes) => Segment::Owned(bytes),
                Part::File { file, offset, bytes } => Segment::File { file, offset, bytes },
            });
        }
        true
    }

    /// Returns the end of the written bytes that are not sent yet, as a mark for [`Reply::take_page`].
    pub(crate) fn written_bytes(&mut self) -> usize {
        self.output().tail().len()
    }

    /// Takes an answer that `render` has written from `mark` on, with a page in the place of its body.
    pub(crate) fn take_page(
        &mut self,
        answer: &adyton_files::FileAnswer,
        mark: usize,
        page: &StatusPage,
    ) -> bool {
        use adyton_files::FileAnswer as Made;
        let &(Made::Whole { status, keep_alive, .. } | Made::Parts { status, keep_alive, .. }) = answer
        else {
            return false;
        };
        let is_head = self.answer.asked.is_head;
        stand_in(self.output().tail(), mark, page, is_head);
        self.commit(status, Framed { framing: BodyFraming::None, keep_alive });
        self.answer.body_bytes = if is_head { 0 } else { page.body.len() as u64 };
        true
    }

    /// Returns how many of the next `bytes` the head allows.
    fn admit(&mut self, bytes: u64) -> u64 {
        let Some(framed) = self.answer.framed else { return 0 };
        let admitted = match framed.framing {
            BodyFraming::None => 0,
            BodyFraming::Chunked if self.left_bytes().is_none() => bytes,
            BodyFraming::Length(_) | BodyFraming::Chunked => {
                let admitted = bytes.min(self.answer.left);
                self.answer.left -= admitted;
                self.answer.overrun |= admitted < bytes;
                admitted
            }
            BodyFraming::UntilClose => bytes,
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
        let bytes = &bytes[..admitted];
        if !self.is_chunked() {
            self.output().tail().extend_from_slice(bytes);
        } else if self.answer.coder.is_some() {
            self.code(bytes);
        } else {
            let tail = self.output().tail();
            write_chunk_head(tail, admitted);
            tail.extend_from_slice(bytes);
            tail.extend_from_slice(CHUNK_END);
        }
    }

    /// Writes a piece of the body without copying it.
    pub fn share(&mut self, payload: Box<dyn Payload>) {
        let bytes = payload.bytes().len();
        if self.left_bytes().is_some_and(|left| left < bytes as u64) || self.is_coded() {
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
        let mut chunked = self.is_chunked();
        if chunked && self.answer.coder.is_some() {
            self.stop_keeping();
            chunked = self.is_chunked();
        }
        let output = self.output();
        if chunked {
            write_chunk_head(output.tail(), bytes);
        }
        output.push(segment);
        if chunked {
            output.tail().extend_from_slice(CHUNK_END);
        }
    }

    /// Ends the body. A body that is shorter than its head has promised is cut.
    pub(crate) fn end(&mut self) {
        if !self.has_begun() {
            self.fail(500, "The application gave no answer.");
        } else if self.is_chunked() {
            if self.answer.coder.is_some() {
                self.end_coding();
            } else if !self.answer.aborted {
                self.output().tail().extend_from_slice(LAST_CHUNK);
            }
        }
    }

    /// Gives the answer up: with a 500 if nothing of it was written, else with an end that tells the client that the
    /// answer is not whole.
    pub(crate) fn abort(&mut self) {
        if self.has_begun() {
            self.answer.aborted = true;
            self.answer.coder = None;
        } else if !self.refuse_body() {
            self.fail(500, "The server could not answer this request.");
        }
    }

    /// Whether the client should take some of the answer before more is made. Sends the gathered bytes first.
    pub fn is_backed_up(&mut self) -> bool {
        if !self.may_wait() {
            return self.has_had_its_turn();
        }
        let memory_bytes = self.output().memory_bytes();
        if memory_bytes < PENDING_BYTES_MAX {
            return false;
        }
        let common = self.common;
        let is_crowded = common.output_bytes.load(Ordering::Relaxed) >= common.config.output_bytes_max;
        if memory_bytes < self.untaken_bytes {
            // Another thread has sent meanwhile.
            self.untaken_bytes = 0;
        }
        // If a client takes no more for now, not every further piece is offered to it.
        let offers_from = WAITING_BYTES_MAX.min(self.untaken_bytes + GATHER_BYTES);
        if memory_bytes < offers_from && !is_crowded {
            return false;
        }
        self.outbox().send();
        self.untaken_bytes = self.output().memory_bytes();
        self.untaken_bytes >= if is_crowded { PENDING_BYTES_MAX } else { WAITING_BYTES_MAX }
    }

    /// Whether other connections should have their turn on this thread, even if the client has taken everything.
    fn has_had_its_turn(&mut self) -> bool {
        if self.is_coded() {
            return self.has_coded_enough();
        }
        self.answer.body_bytes - self.bytes_before >= GATHER_BYTES
    }

    /// Whether [`Reply::wait_for_reader`] may be called; if not, the rest of the answer has to be pulled later.
    pub fn may_wait(&self) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.may_wait())
    }

    /// Whether the client has gone, so that the rest of the answer need not be made.
    pub fn is_abandoned(&mut self) -> bool {
        self.outbox().broken
    }

    /// To be called before a call that may take long: if it does, the bytes written so far are sent, and another thread
    /// goes on with the loop.
    pub fn before_wait(&mut self) {
        if self.is_coded() {
            self.flush_coder();
        }
        self.lend();
    }

    /// Lends the loop and the outbox to other threads until the outbox is used again.
    fn lend(&mut self) {
        if let Some(holder) = &mut self.holder
            && let Some(outbox) = self.answer.outbox.take()
        {
            holder.lend(outbox, self.answer.body_bytes);
        }
    }

    /// Counts the bytes in memory while [`Reply::wait_for_reader`] waits. Returns whether these bytes should be stored
    /// in a file before the wait.
    pub fn hold(&mut self) -> bool {
        let common = self.common;
        let mut held = Held::new(&common.output_bytes);
        // Streams of small items stop at their high-water mark, and at a lower mark when all answers together hold too
        // much.
        let is_too_much = held.is_too_much(self.output(), 2 * WAITING_BYTES_MAX, &common.config);
        self.held = Some(held);
        is_too_much
    }

    /// Moves the bytes in memory into a file. To be called detached.
    ///
    /// # Errors
    ///
    /// None: a connection for which there is no room is reset.
    pub fn store(&mut self) -> io::Result<()> {
        let common = self.common;
        if let Some(mut held) = self.held.take() {
            held.store(self.outbox(), &common.config);
            self.held = Some(held);
        }
        Ok(())
    }

    /// Waits until the client has taken most of the written bytes. To be called detached, after [`Reply::hold`], and
    /// only if [`Reply::may_wait`] allows it.
    ///
    /// # Errors
    ///
    /// The client is gone, or reads more slowly than the settings allow.
    pub fn wait_for_reader(&mut self) -> io::Result<()> {
        let sent = self.send_until(PENDING_BYTES_MAX);
        self.untaken_bytes = 0;
        self.held = None;
        sent
    }

    /// Sends everything written so far, and waits until the kernel has it. To be called detached.
    ///
    /// # Errors
    ///
    /// The client is gone, or reads more slowly than the settings allow.
    pub fn send_now(&mut self) -> io::Result<()> {
        if self.is_coded() {
            self.flush_coder();
        }
        self.send_until(1)
    }

    /// Sends until fewer than `bytes` are left, waiting for the client if need be.
    fn send_until(&mut self, bytes: u64) -> io::Result<()> {
        self.outbox();
        let Some(outbox) = &mut self.answer.outbox else { return Ok(()) };
        let sent = match outbox.flush() {
            Ok(Flushed::All) => return Ok(()),
            Ok(_) if outbox.output.pending_bytes() < bytes => return Ok(()),
            Ok(_) => match &mut self.holder {
                Some(holder) => holder.park(&mut || send_slowly(outbox, bytes)),
                None => send_slowly(outbox, bytes),
            },
            Err(error) => Err(error),
        };
        if let Err(error) = &sent {
            outbox.broken = true;
            log::write(
                &messages::CLIENT_GONE,
                format_args!("a client went away before its answer was sent: {error}"),
            );
        }
        sent
    }
}

/// Sends at the client's pace until fewer than `bytes` are left.
fn send_slowly(outbox: &mut Outbox, bytes: u64) -> io::Result<()> {
    let mut reader = Reader::new(outbox, clock::monotonic_ms());
    let mut look_ms = clock::monotonic_ms() + Reader::look_again_ms(&outbox.terms.limits);
    loop {
        match outbox.flush()? {
            Flushed::All => return Ok(()),
            _ if outbox.output.pending_bytes() < bytes => return Ok(()),
            Flushed::Turn => continue,
            Flushed::Blocked => {}
        }
        let now_ms = clock::monotonic_ms();
        if now_ms >= look_ms {
            if reader.is_too_slow(outbox, now_ms) {
                // Without a reset the kernel would keep the sent bytes for minutes, for a client that does not take
                // them.
                outbox.transport.reset_on_close();
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client takes its answer too slowly",
                ));
            }
            look_ms = now_ms + Reader::look_again_ms(&outbox.terms.limits);
        }
        outbox.transport.wait(Until::Writable, look_ms - now_ms)?;
    }
}
