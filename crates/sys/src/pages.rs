//! Memory of whole pages, which goes back to the kernel when it is dropped.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Memory of a fixed length, zero at first. A page costs nothing until it is touched.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Pages {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps `bytes` bytes, at least 1.
    ///
    /// # Errors
    ///
    /// The process is out of memory.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let mapped = unsafe { mmap_anonymous(ptr::null_mut(), bytes, flags, MapFlags::PRIVATE)? };
        let start =
            NonNull::new(mapped.cast()).ok_or_else(|| io::Error::other("the kernel has mapped nothing"))?;
        Ok(Self { start, bytes })
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes are mapped from `start` until `self` is dropped.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is the only reference to the memory.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this memory, and no reference to it is left. The call cannot fail for a mapping that
        // exists.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    /// New memory is zero and keeps the bytes that are written to it.
    #[test]
    fn keeps_bytes() -> std::io::Result<()> {
        let mut pages = Pages::new(64 << 10)?;
        assert!(pages.iter().all(|&byte| byte == 0));
        pages[65_535] = 7;
        assert_eq!((64 << 10, 7), (pages.len(), pages[65_535]));
        Ok(())
    }
}
