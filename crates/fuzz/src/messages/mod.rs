//! Reference implementations and invariants of HTTP.
//!
//! | file | holds |
//! | --- | --- |
//! | `heads`, `received` | heads of requests and of answers |
//! | `answers` | heads that an application sends |
//! | `chunks` | chunked bodies |
//! | `range_lists`, `caching`, `codings`, `authorizations` | single fields |
//! | `script_heads` | heads that scripts print |
//! | `proxied` | addresses of clients, as proxies report them |
//! | `rewrites` | paths that a rule changes |

pub(crate) mod answers;
pub(crate) mod authorizations;
pub(crate) mod caching;
pub(crate) mod chunks;
pub(crate) mod codings;
pub(crate) mod heads;
pub(crate) mod proxied;
pub(crate) mod range_lists;
pub(crate) mod received;
pub(crate) mod rewrites;
pub(crate) mod script_heads;
