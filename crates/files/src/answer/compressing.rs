//! Decides which files are compressed when a client first accepts a coding for them.

use adyton_compress::{Coding, gains};

/// Rules for compressing files that have no precompressed neighbour. The result is kept in the cache, and the file is
/// not compressed again until it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compressing {
    /// The codings to use; if a client prefers several equally, the first of them is used. If empty, files are sent as
    /// they are.
    pub codings: Vec<Coding>,
    /// Length of the shortest file to compress, bytes.
    pub bytes_min: u64,
    /// Length of the longest file to compress, bytes: the event loop stands still while a file is compressed.
    pub bytes_max: u64,
}

impl Compressing {
    /// The codings for a file of this length and type.
    pub(crate) fn codings_of(&self, bytes: u64, content_type: &str) -> &[Coding] {
        let is_fit = (self.bytes_min..=self.bytes_max).contains(&bytes) && gains(content_type.as_bytes());
        if is_fit { &self.codings } else { &[] }
    }
}
