//! Connections that move between processes: the message about each connection, and why that message is believed.
//!
//! A *passage* is a pair of sockets between the workers that accept (the *door*) and the workers of a group. All
//! workers of a side share one end of the pair, so an idle worker takes the next message. Messages on their way lie in
//! the kernel: a worker that is killed loses only the messages that it had taken. A message is a [`Passenger`], the
//! bytes that were received, and the descriptor of the connection (`SCM_RIGHTS`, unix(7)).
//!
//! A group believes the door. Of the messages of a group, the door believes only those that it has sealed itself. The
//! seal is over the client's address and its listener, so a group cannot have its own sockets taken for clients of
//! another address.
//!
//! An attacker may have taken over either side, so a message is checked like one from the network: its form, its
//! length, and whether it has exactly one descriptor, of a stream socket (the door seals nothing else). Nobody checks
//! whether the socket is connected: a process that shares the socket may change that at any time, and receiving from a
//! socket that is not connected fails, which closes it.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_auth::{Secret, is_signed, sign};
use adyton_sys::board::Board;
use adyton_sys::pass::{self, Taken};
use adyton_sys::socket;

/// Most moves of a connection without an answer. When it has moved so often, the processes are taken to disagree on
/// which of them answers.
pub(crate) const HOPS_MAX: u8 = 16;

/// Stands for the number of hops of a client whom no process can take: the other side answers 503 itself.
const STRANDED: u8 = u8::MAX;

/// The bytes of a passenger, in the order of its fields, without the seal.
const PASSENGER_BYTES: usize = 32;

/// The bytes of a message that stand before the bytes received from the client.
const HEADER_BYTES: usize = PASSENGER_BYTES + SEAL_BYTES;

const SEAL_BYTES: usize = 32;

/// The longest message in a passage.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The version of the messages' form.
const VERSION: u8 = 1;

/// This process's end of a passage.
pub struct Passage {
    /// The socket, which does not block.
    pub end: OwnedFd,
    /// The name of the processes at the other end, for the log.
    pub name: Arc<str>,
    /// The cell in which another process says, by a value other than 0, that a process is at the other end. `None`:
    /// there always is one.
    pub open: Option<(Arc<Board>, usize)>,
}

impl Passage {
    /// Whether there is a process at the other end, now or soon.
    pub(crate) fn is_open(&self) -> bool {
        let cell = self.open.as_ref().and_then(|(board, cell)| board.cells().get(*cell));
        cell.is_none_or(|cell| cell.load(Ordering::Relaxed) != 0)
    }
}

/// The key of seals: 32 random bytes that only the processes of the door have.
#[derive(Clone)]
pub struct SealKey(Secret);

impl SealKey {
    /// A key with this secret.
    pub fn new(secret: Secret) -> SealKey {
        SealKey(secret)
    }
}

impl std::fmt::Debug for SealKey {
    /// Writes the name without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SealKey").finish_non_exhaustive()
    }
}

/// The process that answers a request in the place of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// The passage to it, by its number among the passages of [`crate::Parts`].
    pub(crate) passage: usize,
    /// Whether a folder was asked already, and does not have the file.
    pub(crate) has_missed: bool,
}

/// The facts about a connection that a process passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passenger {
    /// The client's address; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The listener that accepted the connection.
    pub listener: u16,
    /// How often the connection has moved since its last answer.
    pub hops: u8,
    /// Whether a folder was asked for its first request already, and does not have the file.
    pub has_missed: bool,
}

/// The door's signature over a client's address and listener, and the number of its socket.
pub type Seal = [u8; SEAL_BYTES];

/// The arrival of a connection from another process.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) hops: u8,
    pub(crate) has_missed: bool,
    /// The door's seal, which a group gives back.
    pub(crate) seal: Seal,
}

impl Arrival {
    /// Whether no process can take the connection, so that it is answered 503.
    pub(crate) fn is_stranded(&self) -> bool {
        self.hops > HOPS_MAX
    }
}

