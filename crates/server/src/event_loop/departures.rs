//! The ends of passages that a loop passes connections into, and which connections wait for room in one.

use std::io;
use std::os::fd::OwnedFd;

use adyton_sys::epoll::{Epoll, Interest};

use crate::passage::Passage;

/// The passages of a loop, by their numbers.
pub(crate) struct Departures {
    ways: Vec<Way>,
}

struct Way {
    passage: Passage,
    /// Whether the loop is told when there is room again.
    is_watched: bool,
    /// The keys of connections that wait for it, in the order in which they came. Some may have gone.
    waiting: Vec<usize>,
}

impl Departures {
    pub(crate) fn new(passages: Vec<Passage>) -> Departures {
        let of = |passage| Way { passage, is_watched: false, waiting: Vec::new() };
        Departures { ways: passages.into_iter().map(of).collect() }
    }

    /// This process's end of a passage, if there is somebody at the other one.
    pub(crate) fn end(&self, number: usize) -> Option<&OwnedFd> {
        self.ways
            .get(number)
            .map(|way| &way.passage)
            .filter(|passage| passage.is_open())
            .map(|passage| &passage.end)
    }

    /// A connection waits for room in a passage, of which the loop is told by this token.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl(2)`.
    pub(crate) fn wait(&mut self, number: usize, key: usize, epoll: &Epoll, token: u64) -> io::Result<()> {
        let Some(way) = self.ways.get_mut(number) else { return Ok(()) };
        if !way.waiting.contains(&key) {
            way.waiting.push(key);
        }
        if !way.is_watched {
            // There may be room by now, which is told at once.
            epoll.add(&way.passage.end, token, Interest::Room)?;
            way.is_watched = true;
        }
        Ok(())
    }

    /// There may be room in a passage: the connections that wait for it.
    pub(crate) fn take_waiting(&mut self, number: usize) -> Vec<usize> {
        self.ways.get_mut(number).map(|way| std::mem::take(&mut way.waiting)).unwrap_or_default()
    }
}
