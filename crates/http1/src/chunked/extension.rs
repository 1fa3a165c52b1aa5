//! Chunk extensions, RFC 9112 section 7.1.1: checked, counted and dropped.
//!
//! The whitespace that the RFC calls bad is refused, although it asks to tolerate it: nobody sends it, and
//! parsers that disagree over it have been led to disagree over where a chunk ends.

use crate::Refusal;
use adyton_http::bytes::{is_forbidden_in_value, is_token_byte};

/// A place in `*( ";" name [ "=" ( token / quoted-string ) ] )`, and the bytes of it until here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extension {
    place: Place,
    bytes: u16,
}

/// What was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
    /// Behind the size, before the first semicolon.
    pub(super) fn new() -> Extension {
        Extension { place: Place::Size, bytes: 0 }
    }

    /// The place behind `byte`; `None` when it is the CR that ends the line.
    pub(super) fn behind(self, byte: u8) -> Result<Option<Extension>, Refusal> {
        let place = match (self.place, byte) {
            (Place::Size | Place::Name | Place::Token | Place::Closed, b';') => Place::Semicolon,
            (Place::Name | Place::Token | Place::Closed, b'\r') => return Ok(None),
            (Place::Semicolon | Place::Name, _) if is_token_byte(byte) => Place::Name,
            (Place::Name, b'=') => Place::Equals,
            (Place::Equals, b'"') | (Place::Backslash, _) if !is_forbidden_in_value(byte) => Place::Quoted,
            (Place::Equals | Place::Token, _) if is_token_byte(byte) => Place::Token,
            (Place::Quoted, b'"') => Place::Closed,
            (Place::Quoted, b'\\') => Place::Backslash,
            (Place::Quoted, _) if !is_forbidden_in_value(byte) => Place::Quoted,
            _ => return Err(BAD_EXTENSION),
        };
        if self.bytes == BYTES_OF_CHUNK_MAX {
            return Err(EXTENSION_TOO_LONG);
        }
        Ok(Some(Extension { place, bytes: self.bytes + 1 }))
    }
}

/// Extension bytes of one chunk, semicolon included. A signature as some stores want it has 85.
const BYTES_OF_CHUNK_MAX: u16 = 256;

const BAD_EXTENSION: Refusal = Refusal::bad("A chunk extension is malformed.");
const EXTENSION_TOO_LONG: Refusal = Refusal::bad("A chunk extension is too long.");
