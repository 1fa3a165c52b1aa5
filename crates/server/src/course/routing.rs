//! The answer to one request: by the route that its path takes, or by the server itself.

use std::net::IpAddr;
use std::sync::Arc;

use adyton_files::programs::CHANGING;
use adyton_files::runs::Runs;
use adyton_files::scripts::Unnamed;
use adyton_files::{Ask as FileAsk, ErrorPage, FileAnswer, Folder, error_page};
use adyton_http::{BadResponse, BodySize, Known, Method, Request, reason_phrase};
use adyton_http1::{Asked, Head};
use adyton_log::request::RequestId;
use adyton_route::escaped;

use crate::access_log::Record;
use crate::answering::answer::{After, Answer};
use crate::answering::changes::Changes;
use crate::answering::coder::Wanted;
use crate::answering::errand::Errand;
use crate::answering::exchange::{Exchange, RequestBytes};
use crate::answering::met::Past;
use crate::answering::onward::Rewritten;
use crate::answering::outcome::{Left, Stream};
use crate::answering::reply::Reply;
use crate::answering::step::{Answering, Next, Step};
use crate::answering::verdict::Verdict;
use crate::board::tally::Answered;
use crate::cache::looking::{Looked, Sought, look_up};
use crate::cache::wanting::Wanting;
use crate::cgi::WantedScript;
use crate::client::asker::Asker;
use crate::client::connection::{Connection, Phase, Respond, after_live};
use crate::client::outbox::Outbox;
use crate::client::passage::Elsewhere;
use crate::common::Common;
use crate::event_loop::Loop;
use crate::folders::{FolderAnswer, Folders, Place};
use crate::guard::{Attempt, Credentials, Denial, Judgement};
use crate::lock::lock;
use crate::site::door::Door;
use crate::site::other_names::{Other, names_of, scripts_of};
use crate::site::plan::{Action, Fixed, Route, Site};
use crate::threads::desk::Desk;

/// The `Allow` field of the answer to `OPTIONS *`, for the server as a whole (RFC 9110 section 9.3.7).
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The result of looking for a route.
pub(crate) enum Routed {
    /// The answer is written.
    Answered,
    /// The application of the route with this number is to be asked.
    App(usize),
    /// The credentials are to be verified first.
    Check(Box<Credentials>),
    /// The request waits for the answer to another.
    Await(Box<Wanting>),
    /// Another process is to answer.
    Elsewhere(Elsewhere),
    /// A script is to be run, for the route with this number.
    Script(usize, Box<WantedScript>),
    /// The request has another target from here on.
    Rewritten(Rewritten),
}

impl Loop {
    /// Returns the number of the site that a request is for. The connection has the terms of that site from now on.
    #[inline]
    pub(crate) fn enter_site(&mut self, outbox: &mut Outbox, request: Request<'_>) -> usize {
        let number = self.plan.number_of(request, &mut self.last_host);
        let terms = &self.plan.site(number).terms;
        if !Arc::ptr_eq(terms, &outbox.terms) {
            outbox.terms = Arc::clone(terms);
        }
        number
    }

    /// Answers one request, or returns how it is to be answered; then the exchange has the outbox, unless another
    /// process is to answer. `unread`: the request has a body that was not read.
    pub(crate) fn answer(
        &mut self,
        connection: &mut Connection,
        exchange: &mut Exchange,
        request: Request<'_>,
        mut asked: Asked,
        unread: bool,
    ) -> Answering {
        let has_missed = connection.has_missed();
        connection.requests += 1;
        let verdict = exchange.verdict.take();
        let began_us = verdict.as_ref().and_then(|verdict| Some(verdict.of.as_ref()?.started_us));
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
        match self.route(answer, site, request, verdict.as_deref(), has_missed) {
            Routed::Answered => {}
            Routed::App(route) => {
                answer.asked = asked;
                exchange.take_route(self.plan.site(site), route);
                return Answering::Ask;
            }
            Routed::Check(mut credentials) => {
                answer.asked = asked;
                credentials.before = verdict;
                return Answering::Check(credentials);
            }
            Routed::Await(wanting) => {
                answer.asked = asked;
                return Answering::Await(wanting);
            }
            Routed::Elsewhere(elsewhere) => {
                connection.outbox = answer.outbox.take();
                // The process that answers the request counts it.
                connection.requests -= 1;
                return Answering::Pass(elsewhere);
            }
            Routed::Script(route, wanted) => {
                answer.asked = asked;
                exchange.take_route(self.plan.site(site), route);
                return Answering::Script(wanted);
            }
            Routed::Rewritten(rewritten) => {
                answer.asked = asked;
                return Answering::Rewritten(rewritten);
            }
        }
        let after = self.conclude_answer(connection, answer, exchange.started_us, request);
        // Unread bytes of the body cannot be told from the next request.
        Answering::Done(if unread && after != After::Reset { After::Linger } else { after })
    }