impl Passenger {
    fn to_bytes(self) -> [u8; PASSENGER_BYTES] {
        let mut bytes = [0; PASSENGER_BYTES];
        let (family, address, port, scope) = match self.peer {
            None => (0, [0; 16], 0, 0),
            Some(SocketAddr::V4(peer)) => (4, peer.ip().to_ipv6_mapped().octets(), peer.port(), 0),
            Some(SocketAddr::V6(peer)) => (6, peer.ip().octets(), peer.port(), peer.scope_id()),
        };
        (bytes[0], bytes[1]) = (VERSION, family);
        bytes[2..4].copy_from_slice(&self.listener.to_le_bytes());
        bytes[4..20].copy_from_slice(&address);
        bytes[20..22].copy_from_slice(&port.to_le_bytes());
        bytes[22..26].copy_from_slice(&scope.to_le_bytes());
        (bytes[26], bytes[27]) = (self.hops, u8::from(self.has_missed));
        bytes
    }

    fn from_bytes(bytes: &[u8; PASSENGER_BYTES]) -> Option<Passenger> {
        let [version, family, l0, l1, address @ .., p0, p1, s0, s1, s2, s3, hops, has_missed, _, _, _, _] =
            *bytes;
        let (port, address) = (u16::from_le_bytes([p0, p1]), Ipv6Addr::from(address));
        let peer = match (version, family) {
            (VERSION, 0) => None,
            (VERSION, 4) => Some(SocketAddr::new(
                IpAddr::V4(address.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED)),
                port,
            )),
            (VERSION, 6) => {
                let scope = u32::from_le_bytes([s0, s1, s2, s3]);
                Some(SocketAddrV6::new(address, port, 0, scope).into())
            }
            _ => return None,
        };
        let listener = u16::from_le_bytes([l0, l1]);
        Some(Passenger { peer, listener, hops, has_missed: has_missed != 0 })
    }

    /// The bytes that are sealed: all that stays the same wherever the connection goes.
    fn lasting(self) -> [u8; PASSENGER_BYTES] {
        Passenger { hops: 0, has_missed: false, ..self }.to_bytes()
    }

    /// The door's seal over the passenger and a socket.
    ///
    /// # Errors
    ///
    /// The descriptor is no socket.
    pub fn seal(self, key: &SealKey, socket: impl AsFd) -> io::Result<Seal> {
        let cookie = socket::cookie(socket)?.to_le_bytes();
        Ok(sign(&key.0, &[&cookie, &self.lasting()]))
    }

    /// Whether the door has sealed this passenger for this socket.
    fn is_sealed(self, key: &SealKey, socket: impl AsFd, seal: &Seal) -> bool {
        let cookie = socket::cookie(socket).map(u64::to_le_bytes);
        cookie.is_ok_and(|cookie| is_signed(&key.0, &[&cookie, &self.lasting()], seal))
    }
}

/// Passes a connection on, with the bytes received from it. `false` if the passage is full now.
///
/// # Errors
///
/// The passage is closed, or too small for so many bytes.
pub(crate) fn send(
    passage: impl AsFd,
    passenger: Passenger,
    seal: &Seal,
    received: &[u8],
    client: impl AsFd,
) -> io::Result<bool> {
    let header = passenger.to_bytes();
    let parts = [IoSlice::new(&header), IoSlice::new(seal), IoSlice::new(received)];
    pass::try_pass(passage, &parts, client.as_fd())
}

/// Passes on a client who has connected to an address at which no process accepts: the door reads a request and answers
/// 503. `key` is the door's. `false` if the passage is full now.
///
/// # Errors
///
/// The passage is closed, or the client's descriptor is no socket.
pub fn strand(
    passage: impl AsFd,
    client: impl AsFd,
    peer: Option<SocketAddr>,
    key: &SealKey,
) -> io::Result<bool> {
    let passenger = Passenger { peer, listener: 0, hops: STRANDED, has_missed: false };
    let seal = passenger.seal(key, &client)?;
    send(passage, passenger, &seal, &[], client)
}

