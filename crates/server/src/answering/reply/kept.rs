//! Answers that are kept for other requests while they are sent, and answers that are given from the cache.

use std::sync::Arc;

use adyton_cache::status::{self, Forward, Hit};
use adyton_cache::{Answer, Entry, Rules, judge};
use adyton_compress::Coding;
use adyton_files::{Outcome, Validators, evaluate, is_conditional};
use adyton_http::{Known, Request, Version};
use adyton_http1::{BodyFraming, CHUNK_END, Framed, Head, write_chunk_head};
use adyton_sys::clock;

use super::{Reply, SHARE_BYTES_MIN};
use crate::answering::coder::{Coder, Work};
use crate::board::tally::Cell;
use crate::cache::keeping::Keeping;
use crate::cache::key::{KeyContext, write_key};
use crate::cache::store::{Cache, Filling, Gather};
use crate::client::output::{Payload, Segment};

/// Fields that are not kept: the fields of a connection, and the fields that the cache writes itself.
const NOT_KEPT: [&[u8]; 6] =
    [b"age", b"cache-status", b"connection", b"content-length", b"keep-alive", b"transfer-encoding"];

/// Conditional fields of a request: they tell which version of a page its client has.
const CONDITIONS: u128 = Known::IfMatch.bit()
    | Known::IfModifiedSince.bit()
    | Known::IfNoneMatch.bit()
    | Known::IfRange.bit()
    | Known::IfUnmodifiedSince.bit();

/// The body of an answer that is kept.
struct KeptBody(Arc<Entry>);

impl Payload for KeptBody {
    fn bytes(&self) -> &[u8] {
        &self.0.answer.body
    }

    fn is_kept(&self) -> bool {
        true
    }
}