    /// Has the most specific route answer that can. `verdict`: the verdict on the request's credentials.
    #[inline]
    fn route(
        &mut self,
        answer: &mut Answer,
        number: usize,
        request: Request<'_>,
        verdict: Option<&Verdict>,
        mut has_missed: bool,
    ) -> Routed {
        let Self { plan, folders, shared, date, looks, now_ms, .. } = &mut *self;
        let site = plan.site(number);
        if !has_missed && !is_web_socket(request) && !is_for_server(request) {
            if site.is_one_app && !site.refuses(request.path()) {
                return Routed::App(0);
            }
            // In the usual case the first route has nothing around it.
            if site.ahead.is_none()
                && let Ok(path) = site.spelled(request.path())
                && let Some((number, pattern, route)) = site.routes.first(&path)
                && route.is_bare()
            {
                match &route.action {
                    Action::App(_) => return Routed::App(number),
                    Action::Files(folder) => {
                        let bytes = site.raw_bytes(request.path(), pattern.prefix_bytes());
                        let mut reply = Reply::new(answer, &shared.common, date);
                        if serve_file(&mut reply, &mut folders[*folder], request, bytes, *looks) {
                            return Routed::Answered;
                        }
                        has_missed = true;
                    }
                    Action::Folders(own) => {
                        let own_bytes = pattern.prefix_bytes();
                        let inside = Inside { site, number, route, path: &path, own_bytes };
                        let asking = Asking { request, client: client_of(answer), verdict };
                        let folder = &mut folders[own.number];
                        let moment = Moment { now_ms: *now_ms, looks: *looks };
                        let replies = Replies { common: &shared.common, date };
                        match answer_in(answer, inside, own, folder, moment, asking, replies) {
                            Some(routed) => return routed,
                            None => has_missed = true,
                        }
                    }
                    &Action::Elsewhere { passage, .. } => {
                        return Routed::Elsewhere(Elsewhere { passage, has_missed });
                    }
                    _ => {}
                }
            }
        }
        self.try_routes(answer, number, request, verdict, has_missed)
    }

    /// Tries each route of a site. `has_missed`: a folder was asked already, and lacks the file.
    pub(crate) fn try_routes(
        &mut self,
        answer: &mut Answer,
        site: usize,
        request: Request<'_>,
        verdict: Option<&Verdict>,
        mut has_missed: bool,
    ) -> Routed {
        let Self { plan, folders, shared, date, looks, cache_key, now_ms, .. } = self;
        let (site, client) = (plan.site(site), client_of(answer));
        let replies = Replies { common: &shared.common, date };
        let Ok(path) = site.spelled(request.path()) else {
            replies.to(answer).fail(400, DOT_SEGMENT);
            return Routed::Answered;
        };
        if let Some(routed) = come_to_routes(answer, site, &path, request, replies) {
            return routed;
        }
        let mut methods: Vec<&[u8]> = Vec::new();
        for (number, pattern, route) in site.routes.of(&path) {
            let is_passed = has_missed && route.action.is_folder();
            if is_passed || !route.takes(request, client, &mut methods) {
                continue;
            }
            let asking = Asking { request, client, verdict };
            let inside = Inside { site, number, route, path: &path, own_bytes: pattern.prefix_bytes() };
            let stopped = come_in(answer, route, asking, replies);
            if let Some(routed) = stopped.or_else(|| lead_to_scripts(answer, inside, asking, replies)) {
                return routed;
            }
            let prefix = || site.raw_bytes(request.path(), inside.own_bytes);
            let mut reply = replies.to(answer);
            match &route.action {
                Action::Files(_) | Action::Folders(_) => {
                    let moment = Moment { now_ms: *now_ms, looks: *looks };
                    match answer_with_file(answer, inside, folders, moment, asking, replies) {
                        Some(routed) => return routed,
                        None => has_missed = true,
                    }
                    leave(answer, site, route);
                    continue;
                }
                Action::App(_) if is_web_socket(request) => reply.fail(501, NO_WEB_SOCKETS),
                _ if is_for_server(request) => break,
                Action::App(_) => return ask(&mut reply, request, inside, cache_key, *now_ms, None),
                &Action::Elsewhere { passage, .. } => {
                    return Routed::Elsewhere(Elsewhere { passage, has_missed });
                }
                Action::Cgi(cgi) => match cgi.wanted(&path, inside.own_bytes) {
                    Ok(wanted) => {
                        let led = lead_behind(answer, inside, wanted.name(), asking, replies);
                        return led.unwrap_or_else(|| {
                            ask(&mut replies.to(answer), request, inside, cache_key, *now_ms, Some(wanted))
                        });
                    }
                    Err(missing) => reply.fail(missing.status, missing.detail),
                },
                Action::Page(page) => write_page(&mut reply, page),
                Action::Fixed(fixed) => fixed.answer(&mut reply),
                Action::Redirect(status, to) => redirect(&mut reply, *status, &to.of(request, prefix())),
            }
            return Routed::Answered;
        }
        answer.changes = None;
        answer_for_server(&mut replies.to(answer), request, &methods);
        Routed::Answered
    }

    /// Gives a request its id.
    fn name(&mut self, request: Request<'_>) -> RequestId {
        let config = &self.shared.config;
        let value = |name: &[u8]| request.all_named(name).next();
        let names = !config.request_id_field.is_empty();
        let given = if names { value(&config.request_id_field) } else { None };
        let traceparent = if config.logs_traces { value(b"traceparent") } else { None };
        self.ids.next(given, traceparent)
    }

