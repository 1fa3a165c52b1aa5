//! Sites, compiled: which route answers, and whom it lets in.
//!
//! | file | holds |
//! | --- | --- |
//! | `plan` | all that a server serves: host, site, route, action |
//! | `terms`, `limits` | limits and timeouts of a site |
//! | `door`, `asking` | conditions for using a route, and programs that identify clients |
//! | `limiter` | the count of the requests of each client; `course/routing` refuses requests beyond the limit |
//! | `other_names` | paths that are answered by the file of another path |

pub(crate) mod asking;
pub(crate) mod door;
pub(crate) mod limiter;
pub(crate) mod limits;
pub(crate) mod other_names;
pub(crate) mod plan;
pub(crate) mod terms;
