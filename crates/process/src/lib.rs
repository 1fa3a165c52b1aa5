//! Processes: a supervisor that keeps the sockets, and workers that serve on them.
//!
//! The supervisor runs no application code. It has one set of listening sockets for each *slot*, and starts a worker
//! in each. When that worker ends, for whatever reason, the next one gets the same sockets, with the connections that
//! wait in them; when it is to be replaced, its successor is ready before it is told to drain.
//!
//! | state of a worker | it goes on when | to |
//! | --- | --- | --- |
//! | `Starting` | it says that it serves | `Serving` |
//! | | `--startup-timeout` passes | `Doomed` |
//! | `Serving` | its successor serves, or the supervisor stops | `Draining` |
//! | `Draining` | `--graceful-timeout` and a moment pass | `Doomed` |
//! | any | it ends | gone: counted, logged with its cause |
//!
//! A slot wants one worker of the present *generation* that serves. Reload makes a new generation; while no worker of
//! it has served yet, only one is started, so that a version that does not start costs nothing but the attempt: the
//! generation is given up, and the old one serves on.
//!
//! What is decided is decided without I/O: `fleet.rs`, `nursery.rs`, `reloads.rs`, `succession.rs` and `stopping.rs` are told
//! what has happened, and return what is to be done; `supervisor/` tells them, and does it.

#![forbid(unsafe_code)]

mod access;
mod action;
mod admin;
mod backoff;
mod branch;
mod branches;
mod cause;
mod client;
mod control;
mod demand;
mod editions;
mod fleet;
pub mod grant;
mod group_reloads;
mod group_sockets;
mod jitter;
mod limits;
mod links;
mod message;
mod metrics;
mod note;
mod notify;
mod nursery;
mod past;
mod place;
mod plan;
mod ports;
mod prototype;
mod prototype_line;
mod pulse;
mod question;
mod reloads;
mod rounds;
mod screen;
mod slot;
mod staff;
mod status;
mod stopping;
mod strangers;
mod succession;
mod supervisor;
mod table;
mod top;
mod usage;
mod watched_files;
mod ways;
mod worker;

pub use access::Access;
pub use branch::{BranchPlan, BranchTold, Entrance};
pub use client::{control_folder, order};
pub use demand::Bounds;
pub use editions::{Edition, Handed, Version, handed};
pub use group_sockets::{GroupSocket, GroupSockets};
pub use limits::Limits;
pub use message::{Channel, FromWorker, Source, ToWorker};
pub use note::{Note, TRIAL, Taken};
pub use place::Place;
pub use plan::{Pace, Plan};
pub use ports::Sockets;
pub use prototype::Orders as PrototypeOrders;
pub use supervisor::{End, run};
pub use ways::GroupPlan;
pub use worker::{Leaver, Line, Orders, Parts, Worker};
