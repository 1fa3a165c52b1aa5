//! Memory that all caches of a process share, so that the total does not grow with the number of caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for all caches together. Each cache may take all of it. When memory is short, caches that have more than an
/// equal part give some to caches that have less.
#[derive(Debug)]
pub struct CacheRoom {
    bytes_max: u64,
    bytes: AtomicU64,
    caches: AtomicU64,
    /// Bytes that caches with less than an equal part have asked for and not got.
    wanted_bytes: AtomicU64,
}

impl CacheRoom {
    /// Makes room for `bytes_max` bytes in all caches together; 0 turns the caches off.
    pub fn new(bytes_max: u64) -> Arc<Self> {
        let zero = || AtomicU64::new(0);
        Arc::new(Self { bytes_max, bytes: zero(), caches: zero(), wanted_bytes: zero() })
    }

    /// The most bytes for all caches together.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    pub(crate) fn enter(&self) {
        self.caches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self, bytes: u64) {
        self.give_back(bytes);
        self.caches.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes of each cache if all have an equal part.
    pub(crate) fn part_bytes(&self) -> u64 {
        self.bytes_max / self.caches.load(Ordering::Relaxed).max(1)
    }

    /// Takes this many bytes, if they are free.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let add = |now: u64| now.checked_add(bytes).filter(|&sum| sum <= self.bytes_max);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Notes that a cache with less than an equal part could use this many more bytes.
    pub(crate) fn want(&self, bytes: u64) {
        self.wanted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes over the request for the bytes that other caches want: the calling cache gives that many.
    pub(crate) fn take_wanted(&self) -> u64 {
        match self.wanted_bytes.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.wanted_bytes.swap(0, Ordering::Relaxed),
        }
    }
}
