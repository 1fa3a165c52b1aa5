//! The place where a loop hears of events for which its requests wait.

/// Tells a loop that the event for which a request waits may have come.
pub(crate) trait Home: Send + Sync {
    /// Called when the event for which the request of connection `key` waits may have come.
    fn redeemed(&self, key: usize);
}
