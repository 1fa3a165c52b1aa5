//! Times without a right answer: wherever in the measurement the server stalls, the stall lies in one of these times.

/// The shortest time without an answer that is noted, in nanoseconds.
const SHORTEST_NS: u64 = 100_000_000;

/// Times between two right answers, of one thread or of several together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lulls {
    /// Start and end of each, in order, without overlaps.
    noted: Vec<(u64, u64)>,
    /// The time of the last right answer; before the first answer, the start.
    last_ns: u64,
}

impl Lulls {
    /// Makes an empty list; no answer has come yet.
    pub(crate) fn new(start_ns: u64) -> Self {
        Self { noted: Vec::new(), last_ns: start_ns }
    }

    /// Notes that a right answer has come.
    #[inline]
    pub(crate) fn answered(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.last_ns) >= SHORTEST_NS {
            self.noted.push((self.last_ns, now_ns));
        }
        self.last_ns = now_ns;
    }

    /// Keeps only the times in which the other thread had no right answer either.
    pub(crate) fn merge(&mut self, other: &Self) {
        let (mut own, mut others) = (self.with_end().peekable(), other.with_end().peekable());
        let mut both = Vec::new();
        while let (Some((from, to)), Some((other_from, other_to))) = (own.peek(), others.peek()) {
            let (from, end) = (*from.max(other_from), *to.min(other_to));
            // The time without an end begins at `last_ns`.
            if end != u64::MAX && end.saturating_sub(from) >= SHORTEST_NS {
                both.push((from, end));
            }
            // The time that ends first overlaps no later time of the other thread.
            let _ = if *to == end { own.next() } else { others.next() };
        }
        drop((own, others));
        *self = Self { noted: both, last_ns: self.last_ns.max(other.last_ns) };
    }

    /// Returns the longest time until `end_ns`.
    pub(crate) fn longest_ns(&self, end_ns: u64) -> u64 {
        self.with_end().map(|(from, to)| to.min(end_ns).saturating_sub(from)).max().unwrap_or(0)
    }

    fn with_end(&self) -> impl Iterator<Item = (u64, u64)> {
        self.noted.iter().copied().chain([(self.last_ns, u64::MAX)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(answers_ms: &[u64]) -> Lulls {
        let mut lulls = Lulls::new(0);
        for ms in answers_ms {
            lulls.answered(ms * MS);
        }
        lulls
    }

    #[test]
    fn the_longest_may_be_at_the_start_within_or_at_the_end() {
        assert_eq!(500 * MS, of(&[500, 600, 900]).longest_ns(1_000 * MS));
        assert_eq!(400 * MS, of(&[100, 500, 900]).longest_ns(1_000 * MS));
        assert_eq!(600 * MS, of(&[100, 300, 400]).longest_ns(1_000 * MS));
        assert_eq!(1_000 * MS, of(&[]).longest_ns(1_000 * MS));
    }

    /// An answer of one thread ends the lull of both.
    #[test]
    fn threads_have_a_lull_where_all_have_one() {
        let mut both = Lulls::new(0);
        both.merge(&of(&[100, 1_000, 2_000]));
        assert_eq!(1_000 * MS, both.longest_ns(2_000 * MS));
        both.merge(&of(&[300, 700, 1_000, 1_500, 1_900]));

        assert_eq!(500 * MS, both.longest_ns(2_000 * MS));
        assert_eq!(600 * MS, both.longest_ns(2_600 * MS));
    }
}
