//! The rules around routes, folders and paths, which a request has to meet before it is answered.

use std::sync::Arc;

use adyton_http1::Head;
use adyton_route::{Come, Other, escaped, other, script_names};

use crate::answering::answer::Answer;
use crate::answering::changes::Changes;
use crate::answering::coder::Wanted;
use crate::answering::met::PassedChecks;
use crate::answering::onward::Rewritten;
use crate::course::concluding::write_name;
use crate::course::routing::asking::{
    Asking, DENIED, Inside, NOTHING, Replies, Routed, deny, write_fixed, write_page,
};
use crate::folders::Place;
use crate::guard::{Attempt, Judgement};
use crate::site::door::Door;
use crate::site::plan::{Action, Route, Site};

/// Applies the rules around a route, before its action. Returns a result if the request does not come to the action.
/// The answer has the changes of the route from here on.
pub(crate) fn come_in(
    answer: &mut Answer,
    route: &Route,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    if route.changes.is_some() || answer.changes.is_some() {
        answer.changes.clone_from(&route.changes);
        // The files of a folder are compressed as files; only answers of programs in the folder are compressed as
        // answers.
        let rules = route.compress.as_ref().filter(|_| !route.action.is_folder());
        answer.compress = rules.map(|rules| Wanted::by(asking.request, rules));
    }
    keep_lines(answer);
    if let Some(terms) = route.apart.as_ref().and_then(|apart| apart.terms.as_ref()) {
        answer.outbox().terms = Arc::clone(terms);
    }
    let met = answer.onward.as_ref().and_then(|onward| onward.met.as_ref());
    let passed = met.map(|met| route.passed(met)).unwrap_or_default();
    meet(answer, route, passed, asking, replies)
}

/// Checks whether a request may come to a route. Returns a result if it may not, or if that is not known yet.
fn meet(
    answer: &mut Answer,
    route: &Route,
    passed: PassedChecks,
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
    let is_new = asking.verdict.is_none() && !is_sent && !passed.is_counted;
    if let Some(limiter) = route.limiter.as_ref().filter(|_| is_new)
        && let Some(wait_s) = limiter.wait_s(asking.client)
    {
        let wait_s = wait_s.to_string();
        replies.to(answer).page(429, TOO_MANY, &[(b"Retry-After", wait_s.as_bytes())]);
        return Some(Routed::Answered);
    }
    match route.door(asking.client) {
        Door::Guarded(_) if passed.is_let_in => None,
        door => pass(answer, &door, asking, replies),
    }
}

