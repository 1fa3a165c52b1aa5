//! Bodies that the loop reads before the application is called.

use std::io;
use std::sync::Arc;

use adyton_http1::{Framing, Refusal};
use adyton_log::{self as log, messages};
use adyton_sys::pipe::Channel;

use crate::answering::refusals::{NO_DISK, NO_ROOM, TOO_LARGE};
use crate::answering::verdict::Verdict;
use crate::client::body::OwnedBody;
use crate::client::body::decoder::Decoder;
use crate::client::body::memory::{BodyMemory, BodyShare};
use crate::client::body::pieces::Pieces;
use crate::client::stored::Stored;
use crate::client::transport::Transport;
use crate::config::Config;
use crate::site::limits::SiteLimits;

/// The beginning of a body has memory of its own: if each body had a block at once, clients that send little could use
/// up the memory of all bodies.
const OWN_BYTES: u64 = 16 << 10;

/// Smaller pieces of a body that goes into a file are gathered before they are written: a client could otherwise cause
/// a system call for each byte.
const SPOOL_BYTES: usize = 16 << 10;

/// A body on its way in: in memory, then in a file.
pub(crate) struct Upload {
    /// The request's head, kept because the loop's buffer is lent to other connections meanwhile.
    pub(crate) head: Vec<u8>,
    /// When the body began, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
    /// The verdict on the request's credentials, if they were checked before the body came.
    pub(crate) verdict: Option<Box<Verdict>>,
    decoder: Decoder,
    /// Bytes that are not in the file.
    pieces: Pieces,
    file: Option<Stored>,
    /// Memory for more than the beginning; `None` if the body is to be read from a file.
    share: Option<BodyShare>,
    /// When the share was reserved, in ms of the monotonic clock.
    reserved_ms: Option<u64>,
    /// The body's wait for memory, while it waits.
    pub(crate) waits: Option<Waits>,
    bytes: u64,
    bytes_max: u64,
}

/// Time until a reservation lapses if the body has not come by then.
const LAPSES_MS: u64 = 250;

/// The wait of a body for memory.
pub(crate) struct Waits {
    /// When the wait began, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
    /// Result of [`BodyMemory::returns`] at the last look.
    pub(crate) returns: u64,
}

/// The reason why no more of a body can be received.
pub(crate) enum UploadFailure {
    /// The client has gone.
    Gone,
    /// The body breaks a limit, or there is no room for it.
    Refused(Refusal),
}

impl From<io::Error> for UploadFailure {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<Refusal> for UploadFailure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of one receive.
pub(crate) struct Received {
    pub(crate) bytes: usize,
    /// Whether the kernel may have more.
    pub(crate) more: bool,
}

impl Upload {
    /// Makes a body of which nothing has come. If `memory` is given, the body stays there as long as some is free.
    pub(crate) fn new(
        head: &[u8],
        framing: Framing,
        limits: &SiteLimits,
        memory: Option<&Arc<BodyMemory>>,
        now_ms: u64,
    ) -> Self {
        let decoder = Decoder::new(framing);
        let blocks = BodyShare::blocks_for(decoder.announced_bytes());
        let share =
            memory.map(BodyShare::new).filter(|share| blocks.is_none_or(|blocks| share.can_hold(blocks)));
        Self {
            head: head.to_vec(),
            since_ms: now_ms,
            verdict: None,
            decoder,
            pieces: Pieces::default(),
            file: None,
            share,
            reserved_ms: None,
            waits: None,
            bytes: 0,
            bytes_max: limits.body_bytes_max,
        }
    }

    /// Bytes of the body received so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    /// Takes the bytes of `input` that belong to the body, and returns how many they are. Each piece of data takes one
    /// of the turn's `parts_left`; when none is left, the rest of `input` is not taken.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        config: &Config,
        parts_left: &mut u32,
    ) -> Result<usize, Refusal> {
        let mut used = 0;
        while used < input.len() && *parts_left > 0 && !self.decoder.is_done() {
            *parts_left -= 1;
            let (consumed, data) = self.decoder.step(&input[used..])?;
            self.store(&input[used..][data], config)?;
            used += consumed;
            if self.bytes.saturating_add(self.decoder.announced_bytes()) > self.bytes_max {
                return Err(TOO_LARGE);
            }
        }
        if self.file.is_some() {
            self.spool_pieces(config)?;
        }
        Ok(used)
    }

    /// Whether the next bytes can be received into blocks or into the file at once, without a buffer between.
    pub(crate) fn is_direct(&self) -> bool {
        let has_place = self.file.is_some() || self.bytes >= OWN_BYTES;
        has_place && matches!(self.decoder, Decoder::Length(1..))
    }

    /// How many blocks the body must reserve before more of it is received; `None` if it needs to reserve none.
    pub(crate) fn needs_blocks(&self) -> Option<usize> {
        if self.share.is_none() || self.file.is_some() || self.reserved_ms.is_some() {
            return None;
        }
        BodyShare::blocks_for(self.decoder.announced_bytes())
    }

