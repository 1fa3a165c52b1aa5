//! Requests to a folder, and their answers: the types that all answers have in common.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use adyton_http::{Identity, Request};
use adyton_http1::Asked;

/// Tells whether a file is run, by the file's path beneath the folder.
pub type RunsFile<'r> = &'r dyn Fn(&[u8]) -> bool;

/// A request for a file.
#[derive(Clone, Copy)]
pub struct Ask<'r> {
    /// The request.
    pub request: Request<'r>,
    /// The raw beginning of the path that matched the mount: `/static`, or empty for the root.
    pub prefix: &'r [u8],
    /// Properties of the request that the answer has to respect: version, HEAD, keep-alive.
    pub asked: Asked,
    /// The answer's `Date` and `Server`.
    pub identity: Identity<'r>,
    /// The number of the batch of requests that arrived together and therefore share one stat. No other batch has this
    /// number.
    pub fresh: u64,
    /// Whether the file is to be sent as it is stored, and not compressed by the server.
    pub as_stored: bool,
    /// Whether a file that stands in for the requested path (an index, a fallback) is only named, and not sent:
    /// [`FileAnswer::Named`].
    pub names_others: bool,
    /// Names of files that answer for their folder, used instead of the folder's own index. The first one that exists
    /// is named, and not sent, as with `names_others`.
    pub indexes: Option<&'r [Box<[u8]>]>,
    /// Whether the caller has found nothing at the path: then no file is looked for there, not even a file that was
    /// sent before. The folder may have changed since the caller looked: a link may now stand in the place of a folder,
    /// or a new folder may exist that the caller does not know.
    pub is_absent: bool,
    /// Tells, by a page's path beneath the folder, whether the page is run and therefore not sent in place of a missing
    /// file. `None`: no page is run, except those of [`crate::Options::sources`].
    pub runs_page: Option<RunsFile<'r>>,
}

/// The answer to a request. In all cases except the last two, a head is in `out`, ready to be sent.
#[derive(Debug)]
pub enum FileAnswer {
    /// Head and body are in `out`.
    Whole {
        /// Status code.
        status: u16,
        /// Length of the body sent; 0 for HEAD.
        body_bytes: u64,
        /// Whether the connection may be used again.
        keep_alive: bool,
    },
    /// The parts follow after `out`, in order.
    Parts {
        /// Status code.
        status: u16,
        /// Length of the body sent, `out` and parts together.
        body_bytes: u64,
        /// Whether the connection may be used again.
        keep_alive: bool,
        /// At least one part.
        parts: Vec<Part>,
    },
    /// No such file exists, and the application should be asked. Nothing was written.
    FallThrough,
    /// The path, beneath the folder and decoded, of a file that stands in for the requested path and could be sent.
    /// Nothing was written.
    Named(Vec<u8>),
}

impl FileAnswer {
    /// The status of the answer, if it has one.
    pub fn status(&self) -> Option<u16> {
        match self {
            FileAnswer::Whole { status, .. } | FileAnswer::Parts { status, .. } => Some(*status),
            FileAnswer::FallThrough | FileAnswer::Named(_) => None,
        }
    }
}

/// A piece of a body.
#[derive(Debug)]
pub enum Part {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A range of an open file. If the file has become shorter by the time it is sent, the connection must be cut.
    File {
        /// The file; its position is not used.
        file: Arc<OwnedFd>,
        /// First byte to send.
        offset: u64,
        /// Number of bytes to send.
        bytes: u64,
    },
}
