//! Memory that all compressors of a process may take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for all compressors together, in bytes. If none is left, answers are sent uncoded.
#[derive(Debug)]
pub struct Room {
    bytes_max: u64,
    bytes: AtomicU64,
}

/// The memory of one compressor, given back when this value is dropped.
#[derive(Debug)]
pub struct Share {
    room: Arc<Room>,
    bytes: u64,
}

impl Room {
    /// Makes room for `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Arc<Room> {
        Arc::new(Room { bytes_max, bytes: AtomicU64::new(0) })
    }

    /// Takes this many bytes, if they are free.
    pub fn take(self: &Arc<Room>, bytes: u64) -> Option<Share> {
        let add = |now: u64| now.checked_add(bytes).filter(|&sum| sum <= self.bytes_max);
        let taken = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        taken.ok().map(|_| Share { room: Arc::clone(self), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn a_share_comes_back() {
        let room = Room::new(10);
        let first = room.take(6);
        assert!(first.is_some());
        assert!(room.take(5).is_none());
        assert!(room.take(u64::MAX).is_none());
        let second = room.take(4);
        assert!(second.is_some());
        drop(first);
        assert!(room.take(6).is_some());
    }
}
