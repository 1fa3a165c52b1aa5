//! Bytes of a body that are in memory, in the order in which they came.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};

use crate::client::body::memory::{BLOCK_BYTES, Block, BodyShare};
use crate::client::transport::Transport;

/// Blocks that one receive takes at most: more bytes than these hold are hardly ever there.
const BLOCKS_PER_RECEIVE: usize = 4;

/// Bytes that are read from the front; the memory of bytes that were read is free at once.
#[derive(Debug, Default)]
pub struct Pieces {
    /// The first bytes: a small body has no other bytes, and needs no list of parts.
    first: Vec<u8>,
    parts: VecDeque<Part>,
    /// How much is read of the first bytes or, when they are all read, of the first part.
    at: usize,
    /// Bytes left in all.
    bytes: usize,
}

/// A part of the bytes. Only a block may be empty, while bytes are received into it.
#[derive(Debug)]
enum Part {
    Own(Vec<u8>),
    /// A block, and how much of it is filled.
    Shared(Block, usize),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(block, filled) => &block[..*filled],
        }
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(first: Vec<u8>) -> Self {
        Self { bytes: first.len(), first, ..Self::default() }
    }
}

impl Pieces {
    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Adds bytes as they are.
    pub fn push(&mut self, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        if self.first.is_empty() && self.parts.is_empty() {
            self.first = bytes;
        } else if !bytes.is_empty() {
            self.parts.push_back(Part::Own(bytes));
        }
    }

    /// Copies bytes to the beginning of `target` and returns how many: fewer than fit into `target` only if no more
    /// bytes are left.
    pub fn take(&mut self, target: &mut [u8]) -> usize {
        let mut taken = 0;
        while taken < target.len()
            && let Some(left) = self.front()
        {
            let (bytes, count) = (left.len(), left.len().min(target.len() - taken));
            target[taken..taken + count].copy_from_slice(&left[..count]);
            taken += count;
            if count < bytes {
                self.at += count;
                break;
            }
            self.at = 0;
            if self.first.is_empty() {
                self.parts.pop_front();
            } else {
                self.first = Vec::new();
            }
        }
        self.bytes -= taken;
        taken
    }

    /// The rest of the piece that comes next.
    fn front(&self) -> Option<&[u8]> {
        if self.first.is_empty() {
            self.parts.front().map(|part| &part.bytes()[self.at..])
        } else {
            Some(&self.first[self.at..])
        }
    }

    /// Counts the bytes up to and including the first `byte` that stands behind the first `from` bytes.
    pub fn up_to(&self, byte: u8, from: usize) -> Option<usize> {
        let mut before = 0;
        for bytes in self.iter() {
            let skipped = from.saturating_sub(before).min(bytes.len());
            if let Some(at) = memchr::memchr(byte, &bytes[skipped..]) {
                return Some(before + skipped + at + 1);
            }
            before += bytes.len();
        }
        None
    }

