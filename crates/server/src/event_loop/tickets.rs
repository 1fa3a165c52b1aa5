//! Requests whose answers come later than their calls.

use std::collections::HashMap;

use crate::exchange::Exchange;
use crate::later::Claim;

/// An exchange that waits.
pub(crate) struct Waiting {
    pub(crate) exchange: Box<Exchange>,
    pub(crate) claim: Claim,
    /// Since when, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
    /// When its time is over, in ms of the monotonic clock; `None`: never.
    pub(crate) due_ms: Option<u64>,
}

/// Requests of a loop whose answers come later than their calls.
#[derive(Default)]
pub(crate) struct Tickets {
    /// Their exchanges, by the keys of their connections.
    pub(crate) waiting: HashMap<usize, Waiting>,
    /// Connections whose tickets are redeemed.
    pub(crate) redeemed: Vec<usize>,
}

impl Tickets {
    /// Forgets the request of a connection that is forgotten.
    pub(crate) fn forget(&mut self, key: usize) {
        if !self.waiting.is_empty() {
            self.waiting.remove(&key);
        }
    }
}
