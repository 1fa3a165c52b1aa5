//! Requests that get another target: by a rule of their site, or because an application or a script sends them on.

use std::sync::Arc;

use adyton_http::Request;
use adyton_http1::{Head, Limits, Parsed};
use adyton_log::{self as log, messages};

use crate::answering::answer::Answer;
use crate::answering::changes::Changes;
use crate::answering::exchange::{Exchange, Owned, RequestBytes, parse_again};
use crate::answering::onward::{Onward, Rewritten, TIMES_MAX, To, head_at, head_for};
use crate::answering::reply::Reply;
use crate::answering::step::{Next, Step};
use crate::client::body::OwnedBody;
use crate::client::connection::Connection;
use crate::course::routing::{Routed, serve_file};
use crate::event_loop::Loop;
use crate::threads::desk::Desk;

impl Loop {
    /// Answers a request that was sent on, as one for the new target, with GET or HEAD and without a body. The guards
    /// of that target hold for this request, too.
    pub(crate) fn send_on(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        desk: &mut Desk,
    ) -> Step {
        if let Some(rest) = exchange.leave_desk(&desk.buffer).filter(|rest| !rest.is_empty()) {
            connection.keep(rest, true);
        }
        if !exchange.rest.is_empty() {
            (connection.carry, connection.unparsed) = (std::mem::take(&mut exchange.rest), true);
        }
        let RequestBytes::Owned(owned) = exchange.take_request() else {
            return Step::On(connection, Next::Close);
        };
        exchange.outbox().output.lend(&mut desk.spare);
        parse_again(&mut desk.head, &owned.head, &self.shared.config.head);
        let mut to = exchange.answer.onward.as_mut().and_then(|onward| onward.depart(&owned.head));
        let target = if let Some(To::File(_, target) | To::Path(target)) = &to {
            target.clone()
        } else {
            b"/".to_vec()
        };
        let head = head_for(desk.head.of(&owned.head), &target);
        if !matches!(desk.head.parse(&head, &self.shared.config.head), Ok(Parsed::Complete)) {
            to = Some(To::Nowhere(format!("{} is no path as requests have them", target.escape_ascii())));
            parse_again(&mut desk.head, &owned.head, &self.shared.config.head);
        }
        let site = exchange.site.as_ref().and_then(|site| self.plan.find(site));
        let routed = self.route_onward(&mut exchange, desk, &head, (site, to, false));
        let owned = Owned { head, body: OwnedBody::Empty };
        self.follow_onward(connection, exchange, desk, (owned, site, routed))
    }

    /// Answers the request of the desk's exchange as one for another target; the desk's head is parsed.
    pub(crate) fn rewrite(
        &mut self,
        key: usize,
        mut connection: Box<Connection>,
        desk: &mut Desk,
        Rewritten { target, met }: Rewritten,
    ) -> Step {
        let mut exchange = desk.take_exchange();
        exchange.key = key;
        // The request was counted when its answer began.
        let has_missed =
            connection.requests == 1 && connection.arrived.as_ref().is_some_and(|arrival| arrival.has_missed);
        if let Some(rest) = exchange.leave_desk(&desk.buffer).filter(|rest| !rest.is_empty()) {
            connection.keep(rest, true);
        }
        let RequestBytes::Owned(owned) = exchange.take_request() else {
            return Step::On(connection, Next::Close);
        };
        let site = self.plan.number_of(desk.head.of(&owned.head), &mut self.last_host);
        let head = head_at(desk.head.of(&owned.head), &target);
        let Owned { head: before, body } = *owned;
        let onward = exchange.answer.onward.take();
        let mut onward = onward.unwrap_or_else(|| Box::new(Onward::rewritten(before)));
        onward.named += u8::from(met.is_some());
        onward.met = met;
        let is_turning = onward.named > TIMES_MAX;
        exchange.answer.onward = Some(onward);
        let to = if is_turning {
            To::Nowhere(format!("more than {TIMES_MAX} files in turn were to answer it"))
        } else if matches!(desk.head.parse(&head, &self.shared.config.head), Ok(Parsed::Complete)) {
            To::Path(target)
        } else {
            To::Nowhere("the new head is longer than those of requests may be".to_owned())
        };
        let routed = self.route_onward(&mut exchange, desk, &head, (Some(site), Some(to), has_missed));
        let owned = Owned { head, body };
        self.follow_onward(connection, exchange, desk, (owned, Some(site), routed))
    }

