//! What working on a connection comes to.

use crate::connection::{After, Connection, Respond};
use crate::errand::Errand;
use crate::reply::Answer;

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Goes on in its new phase.
    Continue,
    /// Waits for an event or its deadline.
    Wait,
    /// Could go on, but gives the others a turn first.
    Again,
    /// Ends.
    Close,
}

/// A step of a connection.
pub(crate) enum Step {
    /// It is here, and does this next.
    On(Box<Connection>, Next),
    /// It has gone to the application: with this errand, or into the queue.
    Away(Option<Errand>),
}

/// What working on a connection came to.
pub(crate) enum Worked {
    /// It waits.
    Kept(Box<Connection>),
    /// It is with the application, which the driver is to call.
    Away(Option<Errand>),
    /// It has ended; something may be left to be closed.
    Ended(Option<Errand>),
}

/// How a request is answered.
pub(crate) enum Answering {
    /// The answer is written.
    Done(Box<Connection>, After),
    /// By the application: the answer's form, and when the request came.
    Ask(Box<Connection>, Answer, u64),
}

/// What became of a request.
pub(crate) enum Verdict {
    /// The answer is written.
    Answered(After),
    /// The answer has begun.
    Streaming(Box<Respond>),
}