    /// Begins the answer to a request that has its id.
    pub(crate) fn begin_answer(&self, answer: &mut Answer, asked: Asked, id: RequestId) {
        write_name(answer, &self.shared.common, &id);
        answer.begin(asked, id);
    }

    /// Goes on after the application has answered in a call of this loop's driver.
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
                Left::Onward => {
                    let connection = this.connections.take_away(key);
                    this.send_on(connection, exchange, desk)
                }
                Left::Judged(judged) => {
                    let connection = this.connections.take_away(key);
                    this.answer_judged(connection, exchange, *judged, desk)
                }
            };
            this.work_on(key, step, desk)
        })
    }

    /// Concludes a whole answer of the application.
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

    /// Begins to send an answer of which the application has given the beginning.
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

    /// Logs an answer, and gives the connection its outbox back. Returns the connection's next step.
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

    /// Returns when the loop learned of the requests that it looks at, in us of the monotonic clock.
    pub(crate) fn start_us(&self) -> u64 {
        self.calls.batch_since_us()
    }

    /// Counts an answer, and logs it. The path of a request reads the clock here, and nowhere else.
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
        let (row, row_of_site) = (answer.row, outbox.terms.row());
        self.shared.tally.note_answer(&Answered { status, body_bytes, row, row_of_site, duration_us });
        if let Some(log) = &outbox.terms.log {
            let (peer, id) = (answer.client(outbox.peer), &answer.id);
            let mut first = Head::new();
            // The log shows the request as the client has sent it.
            let sent = answer.onward.as_ref();
            let sent = sent.and_then(|onward| onward.first(&mut first, &self.shared.config.head));
            let request = sent.or(request);
            let user = answer.asker.as_ref().and_then(|asker| asker.user.as_ref());
            let user = user.map(|user| &*user.name);
            let site = outbox.terms.name.as_deref();
            let record = Record { peer, request, refused, site, user, status, body_bytes, duration_us, id };
            lock(log).record(&record);
        }
    }
}

/// Ignoring `Upgrade` would be allowed (RFC 9110 section 7.8), but then the application would fail, with words of its
/// own. A 426 would say the opposite: that the client has to upgrade.
const NO_WEB_SOCKETS: &str = "WebSockets are not served here: an application cannot take a connection over.";

/// Browsers resolve such segments themselves.
const DOT_SEGMENT: &str = "The path has a . or .. as a segment.";

const NOTHING: &str = "Nothing is served here.";

const DENIED: &str = "Nobody gets what is at this path.";

const TOO_MANY: &str = "You have sent too many requests in a short time.";

const FOLDER_CHANGING: &str = "The folder is being changed; try again.";

const WRONG_FOLDER: &str = "The settings of a folder on this path are wrong; the server's log says how.";

const NOT_RUN: &str = "Files are not run here.";

const NOT_ADMITTED: &str = "It is not for clients with this address.";

/// A request that looks for its route, and the facts about it that the rules of routes ask for.
#[derive(Clone, Copy)]
struct Asking<'a> {
    request: Request<'a>,
    /// The client's address, as far as it is known.
    client: Option<IpAddr>,
    /// The verdict on the request's credentials, if they were verified.
    verdict: Option<&'a Verdict>,
}

/// The parts of the server that every reply is made with.
#[derive(Clone, Copy)]
struct Replies<'r> {
    common: &'r Common,
    date: &'r [u8; 29],
}

impl<'r> Replies<'r> {
    /// Begins the reply that becomes this answer.
    #[inline]
    fn to<'c>(self, answer: &'c mut Answer) -> Reply<'c>
    where
        'r: 'c,
    {
        Reply::new(answer, self.common, self.date)
    }
}

/// The moment of a look at folders: its time, and the number of the loop's looks ([`Loop::looks`]).
#[derive(Clone, Copy)]
struct Moment {
    now_ms: u64,
    looks: u64,
}

/// Folders that say themselves how they are served, and their rules for the path of a request.
#[derive(Clone, Copy)]
struct Ruled<'f> {
    folders: &'f Folders,
    place: &'f Place,
}

/// Returns the address of the client, as far as it is known.
fn client_of(answer: &mut Answer) -> Option<IpAddr> {
    let peer = answer.outbox().peer;
    answer.client(peer).map(|client| client.ip())
}

/// Applies the rules of a site that come before all its routes. Returns a result if the request does not come to the
/// routes.
fn come_to_routes(
    answer: &mut Answer,
    site: &Site,
    path: &[u8],
    request: Request<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    if site.denies(path) {
        replies.to(answer).fail(403, DENIED);
        return Some(Routed::Answered);
    }
    let is_first = answer.onward.is_none() && !is_for_server(request);
    let target = if is_first { site.rewritten(path, request) } else { None };
    target.map(|target| Routed::Rewritten(Rewritten { target, met: None }))
}

