//! A shared cache of answers (RFC 9111): which may be kept, for how long, for whom, and where they are.
//!
//! [`judge()`] decides by the head of an answer, whose `Cache-Control` is read by [`Control`]; [`Store`] keeps answers
//! within a number of bytes, knows which are being fetched, and who waits for that; [`status`] says to clients what has
//! come of it (RFC 9211).
//!
//! Absent on purpose: sockets, clocks, locks, and how an answer is framed. Times are milliseconds of whatever clock
//! the caller has.

#![forbid(unsafe_code)]

mod control;
mod judge;
pub mod status;
mod store;

pub use control::Control;
pub use judge::{Rules, Terms, Why, judge};
pub use store::{Answer, Ask, Audience, End, Entry, Fill, Found, Store};
