//! The threads that drive loops and call the application.
//!
//! | file | holds |
//! | --- | --- |
//! | `driver` | one thread: it drives a loop, or runs errands from the queue |
//! | `hand`, `waiter`, `desk` | a thread's hold on its loop, its way of waiting, and its buffers |
//! | `watch` | takes a loop from a thread whose call takes too long |
//! | `endpoints`, `pace` | slow endpoints, and slow calls |
//! | `task`, `interrupt` | the request that a late thread or a worker is in, and its interruption |
//! | `inbox`, `home` | the way back to the loop |
//! | `checker` | the thread that verifies passwords |
//! | `shared`, `pulse` | the state that all threads share, and its signs of life |

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
