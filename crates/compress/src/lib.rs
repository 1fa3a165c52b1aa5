//! Content codings (RFC 9110 section 8.4): which one an answer gets, how its head changes, and the compressors.
//!
//! [`choose_coding`] reads `Accept-Encoding`, and [`gains`] knows the media types that become smaller. [`recode`]
//! decides by the head of an answer whether the content is coded, and changes the head. An [`Encoder`] compresses the
//! content piece by piece, within the memory of a [`Room`].
//!
//! Absent on purpose: sockets, files, clocks, and the framing of the bytes. `deflate` is not supported: clients
//! disagree on what it means (RFC 9110 section 8.4.1.2), and all of them know `gzip`.

#![forbid(unsafe_code)]

mod coding;
mod encoder;
mod head;
mod room;
mod types;

pub use coding::{CODINGS, Coding, choose_coding};
pub use encoder::{Effort, Encoder, memory_bytes, whole};
pub use head::{Answer, Rules, recode};
pub use room::{Room, Share};
pub use types::gains;