/// Result of [`take`].
pub enum Came {
    /// A connection, with so many received bytes in the buffer.
    Connection(OwnedFd, Passenger, Seal, usize),
    /// Nothing for now.
    Nothing,
    /// Nothing any more: no process is left at the other end.
    End,
    /// A message that another process should not have sent; it was dropped.
    Strange(&'static str),
}

/// Takes a connection from a passage. With the door's `key`, only a connection under the door's seal is taken.
///
/// # Errors
///
/// No descriptor is left.
pub fn take(passage: impl AsFd, key: Option<&SealKey>, buffer: &mut [u8]) -> io::Result<Came> {
    let (mut header, mut seal) = ([0; PASSENGER_BYTES], [0; SEAL_BYTES]);
    let parts = &mut [IoSliceMut::new(&mut header), IoSliceMut::new(&mut seal), IoSliceMut::new(buffer)];
    let (bytes, client) = match pass::try_take(passage, parts)? {
        Taken::Message(bytes, client) => (bytes, client),
        Taken::Nothing => return Ok(Came::Nothing),
        Taken::End => return Ok(Came::End),
        Taken::Unfit => return Ok(Came::Strange("a message without one connection, or with too many bytes")),
    };
    let Some(passenger) = Passenger::from_bytes(&header).filter(|_| bytes >= HEADER_BYTES) else {
        return Ok(Came::Strange("a message of another form"));
    };
    match key {
        Some(key) if !passenger.is_sealed(key, &client, &seal) => {
            return Ok(Came::Strange("a connection that never came through the door"));
        }
        None if !socket::is_stream(&client) => {
            return Ok(Came::Strange("a descriptor that is no stream socket"));
        }
        _ => {}
    }
    Ok(Came::Connection(client, passenger, seal, bytes - HEADER_BYTES))
}

/// Gives connections that wait for a group back to the door, because the group does not take them.
#[derive(Default)]
pub struct TurningBack {
    /// The message that was taken from the passage, and for which there was no room on the way back.
    held: Option<(Vec<u8>, OwnedFd)>,
}

/// Result of [`TurningBack::go_on`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnedBack {
    /// No connection waits any more.
    All,
    /// The door has not taken enough to make room for the next one; once it has, this end becomes writable.
    NoRoom,
}

impl TurningBack {
    /// Sends the connections that wait at the group's end of a passage back to the door, as far as there is room. The
    /// call never waits: its caller has other things to look after.
    ///
    /// # Errors
    ///
    /// No descriptor is left, or no process is at the other end.
    pub fn go_on(&mut self, group: impl AsFd) -> io::Result<TurnedBack> {
        let mut bytes = Vec::new();
        loop {
            if let Some((bytes, client)) = &self.held
                && !pass::try_pass(&group, &[IoSlice::new(bytes)], client.as_fd())?
            {
                return Ok(TurnedBack::NoRoom);
            }
            self.held = None;
            if !socket::wait(&group, socket::Until::Readable, 0)? {
                return Ok(TurnedBack::All);
            }
            if !socket::wait(&group, socket::Until::Writable, 0)? {
                return Ok(TurnedBack::NoRoom);
            }
            bytes.resize(MESSAGE_BYTES_MAX, 0);
            match pass::try_take(&group, &mut [IoSliceMut::new(&mut bytes)])? {
                Taken::Nothing | Taken::End => return Ok(TurnedBack::All),
                Taken::Unfit => {}
                Taken::Message(length, client) => self.held = Some((bytes[..length].to_vec(), client)),
            }
        }
    }

