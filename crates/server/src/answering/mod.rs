//! One request and its answer, from the call of the application to the last byte of the body.
//!
//! | file | holds |
//! | --- | --- |
//! | `exchange` | the value that travels between a loop and the threads |
//! | `errand`, `outcome` | a call that the loop wants made, and its result |
//! | `later` | answers that come after the call, by a ticket |
//! | `answer`, `reply/` | an answer while it is given, and its bytes |
//! | `changes`, `coder` | edits of the head, and the coders of the body |
//! | `onward` | requests that are sent on instead of being answered |
//! | `met`, `judged`, `verdict` | facts about a request: limits that it has met, credentials that were checked |
//! | `step` | the result of working on a connection |
//! | `refusals` | refusals without a route, with their texts, counted by cause: bad heads and bodies, no room, no time. Routes refuse in `course/routing/rules`, guards in `guard/` |
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
