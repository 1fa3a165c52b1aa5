//! Starts programs by way of a small process, because the server itself is large, has many threads, and runs an
//! application that may have children of its own.
//!
//! The server has a [`Spawner`], which starts another process ([`serve`]) and sends it an [`Order`] for each program,
//! with the descriptors that it is to have. For each [`Program`] there is a line between the two processes, over which
//! the server hears how the program has ended, and can order its end. When one side closes its end of a line, or dies,
//! the program ends with all of its group. If the small process dies, the server ends the groups that stand in its
//! [`List`](list), and starts another small process.
//!
//! | over a line | says |
//! | --- | --- |
//! | from the server: a byte, or the end | the program is to end: SIGTERM, and SIGKILL after [`GRACE_MS`] |
//! | to the server: `F` and a number | it could not be started, for this error |
//! | to the server: `X` or `S` and a number | it has ended by itself with this status, or by this signal |
//! | to the server: the end | no process of its group is left |

#![forbid(unsafe_code)]

mod frame;
mod helper;
mod list;
mod order;
mod spawner;

pub use frame::Heard;
pub use helper::{GRACE_MS, serve};
pub use order::Order;
pub use spawner::{Input, Line, Program, Spawner};
