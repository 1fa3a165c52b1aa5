//! Memory that all caches of a process share, so that what they take does not depend on how many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What caches may take together. Each may have all of it; while there is too little, those that have more than an equal
/// part give some to those that have less.
#[derive(Debug)]
pub struct CacheRoom {
    bytes_max: u64,
    bytes: AtomicU64,
    caches: AtomicU64,
    /// What caches with less than their part did not get.
    wanted_bytes: AtomicU64,
}

impl CacheRoom {
    /// So many bytes for all; 0 turns the caches off.
    pub fn new(bytes_max: u64) -> Arc<Self> {
        let zero = || AtomicU64::new(0);
        Arc::new(Self { bytes_max, bytes: zero(), caches: zero(), wanted_bytes: zero() })
    }

    /// Bytes for all.
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

    /// What each cache has if all have the same.
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

    /// Notes that a cache with less than its part has to do with less than it could use.
    pub(crate) fn want(&self, bytes: u64) {
        self.wanted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What is wanted, to be given by the cache that asks.
    pub(crate) fn take_wanted(&self) -> u64 {
        match self.wanted_bytes.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.wanted_bytes.swap(0, Ordering::Relaxed),
        }
    }
}
