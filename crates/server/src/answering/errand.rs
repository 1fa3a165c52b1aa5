//! Errands: values that say which call of the application a loop wants.
//!
//! The loop itself never calls the application: it returns an errand, which is run by the thread that drives the loop,
//! or by another thread.

use adyton_log::request::RequestId;

use crate::answering::exchange::Exchange;
use crate::answering::later::Made;
use crate::answering::outcome::Stream;
use crate::site::limits::CallLimits;

/// Wait of a request after which it is worth a system call to see whether the client is still connected.
pub(crate) const LOOK_AT_CLIENT_MS: u64 = 5;

/// Wait of a request after which a client that has shut down its sending side is taken for gone, too.
pub(crate) const LOOK_FOR_CLIENT_MS: u64 = 100;

/// Something that only the application can do.
pub(crate) enum Errand {
    /// Answer a request.
    Ask(Box<Exchange>),
    /// Go on with an answer.
    Pull(Box<Exchange>, Box<dyn Stream>),
    /// Give an answer that comes after its call.
    Redeem(Box<Exchange>, Made),
    /// Drop the rest of an answer whose client has gone, or of answers that were sent.
    Discard(Box<dyn Stream>, CallLimits),
}

impl Errand {
    /// The id by which the logs call the errand's request.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Ask(exchange) | Self::Pull(exchange, _) | Self::Redeem(exchange, _) => {
                Some(&exchange.answer.id)
            }
            Self::Discard(..) => None,
        }
    }

    /// The time limits of the call.
    pub(crate) fn limits(&self) -> CallLimits {
        match self {
            Self::Ask(exchange) | Self::Pull(exchange, _) | Self::Redeem(exchange, _) => {
                exchange.call_limits()
            }
            Self::Discard(_, limits) => *limits,
        }
    }
}

/// An errand for any thread.
pub(crate) struct Job {
    pub(crate) errand: Errand,
    /// The number of the loop that the errand came from.
    pub(crate) home: usize,
    /// Whether its endpoint is not known to be slow.
    pub(crate) is_quick: bool,
    /// The time at which the errand began to wait, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
}
