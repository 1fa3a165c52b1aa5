//! What working on a connection comes to.

use crate::answering::answer::After;
use crate::answering::errand::Errand;
use crate::answering::onward::Rewritten;
use crate::cache::wanting::Wanting;
use crate::cgi::WantedScript;
use crate::client::connection::Connection;
use crate::client::passage::Elsewhere;
use crate::guard::Credentials;

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
    /// It is in the table, and its exchange with the application: with this errand, or in the queue.
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
    Done(After),
    /// By the application.
    Ask,
    /// As soon as its credentials are verified.
    Check(Box<Credentials>),
    /// By a script.
    Script(Box<WantedScript>),
    /// With the answer to another request, as soon as that is there.
    Await(Box<Wanting>),
    /// By another process.
    Pass(Elsewhere),
    /// As one for this target.
    Rewritten(Rewritten),
}
