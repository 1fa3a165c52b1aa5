//! Stream sockets: listening, accepting, and bytes in and out without blocking.
//!
//! `O_NONBLOCK` belongs to the open socket, not to the descriptor (fcntl(2)): any process that holds or has held the
//! same connection may clear it. So each receive and send here asks not to wait (`MSG_DONTWAIT`).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny,
    SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

use crate::files::stdio;
use crate::processes::forks;

/// Result of a call on a non-blocking socket: `None` if the call would have to wait.
pub type Io = io::Result<Option<usize>>;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Listens on a TCP address. Accepted sockets inherit `TCP_NODELAY` (tcp(7)), which saves a call for each connection.
/// If `shared`, this user may bind other sockets to the same address (`SO_REUSEPORT`, socket(7)). `::` means every
/// address of the machine, also the IPv4 ones.
///
/// # Errors
///
/// The address is in use, not of this machine, or not permitted.
pub fn listen_tcp(address: SocketAddr, backlog: u32, shared: bool) -> io::Result<OwnedFd> {
    listen(address, backlog, shared, !address.ip().is_unspecified())
}

/// Listens like [`listen_tcp`], but another socket has the port for IPv4, so `::` means every IPv6 address only.
///
/// # Errors
///
/// Errors of [`listen_tcp`].
pub fn listen_tcp_beside_ipv4(address: SocketAddr, backlog: u32, shared: bool) -> io::Result<OwnedFd> {
    listen(address, backlog, shared, true)
}

/// The address at which [`listen_tcp`] would listen, or [`listen_tcp_beside_ipv4`] if `beside_ipv4`; an error if
/// another socket listens there. The function binds a socket for a moment without listening, so that no client can
/// connect to it and be cut off when it is closed.
///
/// # Errors
///
/// Errors of [`listen_tcp`].
pub fn free_tcp(address: SocketAddr, beside_ipv4: bool) -> io::Result<SocketAddr> {
    let socket = bind(address, false, beside_ipv4 || !address.ip().is_unspecified())?;
    Ok(local_address(&socket)?.unwrap_or(address))
}

/// Whether a socket is an IPv6 one that takes no IPv4 connections.
pub fn is_ipv6_only(socket: impl AsFd) -> bool {
    sockopt::ipv6_v6only(socket).unwrap_or(false)
}

fn listen(address: SocketAddr, backlog: u32, shared: bool, is_ipv6_only: bool) -> io::Result<OwnedFd> {
    let socket = bind(address, shared, is_ipv6_only)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    forks::own_listener(&socket);
    Ok(socket)
}

fn bind(address: SocketAddr, shared: bool, is_ipv6_only: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, shared)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, is_ipv6_only)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// Users who may connect to a unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The rights, as chmod(2) takes them.
    pub mode: u32,
    /// The group of the socket; `None` means the process's group.
    pub group: Option<u32>,
}

/// Listens on a unix socket at `path`. Replaces a socket that a dead server left there, but not a socket at which a
/// server still listens. Without `access`, the umask determines which users may connect.
///
/// # Errors
///
/// `AddrInUse` if a server listens there or the path is no socket; otherwise errors of bind(2), chown(2) and chmod(2).
pub fn listen_unix(path: &Path, backlog: u32, access: Option<Access>) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    match rustix::net::bind(&socket, &address) {
        Err(Errno::ADDRINUSE) => {
            remove_stale(path)?;
            rustix::net::bind(&socket, &address)?;
        }
        other => other?,
    }
    // Until listen(2), every connection is refused: no client connects under the rights that the umask has left.
    if let Some(access) = access {
        admit(path, access).map_err(|error| {
            io::Error::new(error.kind(), format!("its group or rights cannot be set: {error}"))
        })?;
    }
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    forks::own_listener(&socket);
    Ok(socket)
}

/// Listens on a unix socket whose name is in no file system (unix(7), "abstract"). The name is free again when all
/// processes have closed the socket. Every user of this network namespace may connect.
///
/// # Errors
///
/// `AddrInUse` if a socket already has the name; otherwise errors of bind(2).
pub fn listen_abstract(name: &[u8], backlog: u32) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    rustix::net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    forks::own_listener(&socket);
    Ok(socket)
}

