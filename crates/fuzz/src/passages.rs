//! Messages between a process that accepts connections (the door) and a group of workers, with descriptors of every
//! kind: the receiver takes only what the rules allow, and no descriptor stays open.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use adyton_server::SealKey;
use adyton_server::passage::{Came, Passenger, take};
use adyton_sys::{pass, socket};

/// The bytes that the receiver has room for behind the passenger and the seal.
const ROOM_BYTES: usize = 128;

const PASSENGER_BYTES: usize = 32;
const HEADER_BYTES: usize = 64;

/// The descriptors that go with a message, and its receiver.
struct Chosen {
    /// How many descriptors, and which of [`Kinds`].
    descriptors: usize,
    first: usize,
    second: usize,
    /// Whether the receiver is the door.
    is_door: bool,
    /// Whether the door has sealed the message for its first descriptor.
    is_sealed: bool,
}

/// Panics unless `message` has the outcome that the reference returns, and leaves no descriptor open.
pub(crate) fn check([counts, first, second, flags]: [u8; 4], message: &[u8]) {
    thread_local! {
        static KINDS: Kinds = Kinds::new().expect("sockets and a file");
    }
    let chosen = Chosen {
        descriptors: usize::from(counts % 4),
        first: first.into(),
        second: second.into(),
        is_door: flags & 1 != 0,
        is_sealed: flags & 2 != 0,
    };
    KINDS.with(|kinds| kinds.check(&chosen, message).expect("room in the passage"));
}

/// One descriptor of each kind.
struct Kinds {
    all: Vec<OwnedFd>,
    /// Whether each of them is a stream socket.
    are_streams: Vec<bool>,
    /// The other ends, which stay open.
    _others: Vec<OwnedFd>,
}

impl Kinds {
    fn new() -> io::Result<Kinds> {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (pair, other_of_pair) = socket::pair()?;
        let listener = socket::listen_tcp(local, 8, false)?;
        let address = socket::local_address(&listener)?.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let connected = socket::connect_tcp(address)?;
        let unconnected = socket::listen_tcp(local, 8, false)?;
        socket::shutdown(&unconnected);
        let (datagrams, other_of_datagrams) = UnixDatagram::pair()?;
        let (messages, other_of_messages) = pass::pair()?;
        let (reader, writer) = io::pipe()?;
        let file = File::open(std::env::current_exe()?)?;
        let streams = [pair, connected, listener, unconnected];
        let rest = [datagrams.into(), messages, reader.into(), writer.into(), file.into()];
        Ok(Kinds {
            are_streams: [[true; 4].as_slice(), [false; 5].as_slice()].concat(),
            all: streams.into_iter().chain(rest).collect(),
            _others: vec![other_of_pair, other_of_datagrams.into(), other_of_messages],
        })
    }

    fn check(&self, chosen: &Chosen, message: &[u8]) -> io::Result<()> {
        let (first, second) = (chosen.first % self.all.len(), chosen.second % self.all.len());
        let sent: Vec<BorrowedFd<'_>> = [first, second, first]
            .iter()
            .take(chosen.descriptors)
            .map(|&kind| self.all[kind].as_fd())
            .collect();
        let key = SealKey::new([7; 32]);
        let mut message = message.to_vec();
        if chosen.is_sealed
            && let (Some(passenger), Some(socket)) = (told(&message), sent.first())
            && let Ok(seal) = passenger.seal(&key, socket)
        {
            message[PASSENGER_BYTES..HEADER_BYTES].copy_from_slice(&seal);
        }
        let key = chosen.is_door.then_some(&key);
        let expected = self.twin(&message, &sent, first, key);
        let names: Vec<_> = [first, second].iter().map(|&kind| name(self.all[kind].as_raw_fd())).collect();
        let before = open(&names);
        let (ours, theirs) = pass::passage()?;
        pass::send(&theirs, &message, &sent)?;
        let mut buffer = [0; ROOM_BYTES];
        let came = take(&ours, key, &mut buffer)?;
        let came = match came {
            Came::Connection(socket, passenger, seal, bytes) => {
                assert_eq!(names[0], name(socket.as_raw_fd()), "another descriptor");
                Ok((passenger, seal.to_vec(), buffer[..bytes].to_vec()))
            }
            Came::Nothing | Came::End => Err("nothing"),
            Came::Strange(_) => Err("strange"),
        };

        assert_eq!(expected, came, "{}", crate::show(&message));
        assert_eq!(before, open(&names), "a descriptor stays open: {}", crate::show(&message));
        assert!(matches!(take(&ours, key, &mut buffer)?, Came::Nothing), "{}", crate::show(&message));
        Ok(())
    }

    /// Returns the outcome of a message, rule by rule.
    fn twin(
        &self,
        message: &[u8],
        sent: &[BorrowedFd<'_>],
        first: usize,
        key: Option<&SealKey>,
    ) -> Result<(Passenger, Vec<u8>, Vec<u8>), &'static str> {
        if sent.len() != 1 || message.len() > HEADER_BYTES + ROOM_BYTES {
            return Err("strange");
        }
        let passenger = told(message).ok_or("strange")?;
        let seal = &message[PASSENGER_BYTES..HEADER_BYTES];
        if let Some(key) = key {
            if passenger.seal(key, sent[0]).ok().as_ref().map(|seal| &seal[..]) != Some(seal) {
                return Err("strange");
            }
        } else if !self.are_streams[first] {
            return Err("strange");
        }
        Ok((passenger, seal.to_vec(), message[HEADER_BYTES..].to_vec()))
    }
}

/// Reads the passenger in a message: version, family, listener, address, port, scope, hops, and whether a folder was
/// asked and does not have the file, in this order, numbers with their lowest byte first.
fn told(message: &[u8]) -> Option<Passenger> {
    if message.len() < HEADER_BYTES || message[0] != 1 {
        return None;
    }
    let number = |at: usize| u16::from(message[at]) + 256 * u16::from(message[at + 1]);
    let address = <[u8; 16]>::try_from(&message[4..20]).ok()?;
    let is_mapped = address[..10] == [0; 10] && address[10..12] == [255; 2];
    let peer = match message[1] {
        0 => None,
        4 if is_mapped => Some((<[u8; 4]>::try_from(&address[12..]).ok()?, number(20)).into()),
        4 => Some((Ipv4Addr::UNSPECIFIED, number(20)).into()),
        6 => {
            let scope = u32::from(number(22)) + 65536 * u32::from(number(24));
            Some(SocketAddrV6::new(Ipv6Addr::from(address), number(20), 0, scope).into())
        }
        _ => return None,
    };
    Some(Passenger { peer, listener: number(2), hops: message[26], has_missed: message[27] != 0 })
}

/// Returns the kernel's name of the open file behind a descriptor: no two sockets or pipes have the same name.
fn name(descriptor: i32) -> String {
    let link = fs::read_link(format!("/proc/self/fd/{descriptor}"));
    link.map(|target| target.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Counts the open descriptors of this process for each of these names. Other threads may open and close other
/// descriptors.
fn open(names: &[String]) -> Vec<usize> {
    let entries = fs::read_dir("/proc/self/fd").expect("the list of open descriptors");
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let links: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    names.iter().map(|name| links.iter().filter(|link| *link == name).count()).collect()
}
