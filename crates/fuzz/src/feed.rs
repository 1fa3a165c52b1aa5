//! A server that reads a stream in pieces, without a socket.

use adyton_http1::{Chunked, Framing, Head, Limits, Parsed, Refusal};

use crate::messages::heads::OwnedHead;

/// An event of a stream of requests; the first [`Event::Refused`] or [`Event::Short`] ends the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A head.
    Head(OwnedHead),
    /// A whole body.
    Body(Vec<u8>),
    /// The stream breaks a rule.
    Refused(Refusal),
    /// The stream ends too early; with the part of the body that has come.
    Short(Vec<u8>),
}

/// Panics unless `stream` gives the same events in pieces of `piece_bytes` as in one.
pub(crate) fn check(stream: &[u8], piece_bytes: &[u8], limits: &Limits) {
    let mut sizes = piece_bytes.iter().map(|&bytes| 1 + usize::from(bytes)).cycle();
    let (mut pieces, mut rest) = (Vec::new(), stream);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(sizes.next().map_or(1, |size| size.min(rest.len())));
        pieces.push(piece);
        rest = behind;
    }
    let whole = Server::new(limits).read(&[stream]);
    assert_eq!(whole, Server::new(limits).read(&pieces), "{}", crate::show(stream));
}

/// The part of a request that is to be read next.
enum State {
    Head,
    Length(u64),
    Chunks(Chunked),
}

struct Server<'l> {
    limits: &'l Limits,
    /// Bytes of an incomplete head.
    held: Vec<u8>,
    state: State,
    body: Vec<u8>,
    events: Vec<Event>,
}

impl<'l> Server<'l> {
    fn new(limits: &'l Limits) -> Server<'l> {
        Server { limits, held: Vec::new(), state: State::Head, body: Vec::new(), events: Vec::new() }
    }

    fn read(mut self, pieces: &[&[u8]]) -> Vec<Event> {
        for (at, piece) in pieces.iter().enumerate() {
            let is_last = at + 1 == pieces.len();
            if let Err(refusal) = self.take(piece, is_last) {
                self.events.push(Event::Refused(refusal));
                return self.events;
            }
        }
        self.events.push(Event::Short(self.body));
        self.events
    }

    fn take(&mut self, mut rest: &[u8], is_last: bool) -> Result<(), Refusal> {
        while !rest.is_empty() {
            match &mut self.state {
                State::Head => {
                    let start = self.held.len();
                    self.held.extend_from_slice(rest);
                    // The last piece is parsed in any case, because no more will come.
                    if !is_last && !Head::worth_parsing(rest, self.held.len(), self.limits) {
                        return Ok(());
                    }
                    let mut head = Head::new();
                    if head.parse(&self.held, self.limits)? == Parsed::Partial {
                        return Ok(());
                    }
                    self.events.push(Event::Head(OwnedHead::of(&head, &self.held)));
                    assert!(head.bytes() > start, "complete before the last piece");
                    rest = &rest[head.bytes() - start..];
                    self.held.clear();
                    self.begin_body(head.framing());
                }
                State::Length(left) => {
                    let here = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                    self.body.extend_from_slice(&rest[..here]);
                    rest = &rest[here..];
                    *left -= here as u64;
                    if *left == 0 {
                        self.end_body();
                    }
                }
                State::Chunks(chunked) => {
                    let decoded = chunked.decode(rest)?;
                    self.body.extend_from_slice(&rest[decoded.data]);
                    rest = &rest[decoded.consumed..];
                    if chunked.is_done() {
                        self.end_body();
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_body(&mut self, framing: Framing) {
        match framing {
            Framing::None | Framing::Length(0) => self.end_body(),
            Framing::Length(bytes) => self.state = State::Length(bytes),
            Framing::Chunked => self.state = State::Chunks(Chunked::new()),
        }
    }

    fn end_body(&mut self) {
        self.events.push(Event::Body(std::mem::take(&mut self.body)));
        self.state = State::Head;
    }
}
