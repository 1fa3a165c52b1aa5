//! One request, answered: by the route that its path takes, or by the server itself.

use std::sync::Arc;

use adyton_files::{Ask as FileAsk, Folder, error_page};
use adyton_http::{BadResponse, BodySize, Known, Method, Request, reason_phrase};
use adyton_http1::Asked;
use adyton_log::request::RequestId;

use crate::access_log::Record;
use crate::answer::{After, Answer};
use crate::asker::Asker;
use crate::connection::{Connection, Phase, Respond, after_live};
use crate::desk::Desk;
use crate::errand::Errand;
use crate::event_loop::Loop;
use crate::exchange::{Exchange, RequestBytes};
use crate::guard::{Credentials, Denial, Judgement, Verdict};
use crate::lock::lock;
use crate::outbox::Outbox;
use crate::outcome::{Left, Stream};
use crate::plan::{Action, Door, Fixed};
use crate::reply::Reply;
use crate::step::{Answering, Next, Step};
use crate::tally::{Cell, Histogram};

/// What `OPTIONS *` answers for the server as a whole (RFC 9110 section 9.3.7).
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// What has come of looking for a route.
enum Routed {
    /// The answer is written.
    Answered,
    /// The application of the route with this number is to be asked.
    App(usize),
    /// These are to be verified first.
    Check(Box<Credentials>),
}

impl Loop {
    /// The number of the site that a request is for, which its connection is in from now on.
    #[inline]
    pub(crate) fn enter_site(&mut self, outbox: &mut Outbox, request: Request<'_>) -> usize {
        let number = self.plan.number_of(request, &mut self.last_host);
        let terms = &self.plan.site(number).terms;
        if !Arc::ptr_eq(terms, &outbox.terms) {
            outbox.terms = Arc::clone(terms);
        }
        number
    }