impl Reply<'_> {
    /// The cache in which answers are kept.
    #[inline]
    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.common.cache
    }

    /// Whether an application has sent the request on to this route.
    pub(crate) fn is_sent_on(&self) -> bool {
        self.answer.onward.as_ref().is_some_and(|onward| onward.times > 0)
    }

    /// Returns a number for the form of the answer, by which the cache tells apart answers at one address: it is made
    /// of the route and of the coding that the answer would have.
    pub(crate) fn form(&self, route: usize, version: Version) -> u64 {
        let accepted = self.answer.compress.as_ref().map(|wanted| wanted.accepted);
        // An answer without chunks is not compressed, so it has no coding here either.
        let coding = accepted.filter(|_| version == Version::Http11).unwrap_or(Coding::Identity);
        (route as u64) << 8 | coding as u64
    }

    /// Writes the key of the request.
    #[inline]
    pub(crate) fn write_key(&self, key: &mut Vec<u8>, request: Request<'_>, site: u64) {
        let listener = self.answer.outbox.as_ref().map_or(0, |outbox| outbox.listener);
        let asker = self.answer.asker.as_deref();
        let place = KeyContext { site, listener, sent: b"", asker };
        match &self.answer.onward {
            None => write_key(key, request, place),
            Some(onward) => {
                // The request was sent to one target and rewritten to another one; the key has both targets.
                let mut first = Head::new();
                let sent = onward.first(&mut first, &self.common.config.head);
                let sent = sent.map_or(&b""[..], |sent| sent.target());
                write_key(key, request, KeyContext { sent, ..place });
            }
        }
    }

    /// Counts the outcome of a request.
    pub(crate) fn count(&self, cell: Cell) {
        self.common.tally.add(cell, 1);
    }

    /// Hides from the application which version of the page the client has; otherwise the application could answer 304,
    /// without a page to keep.
    #[cold]
    pub(crate) fn hide_conditions(&mut self) {
        self.answer.asker.get_or_insert_default().stripped |= CONDITIONS;
    }

    /// Notes how the answer may be kept in the cache; the request has not waited for another one.
    pub(crate) fn expect_kept(
        &mut self,
        forward: Forward,
        rules: Rules,
        found: Option<(Filling, Option<Arc<Entry>>)>,
    ) {
        let cache = Arc::clone(&self.common.cache);
        let (filling, stale) = found.map_or((None, None), |(filling, stale)| (Some(filling), stale));
        let changes = None;
        self.answer.keeping =
            Some(Box::new(Keeping { cache, forward, is_collapsed: false, rules, filling, stale, changes }));
    }

    /// Notes that the page under this key is to be forgotten, unless the request fails: the request changes that page.
    pub(crate) fn expect_change(&mut self, key: &[u8]) {
        if let Some(keeping) = &mut self.answer.keeping {
            keeping.changes = Some(key.into());
        }
    }

    /// Answers with a stale kept answer in the place of a failure (RFC 5861 section 4); `false` if that is not allowed.
    #[cold]
    pub(super) fn rescue(&mut self, status: u16) -> bool {
        if !matches!(status, 500 | 502 | 503 | 504) {
            return false;
        }
        let now_ms = clock::monotonic_ms();
        let stale = self.answer.keeping.as_mut().and_then(|keeping| keeping.stale.take());
        let Some(kept) = stale.filter(|stale| stale.helps(now_ms)) else { return false };
        // Dropping this ends the fetch: the next request asks the application again.
        self.answer.keeping = None;
        self.answer.changes = None;
        self.settle_connection();
        self.write_kept(&kept, kept.answer.status, now_ms, false);
        true
    }

    /// Decides whether the answer is kept, by the head that was written from `mark` on; also begins to compress the
    /// answer.
    pub(super) fn begin_keeping(&mut self, keeping: Keeping, mark: usize) {
        let Keeping { cache, forward, is_collapsed, rules, filling, changes, stale: _ } = keeping;
        let status = self.answer.status;
        if let Some(key) = changes.filter(|_| (200..400).contains(&status)) {
            cache.invalidate(&key);
        }
        let Some(filling) = filling else {
            self.begin_coding(mark);
            return self.tell(mark, forward, false, is_collapsed);
        };
        let judged = judge(&self.output().tail()[mark..], rules, filling.has_cookie());
        let framing = self.answer.framed.map_or(BodyFraming::None, |framed| framed.framing);
        self.begin_coding(mark);
        let terms = match judged {
            // Nobody can tell whether a body that ends with its connection is complete, so it is not kept. Only this
            // client's answer has such a body; other requests are therefore not told to go past the cache.
            Ok(_) if framing == BodyFraming::UntilClose => {
                drop(filling);
                return self.tell(mark, forward, false, is_collapsed);
            }
            Ok(terms) => terms,
            Err(_) => {
                filling.pass(status);
                return self.tell(mark, forward, false, is_collapsed);
            }
        };
        let answer = self.kept_head(mark, status);
        let mut gather = Box::new(Gather::new(filling, answer, terms));
        let is_coded = self.is_coded();
        let has_room = is_coded || !matches!(framing, BodyFraming::Length(bytes) if !gather.has_room(bytes));
        self.tell(mark, forward, has_room, is_collapsed);
        if !has_room {
            gather.give_up();
        } else if framing == BodyFraming::None {
            gather.keep();
        } else if let Some(coder) = self.answer.coder.as_mut().filter(|_| is_coded) {
            coder.gather = Some(gather);
        } else {
            self.answer.code(Coder::passing(framing, gather));
        }
    }

    /// Returns the lines to keep of the head that was written from `mark` on.
    fn kept_head(&mut self, mark: usize, status: u16) -> Answer {
        let id_field = &self.common.config.request_id_field;
        let tail = self.answer.outbox.as_mut().map(|outbox| outbox.output.tail());
        let head: &[u8] = tail.as_ref().and_then(|tail| tail.get(mark..)).unwrap_or_default();
        let mut answer = Answer { status, ..Answer::default() };
        for line in head.split_inclusive(|&byte| byte == b'\n').take_while(|line| *line != b"\r\n") {
            let colon = memchr::memchr(b':', line).unwrap_or(line.len());
            let (name, value) = line.split_at(colon);
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            if colon < line.len() && (NOT_KEPT.iter().any(|other| is(other)) || is(id_field)) {
                continue;
            }
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            if is(b"etag") {
                answer.etag = value.into();
            } else if is(b"last-modified") {
                answer.modified_s = adyton_files::parse_date(value);
            }
            answer.head.extend_from_slice(line);
        }
        answer
    }

    /// Adds `Cache-Status`, the field about the work of the cache, to the head that was written from `mark` on.
    fn tell(&mut self, mark: usize, forward: Forward, is_stored: bool, is_collapsed: bool) {
        let tail = self.output().tail();
        debug_assert!(tail[mark..].ends_with(b"\r\n\r\n"), "nothing follows the head yet");
        tail.truncate(tail.len() - 2);
        status::forwarded(tail, forward, is_stored, is_collapsed);
        tail.extend_from_slice(b"\r\n");
    }

    /// Sends a piece as it is, and keeps it.
    pub(super) fn pass(&mut self, bytes: &[u8], framing: BodyFraming) {
        if let Some(coder) = &mut self.answer.coder {
            coder.turn_bytes += bytes.len() as u64;
            coder.gather(bytes);
        }
        let tail = self.output().tail();
        if framing == BodyFraming::Chunked {
            write_chunk_head(tail, bytes.len());
            tail.extend_from_slice(bytes);
            tail.extend_from_slice(CHUNK_END);
        } else {
            tail.extend_from_slice(bytes);
        }
    }

    /// Stops keeping the body: its rest is not in memory.
    #[cold]
    pub(super) fn stop_keeping(&mut self) {
        if let Some(Coder { work: Work::Pass(framing), gather, .. }) = self.answer.coder.as_deref_mut() {
            let framing = *framing;
            if let Some(gather) = gather {
                gather.give_up();
            }
            self.answer.coder = None;
            if let Some(framed) = &mut self.answer.framed {
                framed.framing = framing;
            }
        }
    }

    /// Answers a request with a kept answer; `is_collapsed`: the request has waited for another one.
    pub(crate) fn give_kept(
        &mut self,
        request: Request<'_>,
        kept: &Arc<Entry>,
        now_ms: u64,
        is_collapsed: bool,
    ) {
        self.answer.changes = None;
        let Answer { status, etag, modified_s, .. } = &kept.answer;
        let mut status = *status;
        if status == 200 && is_conditional(request) {
            let validators = Validators { etag, modified_s: *modified_s };
            match evaluate(request, validators, &self.date) {
                Outcome::NotModified => status = 304,
                Outcome::Failed => {
                    return self.page(412, "The page is not the version that the request is about.", &[]);
                }
                Outcome::Whole | Outcome::Ranges => {}
            }
        }
        self.settle_connection();
        self.write_kept(kept, status, now_ms, is_collapsed);
    }

    /// Writes a kept answer, or a 304 that says that the page has not changed.
    #[inline]
    fn write_kept(&mut self, kept: &Arc<Entry>, status: u16, now_ms: u64, is_collapsed: bool) {
        let Answer { head, body, etag, .. } = &kept.answer;
        let asked = self.answer.asked;
        let has_body = !asked.is_head && status != 304;
        let is_short = body.len() < SHARE_BYTES_MIN;
        let lines = std::mem::take(&mut self.answer.lines);
        let tail = self.output().tail();
        tail.reserve(head.len() + if is_short { body.len() } else { 0 } + 160);
        if status == 304 {
            write_not_modified(tail, head, !etag.is_empty());
        } else {
            tail.extend_from_slice(head);
        }
        status::hit(tail, Hit { age_ms: kept.age_ms(now_ms), fresh_ms: kept.fresh_ms(), is_collapsed });
        tail.extend_from_slice(&lines);
        tail.extend_from_slice(match (asked.keep_alive, asked.version) {
            (false, _) => b"Connection: close\r\n\r\n",
            (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
            (true, Version::Http11) => b"\r\n",
        });
        if has_body && is_short {
            tail.extend_from_slice(body);
        } else if has_body {
            self.output().push(Segment::Shared(Box::new(KeptBody(Arc::clone(kept)))));
        }
        self.answer.lines = lines;
        self.commit(status, Framed { framing: BodyFraming::None, keep_alive: asked.keep_alive });
        self.answer.body_bytes = if has_body { body.len() as u64 } else { 0 };
    }
}

/// Writes the head of a 304 in the place of the head of a 200 (RFC 9110 section 15.4.5).
fn write_not_modified(out: &mut Vec<u8>, head: &[u8], has_tag: bool) {
    out.extend_from_slice(b"HTTP/1.1 304 Not Modified\r\n");
    for line in head.split_inclusive(|&byte| byte == b'\n').skip(1) {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        let is_of_content = name.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case(b"content-"))
            && !is(b"content-location");
        if !(is_of_content || has_tag && is(b"last-modified")) {
            out.extend_from_slice(line);
        }
    }
}
