//! Files without a name, in which bodies and answers wait, and the disk space that they share.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_sys::pipe::Channel;
use adyton_sys::temp;

/// Disk space that bodies and answers share.
#[derive(Debug)]
pub struct Quota {
    bytes_left: AtomicU64,
}

impl Quota {
    /// A quota of so many bytes for all bodies that are in files at one time.
    pub fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self { bytes_left: AtomicU64::new(bytes) })
    }

    fn take(&self, bytes: u64) -> bool {
        let subtract = |left: u64| left.checked_sub(bytes);
        self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract).is_ok()
    }
}

/// A body, or the rest of an answer, in an unlinked file; its disk space is free again when this value is dropped.
pub struct Stored {
    file: File,
    bytes: u64,
    quota: Arc<Quota>,
}

impl Stored {
    /// Makes an empty file.
    ///
    /// # Errors
    ///
    /// `folder` has no room for a file.
    pub(crate) fn new(folder: &Path, quota: &Arc<Quota>) -> io::Result<Self> {
        Ok(Self { file: temp::unlinked(folder)?, bytes: 0, quota: Arc::clone(quota) })
    }

    /// Adds bytes to the file's end.
    ///
    /// # Errors
    ///
    /// The disk is full, or `QuotaExceeded`: the settings allow no more of it.
    pub(crate) fn append(&mut self, data: &[u8]) -> io::Result<()> {
        if !self.reserve(data.len()) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.write_reserved(data)
    }

    /// Adds bytes to the file's end; their disk space was reserved before.
    ///
    /// # Errors
    ///
    /// The disk is full.
    pub(crate) fn write_reserved(&mut self, data: &[u8]) -> io::Result<()> {
        self.file.write_all(data)
    }

    /// Adds bytes like [`Stored::write_reserved`], from a channel.
    ///
    /// # Errors
    ///
    /// The disk is full.
    pub(crate) fn fill_reserved(&mut self, channel: &Channel, bytes: usize) -> io::Result<()> {
        channel.give_to(&self.file, bytes)
    }

    /// Goes back to the file's beginning, from where it is read.
    ///
    /// # Errors
    ///
    /// The kernel refuses; in a correct program this does not happen.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }

    /// Reserves disk space for bytes that are added next.
    pub(crate) fn reserve(&mut self, bytes: usize) -> bool {
        let is_free = self.quota.take(bytes as u64);
        self.bytes += if is_free { bytes as u64 } else { 0 };
        is_free
    }

    /// Bytes of the body.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether the body has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl AsFd for Stored {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl io::Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.quota.bytes_left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}
