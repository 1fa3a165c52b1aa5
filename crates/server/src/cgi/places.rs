//! The limit on scripts that run at once in a process, and the queue for a place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;
use crate::threads::home::Home;

/// Places for scripts, which all loops share.
pub(crate) struct Places {
    most: usize,
    /// Maximum number of requests that may wait for a place.
    waiting_max: usize,
    state: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    taken: usize,
    waiting: VecDeque<Weak<Seat>>,
}

/// The right to run a script. When the permit is dropped, the next waiting request gets it.
pub(crate) struct Permit(Arc<Places>);

/// A request that waits for a place, or has it. When the seat is dropped, the request no longer waits.
pub(crate) struct Seat {
    key: usize,
    home: Arc<dyn Home>,
    place: Mutex<Option<Permit>>,
}

impl Places {
    /// Makes `most` places, but at least 1.
    pub(crate) fn new(most: usize, waiting_max: usize) -> Arc<Places> {
        Arc::new(Places { most: most.max(1), waiting_max, state: Mutex::default() })
    }

    /// Takes a place for the request of connection `key`, or queues the request for one. Its loop hears at `home` when
    /// the request has its place. `None`: too many wait already.
    pub(crate) fn ask(self: &Arc<Self>, key: usize, home: Arc<dyn Home>) -> Option<Arc<Seat>> {
        let mut state = lock(&self.state);
        let is_free = state.taken < self.most;
        let seat = Arc::new(Seat { key, home, place: Mutex::new(None) });
        if is_free {
            state.taken += 1;
            drop(state);
            *lock(&seat.place) = Some(Permit(Arc::clone(self)));
            return Some(seat);
        }
        if state.waiting.len() >= self.waiting_max {
            // Requests whose clients have gone do not count.
            state.waiting.retain(|waiting| waiting.strong_count() > 0);
            if state.waiting.len() >= self.waiting_max {
                return None;
            }
        }
        state.waiting.push_back(Arc::downgrade(&seat));
        Some(seat)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        while let Some(waiting) = state.waiting.pop_front() {
            let Some(seat) = waiting.upgrade() else { continue };
            // The place stays taken, by the next request. If that request goes meanwhile, the place is dropped with it.
            drop(state);
            *lock(&seat.place) = Some(Permit(Arc::clone(&self.0)));
            seat.home.redeemed(seat.key);
            return;
        }
        state.taken -= 1;
    }
}

impl Seat {
    /// Whether the request has its place.
    pub(crate) fn has_place(&self) -> bool {
        lock(&self.place).is_some()
    }

    /// Takes the place out, once.
    pub(crate) fn take(&self) -> Option<Permit> {
        lock(&self.place).take()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::Places;
    use crate::lock::lock;
    use crate::threads::home::Home;

    #[derive(Default)]
    struct Heard(Mutex<Vec<usize>>);

    impl Home for Heard {
        fn redeemed(&self, key: usize) {
            lock(&self.0).push(key);
        }
    }

    /// Waiting requests get places in their order, unless their clients have gone, and no place is lost.
    #[test]
    fn in_order() {
        let heard = Arc::new(Heard::default());
        let places = Places::new(1, 2);
        let ask = |key| places.ask(key, Arc::clone(&heard) as _);
        let first = ask(1).and_then(|seat| seat.take());
        assert!(first.is_some());
        let (second, third) = (ask(2), ask(3));
        assert!(ask(4).is_none(), "two wait");
        drop(second);
        let fourth = ask(4);
        assert!(fourth.is_some() && fourth.as_ref().is_some_and(|seat| !seat.has_place()));

        drop(first);
        assert_eq!(vec![3], *lock(&heard.0));
        assert!(third.as_ref().is_some_and(|seat| seat.has_place()));
        drop(third);
        assert_eq!(vec![3, 4], *lock(&heard.0), "the third had its place, and did not want it any more");
        drop(fourth);

        assert_eq!(0, lock(&places.state).taken);
    }
}
