//! Chunked bodies, RFC 9112 section 7.1: a decoder for requests and the pieces of an encoder for responses.
//!
//! The decoder reads framing byte by byte and data in whole pieces, so that the stream may be fed in any pieces; it
//! keeps only its place in the stream:
//!
//! ```text
//! Size --hex--> Size --";"--> Extension --CR--> SizeEnd --LF--> Data ... DataCr, DataLf --> Size
//!                                                       \--LF after size 0--> Trailers --> Done
//! ```

use core::ops::Range;

use crate::Refusal;
use extension::Extension;
use trailers::Trailers;

mod extension;
mod trailers;

/// Ends the data of one chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// Ends a body in chunks, without trailers. Must not be sent after a body that broke off.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends the line that opens a chunk of `bytes` bytes. An empty chunk would end the body, so `bytes` must not be 0.
pub fn write_chunk_head(out: &mut Vec<u8>, bytes: usize) {
    debug_assert!(bytes > 0, "an empty chunk ends the body");
    let mut line = [0; SIZE_DIGITS_MAX + CHUNK_END.len()];
    let mut start = SIZE_DIGITS_MAX;
    line[start..].copy_from_slice(CHUNK_END);
    let mut rest = bytes;
    while rest > 0 {
        start -= 1;
        line[start] = b"0123456789abcdef"[rest % 16];
        rest /= 16;
    }
    out.extend_from_slice(&line[start..]);
}

/// Decodes the chunked body of a request.
#[derive(Clone, Debug)]
pub struct Chunked {
    state: State,
    /// Extension bytes in all chunks so far.
    extension_bytes: usize,
    trailers: Trailers,
}

/// The result of one call of [`Chunked::decode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes of the input that must not be fed again, `data` included; 0 only if the input is empty or the body is
    /// finished.
    pub consumed: usize,
    /// The range of the input that holds a piece of the body; it may be empty.
    pub data: Range<usize>,
}

/// The byte that the decoder expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A digit of the size, or a byte that may follow the size; `size` was read from `digits` digits.
    Size { size: u64, digits: usize },
    /// A byte of an extension.
    Extension { size: u64, extension: Extension },
    /// The LF of the size line.
    SizeEnd { size: u64 },
    /// One of the `left` bytes of data that are still to come; `left` is at least 1.
    Data { left: u64 },
    /// The CR after the data.
    DataCr,
    /// The LF after the data.
    DataLf,
    /// A byte of the trailer section.
    Trailers,
    /// Nothing: the body is complete.
    Done,
    /// Nothing: the body was refused.
    Refused,
}

impl Chunked {
    /// Returns a decoder for a new body.
    pub fn new() -> Chunked {
        Chunked { state: FIRST, extension_bytes: 0, trailers: Trailers::default() }
    }

    /// Decodes `input`, which continues where the last call stopped, up to the end of the first piece of data. The
    /// caller repeats the call with the rest of the input until the input is used up or [`Chunked::is_done`] holds.
    ///
    /// # Errors
    ///
    /// The body breaks a rule: nothing after it on this connection can be trusted.
    pub fn decode(&mut self, input: &[u8]) -> Result<Decoded, Refusal> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match self.state {
                State::Data { left } => {
                    let here = input.len() - at;
                    let length = usize::try_from(left).map_or(here, |left| left.min(here));
                    let left = left - length as u64;
                    self.state = if left == 0 { State::DataCr } else { State::Data { left } };
                    return Ok(Decoded { consumed: at + length, data: at..at + length });
                }
                State::Done => break,
                _ => self.state = self.step(byte).inspect_err(|_| self.state = State::Refused)?,
            }
            at += 1;
        }
        Ok(Decoded { consumed: at, data: at..at })
    }

    /// Returns the number of data bytes that the present chunk has announced and that have not come yet, so that a
    /// limit can be enforced before they come.
    #[inline]
    pub fn announced_bytes(&self) -> u64 {
        match self.state {
            State::Data { left } => left,
            State::SizeEnd { size } | State::Extension { size, .. } => size,
            _ => 0,
        }
    }

    /// Whether the last chunk and its trailers have been read. If the stream ends earlier, the body is incomplete.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Returns the state after one byte of framing.
    fn step(&mut self, byte: u8) -> Result<State, Refusal> {
        match (self.state, byte) {
            (State::Size { size, digits }, _) => self.size_byte(size, digits, byte),
            (State::Extension { size, extension }, _) => self.extension_byte(size, extension, byte),
            (State::SizeEnd { size: 0 }, b'\n') => Ok(State::Trailers),
            (State::SizeEnd { size }, b'\n') => Ok(State::Data { left: size }),
            (State::SizeEnd { .. }, _) => Err(BAD_SIZE_END),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(FIRST),
            (State::DataCr | State::DataLf, _) => Err(BAD_DATA_END),
            (State::Trailers, _) => {
                Ok(if self.trailers.is_end_behind(byte)? { State::Done } else { State::Trailers })
            }
            (state @ (State::Data { .. } | State::Done), _) => Ok(state),
            (State::Refused, _) => Err(REFUSED),
        }
    }

    fn size_byte(&mut self, size: u64, digits: usize, byte: u8) -> Result<State, Refusal> {
        match (char::from(byte).to_digit(16), byte) {
            (Some(_), _) if digits == SIZE_DIGITS_MAX => Err(SIZE_TOO_LONG),
            (Some(digit), _) => Ok(State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }),
            (None, b'\r') if digits > 0 => Ok(State::SizeEnd { size }),
            (None, b';') if digits > 0 => self.extension_byte(size, Extension::new(), byte),
            (None, _) => Err(BAD_SIZE),
        }
    }

    fn extension_byte(&mut self, size: u64, extension: Extension, byte: u8) -> Result<State, Refusal> {
        let Some(extension) = extension.behind(byte)? else { return Ok(State::SizeEnd { size }) };
        self.extension_bytes += 1;
        if self.extension_bytes > EXTENSION_BYTES_OF_BODY_MAX {
            return Err(EXTENSIONS_TOO_LONG);
        }
        Ok(State::Extension { size, extension })
    }
}

impl Default for Chunked {
    fn default() -> Chunked {
        Chunked::new()
    }
}

/// The state before the first digit of a size.
const FIRST: State = State::Size { size: 0, digits: 0 };

/// The most hexadecimal digits of a size: a `u64` has so many, and further digits would be zeros or an overflow.
const SIZE_DIGITS_MAX: usize = 16;

/// The most extension bytes in one body. They are read and dropped, so sending them costs the client next to nothing.
const EXTENSION_BYTES_OF_BODY_MAX: usize = 16 * 1024;

const BAD_SIZE: Refusal = Refusal::bad("A chunk size is not a hexadecimal number at the start of its line.");
const SIZE_TOO_LONG: Refusal = Refusal::bad("A chunk size has more than 16 digits.");
const BAD_SIZE_END: Refusal = Refusal::bad("The line of a chunk size must end in CRLF.");
const BAD_DATA_END: Refusal = Refusal::bad("The data of a chunk must be followed by CRLF.");
const EXTENSIONS_TOO_LONG: Refusal = Refusal::bad("The chunk extensions of the body are too long.");
const REFUSED: Refusal = Refusal::bad("The body was refused before.");
