//! Chunk extensions, RFC 9112 section 7.1.1: checked, counted and dropped.
//!
//! The RFC asks recipients to tolerate what it calls bad whitespace, but here it is refused: no client sends it, and
//! attackers have used it to make parsers disagree on where a chunk ends.

use crate::Refusal;
use adyton_http::bytes::{is_forbidden_in_value, is_token_byte};

/// A place in `*( ";" name [ "=" ( token / quoted-string ) ] )`, and the number of bytes read up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extension {
    state: ExtensionState,
    bytes: u16,
}

/// The part of an extension that was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExtensionState {
    /// The size of the chunk.
    Size,
    /// The semicolon before a name.
    Semicolon,
    /// A byte of a name.
    Name,
    /// The equals sign before a value.
    Equals,
    /// A byte of a token.
    Token,
    /// The opening quote, or a byte inside quotes.
    Quoted,
    /// A backslash inside quotes.
    Backslash,
    /// The closing quote.
    Closed,
}

impl Extension {
    /// Returns the place after the size, before the first semicolon.
    pub(super) fn new() -> Extension {
        Extension { state: ExtensionState::Size, bytes: 0 }
    }

    /// Returns the place after `byte`; `None` if `byte` is the CR that ends the line.
    pub(super) fn behind(self, byte: u8) -> Result<Option<Extension>, Refusal> {
        use ExtensionState::{Backslash, Closed, Equals, Name, Quoted, Semicolon, Size, Token};

        let state = match (self.state, byte) {
            (Size | Name | Token | Closed, b';') => Semicolon,
            (Name | Token | Closed, b'\r') => return Ok(None),
            (Semicolon | Name, _) if is_token_byte(byte) => Name,
            (Name, b'=') => Equals,
            (Equals, b'"') | (Backslash, _) if !is_forbidden_in_value(byte) => Quoted,
            (Equals | Token, _) if is_token_byte(byte) => Token,
            (Quoted, b'"') => Closed,
            (Quoted, b'\\') => Backslash,
            (Quoted, _) if !is_forbidden_in_value(byte) => Quoted,
            _ => return Err(BAD_EXTENSION),
        };
        if self.bytes == BYTES_OF_CHUNK_MAX {
            return Err(EXTENSION_TOO_LONG);
        }
        Ok(Some(Extension { state, bytes: self.bytes + 1 }))
    }
}

/// The most extension bytes of one chunk, semicolon included. The chunk signature of some object stores has 85.
const BYTES_OF_CHUNK_MAX: u16 = 256;

const BAD_EXTENSION: Refusal = Refusal::bad("A chunk extension is malformed.");
const EXTENSION_TOO_LONG: Refusal = Refusal::bad("A chunk extension is too long.");