    /// Answers a request at its new target, or finds who does; the desk's head is the one for that target. `site` is
    /// the number of the request's site, if that is still served.
    fn route_onward(
        &mut self,
        exchange: &mut Exchange,
        desk: &Desk,
        head: &[u8],
        (site, to, has_missed): (Option<usize>, Option<To>, bool),
    ) -> Routed {
        let request = desk.head.of(head);
        let answer = &mut exchange.answer;
        let mut asked = desk.head.asked();
        asked.keep_alive &= answer.asked.keep_alive;
        let (id, whose) = (answer.id.clone(), answer.asker.take());
        self.begin_answer(answer, asked, id);
        answer.asker = whose;
        match (site, to) {
            (Some(site), Some(To::Path(_))) => {
                // The route that has sent the request on may have had other terms.
                answer.outbox().terms = Arc::clone(&self.plan.site(site).terms);
                let onward = answer.onward.as_ref();
                let is_bound = onward.is_some_and(|onward| onward.times > 0 && !onward.is_plain);
                match self.try_routes(answer, site, request, None, has_missed) {
                    Routed::Elsewhere(_) if is_bound => self.fail_nowhere(answer, OF_ANOTHER_PROCESS),
                    routed => return routed,
                }
            }
            (Some(_), Some(To::File(folder, _))) => {
                answer.changes = answer.onward.as_ref().map(|onward| onward.changes_of(&onward.changes));
                let Self { folders, shared, date, looks, .. } = self;
                let mut reply = Reply::new(answer, &shared.common, date);
                if !serve_file(&mut reply, &mut folders[folder], request, 0, *looks) {
                    reply.fail(404, NO_FILE);
                }
            }
            (_, Some(To::Nowhere(why))) => self.fail_nowhere(answer, &why),
            // A site that is served no longer: paths and folders may mean something else by now.
            _ => Reply::new(answer, &self.shared.common, &self.date).fail(503, HAS_CHANGED),
        }
        Routed::Answered
    }

    /// Answers a request that was sent on where it cannot go, and logs why.
    fn fail_nowhere(&self, answer: &mut Answer, why: &str) {
        log::write_about(
            Some(&answer.id),
            &messages::SENT_NOWHERE,
            format_args!("a request was sent on where it cannot go: {why}"),
        );
        Reply::new(answer, &self.shared.common, &self.date).fail(500, CANNOT_GO);
    }

    /// Goes on with a request that has another target.
    fn follow_onward(
        &mut self,
        mut connection: Box<Connection>,
        mut exchange: Box<Exchange>,
        desk: &mut Desk,
        (owned, site, routed): (Owned, Option<usize>, Routed),
    ) -> Step {
        let key = exchange.key;
        if matches!(routed, Routed::Answered) {
            let Exchange { answer, started_us, .. } = &mut *exchange;
            let asked_for = desk.head.of(&owned.head);
            let after = self.conclude_answer(&mut connection, answer, *started_us, asked_for);
            desk.keep_exchange(exchange);
            return self.conclude(key, connection, desk, after);
        }
        if let Routed::Rewritten(rewritten) = routed {
            exchange.request = RequestBytes::Owned(Box::new(owned));
            desk.exchange = Some(exchange);
            return self.rewrite(key, connection, desk, rewritten);
        }
        if let Routed::Elsewhere(elsewhere) = routed {
            // The other process applies the site's rule, too, so the original head is passed on, unless only a look at
            // a folder has told the target.
            let onward = exchange.answer.onward.take();
            let sent = onward.filter(|onward| onward.times == 0 && onward.named == 0);
            let head = sent.map_or(owned.head, |onward| onward.head);
            connection.outbox = exchange.answer.outbox.take();
            // The process that answers the request counts it.
            connection.requests -= 1;
            desk.keep_exchange(exchange);
            let owned = Owned { head, body: owned.body };
            return self.pass_on_owned(key, connection, desk, elsewhere, &owned);
        }
        exchange.endpoint = desk.endpoint.of(desk.head.reads(), desk.head.of(&owned.head));
        exchange.request = RequestBytes::Owned(Box::new(owned));
        if let (Routed::App(route) | Routed::Script(route, _), Some(site)) = (&routed, site) {
            exchange.take_route(self.plan.site(site), *route);
        }
        desk.exchange = Some(exchange);
        match routed {
            Routed::Check(credentials) => self.begin_check(key, connection, desk, credentials),
            Routed::Script(_, wanted) => self.begin_script(key, connection, desk, wanted),
            Routed::Await(wanting) => self.await_kept(key, connection, desk, wanting),
            _ => self.ask(key, connection, desk),
        }
    }
}

const NO_FILE: &str = "There is no such file.";

const OF_ANOTHER_PROCESS: &str = "another process answers that route; an application of a group can send requests on to applications of its group, and to \
     folders of routes that are internal";

const CANNOT_GO: &str = "This request was sent on where it cannot go.";

const HAS_CHANGED: &str = "What is served here has changed just now. Ask again, please.";

impl Onward {
    /// Makes the way of a request with this head whose target was rewritten, and which was not sent on.
    fn rewritten(head: Vec<u8>) -> Onward {
        let (kept, changes) = (Vec::new(), Arc::default());
        Onward { to: None, kept, changes, is_plain: false, times: 0, head, named: 0, met: None }
    }

    /// Returns the request as the client has sent it.
    pub(crate) fn first<'h>(&'h self, head: &'h mut Head, limits: &Limits) -> Option<Request<'h>> {
        let is_whole = matches!(head.parse(&self.head, limits), Ok(Parsed::Complete));
        is_whole.then(|| head.of(&self.head))
    }

    /// Returns the request's next target; `head` is its head until now.
    fn depart(&mut self, head: &[u8]) -> Option<To> {
        if self.head.is_empty() {
            self.head = head.to_vec();
        }
        self.times += 1;
        self.met = None;
        let to = self.to.take();
        if self.times > TIMES_MAX {
            Some(To::Nowhere(format!("it was sent on {TIMES_MAX} times already")))
        } else {
            to
        }
    }

    /// Returns the changes of a route, with the lines that stay of the application's answer.
    pub(crate) fn changes_of(&self, changes: &Changes) -> Arc<Changes> {
        Arc::new(Changes { kept: self.kept.clone(), ..changes.clone() })
    }
}
