//! What a call of the application comes to.

use crate::answering::judged::Judged;
use crate::answering::later::Claim;
use crate::answering::reply::Reply;

/// What a call came to.
pub enum Outcome {
    /// The whole answer is written.
    Done,
    /// The answer has begun; the rest is pulled when the client has taken what there is.
    Stream(Box<dyn Stream>),
    /// Nothing is written yet: the thread that redeems the ticket of this claim answers. A ticket that is dropped fails.
    Later(Claim),
    /// Nothing is written: a program has said who the client is.
    Judged(Box<Judged>),
    /// It failed, and said why in the log. An answer that has not begun becomes a 500; one that has
    /// is cut, so that what the client has does not look complete.
    Failed,
    /// It was interrupted because it took too long. An answer that has not begun becomes a 504.
    TimedOut,
}

/// The rest of an answer.
///
/// It is dropped between `attach` and `detach`.
pub trait Stream: Send {
    /// Writes the next pieces.
    fn pull(&mut self, reply: &mut Reply<'_>) -> Pull;
}

/// What a pull came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// There may be more.
    More,
    /// The answer is whole.
    End,
    /// The answer cannot be completed, and the log says why.
    Failed,
}

/// What is left of an answer after a call.
pub(crate) enum Left {
    /// Nothing: it is whole, or cut.
    Nothing,
    /// What the application still has to give.
    Stream(Box<dyn Stream>),
    /// All of it: it will come later.
    Later(Claim),
    /// All of it: the request was sent on, as its answer says.
    Onward,
    /// All of it: it is known by now who the client is.
    Judged(Box<Judged>),
}
