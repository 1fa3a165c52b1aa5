//! The workers that there should be, and the state of each: decided without I/O.
//!
//! | file | holds |
//! | --- | --- |
//! | `fleet`, `slot` | all workers, by the sockets that they serve on |
//! | `worker_process` | one worker process: its state, and the limit that it has reached |
//! | `cause`, `ended_workers`, `unknown_children` | workers that have ended: the causes, the lines that they have left, and workers that were not known yet |
//! | `demand` | the number of workers, by demand |
//! | `limits`, `jitter` | the ages, counts, sizes and times at which a worker is replaced, as numbers: `worker_process` compares a worker with them |
//! | `backoff`, `pulse` | pauses after repeated failures, and workers that give no sign of life |
//! | `prototypes` | the prototypes that workers are forked from |
//! | `action` | orders to the supervisor, as values |

pub(crate) mod action;
mod backoff;
pub(crate) mod cause;
pub(crate) mod demand;
pub(crate) mod ended_workers;
pub(crate) mod fleet;
mod jitter;
pub(crate) mod limits;
pub(crate) mod prototypes;
pub(crate) mod pulse;
pub(crate) mod slot;
pub(crate) mod unknown_children;
pub(crate) mod worker_process;
