//! Answers that come later than the call: a ticket that any thread redeems, once.
//!
//! The call returns, and its thread goes on; the exchange waits with its loop. When the ticket is redeemed, the loop
//! has a thread answer, as if the application were called then. If the client goes, or the request's time runs out, the
//! loop closes the claim, and redeeming the ticket does nothing.

use std::sync::{Arc, Mutex};

use crate::answering::outcome::Outcome;
use crate::answering::reply::Reply;
use crate::lock::lock;
use crate::threads::home::Home;

/// Writes an answer, as a call does.
pub(crate) type Made = Box<dyn FnOnce(&mut Reply<'_>) -> Outcome + Send>;

/// The state of a ticket.
enum TicketState {
    Open,
    Redeemed(Made),
    /// Answered, or no client waits any more.
    Closed,
}

/// The right to answer one request. If it is dropped without an answer, the request fails.
pub struct Ticket {
    key: usize,
    state: Arc<Mutex<TicketState>>,
    home: Arc<dyn Home>,
}

/// The part of a ticket that the server keeps. Dropping it closes the ticket.
pub struct Claim(Arc<Mutex<TicketState>>);

/// The two parts of a new ticket.
pub(crate) fn ticket(key: usize, home: Arc<dyn Home>) -> (Ticket, Claim) {
    let state = Arc::new(Mutex::new(TicketState::Open));
    (Ticket { key, state: Arc::clone(&state), home }, Claim(state))
}

impl Ticket {
    /// Has `answer` called once, on a thread of the server, between [`crate::Host::attach`] and
    /// [`crate::Host::detach`]; its outcome counts like the outcome of a call. If no client waits for the answer any
    /// more, `answer` is dropped on this thread.
    pub fn redeem(self, answer: impl FnOnce(&mut Reply<'_>) -> Outcome + Send + 'static) {
        self.fulfil(Box::new(answer));
    }

    /// Whether a client still waits: the client may have gone, or the request's time may be over.
    pub fn is_awaited(&self) -> bool {
        matches!(*lock(&self.state), TicketState::Open)
    }

    fn fulfil(&self, answer: Made) {
        let mut state = lock(&self.state);
        if matches!(*state, TicketState::Open) {
            *state = TicketState::Redeemed(answer);
            drop(state);
            self.home.redeemed(self.key);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.fulfil(Box::new(|_| Outcome::Failed));
    }
}

impl Claim {
    /// Whether the ticket is redeemed, and not answered yet.
    pub(crate) fn is_redeemed(&self) -> bool {
        matches!(*lock(&self.0), TicketState::Redeemed(_))
    }

    /// Takes the answer, once, if the ticket is redeemed.
    pub(crate) fn take(&self) -> Option<Made> {
        let mut state = lock(&self.0);
        match std::mem::replace(&mut *state, TicketState::Closed) {
            TicketState::Redeemed(answer) => Some(answer),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *lock(&self.0), TicketState::Closed);
        // An answer owns objects of the application, which must not be dropped under the lock.
        drop(state);
    }
}
