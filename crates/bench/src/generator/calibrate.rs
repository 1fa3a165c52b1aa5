//! The speed of this program by itself: the same requests against a responder that does nothing but answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_sys::epoll::{Epoll, Events, Interest};
use adyton_sys::socket;

use crate::counting::answer::{Expected, JudgedAnswer};
use crate::generator::learnt::Learnt;
use crate::plan::Statuses;

/// The token of the listener; connections have their index.
const LISTENER: u64 = u64::MAX;

/// A server on a port of its own that answers each request with the same bytes, unread.
pub(crate) struct NullResponder {
    listener: OwnedFd,
    /// The epoll instance, made early: the load may use up all descriptors.
    epoll: Epoll,
    /// The address at which the responder listens.
    pub(crate) address: SocketAddr,
}

impl NullResponder {
    /// Opens a listener.
    ///
    /// # Errors
    ///
    /// As bind(2), and `epoll_create1(2)`.
    pub(crate) fn new() -> io::Result<Self> {
        let listener = socket::listen_tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), 1024, false)?;
        let address = socket::local_address(&listener)?;
        let address = address.ok_or_else(|| io::Error::other("a socket without an address"))?;
        let epoll = Epoll::new()?;
        epoll.add(&listener, LISTENER, Interest::Level)?;
        Ok(Self { listener, epoll, address })
    }

    /// Answers until `stop`: for each `request_bytes` that come, one of `answers` is sent. If the answers close their
    /// connection, the responder closes it after each answer.
    ///
    /// # Errors
    ///
    /// epoll fails.
    pub(crate) fn serve(&self, request_bytes: usize, answers: &Answers, stop: &AtomicBool) -> io::Result<()> {
        let (mut events, mut buffer) = (Events::new(), vec![0; 64 << 10]);
        let mut peers: Vec<Option<Peer>> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            self.epoll.wait(&mut events, Some(10))?;
            for event in (0..events.len()).filter_map(|index| events.at(index)) {
                if event.token == LISTENER {
                    while let Ok(Some((socket, _))) = socket::accept(&self.listener) {
                        self.epoll.add(&socket, peers.len() as u64, Interest::Edge)?;
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
                    .map(|peer| (peer.serve(request_bytes, answers, &mut buffer), peer.is_done()));
                if !matches!(served, Some((Ok(true), is_done)) if !(answers.closes && is_done)) {
                    *slot = None;
                }
            }
        }
        Ok(())
    }
}

/// An answer several times over, so that answers to requests that came together go out together.
pub(crate) struct Answers {
    one_bytes: usize,
    bytes: Vec<u8>,
    /// Whether the connection ends after an answer.
    closes: bool,
}

/// Bytes that one send may take, unless an answer is longer.
const SEND_BYTES: usize = 64 << 10;

impl Answers {
    /// Repeats the answer that was learnt, for at most `at_once` requests at once.
    pub(crate) fn new(learnt: &Learnt, at_once: usize) -> Self {
        let closes = !learnt.answer.keep_alive;
        Self { closes, ..Self::repeating(&learnt.raw, at_once) }
    }

    fn repeating(one: &[u8], at_once: usize) -> Self {
        let times = (SEND_BYTES / one.len().max(1)).clamp(1, at_once.max(1));
        Self { one_bytes: one.len(), bytes: one.repeat(times), closes: false }
    }
}

/// Makes one request that stands for several: the request and its answer have the weighted mean length of the several
/// requests and answers. A request costs this program a constant and an amount for each byte, so the one request costs
/// as much as the several do on average.
pub(crate) fn mean(all: &[Learnt]) -> Learnt {
    let weights: u64 = all.iter().map(|learnt| u64::from(learnt.request.weight)).sum();
    let length = |of: fn(&Learnt) -> usize| {
        let sum: u64 = all.iter().map(|learnt| u64::from(learnt.request.weight) * of(learnt) as u64).sum();
        usize::try_from(sum / weights.max(1)).unwrap_or(usize::MAX)
    };
    let (first, request_bytes) = (&all[0], length(|learnt| learnt.request_bytes).max(1));
    let body = vec![0; length(|learnt| learnt.raw.len())];
    let keep_alive = all.iter().all(|learnt| learnt.answer.keep_alive);
    let close = if keep_alive { "" } else { "Connection: close\r\n" };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{close}\r\n", body.len());
    Learnt {
        request: first.request.clone(),
        request_bytes,
        requests: vec![0; 2 * request_bytes],
        raw: [head.as_bytes(), &body].concat(),
        answer: JudgedAnswer { keep_alive, ..first.answer },
        warnings: Vec::new(),
        expected: Expected {
            statuses: Statuses::Successful,
            body,
            to_head: false,
            told_bytes: None,
            check: first.expected.check,
        },
    }
}

struct Peer {
    socket: OwnedFd,
    /// Bytes of a request that is not complete.
    come_bytes: usize,
    /// Bytes of answers that the kernel has not taken.
    owed_bytes: usize,
    /// Whether a request has been answered.
    has_answered: bool,
    /// The place of the next byte within an answer.
    offset: usize,
}

impl Peer {
    /// Whether the peer has all answers to its requests.
    fn is_done(&self) -> bool {
        self.has_answered && self.owed_bytes == 0
    }

    /// Takes requests and sends answers; returns whether the connection goes on.
    fn serve(&mut self, request_bytes: usize, answers: &Answers, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            match socket::recv(self.socket.as_fd(), buffer)? {
                Some(0) => return Ok(false),
                None => break,
                Some(bytes) => {
                    self.come_bytes += bytes;
                    self.owed_bytes += self.come_bytes / request_bytes * answers.one_bytes;
                    self.come_bytes %= request_bytes;
                    if bytes < buffer.len() {
                        break;
                    }
                }
            }
        }
        while self.owed_bytes > 0 {
            let end = answers.bytes.len().min(self.offset + self.owed_bytes);
            let due = &answers.bytes[self.offset..end];
            let Some(bytes) = socket::send(self.socket.as_fd(), due, false)? else { break };
            self.has_answered = true;
            self.owed_bytes -= bytes;
            self.offset = (self.offset + bytes) % answers.one_bytes;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_out_together() {
        let bytes = |one: usize, at_once| Answers::repeating(&vec![0; one], at_once).bytes.len();

        assert_eq!([100, 6_400], [bytes(100, 1), bytes(100, 64)]);
        assert_eq!([65_500, 100_000], [bytes(100, 1_000), bytes(100_000, 1_000)]);
    }
}
