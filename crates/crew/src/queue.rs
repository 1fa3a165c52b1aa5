//! Requests that wait for a thread: bounded in length and in age.
//!
//! A queue that is always backed up adds its length to the time of every request, and no request gains from that. So
//! its delay is controlled, after `CoDel` (RFC 8289, for packets): when even the shortest wait of an interval was above
//! the target, the queue is *pressed*. Then the newest request is served first, because its client is still there, and
//! requests that have waited longer than the target are turned away at once. The pressure ends when the queue has run
//! empty.
//!
//! Clients may have less patience than the longest wait allows. They show it: when many requests leave the queue
//! because their clients have gone, the queue is pressed, too. In the order of arrival, each request would be served
//! just before or just after its client gives up.

use std::collections::VecDeque;

/// How long the waits are looked at before the queue counts as pressed.
const INTERVAL_MS: u64 = 100;

/// The target is the longest wait divided by this number: far enough below the longest wait that a served request has
/// not waited in vain, and far enough above the waits of many connections that merely take turns.
const TARGET_PART: u64 = 2;

/// When `GONE_MAX` of the last `LEFT_MAX` requests have left the queue because their clients had gone, the queue is
/// pressed.
const GONE_MAX: u32 = 4;
const LEFT_MAX: u32 = 16;

pub(crate) struct Queue<J> {
    /// Requests, the oldest first, each with the time since when it has waited.
    waiting: VecDeque<(u64, J)>,
    /// The rests of answers that have begun: they are never turned away, and take turns with the requests.
    begun: VecDeque<J>,
    /// Whether `begun` had the last turn.
    was_begun: bool,
    length_max: usize,
    timeout_ms: u64,
    interval: Interval,
    left: Departures,
    pressed: bool,
}

/// Requests that have left the queue lately.
#[derive(Clone, Copy, Default)]
struct Departures {
    all: u32,
    /// Requests among them whose clients had gone.
    gone: u32,
}

/// The waits of the interval that runs.
#[derive(Clone, Copy)]
struct Interval {
    since_ms: u64,
    shortest_ms: u64,
}

