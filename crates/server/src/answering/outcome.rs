//! Results of calls of the application.

use crate::answering::judged::Judged;
use crate::answering::later::Claim;
use crate::answering::reply::Reply;

/// The result of a call.
pub enum Outcome {
    /// The whole answer is written.
    Done,
    /// The answer has begun; the rest is pulled when the client has taken what is there.
    Stream(Box<dyn Stream>),
    /// Nothing is written yet: the thread that redeems the ticket of this claim answers. If the ticket is dropped, the
    /// request fails.
    Later(Claim),
    /// Nothing is written: a program has said who the client is.
    Judged(Box<Judged>),
    /// The call failed, and the log says why. An answer that has not begun becomes a 500; one that has begun is cut, so
    /// that the client does not take its part for the whole.
    Failed,
    /// The call was interrupted because it took too long. An answer that has not begun becomes a 504.
    TimedOut,
}

/// The rest of an answer.
///
/// A stream is dropped between `attach` and `detach`.
pub trait Stream: Send {
    /// Writes the next pieces.
    fn pull(&mut self, reply: &mut Reply<'_>) -> Pull;
}

/// The result of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// More may follow.
    More,
    /// The answer is whole.
    End,
    /// The answer cannot be completed, and the log says why.
    Failed,
}

/// The rest of an answer after a call.
pub(crate) enum Left {
    /// Nothing: the answer is whole, or cut.
    Nothing,
    /// The pieces that the application still has to give.
    Stream(Box<dyn Stream>),
    /// All of it: it will come later.
    Later(Claim),
    /// All of it: the request was sent on, as its answer says.
    Onward,
    /// All of it: a program has said who the client is.
    Judged(Box<Judged>),
}
