//! What the application has seen of a load.

use serde::{Deserialize, Serialize};

/// What the application has seen of a load, warm-up and slow clients included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// Requests that it has seen.
    pub seen: u64,
    /// Right answers that came: it cannot have seen fewer.
    pub right: u64,
    /// Requests that were sent: it cannot have seen more.
    pub sent: u64,
    /// Processes that have counted.
    pub processes: u32,
}
