//! What the server asks of an application; it knows nothing else about it.

use std::net::SocketAddr;
use std::sync::Arc;

use adyton_http::Request;

use crate::answering::later::{Claim, Ticket, ticket};
use crate::answering::outcome::{Outcome, Stream};
use crate::answering::reply::Reply;
use crate::client::body::Body;
use crate::threads::home::Home;

/// What the applications of a process run in: an interpreter, and its threads. There is one, however many applications
/// there are.
pub trait Host: Send + Sync + 'static {
    /// Takes what calls need (the interpreter), for this thread. Once before a batch of calls.
    fn attach(&self);

    /// Gives it back. Always before the thread waits for the kernel.
    fn detach(&self);

    /// What is left of answers that were sent, to be dropped like any stream; `None` while it is too little to go for.
    fn remains(&self) -> Option<Box<dyn Stream>> {
        None
    }

    /// Starts another thread that calls [`crate::Server::work`]: one of those that there are waits for its client.
    /// `false` when there can be no other, and the log says why. Called while detached.
    fn spawn(&self) -> bool;

    /// Ends the call that thread `thread` is in, as far as that can be done from outside, and says where it was. Called on a
    /// thread of its own, detached.
    fn interrupt(&self, thread: u64, call: &mut dyn LateCall) -> Option<String>;

    /// Where all threads are, asked without what calls need: one of them may keep that to itself. `None`: it is not known.
    fn held_stacks(&self) -> Option<String> {
        None
    }

    /// Takes back what [`Host::interrupt`] has done to this thread: the call has ended by itself. Called while attached.
    fn absolve(&self, thread: u64);
}

/// The host of an application that needs none, and whose calls are quick.
pub struct NoHost;

impl Host for NoHost {
    fn attach(&self) {}

    fn detach(&self) {}

    fn spawn(&self) -> bool {
        false
    }

    fn interrupt(&self, _: u64, _: &mut dyn LateCall) -> Option<String> {
        None
    }

    fn absolve(&self, _: u64) {}
}

/// An application, called on any thread that runs [`crate::Server::work`].
pub trait App: Send + Sync + 'static {
    /// Answers one request, or says how it will be answered. Only between [`Host::attach`] and [`Host::detach`].
    fn call(&self, call: &mut Call<'_>) -> Outcome;
}

/// A call that takes longer than it may. While one of these functions runs what it is given, the call does not end: its
/// thread, and attached ones, may wait for that. So what is run must not wait to be attached.
pub trait LateCall {
    /// Runs `look` if the thread is still in the call.
    fn while_in(&mut self, look: &mut dyn FnMut());

    /// Runs `strike`, which interrupts the call, if the thread is still in it and nothing has come from it meanwhile. To be
    /// called once, while attached.
    fn end(&mut self, strike: &mut dyn FnMut());
}

/// One request, and the place for its answer.
pub struct Call<'c> {
    /// The request.
    pub request: Request<'c>,
    /// Where the application stands: that path, decoded, and how many bytes of the request's path as it was sent
    /// are that. Empty and 0 unless it is mounted there.
    pub mount: (&'c [u8], usize),
    /// Whether its body came in chunks.
    pub(crate) is_chunked: bool,
    /// The request's body.
    pub body: Body<'c>,
    /// Which listener accepted the connection.
    pub listener: usize,
    /// The client's address; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The answer.
    pub reply: Reply<'c>,
    /// The connection's key in its loop, and where that hears of what comes later.
    pub(crate) key: usize,
    pub(crate) home: &'c Arc<dyn Home>,
}

impl Call<'_> {
    /// For an answer that is not there yet: the ticket goes to the thread that will have it, and the claim into
    /// [`Outcome::Later`]. What has not been taken of the body until then is gone.
    pub fn later(&self) -> (Ticket, Claim) {
        ticket(self.key, Arc::clone(self.home))
    }

    /// How long a body is that came in chunks and is whole by now: the application is to find it as if it had come with
    /// a length, for many look at nothing else. To be asked before the body is taken.
    pub fn unchunked_bytes(&self) -> Option<u64> {
        if self.is_chunked { self.body.known_bytes() } else { None }
    }
}
