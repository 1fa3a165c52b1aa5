//! Requests are parsed from a buffer, and answers written into the output.

use std::sync::{Arc, Mutex};

use adyton_http::{Request, Version};
use adyton_http1::{Asked, Framing, Parsed, Refusal};
use adyton_log::request::RequestId;
use adyton_log::{self as log, messages};
use adyton_proxied::proxy_protocol::{self, Client, Read};

use crate::answering::answer::After;
use crate::answering::exchange::{Exchange, Owned, RequestBytes};
use crate::answering::refusals::{NO_PROCESS, NO_ROOM, QUEUE_FULL, TOO_LARGE, UNDERSCORE, start_of};
use crate::answering::reply::{PENDING_BYTES_MAX, Reply};
use crate::answering::step::{Answering, Next, Step};
use crate::board::tally::Cell;
use crate::client::asker::Asker;
use crate::client::body::{CONTINUE, Live, OwnedBody, Upload};
use crate::client::connection::{Connection, Phase};
use crate::course::turn::worth_parsing;
use crate::event_loop::Loop;
use crate::site::plan::Fate;
use crate::threads::desk::Desk;

impl Loop {
    /// Receives bytes, and answers every request that is whole.
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
            connection.more = false;
            match connection.transport().receive(&mut desk.buffer[carried..]) {
                Ok(None) => return Step::On(connection, Next::Wait),
                Ok(Some(bytes)) if bytes > 0 => filled += bytes,
                _ => return Step::On(connection, Next::Close),
            }
            connection.more = filled == desk.buffer.len();
            self.shared.tally.add(Cell::ReceivedBytes, (filled - carried) as u64);
            if carried == 0 {
                connection.since_ms = self.now_ms;
            }
            if connection.begins_with_header {
                return self.receive_header(key, connection, desk, filled);
            }
            if carried == 0 {
                // The bytes begin a request.
            } else if !worth_parsing(carried, &desk.buffer[..filled], &self.shared.config.head) {
                connection.carry.extend_from_slice(&desk.buffer[carried..filled]);
                return Step::On(connection, Next::Wait);
            }
        }
        connection.carry = Vec::new();
        connection.outbox_mut().output.lend(&mut desk.spare);
        self.answer_buffered(key, connection, desk, 0..filled)
    }

    /// Reads the header that a proxy sends before the first request (PROXY protocol).
    fn receive_header(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        filled: usize,
    ) -> Step {
        if connection.arrived.is_some() {
            return self.receive_stranded(key, connection, desk, filled);
        }
        match proxy_protocol::read(&desk.buffer[..filled]) {
            Read::NeedMore => {
                connection.keep(&desk.buffer[..filled], false);
                Step::On(connection, Next::Wait)
            }
            Read::Wrong(reason) => {
                let start = start_of(&desk.buffer[..filled]);
                self.refuse(key, connection, desk, Refusal { status: 400, reason }, &start)
            }
            Read::Header { bytes, client } => {
                connection.begins_with_header = false;
                if let Client::Addresses { source, .. } = client {
                    connection.outbox_mut().peer = Some(source);
                }
                connection.carry = Vec::new();
                connection.outbox_mut().output.lend(&mut desk.spare);
                self.answer_buffered(key, connection, desk, bytes..filled)
            }
        }
    }

    /// Reads the first request of a client that no process can take, and answers it 503: this process does not serve
    /// the sites of the address to which the client has connected.
    fn receive_stranded(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        filled: usize,
    ) -> Step {
        let Desk { buffer, head, .. } = &mut *desk;
        let (received, config) = (&buffer[..filled], &self.shared.config);
        let begins_with_header = config.proxy_headers && config.trusts(connection.peer());
        let header = if begins_with_header {
            proxy_protocol::read(received)
        } else {
            Read::Header { bytes: 0, client: Client::Unknown }
        };
        let (start, refusal) = match header {
            Read::Wrong(reason) => (0, Some(Refusal { status: 400, reason })),
            Read::NeedMore => (0, None),
            Read::Header { bytes, .. } => match head.parse(&received[bytes..], &config.head) {
                Ok(Parsed::Complete) => (bytes, Some(NO_PROCESS)),
                Ok(Parsed::Partial) => (bytes, None),
                Err(refusal) => (bytes, Some(refusal)),
            },
        };
        let Some(refusal) = refusal else {
            connection.keep(received, false);
            return Step::On(connection, Next::Wait);
        };
        let start = start_of(&received[start..]);
        connection.carry = Vec::new();
        let terms = connection.outbox().terms.of_no_site();
        connection.outbox_mut().terms = Arc::new(terms);
        self.refuse(key, connection, desk, refusal, &start)
    }

    /// Answers the requests in a part of the buffer; their answers are sent together.
    pub(crate) fn answer_buffered(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        std::ops::Range { start: mut at, end: filled }: std::ops::Range<usize>,
    ) -> Step {
        while at < filled {
            let pauses = connection.outbox().output.pending_bytes() > PENDING_BYTES_MAX
                || self.is_turn_over(&connection);
            if at > 0 && pauses {
                connection.keep(&desk.buffer[at..filled], true);
                break;
            }
            let Desk { buffer, head, .. } = desk;
            match head.parse(&buffer[at..filled], &self.shared.config.head) {
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
            if self.shared.config.refuse_underscores && has_underscore(head.of(&buffer[at..filled])) {
                let start = start_of(&buffer[at..filled]);
                return self.refuse(key, connection, desk, UNDERSCORE, &start);
            }
            let body_at = at + head.bytes();
            let Some(end) = body_end(head.framing(), body_at, filled) else {
                return self.begin_body(key, connection, desk, at..filled);
            };
            if end > body_at {
                let (request, body_bytes) = (head.of(&buffer[at..body_at]), (end - body_at) as u64);
                if let Err(refusal) = self.enter_with_body(&mut connection, request, body_bytes) {
                    let start = start_of(&buffer[at..filled]);
                    return self.refuse(key, connection, desk, refusal, &start);
                }
            }
            let Desk { buffer, head, exchange, endpoint, .. } = &mut *desk;
            let exchange = exchange.get_or_insert_with(Exchange::empty);
            let bytes = &buffer[at..body_at];
            match self.answer(&mut connection, exchange, head.of(bytes), head.asked(), false) {
                Answering::Done(After::Next) => at = end,
                Answering::Done(after) => {
                    connection.keep(&desk.buffer[end..filled], true);
                    return self.conclude(key, connection, desk, after);
                }
                Answering::Ask => {
                    exchange.endpoint = endpoint.of(head.reads(), head.of(bytes));
                    exchange.request = RequestBytes::Lent { start: at, body_at, end, filled };
                    return self.ask(key, connection, desk);
                }
                Answering::Pass(elsewhere) => {
                    return self.pass_on(key, connection, desk, elsewhere, at..filled);
                }
                later => {
                    exchange.request = RequestBytes::Lent { start: at, body_at, end, filled };
                    return self.answer_later(key, connection, desk, later);
                }
            }
        }
        self.settle(key, connection, desk, After::Next)
    }

    /// Finds the site like [`Loop::enter_site`], for a request with a body of this length.
    ///
    /// # Errors
    ///
    /// The site takes no body of this length.
    fn enter_with_body(
        &mut self,
        connection: &mut Connection,
        request: Request<'_>,
        body_bytes: u64,
    ) -> Result<usize, Refusal> {
        let outbox = connection.outbox_mut();
        let site = self.enter_site(outbox, request);
        if body_bytes > outbox.terms.limits.body_bytes_max { Err(TOO_LARGE) } else { Ok(site) }
    }

    /// Begins to read a body that is not here yet, or answers at once if the body would not be read.
    fn begin_body(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        request: std::ops::Range<usize>,
    ) -> Step {
        let Desk { buffer, head, .. } = &mut *desk;
        let bytes = &buffer[request.clone()][..head.bytes()];
        let length = if let Framing::Length(length) = head.framing() { length } else { 0 };
        let site = match self.enter_with_body(&mut connection, head.of(bytes), length) {
            Ok(site) => site,
            Err(refusal) => {
                let start = start_of(bytes);
                return self.refuse(key, connection, desk, refusal, &start);
            }
        };
        let terms = Arc::clone(&connection.outbox().terms);
        let trust = self.shared.config.trust.as_ref();
        let asker = trust.and_then(|trust| Asker::told(trust, connection.peer(), head.of(bytes)));
        let peer = asker.and_then(|asker| asker.client).or(connection.peer());
        let client = peer.map(|peer| peer.ip());
        let fate = self.plan.site(site).fate(
            head.of(bytes),
            client,
            (&self.folders, self.now_ms),
            connection.has_missed(),
        );
        match fate {
            Fate::App | Fate::Script => {}
            Fate::Elsewhere(elsewhere) => return self.pass_on(key, connection, desk, elsewhere, request),
            Fate::Here => match self.answer_before_body(key, connection, desk, request.clone()) {
                Ok(step) => return step,
                Err(back) => connection = back,
            },
        }
        let Desk { buffer, head, .. } = &mut *desk;
        let (bytes, early) = buffer[request.clone()].split_at(head.bytes());
        let awaited = head.expects_continue() && early.is_empty();
        if fate == Fate::App
            && let Some(reading) = self.shared.begin_reading(&terms.limits)
        {
            if !connection.outbox().output.is_empty() {
                // `100 Continue` must not overtake the answers to earlier requests, so they are sent first.
                connection.keep(&buffer[request], true);
                return self.settle(key, connection, desk, After::Next);
            }
            let Ok(transport) = connection.transport().share() else {
                let start = start_of(bytes);
                return self.refuse(key, connection, desk, NO_ROOM, &start);
            };
            let live = Live::new((transport, reading), head.framing(), &terms.limits, (early, awaited));
            let body = OwnedBody::Live(Arc::new(Mutex::new(live)));
            let owned = Owned { head: bytes.to_vec(), body };
            return self.answer_owned(key, connection, desk, owned);
        }
        if awaited {
            return self.ask_for_body(key, connection, desk, request);
        }
        // A script reads its input from a file anyway.
        let memory = Some(&self.shared.config.body_memory).filter(|_| fate == Fate::App);
        let upload = Upload::new(bytes, head.framing(), &terms.limits, memory, self.now_ms);
        connection.keep(early, true);
        self.begin_upload(key, connection, desk, upload)
    }

    /// Answers a request whose body no route of this process wants.
    ///
    /// # Errors
    ///
    /// A file of another path is to answer, by the rules of that path, which may want the body.
    fn answer_before_body(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        request: std::ops::Range<usize>,
    ) -> Result<Step, Box<Connection>> {
        let Desk { buffer, head, exchange, .. } = &mut *desk;
        let exchange = exchange.get_or_insert_with(Exchange::empty);
        let (bytes, early) = buffer[request.clone()].split_at(head.bytes());
        match self.answer(&mut connection, exchange, head.of(bytes), head.asked(), true) {
            Answering::Done(after) => {
                connection.keep(early, true);
                Ok(self.conclude(key, connection, desk, after))
            }
            Answering::Pass(elsewhere) => Ok(self.pass_on(key, connection, desk, elsewhere, request)),
            _ => {
                connection.outbox = exchange.answer.outbox.take();
                // The request is counted when its body is here.
                connection.requests -= 1;
                Err(connection)
            }
        }
    }

    /// Asks a client that waits for `100 Continue` for its body (RFC 9110 section 10.1.1), or answers at once if it is
    /// known by now that the application will not get this request.
    fn ask_for_body(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        request: std::ops::Range<usize>,
    ) -> Step {
        let Desk { buffer, head, exchange, .. } = &mut *desk;
        let exchange = exchange.get_or_insert_with(Exchange::empty);
        let bytes = &buffer[request.clone()];
        let is_script = match self.answer(&mut connection, exchange, head.of(bytes), head.asked(), true) {
            Answering::Done(after) => return self.conclude(key, connection, desk, after),
            Answering::Pass(elsewhere) => return self.pass_on(key, connection, desk, elsewhere, request),
            Answering::Script(_) => true,
            Answering::Ask | Answering::Check(_) | Answering::Rewritten(_) | Answering::Await(_) => false,
        };
        connection.outbox = exchange.answer.outbox.take();
        let queue_max = self.shared.config.queue_max.max(1);
        if self.shared.crew.waiting() >= queue_max {
            self.shared.tally.count(Cell::TurnedAway);
            let start = start_of(bytes);
            let id = exchange.answer.id.clone();
            return self.refuse_as(id, key, connection, desk, QUEUE_FULL, &start);
        }
        let verdict = exchange.verdict_of_user();
        // The request is counted when it is whole.
        connection.requests -= 1;
        connection.outbox_mut().output.tail().extend_from_slice(CONTINUE);
        let limits = &connection.outbox().terms.limits;
        let memory = Some(&self.shared.config.body_memory).filter(|_| !is_script);
        let mut upload = Upload::new(bytes, head.framing(), limits, memory, self.now_ms);
        upload.verdict = verdict;
        self.begin_upload(key, connection, desk, upload)
    }

    fn begin_upload(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        upload: Upload,
    ) -> Step {
        connection.phase = Phase::Upload(Box::new(upload));
        let deadline_ms = self.now_ms + connection.outbox().terms.limits.body_idle_timeout_ms;
        self.timers.set(key, deadline_ms);
        // Answers to earlier requests do not wait for this one's body.
        if connection.flush().is_err() {
            return Step::On(connection, Next::Close);
        }
        let output = &mut connection.outbox_mut().output;
        if output.is_empty() {
            output.give_back(&mut desk.spare);
        }
        Step::On(connection, Next::Continue)
    }

    /// Answers a request that is not in the desk's buffer; its head is parsed.
    pub(crate) fn answer_owned(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        owned: Owned,
    ) -> Step {
        let live = owned.body.live();
        let Desk { head, exchange, endpoint, .. } = &mut *desk;
        let exchange = exchange.get_or_insert_with(Exchange::empty);
        let bytes = &*owned.head;
        match self.answer(&mut connection, exchange, head.of(bytes), head.asked(), live.is_some()) {
            Answering::Done(after) => self.conclude(key, connection, desk, after),
            Answering::Ask => {
                exchange.endpoint = endpoint.of(head.reads(), head.of(bytes));
                exchange.answer.live = live;
                exchange.request = RequestBytes::Owned(Box::new(owned));
                self.ask(key, connection, desk)
            }
            Answering::Pass(elsewhere) => self.pass_on_owned(key, connection, desk, elsewhere, &owned),
            later => {
                // A script gets no body that is read live, but the rest of such a body is still to be read.
                if matches!(later, Answering::Rewritten(_) | Answering::Script(_)) {
                    exchange.answer.live = live;
                }
                exchange.request = RequestBytes::Owned(Box::new(owned));
                self.answer_later(key, connection, desk, later)
            }
        }
    }

    /// Begins the step that has to be taken before the request of the desk's exchange is answered.
    fn answer_later(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        desk: &mut Desk,
        later: Answering,
    ) -> Step {
        match later {
            Answering::Check(credentials) => self.begin_check(key, connection, desk, credentials),
            Answering::Script(wanted) => self.begin_script(key, connection, desk, wanted),
            Answering::Await(wanting) => self.await_kept(key, connection, desk, wanting),
            Answering::Rewritten(rewritten) => self.rewrite(key, connection, desk, rewritten),
            Answering::Done(_) | Answering::Ask | Answering::Pass(_) => {
                unreachable!("it is answered now, or by another")
            }
        }
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
        connection.outbox_mut().output.lend(&mut desk.spare);
        let bytes = std::mem::take(&mut upload.head);
        let parsed = desk.head.parse(&bytes, &self.shared.config.head);
        let (Ok(Parsed::Complete), Ok(body)) = (parsed, upload.body()) else {
            let start = start_of(&bytes);
            return self.refuse(key, connection, desk, NO_ROOM, &start);
        };
        desk.exchange.get_or_insert_with(Exchange::empty).verdict = upload.verdict.take();
        self.answer_owned(key, connection, desk, Owned { head: bytes, body })
    }

    /// Goes on after an answer is written.
    pub(crate) fn conclude(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        desk: &mut Desk,
        after: After,
    ) -> Step {
        // Closing over bytes that were not read resets the connection.
        let is_over_unread = after == After::Close && (connection.unparsed || connection.more);
        self.settle(key, connection, desk, if is_over_unread { After::Linger } else { after })
    }

    /// Refuses a request that cannot be served: sends the answer, and then closes so that the client can read it.
    /// `start` is the beginning of the request, for the log and to recognise a HEAD.
    pub(crate) fn refuse(
        &mut self,
        key: usize,
        connection: Box<Connection>,
        desk: &mut Desk,
        refusal: Refusal,
        start: &[u8],
    ) -> Step {
        let id = self.ids.next(None, None);
        self.refuse_as(id, key, connection, desk, refusal, start)
    }

    /// Refuses a request that has an id already, like [`Loop::refuse`].
    pub(crate) fn refuse_as(
        &mut self,
        id: RequestId,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        refusal: Refusal,
        start: &[u8],
    ) -> Step {
        let text = format_args!("refused with {}: {}", refusal.status, refusal.reason);
        log::write_about(Some(&id), &messages::REFUSED, text);
        let in_body = matches!(connection.phase, Phase::Upload(_));
        self.shared.refusals.note(&self.shared.tally, refusal, in_body, connection.peer());
        connection.phase = Phase::Head;
        connection.outbox_mut().output.lend(&mut desk.spare);
        let asked =
            Asked { version: Version::Http11, is_head: start.starts_with(b"HEAD "), keep_alive: false };
        let answer = &mut desk.exchange.get_or_insert_with(Exchange::empty).answer;
        answer.outbox = connection.outbox.take();
        self.begin_answer(answer, asked, id);
        Reply::new(answer, &self.shared.common, &self.date).fail(refusal.status, refusal.reason);
        connection.outbox = answer.outbox.take();
        let started_us = self.start_us();
        self.log_answer(connection.outbox(), None, start, answer, started_us);
        self.settle(key, connection, desk, After::Linger)
    }
}

/// Whether a field name has an underscore: `X_Forwarded_For` would look like `X-Forwarded-For` to an application.
fn has_underscore(request: Request<'_>) -> bool {
    request.fields().iter().any(|field| memchr::memchr(b'_', request.name(field)).is_some())
}

/// Returns where a body ends that is here already; `None` if more has to come, or has to be decoded.
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