/// Sets group and rights of the socket at `path` through a descriptor, because a user who may write in its folder could
/// put a link there that leads elsewhere. (fchmod(2) before bind(2) would not help: the umask still takes rights away.)
fn admit(path: &Path, Access { mode, group }: Access) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is something else than a socket"));
    }
    if let Some(group) = group {
        rustix::fs::chownat(&file, c"", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
    }
    // fchmod(2) refuses a descriptor that was opened with `O_PATH`.
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::set_permissions(own, std::fs::Permissions::from_mode(mode))
}

/// Removes the socket file of a killed server, if no process listens at it.
///
/// # Errors
///
/// A process listens there, the file is no socket, or it cannot be removed.
pub fn remove_stale(path: &Path) -> io::Result<()> {
    let probe = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    // A connect to a file that is no socket is also refused, and such a file must not be removed.
    if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is something else than a socket"));
    }
    match rustix::net::connect(&probe, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => std::fs::remove_file(path),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// Takes over the listening socket that the parent process left open as descriptor `fd`.
///
/// # Errors
///
/// `fd` is not open, or not a listening stream socket.
pub fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only asks the kernel about the number; for a closed one the answer is EBADF.
    if fd < 0 || unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such descriptor is open"));
    }
    // SAFETY: `fd` is open, as just seen, and the user hands it to us by naming it: nothing else in this process closes
    // it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    if !sockopt::socket_acceptconn(&socket).unwrap_or(false) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the descriptor is not a listening socket"));
    }
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    // A unix socket has no such option, and does not need it.
    let _ = sockopt::set_tcp_nodelay(&socket, true);
    Ok(socket)
}

/// Makes two connected stream sockets: bytes written to one are read from the other.
///
/// # Errors
///
/// The process is out of descriptors or memory.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?)
}

/// The cookie of a socket: a number that the kernel gives to no other socket until the next boot (`SO_COOKIE`,
/// socket(7)).
///
/// # Errors
///
/// The descriptor is no socket.
pub fn cookie(socket: impl AsFd) -> io::Result<u64> {
    Ok(sockopt::socket_cookie(socket)?)
}

/// Whether this is a stream socket (`SO_TYPE`, socket(7)); `false` for a descriptor that is no socket at all.
pub fn is_stream(socket: impl AsFd) -> bool {
    sockopt::socket_type(socket).is_ok_and(|kind| kind == SocketType::STREAM)
}

/// The user who has connected to a unix socket (`SO_PEERCRED`, unix(7)).
///
/// # Errors
///
/// The descriptor is no connected unix socket.
pub fn peer_user(socket: impl AsFd) -> io::Result<u32> {
    Ok(sockopt::socket_peercred(socket)?.uid.as_raw())
}

/// Whether another socket may be bound to the address of this one (`SO_REUSEPORT`, socket(7)).
pub fn is_shared(socket: impl AsFd) -> bool {
    sockopt::socket_reuseport(socket).unwrap_or(false)
}

/// Directs new connections only to the first `count` of the sockets that share this one's address, counted in the order
/// in which they were bound; the kernel picks one of them at random (`SO_ATTACH_REUSEPORT_CBPF`, socket(7)).
///
/// # Errors
///
/// The socket does not share its address.
pub fn choose_among(socket: impl AsFd, count: u32) -> io::Result<()> {
    let word = |bits: u32| u16::try_from(bits).unwrap_or(0);
    let step = |code, k| libc::sock_filter { code: word(code), jt: 0, jf: 0, k };
    // A = random; A = A mod count; return A.
    let random = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM).cast_unsigned();
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, random),
        step(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, count.max(1)),
        step(libc::BPF_RET | libc::BPF_A, 0),
    ];
    let program = libc::sock_fprog { len: 3, filter: steps.as_mut_ptr() };
    let size = u32::try_from(size_of::<libc::sock_fprog>()).unwrap_or(0);
    // SAFETY: the kernel reads `size` bytes of `program`, and the three steps that it points to, during the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits until one of several descriptors can be read, for at most `timeout_ms`; returns for each whether it can be
