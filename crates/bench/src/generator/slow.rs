//! Slow clients beside the load: some read their answers at a pace, others send their requests, or only the bodies, a
//! byte at a time.
//!
//! One thread drives all of them. Their figures are kept apart from the figures of the load, because the request rate
//! of clients that are slow by intent says nothing. But their answers are checked, and the outcome of each request is
//! reported, because a server must neither serve other clients less because of slow clients nor give up the slow
//! clients too soon.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use adyton_sys::{clock, socket};

use crate::counting::answer::{JudgedAnswer, Judgement, Reader};
use crate::counting::latency::Times;
use crate::generator::draw::Draw;
use crate::generator::learnt::Learnt;
use crate::generator::slow_side::{SlowCounts, SlowSide};
use crate::plan::Plan;
use crate::target::url::Address;

/// Time between two looks at the clients.
const STEP_NS: u64 = 1_000_000;

/// Size of the receive buffer of a client that does not read, so small that the server notices it. The kernel doubles
/// this value (socket(7)).
const RECEIVE_BUFFER_BYTES: usize = 4096;

/// Bytes that a client may read in one step of [`STEP_NS`]; a client that reads more is not slow.
const PIECE_BYTES_MAX: u64 = 64 << 10;

/// Time for which a client that was cut off stays away.
const PAUSE_NS: u64 = 100_000_000;

/// The kind of a slow client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Reader,
    Sender,
    Upload,
}

/// The outcome of a request.
enum Outcome {
    Right,
    Wrong,
    CutOff,
    NotConnected,
}

/// Drives the plan's slow clients until `ended`.
pub(crate) fn drive(plan: &Plan, learnt: &[Learnt], ended: &AtomicBool) -> Vec<SlowSide> {
    let mut groups: Vec<Group<'_>> = [Kind::Reader, Kind::Sender, Kind::Upload]
        .into_iter()
        .zip(plan.slow.kinds())
        .filter(|(_, (_, count))| *count > 0)
        .map(|(kind, (name, count))| Group::new(plan, learnt, kind, name, count))
        .collect();
    let mut buffer = vec![0; usize::try_from(PIECE_BYTES_MAX).unwrap_or(usize::MAX)];
    while !ended.load(Ordering::Relaxed) {
        let now_ns = clock::monotonic_ns();
        for group in &mut groups {
            group.step(now_ns, &mut buffer);
        }
        let spent_ns = clock::monotonic_ns().saturating_sub(now_ns);
        thread::sleep(Duration::from_nanos(STEP_NS.saturating_sub(spent_ns)));
    }
    groups.into_iter().map(|group| group.finish(clock::monotonic_ns())).collect()
}

/// Clients of one kind.
struct Group<'p> {
    plan: &'p Plan,
    learnt: &'p [Learnt],
    kind: Kind,
    name: &'static str,
    draw: Draw,
    clients: Vec<Client<'p>>,
    counts: SlowCounts,
    right: Times,
    cut_off: Times,
}

impl<'p> Group<'p> {
    fn new(plan: &'p Plan, learnt: &'p [Learnt], kind: Kind, name: &'static str, count: u32) -> Self {
        let weights = learnt.iter().map(|learnt| learnt.request.weight);
        Self {
            plan,
            learnt,
            kind,
            name,
            draw: Draw::new(weights, plan.seed),
            clients: (0..count).map(|_| Client::new(&learnt[0])).collect(),
            counts: SlowCounts::default(),
            right: Times::new(),
            cut_off: Times::new(),
        }
    }

    /// Lets each client send and read the bytes that are due.
    fn step(&mut self, now_ns: u64, buffer: &mut [u8]) {
        let rate = self.plan.slow.bytes_per_second.max(1);
        for client in &mut self.clients {
            if client.next_ns > now_ns {
                continue;
            }
            if client.socket.is_none() {
                self.counts.begun += 1;
                let learnt = &self.learnt[self.draw.next() as usize];
                client.begin(&self.plan.url.address, learnt, now_ns);
            }
            // The bytes that the rate allows for the time since the last look are due, and at least one.
            let due = u128::from(rate) * u128::from(now_ns - client.last_ns) / 1_000_000_000;
            let due = u64::try_from(due).unwrap_or(u64::MAX).clamp(1, PIECE_BYTES_MAX);
            let due = usize::try_from(due).unwrap_or(usize::MAX);
            (client.last_ns, client.next_ns) = (now_ns, now_ns + (1_000_000_000 / rate).max(STEP_NS));
            // The part of a request that is not sent slowly is sent at once.
            let body_bytes = self.plan.body_of(&client.learnt.request).len();
            let at_once = match self.kind {
                Kind::Reader => client.learnt.request_bytes,
                Kind::Sender => 0,
                Kind::Upload => client.learnt.request_bytes - body_bytes,
            };
            let read_bytes_max = if self.kind == Kind::Reader { due } else { buffer.len() };
            let outcome = client.go_on(at_once, due, &mut buffer[..read_bytes_max]);
            let Some(outcome) = outcome else { continue };
            let age_ns = now_ns - client.began_ns;
            client.socket = None;
            match outcome {
                Outcome::Right => {
                    self.counts.right += 1;
                    self.right.add(age_ns);
                    continue;
                }
                Outcome::CutOff => {
                    self.counts.cut_off += 1;
                    self.cut_off.add(age_ns);
                }
                Outcome::Wrong => self.counts.wrong += 1,
                Outcome::NotConnected => self.counts.not_connected += 1,
            }
            client.next_ns = now_ns + PAUSE_NS;
        }
    }

