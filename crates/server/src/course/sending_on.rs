//! Requests that get another target: by a rule of their site, or because an application or a script sends them on.

use std::sync::Arc;

use adyton_http1::Parsed;
use adyton_log::{self as log, messages};

use crate::answering::answer::Answer;
use crate::answering::exchange::{Exchange, Owned, RequestBytes, parse_again};
use crate::answering::onward::{Onward, Rewritten, TIMES_MAX, To, head_at, head_for};
use crate::answering::reply::Reply;
use crate::answering::step::{Next, Step};
use crate::client::body::OwnedBody;
use crate::course::caching::await_kept;
use crate::course::checking::begin_check;
use crate::course::concluding::{begin_answer, conclude, conclude_answer};
use crate::course::dispatch::ask_application;
use crate::course::passing::pass_on_owned;
use crate::course::routing::asking::Routed;
use crate::course::routing::files::serve_file;
use crate::course::routing::try_routes;
use crate::course::scripting::begin_script;
use crate::course::turn::Turn;
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

/// Answers a request that was sent on, as one for the new target, with GET or HEAD and without a body. The guards
/// of that target hold for this request, too.
pub(crate) fn send_on(mut turn: Turn<'_>, mut exchange: Box<Exchange>) -> Step {
    if let Some(rest) = exchange.leave_desk(&turn.desk.buffer).filter(|rest| !rest.is_empty()) {
        turn.connection.keep(rest, true);
    }
    if !exchange.rest.is_empty() {
        (turn.connection.carry, turn.connection.unparsed) = (std::mem::take(&mut exchange.rest), true);
    }
    let RequestBytes::Owned(owned) = exchange.take_request() else {
        return Step::On(turn.connection, Next::Close);
    };
    exchange.outbox().output.lend(&mut turn.desk.spare);
    parse_again(&mut turn.desk.head, &owned.head, &turn.driven.shared.config.head);
    let mut to = exchange.answer.onward.as_mut().and_then(|onward| onward.depart(&owned.head));
    let target =
        if let Some(To::File(_, target) | To::Path(target)) = &to { target.clone() } else { b"/".to_vec() };
    let head = head_for(turn.desk.head.of(&owned.head), &target);
    if !matches!(turn.desk.head.parse(&head, &turn.driven.shared.config.head), Ok(Parsed::Complete)) {
        to = Some(To::Nowhere(format!("{} is no path as requests have them", target.escape_ascii())));
        parse_again(&mut turn.desk.head, &owned.head, &turn.driven.shared.config.head);
    }
    let site = exchange.site.as_ref().and_then(|site| turn.driven.plan.find(site));
    let routed =
        route_onward(turn.driven, &mut exchange, turn.desk, &head, Target { site, to, has_missed: false });
    let owned = Owned { head, body: OwnedBody::Empty };
    follow_onward(turn, exchange, owned, site, routed)
}

/// Answers the request of the desk's exchange as one for another target; the desk's head is parsed.
pub(crate) fn rewrite(mut turn: Turn<'_>, Rewritten { target, met }: Rewritten) -> Step {
    let mut exchange = turn.desk.take_exchange();
    exchange.key = turn.key;
    // The request was counted when its answer began.
    let has_missed = turn.connection.requests == 1
        && turn.connection.arrived.as_ref().is_some_and(|arrival| arrival.has_missed);
    if let Some(rest) = exchange.leave_desk(&turn.desk.buffer).filter(|rest| !rest.is_empty()) {
        turn.connection.keep(rest, true);
    }
    let RequestBytes::Owned(owned) = exchange.take_request() else {
        return Step::On(turn.connection, Next::Close);
    };
    let site = turn.driven.plan.number_of(turn.desk.head.of(&owned.head), &mut turn.driven.last_host);
    let head = head_at(turn.desk.head.of(&owned.head), &target);
    let Owned { head: before, body } = *owned;
    let onward = exchange.answer.onward.take();
    let mut onward = onward.unwrap_or_else(|| Box::new(Onward::rewritten(before)));
    onward.named += u8::from(met.is_some());
    onward.met = met;
    let is_turning = onward.named > TIMES_MAX;
    exchange.answer.onward = Some(onward);
    let to = if is_turning {
        To::Nowhere(format!("more than {TIMES_MAX} files, one after the other, were named to answer it"))
    } else if matches!(turn.desk.head.parse(&head, &turn.driven.shared.config.head), Ok(Parsed::Complete)) {
        To::Path(target)
    } else {
        To::Nowhere("the new head is longer than those of requests may be".to_owned())
    };
    let routed = route_onward(
        turn.driven,
        &mut exchange,
        turn.desk,
        &head,
        Target { site: Some(site), to: Some(to), has_missed },
    );
    let owned = Owned { head, body };
    follow_onward(turn, exchange, owned, Some(site), routed)
}

/// A new target of a request.
struct Target {
    /// The number of the request's site, if that is still served.
    site: Option<usize>,
    to: Option<To>,
    /// Whether a folder was asked for the request already, and lacks the file.
    has_missed: bool,
}

