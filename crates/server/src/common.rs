//! The parts that a server's loops and threads share: its settings, its counters, and whether it is to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use adyton_compress::Room;

use crate::answering::refusals::Refusals;
use crate::board::tally::Tally;
use crate::cache::store::Cache;
use crate::config::Config;

/// The way a server ends, once running requests are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Whether idle connections have seconds, and not just a moment, to send one more request: a client that sends a
    /// request just as the connection is closed would not know whether the request was served.
    pub is_patient: bool,
    /// Whether no other process has the listeners: connections that the kernel has accepted are served here, or never.
    pub takes_queue: bool,
}

impl Ending {
    /// The end of a server that is alone and in a hurry.
    pub const PROMPT: Self = Self { is_patient: false, takes_queue: true };
}

/// Returns how the server is to end, if a clean stop was asked for.
pub type StopRequest = Box<dyn Fn() -> Option<Ending> + Send + Sync>;

/// Settings, counters, and the question whether to stop.
pub(crate) struct Common {
    pub(crate) config: Config,
    pub(crate) tally: Tally,
    /// Requests that were refused, and are not in the log yet.
    pub(crate) refusals: Refusals,
    /// Bytes of answers that wait for their clients.
    pub(crate) output_bytes: Arc<AtomicU64>,
    /// Memory that compressors may take.
    pub(crate) compress_room: Arc<Room>,
    /// Answers that are kept for other clients.
    pub(crate) cache: Arc<Cache>,
    /// Returns how the server is to end, if a clean stop was asked for.
    pub(crate) stop: StopRequest,
}