    /// Whether a connection was taken for which there was no room on the way back yet.
    pub fn holds_one(&self) -> bool {
        self.held.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::SocketAddr;

    use adyton_sys::{pass, socket};

    use super::{Came, HOPS_MAX, Passenger, SealKey, TurnedBack, TurningBack, send, strand, take};

    fn passengers() -> Vec<Passenger> {
        let peers: [Option<&str>; 4] =
            [None, Some("192.0.2.7:80"), Some("[2001:db8::1]:65535"), Some("[::ffff:192.0.2.7]:80")];
        let parsed = peers.map(|peer| peer.and_then(|peer| peer.parse::<SocketAddr>().ok()));
        let of = |(number, peer)| {
            let hops = u8::try_from(number).unwrap_or_default();
            Passenger { peer, listener: 300 + u16::from(hops), hops, has_missed: hops % 2 == 1 }
        };
        parsed.into_iter().enumerate().map(of).collect()
    }

    /// A passenger is read as it was written.
    #[test]
    fn told() {
        for passenger in passengers() {
            assert_eq!(Some(passenger), Passenger::from_bytes(&passenger.to_bytes()));
        }
        assert_eq!(None, Passenger::from_bytes(&[0; super::PASSENGER_BYTES]));
    }

    /// A passenger that the door has sealed is taken back, and nothing else: no other socket, and no other address.
    #[test]
    fn sealed() -> io::Result<()> {
        let (door, group) = pass::passage()?;
        let (client, other) = socket::pair()?;
        let key = SealKey::new([7; 32]);
        let mut buffer = [0; 64];
        let mut came = |key| {
            Ok::<_, io::Error>(match take(&door, key, &mut buffer)? {
                Came::Connection(_, passenger, _, bytes) => Ok((passenger, buffer[..bytes].to_vec())),
                Came::Nothing | Came::End => Err("nothing"),
                Came::Strange(why) => Err(why),
            })
        };
        for passenger in passengers() {
            let seal = passenger.seal(&key, &client)?;
            let later = Passenger { hops: 9, has_missed: !passenger.has_missed, ..passenger };
            let moved = Passenger { listener: 5, ..passenger };
            assert!(send(&group, later, &seal, b"GET", &client)?);
            assert!(send(&group, moved, &seal, b"GET", &client)?);
            assert!(send(&group, passenger, &seal, b"GET", &other)?);
            assert!(send(&group, passenger, &[0; 32], b"", &client)?);

            assert_eq!(Ok((later, b"GET".to_vec())), came(Some(&key))?);
            for _ in 0..3 {
                assert_eq!(Err("a connection that never came through the door"), came(Some(&key))?);
            }
            assert_eq!(Err("nothing"), came(Some(&key))?);
            // A group believes the door.
            assert!(send(&group, passenger, &[0; 32], b"", &client)?);
            assert_eq!(Ok((passenger, Vec::new())), came(None)?);
        }
        Ok(())
    }
    /// A client whom no process can take arrives like a client that has moved too often, under the door's seal.
    #[test]
    fn stranded() -> io::Result<()> {
        let (door, group) = pass::passage()?;
        let (client, _other) = socket::pair()?;
        let key = SealKey::new([7; 32]);
        assert!(strand(&group, &client, None, &key)?);

        let Came::Connection(_, passenger, _, bytes) = take(&door, Some(&key), &mut [0; 64])? else {
            return Err(io::ErrorKind::NotFound.into());
        };

        assert!(passenger.hops > HOPS_MAX && bytes == 0);
        Ok(())
    }

    /// While neither the group nor the door takes anything, no call waits; in the end everything comes back, once.
    #[test]
    fn turned_back() -> io::Result<()> {
        let (door, group) = pass::passage()?;
        let (client, _other) = socket::pair()?;
        let (mut passengers, mut buffer) = (Vec::new(), vec![0; 1 << 17]);
        let passenger = |hops| Passenger { peer: None, listener: 0, hops, has_missed: false };
        let body = vec![7; 60_000];
        let mut back = TurningBack::default();
        let fill = |end| -> io::Result<u8> {
            let mut sent = 0;
            while send(end, passenger(sent), &[0; 32], &body, &client)? {
                sent += 1;
            }
            Ok(sent)
        };
        let there = fill(&door)?;
        let ahead = fill(&group)?;
        assert!(there > 1 && ahead > 1, "{there} {ahead}");

        let mut rounds = 0;
        while back.go_on(&group)? == TurnedBack::NoRoom {
            let Came::Connection(_, came, _, bytes) = take(&door, None, &mut buffer)? else {
                return Err(io::Error::other("nothing is on its way, and there is no room"));
            };
            assert_eq!((60_000, false), (bytes, back.holds_one()));
            passengers.push(came.hops);
            rounds += 1;
        }
        while let Came::Connection(_, came, _, _) = take(&door, None, &mut buffer)? {
            passengers.push(came.hops);
        }

        assert!(rounds > 0);
        assert_eq!((0..ahead).chain(0..there).collect::<Vec<_>>(), passengers);
        Ok(())
    }
}
