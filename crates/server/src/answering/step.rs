//! Results of working on a connection.

use crate::answering::answer::After;
use crate::answering::errand::Errand;
use crate::answering::onward::Rewritten;
use crate::cache::wanting::Wanting;
use crate::cgi::WantedScript;
use crate::client::connection::Connection;
use crate::client::passage::Elsewhere;
use crate::guard::Credentials;

/// A connection's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Goes on in its new phase.
    Continue,
    /// Has its request answered; the request's body is whole.
    Answer,
    /// Waits for an event or its deadline.
    Wait,
    /// Could go on, but gives the other connections a turn first.
    Again,
    /// Ends.
    Close,
}

/// A step of a connection.
pub(crate) enum Step {
    /// The connection is here, and does this next.
    On(Box<Connection>, Next),
    /// The connection is in the table, and its exchange is on the way to the application: in this errand, or in the
    /// queue.
    Away(Option<Errand>),
}

/// The result of working on a connection.
pub(crate) enum Worked {
    /// The connection waits.
    Kept(Box<Connection>),
    /// The connection is with the application, which the driver is to call if there is an errand.
    Away(Option<Errand>),
    /// The connection has ended; something may be left to be closed.
    Ended(Option<Errand>),
}

/// The way in which a request is answered.
pub(crate) enum Answering {
    /// The answer is written.
    Done(After),
    /// By the application.
    Ask,
    /// As soon as its credentials are verified.
    Check(Box<Credentials>),
    /// By a script.
    Script(Box<WantedScript>),
    /// With the answer to another request, as soon as that answer is there.
    Await(Box<Wanting>),
    /// By another process.
    Pass(Elsewhere),
    /// As a request for this target.
    Rewritten(Rewritten),
}
