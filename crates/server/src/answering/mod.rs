//! One request and its answer, from the call of the application to the last byte of the body.
//!
//! | file | of what |
//! | --- | --- |
//! | `exchange` | what travels between a loop and the threads |
//! | `errand`, `outcome` | what the loop wants of the application, and what its call comes to |
//! | `later` | answers that come after the call, by a ticket |
//! | `answer`, `reply/` | an answer while it is given, and its bytes |
//! | `changes`, `coder` | what a route changes in the head; what the body passes through |
//! | `onward` | requests that are sent on instead of being answered |
//! | `met`, `judged`, `verdict` | what is known of a request already: limits, credentials |
//! | `step` | what working on a connection comes to |
//! | `refusals` | requests that were refused, counted by cause |
//! | `date` | the date as HTTP writes it |

pub(crate) mod answer;
pub(crate) mod changes;
pub(crate) mod coder;
pub(crate) mod date;
pub(crate) mod errand;
pub(crate) mod exchange;
pub(crate) mod judged;
pub(crate) mod later;
pub(crate) mod met;
pub(crate) mod onward;
pub(crate) mod outcome;
pub(crate) mod refusals;
pub(crate) mod reply;
pub(crate) mod step;
pub(crate) mod verdict;
