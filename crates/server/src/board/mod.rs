//! Numbers on boards that another process reads at any time.
//!
//! | file | holds |
//! | --- | --- |
//! | `tally` | counters and states of a server |
//! | `site_counts`, `prefixes` | answers of each site, requests by the beginning of their path |
//! | `share` | a worker's share of the connections |
//! | `crash_record` | lines of logs that a worker leaves when it dies |

pub(crate) mod crash_record;
pub mod prefixes;
pub mod share;
pub mod site_counts;
pub mod tally;