/// Applies the rules around a route, before its action. Returns a result if the request does not come to the action.
/// The answer has the changes of the route from here on.
fn come_in(answer: &mut Answer, route: &Route, asking: Asking<'_>, replies: Replies<'_>) -> Option<Routed> {
    if route.changes.is_some() || answer.changes.is_some() {
        answer.changes.clone_from(&route.changes);
        answer.compress = route.compress.as_ref().map(|rules| Wanted::by(asking.request, rules));
    }
    keep_lines(answer);
    if let Some(terms) = route.apart.as_ref().and_then(|apart| apart.terms.as_ref()) {
        answer.outbox().terms = Arc::clone(terms);
    }
    let met = answer.onward.as_ref().and_then(|onward| onward.met.as_ref());
    let past = met.map(|met| route.past(met)).unwrap_or_default();
    meet(answer, route, past, asking, replies)
}

/// Checks whether a request may come to a route. Returns a result if it may not, or if that is not known yet.
fn meet(
    answer: &mut Answer,
    route: &Route,
    past: Past,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let onward = answer.onward.as_ref();
    let is_sent = onward.is_some_and(|onward| onward.times > 0);
    if route.is_internal() && !is_sent {
        replies.to(answer).fail(404, NOTHING);
        return Some(Routed::Answered);
    }
    // A request whose credentials were looked at, or that was sent on, was counted before.
    let is_new = asking.verdict.is_none() && !is_sent && !past.is_counted;
    if let Some(limiter) = route.limiter.as_ref().filter(|_| is_new)
        && let Some(wait_s) = limiter.wait_s(asking.client)
    {
        let wait_s = wait_s.to_string();
        replies.to(answer).page(429, TOO_MANY, &[(b"Retry-After", wait_s.as_bytes())]);
        return Some(Routed::Answered);
    }
    match route.door(asking.client) {
        Door::Guarded(_) if past.is_let_in => None,
        door => pass(answer, &door, asking, replies),
    }
}

/// Adds the field with the request's id to an answer, if the server has such a field.
#[expect(clippy::inline_always, reason = "a call would cost more than the work, at each request")]
#[inline(always)]
fn write_name(answer: &mut Answer, common: &Common, id: &RequestId) {
    if !common.config.request_id_field.is_empty() {
        write_name_in(answer, &common.config.request_id_field, id);
    }
}

#[inline(never)]
fn write_name_in(answer: &mut Answer, field: &[u8], id: &RequestId) {
    let mut line = field.to_vec();
    line.extend_from_slice(format!(": {id}\r\n").as_bytes());
    answer.lines = line.into();
}

/// Leaves a folder that lacks the file: the next route must not find its terms.
#[inline]
fn leave(answer: &mut Answer, site: &Site, route: &Route) {
    if route.apart.is_some() {
        answer.outbox().terms = Arc::clone(&site.terms);
    }
}

/// Adds lines to the answer's changes, if an application has sent the request on: the lines of its answer that stay.
#[inline]
fn keep_lines(answer: &mut Answer) {
    if let Some(onward) = answer.onward.as_ref().filter(|onward| !onward.kept.is_empty()) {
        answer.changes = Some(onward.changes_of(answer.changes.as_deref().unwrap_or(&Changes::default())));
    }
}

/// A route that a request has come into.
#[derive(Clone, Copy)]
struct Inside<'p> {
    site: &'p Arc<Site>,
    number: usize,
    route: &'p Route,
    /// The path in its one spelling.
    path: &'p [u8],
    /// Bytes of the path that are the route's own.
    own_bytes: usize,
}

impl Inside<'_> {
    /// Whether the request was at this route before. If so, the route is a folder that lacks the file, and need not be
    /// asked again.
    fn has_passed(&self, number: usize, route: &Route) -> bool {
        let mut before = self.site.routes.of(self.path).take_while(|(other, ..)| *other != self.number);
        route.action.is_folder() && before.any(|(other, ..)| other == number)
    }
}

/// Answers with a file; `None` if there is no such file.
fn answer_with_file(
    answer: &mut Answer,
    inside: Inside<'_>,
    folders: &mut [Folder],
    moment: Moment,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    match &inside.route.action {
        Action::Folders(own) => {
            answer_in(answer, inside, own, &mut folders[own.number], moment, asking, replies)
        }
        Action::Files(number) => {
            serve_at(answer, inside, &mut folders[*number], None, moment.looks, asking, replies)
                .unwrap_or_default()
        }
        _ => None,
    }
}

/// Answers with a file, a page or a program of a folder, by the rules of the folders on the way; `None` if there is no
/// such file.
fn answer_in(
    answer: &mut Answer,
    inside: Inside<'_>,
    folders: &Folders,
    folder: &mut Folder,
    moment: Moment,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let Inside { site, path, own_bytes, .. } = inside;
    let rest = path.get(own_bytes..).unwrap_or_default();
    let mut place = folders.place_of(rest, &site.terms, moment.now_ms);
    for _ in 0..CHANGES_MAX {
        if let Some(routed) = enter(answer, &place, asking, replies) {
            return Some(routed);
        }
        if let Some((found, bytes)) = place.answer(rest) {
            let raw_bytes = site.raw_bytes(asking.request.path(), own_bytes + bytes);
            found.answer(&mut replies.to(answer), asking.request, raw_bytes);
            return Some(Routed::Answered);
        }
        let own = Ruled { folders, place: &place };
        if place.runs.has_pages()
            && let Some(routed) = ask_page(answer, inside, own, asking, replies)
        {
            return Some(routed);
        }
        if let Some(runs) = place.runs.programs()
            && let Some(routed) = run_in(answer, inside, own, runs, asking, replies)
        {
            return Some(routed);
        }
        if let Ok(served) = serve_at(answer, inside, folder, Some(own), moment.looks, asking, replies) {
            let served = served.or_else(|| refuse_scripts(answer, inside, &place, asking.request, replies));
            if served.is_none() {
                answer.outbox().terms = Arc::clone(&site.terms);
            }
            return served;
        }
        place = folders.place_now(rest, &site.terms, moment.now_ms);
        answer.outbox().terms = Arc::clone(&site.terms);
    }
    replies.to(answer).fail(503, FOLDER_CHANGING);
    Some(Routed::Answered)
}

