//! Requests that wait with a loop: for an answer that comes after the call, for the verdict on credentials, and the
//! like.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use adyton_http1::Refusal;

use crate::answering::exchange::Exchange;
use crate::answering::later::Claim;
use crate::answering::refusals::{SCRIPTS_FULL, TIMED_OUT};
use crate::cache::wanting::Wanting;
use crate::cgi::{Seat, WantedScript};
use crate::threads::checker::Check;

/// An exchange that waits.
pub(crate) struct Waiting {
    pub(crate) exchange: Box<Exchange>,
    pub(crate) awaits: Awaited,
    /// The time at which it began to wait, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
    /// The time at which its wait ends at the latest, in ms of the monotonic clock; `None` if it may wait for ever.
    pub(crate) due_ms: Option<u64>,
}

/// The event for which an exchange waits.
pub(crate) enum Awaited {
    /// An answer that comes after its call.
    Ticket(Claim),
    /// The verdict on its credentials.
    Check(Arc<Check>),
    /// A place for its script.
    Place(Arc<Seat>, Box<WantedScript>),
    /// The head of its script's answer.
    Script,
    /// The answer to another request.
    Kept(Box<Wanting>),
}

impl Awaited {
    /// Whether the event has come.
    pub(crate) fn is_there(&self) -> bool {
        match self {
            Awaited::Ticket(claim) => claim.is_redeemed(),
            Awaited::Check(check) => check.verdict().is_some(),
            Awaited::Place(seat, _) => seat.has_place(),
            Awaited::Script | Awaited::Kept(_) => false,
        }
    }

    /// Returns the refusal for the client if the event does not come in time.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Awaited::Place(..) => SCRIPTS_FULL,
            Awaited::Ticket(_) | Awaited::Check(_) | Awaited::Script | Awaited::Kept(_) => TIMED_OUT,
        }
    }
}

/// Requests of a loop that wait.
#[derive(Default)]
pub(crate) struct Tickets {
    /// Their exchanges, by the keys of their connections.
    pub(crate) waiting: HashMap<usize, Waiting>,
    /// Connections whose event had come when they began to wait.
    pub(crate) at_once: VecDeque<usize>,
    /// Connections for which the event may have come.
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