/// read.
///
/// # Errors
///
/// Errors of poll(2).
pub fn wait_readable(all: &[BorrowedFd<'_>], timeout_ms: u64) -> io::Result<Vec<bool>> {
    wait_ready(all, &[], timeout_ms)
}

/// Waits until one of `to_read` can be read or one of `to_write` can be written to, for at most `timeout_ms`. Returns
/// for each descriptor whether it is ready; the descriptors of `to_read` come first.
///
/// # Errors
///
/// Errors of poll(2).
pub fn wait_ready(
    to_read: &[BorrowedFd<'_>],
    to_write: &[BorrowedFd<'_>],
    timeout_ms: u64,
) -> io::Result<Vec<bool>> {
    let to_read = to_read.iter().map(|fd| PollFd::new(fd, PollFlags::IN));
    let to_write = to_write.iter().map(|fd| PollFd::new(fd, PollFlags::OUT));
    let mut list: Vec<PollFd<'_>> = to_read.chain(to_write).collect();
    match poll(&mut list, Some(&timespec(timeout_ms))) {
        Ok(_) | Err(Errno::INTR) => Ok(list.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(error) => Err(error.into()),
    }
}

fn timespec(ms: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ms / 1000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ms % 1000).unwrap_or(0) * 1_000_000,
    }
}

/// The address that a listening socket is bound to; `None` for a unix socket.
///
/// # Errors
///
/// Errors of `getsockname(2)`.
pub fn local_address(socket: impl AsFd) -> io::Result<Option<SocketAddr>> {
    Ok(internet(&rustix::net::getsockname(socket)?))
}

/// The path of a unix socket; `None` for other sockets and for unnamed ones.
pub fn local_path(socket: impl AsFd) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let address = SocketAddrUnix::try_from(rustix::net::getsockname(socket).ok()?).ok()?;
    address.path_bytes().map(|path| std::ffi::OsStr::from_bytes(path).into())
}

/// The abstract name of a unix socket; `None` for other sockets.
pub fn local_name(socket: impl AsFd) -> Option<Vec<u8>> {
    let address = SocketAddrUnix::try_from(rustix::net::getsockname(socket).ok()?).ok()?;
    address.abstract_name().map(<[u8]>::to_vec)
}

fn internet(address: &SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address.clone()).ok()
}

/// A connection taken from a listener, with its peer's address (`None` on unix sockets).
pub type Accepted = (OwnedFd, Option<SocketAddr>);

