//! Request bodies: read whole by the loop before the application is called, or live by the application itself where
//! that is asked for (`--stream-body`) and threads may wait for clients.

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
pub(crate) use upload::{Failure, Received, Upload, Waits};

/// The body of one request, as the application gets it.
pub enum Body<'c> {
    /// There is none.
    Empty,
    /// All of it, in a buffer that others need after the call.
    Bytes(&'c [u8]),
    /// All of it, in memory of its own.
    Memory(Pieces),
    /// All of it, in an unlinked file that stands at its beginning.
    File(Stored),
    /// To be read from the connection, which blocks.
    Live(Arc<Mutex<Live>>),
}

impl Body<'_> {
    /// How long it is; `None` while it still comes.
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

/// A body that needs no desk.
pub(crate) enum OwnedBody {
    Empty,
    Memory(Pieces),
    File(Stored),
    Live(Arc<Mutex<Live>>),
}

impl OwnedBody {
    /// The body as the application gets it. All but a live one goes with it.
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

    /// What was lent, and was not read; `None` of a body that was not given away.
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