/// The most attempts at a path whose folders change while it is answered.
const CHANGES_MAX: usize = 4;

/// Has a program answer that a path names in a folder where some files are run; `None` if it names none.
fn run_in(
    answer: &mut Answer,
    inside: Inside<'_>,
    Ruled { folders, place }: Ruled<'_>,
    runs: &Arc<Runs>,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let request = asking.request;
    let Inside { number, path, own_bytes, .. } = inside;
    let cgi = folders.cgi().filter(|_| !is_for_server(request))?;
    let wanted = match cgi.wanted_among(path, own_bytes, runs) {
        Ok(wanted) => wanted?,
        Err(missing) => {
            replies.to(answer).fail(missing.status, missing.detail);
            return Some(Routed::Answered);
        }
    };
    let name = wanted.name().get(own_bytes..).unwrap_or_default();
    if !place.is_file(name) {
        replies.to(answer).fail(CHANGING.status, CHANGING.detail);
        return Some(Routed::Answered);
    }
    // A refusal of the program's name counts for all paths behind that name, too.
    if let Some(refusal) = place.refusal(name) {
        refusal.answer(&mut replies.to(answer), request, 0);
        return Some(Routed::Answered);
    }
    let led = lead_behind(answer, inside, wanted.name(), asking, replies);
    Some(led.unwrap_or(Routed::Script(number, wanted)))
}

/// Has the Python page answer that a path names in a folder with pages; `None` if it names none.
fn ask_page(
    answer: &mut Answer,
    inside: Inside<'_>,
    Ruled { folders, place }: Ruled<'_>,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let request = asking.request;
    let Inside { number, path, own_bytes, .. } = inside;
    let pages = folders.pages().filter(|_| !is_for_server(request))?;
    let rest = path.get(own_bytes..)?;
    let is_of_folder = |file: &[u8]| !rest.get(1..).is_some_and(|rest| rest.starts_with(file));
    match pages.files.find(rest) {
        Ok((named, _)) if !place.runs.is_page(&named.file) => return None,
        // The folder has its own rule for the file that answers for it.
        Ok((named, _)) if place.indexes.is_some() && is_of_folder(&named.file) => return None,
        Err(Unnamed::Unslashed) if place.indexes.is_some() => return None,
        Ok(_) if !place.runs.may_ask_pages() => {
            replies.to(answer).fail(403, NOT_RUN);
            return Some(Routed::Answered);
        }
        Ok((named, _)) => {
            let file = [b"/", &*named.file].concat();
            if let Some(refusal) = place.refusal(&file) {
                refusal.answer(&mut replies.to(answer), request, 0);
                return Some(Routed::Answered);
            }
            let name = [&path[..own_bytes], &file].concat();
            let is_on_the_way = path.starts_with(&name);
            if is_on_the_way && !place.is_file(&file) || place.is_absent && !is_on_the_way {
                replies.to(answer).fail(CHANGING.status, CHANGING.detail);
                return Some(Routed::Answered);
            }
            let led = if is_on_the_way {
                lead_behind(answer, inside, &name, asking, replies)
            } else {
                lead(answer, inside, &name, asking, replies)
            };
            if led.is_some() {
                return led;
            }
        }
        // The page sends the client to the path with a slash.
        Err(Unnamed::Unslashed) => {}
        Err(Unnamed::Absent(why)) if why.status == 404 => return None,
        Err(Unnamed::Absent(why)) => {
            replies.to(answer).fail(why.status, why.detail);
            return Some(Routed::Answered);
        }
    }
    if is_web_socket(request) {
        replies.to(answer).fail(501, NO_WEB_SOCKETS);
        return Some(Routed::Answered);
    }
    Some(Routed::App(number))
}

/// Refuses a request for which there is no file, if a folder refuses everybody the script that may answer in its place.
/// `None` if there is no such script.
fn refuse_scripts(
    answer: &mut Answer,
    inside: Inside<'_>,
    place: &Place,
    request: Request<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let Inside { site, path, own_bytes, .. } = inside;
    if !place.has_answers() {
        return None;
    }
    let behind = site.routes.of(path).filter(|(_, pattern, _)| pattern.prefix_bytes() == own_bytes);
    let names = behind.flat_map(|(_, _, route)| names_of(route, path, own_bytes));
    let refusal = names.into_iter().find_map(|name| place.refusal(&name[own_bytes..]))?;
    refusal.answer(&mut replies.to(answer), request, 0);
    Some(Routed::Answered)
}

