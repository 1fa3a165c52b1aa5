//! Descriptors handed from process to process over a unix socket: `SCM_RIGHTS`, unix(7).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

/// The most that one message carries (`SCM_MAX_FD`).
pub const DESCRIPTORS_MAX: usize = 253;

/// The longest message.
const BYTES_MAX: usize = 64 << 10;

/// Sends one message with descriptors, over a socket that keeps messages apart and may block.
///
/// # Errors
///
/// The other side is gone, or these are too many.
pub fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if bytes.len() > BYTES_MAX || descriptors.len() > DESCRIPTORS_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too much for one message"));
    }
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("there is no room for the descriptors"));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives one message with its descriptors, which do not go to children; `None` at the end.
///
/// # Errors
///
/// As recvmsg(2).
pub fn receive(socket: impl AsFd) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; BYTES_MAX];
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let slices = &mut [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(&socket, slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    bytes.truncate(received.bytes);
    Ok(Some((bytes, descriptors)))
}

/// Two connected sockets that keep messages apart and block.
///
/// # Errors
///
/// The process is out of descriptors or memory.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::AsFd;

    /// What is sent arrives, descriptors and all, and the end is an end.
    #[test]
    fn there() -> io::Result<()> {
        let (one, other) = super::pair()?;
        let file = std::fs::File::open("/dev/null")?;
        super::send(&one, b"first", &[file.as_fd(), file.as_fd()])?;
        super::send(&one, b"second", &[])?;
        drop(one);

        let received = super::receive(&other)?.map(|(bytes, descriptors)| (bytes, descriptors.len()));

        assert_eq!(Some((b"first".to_vec(), 2)), received);
        assert!(super::receive(&other)?.is_some_and(|(bytes, none)| bytes == b"second" && none.is_empty()));
        assert!(super::receive(&other)?.is_none());
        Ok(())
    }
}