impl<J> Queue<J> {
    /// A queue of `length_max` places, in which a request waits for at most `timeout_ms`.
    pub(crate) fn new(length_max: usize, timeout_ms: u64) -> Self {
        let interval = Interval { since_ms: 0, shortest_ms: u64::MAX };
        let (waiting, begun) = (VecDeque::new(), VecDeque::new());
        let left = Departures::default();
        Self { waiting, begun, was_begun: false, length_max, timeout_ms, interval, left, pressed: false }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.begun.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How long a request may wait now.
    fn wait_ms_max(&self) -> u64 {
        if self.pressed { (self.timeout_ms / TARGET_PART).max(1) } else { self.timeout_ms }
    }

    /// Adds a request that has waited since `since_ms`; the request is returned if there is no place or it has waited
    /// too long. `u64::MAX` stands for the rest of an answer that has begun: it always has a place, and never waits too
    /// long. `extra` further places are for requests that are taken out at once or soon. Such a request may have waited
    /// for any time, because its wait is measured by clocks that may differ.
    pub(crate) fn push(&mut self, job: J, since_ms: u64, now_ms: u64, extra: usize) -> Result<(), J> {
        if since_ms == u64::MAX {
            self.begun.push_back(job);
            return Ok(());
        }
        let waiting = self.waiting.len();
        let too_late = now_ms.saturating_sub(since_ms) > self.timeout_ms && waiting >= extra;
        if too_late || waiting >= self.length_max.saturating_add(extra) {
            return Err(job);
        }
        // Requests that have waited elsewhere come out of order.
        let at = self.waiting.partition_point(|(other_ms, _)| *other_ms <= since_ms);
        self.waiting.insert(at, (since_ms, job));
        Ok(())
    }

    /// The request that is served next, or the answer that goes on.
    pub(crate) fn pop(&mut self, now_ms: u64) -> Option<J> {
        let Some(&(since_ms, _)) = self.waiting.front() else {
            self.pressed = false;
            self.left = Departures::default();
            self.interval = Interval { since_ms: now_ms, shortest_ms: 0 };
            return self.begun.pop_front();
        };
        self.was_begun = !self.was_begun && !self.begun.is_empty();
        if self.was_begun {
            return self.begun.pop_front();
        }
        self.note(now_ms.saturating_sub(since_ms), now_ms);
        self.note_left(false);
        let next = if self.pressed { self.waiting.pop_back() } else { self.waiting.pop_front() };
        next.map(|(_, job)| job)
    }

    /// Takes into account the wait of the request that has waited longest.
    fn note(&mut self, waited_ms: u64, now_ms: u64) {
        self.interval.shortest_ms = self.interval.shortest_ms.min(waited_ms);
        if now_ms.saturating_sub(self.interval.since_ms) >= INTERVAL_MS {
            self.pressed |= self.interval.shortest_ms > self.timeout_ms / TARGET_PART;
            self.interval = Interval { since_ms: now_ms, shortest_ms: waited_ms };
        }
    }

    /// Takes into account that a request has left the queue; `is_gone` says whether it left because its client had
    /// gone.
    pub(crate) fn note_left(&mut self, is_gone: bool) {
        self.left.all += 1;
        self.left.gone += u32::from(is_gone);
        self.pressed |= self.left.gone >= GONE_MAX;
        if self.left.all >= LEFT_MAX {
            self.left = Departures::default();
        }
    }

    /// Takes out the request that fits.
    pub(crate) fn withdraw(&mut self, fits: impl Fn(&J) -> bool) -> Option<J> {
        let at = self.waiting.iter().position(|(_, job)| fits(job))?;
        self.waiting.remove(at).map(|(_, job)| job)
    }

    /// Takes out the oldest request if it has waited too long and is `mine`.
    pub(crate) fn expire(&mut self, now_ms: u64, mine: impl Fn(&J) -> bool) -> Option<J> {
        let wait_ms_max = self.wait_ms_max();
        let too_long =
            |(since_ms, job): &(u64, J)| now_ms.saturating_sub(*since_ms) > wait_ms_max && mine(job);
        if self.waiting.front().is_some_and(too_long) {
            self.waiting.pop_front().map(|(_, job)| job)
        } else {
            None
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// When clients give up, the newest requests are served first; one client that gives up among many changes nothing.
    #[test]
    fn clients_show_their_patience() {
        let mut queue = Queue::new(100, 60_000);
        for job in 0..60 {
            assert_eq!(Ok(()), queue.push(job, 0, 0, 0));
        }
        for job in 0..30 {
            if job % 8 == 0 {
                assert_eq!(Some(job), queue.withdraw(|&other| other == job));
                queue.note_left(true);
            } else {
                assert_eq!(Some(job), queue.pop(10));
            }
        }
        for job in 30..34 {
            assert_eq!(Some(job), queue.withdraw(|&other| other == job));
            queue.note_left(true);
        }
        assert_eq!([Some(59), Some(58)], [0; 2].map(|_| queue.pop(20)));

        while queue.pop(20).is_some() {}
        for job in 0..2 {
            assert_eq!(Ok(()), queue.push(job, 30, 30, 0));
        }
        assert_eq!([Some(0), Some(1)], [0; 2].map(|_| queue.pop(40)), "it is calm when it has run empty");
    }

    /// Each of several loops takes out its own requests.
    #[test]
    fn expires_what_is_mine() {
        let mut queue = Queue::new(3, 10);
        for job in 0..2 {
            assert_eq!(Ok(()), queue.push(job, 0, 0, 0));
        }
        assert_eq!(None, queue.expire(20, |&job| job == 1));
        assert_eq!(Some(0), queue.expire(20, |&job| job == 0));
        assert_eq!(Some(1), queue.expire(20, |&job| job == 1));
    }

    /// Requests are served in order while the queue is calm, and the queue never holds more than its length.
    #[test]
    fn first_come_first_served() {
        let mut queue = Queue::new(3, 1_000);
        for job in 0..3 {
            assert_eq!(Ok(()), queue.push(job, job, job, 0));
        }
        assert_eq!(Err(3), queue.push(3, 3, 3, 0));
        assert_eq!((Ok(()), Err(4)), (queue.push(3, 3, 3, 1), queue.push(4, 3, 3, 1)));

        assert_eq!([Some(0), Some(1), Some(2), Some(3), None], [0; 5].map(|_| queue.pop(10)));
    }

    /// A request that has waited too long is taken out, and a request that comes too late is not let in.
    #[test]
    fn nothing_waits_too_long() {
        let mut queue = Queue::new(10, 1_000);
        assert_eq!(Ok(()), queue.push(1, 0, 0, 0));
        assert_eq!(Ok(()), queue.push(2, 500, 500, 0));
        assert_eq!(Err(3), queue.push(3, 0, 1_001, 0));

        assert_eq!(None, queue.expire(1_000, |_| true));
        assert_eq!(Some(1), queue.expire(1_001, |_| true));
        assert_eq!(None, queue.expire(1_001, |_| true));
        assert_eq!(1, queue.len());
    }

    /// A request that has waited elsewhere before is sorted in by its age; a request for which a thread is free may
    /// have waited for any time.
    #[test]
    fn ages_are_kept_in_order() {
        let mut queue = Queue::new(10, 1_000);
        for (job, since_ms) in [(0, 1_500), (1, 700), (2, 1_600), (3, 700)] {
            assert_eq!(Ok(()), queue.push(job, since_ms, 1_600, 0));
        }
        assert_eq!(Err(4), queue.push(4, 0, 1_600, 4));
        assert_eq!(Ok(()), queue.push(5, 0, 1_600, 5));

        assert_eq!([Some(5), Some(1)], [0; 2].map(|_| queue.expire(1_701, |_| true)));
        assert_eq!([Some(2), Some(0), Some(3)], [0; 3].map(|_| queue.pop(1_701)), "the youngest first");
    }

    /// A queue that keeps every request waiting serves the newest, turns the old away, and is calm again once empty.
    #[test]
    fn pressed_while_all_wait() {
        let mut queue = Queue::new(1_000, 1_000);
        for job in 0..100 {
            assert_eq!(Ok(()), queue.push(job, 0, 0, 0));
        }
        for (job, now_ms) in (0..20).zip((450..).step_by(10)) {
            assert_eq!(Some(job), queue.pop(now_ms), "one interval of long waits has to pass");
        }
        assert_eq!(Ok(()), queue.push(200, 650, 650, 0));

        assert_eq!(Some(200), queue.pop(651));
        assert_eq!(Some(20), queue.expire(651, |_| true));
        while queue.expire(651, |_| true).is_some() {}
        assert_eq!(None, queue.pop(651));
        assert_eq!(Ok(()), queue.push(300, 732, 732, 0));
        assert_eq!(Ok(()), queue.push(301, 733, 733, 0));
        assert_eq!(Some(300), queue.pop(734));
    }

    /// Answers that have begun take turns with new requests, also under pressure; old requests are still turned away.
    #[test]
    fn answers_go_on_under_pressure() {
        let mut queue = Queue::new(1_000, 1_000);
        for job in 0..100 {
            assert_eq!(Ok(()), queue.push(job, 0, 0, 0));
        }
        for now_ms in (450..650).step_by(10) {
            assert!(queue.pop(now_ms).is_some_and(|job| job < 100));
        }
        for job in 200..203 {
            assert_eq!(Ok(()), queue.push(job, u64::MAX, 650, 0));
        }
        assert_eq!(Ok(()), queue.push(300, 650, 650, 0));
        assert_eq!(Ok(()), queue.push(301, 650, 650, 0));

        assert_eq!([200, 301, 201, 300].map(Some), [651; 4].map(|now_ms| queue.pop(now_ms)));
        assert_eq!(Some(20), queue.expire(652, |_| true));
        while queue.expire(652, |_| true).is_some() {}
        assert_eq!([Some(202), None], [652; 2].map(|now_ms| queue.pop(now_ms)));
    }

    /// Short waits, such as those of many connections that take turns, do not press the queue.
    #[test]
    fn calm_below_the_target() {
        let mut queue = Queue::new(1_000, 1_000);
        for step in 0..1_000 {
            assert_eq!(Ok(()), queue.push(step, step, step, 0));
            if step >= 90 {
                assert_eq!(Some(step - 90), queue.pop(step));
                assert_eq!(None, queue.expire(step, |_| true));
            }
        }
    }
}
