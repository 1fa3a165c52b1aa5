//! What is still to be sent on a connection: bytes, borrowed bytes, and parts of files, in order.
//!
//! The common answer is a few hundred bytes in `tail`, sent by one `send`. Only what is larger,
//! or not taken at once, goes through the queue.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::stored::Stored;
use crate::transport::Transport;

/// Slices given to the kernel in one call; more than a head, a body and a few chunks is rare.
const SLICES_MAX: usize = 16;

/// The most of a file that one call may send: a fast reader of a large file must not keep the loop.
const FILE_BYTES_PER_CALL: u64 = 2 << 20;

/// From this size on, what a client does not take now is put into the queue: a buffer that grows to a mebibyte
/// is copied over and over, and holds what was sent until the last of it is.
const SEGMENT_BYTES_MIN: usize = 64 << 10;

/// Bytes with another owner, such as a Python `bytes` object, sent without a copy.
pub trait Payload: Send {
    /// The bytes; the same at every call.
    fn bytes(&self) -> &[u8];

    /// Whether their owner keeps them, too: they take no memory for this answer alone.
    fn is_kept(&self) -> bool;
}

/// One piece of an answer.
pub(crate) enum Segment {
    /// Bytes of our own.
    Owned(Vec<u8>),
    /// Bytes that are borrowed until they are sent.
    Shared(Box<dyn Payload>),
    /// `bytes` of a file from `offset`, sent by the kernel.
    File {
        /// The open file.
        file: Arc<dyn AsFd + Send + Sync>,
        /// Where to begin.
        offset: u64,
        /// How much.
        bytes: u64,
    },
}

impl Segment {
    fn memory(&self) -> Option<&[u8]> {
        match self {
            Self::Owned(bytes) => Some(bytes),
            Self::Shared(payload) => Some(payload.bytes()),
            Self::File { .. } => None,
        }
    }

    /// What is in memory for this answer alone.
    fn own(&self) -> Option<&[u8]> {
        match self {
            Self::Shared(payload) if payload.is_kept() => None,
            other => other.memory(),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            other => other.memory().map_or(0, <[u8]>::len) as u64,
        }
    }
}

/// How a flush ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// The kernel took everything.
    All,
    /// The kernel's buffer is full; the socket will say when it is not.
    Blocked,
    /// Enough for one turn; there is more, and the kernel may take it.
    Turn,
}

/// What follows when everything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The connection stays as it is.
    Wait,
    /// Our side of it ends.
    End,
}

/// The queue of one connection.
#[derive(Default)]
pub(crate) struct Output {
    /// Sent before `tail`.
    #[expect(
        clippy::box_collection,
        reason = "almost no connection has a queue, and each pays for its place"
    )]
    queue: Option<Box<VecDeque<Segment>>>,
    /// The open end, where answers are written.
    tail: Vec<u8>,
    /// Bytes already sent: of the queue's first segment, or of `tail` when the queue is empty.
    sent: usize,
    /// Bytes given to the kernel since the connection began.
    total_bytes: u64,
    /// Packets are held back until they are full: something follows a file.
    corked: bool,
}

impl Output {
    /// Where the next answer is written.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Bytes that still have to be sent.
    pub(crate) fn pending_bytes(&self) -> u64 {
        let queued = self.queue.as_ref().map_or(0, |queue| queue.iter().map(Segment::len).sum());
        queued + self.tail.len() as u64 - self.sent as u64
    }

