//! Descriptors handed from process to process over a unix socket: `SCM_RIGHTS`, unix(7).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

/// The most descriptors in one message (`SCM_MAX_FD`).
pub const DESCRIPTORS_MAX: usize = 253;

/// The longest message.
pub const BYTES_MAX: usize = 64 << 10;

/// Sends one message with descriptors, over a socket that keeps message boundaries. The call may block.
///
/// # Errors
///
/// The other side is gone, or the descriptors are too many.
pub fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(socket, bytes, descriptors, SendFlags::NOSIGNAL)
}

/// Sends one message like [`send`], without waiting.
///
/// # Errors
///
/// Errors of [`send`], and `WouldBlock` while the other side does not read.
pub fn send_now(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    send_with(socket, bytes, descriptors, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn send_with(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<()> {
    if bytes.len() > BYTES_MAX || descriptors.len() > DESCRIPTORS_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too much for one message"));
    }
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("there is no room for the descriptors"));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)?;
    Ok(())
}

/// Receives one message with its descriptors, which children do not inherit; `None` when the other side has closed.
///
/// # Errors
///
/// Errors of recvmsg(2).
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

/// Receives a short message without descriptors into `buffer`, without waiting. Returns its length, 0 when the other
/// side has closed, and `None` if no message has come.
///
/// # Errors
///
/// Errors of recv(2).
pub fn receive_now(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::net::recv(socket, buffer, RecvFlags::DONTWAIT) {
        Ok((_, bytes)) => Ok(Some(bytes)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes two connected sockets that keep message boundaries. Calls on them may block.
///
/// # Errors
///
/// The process is out of descriptors or memory.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Makes two connected sockets like [`pair`], on which no call blocks. Connections are passed from process to process
/// through them: see [`try_pass`].
///
/// # Errors
///
/// Errors of [`pair`].
pub fn passage() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// Sends one message, made of `parts`, with a descriptor, if there is room for it now. Returns whether it was sent;
/// either way, the descriptor stays open in this process.
///
/// # Errors
///
/// The other side is gone, or the message is longer than the socket's buffer.
pub fn try_pass(socket: impl AsFd, parts: &[IoSlice<'_>], descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    use rustix::io::Errno;
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("there is no room for the descriptor"));
    }
    loop {
        // Another process that holds this end may have cleared its O_NONBLOCK.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        return match rustix::net::sendmsg(&socket, parts, &mut ancillary, flags) {
            Ok(_) => Ok(true),
            Err(Errno::INTR) => continue,
            // `TOOMANYREFS`: too many descriptors that this user has sent are not yet received (unix(7)).
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::TOOMANYREFS) => Ok(false),
            Err(error) => Err(error.into()),
        };
    }
}

/// Result of [`try_take`].
pub enum Taken {
    /// The number of bytes that were put into the parts, and the descriptor, which children do not inherit.
    Message(usize, OwnedFd),
    /// No message is there now.
    Nothing,
    /// No message will come any more: the other side is gone.
    End,
    /// A message was dropped: it had no descriptor or several, or more bytes than there is room for.
    Unfit,
}

/// Takes one message with a descriptor into `parts`, if a message has come. While the process has no descriptor left,
/// takes nothing, because the kernel would drop the message's descriptor.
///
/// # Errors
///
/// The process is out of descriptors; or errors of recvmsg(2).
pub fn try_take(socket: impl AsFd, parts: &mut [IoSliceMut<'_>]) -> io::Result<Taken> {
    use rustix::io::Errno;
    use rustix::net::ReturnFlags;
    drop(socket.as_fd().try_clone_to_owned()?);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = loop {
        match rustix::net::recvmsg(&socket, parts, &mut ancillary, flags) {
            // ECONNRESET comes once if the other side closed without reading all messages; the messages that it sent
            // can still be received.
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(Errno::AGAIN) => return Ok(Taken::Nothing),
            other => break other?,
        }
    };
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => Some(rights),
        _ => None,
    });
    let mut descriptors = descriptors.by_ref().flatten();
    // The kernel pads the space for one descriptor so that two fit, and therefore does not report a second descriptor
    // as cut off.
    let (first, second) = (descriptors.next(), descriptors.next());
    let is_cut = received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
    Ok(match (first, second) {
        (Some(descriptor), None) if !is_cut => Taken::Message(received.bytes, descriptor),
        (None, _) if received.bytes == 0 && is_ended(&socket)? => Taken::End,
        _ => Taken::Unfit,
    })
}

/// Whether nobody can send to this socket any more. A received length of 0 does not tell this, because a message may be
/// empty.
fn is_ended(socket: impl AsFd) -> io::Result<bool> {
    let mut asked = [PollFd::new(&socket, PollFlags::RDHUP)];
    poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(asked[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP))
}

#[cfg(test)]
mod tests {
    use std::io::{self, IoSlice, IoSliceMut};
    use std::os::fd::AsFd;

    use super::Taken;

    /// Messages arrive with their descriptors, and then the end is reported.
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

    /// Messages wait in the passage until they are taken; when one side closes, the other side sees the end.
    #[test]
    fn passed() -> io::Result<()> {
        let (one, other) = super::passage()?;
        let file = std::fs::File::open("/dev/null")?;
        let parts = [IoSlice::new(b"head"), IoSlice::new(b"rest")];
        let (mut head, mut rest) = ([0; 4], [0; 8]);
        let mut take = || {
            let taken =
                super::try_take(&other, &mut [IoSliceMut::new(&mut head), IoSliceMut::new(&mut rest)]);
            taken.map(|taken| match taken {
                Taken::Message(bytes, _) => format!("{bytes}"),
                Taken::Nothing => "nothing".to_owned(),
                Taken::End => "end".to_owned(),
                Taken::Unfit => "unfit".to_owned(),
            })
        };

        assert_eq!("nothing", take()?);
        let mut count = 0;
        while super::try_pass(&one, &parts, file.as_fd())? {
            count += 1;
        }
        assert!(count > 8, "{count}");
        for _ in 0..count {
            assert_eq!("8", take()?);
        }
        assert_eq!("nothing", take()?);
        super::send(&one, b"without", &[])?;
        assert_eq!("unfit", take()?);
        super::send(&one, b"headrest\0\0\0\0!", &[file.as_fd()])?;
        assert_eq!("unfit", take()?);
        super::send(&one, b"twice", &[file.as_fd(), file.as_fd()])?;
        assert_eq!("unfit", take()?);
        // An empty message is not taken for the end.
        super::send(&one, b"", &[])?;
        super::send(&one, b"head", &[file.as_fd()])?;
        assert_eq!("unfit", take()?);
        assert_eq!("4", take()?);
        // Messages sent before the end arrive before it, even if the other side has closed without reading its own
        // messages.
        super::send(&other, b"unread", &[])?;
        super::send(&one, b"last", &[file.as_fd()])?;
        drop(one);
        assert_eq!("4", take()?);
        assert_eq!("end", take()?);
        assert_eq!("end", take()?);
        assert_eq!((*b"last", *b"eest\0\0\0\0"), (head, rest));
        Ok(())
    }
}