/// The error when folders have changed while a file was looked for: their rules are to be found anew.
struct Changed;

/// Answers with a file, if the other rules around its path allow that; `None` if there is no such file.
fn serve_at(
    answer: &mut Answer,
    inside: Inside<'_>,
    folder: &mut Folder,
    own: Option<Ruled<'_>>,
    looks: u64,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Result<Option<Routed>, Changed> {
    let Inside { site, route, path, own_bytes, .. } = inside;
    let request = asking.request;
    let prefix_bytes = site.raw_bytes(request.path(), own_bytes);
    let place = own.map(|own| own.place);
    let has_indexes = place.is_some_and(|place| place.indexes.is_some());
    let has_programs = place.is_some_and(|place| place.runs.programs().is_some());
    let mut names_others = route.names_others() || has_programs || has_indexes;
    loop {
        let mut reply = replies.to(answer);
        let how = FileWay { own, rest: path.get(own_bytes..).unwrap_or_default(), looks, names_others };
        match serve_in(&mut reply, folder, request, prefix_bytes, how) {
            Served::Sent => return Ok(Some(Routed::Answered)),
            Served::Missed => return Ok(None),
            Served::Changed => return Err(Changed),
            Served::Named(name) => {
                if let Some(refusal) = place.and_then(|place| place.refusal_at_top(&name)) {
                    refusal.answer(&mut reply, request, prefix_bytes);
                    return Ok(Some(Routed::Answered));
                }
                let is_run = place.is_some_and(|place| place.runs.is_program(&name));
                let name = [&path[..own_bytes], b"/", &name].concat();
                // A folder may name any file as its index; that file has its own path, with all the rules around it.
                if is_run || has_indexes {
                    return Ok(Some(rewritten(inside, &name, asking)));
                }
                if let Some(routed) = lead(answer, inside, &name, asking, replies) {
                    return Ok(Some(routed));
                }
                // The rules of the folders on the way to this path were applied, and an index right beneath it has no
                // others. A file elsewhere has.
                let is_beside = name.strip_prefix(path).is_some_and(|rest| !rest.contains(&b'/'));
                if place.is_some() && !is_beside {
                    return Ok(Some(rewritten(inside, &name, asking)));
                }
            }
        }
        names_others = false;
    }
}

/// Applies the rules around the path `name` to a request that the file of that path would answer. Returns a result if
/// it is not answered here after all: the rules refuse it, or another route has that path.
fn lead(
    answer: &mut Answer,
    inside: Inside<'_>,
    name: &[u8],
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    match other(answer, inside, name, asking, replies) {
        Err(routed) => Some(routed),
        Ok(Other::Nothing) => None,
        Ok(Other::Route(_) | Other::Nowhere) => Some(rewritten(inside, name, asking)),
    }
}

/// Applies the rules around the path `name` of a script to a request for a path behind it. Returns a result if this
/// script does not answer after all. A script of another route answers by its own path alone.
fn lead_behind(
    answer: &mut Answer,
    inside: Inside<'_>,
    name: &[u8],
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    if name.len() == inside.path.len() {
        return None;
    }
    let found = match other(answer, inside, name, asking, replies) {
        Err(routed) => return Some(routed),
        Ok(Other::Nothing) => return None,
        Ok(Other::Nowhere) => None,
        Ok(Other::Route(route)) => Some(route),
    };
    let past = |route: &Route| route.past(&inside.route.met(asking.client));
    if let Some(routed) = found.and_then(|route| meet(answer, route, past(route), asking, replies)) {
        return Some(routed);
    }
    let mut reply = replies.to(answer);
    match found.map(|route| &route.action) {
        Some(Action::App(_) | Action::Cgi(_)) => return None,
        Some(Action::Page(page)) => write_page(&mut reply, page),
        Some(Action::Fixed(fixed)) => fixed.answer(&mut reply),
        _ => reply.fail(404, NOTHING),
    }
    Some(Routed::Answered)
}

/// Applies the rules around the paths of all scripts that may answer a path of a folder of scripts, like
/// [`lead_behind`].
fn lead_to_scripts(
    answer: &mut Answer,
    inside: Inside<'_>,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let index = inside.route.scripts_index.as_ref().filter(|_| inside.route.names_others())?;
    scripts_of(inside.path, inside.own_bytes, index).into_iter().find_map(|name| {
        if inside.path.starts_with(&name) {
            lead_behind(answer, inside, &name, asking, replies)
        } else {
            lead(answer, inside, &name, asking, replies)
        }
    })
}

/// Returns the route of another path, if it is not the request's own. `Err`: the rules around that path stop the
/// request.
fn other<'p>(
    answer: &mut Answer,
    inside: Inside<'p>,
    name: &[u8],
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Result<Other<'p>, Routed> {
    let Inside { site, number, .. } = inside;
    if site.denies(name) {
        replies.to(answer).fail(403, DENIED);
        return Err(Routed::Answered);
    }
    let Asking { request, client, .. } = asking;
    let mut methods = Vec::new();
    for (found, _, route) in site.routes.of(name) {
        if found == number {
            return Ok(Other::Nothing);
        }
        if inside.has_passed(found, route) || !route.takes(request, client, &mut methods) {
            continue;
        }
        if !matches!(route.action, Action::Redirect(..)) {
            return Ok(Other::Route(route));
        }
        // A redirect says where clients go, and not which route has the file: the next route counts, once this one's
        // door is open.
        let past = route.past(&inside.route.met(client));
        if let Some(routed) = meet(answer, route, past, asking, replies) {
            return Err(routed);
        }
    }
    Ok(Other::Nowhere)
}