    /// Bytes given to the kernel since the connection began.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Whether there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_none() && self.sent == self.tail.len()
    }

    /// Bytes of our own and borrowed ones that are held in memory for this connection.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let queued = self.queue.as_ref().map_or(0, |queue| {
            queue.iter().filter_map(Segment::memory).map(|bytes| bytes.len() as u64).sum()
        });
        queued + self.tail.len() as u64
    }

    /// As [`Output::memory_bytes`], without what others keep anyway.
    pub(crate) fn own_bytes(&self) -> u64 {
        let queued = self
            .queue
            .as_ref()
            .map_or(0, |queue| queue.iter().filter_map(Segment::own).map(|bytes| bytes.len() as u64).sum());
        queued + self.tail.len() as u64
    }

    /// Puts what is in memory for this answer alone into an empty file. After an error the answer is lost.
    ///
    /// # Errors
    ///
    /// The disk is full, or what the settings allow of it.
    pub(crate) fn spill(&mut self, mut stored: Stored) -> io::Result<()> {
        let tail = Segment::Owned(std::mem::take(&mut self.tail));
        let queue = std::mem::take(&mut self.queue).map_or_else(VecDeque::new, |queue| *queue);
        let mut pieces = Vec::new();
        for (number, segment) in queue.into_iter().chain([tail]).enumerate() {
            let Some(bytes) = segment.own() else {
                pieces.push(Err(segment));
                continue;
            };
            let sent = if number == 0 { std::mem::take(&mut self.sent) } else { 0 };
            let offset = stored.len();
            stored.append(&bytes[sent..])?;
            pieces.push(Ok((offset, stored.len() - offset)));
        }
        let file: Arc<dyn AsFd + Send + Sync> = Arc::new(stored);
        let segment = |piece| match piece {
            Ok((offset, bytes)) => Segment::File { file: Arc::clone(&file), offset, bytes },
            Err(segment) => segment,
        };
        self.queue = Some(Box::new(pieces.into_iter().map(segment).collect()));
        Ok(())
    }

    /// Puts a segment behind everything written so far.
    pub(crate) fn push(&mut self, segment: Segment) {
        let queue = self.queue.get_or_insert_default();
        if !self.tail.is_empty() {
            queue.push_back(Segment::Owned(std::mem::take(&mut self.tail)));
        }
        queue.push_back(segment);
    }

    /// Gives the loop's buffer to a connection that has none.
    pub(crate) fn lend(&mut self, spare: &mut Vec<u8>) {
        if self.tail.capacity() == 0 {
            std::mem::swap(&mut self.tail, spare);
        }
    }

    /// Takes the loop's buffer back once everything was sent, so that an idle connection holds none.
    pub(crate) fn give_back(&mut self, spare: &mut Vec<u8>) {
        debug_assert!(self.is_empty());
        self.sent = 0;
        self.tail.clear();
        if self.tail.capacity() > spare.capacity() {
            std::mem::swap(&mut self.tail, spare);
        }
        self.tail = Vec::new();
    }

    /// Sends what the kernel takes.
    ///
    /// # Errors
    ///
    /// The connection is gone; or `UnexpectedEof` when a file became shorter than the answer promised.
    pub(crate) fn flush(&mut self, transport: &mut Transport) -> io::Result<Flushed> {
        self.send(transport, Then::Wait)
    }

    /// As [`Output::flush`], when our side ends at once if everything is taken: the end then leaves in the same
    /// packet as the last bytes, which spares both sides the handling of another.
    ///
    /// # Errors
    ///
    /// As [`Output::flush`].
    pub(crate) fn flush_and_end(&mut self, transport: &mut Transport) -> io::Result<Flushed> {
        self.send(transport, Then::End)
    }

    fn send(&mut self, transport: &mut Transport, then: Then) -> io::Result<Flushed> {
        let flushed = self.send_what_is_taken(transport, then)?;
        if flushed == Flushed::Blocked && self.tail.len() >= SEGMENT_BYTES_MIN {
            self.tail.shrink_to_fit();
            let segment = Segment::Owned(std::mem::take(&mut self.tail));
            self.queue.get_or_insert_default().push_back(segment);
        }
        Ok(flushed)
    }

    fn send_what_is_taken(&mut self, transport: &mut Transport, then: Then) -> io::Result<Flushed> {
        while let Some(queue) = self.queue.as_mut() {
            if !self.corked && fills_packets(queue, &self.tail, then) {
                transport.hold(true);
                self.corked = true;
            }
            let step = match queue.front() {
                Some(Segment::File { .. }) => send_file(transport, queue, &mut self.total_bytes)?,
                Some(_) => {
                    send_memory(transport, queue, &self.tail, (&mut self.sent, &mut self.total_bytes))?
                }
                None => Flushed::All,
            };
            if step != Flushed::All {
                return Ok(step);
            }
            if queue.is_empty() {
                self.queue = None;
            }
        }
        while self.sent < self.tail.len() {
            match transport.send(&self.tail[self.sent..], then == Then::End)? {
                Some(bytes) => {
                    self.sent += bytes;
                    self.total_bytes += bytes as u64;
                }
                None => return Ok(Flushed::Blocked),
            }
        }
        if then == Then::Wait && std::mem::take(&mut self.corked) {
            transport.hold(false);
        }
        self.sent = 0;
        self.tail.clear();
        Ok(Flushed::All)
    }
}

