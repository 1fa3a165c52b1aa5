//! What the body of an answer passes through: it is compressed, or kept, or both.

use std::io;
use std::sync::Arc;

use adyton_compress::{Coding, Effort, Encoder, Room, Rules, Share, memory_bytes};
use adyton_http::{Known, Request};
use adyton_http1::BodyFraming;

use crate::cache::store::Gather;

/// How a body may be compressed.
pub(crate) struct Wanted {
    pub(crate) rules: Arc<Rules>,
    /// What the client takes of it.
    pub(crate) accepted: Coding,
}

impl Wanted {
    /// How by these rules, for the client of a request.
    pub(crate) fn by(request: Request<'_>, rules: &Arc<Rules>) -> Wanted {
        let lines: Vec<&[u8]> = request.all(Known::AcceptEncoding).collect();
        Wanted { rules: Arc::clone(rules), accepted: rules.accepted(&lines) }
    }
}

/// What a body passes through.
pub(crate) struct Coder {
    pub(crate) work: Work,
    /// Whether the application has promised a length, of which `left` of the answer has still to come.
    pub(crate) has_promise: bool,
    /// Bytes of the application that may be in the encoder.
    pub(crate) unflushed: usize,
    /// Bytes of the application since other connections had their turn.
    pub(crate) turn_bytes: u64,
    /// What keeps it for others, as it is sent.
    pub(crate) gather: Option<Box<Gather>>,
    /// What it takes of the memory for all.
    _share: Option<Share>,
}

/// What becomes of a body on its way.
pub(crate) enum Work {
    /// It is compressed, and sent in chunks. `None` after that has failed: the answer is cut then.
    Compress(Option<Encoder>),
    /// It is sent as it is, in this form.
    Pass(BodyFraming),
}

impl Coder {
    /// One for a body of so many bytes, as far as that is known; `None` if there is no memory for it.
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

    /// One that leaves a body as it is, and keeps it.
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

    /// Has the encoder do something; it is gone if that fails.
    pub(crate) fn apply(&mut self, work: impl FnOnce(&mut Encoder) -> io::Result<()>) {
        if let Work::Compress(slot) = &mut self.work
            && let Some(encoder) = slot
            && work(encoder).is_err()
        {
            *slot = None;
        }
    }

    /// What the encoder has made; `None` if it has failed.
    pub(crate) fn take_output(&mut self) -> Option<Vec<u8>> {
        match &mut self.work {
            Work::Compress(Some(encoder)) => Some(encoder.take_output()),
            Work::Compress(None) => None,
            Work::Pass(_) => Some(Vec::new()),
        }
    }

    /// Keeps what is sent.
    pub(crate) fn gather(&mut self, bytes: &[u8]) {
        if let Some(gather) = &mut self.gather
            && !gather.push(bytes)
        {
            self.gather = None;
        }
    }
}
