//! Which files are compressed when a client first takes a coding of them.

use adyton_compress::{Coding, gains};

/// How files are compressed that have no neighbour which was compressed beforehand. What has been compressed is kept in the
/// cache, and not done again until the file changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compressing {
    /// With which codings; of several that a client likes equally the first. Without any, files are sent as they are.
    pub codings: Vec<Coding>,
    /// The shortest file, bytes.
    pub bytes_min: u64,
    /// The longest file, bytes: the loop stands still meanwhile.
    pub bytes_max: u64,
}

impl Compressing {
    /// The codings for a file of this length and type.
    pub(crate) fn codings_of(&self, bytes: u64, content_type: &str) -> &[Coding] {
        let is_fit = (self.bytes_min..=self.bytes_max).contains(&bytes) && gains(content_type.as_bytes());
        if is_fit { &self.codings } else { &[] }
    }
}