    /// Answers one request, or says that an application has to: then the exchange has the outbox. `unread`: it has a body
    /// that was not read.
    pub(crate) fn answer(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Exchange,
        (request, mut asked): (Request<'_>, Asked),
        unread: bool,
    ) -> Answering {
        connection.requests += 1;
        let verdict = exchange.verdict.take();
        let began_us = verdict.as_ref().and_then(|verdict| verdict.started_us);
        exchange.started_us = began_us.unwrap_or_else(|| self.start_us());
        let answer = &mut exchange.answer;
        answer.outbox = connection.outbox.take();
        answer.outbox().begun = false;
        let site = self.enter_site(answer.outbox(), request);
        let requests_max = answer.outbox().terms.limits.keep_alive_requests_max;
        let last = requests_max != 0 && connection.requests >= requests_max;
        asked.keep_alive &= !(last || self.stopping_ms.is_some() || self.gives_away());
        let mut own = asked;
        own.keep_alive &= !unread;
        let id = self.name(request);
        self.begin_answer(answer, own, id);
        if let Some(trust) = &self.shared.config.trust {
            answer.asker = Asker::told(trust, answer.outbox().peer, request);
        }
        match self.route(answer, site, (request, verdict.as_deref())) {
            Routed::Answered => {}
            Routed::App(route) => {
                answer.asked = asked;
                exchange.take_route(self.plan.site(site), route);
                return Answering::Ask;
            }
            Routed::Check(credentials) => {
                answer.asked = asked;
                return Answering::Check(credentials);
            }
        }
        let after = self.conclude_answer(connection, answer, exchange.started_us, request);
        // What was not read cannot be told from the next request.
        Answering::Done(if unread && after != After::Reset { After::Linger } else { after })
    }

    /// Has the most specific route answer that does. `verdict`: what has come of the request's credentials.
    #[inline]
    fn route(
        &mut self,
        answer: &mut Answer,
        number: usize,
        (request, verdict): (Request<'_>, Option<&Verdict>),
    ) -> Routed {
        let Self { plan, folders, shared, date, looks, .. } = &mut *self;
        let site = plan.site(number);
        let mut has_missed = false;
        if !is_web_socket(request) && !is_for_server(request) {
            if site.is_one_app {
                return Routed::App(0);
            }
            // The usual case: the first route has nothing around it.
            if let Ok(path) = site.spelled(request.path())
                && let Some((number, pattern, route)) = site.routes.first(&path)
                && route.is_bare()
            {
                match &route.action {
                    Action::App(_) => return Routed::App(number),
                    Action::Files(folder) => {
                        let bytes = site.raw_bytes(request.path(), pattern.prefix_bytes());
                        let mut reply = Reply::new(answer, &shared.common, date);
                        if serve_file(&mut reply, &mut folders[*folder], (request, bytes), *looks) {
                            return Routed::Answered;
                        }
                        has_missed = true;
                    }
                    _ => {}
                }
            }
        }
        self.try_routes(answer, number, (request, verdict), has_missed)
    }

    /// Tries each route of a site; `has_missed`: a folder was asked already.
    fn try_routes(
        &mut self,
        answer: &mut Answer,
        site: usize,
        (request, verdict): (Request<'_>, Option<&Verdict>),
        mut has_missed: bool,
    ) -> Routed {
        let Self { plan, folders, shared, date, looks, .. } = self;
        let site = plan.site(site);
        let peer = answer.outbox().peer;
        let client = answer.client(peer).map(|client| client.ip());
        let common = &shared.common;
        let Ok(path) = site.spelled(request.path()) else {
            Reply::new(answer, common, date).fail(400, DOT_SEGMENT);
            return Routed::Answered;
        };
        let mut methods: Vec<&[u8]> = Vec::new();
        for (number, pattern, route) in site.routes.of(&path) {
            // What one folder has not, no other is asked for.
            if has_missed && matches!(route.action, Action::Files(_)) {
                continue;
            }
            if !route.takes(request, client, &mut methods) {
                continue;
            }
            if route.edits.is_some() || answer.edits.is_some() {
                answer.edits.clone_from(&route.edits);
            }
            match route.door(client) {
                Door::Open => {}
                Door::Closed => {
                    Reply::new(answer, common, date).fail(403, NOT_ADMITTED);
                    return Routed::Answered;
                }
                Door::Guarded(guard) => match guard.judge(request, client, verdict) {
                    Judgement::Pass(user) => answer.asker.get_or_insert_default().user = Some(user),
                    Judgement::Refuse(refused) => {
                        deny(&mut Reply::new(answer, common, date), &guard.denial(refused));
                        return Routed::Answered;
                    }
                    Judgement::Check(credentials) => return Routed::Check(credentials),
                },
            }
            let prefix_bytes = || site.raw_bytes(request.path(), pattern.prefix_bytes());
            let mut reply = Reply::new(answer, common, date);
            match &route.action {
                Action::Files(folder) => {
                    if !serve_file(&mut reply, &mut folders[*folder], (request, prefix_bytes()), *looks) {
                        has_missed = true;
                        continue;
                    }
                }
                Action::App(_) if is_web_socket(request) => reply.fail(501, NO_WEB_SOCKETS),
                _ if is_for_server(request) => break,
                Action::App(_) => return Routed::App(number),
                Action::Page(page) => {
                    let made = reply.render(|out, asked, identity| page.write(out, asked, &identity, &[]));
                    reply.take(made);
                }
                Action::Fixed(fixed) => fixed.answer(&mut reply),
                Action::Redirect(status, location) => {
                    redirect(&mut reply, *status, &location.of(request, prefix_bytes()));
                }
            }
            return Routed::Answered;
        }
        answer.edits = None;
        answer_for_server(&mut Reply::new(answer, common, date), request, &methods);
        Routed::Answered
    }

    /// Gives a request its name.
    fn name(&mut self, request: Request<'_>) -> RequestId {
        let config = &self.shared.config;
        let value = |name: &[u8]| request.all_named(name).next();
        let names = !config.request_id_field.is_empty();
        let given = if names { value(&config.request_id_field) } else { None };
        let traceparent = if config.logs_traces { value(b"traceparent") } else { None };
        self.ids.next(given, traceparent)
    }

    /// Begins the answer to a request that has its name.
    pub(crate) fn begin_answer(&self, answer: &mut Answer, asked: Asked, id: RequestId) {
        let field = &self.shared.config.request_id_field;
        if !field.is_empty() {
            let mut line = field.clone();
            line.extend_from_slice(format!(": {id}\r\n").as_bytes());
            answer.lines = line.into();
        }
        answer.begin(asked, id);
    }

    /// The application has answered, and this loop's driver with it.
    pub(crate) fn answered(
        &mut self,
        exchange: Box<Exchange>,
        left: Left,
        desk: &mut Desk,
    ) -> Option<Errand> {
        let key = exchange.key;
        // The application may have changed a file.
        self.looks += 1;
        self.guarded(key, desk, |this, desk| {
            let step = match left {
                Left::Nothing => {
                    let connection = this.connections.take_away(key);
                    this.conclude_call(connection, exchange, desk)
                }
                Left::Stream(stream) => {
                    let connection = this.connections.take_away(key);
                    this.begin_stream(connection, exchange, stream, desk)
                }
                Left::Later(claim) => Step::Away(this.keep_ticket(exchange, claim, desk)),
            };
            this.work_on(key, step, desk)
        })
    }

    /// The application has given the whole answer.
    fn conclude_call(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        desk: &mut Desk,
    ) -> Step {
        let Exchange { key, request, answer, started_us, .. } = &mut *exchange;
        let key = *key;
        let asked_for = desk.head.of(request.head_bytes(&desk.buffer));
        let after = self.conclude_answer(&mut connection, answer, *started_us, asked_for);
        if let RequestBytes::Lent { end, filled, .. } = *request {
            if after == After::Next {
                desk.keep_exchange(exchange);
                return self.answer_buffered(key, connection, desk, end..filled);
            }
            connection.keep(&desk.buffer[end..filled], true);
        }
        desk.keep_exchange(exchange);
        self.conclude(key, connection, desk, after)
    }

    /// The application has given the beginning of an answer.
    fn begin_stream(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        stream: Box<dyn Stream>,
        desk: &mut Desk,
    ) -> Step {
        let Exchange { key, request, answer, head, .. } = &mut *exchange;
        let key = *key;
        let bytes = request.head_bytes(&desk.buffer);
        answer.row = self.shared.tally.row_of(desk.head.path.of(bytes), answer.status);
        if answer.outbox().terms.log.is_some() {
            *head = bytes.to_vec();
        }
        if let RequestBytes::Lent { end, filled, .. } = *request {
            connection.keep(&desk.buffer[end..filled], true);
        }
        connection.outbox = answer.outbox.take();
        let mut respond = Respond::new(answer.after());
        exchange.forget_request();
        (respond.exchange, respond.stream) = (Some(exchange), Some(stream));
        connection.phase = Phase::Respond(Box::new(respond));
        self.watch_reader(key, &mut connection);
        Step::On(connection, Next::Continue)
    }

    /// What follows a whole answer; the connection has its outbox again.
    pub(crate) fn conclude_answer(
        &mut self,
        connection: &mut Connection,
        answer: &mut Answer,
        started_us: u64,
        request: Request<'_>,
    ) -> After {
        connection.outbox = answer.outbox.take();
        answer.row = self.shared.tally.row_of(request.path(), answer.status);
        self.log_answer(connection.outbox(), Some(request), b"", answer, started_us);
        if answer.is_cut() {
            return answer.after_cut();
        }
        match answer.live.take() {
            Some(live) if after_live(connection, &live) == After::Linger => After::Linger,
            _ => answer.after(),
        }
    }

    /// When the loop learned of the requests that it looks at.
    pub(crate) fn start_us(&self) -> u64 {
        self.calls.batch_since_us()
    }

    /// An answer is whole: counts it, and logs it. The path of a request reads the clock here, and nowhere else.
    pub(crate) fn log_answer(
        &mut self,
        outbox: &Outbox,
        request: Option<Request<'_>>,
        refused: &[u8],
        answer: &Answer,
        started_us: u64,
    ) {
        let duration_us = self.turns.read_clock().saturating_sub(started_us);
        let (status, body_bytes) = (answer.status, answer.body_bytes);
        let tally = &self.shared.tally;
        tally.add(Cell::of_status(status), 1);
        tally.add(Cell::BodyBytes, body_bytes);
        tally.note(Histogram::Duration, duration_us);
        tally.note_row(answer.row, status, duration_us);
        if let Some(log) = &outbox.terms.log {
            let (peer, id) = (answer.client(outbox.peer), &answer.id);
            let user = answer.asker.as_ref().and_then(|asker| asker.user.as_ref());
            let user = user.map(|user| &*user.name);
            lock(log).record(&Record { peer, request, refused, user, status, body_bytes, duration_us, id });
        }
    }
}

/// To ignore `Upgrade` would be allowed (RFC 9110 section 7.8), and then it is the application that fails, with words
/// of its own. 426 would say the opposite: that the client has to upgrade.
const NO_WEB_SOCKETS: &str = "WebSockets are not served here: an application cannot take a connection over.";

/// Browsers resolve these themselves.
const DOT_SEGMENT: &str = "The path has a . or .. as a segment.";

const NOT_ADMITTED: &str = "It is not for clients with this address.";

/// Whether a client wants to speak another protocol from now on.
fn is_web_socket(request: Request<'_>) -> bool {
    request.has(Known::SecWebSocketKey) && request.has(Known::Upgrade)
}

/// What no application is asked: the server as a whole, tunnels, and reflections.
fn is_for_server(request: Request<'_>) -> bool {
    matches!(request.method(), Method::Trace | Method::Connect) || request.target() == b"*"
}

/// Answers with a file, if the folder has one; `prefix_bytes` of the path are the route's own.
#[inline]
fn serve_file(
    reply: &mut Reply<'_>,
    folder: &mut Folder,
    (request, prefix_bytes): (Request<'_>, usize),
    looks: u64,
) -> bool {
    let prefix = &request.path()[..prefix_bytes];
    let made = reply.render(|out, asked, identity| {
        folder.answer(&FileAsk { request, prefix, asked, identity, fresh: looks }, out)
    });
    reply.take(made)
}

/// Says why a client is not let in, and what it can do.
fn deny(reply: &mut Reply<'_>, denial: &Denial) {
    let fields: Vec<(&[u8], &[u8])> = denial.fields.iter().map(|(name, value)| (*name, &**value)).collect();
    reply.page(denial.status, denial.detail, &fields);
}

/// Sends a client to another place.
fn redirect(reply: &mut Reply<'_>, status: u16, location: &[u8]) {
    let page = reply.render(|out, asked, identity| {
        let text = format!("It is at {}.", String::from_utf8_lossy(location));
        error_page(out, asked, &identity, status, &text, &[(b"Location", location)])
    });
    reply.take(page);
}

impl Fixed {
    /// Writes this answer.
    fn answer(&self, reply: &mut Reply<'_>) {
        let size = BodySize::Known(self.body.len() as u64);
        let reason = reason_phrase(self.status);
        let written: Result<(), BadResponse> = reply.head(self.status, reason.as_bytes(), size, |head| {
            head.field(b"Content-Type", self.content_type.as_bytes())
        });
        match written {
            Ok(()) => reply.write(&self.body),
            // Whoever made the plan has not looked at its media type.
            Err(_) => reply.fail(500, "The answer of this route cannot be sent."),
        }
    }
}

/// What the server says where no route answers; `methods` are those with which one would.
fn answer_for_server(reply: &mut Reply<'_>, request: Request<'_>, methods: &[&[u8]]) {
    let allowed = if methods.is_empty() { METHODS.to_vec() } else { methods.join(&b", "[..]) };
    let (status, detail) = match request.method() {
        // Reflecting a request shows a script what the browser hides from it.
        Method::Trace => (405, "The method TRACE is not served."),
        Method::Connect => (501, "The method CONNECT is not served."),
        Method::Options if request.target() == b"*" => {
            let written: Result<(), BadResponse> =
                reply.head(204, b"No Content", BodySize::Known(0), |head| head.field(b"Allow", METHODS));
            debug_assert!(written.is_ok());
            return;
        }
        _ if !methods.is_empty() => (405, "This path is not served with this method."),
        _ => return reply.fail(404, "Nothing is served here."),
    };
    reply.page(status, detail, &[(b"Allow", &allowed)]);
}
