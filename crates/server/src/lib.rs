//! The event loop, connections, timers, and the threads that run the application; knows no Python.
//!
//! A [`Server`] accepts, parses, answers from folders, and asks an [`App`] for the rest.

#![forbid(unsafe_code)]

mod access_log;
mod addresses;
mod answer;
mod app;
mod body;
mod checker;
mod checking;
mod common;
mod config;
mod connection;
mod date;
mod desk;
mod dispatch;
mod driver;
mod endpoints;
mod errand;
mod estate;
mod event_loop;
mod exchange;
mod guard;
mod hand;
mod held;
mod inbox;
mod interrupt;
mod later;
mod limits;
mod lock;
mod outbox;
mod outcome;
mod output;
mod plan;
pub mod prefixes;
pub mod pulse;
mod reader;
mod redeeming;
mod refusals;
mod reply;
mod routing;
mod serve;
mod server;
pub mod share;
mod shared;
mod shed;
mod step;
mod stored;
pub mod tally;
mod task;
mod terms;
mod timer;
mod transport;
mod turn;
mod user;
mod waiter;
mod watch;

pub use access_log::{AccessLog, AccessLogError, Record};
pub use adyton_proxied::{Told, Trust};
pub use app::{App, Call, Host, IfStill, NoHost};
pub use body::{Body, Live};
pub use common::{Asked, Ending};
pub use config::{Config, HandOver};
pub use event_loop::Parts;
pub use guard::{Guard, GuardError, GuardRules, Scheme};
pub use later::{Claim, Ticket};
pub use limits::{CallLimits, SiteLimits};
pub use outcome::{Outcome, Pull, Stream};
pub use output::Payload;
pub use plan::{Action, Admission, Fixed, Plan, PlanError, Route, Site};
pub use reply::{PENDING_BYTES_MAX, Reply, SHARE_BYTES_MIN, WAITING_BYTES_MAX};
pub use server::{Counters, Server};
pub use stored::{Quota, Stored};
pub use terms::{SharedLog, StatusPage};
pub use user::User;
