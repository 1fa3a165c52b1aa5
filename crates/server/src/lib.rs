//! The event loop, connections and timers; knows no Python.
//!
//! A [`Loop`] accepts, parses, answers from folders, and asks an [`App`] for the rest.

#![forbid(unsafe_code)]

mod access_log;
mod addresses;
mod answer;
mod app;
mod body;
mod config;
mod connection;
mod event_loop;
pub mod log;
mod output;
mod reply;
mod serve;
mod timer;
mod turn;
mod watch;

pub use access_log::{AccessLog, AccessLogError, Record};
pub use app::{App, Call, Outcome, Pull, Stream};
pub use body::{Body, Live, Quota, Stored};
pub use config::Config;
pub use event_loop::{Loop, Mount, Parts};
pub use output::Payload;
pub use reply::{PENDING_BYTES_MAX, Reply, SHARE_BYTES_MIN};
