//! Memory that the bodies of all requests share, in blocks of one size.
//!
//! A block that has been used is kept for the next body: fresh memory costs a page fault for every 4 KiB, and that
//! costs more than receiving bytes into it.
//!
//! A large body reserves blocks for all the bytes that it announces. If there are too many large bodies, they are
//! received one after the other: side by side, their beginnings would fill the memory, and all of them would go to
//! files. A reservation lapses if its client is slow.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use adyton_sys::pages::Pages;
use adyton_sys::wake::Wake;

use crate::lock::lock;

/// The length of a block: applications mostly read this many bytes at once.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;

/// A body that needs no more than this many blocks takes them as its bytes come, and never waits for blocks.
const SMALL_BLOCKS: usize = 4;

/// Memory that all bodies share.
#[derive(Debug)]
pub struct BodyMemory {
    blocks_max: usize,
    /// Blocks that bodies have or have reserved.
    taken: AtomicUsize,
    /// How often a block came back.
    returns: AtomicU64,
    spares: Mutex<Spares>,
    /// How many free blocks the sleeping loops wait for; 0: none waits.
    awaited: AtomicUsize,
    sleepers: Mutex<Vec<Arc<Wake>>>,
}

/// Free blocks, kept for later bodies.
#[derive(Debug, Default)]
struct Spares {
    blocks: Vec<Pages>,
    /// The least number of free blocks since the last trim: this many blocks were not needed.
    least: usize,
}

impl BodyMemory {
    /// Makes memory of `bytes`, in whole blocks, for all bodies that are in memory at one time.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            blocks_max: usize::try_from(bytes / BLOCK_BYTES as u64).unwrap_or(usize::MAX),
            taken: AtomicUsize::new(0),
            returns: AtomicU64::new(0),
            spares: Mutex::default(),
            awaited: AtomicUsize::new(0),
            sleepers: Mutex::default(),
        })
    }

    /// Number of blocks that can be reserved: the other blocks are for small bodies.
    fn reservable(&self) -> usize {
        self.blocks_max - self.blocks_max / 4
    }

    fn take(&self, blocks: usize, most: usize) -> bool {
        let add = |taken: usize| taken.checked_add(blocks).filter(|&sum| sum <= most);
        self.taken.fetch_update(Ordering::SeqCst, Ordering::Relaxed, add).is_ok()
    }

    fn free(&self, blocks: usize) {
        let taken = self.taken.fetch_sub(blocks, Ordering::SeqCst) - blocks;
        let awaited = self.awaited.load(Ordering::SeqCst);
        if awaited > 0 && taken + awaited <= self.reservable() && self.awaited.swap(0, Ordering::SeqCst) > 0 {
            lock(&self.sleepers).drain(..).for_each(|wake| wake.wake());
        }
    }

    /// Registers a loop that is to be woken when it can reserve this many blocks. Returns `false` if that many are free
    /// already.
    pub(crate) fn wake_for(&self, blocks: usize, wake: &Arc<Wake>) -> bool {
        let mut sleepers = lock(&self.sleepers);
        if !sleepers.iter().any(|other| Arc::ptr_eq(other, wake)) {
            sleepers.push(Arc::clone(wake));
        }
        // SeqCst on both sides: either this thread sees the freed blocks, or the thread that frees them sees that a
        // loop waits.
        let least = |awaited: usize| Some(if awaited == 0 { blocks } else { awaited.min(blocks) });
        let _ = self.awaited.fetch_update(Ordering::SeqCst, Ordering::SeqCst, least);
        self.taken.load(Ordering::SeqCst) + blocks > self.reservable()
    }

    /// How many blocks have come back so far.
    pub(crate) fn returns(&self) -> u64 {
        self.returns.load(Ordering::Relaxed)
    }

    /// Returns a block that is counted already; `None` when the process gets no memory.
    fn fetch(self: &Arc<Self>) -> Option<Block> {
        let spare = lock(&self.spares).take();
        let Some(pages) = spare.or_else(|| Pages::new(BLOCK_BYTES).ok()) else {
            self.free(1);
            return None;
        };
        Some(Block { pages: Some(pages), home: Arc::clone(self) })
    }

    /// Gives the kernel half of the blocks that no body has needed since the last call.
    pub(crate) fn trim(&self) {
        let mut spares = lock(&self.spares);
        let kept = spares.blocks.len() - spares.least.div_ceil(2);
        let unused = spares.blocks.split_off(kept);
        spares.least = spares.blocks.len();
        drop(spares);
        drop(unused);
    }
}

impl Spares {
    fn take(&mut self) -> Option<Pages> {
        let block = self.blocks.pop();
        self.least = self.least.min(self.blocks.len());
        block
    }
}

/// The part of the memory that one body may take.
#[derive(Debug)]
pub(crate) struct BodyShare {
    memory: Arc<BodyMemory>,
    /// Number of blocks that are kept for the body.
    reserved: usize,
    /// Whether its blocks come from its reservation.
    reserves: bool,
}

impl BodyShare {
    /// A share without a reservation.
    pub(crate) fn new(memory: &Arc<BodyMemory>) -> Self {
        Self { memory: Arc::clone(memory), reserved: 0, reserves: false }
    }

