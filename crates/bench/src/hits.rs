//! Whether the application has answered: the requests that counting middleware has seen, beside the answers that came.

use serde::{Deserialize, Serialize};

use crate::answer::{Expected, Judgement};
use crate::plan::{Check, Plan, Statuses, Target};
use crate::probe::ask;
use crate::slow::SlowSide;
use crate::tally::Tally;

/// Where `adyton.counting` tells its count.
const PATH: &str = "/.adyton-hits";

/// What the middleware says.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Told {
    hits: u64,
    processes: u32,
}

/// What the application has seen of a load, warm-up and slow clients included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hits {
    /// Requests that it has seen.
    pub seen: u64,
    /// Right answers that came: it cannot have seen fewer.
    pub right: u64,
    /// Requests that were sent: it cannot have seen more.
    pub sent: u64,
    /// Processes that have counted.
    pub processes: u32,
}

impl Told {
    /// Asks the plan's server.
    ///
    /// # Errors
    ///
    /// A sentence: nobody counts there.
    pub(crate) fn now(plan: &Plan) -> Result<Self, String> {
        // No cache has this one.
        let target = format!("{PATH}?{:x}", adyton_sys::process::random());
        let url = plan.url.with_target(&target)?;
        let target = Target { weight: 1, method: "GET".to_owned(), url, has_body: false };
        let expected = Expected {
            statuses: Statuses::Of(vec![200]),
            check: Check::Nothing,
            body: Vec::new(),
            to_head: false,
        };
        let (answer, _, body) = ask(plan, &target.url, &plan.request(&target), &expected)?;
        let told = serde_json::from_slice(&body).ok().filter(|_| answer.judgement == Judgement::Right);
        told.ok_or_else(|| {
            format!(
                "nobody counts hits at {}, which answers {}: the application needs adyton.counting around it",
                plan.url, answer.status
            )
        })
    }

    /// What was seen since `before`, beside what a load has counted.
    pub(crate) fn since(&self, before: &Self, tally: &Tally, slow: &[SlowSide]) -> Hits {
        Hits {
            seen: self.hits.saturating_sub(before.hits),
            right: tally.all_right + slow.iter().map(|side| side.counts.right).sum::<u64>(),
            sent: tally.all_sent + slow.iter().map(|side| side.counts.begun).sum::<u64>(),
            processes: self.processes,
        }
    }
}