/// Has the request be one for the path of this file from here on.
fn rewritten(inside: Inside<'_>, name: &[u8], asking: Asking<'_>) -> Routed {
    let Asking { request, client, .. } = asking;
    let mut target = escaped(name);
    if !request.query().is_empty() {
        target.push(b'?');
        target.extend_from_slice(request.query());
    }
    Routed::Rewritten(Rewritten { target, met: Some(inside.route.met(client)) })
}

/// Applies the rules of the folders of a path. Returns a result if the request does not come to the file. The answer
/// has the changes and the pages of all these folders from here on.
fn enter(answer: &mut Answer, place: &Place, asking: Asking<'_>, replies: Replies<'_>) -> Option<Routed> {
    begin_in(answer, place);
    if place.is_wrong {
        replies.to(answer).fail(500, WRONG_FOLDER);
        return Some(Routed::Answered);
    }
    place.doors(asking.client).find_map(|door| pass(answer, &door, asking, replies))
}

/// Gives an answer the changes and the terms of the folders of a path.
#[inline]
fn begin_in(answer: &mut Answer, place: &Place) {
    answer.changes.clone_from(&place.changes);
    keep_lines(answer);
    if let Some(terms) = &place.terms {
        answer.outbox().terms = Arc::clone(terms);
    }
}

/// Has a client pass a door. Returns a result if it may not, or if that is not known yet.
fn pass(answer: &mut Answer, door: &Door<'_>, asking: Asking<'_>, replies: Replies<'_>) -> Option<Routed> {
    if matches!(door, Door::Open) {
        return None;
    }
    let (Asking { request, client, verdict }, Replies { common, .. }) = (asking, replies);
    if let Some(arrived) = verdict.and_then(|verdict| verdict.of.as_ref()) {
        // The id of the request while it waited is in logs already.
        write_name(answer, common, &arrived.id);
        answer.id.clone_from(&arrived.id);
    }
    let mut first = Head::new();
    // A digest is made of the target that the client has sent.
    let onward = answer.onward.as_ref();
    let proved = onward.and_then(|onward| onward.first(&mut first, &common.config.head)).unwrap_or(request);
    let let_in_by = answer.asker.as_ref().and_then(|asker| asker.guard);
    let is_again = matches!(door, Door::Guarded(guard) if let_in_by == Some(guard.number));
    match door {
        Door::Open => {}
        Door::Closed => {
            replies.to(answer).fail(403, NOT_ADMITTED);
            return Some(Routed::Answered);
        }
        Door::Guarded(guard) => match guard.judge(Attempt { request: proved, client, verdict, is_again }) {
            Judgement::Pass(Some(user)) => {
                let asker = answer.asker.get_or_insert_default();
                (asker.user, asker.guard) = (Some(user), Some(guard.number));
            }
            Judgement::Pass(None) => {}
            Judgement::Refuse(refused) => {
                deny(&mut replies.to(answer), &guard.denial(refused));
                return Some(Routed::Answered);
            }
            Judgement::Check(credentials) => return Some(Routed::Check(credentials)),
        },
    }
    None
}

/// Has the application of a route answer, or this script, unless the cache does.
fn ask(
    reply: &mut Reply<'_>,
    request: Request<'_>,
    Inside { site, number, route, .. }: Inside<'_>,
    key: &mut Vec<u8>,
    now_ms: u64,
    script: Option<Box<WantedScript>>,
) -> Routed {
    let sought = match &route.cache {
        None => Sought::Ask(script),
        Some(rules) => look_up(reply, request, Looked { site, number, rules: *rules, key, now_ms }, script),
    };
    match sought {
        Sought::Answered => Routed::Answered,
        Sought::Ask(None) => Routed::App(number),
        Sought::Ask(Some(script)) => Routed::Script(number, script),
        Sought::Await(wanting) => Routed::Await(wanting),
    }
}

/// Whether a client wants to speak the WebSocket protocol from now on.
fn is_web_socket(request: Request<'_>) -> bool {
    request.has(Known::SecWebSocketKey) && request.has(Known::Upgrade)
}

/// Whether a request is for the server itself, and never for an application: about the server as a whole, for a tunnel,
/// or for a reflection.
fn is_for_server(request: Request<'_>) -> bool {
    matches!(request.method(), Method::Trace | Method::Connect) || request.target() == b"*"
}