/// Accepts one connection, non-blocking; `None` if none waits. Its descriptor never gets the number of a standard
/// stream (`files/stdio.rs`).
///
/// # Errors
///
/// Errors of accept(2): `EMFILE`, `ENFILE`, `ENOMEM`, or the connection was already gone (`ECONNABORTED`).
pub fn accept(listener: impl AsFd) -> io::Result<Option<Accepted>> {
    match rustix::net::acceptfrom_with(listener, FLAGS) {
        Ok((socket, peer)) => Ok(Some((stdio::above(socket)?, peer.as_ref().and_then(internet)))),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Begins to connect to a TCP address, without Nagle's delay. The socket becomes writable when it has connected or
/// failed; [`pending_error`] tells which.
///
/// # Errors
///
/// Errors of connect(2), except `EINPROGRESS`, and of socket(2): `EMFILE`.
pub fn connect_tcp(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = tcp_socket(address)?;
    begun(rustix::net::connect(&socket, &address))?;
    Ok(socket)
}

/// Begins to connect like [`connect_tcp`], with a receive buffer of the given size (`SO_RCVBUF`, socket(7)) and with
/// segments as small as on an Ethernet (`TCP_MAXSEG`, tcp(7)), so that a sending peer soon notices when nothing is
/// read. With the 64 KiB segments of the loopback interface, the peer's own kernel would first take three megabytes.
///
/// # Errors
///
/// Errors of [`connect_tcp`].
pub fn connect_tcp_narrow(address: SocketAddr, receive_buffer_bytes: usize) -> io::Result<OwnedFd> {
    let socket = tcp_socket(address)?;
    // The options must be set before connecting: otherwise the peer is first told of a wide window.
    sockopt::set_socket_recv_buffer_size(&socket, receive_buffer_bytes)?;
    limit_segments(&socket, ETHERNET_SEGMENT_BYTES)?;
    begun(rustix::net::connect(&socket, &address))?;
    Ok(socket)
}

/// The most data of a TCP segment in a packet of 1,500 bytes, after the headers of IP and TCP with their options.
const ETHERNET_SEGMENT_BYTES: libc::c_int = 1448;

/// Limits the bytes in each segment that the peer sends.
fn limit_segments(socket: &OwnedFd, bytes: libc::c_int) -> io::Result<()> {
    let size = u32::try_from(size_of::<libc::c_int>()).unwrap_or(0);
    // SAFETY: the kernel reads `size` bytes of `bytes`, which lives until the call has returned.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_MAXSEG,
            (&raw const bytes).cast(),
            size,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a TCP socket without Nagle's delay.
fn tcp_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}

/// Connects to a unix socket; unlike a TCP connect, it has succeeded or failed when the call returns.
///
/// # Errors
///
/// Errors of connect(2): `EAGAIN` when the server's queue is full.
pub fn connect_unix(path: &Path) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

fn begun(connected: rustix::io::Result<()>) -> io::Result<()> {
    match connected {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The error of a socket since the last call: why it could not connect, or why the connection was cut.
pub fn pending_error(socket: impl AsFd) -> Option<io::Error> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) => None,
        Ok(Err(error)) | Err(error) => Some(error.into()),
    }
}

/// Reads the bytes that have arrived, up to the length of `buffer`; returns 0 at the peer's end.
///
/// # Errors
///
/// The connection was reset or timed out.
pub fn recv(socket: impl AsFd, buffer: &mut [u8]) -> Io {
    answer(rustix::net::recv(socket, &mut *buffer, RecvFlags::DONTWAIT).map(|(bytes, _)| bytes))
}

/// Reads like [`recv`], into several buffers in one call.
///
/// # Errors
///
/// Errors of [`recv`].
pub fn recv_vectored(socket: impl AsFd, buffers: &mut [IoSliceMut<'_>]) -> Io {
    let mut ancillary = RecvAncillaryBuffer::default();
    let received = rustix::net::recvmsg(socket, buffers, &mut ancillary, RecvFlags::DONTWAIT);
    answer(received.map(|received| received.bytes))
}

/// Sends as many of `bytes` as the kernel takes; `more` says that the next call follows at once (`MSG_MORE`).
///
/// # Errors
///
/// The connection is gone.
pub fn send(socket: impl AsFd, bytes: &[u8], more: bool) -> Io {
    answer(rustix::net::send(socket, bytes, send_flags(more)))
}

/// Sends as many bytes of several slices as the kernel takes in one call.
///
/// # Errors
///
/// The connection is gone.
pub fn send_vectored(socket: impl AsFd, slices: &[IoSlice<'_>], more: bool) -> Io {
    let mut ancillary = SendAncillaryBuffer::default();
    answer(rustix::net::sendmsg(socket, slices, &mut ancillary, send_flags(more)))
}

/// Looks at the next byte without taking it: returns 1 if a byte has come, 0 at the peer's end, and `None` if nothing
/// has come yet.
///
/// # Errors
///
/// The connection is gone.
pub fn peek(socket: impl AsFd) -> Io {
    let mut byte = [0; 1];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    answer(rustix::net::recv(socket, &mut byte, flags).map(|(taken, _)| taken))
}

fn send_flags(more: bool) -> SendFlags {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    if more { flags | SendFlags::MORE } else { flags }
}

/// Sends up to `bytes` of `file` from `offset` without copying them through this process; returns 0 if the file ends
/// before `offset`. The call blocks if another process has cleared the socket's `O_NONBLOCK`.
///
/// # Errors
///
/// The connection is gone, or the file cannot be read.
pub fn send_file(socket: impl AsFd, file: impl AsFd, offset: u64, bytes: usize) -> Io {
    let mut at = offset;
    answer(rustix::fs::sendfile(socket, file, Some(&mut at), bytes))
}

/// Sets whether calls on this socket wait by default, if they have no flag of their own.
///
/// # Errors
///
/// The descriptor is not open.
pub fn set_waits(socket: impl AsFd, waits: bool) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(socket, !waits)?)
}

fn answer(result: rustix::io::Result<usize>) -> Io {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ends our side of the connection; the peer may still send.
pub fn shutdown_write(socket: impl AsFd) {
    // The connection may already be gone, which is fine.
    let _ = rustix::net::shutdown(socket, Shutdown::Write);
}

/// Takes nothing more from the peer, which gets an error when it sends more; bytes that it has already sent can still
/// be received. For unix sockets.
pub fn shutdown_read(socket: impl AsFd) {
    // The connection may already be gone, which is fine.
    let _ = rustix::net::shutdown(socket, Shutdown::Read);
}

/// Ends both sides of the connection, which causes an epoll event.
pub fn shutdown(socket: impl AsFd) {
    // The connection may already be gone, which is fine.
    let _ = rustix::net::shutdown(socket, Shutdown::Both);
}

/// Holds back bytes that do not fill a packet until `on` is false again (`TCP_CORK`, tcp(7)), so that a head and the
/// file behind it leave in full packets.
pub fn cork(socket: impl AsFd, on: bool) {
    // A unix socket has no packets to fill, and for a connection that is gone it does not matter.
    let _ = sockopt::set_tcp_cork(socket, on);
}

/// Makes a later close reset the connection, so that the peer learns that its answer is not complete.
pub fn reset_on_close(socket: impl AsFd) {
    // If the connection is already gone, the peer sees no difference.
    let _ = sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

/// Bytes that were sent but that the peer's side has not taken yet (`SIOCOUTQ`, tcp(7)).
pub fn untaken_bytes(socket: impl AsFd) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open while it is borrowed, and the request writes one `int` to `bytes`.
    let status = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if status == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// Events that a thread waits for with [`wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Bytes, the end, or an error can be read.
    Readable,
    /// Bytes can be sent.
    Writable,
    /// Bytes can be read or sent.
    Either,
}

/// Blocks this thread until the socket is ready; `false` if it is not ready within `timeout_ms`.
///
/// # Errors
///
/// Errors of poll(2).
pub fn wait(socket: impl AsFd, until: Until, timeout_ms: u64) -> io::Result<bool> {
    let flags = match until {
        Until::Readable => PollFlags::IN,
        Until::Writable => PollFlags::OUT,
        Until::Either => PollFlags::IN | PollFlags::OUT,
    };
    match poll(&mut [PollFd::new(&socket, flags)], Some(&timespec(timeout_ms))) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Bytes of all messages that have arrived and were not received yet; 0 if the kernel does not say.
pub fn unread_bytes(socket: impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(socket).unwrap_or(0)
}

/// The most connections that may wait to be accepted: the kernel's `somaxconn`, which also limits every `backlog`.
pub fn backlog_max() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    /// A connection with small segments is soon full; with the loopback's large ones the kernel would take 3 MB first.
    #[test]
    fn a_narrow_connection_is_soon_full() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _reader = connect_tcp_narrow(listener.local_addr().unwrap(), 4096).unwrap();
        let (mut sender, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();

        let (mut taken, piece) = (0, [0; 4096]);
        while let Ok(bytes) = sender.write(&piece) {
            taken += bytes;
        }
        assert!(taken < 500_000, "{taken}");
    }

    /// An address is not free if a server listens there, whether that server shares its address or not.
    #[test]
    fn a_free_address() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        assert_ne!(0, free_tcp(any, false).unwrap().port());
        for shared in [false, true] {
            let listener = listen_tcp(any, 1, shared).unwrap();
            let taken = local_address(&listener).unwrap().unwrap();

            let kind = free_tcp(taken, false).map_err(|error| error.kind());

            assert_eq!(Err(io::ErrorKind::AddrInUse), kind);
        }
    }
}
