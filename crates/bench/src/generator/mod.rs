//! The load: sends requests when they are due, and takes answers.
//!
//! | file | holds |
//! | --- | --- |
//! | `event_loop` | the event loop of one thread |
//! | `connection`, `in_flight` | one connection, and how many requests are under way |
//! | `arrivals`, `draw`, `random` | due times of requests, and the choice of the next one |
//! | `probe`, `learnt` | the first answers, and what is known from them |
//! | `slow`, `slow_side` | slow clients beside the load, and what became of their requests |
//! | `calibrate` | the speed of this program by itself |

mod arrivals;
pub(crate) mod calibrate;
mod connection;
mod draw;
pub(crate) mod event_loop;
mod in_flight;
pub(crate) mod learnt;
pub(crate) mod probe;
pub(crate) mod random;
pub(crate) mod slow;
pub(crate) mod slow_side;
