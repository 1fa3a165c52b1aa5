//! The search for a kept answer to a request.

use std::sync::Arc;

use adyton_cache::status::Forward;
use adyton_cache::{Ask, Found, Rules};
use adyton_http::Request;

use crate::answering::reply::Reply;
use crate::board::tally::Cell;
use crate::cache::key::{Use, audience_of, use_of};
use crate::cache::store::Filling;
use crate::cache::wanting::Wanting;
use crate::cgi::WantedScript;
use crate::site::plan::Site;

/// The outcome of a search for a kept answer.
pub(crate) enum Sought {
    /// A kept answer has been given.
    Answered,
    /// The application, or this script, is to be asked.
    Ask(Option<Box<WantedScript>>),
    /// The request has to wait for the answer to another request.
    Await(Box<Wanting>),
}

/// The place of a search: site, route, rules and time.
pub(crate) struct Looked<'l> {
    pub(crate) site: &'l Arc<Site>,
    /// The number of the route that answers.
    pub(crate) number: usize,
    pub(crate) rules: Rules,
    /// A buffer for the key.
    pub(crate) key: &'l mut Vec<u8>,
    pub(crate) now_ms: u64,
}

/// Answers a request with a kept answer, if there is one. Otherwise the application or this script is asked, and its
/// answer may be kept.
pub(crate) fn look_up(
    reply: &mut Reply<'_>,
    request: Request<'_>,
    looked: Looked<'_>,
    script: Option<Box<WantedScript>>,
) -> Sought {
    let Looked { site, number, rules, key, now_ms } = looked;
    let uses = use_of(request, reply.asker());
    // An answer to a request that was sent on depends on the application that has sent it on.
    if uses == Use::None || reply.is_sent_on() {
        reply.expect_kept(Forward::Bypass, rules, None);
        return Sought::Ask(script);
    }
    reply.write_key(key, request, site.number);
    if uses == Use::Changes {
        reply.expect_kept(Forward::Bypass, rules, None);
        reply.expect_change(key);
        return Sought::Ask(script);
    }
    let ask = Ask {
        key,
        form: reply.form(number, request.version()),
        request,
        audience: audience_of(request, rules.with_cookies),
    };
    let cache = reply.cache();
    match cache.look(&ask, now_ms, uses == Use::Fill) {
        Found::Fresh(kept) => {
            reply.count(Cell::CacheHits);
            reply.give_kept(request, &kept, now_ms, false);
            Sought::Answered
        }
        Found::Stale(kept) => {
            reply.count(Cell::CacheStale);
            reply.give_kept(request, &kept, now_ms, false);
            Sought::Answered
        }
        Found::Wait(fill) => {
            Sought::Await(Box::new(Wanting { fill, site: Arc::clone(site), route: number, rules, script }))
        }
        Found::Fill(fill, stale) => {
            reply.count(Cell::CacheMisses);
            let filling = Filling::new(cache, fill);
            if stale.is_some() {
                // The page was kept before, so its next version is worth keeping: the application is not to answer
                // without a page.
                reply.hide_conditions();
            }
            let forward = if stale.is_some() { Forward::Stale } else { Forward::Miss };
            reply.expect_kept(forward, rules, Some((filling, stale)));
            Sought::Ask(script)
        }
        Found::Pass => {
            reply.count(Cell::CacheMisses);
            reply.expect_kept(Forward::Miss, rules, None);
            Sought::Ask(script)
        }
    }
}
