//! The answer to one request: by the route that its path takes, or by the server itself.
//!
//! | file | holds |
//! | --- | --- |
//! | `asking` | the request at its routes, and the results that a route has |
//! | `rules` | the rules around routes and paths: who may come to them, and which path answers |
//! | `files` | the answers of folders: files, pages, programs |

pub(crate) mod asking;
pub(crate) mod files;
pub(crate) mod rules;

use std::sync::Arc;

use adyton_http::{BadResponse, BodySize, Method, Request};
use adyton_http1::Asked;
use adyton_log::request::RequestId;
use adyton_route::{AheadRule, Coming, coming};

use crate::answering::answer::{After, Answer};
use crate::answering::coder::Wanted;
use crate::answering::exchange::Exchange;
use crate::answering::onward::Rewritten;
use crate::answering::reply::Reply;
use crate::answering::step::Answering;
use crate::answering::verdict::Verdict;
use crate::cache::looking::{Looked, Sought, look_up};
use crate::cgi::WantedScript;
use crate::client::asker::Asker;
use crate::client::connection::Connection;
use crate::client::outbox::Outbox;
use crate::client::passage::Elsewhere;
use crate::course::concluding::{begin_answer, conclude_answer};
use crate::course::routing::asking::{
    Asking, DENIED, Inside, Moment, NOTHING, Replies, Routed, client_of, is_for_server, is_web_socket,
    redirect, write_fixed, write_page,
};
use crate::course::routing::files::{answer_in, answer_with_file, serve_file};
use crate::course::routing::rules::{come_in, lead_behind, lead_to_scripts, leave};
use crate::event_loop::Loop;
use crate::site::plan::{Action, Site};

/// The `Allow` field of the answer to `OPTIONS *`, for the server as a whole (RFC 9110 section 9.3.7).
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Answers one request, or returns how it is to be answered; then the exchange has the outbox, unless another
/// process is to answer. `unread`: the request has a body that was not read.
pub(crate) fn answer_request(
    driven: &mut Loop,
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
    exchange.started_us = began_us.unwrap_or_else(|| driven.start_us());
    let answer = &mut exchange.answer;
    answer.outbox = connection.outbox.take();
    answer.outbox().begun = false;
    let site = enter_site(driven, answer.outbox(), request);
    let requests_max = answer.outbox().terms.limits.keep_alive_requests_max;
    let last = requests_max != 0 && connection.requests >= requests_max;
    asked.keep_alive &= !(last || driven.stopping_ms.is_some() || driven.gives_away());
    let mut own = asked;
    own.keep_alive &= !unread;
    let id = name_request(driven, request);
    begin_answer(driven, answer, own, id);
    if let Some(trust) = &driven.shared.config.trust {
        answer.asker = Asker::told(trust, answer.outbox().peer, request);
    }
    match find_route(driven, answer, site, request, verdict.as_deref(), has_missed) {
        Routed::Answered => {}
        Routed::App(route) => {
            answer.asked = asked;
            exchange.take_route(driven.plan.site(site), route);
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
            exchange.take_route(driven.plan.site(site), route);
            return Answering::Script(wanted);
        }
        Routed::Rewritten(rewritten) => {
            answer.asked = asked;
            return Answering::Rewritten(rewritten);
        }
    }
    let after = conclude_answer(driven, connection, answer, exchange.started_us, request);
    // Unread bytes of the body cannot be told from the next request.
    Answering::Done(if unread && after != After::Reset { After::Linger } else { after })
}

/// Returns the number of the site that a request is for. The connection has the terms of that site from now on.
#[inline]
pub(crate) fn enter_site(driven: &mut Loop, outbox: &mut Outbox, request: Request<'_>) -> usize {
    let number = driven.plan.number_of(request, &mut driven.last_host);
    let terms = &driven.plan.site(number).terms;
    if !Arc::ptr_eq(terms, &outbox.terms) {
        outbox.terms = Arc::clone(terms);
    }
    number
}

