//! Processes, threads, users and signals.
//!
//! | file | holds |
//! | --- | --- |
//! | `process` | CPUs, memory and limits of this process |
//! | `child`, `forks`, `spawn` | children of the server, of the application, and programs that a small process starts |
//! | `signal_handlers`, `signal_queue` | signals, in a process that runs an application and in a supervisor |
//! | `thread_signal`, `tid` | signals to one thread, and a thread as other threads see it |
//! | `user` | users and groups |

pub mod child;
pub mod forks;
pub mod process;
pub mod signal_handlers;
pub mod signal_queue;
pub mod spawn;
pub mod thread_signal;
pub mod tid;
pub mod user;
