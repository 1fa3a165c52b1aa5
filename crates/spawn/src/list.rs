//! The groups that the small process has started, in memory that the server sees, too: the process that outlives the
//! other ends them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_sys::board::Board;
use adyton_sys::{forks, spawn};

/// The most programs that run or end at once: more than `cgi-processes` allows, because it includes programs that take
/// their time to end.
const PROGRAMS_MAX: usize = 16 << 10;

/// The numbers of groups; 0 in a place without a group.
pub(crate) struct List {
    board: Board,
    /// Places that were used and are free again.
    free: Vec<usize>,
    /// Places from here on were never used.
    unused: usize,
}

impl List {
    /// An empty list.
    ///
    /// # Errors
    ///
    /// The process is out of memory or descriptors.
    pub(crate) fn new() -> io::Result<List> {
        let board = Board::new(PROGRAMS_MAX)?;
        forks::own(&board);
        Ok(List { board, free: Vec::new(), unused: 0 })
    }

    /// The list that another process has made.
    ///
    /// # Errors
    ///
    /// The descriptor does not refer to a list.
    pub(crate) fn open(descriptor: OwnedFd) -> io::Result<List> {
        Ok(List { board: Board::open(descriptor, PROGRAMS_MAX)?, free: Vec::new(), unused: 0 })
    }

    /// A free place, which is taken until it is [given back](Self::give_back); `None` if there is none.
    pub(crate) fn take(&mut self) -> Option<usize> {
        self.free.pop().or_else(|| {
            self.unused += 1;
            (self.unused <= PROGRAMS_MAX).then(|| self.unused - 1)
        })
    }

    /// The cell of a group's number.
    pub(crate) fn at(&self, place: usize) -> &AtomicU64 {
        &self.board.cells()[place]
    }

    /// Takes a group off the list: it was ended, or has never begun.
    pub(crate) fn give_back(&mut self, place: usize) {
        self.at(place).store(0, Ordering::SeqCst);
        self.free.push(place);
    }

    /// Ends all groups of a process that has ended.
    pub(crate) fn end_all(&self) {
        let listed = self.board.cells().iter().map(|cell| cell.load(Ordering::SeqCst));
        listed.for_each(spawn::end_group);
    }
}

impl Drop for List {
    fn drop(&mut self) {
        forks::disown(&self.board);
    }
}

impl AsFd for List {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.board.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;

    use super::{List, PROGRAMS_MAX};

    /// A place that was given back is given out again, but never to two groups at once; both processes see the number
    /// in it.
    #[test]
    fn places() -> io::Result<()> {
        let ours = List::new()?;
        let mut theirs = List::open(ours.as_fd().try_clone_to_owned()?)?;
        for place in 0..PROGRAMS_MAX {
            assert_eq!(Some(place), theirs.take());
        }
        assert_eq!((None, None), (theirs.take(), theirs.take()));
        theirs.at(7).store(77, Ordering::SeqCst);
        assert_eq!(77, ours.at(7).load(Ordering::SeqCst));
        theirs.give_back(7);

        assert_eq!(0, ours.at(7).load(Ordering::SeqCst));
        assert_eq!((Some(7), None), (theirs.take(), theirs.take()));
        Ok(())
    }
}