/// Answers a request at its new target, or finds what is to answer it; the desk's head is the one for that target.
fn route_onward(
    driven: &mut Loop,
    exchange: &mut Exchange,
    desk: &Desk,
    head: &[u8],
    target: Target,
) -> Routed {
    let Target { site, to, has_missed } = target;
    let request = desk.head.of(head);
    let answer = &mut exchange.answer;
    let mut asked = desk.head.asked();
    asked.keep_alive &= answer.asked.keep_alive;
    let (id, whose) = (answer.id.clone(), answer.asker.take());
    begin_answer(driven, answer, asked, id);
    answer.asker = whose;
    match (site, to) {
        (Some(site), Some(To::Path(_))) => {
            // The route that has sent the request on may have had other terms.
            answer.outbox().terms = Arc::clone(&driven.plan.site(site).terms);
            let onward = answer.onward.as_ref();
            let is_bound = onward.is_some_and(|onward| onward.times > 0 && !onward.is_plain);
            match try_routes(driven, answer, site, request, None, has_missed) {
                Routed::Elsewhere(_) if is_bound => fail_nowhere(driven, answer, OF_ANOTHER_PROCESS),
                routed => return routed,
            }
        }
        (Some(_), Some(To::File(folder, _))) => {
            answer.changes = answer.onward.as_ref().map(|onward| onward.changes_of(&onward.changes));
            let Loop { folders, shared, date, looks, .. } = driven;
            let mut reply = Reply::new(answer, &shared.common, date);
            if !serve_file(&mut reply, &mut folders[folder], request, 0, *looks) {
                reply.fail(404, NO_FILE);
            }
        }
        (_, Some(To::Nowhere(why))) => fail_nowhere(driven, answer, &why),
        // The site is no longer served: its paths and folders may mean something else by now.
        _ => Reply::new(answer, &driven.shared.common, &driven.date).fail(503, HAS_CHANGED),
    }
    Routed::Answered
}

/// Answers a request that was sent on where it cannot go, and logs why.
fn fail_nowhere(driven: &Loop, answer: &mut Answer, why: &str) {
    log::write_about(
        Some(&answer.id),
        &messages::SENT_NOWHERE,
        format_args!("a request was sent on where it cannot go: {why}"),
    );
    Reply::new(answer, &driven.shared.common, &driven.date).fail(500, CANNOT_GO);
}

/// Goes on with a request that has another target.
fn follow_onward(
    mut turn: Turn<'_>,
    mut exchange: Box<Exchange>,
    owned: Owned,
    site: Option<usize>,
    routed: Routed,
) -> Step {
    if matches!(routed, Routed::Answered) {
        let Exchange { answer, started_us, .. } = &mut *exchange;
        let asked_for = turn.desk.head.of(&owned.head);
        let after = conclude_answer(turn.driven, &mut turn.connection, answer, *started_us, asked_for);
        turn.desk.keep_exchange(exchange);
        return conclude(turn, after);
    }
    if let Routed::Rewritten(rewritten) = routed {
        exchange.request = RequestBytes::Owned(Box::new(owned));
        turn.desk.exchange = Some(exchange);
        return rewrite(turn, rewritten);
    }
    if let Routed::Elsewhere(elsewhere) = routed {
        // The other process applies the site's rule, too, so the original head is passed on; but not if this process
        // had to look into a folder to find the target.
        let onward = exchange.answer.onward.take();
        let sent = onward.filter(|onward| onward.times == 0 && onward.named == 0);
        let head = sent.map_or(owned.head, |onward| onward.head);
        turn.connection.outbox = exchange.answer.outbox.take();
        // The process that answers the request counts it.
        turn.connection.requests -= 1;
        turn.desk.keep_exchange(exchange);
        let owned = Owned { head, body: owned.body };
        return pass_on_owned(turn, elsewhere, &owned);
    }
    exchange.endpoint = turn.desk.endpoint.of(turn.desk.head.reads(), turn.desk.head.of(&owned.head));
    exchange.request = RequestBytes::Owned(Box::new(owned));
    if let (Routed::App(route) | Routed::Script(route, _), Some(site)) = (&routed, site) {
        exchange.take_route(turn.driven.plan.site(site), *route);
    }
    turn.desk.exchange = Some(exchange);
    match routed {
        Routed::Check(credentials) => begin_check(turn, credentials),
        Routed::Script(_, wanted) => begin_script(turn, wanted),
        Routed::Await(wanting) => await_kept(turn, wanting),
        _ => ask_application(turn),
    }
}

const NO_FILE: &str = "There is no such file.";

const OF_ANOTHER_PROCESS: &str = "another process answers that route; an application of a group can send requests on to applications of its group, and to \
     folders of routes that are internal";

const CANNOT_GO: &str = "This request was sent on where it cannot go.";

const HAS_CHANGED: &str = "The sites of this server have just changed. Please try again.";
