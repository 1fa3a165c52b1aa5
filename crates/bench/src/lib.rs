//! A load generator that checks every answer, and says when its own figures mean nothing.
//!
//! A [`Plan`] says what is asked, how often, and what is right. [`run`] asks once to learn what a right answer is,
//! then drives one [event loop per thread](generator), watches the [server's processes](server_side) and the
//! [machine](machine) meanwhile, and puts it all into a [`Report`], which carries the [reasons](verdict) why its
//! figures must not be used, if there are any.
//!
//! What is counted is settled in one place, [`tally`]: each request that was sent ends in exactly one of its counts.

#![forbid(unsafe_code)]

mod answer;
mod arrivals;
mod baseline;
mod calibrate;
mod cause;
mod condition;
mod connection;
mod counter;
mod counts;
mod draw;
mod failure;
mod find;
mod generator;
mod hits;
mod in_flight;
mod latency;
mod learnt;
mod listen_queue;
mod lulls;
mod machine;
mod numbers;
mod output;
mod plan;
mod probe;
mod random;
mod reason;
mod report;
mod run;
mod server_side;
mod slow;
mod slow_side;
mod summary;
mod tally;
mod url;
mod url_list;
mod verdict;

pub use baseline::{Baseline, Comparison, Row};
pub use condition::Condition;
pub use counts::{Doublings, FirstWrong};
pub use failure::Failure;
pub use find::{Found, Step, find_rate};
pub use latency::Latency;
pub use numbers::{grouped, grouped_whole};
pub use output::{Ink, Judged, SEARCH_HEADING, compared, csv, hlog, html, markdown, reasons, table, tried};
pub use plan::{Arrivals, Body, Check, Load, Plan, Slow, Statuses, Until, WeightedRequest};
pub use probe::{Exchange, exchanges};
pub use reason::Reason;
pub use report::{Report, Run};
pub use run::{Progress, Stop, run};
pub use url::{Address, Url};
