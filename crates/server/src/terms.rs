//! How a site treats its clients, whatever answers them.

use std::sync::{Arc, Mutex};

use crate::access_log::AccessLog;
use crate::limits::SiteLimits;

/// A log that several sites may share.
pub type SharedLog = Arc<Mutex<AccessLog>>;

/// The limits of a site, and its log.
pub(crate) struct Terms {
    /// How much its clients may send, and how long everything may take.
    pub(crate) limits: SiteLimits,
    /// Where its answers are logged, by all loops: the lines are in the order in which the answers were finished.
    pub(crate) log: Option<SharedLog>,
}
