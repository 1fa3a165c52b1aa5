//! Deadlines of many connections: a timer wheel on which it is cheap to move a deadline later.
//!
//! A connection has one deadline, and nearly every deadline is moved before it comes. So moving it later is a plain
//! store into the connection's timer: the wheel's entry stays where it is, and when the entry fires before the
//! deadline, it is put where the deadline is. Only an earlier deadline makes a new entry. An entry counts only if its
//! tick is the one that the connection's timer remembers.

/// The wheel's resolution: timeouts last for seconds, so a tenth of a second is exact enough.
const TICK_MS: u64 = 100;

/// Slots of the wheel; a deadline beyond the last slot (51 s) waits there, and is then put onto the wheel anew.
const SLOTS: u64 = 512;

/// A connection's deadline, and its entry on the wheel.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// The time until which the connection may wait, in ms of the monotonic clock; [`NEVER`] when the connection has
    /// gone.
    deadline_ms: u64,
    /// The tick of the entry that counts; 0 when there is none.
    tick: u64,
}

const NEVER: u64 = u64::MAX;

const UNSET: Timer = Timer { deadline_ms: NEVER, tick: 0 };

/// Timers of connections, known by their keys.
///
/// A key has at most one entry that counts, even when connections come and go under it: the next connection takes over
/// the entry of the one before.
pub(crate) struct Wheel {
    timers: Vec<Timer>,
    slots: Vec<Vec<(usize, u64)>>,
    /// A bit for each slot that has entries.
    filled: [u64; (SLOTS / 64) as usize],
    /// The first tick that has not fired.
    now_tick: u64,
}

impl Wheel {
    /// An empty wheel that begins at `now_ms`.
    pub(crate) fn new(now_ms: u64) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(usize_of(SLOTS), Vec::new);
        let filled = [0; (SLOTS / 64) as usize];
        Self { timers: Vec::new(), slots, filled, now_tick: now_ms / TICK_MS }
    }

    /// Sets a connection's deadline.
    #[inline]
    pub(crate) fn set(&mut self, key: usize, deadline_ms: u64) {
        if key >= self.timers.len() {
            self.timers.resize(key + 1, UNSET);
        }
        let timer = &mut self.timers[key];
        timer.deadline_ms = deadline_ms;
        // Rounded up: a deadline is never early.
        let tick = deadline_ms / TICK_MS + 1;
        if timer.tick == 0 || tick < timer.tick {
            self.insert(key, tick);
        }
    }

    /// Returns a connection's deadline, in ms of the monotonic clock.
    pub(crate) fn deadline_ms(&self, key: usize) -> u64 {
        self.timers.get(key).map_or(NEVER, |timer| timer.deadline_ms)
    }

    /// Removes the deadline of a connection that has gone, or that needs none.
    pub(crate) fn clear(&mut self, key: usize) {
        if let Some(timer) = self.timers.get_mut(key) {
            timer.deadline_ms = NEVER;
        }
    }

    fn insert(&mut self, key: usize, tick: u64) {
        let tick = tick.clamp(self.now_tick, self.now_tick + SLOTS - 1);
        self.timers[key].tick = tick;
        let slot = usize_of(tick % SLOTS);
        self.slots[slot].push((key, tick));
        self.filled[slot / 64] |= 1 << (slot % 64);
    }

    /// Returns the milliseconds until the next entry may fire; `None` if there are no entries.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let first = usize_of(self.now_tick % SLOTS);
        let words = self.filled.len();
        for step in 0..=words {
            let word = (first / 64 + step) % words;
            let mut bits = self.filled[word];
            if step == 0 {
                bits &= u64::MAX << (first % 64);
            } else if step == words {
                bits &= !(u64::MAX << (first % 64));
            }
            if bits != 0 {
                let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
                let tick = self.now_tick + (slot + SLOTS - first as u64) % SLOTS;
                return Some((tick * TICK_MS).saturating_sub(now_ms));
            }
        }
        None
    }

    /// Takes the entries whose tick has come. An entry that came too early is put back by [`Wheel::fired`].
    pub(crate) fn take_due(&mut self, now_ms: u64, due: &mut Vec<(usize, u64)>) {
        let until = now_ms / TICK_MS;
        // After a long sleep, one round over the slots takes all entries.
        let first = self.now_tick.max(until.saturating_sub(SLOTS));
        for tick in first..=until {
            let slot = usize_of(tick % SLOTS);
            due.append(&mut self.slots[slot]);
            self.filled[slot / 64] &= !(1 << (slot % 64));
        }
        self.now_tick = self.now_tick.max(until + 1);
    }

    /// Returns whether the deadline of connection `key` has come, after its entry of `tick` has fired. If the deadline
    /// was moved, puts the entry where the deadline is now.
    pub(crate) fn fired(&mut self, key: usize, tick: u64, now_ms: u64) -> bool {
        let timer = &mut self.timers[key];
        if timer.tick != tick {
            return false;
        }
        timer.tick = 0;
        if timer.deadline_ms <= now_ms {
            return true;
        }
        if timer.deadline_ms != NEVER {
            let tick = timer.deadline_ms / TICK_MS + 1;
            self.insert(key, tick);
        }
        false
    }
}

