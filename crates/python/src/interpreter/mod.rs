//! The interpreter: threads that attach to it, stacks of threads, signal handlers, and forked children.
//!
//! | file | holds |
//! | --- | --- |
//! | `thread_state` | attaching and detaching, once for a batch of calls |
//! | `threads` | the server's threads, as Python knows them |
//! | `held_stacks`, `own_stack` | stacks of threads, for when a thread is stuck |
//! | `signals` | signal handlers of the application |
//! | `forked` | children that the application forks |

pub(crate) mod forked;
pub(crate) mod held_stacks;
pub(crate) mod own_stack;
pub(crate) mod signals;
pub(crate) mod thread_state;
pub(crate) mod threads;
