//! Coders that the body of an answer passes through: they compress it, or keep it, or both.

use std::io;
use std::sync::Arc;

use adyton_compress::{Coding, Effort, Encoder, Room, Rules, Share, memory_bytes};
use adyton_http::{Known, Request};
use adyton_http1::BodyFraming;

use crate::cache::store::Gather;

/// How a body may be compressed.
pub(crate) struct Wanted {
    pub(crate) rules: Arc<Rules>,
    /// The coding that the client accepts.
    pub(crate) accepted: Coding,
}

impl Wanted {
    /// Returns how these rules allow a body to be compressed for the client of a request.
    pub(crate) fn by(request: Request<'_>, rules: &Arc<Rules>) -> Wanted {
        let lines: Vec<&[u8]> = request.all(Known::AcceptEncoding).collect();
        Wanted { rules: Arc::clone(rules), accepted: rules.accepted(&lines) }
    }
}

/// A coder that a body passes through.
pub(crate) struct Coder {
    pub(crate) work: Work,
    /// Whether the application has promised a length. If so, the answer's `left` counts the promised bytes still to
    /// come.
    pub(crate) has_promise: bool,
    /// Bytes that the application has given, and that may be in the encoder.
    pub(crate) unflushed: usize,
    /// Bytes that the application has given since other connections had their turn.
    pub(crate) turn_bytes: u64,
    /// Gathers the body for the cache, as it is sent.
    pub(crate) gather: Option<Box<Gather>>,
    /// The coder's share of the memory for all coders.
    _share: Option<Share>,
}

/// The treatment of a body on its way.
pub(crate) enum Work {
    /// Compresses the body, which is sent in chunks. `None` after compressing has failed: the answer is cut then.
    Compress(Option<Encoder>),
    /// Leaves the body as it is, to be sent with this framing.
    Pass(BodyFraming),
}

impl Coder {
    /// Makes a coder that compresses a body of `promise` bytes, if that is known; `None` if there is no memory for it.
    pub(crate) fn new(room: &Arc<Room>, coding: Coding, promise: Option<u64>) -> Option<Box<Coder>> {
        let share = room.take(memory_bytes(coding, promise))?;
        let encoder = Encoder::new(coding, Effort::Once, promise).ok()??;
        Some(Box::new(Coder {
            work: Work::Compress(Some(encoder)),
            has_promise: promise.is_some(),
            unflushed: 0,
            turn_bytes: 0,
            gather: None,
            _share: Some(share),
        }))
    }

    /// Makes a coder that leaves a body as it is, and keeps it.
    pub(crate) fn passing(framing: BodyFraming, gather: Box<Gather>) -> Box<Coder> {
        Box::new(Coder {
            work: Work::Pass(framing),
            has_promise: matches!(framing, BodyFraming::Length(_)),
            unflushed: 0,
            turn_bytes: 0,
            gather: Some(gather),
            _share: None,
        })
    }

    /// Has the encoder do `work`; drops the encoder if that fails.
    pub(crate) fn apply(&mut self, work: impl FnOnce(&mut Encoder) -> io::Result<()>) {
        if let Work::Compress(slot) = &mut self.work
            && let Some(encoder) = slot
            && work(encoder).is_err()
        {
            *slot = None;
        }
    }

    /// Takes the encoder's output; `None` if the encoder has failed.
    pub(crate) fn take_output(&mut self) -> Option<Vec<u8>> {
        match &mut self.work {
            Work::Compress(Some(encoder)) => Some(encoder.take_output()),
            Work::Compress(None) => None,
            Work::Pass(_) => Some(Vec::new()),
        }
    }

    /// Keeps bytes that are sent.
    pub(crate) fn gather(&mut self, bytes: &[u8]) {
        if let Some(gather) = &mut self.gather
            && !gather.push(bytes)
        {
            self.gather = None;
        }
    }
}
