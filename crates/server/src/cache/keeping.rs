//! What the cache wants of an answer that is not there yet.

use std::sync::Arc;

use adyton_cache::status::Forward;
use adyton_cache::{Entry, Rules};

use crate::cache::store::{Cache, Filling};

/// What the cache wants of an answer that an application or a script gives.
pub(crate) struct Keeping {
    pub(crate) cache: Arc<Cache>,
    /// Why it is asked.
    pub(crate) forward: Forward,
    /// Whether its request has waited for the answer to another.
    pub(crate) is_collapsed: bool,
    pub(crate) rules: Rules,
    /// The duty to fetch it, if it may be kept.
    pub(crate) filling: Option<Filling>,
    /// What is kept, and stale.
    pub(crate) stale: Option<Arc<Entry>>,
    /// The key of what is another one if the request is answered without error.
    pub(crate) changes: Option<Box<[u8]>>,
}
