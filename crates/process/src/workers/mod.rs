//! Which workers there should be, and how each of them stands: decided without I/O.
//!
//! | file | of what |
//! | --- | --- |
//! | `fleet`, `slot` | all of them, by the sockets that they serve on |
//! | `staff` | one worker process: how far it has come |
//! | `cause`, `past`, `strangers` | workers that have ended: why, what they have left, and those that nobody knew yet |
//! | `demand` | how many are wanted while there is more to do, or less |
//! | `limits`, `jitter` | when one is replaced, and by how much that differs from one to another |
//! | `backoff`, `pulse` | workers that fail again and again, and those that give no sign of life |
//! | `nursery` | the prototypes that workers are forked from |
//! | `action` | what is to be done, as values |

pub(crate) mod action;
mod backoff;
pub(crate) mod cause;
pub(crate) mod demand;
pub(crate) mod fleet;
mod jitter;
pub(crate) mod limits;
pub(crate) mod nursery;
pub(crate) mod past;
mod pulse;
pub(crate) mod slot;
pub(crate) mod staff;
pub(crate) mod strangers;
