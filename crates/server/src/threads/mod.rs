//! The threads that drive loops and call the application.
//!
//! | file | of what |
//! | --- | --- |
//! | `driver` | one thread: it drives a loop, or runs what waits in the queue |
//! | `hand`, `waiter`, `desk` | a thread's hold on its loop, how it waits, and what it works with |
//! | `watch` | takes a loop from a thread whose call takes too long |
//! | `endpoints`, `pace` | which endpoints and which calls are slow |
//! | `task`, `interrupt` | the request that a thread is in for long, and the end of its time |
//! | `inbox`, `home` | the way back to the loop |
//! | `checker` | the thread that verifies passwords |
//! | `shared`, `pulse` | what all threads see, and whether they go on |

pub(crate) mod checker;
pub(crate) mod desk;
pub(crate) mod driver;
pub(crate) mod endpoints;
mod hand;
pub(crate) mod home;
pub(crate) mod inbox;
pub(crate) mod interrupt;
pub(crate) mod pace;
pub mod pulse;
pub(crate) mod shared;
pub(crate) mod task;
pub(crate) mod waiter;
pub(crate) mod watch;
