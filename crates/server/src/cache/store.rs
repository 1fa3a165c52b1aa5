//! The store of answers that are kept for other clients, for all loops of a process; and an answer that is gathered
//! while it is sent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use adyton_cache::{Answer, Ask, End, Fill, Found, Store, Terms};
use adyton_sys::clock;

use crate::lock::lock;
use crate::threads::home::Home;

/// Time during which requests do not wait for one another after an answer that was not kept: the next answer is not
/// likely to be kept either.
const PASS_MS: u64 = 5_000;

/// Time like [`PASS_MS`] after an answer that has failed; shorter, because the next answer may not fail.
const PASS_FAILED_MS: u64 = 1_000;

/// A connection that waits for an answer which another connection fetches.
pub(crate) struct WaitingConnection {
    pub(crate) home: Arc<dyn Home>,
    pub(crate) key: usize,
}

/// The kept answers.
pub(crate) struct Cache {
    store: Mutex<Store<WaitingConnection>>,
    /// The length of the longest answer that is kept.
    answer_bytes_max: usize,
    /// Bytes of answers that are being gathered, and their limit.
    gathered: AtomicUsize,
    gathered_max: usize,
}

impl Cache {
    /// Makes a cache that takes at most `bytes_max`, and a quarter of that for answers that are not complete yet.
    pub(crate) fn new(bytes_max: u64) -> Arc<Cache> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let store = Store::new(bytes_max);
        Arc::new(Cache {
            answer_bytes_max: store.answer_bytes_max(),
            store: Mutex::new(store),
            gathered: AtomicUsize::new(0),
            gathered_max: bytes_max / 4,
        })
    }

    /// Looks for a kept answer.
    #[inline]
    pub(crate) fn look(&self, ask: &Ask<'_>, now_ms: u64, may_fill: bool) -> Found {
        lock(&self.store).look(ask, now_ms, may_fill)
    }

    /// Has a request wait for a fetch; returns `false` if the fetch has ended.
    pub(crate) fn join(&self, fill: &Fill, waiter: WaitingConnection) -> bool {
        lock(&self.store).join(fill, waiter)
    }

    /// Forgets the answers of an address that a request has changed.
    pub(crate) fn invalidate(&self, key: &[u8]) {
        let waiting = lock(&self.store).invalidate(key);
        wake(waiting);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        lock(&self.store).clear();
    }

    /// Returns the number of kept answers, and the bytes that they take.
    pub(crate) fn size(&self) -> (usize, usize) {
        let store = lock(&self.store);
        (store.len(), store.bytes())
    }

    fn end(&self, fill: &Fill, end: End) {
        let waiting = lock(&self.store).end(fill, end, clock::monotonic_ms());
        wake(waiting);
    }
}

fn wake(waiting: Vec<WaitingConnection>) {
    for waiter in waiting {
        waiter.home.redeemed(waiter.key);
    }
}

/// The duty to fetch an answer that other requests wait for. When it is dropped, the fetch ends without an answer, and
/// the next waiting request fetches.
pub(crate) struct Filling {
    cache: Arc<Cache>,
    fill: Option<Fill>,
}

impl Filling {
    pub(crate) fn new(cache: &Arc<Cache>, fill: Fill) -> Filling {
        Filling { cache: Arc::clone(cache), fill: Some(fill) }
    }

    /// Whether the request has a cookie that may matter.
    pub(crate) fn has_cookie(&self) -> bool {
        self.fill.as_ref().is_some_and(Fill::has_cookie)
    }

    /// Ends the fetch with an answer that is not kept.
    pub(crate) fn pass(mut self, status: u16) {
        if let Some(fill) = self.fill.take() {
            let pass_ms = if status >= 500 { PASS_FAILED_MS } else { PASS_MS };
            self.cache.end(&fill, End::NotKept { pass_ms });
        }
    }

    fn keep(mut self, answer: Answer, terms: Terms) {
        if let Some(fill) = self.fill.take() {
            self.cache.end(&fill, End::Kept(answer, terms));
        }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        if let Some(fill) = self.fill.take() {
            self.cache.end(&fill, End::Failed);
        }
    }
}

/// An answer that is kept once it is whole. If it is dropped earlier, the answer is not kept.
pub(crate) struct Gather {
    /// `None` once it is known that the answer is not kept.
    filling: Option<Filling>,
    terms: Terms,
    answer: Answer,
    cache: Arc<Cache>,
}

impl Gather {
    /// Begins to gather an answer with this head, whose body is still to come.
    pub(crate) fn new(filling: Filling, answer: Answer, terms: Terms) -> Gather {
        let cache = Arc::clone(&filling.cache);
        Gather { filling: Some(filling), terms, answer, cache }
    }

    /// Whether a body of this length could be kept.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        usize::try_from(bytes)
            .is_ok_and(|bytes| bytes + self.answer.head.len() <= self.cache.answer_bytes_max)
    }

    /// Adds the next piece of the body; returns `false` if there is no room for it.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        if self.filling.is_none() {
            return false;
        }
        let length = self.answer.head.len() + self.answer.body.len() + bytes.len();
        let before = self.cache.gathered.fetch_add(bytes.len(), Ordering::Relaxed);
        if length > self.cache.answer_bytes_max || before + bytes.len() > self.cache.gathered_max {
            self.cache.gathered.fetch_sub(bytes.len(), Ordering::Relaxed);
            self.give_up();
            return false;
        }
        self.answer.body.extend_from_slice(bytes);
        true
    }

    /// Gives up an answer that is too long to be kept, or whose body is not in memory.
    pub(crate) fn give_up(&mut self) {
        if let Some(filling) = self.filling.take() {
            filling.pass(self.answer.status);
        }
        self.forget_body();
    }

    /// Keeps the answer, which is whole.
    pub(crate) fn keep(mut self) {
        if let Some(filling) = self.filling.take() {
            let mut answer = std::mem::take(&mut self.answer);
            self.cache.gathered.fetch_sub(answer.body.len(), Ordering::Relaxed);
            if answer.status != 204 {
                answer
                    .head
                    .extend_from_slice(format!("Content-Length: {}\r\n", answer.body.len()).as_bytes());
            }
            answer.head.shrink_to_fit();
            answer.body.shrink_to_fit();
            filling.keep(answer, std::mem::take(&mut self.terms));
        }
    }

    fn forget_body(&mut self) {
        let body = std::mem::take(&mut self.answer.body);
        self.cache.gathered.fetch_sub(body.len(), Ordering::Relaxed);
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        self.forget_body();
    }
}
