//! Content codings (RFC 9110 section 8.4): which one an answer gets, what changes in its head, and the compressors.
//!
//! [`choose_coding`] reads `Accept-Encoding`, [`gains`] knows the media types that become smaller, [`recode`] decides
//! about an answer by its head, and changes the head; an [`Encoder`] does the work, piece by piece, within the memory
//! of a [`Room`].
//!
//! Absent on purpose: sockets, files, clocks, and how the bytes are framed. `deflate` is no coding here: what
//! clients understand by it differs (RFC 9110 section 8.4.1.2), and every one of them knows `gzip`.

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
