//! Calls that a loop's driver makes itself: the one that it is in, and whether the next one is quick.

use adyton_crew::SlotClaim;
use adyton_log::request::RequestId;
use adyton_sys::clock;

use crate::answering::exchange::Exchange;
use crate::client::outbox::Outbox;
use crate::site::limits::CallLimits;
use crate::threads::endpoints::{Endpoint, Endpoints};
use crate::threads::pace::{Mark, Pace, WAITS_US, Waited};
use crate::threads::task::{NO_KEY, What};

/// Age of a loop's last quick call beyond which the loop has no use for a slot that other threads wait for.
const KEEP_SLOT_MS: u64 = 50;

/// Time of a batch, besides [`CALL_US`] for each of its calls. A batch that takes longer has a slow call in it: the
/// next calls are timed one by one, to find that call.
const BATCH_US: u64 = 150;

/// The most that a quick call takes.
const CALL_US: u64 = 20;

/// The call that the loop's driver is in.
#[derive(Clone)]
pub(crate) struct Calling {
    pub(crate) key: usize,
    pub(crate) endpoint: Endpoint,
    pub(crate) what: What,
    pub(crate) id: Option<RequestId>,
    /// The time limits of the call.
    pub(crate) limits: CallLimits,
    /// Whether it is counted as a request: the rest of an answer was counted before.
    pub(crate) counts: bool,
}

/// A loop's knowledge of the calls that its driver makes.
pub(crate) struct Calls {
    /// The loop's claim to a slot for these calls.
    pub(crate) slot: SlotClaim,
    /// The time at which the loop last had a quick call to make, whether or not it had a slot for it.
    quick_ms: u64,
    /// The way to the client that the driver's present call answers.
    pub(crate) lent: Option<Box<Outbox>>,
    pub(crate) now: Calling,
    pub(crate) endpoints: Endpoints,
    /// Whether calls are timed one by one, because there is a slow one among them.
    pub(crate) closely: bool,
    /// The driver's clocks, as last read in this batch: before a call that is timed, or after a slow one.
    mark: Option<Mark>,
    /// Calls since the last wait, and when that wait ended.
    since_wait: u64,
    wait_us: u64,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self {
            slot: SlotClaim::default(),
            quick_ms: 0,
            lent: None,
            now: Calling {
                key: NO_KEY,
                endpoint: Endpoint::NONE,
                what: What::REST,
                id: None,
                limits: CallLimits::default(),
                counts: false,
            },
            endpoints: Endpoints::new(),
            closely: false,
            mark: None,
            since_wait: 0,
            wait_us: 0,
        }
    }

    /// Notes that there is a quick call to make.
    pub(crate) fn note_quick(&mut self, now_ms: u64) {
        self.quick_ms = now_ms;
    }

    /// Whether quick calls keep coming.
    pub(crate) fn are_quick(&self, now_ms: u64) -> bool {
        now_ms - self.quick_ms <= KEEP_SLOT_MS
    }

    /// Notes that the call for a request begins.
    pub(crate) fn begin(&mut self, exchange: &Exchange, buffer: &[u8]) {
        let Exchange { key, endpoint, request, answer, .. } = exchange;
        let now = &mut self.now;
        (now.key, now.endpoint, now.counts) = (*key, *endpoint, true);
        now.what.note(request.head_bytes(buffer));
        now.id = Some(answer.id.clone());
        if let Some(outbox) = &answer.outbox {
            now.limits = outbox.terms.limits.call;
        }
        self.since_wait += 1;
    }

    /// Notes the beginning of a call that goes on with an answer, or ends it.
    pub(crate) fn begin_rest(&mut self, key: usize, id: Option<RequestId>, limits: CallLimits) {
        self.now = Calling { key, endpoint: Endpoint::NONE, what: What::REST, id, limits, counts: false };
    }

    /// Begins a batch: the kernel has returned its events.
    pub(crate) fn begin_batch(&mut self, now_us: u64) {
        self.wait_us = now_us;
    }

    /// When the batch began, in us of the monotonic clock.
    pub(crate) fn batch_since_us(&self) -> u64 {
        self.wait_us
    }

    /// Begins a call of the driver. Returns the time, in us of the monotonic clock, if the call is timed.
    pub(crate) fn begin_timed(&mut self) -> Option<u64> {
        if !self.closely && !self.endpoints.is_trial(self.now.endpoint) {
            return None;
        }
        match self.mark {
            Some(_) => Some(clock::monotonic_us()),
            None => Some(self.mark.insert(Mark::now()).us),
        }
    }

    /// Ends a call that was timed, from which the score of its endpoint learns. `waited`: the thread's wait for the
    /// interpreter.
    pub(crate) fn end_timed(&mut self, endpoint: Endpoint, since_us: u64, waited: Waited) {
        let took_us = clock::monotonic_us().saturating_sub(since_us + waited.us);
        let mut pace = Pace::Quick;
        if took_us >= WAITS_US {
            // The calls between the mark and this one were quick, and quick calls do not wait.
            let now = Mark::now();
            pace = self.mark.map_or(pace, |mark| mark.pace_until(&now, waited));
            self.mark = Some(now);
        }
        self.endpoints.made(endpoint, pace);
    }

    /// Ends a batch, and returns how many calls were in it. If it took longer than quick calls do, and the loop
    /// `learns`, the next calls are timed one by one.
    pub(crate) fn end_batch(&mut self, learns: bool) -> u64 {
        let calls = std::mem::take(&mut self.since_wait);
        self.mark = None;
        if calls > 0 {
            let took_us = clock::monotonic_us().saturating_sub(self.wait_us);
            self.closely = learns && took_us > BATCH_US + CALL_US * calls;
        }
        calls
    }
}