    /// Reserves blocks. `false`: they are not free now.
    pub(crate) fn reserve(&mut self, blocks: usize, now_ms: u64) -> bool {
        let is_free = self.share.as_mut().is_some_and(|share| share.reserve(blocks));
        self.reserved_ms = is_free.then_some(now_ms);
        is_free
    }

    /// Gives the body's reservation up if the body comes too slowly.
    pub(crate) fn lapse(&mut self, now_ms: u64) {
        if self.reserved_ms.is_some_and(|since_ms| now_ms.saturating_sub(since_ms) >= LAPSES_MS)
            && let Some(share) = &mut self.share
        {
            share.lapse();
        }
    }

    /// Moves the body to a file from now on.
    pub(crate) fn leave_memory(&mut self) {
        self.share = None;
    }

    /// Receives bytes into blocks or into the file. 0 bytes mean that the client has ended; `None` means that no bytes
    /// are there now.
    ///
    /// # Errors
    ///
    /// No more of the body can be received.
    pub(crate) fn receive(
        &mut self,
        transport: &mut Transport,
        channel: &mut Option<Channel>,
        config: &Config,
    ) -> Result<Option<Received>, UploadFailure> {
        let Decoder::Length(left) = self.decoder else { return Ok(None) };
        if self.file.is_none()
            && let Some(share) = &mut self.share
        {
            let (received, room) = self.pieces.receive(left, transport, share)?;
            if room > 0 {
                return Ok(self.advance(received, room, left));
            }
        }
        self.spool_pieces(config)?;
        let Some(stored) = &mut self.file else { return Ok(None) };
        let complain = |error: io::Error| UploadFailure::Refused(cannot_store(&error, config));
        // A channel that has failed is not used again: something may be left in it.
        let through = channel.take().map_or_else(Channel::new, Ok).map_err(complain)?;
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        let received = transport.receive_into(&through, most)?;
        if let Some(bytes) = received {
            if !stored.reserve(bytes) {
                return Err(NO_DISK.into());
            }
            stored.fill_reserved(&through, bytes).map_err(complain)?;
        }
        *channel = Some(through);
        // A channel may take fewer bytes than are there: this depends on how the kernel holds them. So more bytes may
        // be there until a channel takes none.
        Ok(self.advance(received, received.unwrap_or(0), left))
    }

    fn advance(&mut self, received: Option<usize>, room: usize, left: u64) -> Option<Received> {
        let bytes = received?;
        self.decoder = Decoder::Length(left - bytes as u64);
        self.bytes += bytes as u64;
        Some(Received { bytes, more: bytes == room })
    }

    fn store(&mut self, data: &[u8], config: &Config) -> Result<(), Refusal> {
        self.bytes += data.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(TOO_LARGE);
        }
        let mut rest = data;
        if self.file.is_none() {
            if self.bytes <= OWN_BYTES {
                self.pieces.extend(data);
                return Ok(());
            }
            if let Some(share) = &mut self.share {
                rest = self.pieces.extend_blocks(data, share);
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if self.file.is_none() || self.pieces.len() + rest.len() > SPOOL_BYTES {
            self.spool_pieces(config)?;
        }
        if rest.len() >= SPOOL_BYTES {
            return self.spool(rest, config);
        }
        self.pieces.extend(rest);
        Ok(())
    }

    /// Moves the bytes in memory to the file.
    fn spool_pieces(&mut self, config: &Config) -> Result<(), Refusal> {
        let pieces = std::mem::take(&mut self.pieces);
        if self.file.is_none() {
            self.spool(b"", config)?;
        }
        pieces.iter().try_for_each(|piece| self.spool(piece, config))
    }

    /// Adds bytes to the file, which is made when the first bytes are added.
    fn spool(&mut self, data: &[u8], config: &Config) -> Result<(), Refusal> {
        let complain = |error: io::Error| cannot_store(&error, config);
        let stored = match &mut self.file {
            Some(stored) => stored,
            None => self.file.insert(Stored::new(&config.temp_dir, &config.body_files).map_err(complain)?),
        };
        if !stored.reserve(data.len()) {
            return Err(NO_DISK);
        }
        stored.write_reserved(data).map_err(complain)
    }

    /// The whole body, once it is done.
    pub(crate) fn body(&mut self) -> io::Result<OwnedBody> {
        match self.file.take() {
            Some(mut stored) => {
                stored.rewind()?;
                Ok(OwnedBody::File(stored))
            }
            None if self.pieces.is_empty() => Ok(OwnedBody::Empty),
            None => Ok(OwnedBody::Memory(std::mem::take(&mut self.pieces))),
        }
    }
}

fn cannot_store(error: &io::Error, config: &Config) -> Refusal {
    let folder = config.temp_dir.display();
    log::write(
        &messages::BODY_NOT_STORED,
        format_args!("a request body cannot be stored in {folder} (setting --temp-dir): {error}"),
    );
    NO_ROOM
}
