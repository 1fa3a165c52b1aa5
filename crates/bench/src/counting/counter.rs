//! Compares the requests that counting middleware has seen in the application with the answers that came.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::counting::answer::{Expected, Judgement};
use crate::counting::hits::Hits;
use crate::counting::tally::Tally;
use crate::generator::probe::ask;
use crate::generator::slow_side::SlowSide;
use crate::machine::server_side::Server;
use crate::plan::{Check, Plan, Statuses, WeightedRequest};
use crate::target::url::Url;

/// The path at which `adyton.counting` tells its count.
const PATH: &str = "/.adyton-hits";

/// The reply of the middleware.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct HitsReply {
    hits: u64,
    processes: u32,
}

/// The reply of an Adyton server's control socket.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Status {
    total: Total,
    processes: u32,
}

/// Calls of the application, by the way in which they were made.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Total {
    inline: u64,
    handed_over: u64,
    queued: u64,
}

/// The place where the count of hits is asked for.
pub(crate) enum Counter {
    /// Counting middleware.
    Middleware(Url),
    /// A supervisor of Adyton, which knows how often the application was called.
    Supervisor(Url),
}

impl Counter {
    /// Finds the middleware at the plan's server, or else the server's own supervisor by its control socket.
    ///
    /// # Errors
    ///
    /// Hits are not counted at this server: a sentence that says so.
    pub(crate) fn find(plan: &Plan, server: &Server) -> Result<Self, String> {
        // The query is random, so that no cache has an answer to it.
        let url = plan.url.with_target(&format!("{PATH}?{:x}", adyton_sys::process::random()))?;
        let (told, status) = json_at::<HitsReply>(plan, &url)?;
        if told.is_some() {
            return Ok(Self::Middleware(url));
        }
        let paths = server.unix_paths().into_iter();
        let mut urls = paths.filter_map(|path| format!("unix:{}:/status", path.display()).parse().ok());
        urls.find(|url| matches!(json_at::<Status>(plan, url), Ok((Some(_), _)))).map(Self::Supervisor).ok_or_else(
            || {
                format!(
                    "hits are not counted at {}, which answers {status}: the application needs adyton.counting around it",
                    plan.url
                )
            },
        )
    }

    /// Asks for the count now.
    ///
    /// # Errors
    ///
    /// The counter does not answer any more.
    pub(crate) fn ask(&self, plan: &Plan) -> Result<HitsReply, String> {
        let (told, url) = match self {
            Self::Middleware(url) => (json_at(plan, url)?.0, url),
            Self::Supervisor(url) => (json_at(plan, url)?.0.map(Status::told), url),
        };
        told.ok_or_else(|| format!("{url} counts hits no longer"))
    }
}

impl Status {
    fn told(self) -> HitsReply {
        let Total { inline, handed_over, queued } = self.total;
        HitsReply { hits: inline + handed_over + queued, processes: self.processes }
    }
}

impl HitsReply {
    /// Returns the requests that the application has seen since `before`, together with the counts of the load.
    pub(crate) fn since(&self, before: &Self, tally: &Tally, slow: &[SlowSide]) -> Hits {
        Hits {
            seen: self.hits.saturating_sub(before.hits),
            right: tally.all_right + slow.iter().map(|side| side.counts.right).sum::<u64>(),
            sent: tally.all_sent + slow.iter().map(|side| side.counts.begun).sum::<u64>(),
            processes: self.processes,
        }
    }
}

/// Asks for JSON. Returns the value and the status; the value is `None` if the JSON has another shape, or the status is
/// not 200.
fn json_at<T: DeserializeOwned>(plan: &Plan, url: &Url) -> Result<(Option<T>, u16), String> {
    let wanted = WeightedRequest { weight: 1, method: "GET".to_owned(), url: url.clone(), has_body: false };
    let expected = Expected {
        statuses: Statuses::Of(vec![200]),
        check: Check::Nothing,
        body: Vec::new(),
        to_head: false,
        told_bytes: None,
    };
    let (answer, body) = ask(plan, url, &plan.request(&wanted), &expected, &mut Vec::new())?;
    let read = serde_json::from_slice(&body).ok().filter(|_| answer.judgement == Judgement::Right);
    Ok((read, answer.status))
}