/// Applies the rules of the folders of a path. Returns a result if the request does not come to the file. The answer
/// has the changes and the pages of all these folders from here on.
pub(crate) fn enter(
    answer: &mut Answer,
    place: &Place,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
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

/// If an application has sent the request on, adds the lines of its answer that stay to the changes of this answer.
#[inline]
fn keep_lines(answer: &mut Answer) {
    if let Some(onward) = answer.onward.as_ref().filter(|onward| !onward.kept.is_empty()) {
        answer.changes = Some(onward.changes_of(answer.changes.as_deref().unwrap_or(&Changes::default())));
    }
}

/// Leaves a folder that lacks the file: the next route must not find its terms.
#[inline]
pub(crate) fn leave(answer: &mut Answer, site: &Site, route: &Route) {
    if route.apart.is_some() {
        answer.outbox().terms = Arc::clone(&site.terms);
    }
}

/// Has a client pass a door. Returns a result if it may not, or if that is not known yet.
fn pass(answer: &mut Answer, door: &Door<'_>, asking: Asking<'_>, replies: Replies<'_>) -> Option<Routed> {
    if matches!(door, Door::Open) {
        return None;
    }
    let (Asking { request, client, verdict }, Replies { common, .. }) = (asking, replies);
    if let Some(arrived) = verdict.and_then(|verdict| verdict.of.as_ref()) {
        // The request keeps the id that it had while it waited, because logs have that id already.
        write_name(answer, common, &arrived.id);
        answer.id.clone_from(&arrived.id);
    }
    let mut first = Head::new();
    // The client has computed its digest over the target that it has sent.
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

/// Applies the rules around the path `name` to a request that the file of that path would answer. Returns a result if
/// it is not answered here after all: the rules refuse it, or another route has that path.
pub(crate) fn lead(
    answer: &mut Answer,
    inside: Inside<'_>,
    name: &[u8],
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    match route_of(answer, inside, name, asking, replies) {
        Err(routed) => Some(routed),
        Ok(Other::Own) => None,
        Ok(Other::Route(_) | Other::Nowhere) => Some(rewritten(inside, name, asking)),
    }
}

/// Applies the rules around the path `name` of a script to a request for a path behind it. Returns a result if this
/// script does not answer after all. A script of another route answers by its own path alone.
pub(crate) fn lead_behind(
    answer: &mut Answer,
    inside: Inside<'_>,
    name: &[u8],
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    if name.len() == inside.path.len() {
        return None;
    }
    let found = match route_of(answer, inside, name, asking, replies) {
        Err(routed) => return Some(routed),
        Ok(Other::Own) => return None,
        Ok(Other::Nowhere) => None,
        Ok(Other::Route(route)) => Some(route),
    };
    let passed = |route: &Route| route.passed(&inside.route.met(asking.client));
    if let Some(routed) = found.and_then(|route| meet(answer, route, passed(route), asking, replies)) {
        return Some(routed);
    }
    let mut reply = replies.to(answer);
    match found.map(|route| &route.action) {
        Some(Action::App(_) | Action::Cgi(_)) => return None,
        Some(Action::Page(page)) => write_page(&mut reply, page),
        Some(Action::Fixed(fixed)) => write_fixed(&mut reply, fixed),
        _ => reply.fail(404, NOTHING),
    }
    Some(Routed::Answered)
}

/// Applies the rules around the paths of all scripts that may answer a path of a folder of scripts, like
/// [`lead_behind`].
pub(crate) fn lead_to_scripts(
    answer: &mut Answer,
    inside: Inside<'_>,
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Option<Routed> {
    let index = inside.route.scripts_index.as_ref().filter(|_| inside.route.names_others())?;
    script_names(inside.path, inside.own_bytes, index).into_iter().find_map(|name| {
        if inside.path.starts_with(&name) {
            lead_behind(answer, inside, &name, asking, replies)
        } else {
            lead(answer, inside, &name, asking, replies)
        }
    })
}

/// Returns the route of another path. `Err`: the rules around that path stop the request.
fn route_of<'p>(
    answer: &mut Answer,
    inside: Inside<'p>,
    name: &[u8],
    asking: Asking<'_>,
    replies: Replies<'_>,
) -> Result<Other<'p, Route>, Routed> {
    let Inside { site, number, path, .. } = inside;
    if site.denies(name) {
        replies.to(answer).fail(403, DENIED);
        return Err(Routed::Answered);
    }
    let Asking { request, client, .. } = asking;
    other(&site.routes, Come { path, number }, name, request, client, |_, redirect| {
        let passed = redirect.passed(&inside.route.met(client));
        meet(answer, redirect, passed, asking, replies).map_or(Ok(()), Err)
    })
}

/// Turns the request into one for the path of this file.
pub(crate) fn rewritten(inside: Inside<'_>, name: &[u8], asking: Asking<'_>) -> Routed {
    let Asking { request, client, .. } = asking;
    let mut target = escaped(name);
    if !request.query().is_empty() {
        target.push(b'?');
        target.extend_from_slice(request.query());
    }
    Routed::Rewritten(Rewritten { target, met: Some(inside.route.met(client)) })
}

const TOO_MANY: &str = "You have sent too many requests in a short time.";

const WRONG_FOLDER: &str = "The settings of a folder on this path are wrong; the server's log says how.";

const NOT_ADMITTED: &str = "Clients with this address are not let in.";
