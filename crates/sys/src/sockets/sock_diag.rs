//! Sockets that listen, as the kernel lists them (`sock_diag(7)`).

use std::io;
use std::iter;
use std::net::{IpAddr, SocketAddr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

/// A TCP socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The address at which the socket listens.
    pub address: SocketAddr,
    /// The cookie of the socket, which no other socket of this machine gets.
    pub cookie: u64,
    /// Number of packets that the socket has dropped (`sk_drops`), which wraps. The kernel counts connections that
    /// found the queue full, and also packets that belong to no connection and do not open one, such as a late reset.
    pub drops: u32,
}

/// Lists the TCP sockets of all processes that listen at a port in this network namespace.
///
/// # Errors
///
/// The kernel keeps no such list or does not count drops (before 4.12), or a sandbox forbids the question.
pub fn listeners(port: u16) -> io::Result<Vec<Listener>> {
    let mut all = listeners_of(AddressFamily::INET, port)?;
    all.extend(listeners_of(AddressFamily::INET6, port)?);
    Ok(all)
}

fn listeners_of(family: AddressFamily, port: u16) -> io::Result<Vec<Listener>> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, protocol)?;
    rustix::net::send(&socket, &request(family, port)?, SendFlags::empty())?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut all = Vec::new();
    loop {
        // The kernel answers before `send` returns: there is nothing to wait for, and a sandbox cannot make us wait.
        let (bytes, _) = rustix::net::recv(&socket, &mut buffer, RecvFlags::DONTWAIT)?;
        for (kind, payload) in messages(&buffer[..bytes]) {
            match i32::from(kind) {
                libc::NLMSG_DONE | libc::NLMSG_ERROR => return end(payload).map(|()| all),
                _ => all.push(listener(payload).ok_or(io::ErrorKind::Unsupported)?),
            }
        }
        if bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Checks the payload of the last message: zero, or the negative number of an error.
fn end(payload: &[u8]) -> io::Result<()> {
    match field(payload, 0).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Makes a `struct nlmsghdr` followed by a `struct inet_diag_req_v2`. Fields of the socket other than the port are
/// zero, which matches any value.
fn request(family: AddressFamily, port: u16) -> io::Result<[u8; REQUEST_BYTES]> {
    let narrow = |_| io::ErrorKind::InvalidInput;
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_DUMP).map_err(narrow)?;
    let protocol = u8::try_from(libc::IPPROTO_TCP).map_err(narrow)?;
    let family = u8::try_from(family.as_raw()).map_err(narrow)?;
    let mut request = [0; REQUEST_BYTES];
    let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &u32::try_from(REQUEST_BYTES).map_err(narrow)?.to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &flags.to_ne_bytes());
    put(HEADER_BYTES, &[family, protocol, 1 << (INET_DIAG_SKMEMINFO - 1)]);
    put(HEADER_BYTES + 4, &(1_u32 << TCP_LISTEN).to_ne_bytes());
    put(HEADER_BYTES + 8, &port.to_be_bytes());
    Ok(request)
}

/// The kinds and payloads of the netlink messages in a datagram (netlink(7)).
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    iter::from_fn(move || {
        let length = usize::try_from(u32::from_ne_bytes(field(bytes, 0)?)).ok()?;
        let message = (u16::from_ne_bytes(field(bytes, 4)?), bytes.get(HEADER_BYTES..length)?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The kinds and values of netlink attributes.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(field(bytes, 0)?));
        let attribute = (u16::from_ne_bytes(field(bytes, 2)?), bytes.get(4..length)?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(attribute)
    })
}

/// Reads a `struct inet_diag_msg`: family at 0, port at 4, address at 8, cookie at 44; its attributes follow.
fn listener(message: &[u8]) -> Option<Listener> {
    let ip = match i32::from(*message.first()?) {
        libc::AF_INET => IpAddr::from(field::<4>(message, 8)?),
        _ => IpAddr::from(field::<16>(message, 8)?),
    };
    let (_, memory) = attributes(message.get(LISTENER_BYTES..)?)
        .find(|(kind, _)| *kind == u16::from(INET_DIAG_SKMEMINFO))?;
    Some(Listener {
        address: SocketAddr::new(ip, u16::from_be_bytes(field(message, 4)?)),
        cookie: u64::from_ne_bytes(field(message, 44)?),
        drops: u32::from_ne_bytes(field(memory, 4 * SK_MEMINFO_DROPS)?),
    })
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The kernel's largest datagram of such a list.
const BUFFER_BYTES: usize = 32 << 10;

/// `struct nlmsghdr`, alone and with a `struct inet_diag_req_v2`; `struct inet_diag_msg`.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const LISTENER_BYTES: usize = 72;

/// Constants of the kernel's `linux/sock_diag.h`, `linux/inet_diag.h` and `net/tcp_states.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_SKMEMINFO: u8 = 7;
const SK_MEMINFO_DROPS: usize = 8;
const TCP_LISTEN: u32 = 10;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "an error here is a failed test")]
mod tests {
    use std::thread;
    use std::time::Duration;

    use rustix::net::Shutdown;

    use super::*;
    use crate::sockets::socket::{connect_tcp, listen_tcp, local_address};

    /// Sockets of both families are found by their port, and each socket has its own count of drops.
    #[test]
    fn a_full_queue_is_counted_where_it_is() {
        for ip in ["127.0.0.1:0", "[::1]:0"] {
            let full = listen_tcp(ip.parse().unwrap(), 1, true).unwrap();
            let address = local_address(&full).unwrap().unwrap();
            let before = listeners(address.port()).unwrap();

            assert_eq!(vec![(address, 0)], seen(&before));

            let mut connections = Vec::new();
            let dropped = |all: &[Listener]| all.iter().map(|one| one.drops).sum::<u32>() > 0;
            while !dropped(&listeners(address.port()).unwrap()) && connections.len() < 1000 {
                connections.push(connect_tcp(address).unwrap());
                thread::sleep(Duration::from_millis(1));
            }
            let mate = listen_tcp(address, 1, true).unwrap();
            let after = listeners(address.port()).unwrap();
            drop(mate);

            assert!(dropped(&after));
            assert_eq!(2, after.len());
            let same = after.iter().find(|one| one.cookie == before[0].cookie).unwrap();
            assert!(same.drops > 0);
            assert!(after.iter().any(|one| one.cookie != same.cookie && one.drops == 0));
            // A child that another test has just forked still has a copy of the socket, which would keep it in the list
            // after a close.
            rustix::net::shutdown(&full, Shutdown::Both).unwrap();
            // The port may belong to another program by now, but no other socket gets the cookie.
            let left = listeners(address.port()).unwrap();
            assert!(left.iter().all(|one| one.cookie != same.cookie));
        }
    }

    fn seen(all: &[Listener]) -> Vec<(SocketAddr, u32)> {
        all.iter().map(|one| (one.address, one.drops)).collect()
    }

    /// Nothing is read beyond the end of a datagram, whatever it holds, and the loop ends.
    #[test]
    fn cut_messages_are_no_listeners() {
        let whole = [&[72, 0, 0, 0, 20, 0][..], &[0; 66]].concat();

        assert!((0..whole.len()).all(|length| messages(&whole[..length]).all(|(_, rest)| rest.is_empty())));
        assert!((0..whole.len()).all(|length| listener(&whole[..length]).is_none()));
        assert_eq!(0, messages(&[0; 64]).count());
        assert_eq!(0, attributes(&[0; 64]).count());
    }
}
