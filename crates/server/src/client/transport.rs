//! Carries bytes between a connection and its client.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use adyton_sys::pipe::Channel;
use adyton_sys::socket;
pub(crate) use adyton_sys::socket::Until;

/// The way to and from one client: a TCP or unix socket that does not block.
///
/// All that connections, answers and streamed bodies do with a socket goes through here, so another kind of connection
/// (TLS) would be another variant of this type. A method that moves bytes returns their number, or `None` if the kernel
/// takes or has none now. An error means that the connection is gone.
pub(crate) struct Transport {
    socket: OwnedFd,
}

impl Transport {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// A transport that leads nowhere.
    ///
    /// # Errors
    ///
    /// The process has no descriptor left.
    pub(crate) fn nowhere() -> io::Result<Self> {
        std::fs::File::open("/dev/null").map(|file| Self::new(file.into()))
    }

    /// A second handle on this transport, for a thread that reads a body from it.
    ///
    /// # Errors
    ///
    /// The process has no descriptor left.
    pub(crate) fn share(&self) -> io::Result<Self> {
        self.socket.try_clone().map(Self::new)
    }

    /// Takes bytes that have arrived; 0 bytes are the client's end.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        socket::recv(&self.socket, buffer)
    }

    /// Takes bytes like [`Transport::receive`], but into several buffers in one call.
    pub(crate) fn receive_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<Option<usize>> {
        socket::recv_vectored(&self.socket, buffers)
    }

    /// Takes bytes like [`Transport::receive`], but at most `bytes`, and into a channel.
    pub(crate) fn receive_into(&mut self, channel: &Channel, bytes: usize) -> io::Result<Option<usize>> {
        channel.take_from(&self.socket, bytes)
    }

    /// Looks at what the next receive would bring, without taking it: at most 1 byte, 0 at the client's end.
    pub(crate) fn peek(&self) -> io::Result<Option<usize>> {
        socket::peek(&self.socket)
    }

    /// Whether something has arrived that is not the client's end.
    pub(crate) fn has_arrived(&self) -> bool {
        matches!(self.peek(), Ok(Some(1..)))
    }

    /// Sends from the beginning of `bytes`; `more` says that the next call follows at once.
    pub(crate) fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<Option<usize>> {
        socket::send(&self.socket, bytes, more)
    }

    /// Sends like [`Transport::send`], but several pieces in one call.
    pub(crate) fn send_vectored(&mut self, pieces: &[IoSlice<'_>], more: bool) -> io::Result<Option<usize>> {
        socket::send_vectored(&self.socket, pieces, more)
    }

    /// Sends up to `bytes` of a file from `offset`; 0 bytes mean that the file ends before that. An error may also say
    /// that the file cannot be read.
    pub(crate) fn send_file(
        &mut self,
        file: impl AsFd,
        offset: u64,
        bytes: usize,
    ) -> io::Result<Option<usize>> {
        socket::send_file(&self.socket, file, offset, bytes)
    }

    /// Holds packets back until they are full, or no longer.
    pub(crate) fn hold(&mut self, on: bool) {
        socket::cork(&self.socket, on);
    }

    /// The number of bytes that were sent and that the client's side has not taken yet.
    pub(crate) fn untaken_bytes(&self) -> u64 {
        socket::untaken_bytes(&self.socket)
    }

    /// Waits until something can be received or sent; `false` when the time is over.
    ///
    /// # Errors
    ///
    /// The errors of `poll(2)`.
    pub(crate) fn wait(&self, until: Until, timeout_ms: u64) -> io::Result<bool> {
        socket::wait(&self.socket, until, timeout_ms)
    }

    /// Ends our side: the client reads to the end of what was sent.
    pub(crate) fn end(&mut self) {
        socket::shutdown_write(&self.socket);
    }

    /// Has the kernel drop unsent data when this is closed, and send the client a reset.
    pub(crate) fn reset_on_close(&mut self) {
        socket::reset_on_close(&self.socket);
    }

    /// Resets now, unlike [`Transport::reset_on_close`]: the next send or receive fails.
    pub(crate) fn reset(&mut self) {
        self.reset_on_close();
        socket::shutdown(&self.socket);
    }

    /// The user at the other end of a unix socket.
    ///
    /// # Errors
    ///
    /// The socket is of another kind.
    pub(crate) fn peer_user(&self) -> io::Result<u32> {
        socket::peer_user(&self.socket)
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
