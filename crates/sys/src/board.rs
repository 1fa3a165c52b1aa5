//! Numbers in memory that processes share: one process writes, another reads, and the numbers outlive the writer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A row of numbers, all zero at first. Processes that map the same descriptor see the same numbers.
pub struct Board {
    start: NonNull<AtomicU64>,
    count: usize,
    fd: OwnedFd,
}

// SAFETY: the memory is mapped for as long as the board lives and only touched as atomics.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// Makes a board of `count` numbers.
    ///
    /// # Errors
    ///
    /// The process is out of memory or descriptors.
    pub fn new(count: usize) -> io::Result<Self> {
        let fd = memfd_create("adyton-board", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, (count * size_of::<AtomicU64>()) as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK)?;
        Self::open(fd, count)
    }

    /// Maps the board that another process has made.
    ///
    /// # Errors
    ///
    /// The memory behind the descriptor is smaller than `count` numbers, or the process is out of memory.
    pub fn open(fd: OwnedFd, count: usize) -> io::Result<Self> {
        let bytes = count * size_of::<AtomicU64>();
        // Touching memory past the end of the descriptor's memory would raise SIGBUS.
        if rustix::fs::fstat(&fd)?.st_size < i64::try_from(bytes).unwrap_or(i64::MAX) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the board is too small"));
        }
        // SAFETY: a new mapping at a place of the kernel's choice.
        let mapped = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &fd, 0)?
        };
        let Some(start) = NonNull::new(mapped.cast()) else {
            return Err(io::Error::other("the kernel has mapped nothing"));
        };
        Ok(Self { start, count, fd })
    }

    /// The numbers.
    #[inline]
    pub fn cells(&self) -> &[AtomicU64] {
        // SAFETY: `count` numbers are mapped from `start`, a page's beginning, until `self` is dropped. Any bits are a
        // number, and other processes change each number only as a whole atomic.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: `open` mapped this memory with this size, and no reference to it is left.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.count * size_of::<AtomicU64>()) };
        debug_assert!(unmapped.is_ok(), "the mapping can be unmapped");
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