/// Answers with a file, if the folder has one. Returns whether it has; `prefix_bytes` of the path are the route's own.
#[inline]
pub(crate) fn serve_file(
    reply: &mut Reply<'_>,
    folder: &mut Folder,
    request: Request<'_>,
    prefix_bytes: usize,
    looks: u64,
) -> bool {
    let prefix = &request.path()[..prefix_bytes];
    let made = reply.render(|out, asked, identity| {
        folder.answer(
            &FileAsk {
                request,
                prefix,
                asked,
                identity,
                fresh: looks,
                as_stored: false,
                names_others: false,
                indexes: None,
                is_absent: false,
                runs_page: None,
            },
            out,
        )
    });
    reply.take(made)
}

/// The way in which a file is looked for.
struct FileWay<'w> {
    /// The folders beneath that of the route, and their rules for the path: their pages replace the folder's own.
    own: Option<Ruled<'w>>,
    /// The path without the route's part, in its one spelling.
    rest: &'w [u8],
    looks: u64,
    /// Whether a file that another path names is to be named, and not sent.
    names_others: bool,
}

/// The result of looking for a file.
enum Served {
    /// The answer is written.
    Sent,
    /// The folder lacks the file.
    Missed,
    /// The path names another file, by its path beneath the folder.
    Named(Vec<u8>),
    /// The folders have changed while the answer was made, and nothing is written.
    Changed,
}

/// Answers with a file like [`serve_file`], by the rules of the folders beneath the route's.
fn serve_in(
    reply: &mut Reply<'_>,
    folder: &mut Folder,
    request: Request<'_>,
    prefix_bytes: usize,
    FileWay { own, rest, looks, names_others }: FileWay<'_>,
) -> Served {
    let prefix = &request.path()[..prefix_bytes];
    let mark = reply.written_bytes();
    let place = own.map(|own| own.place);
    let as_stored = place.is_some_and(|place| place.is_as_stored);
    let is_absent = place.is_some_and(|place| place.is_absent);
    let indexes = place.and_then(|place| place.indexes.as_deref());
    let mut is_changed = false;
    let runs_page = |page: &[u8]| own.is_some_and(|own| own.folders.run_page(page));
    let made = reply.render(|out, asked, identity| {
        let ask = FileAsk {
            request,
            prefix,
            asked,
            identity,
            fresh: looks,
            as_stored,
            names_others,
            indexes,
            is_absent,
            runs_page: Some(&runs_page),
        };
        let (start, opened) = (out.len(), folder.opened());
        let made = match place.filter(|place| place.runs.programs().is_some()) {
            Some(place) => folder.answer_unless(|name| place.runs.is_program(name), &ask, out),
            None => folder.answer(&ask, out),
        };
        is_changed = folder.opened() != opened
            && own.is_some_and(|own| !own.folders.says_still(rest, own.place, folder.root()));
        if is_changed {
            out.truncate(start);
        }
        made
    });
    if is_changed {
        folder.forget();
        return Served::Changed;
    }
    let page = made.status().and_then(|status| place?.page_of(status));
    let is_taken = match (page, made) {
        (_, FileAnswer::Named(name)) => return Served::Named(name),
        (Some(page), made) => reply.take_page(&made, mark, page),
        (None, made) => reply.take(made),
    };
    if is_taken { Served::Sent } else { Served::Missed }
}

impl FolderAnswer {
    /// Writes this answer; `bytes` of the path are the folder's own.
    fn answer(&self, reply: &mut Reply<'_>, request: Request<'_>, bytes: usize) {
        match self {
            FolderAnswer::Redirect(status, location) => {
                redirect(reply, *status, &location.of(request, bytes));
            }
            FolderAnswer::Status(status) => reply.fail(*status, ""),
        }
    }
}

/// Answers with an error page of the server.
fn write_page(reply: &mut Reply<'_>, page: &ErrorPage) {
    let made = reply.render(|out, asked, identity| page.write(out, asked, &identity, &[]));
    reply.take(made);
}

/// Answers why a client is not let in, and what it can do.
fn deny(reply: &mut Reply<'_>, denial: &Denial) {
    let fields: Vec<(&[u8], &[u8])> = denial.fields.iter().map(|(name, value)| (*name, &**value)).collect();
    reply.page(denial.status, denial.detail, &fields);
}

/// Redirects a client.
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
            // The maker of the plan has not checked its media type.
            Err(_) => reply.fail(500, "The answer of this route cannot be sent."),
        }
    }
}

/// Answers a request that no route answers. `methods`: the methods with which a route would.
fn answer_for_server(reply: &mut Reply<'_>, request: Request<'_>, methods: &[&[u8]]) {
    let allowed = if methods.is_empty() { METHODS.to_vec() } else { methods.join(&b", "[..]) };
    let (status, detail) = match request.method() {
        // Reflecting a request would show a script what the browser hides from it.
        Method::Trace => (405, "The method TRACE is not served."),
        Method::Connect => (501, "The method CONNECT is not served."),
        Method::Options if request.target() == b"*" => {
            let written: Result<(), BadResponse> =
                reply.head(204, b"No Content", BodySize::Known(0), |head| head.field(b"Allow", METHODS));
            debug_assert!(written.is_ok());
            return;
        }
        _ if !methods.is_empty() => (405, "This path is not served with this method."),
        _ => return reply.fail(404, NOTHING),
    };
    reply.page(status, detail, &[(b"Allow", &allowed)]);
}
