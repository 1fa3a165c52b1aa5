//! Requests whose answers come later than their calls, and those whose credentials are verified.

use std::collections::HashMap;
use std::sync::Arc;

use crate::checker::Check;
use crate::exchange::Exchange;
use crate::later::Claim;

/// An exchange that waits.
pub(crate) struct Waiting {
    pub(crate) exchange: Box<Exchange>,
    pub(crate) awaits: Awaited,
    /// Since when, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
    /// When its time is over, in ms of the monotonic clock; `None`: never.
    pub(crate) due_ms: Option<u64>,
}

/// What an exchange waits for.
pub(crate) enum Awaited {
    /// Its answer.
    Ticket(Claim),
    /// What comes of its credentials.
    Check(Arc<Check>),
}

impl Awaited {
    /// Whether it is there.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Awaited::Ticket(claim) => claim.is_redeemed(),
            Awaited::Check(check) => check.verdict().is_some(),
        }
    }
}

/// Requests of a loop whose answers come later than their calls.
#[derive(Default)]
pub(crate) struct Tickets {
    /// Their exchanges, by the keys of their connections.
    pub(crate) waiting: HashMap<usize, Waiting>,
    /// Connections for which it is there.
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