fn usize_of(slot: u64) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs time forward in steps of `step_ms` and returns when each key fired.
    fn run(wheel: &mut Wheel, from_ms: u64, until_ms: u64, step_ms: u64) -> Vec<(u64, usize)> {
        let mut fired = Vec::new();
        let mut due = Vec::new();
        for now_ms in (from_ms..=until_ms).step_by(usize_of(step_ms)) {
            wheel.take_due(now_ms, &mut due);
            for (key, tick) in due.drain(..) {
                if wheel.fired(key, tick, now_ms) {
                    fired.push((now_ms, key));
                }
            }
        }
        fired
    }

    /// A deadline fires once, never early, and at most two ticks late.
    #[test]
    fn fires_once_and_in_time() {
        let deadlines = [0, 50, 100, 1_000, 51_100, 51_200, 60_000, 200_000];
        let mut wheel = Wheel::new(5_000);
        for (key, after) in deadlines.into_iter().enumerate() {
            wheel.set(key, 5_000 + after);
        }

        let fired = run(&mut wheel, 5_000, 300_000, 10);

        assert_eq!(fired.len(), deadlines.len());
        for (at_ms, key) in fired {
            let due_ms = 5_000 + deadlines[key];
            assert!((due_ms..=due_ms + 200).contains(&at_ms), "key {key} fired at {at_ms}, due {due_ms}");
        }
    }

    /// A deadline that is moved later needs no new entry, and one that is moved earlier fires earlier.
    #[test]
    fn moves_both_ways() {
        let mut wheel = Wheel::new(0);
        wheel.set(0, 1_000);
        for later in (1_000..90_000).step_by(7) {
            wheel.set(0, later);
        }
        wheel.set(1, 80_000);
        wheel.set(1, 500);

        let fired = run(&mut wheel, 0, 100_000, 100);

        assert_eq!(fired.len(), 2);
        assert_eq!(fired[0].1, 1);
        assert!(fired[0].0 <= 700);
        assert!(fired[1].0 >= 89_999);
    }

    /// The wait never passes an entry, wherever it stands on the wheel.
    #[test]
    fn next_is_not_past_an_entry() {
        let mut wheel = Wheel::new(0);
        assert_eq!(wheel.next_ms(0), None);
        for after in (0..51_000).step_by(137) {
            let mut wheel = Wheel::new(123_456);
            wheel.set(0, 123_456 + after);

            let wait = wheel.next_ms(123_456).unwrap_or(u64::MAX);

            assert!(wait <= after + 2 * TICK_MS, "waits {wait} for {after}");
        }
        wheel.set(0, 10_000);
        assert!(wheel.next_ms(0).is_some());
    }

    /// Everything still fires when the process slept through the whole wheel.
    #[test]
    fn survives_a_long_sleep() {
        let mut wheel = Wheel::new(0);
        for key in 0..100 {
            wheel.set(key, key as u64 * 500);
        }

        let fired = run(&mut wheel, 1_000_000, 1_000_000, 1);

        assert_eq!(fired.len(), 100);
    }

    /// A connection that has gone fires nothing, and a key has one entry however many connections come and go under it.
    #[test]
    fn keys_are_reused() {
        let mut wheel = Wheel::new(0);
        for now_ms in 0..10_000 {
            wheel.set(7, now_ms + 10_000);
            wheel.clear(7);
        }
        assert_eq!(wheel.slots.iter().map(Vec::len).sum::<usize>(), 1);
        assert!(run(&mut wheel, 0, 60_000, 100).is_empty());

        wheel.set(7, 70_000);
        assert_eq!(run(&mut wheel, 60_000, 80_000, 100).len(), 1);
    }
}
