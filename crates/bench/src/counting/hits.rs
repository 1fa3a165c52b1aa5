//! The requests of a load, as the application has seen them.

use serde::{Deserialize, Serialize};

/// The requests of a load that the application has seen, warm-up and slow clients included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// Requests that the application has seen.
    pub seen: u64,
    /// Right answers that came: the application cannot have seen fewer requests.
    pub right: u64,
    /// Requests that were sent: the application cannot have seen more.
    pub sent: u64,
    /// Processes that have counted.
    pub processes: u32,
}
