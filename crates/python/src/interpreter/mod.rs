//! The interpreter, the threads that come to it, and what it does behind the server's back.
//!
//! | file | holds |
//! | --- | --- |
//! | `thread_state` | attaching and detaching, once for a batch of calls |
//! | `threads` | the server's threads, as Python knows them |
//! | `held_stacks`, `own_stack` | stacks of threads, when one of them does not go on |
//! | `signals` | signal handlers of the application |
//! | `forked` | children that the application forks |

pub(crate) mod forked;
pub(crate) mod held_stacks;
pub(crate) mod own_stack;
pub(crate) mod signals;
pub(crate) mod thread_state;
pub(crate) mod threads;
