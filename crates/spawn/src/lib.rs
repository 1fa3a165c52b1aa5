//! Programs that a small process starts for a server, which is large, has many threads, and has an application with
//! children of its own in it.
//!
//! The server has a [`Spawner`], which starts another process ([`serve`]) and sends it an [`Order`] for each program,
//! with the descriptors that it is to have. For each [`Program`] there is a line between the two, over which the server
//! is told how it has ended, and can have it ended. A side that closes its end of a line, by dying as well, ends the
//! program with all of its group. If the small process dies, the server ends the groups that stand in its
//! [`List`](list), and starts another one.
//!
//! | over a line | says |
//! | --- | --- |
//! | from the server: a byte, or the end | the program is to end: SIGTERM, and SIGKILL after [`GRACE_MS`] |
//! | to the server: `F` and a number | it could not be started, for this error |
//! | to the server: `X` or `S` and a number | it has ended by itself with this status, or by this signal |
//! | to the server: the end | nothing of its group is left |

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
