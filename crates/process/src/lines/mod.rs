//! Messages between a supervisor and its workers, and descriptors that workers get.
//!
//! | file | holds |
//! | --- | --- |
//! | `message` | the messages, one on each line |
//! | `worker` | the worker's end |
//! | `links` | the supervisor's ends of the lines to its workers |
//! | `prototype`, `prototype_line` | the process that workers are forked from, and the line to it |
//! | `place`, `ports` | the place and the sockets of a worker |

pub(crate) mod links;
pub(crate) mod message;
pub(crate) mod place;
pub(crate) mod ports;
pub(crate) mod prototype;
pub(crate) mod prototype_line;
pub(crate) mod worker;
