//! Ends of the passages into which a loop passes connections, and the connections that wait for room in them.

use std::io;
use std::os::fd::OwnedFd;

use adyton_sys::epoll::{Epoll, Interest};

use crate::client::passage::Passage;

/// The least time between two log lines about a passage from which nothing is taken; the first is written at once.
const TOLD_EVERY_MS: u64 = 60_000;

/// The passages of a loop, by their numbers.
pub(crate) struct Departures {
    ways: Vec<Way>,
}

struct Way {
    passage: Passage,
    /// Whether the kernel tells the loop when there is room again.
    is_watched: bool,
    /// Keys of the connections that wait for room, in the order in which they came. Some of these connections may have
    /// gone.
    waiting: Vec<usize>,
    /// When the passage may be logged again, in ms of the monotonic clock.
    silent_until_ms: u64,
}

impl Departures {
    pub(crate) fn new(passages: Vec<Passage>) -> Departures {
        let of = |passage| Way { passage, is_watched: false, waiting: Vec::new(), silent_until_ms: 0 };
        Departures { ways: passages.into_iter().map(of).collect() }
    }

    /// Returns this process's end of a passage, if there is a process at the other end.
    pub(crate) fn end(&self, number: usize) -> Option<&OwnedFd> {
        self.ways
            .get(number)
            .map(|way| &way.passage)
            .filter(|passage| passage.is_open())
            .map(|passage| &passage.end)
    }

    /// Has a connection wait for room in a passage. The kernel tells the loop of room by an event with this `token`.
    ///
    /// # Errors
    ///
    /// Errors of `epoll_ctl(2)`.
    pub(crate) fn wait(&mut self, number: usize, key: usize, epoll: &Epoll, token: u64) -> io::Result<()> {
        let Some(way) = self.ways.get_mut(number) else { return Ok(()) };
        if !way.waiting.contains(&key) {
            way.waiting.push(key);
        }
        if !way.is_watched {
            // If there is room by now, the kernel makes the event at once.
            epoll.add(&way.passage.end, token, Interest::Room)?;
            way.is_watched = true;
        }
        Ok(())
    }

    /// Notes that a connection has waited in vain for room in a passage. If it is to be logged now that the other end
    /// takes nothing, returns the name of that end.
    pub(crate) fn note_stuck(&mut self, number: usize, now_ms: u64) -> Option<&str> {
        let way = self.ways.get_mut(number).filter(|way| way.silent_until_ms <= now_ms)?;
        way.silent_until_ms = now_ms + TOLD_EVERY_MS;
        Some(&way.passage.name)
    }

    /// Takes the connections that wait for room in a passage, because there may be room now.
    pub(crate) fn take_waiting(&mut self, number: usize) -> Vec<usize> {
        self.ways.get_mut(number).map(|way| std::mem::take(&mut way.waiting)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use adyton_sys::pass;

    use super::{Departures, TOLD_EVERY_MS};
    use crate::client::passage::Passage;

    /// Each passage from which nothing is taken is logged by its name, once in a while.
    #[test]
    fn told() -> io::Result<()> {
        let (one, other) = pass::passage()?;
        let of = |(end, name): (_, &str)| Passage { end, name: name.into(), open: None };
        let mut departures = Departures::new([(one, "the group a"), (other, "the group b")].map(of).into());
        let mut told = |number, now_ms| departures.note_stuck(number, now_ms).map(str::to_owned);

        assert_eq!(Some("the group a".to_owned()), told(0, 5));
        assert_eq!(None, told(0, 4 + TOLD_EVERY_MS));
        assert_eq!(Some("the group b".to_owned()), told(1, 6));
        assert_eq!(Some("the group a".to_owned()), told(0, 5 + TOLD_EVERY_MS));
        assert_eq!(None, told(2, 5));
        Ok(())
    }
}
