//! Ranges of bytes in the buffer that a head was parsed from.

/// A half-open range of bytes in the input that a head was parsed from; it takes 8 bytes, and a `Range<usize>` 16.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte; never less than `start`.
    pub end: u32,
}

impl Span {
    /// Makes a span of two offsets inside a head; the codec limits heads to less than 4 GiB.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a head is cut at HEAD_BYTES_CEILING before it is read"
    )]
    pub fn new(start: usize, end: usize) -> Span {
        debug_assert!(start <= end && u32::try_from(end).is_ok(), "a span lies inside a head");
        Span { start: start as u32, end: end as u32 }
    }

    /// The bytes of this span in `bytes`, the buffer that was parsed.
    ///
    /// Panics if `bytes` is another, shorter buffer: that is a bug of the caller, not a fault of the peer.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..self.end as usize]
    }

    /// Number of bytes.
    #[inline]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}
