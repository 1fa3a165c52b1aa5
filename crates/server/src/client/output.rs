//! Everything still to be sent on a connection: bytes, borrowed bytes, and parts of files, in order.
//!
//! The common answer is a few hundred bytes in `tail`, sent by one `send`. Only a larger answer, or one that is not
//! taken at once, goes through the queue.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::client::stored::Stored;
use crate::client::transport::Transport;

/// Slices given to the kernel in one call: the borrowed pieces that a stream gathers before it is sent, each with the
/// head of its chunk.
const SLICES_MAX: usize = 64;

/// The most of a file that one call may send: a fast reader of a large file must not keep the loop.
const FILE_BYTES_PER_CALL: u64 = 2 << 20;

/// Size from which bytes that a client does not take now are put into the queue: a buffer that grows to a mebibyte is
/// copied over and over, and keeps all its bytes until the last one is sent.
const SEGMENT_BYTES_MIN: usize = 64 << 10;

/// Size up to which bytes between two segments are kept in the queue itself: the end of a chunk, and the head of the
/// next one. If there are more bytes, their whole buffer goes into the queue, and the next bytes are written into a new
/// buffer.
const SHORT_BYTES_MAX: usize = 30;

/// Bytes with another owner, such as a Python `bytes` object, sent without a copy.
pub trait Payload: Send {
    /// The bytes; the same at every call.
    fn bytes(&self) -> &[u8];

    /// Whether the owner keeps the bytes anyway, so that they take no memory for this answer alone.
    fn is_kept(&self) -> bool;
}

/// One piece of an answer.
pub(crate) enum Segment {
    /// Bytes of our own.
    Owned(Vec<u8>),
    /// A few bytes of our own.
    Short {
        /// How many of `bytes` are used.
        length: u8,
        /// The bytes, and unused ones behind them.
        bytes: [u8; SHORT_BYTES_MAX],
    },
    /// Bytes that are borrowed until they are sent.
    Shared(Box<dyn Payload>),
    /// `bytes` of a file from `offset`, sent by the kernel.
    File {
        /// The open file.
        file: Arc<dyn AsFd + Send + Sync>,
        /// The offset in the file at which the bytes begin.
        offset: u64,
        /// How many bytes are sent.
        bytes: u64,
    },
}

impl Segment {
    fn memory(&self) -> Option<&[u8]> {
        match self {
            Self::Owned(bytes) => Some(bytes),
            Self::Short { length, bytes } => Some(&bytes[..usize::from(*length)]),
            Self::Shared(payload) => Some(payload.bytes()),
            Self::File { .. } => None,
        }
    }

    /// Bytes that are in memory for this answer alone.
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

/// Segments in the order in which they are sent.
#[derive(Default)]
struct Queue {
    segments: VecDeque<Segment>,
    /// The bytes of [`Segment::memory`] of all segments together, summed up here because a stream asks for the sum
    /// after each piece.
    memory_bytes: u64,
}

impl Queue {
    fn push(&mut self, segment: Segment) {
        self.memory_bytes += memory_len(&segment) as u64;
        self.segments.push_back(segment);
    }

    /// Moves the bytes of `tail` behind everything else.
    fn push_tail(&mut self, tail: &mut Vec<u8>) {
        let length = tail.len();
        if length > SHORT_BYTES_MAX {
            return self.push(Segment::Owned(std::mem::take(tail)));
        }
        let mut bytes = [0; SHORT_BYTES_MAX];
        bytes[..length].copy_from_slice(tail);
        tail.clear();
        self.push(Segment::Short { length: u8::try_from(length).unwrap_or(0), bytes });
    }

    fn pop(&mut self) {
        if let Some(segment) = self.segments.pop_front() {
            self.memory_bytes -= memory_len(&segment) as u64;
        }
    }

    /// Removes `bytes` of memory at the front, which were sent; returns how many of them belong to the new front
    /// segment.
    fn take(&mut self, mut bytes: usize) -> usize {
        while let Some(length) = self.segments.front().and_then(Segment::memory).map(<[u8]>::len) {
            if bytes < length {
                break;
            }
            bytes -= length;
            self.pop();
        }
        bytes
    }
}

fn memory_len(segment: &Segment) -> usize {
    segment.memory().map_or(0, <[u8]>::len)
}

/// How a flush ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// The kernel took everything.
    All,
    /// The kernel's buffer is full; an event will come when there is room.
    Blocked,
    /// Enough was sent for one turn; more is left, and the kernel may take it.
    Turn,
}

/// The next step when everything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterSending {
    /// The connection stays as it is.
    Wait,
    /// Our side of it ends.
    End,
}

