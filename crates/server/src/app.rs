//! The application as the server sees it; the server knows nothing else about it.

use std::net::SocketAddr;
use std::sync::Arc;

use adyton_http::Request;

use crate::answering::later::{Claim, Ticket, ticket};
use crate::answering::outcome::{Outcome, Stream};
use crate::answering::reply::Reply;
use crate::client::body::Body;
use crate::threads::home::Home;

/// The environment of a process's applications: an interpreter, and its threads. A process has one host, however many
/// applications it has.
pub trait Host: Send + Sync + 'static {
    /// Takes the interpreter, without which nothing can be called, for this thread. Called once before a batch of
    /// calls.
    fn attach(&self);

    /// Gives back the interpreter that [`Host::attach`] took. Always called before the thread waits for the kernel.
    fn detach(&self);

    /// Returns the remains of answers that were sent, to be dropped like any stream; `None` while they are too few to
    /// be worth a call.
    fn remains(&self) -> Option<Box<dyn Stream>> {
        None
    }

    /// Starts another thread that calls [`crate::Server::work`], because one of the existing threads waits for its
    /// client. Returns `false` if no thread can be started; then the log says why. Called while detached.
    fn spawn(&self) -> bool;

    /// Ends the call that thread `thread` is in, as far as that can be done from outside, and returns the place in the
    /// application's code at which the call was. Called on a thread of its own, detached.
    fn interrupt(&self, thread: u64, call: &mut dyn LateCall) -> Option<String>;

    /// Returns the places in the code at which all threads are. Does not attach, because a thread may be holding the
    /// interpreter for ever. `None` if the places are not known.
    fn held_stacks(&self) -> Option<String> {
        None
    }

    /// Takes back what [`Host::interrupt`] has done to this thread: the call has ended by itself. Called while
    /// attached.
    fn absolve(&self, thread: u64);
}

/// The host of an application that needs no host, and whose calls are quick.
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
    /// Answers one request, or says how it will be answered. Called only between [`Host::attach`] and [`Host::detach`].
    fn call(&self, call: &mut Call<'_>) -> Outcome;
}

/// A call that takes longer than it may. While one of these functions runs its closure, the call cannot end: its
/// thread, and other attached threads, may wait until the closure returns. So the closure must not wait to be attached.
pub trait LateCall {
    /// Runs `look` if the thread is still in the call.
    fn while_in(&mut self, look: &mut dyn FnMut());

    /// Runs `strike`, which interrupts the call, if the thread is still in the call and the call's time is still over:
    /// a piece of the answer may have come meanwhile. To be called once, while attached.
    fn end(&mut self, strike: &mut dyn FnMut());
}

/// The place at which an application is mounted; an empty path stands for the root.
#[derive(Clone, Copy, Debug, Default)]
pub struct MountPoint<'c> {
    /// The path, decoded.
    pub path: &'c [u8],
    /// How many bytes the mount point takes at the start of the request's path, before decoding.
    pub raw_bytes: usize,
}

/// One request, and the place for its answer.
pub struct Call<'c> {
    /// The request.
    pub request: Request<'c>,
    /// The place at which the application is mounted.
    pub mount: MountPoint<'c>,
    /// Whether the request's body came in chunks.
    pub(crate) is_chunked: bool,
    /// The request's body.
    pub body: Body<'c>,
    /// The number of the listener that accepted the connection.
    pub listener: usize,
    /// The client's address; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The answer.
    pub reply: Reply<'c>,
    /// The connection's key in its loop, and the place where that loop hears of later answers.
    pub(crate) key: usize,
    pub(crate) home: &'c Arc<dyn Home>,
}

impl Call<'_> {
    /// Makes the ticket of an answer that comes later, for the thread that will give the answer, and the claim for
    /// [`Outcome::Later`]. The part of the body that the call has not taken is lost when the call returns.
    pub fn later(&self) -> (Ticket, Claim) {
        ticket(self.key, Arc::clone(self.home))
    }

    /// The length of a body that came in chunks and is whole by now: the application is told this length as if the
    /// client had sent a `Content-Length`, because many applications look for nothing else. To be called before the
    /// body is taken.
    pub fn unchunked_bytes(&self) -> Option<u64> {
        if self.is_chunked { self.body.known_bytes() } else { None }
    }
}