/// Whether holding packets back until they are full spares some: sendfile(2) cannot say that something follows, such as
/// the next part or the end. A head says so of itself, and one file behind it needs nothing.
fn fills_packets(queue: &VecDeque<Segment>, tail: &[u8], then: Then) -> bool {
    let segments = queue.len() + usize::from(!tail.is_empty());
    let is_more_than_a_file = then == Then::End || segments > 2;
    is_more_than_a_file && queue.iter().any(|segment| matches!(segment, Segment::File { .. }))
}

/// Sends the memory at the queue's front, in one call.
///
/// `All` means that the caller may go on with whatever is in front now.
fn send_memory(
    transport: &mut Transport,
    queue: &mut VecDeque<Segment>,
    tail: &[u8],
    (sent, total_bytes): (&mut usize, &mut u64),
) -> io::Result<Flushed> {
    let mut slices: Vec<IoSlice<'_>> = Vec::with_capacity(SLICES_MAX);
    for bytes in queue.iter().map_while(Segment::memory).take(SLICES_MAX) {
        slices.push(IoSlice::new(if slices.is_empty() { &bytes[*sent..] } else { bytes }));
    }
    // A file that follows fills the packet that these bytes begin.
    let more = slices.len() < queue.len() || !tail.is_empty();
    let Some(mut bytes) = transport.send_vectored(&slices, more)? else {
        return Ok(Flushed::Blocked);
    };
    *total_bytes += bytes as u64;
    bytes += *sent;
    *sent = 0;
    while let Some(length) = queue.front().and_then(Segment::memory).map(<[u8]>::len) {
        if bytes < length {
            *sent = bytes;
            break;
        }
        bytes -= length;
        queue.pop_front();
    }
    Ok(Flushed::All)
}

