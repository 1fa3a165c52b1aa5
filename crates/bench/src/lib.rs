//! A load generator that checks every answer, and says when its own figures mean nothing.
//!
//! A [`Plan`] says what is asked, how often, and what is right. [`run()`] asks once to learn what a right answer is,
//! then drives one [event loop per thread](generator), watches the [server's processes](machine::server_side) and the
//! [machine] meanwhile, and returns a [`Report`]. If the report's figures must not be used, the report carries the
//! [reasons](report::verdict).
//!
//! [`tally`](counting::tally) is the one place that settles what is counted: each request that was sent ends in exactly
//! one of its counts.

#![forbid(unsafe_code)]

mod counting;
mod failure;
mod find;
mod generator;
mod machine;
mod output;
mod plan;
mod report;
mod run;
mod target;

pub use counting::counts::{Doublings, FirstWrong};
pub use counting::latency::Latency;
pub use failure::Failure;
pub use find::{Found, Step, find_rate};
pub use generator::probe::{Exchange, exchanges};
pub use output::{Ink, Judged, SEARCH_HEADING, compared, csv, hlog, html, markdown, reasons, table, tried};
pub use plan::{Arrivals, Body, Check, Load, Plan, Slow, Statuses, Until, WeightedRequest};
pub use report::baseline::{Baseline, Comparison, Row};
pub use report::condition::Condition;
pub use report::numbers::{grouped, grouped_whole};
pub use report::reason::Reason;
pub use report::whole::{Report, Run};
pub use run::{Progress, Stop, run};
pub use target::url::{Address, Url};
