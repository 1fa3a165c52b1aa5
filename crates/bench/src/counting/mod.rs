//! Counts, kept while the load runs.
//!
//! | file | holds |
//! | --- | --- |
//! | `answer` | one answer as it arrives: where it ends, and whether it is right |
//! | `cause` | reasons for missing and wrong answers |
//! | `tally`, `counts` | the fate of every request |
//! | `latency`, `lulls` | durations, and times without a right answer |
//! | `hits`, `counter` | requests that the application has seen |

pub(crate) mod answer;
pub(crate) mod cause;
pub(crate) mod counter;
pub(crate) mod counts;
pub(crate) mod hits;
pub(crate) mod latency;
mod lulls;
pub(crate) mod tally;