    /// The bytes that are left, piece by piece.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let (in_first, in_part) = if self.first.is_empty() { (0, self.at) } else { (self.at, 0) };
        let first = Some(&self.first[in_first..]).filter(|bytes| !bytes.is_empty());
        let parts = self.parts.iter().enumerate();
        first.into_iter().chain(parts.map(move |(n, part)| &part.bytes()[if n == 0 { in_part } else { 0 }..]))
    }

    /// Copies all bytes that are left into one vector.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.bytes);
        self.iter().for_each(|piece| all.extend_from_slice(piece));
        all
    }

    /// Adds a copy of bytes in memory of their own, which is no block.
    pub(crate) fn extend(&mut self, data: &[u8]) {
        match self.parts.back_mut() {
            None => self.first.extend_from_slice(data),
            Some(Part::Own(bytes)) => bytes.extend_from_slice(data),
            Some(Part::Shared(..)) => return self.push(data.to_vec()),
        }
        self.bytes += data.len();
    }

    /// Adds a copy of bytes in blocks; returns the bytes that found no room.
    pub(crate) fn extend_blocks<'d>(&mut self, mut data: &'d [u8], share: &mut BodyShare) -> &'d [u8] {
        while !data.is_empty() {
            let Some((block, filled)) = self.open_block(share) else { break };
            let count = data.len().min(BLOCK_BYTES - *filled);
            block[*filled..*filled + count].copy_from_slice(&data[..count]);
            *filled += count;
            self.bytes += count;
            data = &data[count..];
        }
        data
    }

    /// The last block, if it has room, or a new one.
    fn open_block(&mut self, share: &mut BodyShare) -> Option<(&mut Block, &mut usize)> {
        if !matches!(self.parts.back(), Some(Part::Shared(_, filled)) if *filled < BLOCK_BYTES) {
            self.parts.push_back(Part::Shared(share.block()?, 0));
        }
        match self.parts.back_mut() {
            Some(Part::Shared(block, filled)) => Some((block, filled)),
            _ => None,
        }
    }

    /// Receives up to `most` bytes into blocks. Returns the number of received bytes, as [`Transport::receive`] does,
    /// and the number of bytes for which there was room. If there was room for 0 bytes, no block was free, and nothing
    /// was received.
    pub(crate) fn receive(
        &mut self,
        most: u64,
        transport: &mut Transport,
        share: &mut BodyShare,
    ) -> io::Result<(Option<usize>, usize)> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(BLOCKS_PER_RECEIVE * BLOCK_BYTES);
        let open = self.open(most, share);
        let mut buffers: [_; BLOCKS_PER_RECEIVE] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let mut room = 0;
        for (buffer, part) in buffers.iter_mut().zip(self.parts.iter_mut().rev().take(open).rev()) {
            if let Part::Shared(block, filled) = part {
                let free = &mut block[*filled..];
                let count = free.len().min(most - room);
                *buffer = IoSliceMut::new(&mut free[..count]);
                room += count;
            }
        }
        let received = if room > 0 { transport.receive_vectored(&mut buffers[..open]) } else { Ok(None) };
        let mut left = *received.as_ref().ok().and_then(Option::as_ref).unwrap_or(&0);
        self.bytes += left;
        for part in self.parts.iter_mut().rev().take(open).rev() {
            if let Part::Shared(_, filled) = part {
                let count = left.min(BLOCK_BYTES - *filled);
                *filled += count;
                left -= count;
            }
        }
        // A client that sends little takes little memory.
        while matches!(self.parts.back(), Some(Part::Shared(_, 0))) {
            if let Some(Part::Shared(block, _)) = self.parts.pop_back() {
                share.put_back(block);
            }
        }
        received.map(|received| (received, room))
    }

    /// Sees to it that the blocks at the end have room for `most` bytes, or for as many as the memory allows; returns
    /// how many blocks have room.
    fn open(&mut self, most: usize, share: &mut BodyShare) -> usize {
        let (mut open, mut room) = match self.parts.back() {
            Some(Part::Shared(_, filled)) if *filled < BLOCK_BYTES => (1, BLOCK_BYTES - *filled),
            _ => (0, 0),
        };
        while room < most
            && open < BLOCKS_PER_RECEIVE
            && let Some(block) = share.block()
        {
            self.parts.push_back(Part::Shared(block, 0));
            (open, room) = (open + 1, room + BLOCK_BYTES);
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::client::body::BodyMemory;

    /// Bytes in their own memory and in blocks, with a different value at neighbouring places.
    fn pieces(memory: &Arc<BodyMemory>) -> (Pieces, Vec<u8>) {
        let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut pieces, mut share) = (Pieces::from(bytes[..1_000].to_vec()), BodyShare::new(memory));
        assert!(pieces.extend_blocks(&bytes[1_000..100_000], &mut share).is_empty());
        assert!(pieces.extend_blocks(&bytes[100_000..], &mut share).is_empty());
        (pieces, bytes)
    }

    /// Pieces give back the bytes that were added, in any portions, and their memory is free afterwards.
    #[test]
    fn takes_in_portions() {
        for portion in [1_usize, 7, 1_000, 65_536, 65_537, 1 << 20] {
            let memory = BodyMemory::new(4 * BLOCK_BYTES as u64);
            let (mut pieces, bytes) = pieces(&memory);
            assert!(BodyShare::new(&memory).block().is_none(), "all blocks are in use");
            let mut taken = Vec::new();
            while !pieces.is_empty() {
                let mut target = vec![0; portion];
                let count = pieces.take(&mut target);
                taken.extend_from_slice(&target[..count]);
                assert_eq!(bytes.len(), taken.len() + pieces.len());
            }
            assert_eq!(bytes, taken);
            assert_eq!(0, pieces.take(&mut [0; 8]));
            assert!(BodyShare::new(&memory).block().is_some());
        }
    }

    /// A byte is found in every part, behind the bytes that were read, and behind the bytes that were searched before.
    #[test]
    fn finds_across_parts() {
        let memory = BodyMemory::new(4 * BLOCK_BYTES as u64);
        let (mut pieces, bytes) = pieces(&memory);
        pieces.take(&mut vec![0; 70_000]);
        let rest = &bytes[70_000..];
        for from in [0, 1, 60_000, 61_000, 129_999, 130_000] {
            let expected = rest[from.min(rest.len())..].iter().position(|&byte| byte == 250);
            assert_eq!(expected.map(|at| from + at + 1), pieces.up_to(250, from), "from {from}");
        }
        assert_eq!(None, pieces.up_to(251, 0));
    }

    /// Bytes that find no room in a block are returned.
    #[test]
    fn returns_what_has_no_room() {
        let memory = BodyMemory::new(BLOCK_BYTES as u64);
        let mut pieces = Pieces::default();
        assert_eq!(3, pieces.extend_blocks(&vec![1; BLOCK_BYTES + 3], &mut BodyShare::new(&memory)).len());
        assert_eq!(BLOCK_BYTES, pieces.len());
    }
}
