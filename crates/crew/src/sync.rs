//! Synchronization of the crew's threads: the standard library's, or loom's when the protocol is checked with it.

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread::{self, Thread},
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread::{self, Thread},
};

use std::sync::PoisonError;

/// Locks a mutex; a panic leaves its value whole, because no code here calls foreign code while it holds a lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A spot for one value, which is put and taken by one swap of a pointer.
pub struct Spot<T> {
    #[cfg(not(loom))]
    cell: crossbeam_utils::atomic::AtomicCell<Option<Box<T>>>,
    #[cfg(loom)]
    cell: Mutex<Option<Box<T>>>,
}

#[cfg(not(loom))]
impl<T> Spot<T> {
    /// A spot without a value.
    pub fn empty() -> Self {
        Self { cell: crossbeam_utils::atomic::AtomicCell::new(None) }
    }

    /// Puts a value into the empty spot.
    pub fn put(&self, value: Box<T>) {
        let former = self.cell.swap(Some(value));
        debug_assert!(former.is_none(), "the spot is taken");
    }

    /// Takes the value out, if there is one.
    pub fn take(&self) -> Option<Box<T>> {
        self.cell.take()
    }
}

#[cfg(loom)]
impl<T> Spot<T> {
    /// A spot without a value.
    pub fn empty() -> Self {
        Self { cell: Mutex::new(None) }
    }

    /// Puts a value into the empty spot.
    pub fn put(&self, value: Box<T>) {
        let former = lock(&self.cell).replace(value);
        assert!(former.is_none(), "the spot is taken");
    }

    /// Takes the value out, if there is one.
    pub fn take(&self) -> Option<Box<T>> {
        lock(&self.cell).take()
    }
}

impl<T> Default for Spot<T> {
    fn default() -> Self {
        Self::empty()
    }
}
