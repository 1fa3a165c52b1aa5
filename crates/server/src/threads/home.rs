//! Where a loop hears of what its requests wait for.

/// Where a loop hears that what a request waits for may be there.
pub(crate) trait Home: Send + Sync {
    /// That of the request of this connection is.
    fn redeemed(&self, key: usize);
}
