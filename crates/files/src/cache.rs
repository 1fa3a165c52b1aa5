//! Cached files by path, bounded in bytes and in descriptors; files that are not used are evicted first.
//!
//! Eviction is CLOCK: a hand goes round the slots and takes the first entry that was not used since the hand last
//! passed it. Unlike LRU, a hit costs one store and moves nothing. A new entry counts as unused, so that a crawler that
//! reads every file once does not drive out files that are used often.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::answer::form::Entry;
use crate::room::CacheRoom;

/// Counters of a cache since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests answered from the cache.
    pub hits: u64,
    /// Files opened.
    pub loads: u64,
    /// Files evicted to keep within the limits.
    pub evictions: u64,
    /// Files in the cache now.
    pub entries: usize,
    /// Memory that the files take now, bytes.
    pub bytes: u64,
    /// Descriptors that the files hold now.
    pub open_files: usize,
}

/// Files by path.
///
/// Invariant: `slots[by_path[p]]` holds the entry of path `p`; `bytes` and `open_files` are the sums over all entries.
/// The bytes are taken from `room`, and `open_files` is at most `open_files_max`.
pub(crate) struct Cache {
    /// A map with a quick hash that is seeded at random, so that an attacker cannot choose names that collide.
    by_path: HashMap<Box<[u8]>, usize, RandomState>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    hand: usize,
    room: Arc<CacheRoom>,
    open_files_max: usize,
    bytes: u64,
    open_files: usize,
    evictions: u64,
}

struct Slot {
    path: Box<[u8]>,
    entry: Entry,
    was_used: bool,
}

impl Cache {
    /// Makes an empty cache, which shares `room` with other caches.
    pub(crate) fn new(room: Arc<CacheRoom>, open_files_max: usize) -> Cache {
        room.enter();
        Cache {
            by_path: HashMap::default(),
            slots: Vec::new(),
            free: Vec::new(),
            hand: 0,
            room,
            open_files_max,
            bytes: 0,
            open_files: 0,
            evictions: 0,
        }
    }

    /// Finds a path and marks it as used.
    #[inline]
    pub(crate) fn find(&mut self, path: &[u8]) -> Option<&mut Entry> {
        let at = *self.by_path.get(path)?;
        let slot = self.slots.get_mut(at)?.as_mut()?;
        slot.was_used = true;
        Some(&mut slot.entry)
    }

    /// Adds an entry under a path that is not in the cache; gives the entry back if there is no room for it.
    pub(crate) fn insert(&mut self, path: &[u8], entry: Entry) -> Option<Entry> {
        let (bytes, open_files) = (entry.bytes(), entry.open_files());
        if bytes > self.room.bytes_max() || open_files > self.open_files_max {
            return Some(entry);
        }
        while self.open_files + open_files > self.open_files_max {
            self.evict();
        }
        if !self.room.take(bytes) && !self.take_from_own(bytes) {
            return Some(entry);
        }
        let slot = Slot { path: path.into(), entry, was_used: false };
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[at] = Some(slot);
        self.by_path.insert(path.into(), at);
        self.bytes += bytes;
        self.open_files += open_files;
        None
    }

    /// Evicts entries until this many bytes are free; `false` if all entries are gone and there still is too little
    /// room.
    fn take_from_own(&mut self, bytes: u64) -> bool {
        if self.bytes < self.room.part_bytes() {
            self.room.want(bytes);
        }
        while self.bytes > 0 {
            self.evict();
            if self.room.take(bytes) {
                return true;
            }
        }
        false
    }

    /// Gives memory to caches that have less than an equal part and want more, if this cache has more than an equal
    /// part. Call this from time to time.
    pub(crate) fn give_way(&mut self) {
        let part_bytes = self.room.part_bytes();
        if self.bytes <= part_bytes {
            return;
        }
        let wanted = self.room.take_wanted();
        if wanted == 0 {
            return;
        }
        // The cache gives at least an eighth of a part: a cache that wants room will soon want more.
        let least = self.bytes.saturating_sub(wanted.max(part_bytes / 8)).max(part_bytes);
        while self.bytes > least {
            self.evict();
        }
    }

    /// Changes an entry, which may then take more memory; gives the entry back if there is no room for it.
    pub(crate) fn change(&mut self, path: &[u8], change: impl FnOnce(&mut Entry)) -> Option<Entry> {
        let at = *self.by_path.get(path)?;
        let mut entry = self.vacate(at)?;
        change(&mut entry);
        self.insert(path, entry)
    }

    pub(crate) fn remove(&mut self, path: &[u8]) {
        if let Some(at) = self.by_path.get(path) {
            self.vacate(*at);
        }
    }

    /// Closes all files that are kept open, because the process has run out of descriptors.
    pub(crate) fn close_files(&mut self) {
        for at in 0..self.slots.len() {
            if self.slots[at].as_ref().is_some_and(|slot| slot.entry.open_files() > 0) {
                self.vacate(at);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        let evictions = self.evictions;
        *self = Cache::new(Arc::clone(&self.room), self.open_files_max);
        self.evictions = evictions;
    }

    pub(crate) fn add_to(&self, counts: Counts) -> Counts {
        Counts {
            evictions: self.evictions,
            entries: self.by_path.len(),
            bytes: self.bytes,
            open_files: self.open_files,
            ..counts
        }
    }

    /// Evicts one entry. Call this only while there is one; the hand finds it in at most two rounds.
    fn evict(&mut self) {
        loop {
            let at = self.hand % self.slots.len();
            self.hand = at + 1;
            match &mut self.slots[at] {
                Some(slot) if slot.was_used => slot.was_used = false,
                Some(_) => {
                    self.evictions += 1;
                    self.vacate(at);
                    return;
                }
                None => {}
            }
        }
    }

    fn vacate(&mut self, at: usize) -> Option<Entry> {
        let slot = self.slots[at].take()?;
        self.by_path.remove(&slot.path);
        self.free.push(at);
        self.bytes -= slot.entry.bytes();
        self.room.give_back(slot.entry.bytes());
        self.open_files -= slot.entry.open_files();
        Some(slot.entry)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.room.leave(self.bytes);
    }
}