/// Sends a share of the file at the queue's front.
fn send_file(
    transport: &mut Transport,
    queue: &mut VecDeque<Segment>,
    total_bytes: &mut u64,
) -> io::Result<Flushed> {
    let Some(Segment::File { file, offset, bytes }) = queue.front_mut() else { return Ok(Flushed::All) };
    if *bytes > 0 {
        let share = usize::try_from((*bytes).min(FILE_BYTES_PER_CALL)).unwrap_or(usize::MAX);
        match transport.send_file(&**file, *offset, share)? {
            None => return Ok(Flushed::Blocked),
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(taken) => {
                *offset += taken as u64;
                *bytes -= taken as u64;
                *total_bytes += taken as u64;
            }
        }
    }
    if *bytes == 0 {
        queue.pop_front();
        return Ok(Flushed::All);
    }
    Ok(Flushed::Turn)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::stored::Quota;

    struct Lent(Vec<u8>, bool);

    impl Payload for Lent {
        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn is_kept(&self) -> bool {
            self.1
        }
    }

    fn numbered(from: u32) -> Vec<u8> {
        (from..from + 100_000).flat_map(u32::to_le_bytes).collect()
    }

    /// Sends until the kernel takes no more, or all is sent.
    fn fill(output: &mut Output, transport: &mut Transport) -> io::Result<()> {
        while output.flush(transport)? == Flushed::Turn {}
        Ok(())
    }

    /// What was sent in part before it went into a file arrives whole and in order, whichever part another owner keeps, and whatever
    /// is written behind it. Only what is in memory for this answer counts, and the disk space is free at the end.
    #[test]
    fn spilled_output_arrives() -> io::Result<()> {
        for kept in [[false, false], [false, true], [true, false], [true, true]] {
            let (socket, mut client) = UnixStream::pair()?;
            socket.set_nonblocking(true)?;
            let mut transport = Transport::new(socket.into());
            let quota = Quota::new(4_000_000);
            let mut output = Output::default();
            let expected: Vec<u8> = (0..5).flat_map(|part| numbered(part * 100_000)).collect();
            output.tail().extend_from_slice(&numbered(0));
            for (part, kept) in (1..).zip(kept) {
                output.push(Segment::Shared(Box::new(Lent(numbered(part * 100_000), kept))));
            }
            output.tail().extend_from_slice(&numbered(300_000));
            fill(&mut output, &mut transport)?;
            assert!(output.total_bytes() > 0 && output.own_bytes() >= 400_000);

            output.spill(Stored::new(&std::env::temp_dir(), &quota)?)?;

            assert_eq!(0, output.own_bytes());
            let kept_bytes: u64 = kept.iter().map(|&kept| if kept { 400_000 } else { 0 }).sum();
            assert_eq!(kept_bytes, output.memory_bytes());
            output.tail().extend_from_slice(&numbered(400_000));
            let reader = std::thread::spawn(move || {
                let mut bytes = vec![0; 2_000_000];
                client.read_exact(&mut bytes).map(|()| bytes)
            });
            while !output.is_empty() {
                fill(&mut output, &mut transport)?;
            }
            let received = reader.join().map_err(|_| io::Error::other("the reader panicked"))?;
            assert!(expected == received?, "{kept:?}");
            assert!(Stored::new(&std::env::temp_dir(), &quota)?.append(&vec![0; 4_000_000]).is_ok());
        }
        Ok(())
    }

    /// A head says that a file follows; only what follows a file is worth two calls more.
    #[test]
    fn packets_are_held_back_for_what_follows_a_file() -> io::Result<()> {
        let file: Arc<dyn AsFd + Send + Sync> = Arc::new(std::fs::File::open("/dev/null")?);
        let of = |kinds: &str| -> VecDeque<Segment> {
            let segment = |kind| match kind {
                'f' => Segment::File { file: Arc::clone(&file), offset: 0, bytes: 9 },
                _ => Segment::Owned(vec![0; 9]),
            };
            kinds.chars().map(segment).collect()
        };
        for (kinds, tail, then, held) in [
            ("mf", "", Then::Wait, false),
            ("mf", "", Then::End, true),
            ("mf", "the next head", Then::Wait, true),
            ("mfmf", "", Then::Wait, true),
            ("mmm", "", Then::End, false),
        ] {
            let found = fills_packets(&of(kinds), tail.as_bytes(), then);
            assert_eq!(held, found, "{kinds} {tail} {then:?}");
        }
        Ok(())
    }

    /// No answer gets more of the disk than there is for all of them.
    #[test]
    fn disk_space_has_a_bound() -> io::Result<()> {
        let mut output = Output::default();
        output.tail().extend_from_slice(&numbered(0));
        let stored = Stored::new(&std::env::temp_dir(), &Quota::new(399_999))?;

        assert_eq!(Some(io::ErrorKind::QuotaExceeded), output.spill(stored).err().map(|error| error.kind()));
        Ok(())
    }
}
