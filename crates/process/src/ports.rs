//! The listening sockets of slots.

use std::os::fd::{AsFd, OwnedFd};

use adyton_sys::socket;

/// The listening sockets of one worker: for each of its loops those of every address.
pub type Sockets = Vec<Vec<OwnedFd>>;

/// Whether somebody waits at a socket that is its alone to be accepted.
pub(crate) fn is_waited_at(sockets: &Sockets) -> bool {
    let own = sockets.iter().flatten().filter(|socket| socket::is_shared(socket));
    let own: Vec<_> = own.map(AsFd::as_fd).collect();
    !own.is_empty() && socket::wait_readable(&own, 0).is_ok_and(|readable| readable.contains(&true))
}
