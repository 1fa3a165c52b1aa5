//! How fast this program is by itself: the same requests against a responder that does nothing but answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_sys::epoll::{Epoll, Events, Interest};
use adyton_sys::socket;

/// The token of the listener; connections have their index.
const LISTENER: u64 = u64::MAX;

/// A server on a port of its own that answers each request with the same bytes, unread.
#[derive(Debug)]
pub(crate) struct NullResponder {
    listener: OwnedFd,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl NullResponder {
    /// Listens.
    ///
    /// # Errors
    ///
    /// As bind(2).
    pub(crate) fn new() -> io::Result<Self> {
        let listener = socket::listen_tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), 1024, false)?;
        let address = socket::local_address(&listener)?;
        let address = address.ok_or_else(|| io::Error::other("a socket without an address"))?;
        Ok(Self { listener, address })
    }

    /// Answers until `stop`: for each `request_bytes` that come, `answer` is sent; `closes` ends the connection then.
    ///
    /// # Errors
    ///
    /// epoll fails.
    pub(crate) fn serve(
        &self,
        request_bytes: usize,
        (answer, closes): (&[u8], bool),
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let epoll = Epoll::new()?;
        epoll.add(&self.listener, LISTENER, Interest::Level)?;
        let (mut events, mut buffer) = (Events::new(), vec![0; 64 << 10]);
        let mut peers: Vec<Option<Peer>> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            epoll.wait(&mut events, Some(10))?;
            for event in (0..events.len()).filter_map(|index| events.at(index)) {
                if event.token == LISTENER {
                    while let Ok(Some((socket, _))) = socket::accept(&self.listener) {
                        epoll.add(&socket, peers.len() as u64, Interest::Edge)?;
                        peers.push(Some(Peer {
                            socket,
                            come_bytes: 0,
                            owed_bytes: 0,
                            has_answered: false,
                            offset: 0,
                        }));
                    }
                    continue;
                }
                let Some(slot) = usize::try_from(event.token).ok().and_then(|index| peers.get_mut(index))
                else {
                    continue;
                };
                let served = slot
                    .as_mut()
                    .map(|peer| (peer.serve(request_bytes, answer, &mut buffer), peer.is_done()));
                if !matches!(served, Some((Ok(true), is_done)) if !(closes && is_done)) {
                    *slot = None;
                }
            }
        }
        Ok(())
    }
}

struct Peer {
    socket: OwnedFd,
    /// Bytes of a request that is not complete.
    come_bytes: usize,
    /// Bytes of answers that the kernel has not taken.
    owed_bytes: usize,
    /// Something was answered.
    has_answered: bool,
    /// Where in an answer the next byte is.
    offset: usize,
}

impl Peer {
    /// Whether it has all that it asked for.
    fn is_done(&self) -> bool {
        self.has_answered && self.owed_bytes == 0
    }

    /// Whether the connection goes on.
    fn serve(&mut self, request_bytes: usize, answer: &[u8], buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            match socket::recv(self.socket.as_fd(), buffer)? {
                Some(0) => return Ok(false),
                None => break,
                Some(bytes) => {
                    self.come_bytes += bytes;
                    self.owed_bytes += self.come_bytes / request_bytes * answer.len();
                    self.come_bytes %= request_bytes;
                    if bytes < buffer.len() {
                        break;
                    }
                }
            }
        }
        while self.owed_bytes > 0 {
            let end = answer.len().min(self.offset + self.owed_bytes);
            let Some(bytes) = socket::send(self.socket.as_fd(), &answer[self.offset..end], false)? else {
                break;
            };
            self.has_answered = true;
            self.owed_bytes -= bytes;
            self.offset = (self.offset + bytes) % answer.len();
        }
        Ok(true)
    }
}
