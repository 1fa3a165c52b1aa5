//! Sites, compiled: which route answers, and whom it lets in.
//!
//! | file | of what |
//! | --- | --- |
//! | `plan` | all that a server serves: host, site, route, action |
//! | `terms`, `limits` | how a site treats its clients, and how long they may take |
//! | `door`, `asking` | what a client has to do to use a route; programs that say who it is |
//! | `limiter` | how many requests a client may send in a time |
//! | `other_names` | paths that are answered by what another path names |

pub(crate) mod asking;
pub(crate) mod door;
pub(crate) mod limiter;
pub(crate) mod limits;
pub(crate) mod other_names;
pub(crate) mod plan;
pub(crate) mod terms;
