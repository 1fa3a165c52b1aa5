//! The report of a run: its figures, and whether they may be used.
//!
//! | file | holds |
//! | --- | --- |
//! | `whole` | the report, as one value that programs can read |
//! | `summary` | the report, made of what was counted, learnt and observed |
//! | `verdict`, `reason` | reasons why figures must not be used |
//! | `baseline` | a report beside an earlier one |
//! | `condition` | a bound on a figure, for scripts |
//! | `numbers` | numbers, as people read them |

pub(crate) mod baseline;
pub(crate) mod condition;
pub(crate) mod numbers;
pub(crate) mod reason;
pub(crate) mod summary;
pub(crate) mod verdict;
pub(crate) mod whole;