    fn finish(mut self, now_ns: u64) -> SlowSide {
        let under_way = self.clients.iter().filter(|client| client.socket.is_some());
        let ages_ns = under_way.map(|client| now_ns.saturating_sub(client.began_ns));
        let (count, oldest_ns) = ages_ns.fold((0, 0), |(count, oldest), age| (count + 1, age.max(oldest)));
        self.counts.under_way = count;
        SlowSide {
            kind: self.name,
            clients: u32::try_from(self.clients.len()).unwrap_or(u32::MAX),
            bytes_per_second: self.plan.slow.bytes_per_second,
            counts: self.counts,
            right_times: self.right.summary(),
            cut_off_times: self.cut_off.summary(),
            oldest_ms: oldest_ns / 1_000_000,
        }
    }
}

/// One client; each request has a connection of its own.
struct Client<'p> {
    learnt: &'p Learnt,
    socket: Option<OwnedFd>,
    reader: Reader,
    /// Bytes of the request that the kernel has taken.
    sent_bytes: usize,
    /// When the client began to connect.
    began_ns: u64,
    /// When the client was last looked at.
    last_ns: u64,
    /// When the client is to be looked at next.
    next_ns: u64,
}

impl<'p> Client<'p> {
    fn new(learnt: &'p Learnt) -> Self {
        let reader = Reader::new(0);
        Self { learnt, socket: None, reader, sent_bytes: 0, began_ns: 0, last_ns: 0, next_ns: 0 }
    }

    /// Begins to connect; if that fails at once, there is no socket.
    fn begin(&mut self, address: &Address, learnt: &'p Learnt, now_ns: u64) {
        self.socket = match address {
            Address::Tcp(address) => socket::connect_tcp_narrow(*address, RECEIVE_BUFFER_BYTES).ok(),
            Address::Unix(path) => socket::connect_unix(path).ok(),
        };
        self.learnt = learnt;
        self.reader.reset();
        (self.sent_bytes, self.began_ns, self.last_ns) = (0, now_ns, now_ns);
    }

    /// Sends and reads what is due, the first `at_once` bytes of the request without delay. Returns the outcome, if
    /// there is one.
    fn go_on(&mut self, at_once: usize, due_bytes: usize, buffer: &mut [u8]) -> Option<Outcome> {
        let Some(socket) = &self.socket else { return Some(Outcome::NotConnected) };
        let request = &self.learnt.requests[..self.learnt.request_bytes];
        for _ in 0..due_bytes {
            if self.sent_bytes == request.len() {
                break;
            }
            // Each byte after the first `at_once` bytes goes in a packet of its own.
            let end = at_once.max(self.sent_bytes + 1);
            match socket::send(socket.as_fd(), &request[self.sent_bytes..end], false) {
                Ok(taken) => self.sent_bytes += taken.unwrap_or(0),
                Err(_) if self.sent_bytes == 0 => return Some(Outcome::NotConnected),
                // An answer that the server sent before it closed the connection may still be read.
                Err(_) => break,
            }
        }
        match socket::recv(socket.as_fd(), buffer) {
            Ok(None) => None,
            Ok(Some(0)) => Some(self.ended()),
            Ok(Some(bytes)) => self.take(&buffer[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Some(Outcome::NotConnected),
            Err(_) => Some(Outcome::CutOff),
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Option<Outcome> {
        while !bytes.is_empty() {
            let Ok((taken, answer)) = self.reader.feed(bytes, &self.learnt.expected, &mut |_| {}) else {
                return Some(Outcome::Wrong);
            };
            bytes = &bytes[taken..];
            if let Some(answer) = answer {
                // The client has sent no further request, so no byte may follow.
                return Some(if bytes.is_empty() { self.judged(&answer) } else { Outcome::Wrong });
            }
        }
        None
    }

    /// Returns the outcome when the server has ended the connection.
    fn ended(&mut self) -> Outcome {
        let answer = self.reader.end(&self.learnt.expected);
        answer.map_or(Outcome::CutOff, |answer| self.judged(&answer))
    }

    /// Returns the outcome of an answer. A wrong answer to a request that is not whole yet, such as 408, counts as cut
    /// off.
    fn judged(&self, answer: &JudgedAnswer) -> Outcome {
        match answer.judgement {
            Judgement::Right => Outcome::Right,
            _ if self.sent_bytes < self.learnt.request_bytes => Outcome::CutOff,
            _ => Outcome::Wrong,
        }
    }
}