/// Gives a request its id.
fn name_request(driven: &mut Loop, request: Request<'_>) -> RequestId {
    let config = &driven.shared.config;
    let value = |name: &[u8]| request.all_named(name).next();
    let names = !config.request_id_field.is_empty();
    let given = if names { value(&config.request_id_field) } else { None };
    let traceparent = if config.logs_traces { value(b"traceparent") } else { None };
    driven.ids.next(given, traceparent)
}

/// Finds the most specific route that can answer, and has it answer. `verdict`: the verdict on the request's
/// credentials.
#[inline]
fn find_route(
    driven: &mut Loop,
    answer: &mut Answer,
    number: usize,
    request: Request<'_>,
    verdict: Option<&Verdict>,
    mut has_missed: bool,
) -> Routed {
    let Loop { plan, folders, shared, date, looks, now_ms, .. } = &mut *driven;
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
    try_routes(driven, answer, number, request, verdict, has_missed)
}

/// Tries each route of a site. `has_missed`: a folder was asked already, and lacks the file.
pub(crate) fn try_routes(
    driven: &mut Loop,
    answer: &mut Answer,
    site: usize,
    request: Request<'_>,
    verdict: Option<&Verdict>,
    mut has_missed: bool,
) -> Routed {
    let Loop { plan, folders, shared, date, looks, cache_key, now_ms, .. } = driven;
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
        let coming = coming(route, request, client, has_missed);
        if coming == Coming::OtherMethod {
            methods.extend(route.methods());
        }
        if coming != Coming::Here {
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
                if let Some(routed) = answer_with_file(answer, inside, folders, moment, asking, replies) {
                    return run(answer, inside, routed, request, replies, cache_key, *now_ms);
                }
                has_missed = true;
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
            Action::Fixed(fixed) => write_fixed(&mut reply, fixed),
            Action::Redirect(status, to) => redirect(&mut reply, *status, &to.of(request, prefix())),
        }
        return Routed::Answered;
    }
    answer.changes = None;
    answer_for_server(&mut replies.to(answer), request, &methods);
    Routed::Answered
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
    let is_first = answer.onward.is_none() && !is_for_server(request);
    match site.rule_ahead(path, request, is_first)? {
        AheadRule::Denied(_) => {
            replies.to(answer).fail(403, DENIED);
            Some(Routed::Answered)
        }
        AheadRule::Rewritten(target) => Some(Routed::Rewritten(Rewritten { target, met: None })),
    }
}

/// Has a page or a program of a folder answer, if the result of routing asks for one. The route's rules for answers of
/// applications apply then, and not its rules for files.
fn run(
    answer: &mut Answer,
    inside: Inside<'_>,
    routed: Routed,
    request: Request<'_>,
    replies: Replies<'_>,
    key: &mut Vec<u8>,
    now_ms: u64,
) -> Routed {
    let script = match routed {
        Routed::App(_) => None,
        Routed::Script(_, wanted) => Some(wanted),
        routed => return routed,
    };
    answer.compress = inside.route.compress.as_ref().map(|rules| Wanted::by(request, rules));
    ask(&mut replies.to(answer), request, inside, key, now_ms, script)
}

/// Has the application of a route, or this script, answer, unless the cache has the answer.
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

/// Answers a request that no route answers. `methods`: the methods for which a route has an answer.
fn answer_for_server(reply: &mut Reply<'_>, request: Request<'_>, methods: &[&[u8]]) {
    let allowed = if methods.is_empty() { METHODS.to_vec() } else { methods.join(&b", "[..]) };
    let (status, detail) = match request.method() {
        // A browser hides some fields of a request from scripts; an answer that repeats the request would show them.
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

/// Ignoring `Upgrade` would be allowed (RFC 9110 section 7.8), but then the application would answer with an error of
/// its own. A 426 would say the opposite: that the client has to upgrade.
pub(crate) const NO_WEB_SOCKETS: &str =
    "WebSockets are not served here: an application cannot take a connection over.";

/// Browsers resolve such segments themselves.
const DOT_SEGMENT: &str = "The path has a . or .. as a segment.";