/// The queue of one connection.
#[derive(Default)]
pub(crate) struct Output {
    /// The segments that are sent before `tail`; boxed, because almost no connection has any.
    queue: Option<Box<Queue>>,
    /// The open end, into which answers are written.
    tail: Vec<u8>,
    /// Bytes already sent: of the queue's first segment, or of `tail` when the queue is empty.
    sent: usize,
    /// Bytes given to the kernel since the connection began.
    total_bytes: u64,
    /// Whether packets are held back until they are full, because something follows a file.
    corked: bool,
}

impl Output {
    /// The buffer into which the next answer is written.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Bytes that still have to be sent.
    pub(crate) fn pending_bytes(&self) -> u64 {
        let queued = self.queue.as_ref().map_or(0, |queue| queue.segments.iter().map(Segment::len).sum());
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
        self.queue.as_ref().map_or(0, |queue| queue.memory_bytes) + self.tail.len() as u64
    }

    /// Counts like [`Output::memory_bytes`], without bytes that their owners keep anyway.
    pub(crate) fn own_bytes(&self) -> u64 {
        let own =
            |queue: &Queue| queue.segments.iter().filter_map(Segment::own).map(|own| own.len() as u64).sum();
        let queued = self.queue.as_deref().map_or(0, own);
        queued + self.tail.len() as u64
    }

    /// Moves the bytes that are in memory for this answer alone into an empty file. After an error the answer is lost.
    ///
    /// # Errors
    ///
    /// The disk is full, or the settings allow no more of it.
    pub(crate) fn spill(&mut self, mut stored: Stored) -> io::Result<()> {
        let tail = Segment::Owned(std::mem::take(&mut self.tail));
        let queue = std::mem::take(&mut self.queue).map_or_else(VecDeque::new, |queue| queue.segments);
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
        let mut queue = Box::<Queue>::default();
        pieces.into_iter().map(segment).for_each(|segment| queue.push(segment));
        self.queue = Some(queue);
        Ok(())
    }

    /// Puts a segment behind everything written so far.
    pub(crate) fn push(&mut self, segment: Segment) {
        let queue = self.queue.get_or_insert_default();
        if !self.tail.is_empty() {
            queue.push_tail(&mut self.tail);
        }
        queue.push(segment);
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

    /// Sends as much as the kernel takes.
    ///
    /// # Errors
    ///
    /// The connection is gone; or `UnexpectedEof` when a file became shorter than the answer promised.
    pub(crate) fn flush(&mut self, transport: &mut Transport) -> io::Result<Flushed> {
        self.send(transport, AfterSending::Wait)
    }

    /// Sends like [`Output::flush`], and ends our side at once if everything is taken: the end then leaves in the same
    /// packet as the last bytes, which spares both sides the handling of one more packet.
    ///
    /// # Errors
    ///
    /// The errors of [`Output::flush`].
    pub(crate) fn flush_and_end(&mut self, transport: &mut Transport) -> io::Result<Flushed> {
        self.send(transport, AfterSending::End)
    }

    fn send(&mut self, transport: &mut Transport, then: AfterSending) -> io::Result<Flushed> {
        let flushed = self.send_what_is_taken(transport, then)?;
        if flushed == Flushed::Blocked && self.tail.len() >= SEGMENT_BYTES_MIN {
            self.tail.shrink_to_fit();
            let segment = Segment::Owned(std::mem::take(&mut self.tail));
            self.queue.get_or_insert_default().push(segment);
        }
        Ok(flushed)
    }

    fn send_what_is_taken(&mut self, transport: &mut Transport, then: AfterSending) -> io::Result<Flushed> {
        while let Some(queue) = self.queue.as_mut() {
            if !self.corked && fills_packets(&queue.segments, &self.tail, then) {
                transport.hold(true);
                self.corked = true;
            }
            let step = match queue.segments.front() {
                Some(Segment::File { .. }) => send_file(transport, queue, &mut self.total_bytes)?,
                Some(_) => {
                    let (sent, total_bytes) = (&mut self.sent, &mut self.total_bytes);
                    send_memory(transport, queue, &self.tail, then, sent, total_bytes)?
                }
                None => Flushed::All,
            };
            if queue.segments.is_empty() {
                self.queue = None;
            }
            if step != Flushed::All {
                return Ok(step);
            }
        }
        while self.sent < self.tail.len() {
            let Some(bytes) = transport.send(&self.tail[self.sent..], then == AfterSending::End)? else {
                return Ok(Flushed::Blocked);
            };
            self.sent += bytes;
            self.total_bytes += bytes as u64;
        }
        if then == AfterSending::Wait && std::mem::take(&mut self.corked) {
            transport.hold(false);
        }
        self.sent = 0;
        self.tail.clear();
        Ok(Flushed::All)
    }
}

/// Whether fewer packets are sent if they are held back until they are full. `sendfile(2)` cannot tell the kernel that
/// something follows, such as the next part or the end. The call that sends a head can tell it; therefore a single file
/// behind a head needs no holding back.
fn fills_packets(queue: &VecDeque<Segment>, tail: &[u8], then: AfterSending) -> bool {
    let segments = queue.len() + usize::from(!tail.is_empty());
    let is_more_than_a_file = then == AfterSending::End || segments > 2;
    is_more_than_a_file && queue.iter().any(|segment| matches!(segment, Segment::File { .. }))
}

/// Sends the memory at the queue's front in one call, and the tail with it if nothing is between them.
///
/// `All` means that the caller may go on with whatever is in front now.
fn send_memory(
    transport: &mut Transport,
    queue: &mut Queue,
    tail: &[u8],
    then: AfterSending,
    sent: &mut usize,
    total_bytes: &mut u64,
) -> io::Result<Flushed> {
    let segments = queue.segments.iter().map(Segment::memory);
    let memory = segments.chain((!tail.is_empty()).then_some(Some(tail))).map_while(|memory| memory);
    let mut slices = [IoSlice::new(&[]); SLICES_MAX];
    let (mut count, mut offered) = (0, 0);
    for (slice, bytes) in slices.iter_mut().zip(memory) {
        let bytes = if count == 0 { &bytes[*sent..] } else { bytes };
        *slice = IoSlice::new(bytes);
        (count, offered) = (count + 1, offered + bytes.len());
    }
    // A file that follows fills the packet that these bytes begin.
    let more = count < queue.segments.len() + usize::from(!tail.is_empty()) || then == AfterSending::End;
    let Some(bytes) = transport.send_vectored(&slices[..count], more)? else {
        return Ok(Flushed::Blocked);
    };
    *total_bytes += bytes as u64;
    *sent = queue.take(*sent + bytes);
    // A stream socket that takes only a part is full, and makes an event when it has room (epoll(7)): trying once more
    // would be in vain.
    Ok(if bytes < offered { Flushed::Blocked } else { Flushed::All })
}

/// Sends a share of the file at the queue's front.
fn send_file(transport: &mut Transport, queue: &mut Queue, total_bytes: &mut u64) -> io::Result<Flushed> {
    let Some(Segment::File { file, offset, bytes }) = queue.segments.front_mut() else {
        return Ok(Flushed::All);
    };
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
        queue.pop();
        return Ok(Flushed::All);
    }
    Ok(Flushed::Turn)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use super::*;
    use crate::client::stored::Quota;

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

