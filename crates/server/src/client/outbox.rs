//! The way of answers to one client: its transport, and what is still to be sent.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::client::output::{Flushed, Output};
use crate::client::transport::Transport;
use crate::site::terms::Terms;

/// The way to one client. Exactly one of these has the outbox: its connection, the exchange that is with the
/// application, or, while the application runs, the place from which other threads can take it.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they come in any mixture")]
pub(crate) struct Outbox {
    pub(crate) transport: Transport,
    /// The listener that accepted the connection.
    pub(crate) listener: u16,
    /// Whether the loop's epoll instance knows the socket.
    pub(crate) watched: bool,
    /// Whether the answer to the present request has begun.
    pub(crate) begun: bool,
    /// Whether sending has failed: the client is gone.
    pub(crate) broken: bool,
    /// Whether the loop has answered through another outbox and given this one up: the thread that has it drops it.
    pub(crate) disowned: bool,
    pub(crate) peer: Option<SocketAddr>,
    /// The terms of the site that its last request was for.
    pub(crate) terms: Arc<Terms>,
    pub(crate) output: Output,
}

impl Outbox {
    pub(crate) fn new(
        transport: Transport,
        peer: Option<SocketAddr>,
        listener: u16,
        terms: Arc<Terms>,
    ) -> Self {
        Self {
            transport,
            listener,
            watched: false,
            begun: false,
            broken: false,
            disowned: false,
            peer,
            terms,
            output: Output::default(),
        }
    }

    /// Sends what is written, as far as the client takes it.
    ///
    /// # Errors
    ///
    /// The errors of [`Output::flush`].
    pub(crate) fn flush(&mut self) -> io::Result<Flushed> {
        self.output.flush(&mut self.transport)
    }

    /// Sends like [`Outbox::flush`], and ends our side at once if everything is taken.
    ///
    /// # Errors
    ///
    /// The errors of [`Output::flush_and_end`].
    pub(crate) fn flush_and_end(&mut self) -> io::Result<Flushed> {
        self.output.flush_and_end(&mut self.transport)
    }

    /// Sends like [`Outbox::flush`], while the application goes on. If the client is gone, the thread that has the
    /// outbox finds out later.
    pub(crate) fn send(&mut self) {
        self.broken |= self.flush().is_err();
    }

    /// Whether its client has gone. A client that has only ended its own side may still read: `far` says whether to
    /// take that for an end, too, as proxies do.
    pub(crate) fn is_abandoned(&self, far: bool) -> bool {
        match self.transport.peek() {
            Ok(Some(0)) => far,
            Ok(_) => false,
            Err(_) => true,
        }
    }

    /// Takes the way to the client away from the thread that has this outbox. Returns a new outbox with that way, if a
    /// descriptor is left for it, and this outbox, which the thread keeps and which leads nowhere then.
    pub(crate) fn disown(mut self: Box<Self>) -> (Option<Box<Self>>, Box<Self>) {
        self.disowned = true;
        let Ok(nowhere) = Transport::nowhere() else { return (None, self) };
        let transport = std::mem::replace(&mut self.transport, nowhere);
        let mut taken = Self::new(transport, self.peer, self.listener, Arc::clone(&self.terms));
        (taken.watched, taken.begun) = (self.watched, self.begun);
        taken.output = std::mem::take(&mut self.output);
        (Some(Box::new(taken)), self)
    }
}
