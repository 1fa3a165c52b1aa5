//! A shared cache of answers (RFC 9111): which answers are kept, for how long and for whom, and their store.
//!
//! [`judge()`] decides by the head of an answer, whose `Cache-Control` is read by [`Control`]. [`Store`] keeps answers
//! within a number of bytes, and knows which answers are being fetched and which clients wait for them. [`status`]
//! tells clients how the cache has handled a request (RFC 9211).
//!
//! Absent on purpose: sockets, clocks, locks, and the framing of answers. Times are milliseconds of any clock that the
//! caller chooses.

#![forbid(unsafe_code)]

mod control;
mod judge;
pub mod status;
mod store;

pub use control::Control;
pub use judge::{Rules, Terms, Why, judge};
pub use store::{Answer, Ask, Audience, End, Entry, Fill, Found, Store};
