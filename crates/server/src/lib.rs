//! The event loop, connections, timers, and the threads that run the application; knows no Python.
//!
//! A [`Server`] accepts, parses, answers from folders, and asks an [`App`] for the rest.
//!
//! | folder | holds |
//! | --- | --- |
//! | `event_loop/` | the loop: what the kernel tells, whose turn it is, who waits |
//! | `course/` | the course of a request through the loop, step by step |
//! | `client/` | one client: its connection, and what is to be sent on it |
//! | `answering/` | one request and its answer |
//! | `site/`, `guard/` | routes, and the clients that they let in |
//! | `folders/` | folders that say themselves how they are served |
//! | `cgi/` | scripts |
//! | `cache/` | answers that are kept for other clients |
//! | `threads/` | the threads that drive loops and call the application |
//! | `server`, `app`, `config` | the server as a whole, the application that it asks, its limits |
//! | `board/`, `access_log/` | numbers that other processes read, and the log of answers |

#![forbid(unsafe_code)]

mod access_log;
mod answering;
mod app;
mod board;
mod cache;
mod cgi;
mod client;
mod common;
mod config;
mod course;
mod event_loop;
mod folders;
mod guard;
mod lock;
mod server;
mod site;
mod threads;

pub use access_log::{AccessLog, AccessLogError, Record};
pub use adyton_cache::Rules as CacheRules;
pub use adyton_compress::Rules as CompressRules;
pub use adyton_proxied::Trust;
pub use answering::changes::Changes;
pub use answering::later::{Claim, Ticket};
pub use answering::onward::{SendsOn, SentFolder};
pub use answering::outcome::{Outcome, Pull, Stream};
pub use answering::reply::{PENDING_BYTES_MAX, Reply, SHARE_BYTES_MIN, WAITING_BYTES_MAX};
pub use app::{App, Call, Host, LateCall, MountPoint, NoHost};
pub use board::prefixes;
pub use board::share;
pub use board::site_counts;
pub use board::tally;
pub use cgi::Cgi;
pub use client::asker::Asker;
pub use client::body::{Body, BodyMemory, Live, Pieces};
pub use client::output::Payload;
pub use client::passage;
pub use client::passage::{Passage, SealKey};
pub use client::stored::{Quota, Stored};
pub use client::user::User;
pub use common::{Ending, StopRequest};
pub use config::{Config, HandOver};
pub use event_loop::Parts;
pub use folders::{
    FolderAnswer, FolderFile, FolderPage, FolderReader, FolderRules, Folders, Form, FormFiles, PageRule,
    ProgramRule, RunRules,
};
pub use guard::{Authorities, Authority, Guard, GuardError, GuardRules, Scheme};
pub use server::{Counters, Server};
pub use site::limiter::{Limiter, RateLimit};
pub use site::limits::{CallLimits, SiteLimits};
pub use site::plan::{Action, Apart, Fixed, Plan, PlanError, Route, Site};
pub use site::terms::{SharedLog, StatusPage};
pub use threads::pulse;
