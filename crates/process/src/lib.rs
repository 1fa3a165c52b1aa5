//! Processes: a supervisor that keeps the sockets, and workers that serve on them.
//!
//! The supervisor runs no application code. It has one set of listening sockets for each *slot*, and starts a worker in
//! each slot. When the worker ends, for whatever reason, the next worker gets the same sockets, with the connections
//! that wait in them. When a worker is to be replaced, its successor serves before the worker is told to drain.
//!
//! | state of a worker | it goes on when | to |
//! | --- | --- | --- |
//! | `Starting` | it says that it serves | `Serving` |
//! | | `--startup-timeout` passes | `Doomed` |
//! | `Serving` | its successor serves, or the supervisor stops | `Draining` |
//! | `Draining` | `--graceful-timeout` and a moment pass | `Doomed` |
//! | any | it ends | gone: counted, logged with its cause |
//!
//! Each slot should have one serving worker of the present *generation*. A reload makes a new generation. Until one
//! worker of it has served, no other is started, so that a version that does not start costs only the attempt: the new
//! generation is given up, and the old generation serves on.
//!
//! | folder | holds |
//! | --- | --- |
//! | `workers/` | the decision which workers there should be |
//! | `versions/` | versions of the application and of the server |
//! | `groups/` | groups with workers of their own |
//! | `lines/` | messages between a supervisor and its workers |
//! | `supervisor/` | the supervisor: it hears, looks, and acts |
//! | `plan`, `grant` | what a supervisor is to do, and what the kernel grants it |
//! | `control/` | questions and orders from outside |
//! | `view/` | the state of a server, for people and programs |
//!
//! Decisions are made without I/O, in `workers/` and `versions/`: these take events and return actions. `supervisor/`
//! hears the events, and carries the actions out.

#![forbid(unsafe_code)]

mod control;
pub mod grant;
mod groups;
mod lines;
mod plan;
mod supervisor;
mod versions;
mod view;
mod workers;

pub use control::access::Access;
pub use control::client::{control_folder, order};
pub use groups::branch::{BranchPlan, BranchTold, Entrance};
pub use groups::doorways::GroupPlan;
pub use groups::group_sockets::{GroupSocket, GroupSockets};
pub use lines::message::{Channel, FromWorker, Source, ToWorker};
pub use lines::place::Place;
pub use lines::ports::Sockets;
pub use lines::prototype::PrototypeOrders;
pub use lines::worker::{LeaveNotice, Line, Orders, Parts, Worker};
pub use plan::{Pace, Plan};
pub use supervisor::{End, run};
pub use versions::editions::{Edition, Handed, Version, handed};
pub use versions::note::{Note, TRIAL, Taken};
pub use workers::demand::Bounds;
pub use workers::limits::Limits;
