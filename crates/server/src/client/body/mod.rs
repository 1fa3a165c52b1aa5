//! Request bodies: read whole by the loop before the application is called, or live by the application itself, if the
//! settings say so (`--stream-body`) and threads may wait for clients.

use std::sync::{Arc, Mutex};

use crate::client::stored::Stored;

mod decoder;
mod live;
mod memory;
mod pieces;
mod upload;

pub use live::Live;
pub(crate) use live::{CONTINUE, Reading, unless_read};
pub use memory::BodyMemory;
pub use pieces::Pieces;
pub(crate) use upload::{Received, Upload, UploadFailure, Waits};

/// The body of one request, as the application gets it.
pub enum Body<'c> {
    /// No body.
    Empty,
    /// The whole body, in a buffer that other requests need after the call.
    Bytes(&'c [u8]),
    /// The whole body, in memory of its own.
    Memory(Pieces),
    /// The whole body, in an unlinked file whose offset is 0.
    File(Stored),
    /// A body to be read from the connection, which blocks.
    Live(Arc<Mutex<Live>>),
}

impl Body<'_> {
    /// The length of the body; `None` while it still arrives.
    pub fn known_bytes(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Memory(pieces) => Some(pieces.len() as u64),
            Self::File(stored) => Some(stored.len()),
            Self::Live(_) => None,
        }
    }
}

/// A body whose bytes are not in a desk's buffer.
pub(crate) enum OwnedBody {
    Empty,
    Memory(Pieces),
    File(Stored),
    Live(Arc<Mutex<Live>>),
}

impl OwnedBody {
    /// Returns the body as the application gets it, and keeps nothing of it. Only a live body is shared with the
    /// application.
    pub(crate) fn lend(&mut self) -> Body<'static> {
        if let Self::Live(live) = self {
            return Body::Live(Arc::clone(live));
        }
        match std::mem::replace(self, Self::Empty) {
            Self::Memory(pieces) => Body::Memory(pieces),
            Self::File(stored) => Body::File(stored),
            Self::Empty | Self::Live(_) => Body::Empty,
        }
    }

    /// Takes back the unread rest of a body that was lent; `None` if the body was empty or live, or lay in a buffer.
    pub(crate) fn returned(body: Body<'_>) -> Option<Self> {
        match body {
            Body::Memory(pieces) => Some(Self::Memory(pieces)),
            Body::File(stored) => Some(Self::File(stored)),
            Body::Empty | Body::Bytes(_) | Body::Live(_) => None,
        }
    }

    pub(crate) fn live(&self) -> Option<Arc<Mutex<Live>>> {
        if let Self::Live(live) = self { Some(Arc::clone(live)) } else { None }
    }
}
