//! Values remembered by path, with a bound: values not asked for lately are forgotten first.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Two generations of values. A value that is asked for goes into the younger generation. When the younger generation
/// is full, it becomes the older one, and the former older one is forgotten. A client that asks for many paths once
/// thus does not drive out paths that are asked for all the time.
pub(super) struct Remembered<T> {
    young: HashMap<Box<[u8]>, T, RandomState>,
    old: HashMap<Box<[u8]>, T, RandomState>,
    /// Maximum number of entries in a generation.
    entries_max: usize,
}

impl<T> Remembered<T> {
    /// Makes an empty memory, with at most `entries_max` in each generation.
    pub(super) fn new(entries_max: usize) -> Remembered<T> {
        Remembered { young: HashMap::default(), old: HashMap::default(), entries_max }
    }

    /// Finds an entry of the younger generation: one look into a table.
    #[inline]
    pub(super) fn recent(&self, path: &[u8]) -> Option<&T> {
        self.young.get(path)
    }

    /// Finds an entry of either generation, and leaves it where it is.
    pub(super) fn find(&self, path: &[u8]) -> Option<&T> {
        self.young.get(path).or_else(|| self.old.get(path))
    }

    /// Takes an entry out.
    pub(super) fn take(&mut self, path: &[u8]) -> Option<T> {
        self.young.remove(path).or_else(|| self.old.remove(path))
    }

    /// Puts an entry into the younger generation; returns whether the older one was forgotten for it.
    pub(super) fn put(&mut self, path: &[u8], entry: T) -> bool {
        let is_full = self.young.len() >= self.entries_max;
        if is_full {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(path.into(), entry);
        is_full
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Remembered;

    #[test]
    fn what_is_asked_for_stays() {
        let mut all = Remembered::new(4);
        all.put(b"always", 0);
        for number in 1..100_u32 {
            let always = all.take(b"always");
            assert_eq!(Some(0), always, "{number}");
            all.put(b"always", 0);
            all.put(&number.to_le_bytes(), number);
            assert_eq!(Some(&number), all.recent(&number.to_le_bytes()));
            assert!(all.young.len() <= 4 && all.old.len() <= 4);
        }
        assert_eq!(None, all.find(&1_u32.to_le_bytes()));
        assert_eq!(Some(&98), all.find(&98_u32.to_le_bytes()));
        all.clear();
        assert_eq!(None, all.find(b"always"));
    }
}
