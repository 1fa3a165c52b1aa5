//! Finds the bytes of a body in the received bytes.

use adyton_http1::{Chunked, Framing, Refusal};

/// Separates the bytes of a body from their framing.
pub(super) enum Decoder {
    Length(u64),
    Chunked(Box<Chunked>),
}

impl Decoder {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::Length(0),
            Framing::Length(bytes) => Self::Length(bytes),
            Framing::Chunked => Self::Chunked(Box::new(Chunked::new())),
        }
    }

    /// Bytes of the body that are still to come, as far as that is known.
    pub(super) fn announced_bytes(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunked(chunked) => chunked.announced_bytes(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunked) => chunked.is_done(),
        }
    }

    /// Does one step: returns the number of bytes of `input` that the step has used, and the range of `input` with the
    /// data.
    pub(super) fn step(&mut self, input: &[u8]) -> Result<(usize, std::ops::Range<usize>), Refusal> {
        match self {
            Self::Length(left) => {
                let bytes = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= bytes as u64;
                Ok((bytes, 0..bytes))
            }
            Self::Chunked(chunked) => chunked.decode(input).map(|step| (step.consumed, step.data)),
        }
    }
}