    /// Sends until the kernel takes nothing more, or all is sent.
    fn fill(output: &mut Output, transport: &mut Transport) -> io::Result<()> {
        while output.flush(transport)? == Flushed::Turn {}
        Ok(())
    }

    /// An answer that was sent in part before it went into a file arrives whole and in order, whichever part another
    /// owner keeps, and whatever is written behind it. Only bytes in memory for this answer count, and the disk space
    /// is free at the end.
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

    /// Borrowed pieces, bytes between them and bytes behind them leave in one call: a datagram. More slices than one
    /// call takes leave in two calls, and nothing is left behind.
    #[test]
    fn pieces_leave_together() -> io::Result<()> {
        for (pieces, calls) in [(1, 1), (SLICES_MAX / 2 - 1, 1), (SLICES_MAX / 2, 2)] {
            let (socket, client) = UnixDatagram::pair()?;
            socket.set_nonblocking(true)?;
            client.set_nonblocking(true)?;
            let (mut output, mut expected) = (Output::default(), Vec::new());
            for number in 0..pieces {
                let (head, piece) = (format!("\r\n{number}\r\n").into_bytes(), vec![b'x'; 100]);
                expected.extend([head.clone(), piece.clone()].concat());
                output.tail().extend(head);
                output.push(Segment::Shared(Box::new(Lent(piece, true))));
            }
            expected.extend(b"\r\n");
            output.tail().extend(b"\r\n");
            assert_eq!(expected.len() as u64, output.memory_bytes());
            assert_eq!((expected.len() - 100 * pieces) as u64, output.own_bytes());

            assert_eq!(Flushed::All, output.flush(&mut Transport::new(socket.into()))?);

            assert!(output.is_empty() && output.memory_bytes() == 0);
            let mut buffer = vec![0; expected.len() + 1];
            let mut received = Vec::new();
            for _ in 0..calls {
                let bytes = client.recv(&mut buffer)?;
                received.extend_from_slice(&buffer[..bytes]);
            }
            assert!(client.recv(&mut buffer).is_err(), "{pieces} pieces took more than {calls} calls");
            assert_eq!(expected, received);
        }
        Ok(())
    }

    /// Packets are held back, which costs two calls more, only for bytes behind a file: a head says by itself that a
    /// file follows.
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
            ("mf", "", AfterSending::Wait, false),
            ("mf", "", AfterSending::End, true),
            ("mf", "the next head", AfterSending::Wait, true),
            ("mfmf", "", AfterSending::Wait, true),
            ("mmm", "", AfterSending::End, false),
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