    /// How many blocks a body needs for so many bytes; `None` if it is small and needs no reservation.
    pub(crate) fn blocks_for(bytes: u64) -> Option<usize> {
        let blocks = usize::try_from(bytes.div_ceil(BLOCK_BYTES as u64)).unwrap_or(usize::MAX);
        (blocks > SMALL_BLOCKS).then_some(blocks)
    }

    /// Whether so many blocks can be reserved at all.
    pub(crate) fn can_hold(&self, blocks: usize) -> bool {
        blocks <= self.memory.reservable()
    }

    /// Reserves so many blocks. `false`: they are not free now.
    pub(crate) fn reserve(&mut self, blocks: usize) -> bool {
        let is_free = self.memory.take(blocks, self.memory.reservable());
        self.reserved += if is_free { blocks } else { 0 };
        self.reserves |= is_free;
        is_free
    }

    /// Gives back the reservation. From now on, when the body needs a block, it takes one that is free.
    pub(crate) fn lapse(&mut self) {
        self.reserves = false;
        let reserved = std::mem::take(&mut self.reserved);
        if reserved > 0 {
            self.memory.free(reserved);
        }
    }

    /// Takes a block; `None` when other bodies have all of them, or the process gets no memory.
    pub(crate) fn block(&mut self) -> Option<Block> {
        if self.reserved > 0 {
            self.reserved -= 1;
        } else if !self.memory.take(1, self.memory.blocks_max) {
            return None;
        }
        self.memory.fetch()
    }

    /// Takes back a block that has not been used. If the body has reserved its blocks, this one stays reserved for it.
    pub(crate) fn put_back(&mut self, mut block: Block) {
        if self.reserves
            && let Some(pages) = block.pages.take()
        {
            lock(&self.memory.spares).blocks.push(pages);
            self.reserved += 1;
        }
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.lapse();
    }
}

/// A block that a body has; it goes back to the memory when this value is dropped.
#[derive(Debug)]
pub(crate) struct Block {
    /// `None` only while it is dropped, or put back.
    pages: Option<Pages>,
    home: Arc<BodyMemory>,
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.pages.as_deref().unwrap_or_default()
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.pages.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(pages) = self.pages.take() {
            lock(&self.home.spares).blocks.push(pages);
            self.home.returns.fetch_add(1, Ordering::Relaxed);
            self.home.free(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(blocks: usize) -> Arc<BodyMemory> {
        BodyMemory::new((blocks * BLOCK_BYTES + 1) as u64)
    }

    /// The memory has a fixed number of blocks, and a block that one body gives back goes to another body.
    #[test]
    fn blocks_are_counted() {
        let memory = memory(2);
        let mut share = BodyShare::new(&memory);
        let (first, second) = (share.block(), share.block());
        assert!(first.is_some() && second.is_some());
        assert!(share.block().is_none());
        drop(first);
        assert!(share.block().is_some());
    }

    /// Up to three quarters of all blocks can be reserved. No other body takes a reserved block, until its reservation
    /// lapses.
    #[test]
    fn reservations() {
        let memory = memory(8);
        let (mut one, mut other) = (BodyShare::new(&memory), BodyShare::new(&memory));
        assert!(!one.can_hold(7) && !one.reserve(7));
        assert!(one.reserve(5));
        assert!(!other.reserve(2));
        let own: Vec<_> = (0..5).map(|_| one.block()).collect();
        assert!(own.iter().all(Option::is_some));
        let small: Vec<_> = (0..4).map(|_| other.block()).collect();
        assert_eq!(3, small.iter().flatten().count(), "the rest is for bodies that reserve nothing");
        drop((own, small));
        assert!(one.reserve(6));
        if let Some(unused) = one.block() {
            one.put_back(unused);
        }
        assert!(!other.reserve(1), "it is reserved again");
        one.lapse();
        assert!(other.reserve(6));
        drop(other);
        assert!(one.reserve(6));
    }

    /// A loop that waits for blocks is woken when there are enough of them, and not before.
    #[test]
    fn wakes_who_waits() -> std::io::Result<()> {
        let memory = memory(8);
        let wake = Arc::new(Wake::new()?);
        let is_awake = || {
            adyton_sys::socket::wait_readable(&[std::os::fd::AsFd::as_fd(&*wake)], 0).map(|ready| ready[0])
        };
        let mut share = BodyShare::new(&memory);
        let mut blocks: Vec<_> = (0..6).map(|_| share.block()).collect();
        assert!(!memory.wake_for(0, &wake), "that is free");
        assert!(memory.wake_for(2, &wake));
        blocks.pop();
        assert!(!is_awake()?);
        blocks.pop();
        assert!(is_awake()?);
        wake.clear();
        blocks.clear();
        assert!(!is_awake()?, "it waits no more");
        Ok(())
    }

    /// Blocks that are not needed go back to the kernel by and by; blocks that are needed stay.
    #[test]
    fn trims_what_is_unused() {
        let memory = memory(8);
        let use_some = |count: usize| {
            let mut share = BodyShare::new(&memory);
            drop((0..count).map(|_| share.block()).collect::<Vec<_>>());
        };
        let spares = || lock(&memory.spares).blocks.len();
        use_some(8);
        memory.trim();
        assert_eq!(8, spares(), "all of them were needed");
        use_some(4);
        memory.trim();
        assert_eq!(6, spares());
        (0..4).for_each(|_| memory.trim());
        assert_eq!(0, spares());
    }
}
