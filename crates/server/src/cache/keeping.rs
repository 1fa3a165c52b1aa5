//! The cache's plans for an answer that is still to come.

use std::sync::Arc;

use adyton_cache::status::Forward;
use adyton_cache::{Entry, Rules};

use crate::cache::store::{Cache, Filling};

/// The cache's plans for an answer that an application or a script will give.
pub(crate) struct Keeping {
    pub(crate) cache: Arc<Cache>,
    /// The reason why the application or script is asked.
    pub(crate) forward: Forward,
    /// Whether the request has waited for the answer to another request.
    pub(crate) is_collapsed: bool,
    pub(crate) rules: Rules,
    /// The duty to fetch the answer, if it may be kept.
    pub(crate) filling: Option<Filling>,
    /// The kept answer, which is stale.
    pub(crate) stale: Option<Arc<Entry>>,
    /// The key of the answers that the request makes invalid if it is answered without error.
    pub(crate) changes: Option<Box<[u8]>>,
}
