//! The body of a response, as a client reads it: where it ends, in whatever pieces it comes (RFC 9112 section 6.3).

use core::ops::Range;

use crate::{BodyFraming, Chunked, Decoded, Refusal};

/// Reads the body of one response. The bytes after the body belong to the next response.
#[derive(Clone, Debug)]
pub struct ReceivedBody {
    framing: BodyFraming,
    chunked: Chunked,
    /// Bytes of the body so far, without the framing of chunks.
    bytes: u64,
}

impl ReceivedBody {
    /// Returns a reader for the body of a response whose head has this framing.
    pub fn new(framing: BodyFraming) -> ReceivedBody {
        ReceivedBody { framing, chunked: Chunked::new(), bytes: 0 }
    }

    /// Reads `input`, which continues where the last call stopped, up to the end of the first piece of data. The caller
    /// repeats the call with the rest of the input until the input is used up or [`ReceivedBody::is_complete`] holds.
    ///
    /// # Errors
    ///
    /// The body breaks a rule: nothing after it on this connection can be trusted.
    pub fn read(&mut self, input: &[u8]) -> Result<Decoded, Refusal> {
        let decoded = match self.framing {
            BodyFraming::None => Decoded { consumed: 0, data: 0..0 },
            BodyFraming::UntilClose => all(0..input.len()),
            BodyFraming::Length(length) => {
                let left = usize::try_from(length - self.bytes).unwrap_or(usize::MAX);
                all(0..left.min(input.len()))
            }
            BodyFraming::Chunked => self.chunked.decode(input)?,
        };
        self.bytes += decoded.data.len() as u64;
        Ok(decoded)
    }

    /// Whether the whole body has been read. A body that ends with the connection is never complete before
    /// [`ReceivedBody::is_complete_at_close`] is asked.
    pub fn is_complete(&self) -> bool {
        match self.framing {
            BodyFraming::None => true,
            BodyFraming::UntilClose => false,
            BodyFraming::Length(length) => self.bytes == length,
            BodyFraming::Chunked => self.chunked.is_done(),
        }
    }

    /// Whether the body is whole if the server closes the connection now; otherwise it was cut off, and must never be
    /// taken for a whole one (RFC 9112 section 8).
    pub fn is_complete_at_close(&self) -> bool {
        self.framing == BodyFraming::UntilClose || self.is_complete()
    }

    /// Returns how the body is delimited.
    pub fn framing(&self) -> BodyFraming {
        self.framing
    }

    /// Returns the number of bytes of the body so far, without the framing of chunks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Input whose bytes in this range are all data.
fn all(data: Range<usize>) -> Decoded {
    Decoded { consumed: data.end, data }
}
