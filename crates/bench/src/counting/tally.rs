//! The outcome of every request: each that was sent ends in exactly one count.

use std::collections::BTreeMap;

use crate::counting::answer::{Came, JudgedAnswer, Judgement};
use crate::counting::cause::Cause;
use crate::counting::counts::{
    Counts, DOUBLINGS, Doublings, FirstWrong, OddHeads, OfConnection, OfUrl, OwnLimits, Second, Sent,
};
use crate::counting::latency::Times;
use crate::counting::lulls::Lulls;
use crate::plan::{Load, Plan, Until};
use crate::report::numbers::float;

/// Times of an answer that is whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerTimes {
    /// The time from the request's start to the first byte of the answer.
    pub(crate) first_byte_ns: u64,
    /// The time at which the last byte came.
    pub(crate) now_ns: u64,
}

/// A histogram of the times of one second: eight places for each doubling.
#[derive(Clone, Debug)]
struct Places([u32; PLACES]);

/// Places of a histogram: from 128 ns to an hour.
const PLACES: usize = 272;

/// Seconds with a histogram of times: an hour. Each takes a KiB in each thread.
const PLACED_SECONDS_MAX: usize = 3600;

/// The unit of the times in a histogram, in nanoseconds.
const PLACE_NS: u64 = 128;

impl Places {
    #[inline]
    fn add(&mut self, ns: u64) {
        let units = (ns / PLACE_NS).max(1);
        let power = units.ilog2();
        let place = match power.checked_sub(3) {
            None => units,
            Some(shift) => u64::from(shift + 1) * 8 + (units >> shift & 7),
        };
        let place = usize::try_from(place).unwrap_or(PLACES).min(PLACES - 1);
        self.0[place] = self.0[place].saturating_add(1);
    }

    /// Returns the time that `percentile` of 100 do not exceed, in microseconds; `None` if fewer than three lie beyond.
    fn percentile_us(&self, percentile: u64) -> Option<f64> {
        let count: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        if count * (100 - percentile) < 3 * 100 {
            return None;
        }
        let mut left = (count * percentile).div_ceil(100);
        let place = self.0.iter().position(|count| {
            left = left.saturating_sub(u64::from(*count));
            left == 0
        })?;
        // The reported time is the upper end of the place.
        let (eighth, doubling) = ((place % 8 + 1) as u64, place / 8);
        let units = if doubling == 0 { eighth } else { (8 + eighth) << (doubling - 1) };
        Some(float(units * PLACE_NS) / 1e3)
    }
}

const SECOND_NS: u64 = 1_000_000_000;

fn doubling(ns: u64) -> usize {
    // The number is 64 at most.
    let bits = u64::BITS - (ns / 1000).leading_zeros();
    (bits as usize).min(DOUBLINGS - 1)
}

/// Converts a time that is far below 2⁶³ ns, which is three centuries.
fn signed(ns: u64) -> i64 {
    ns.cast_signed()
}

/// The counts of one thread.
#[derive(Debug)]
pub(crate) struct Tally {
    start_ns: u64,
    /// Whether requests are due at times of their own.
    is_open: bool,
    /// Whether only requests begun within the measurement count, because their number is given.
    is_numbered: bool,
    /// Time beyond which an answer is late.
    deadline_ns: u64,
    pub(crate) counts: Counts,
    /// Right answers that were not late.
    pub(crate) in_time: u64,
    pub(crate) causes: BTreeMap<Cause, u64>,
    /// How much of the body had come, in words, when the first request timed out within a body.
    came: Option<String>,
    /// The numbers of answers after which kept connections were closed without notice: the fewest and the most.
    kept: Option<(u64, u64)>,
    /// The first wrong answer, and when it came.
    pub(crate) first_wrong: Option<(u64, FirstWrong)>,
    /// Interim answers, and the most that came before one answer.
    pub(crate) interim: (u64, u32),
    /// Answers whose heads are odd.
    pub(crate) odd_heads: OddHeads,
    /// Answers that began before their request was sent.
    pub(crate) early: u64,
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// The last status, and how often it came in a row: the map is looked at only when the status changes.
    run_of: (u16, u64),
    pub(crate) own: OwnLimits,
    /// Times from when a request was due to its last byte; only in an open loop.
    pub(crate) response: Times,
    /// Times from when a request was begun to its last byte.
    pub(crate) service: Times,
    /// Times from when a request was sent, over a connection that was made, to its first byte.
    pub(crate) first_byte: Times,
    /// Times to connect, of connections that were made within the measurement.
    pub(crate) connect: Times,
    /// Times to connect, of connections that were made before it.
    pub(crate) connect_before: Times,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    /// Connections that were made.
    pub(crate) connections_made: u64,
    pub(crate) series: Vec<Second>,
    /// Histograms of the first seconds of the series.
    places: Vec<Places>,
    /// Times without a right answer.
    pub(crate) lulls: Lulls,
    /// Right answers of which every byte was compared.
    pub(crate) compared: u64,
    /// Requests that were sent, and right answers, inside and outside the measurement.
    pub(crate) all_sent: u64,
    pub(crate) all_right: u64,
    /// Outcomes by URL, if the plan has a list of URLs.
    pub(crate) by_url: Vec<OfUrl>,
    /// Right answers by connection, with the sum of their times.
    pub(crate) by_connection: Vec<OfConnection>,
    /// Requests under way on average.
    pub(crate) in_flight_mean: f64,
    /// The time in nanoseconds for which requests were under way within the measurement, minus the sum of the times of
    /// its answers. The two differ because a request under way at the start began before the measurement, and a request
    /// under way at the end has no answer whose time would count.
    pub(crate) edges_ns: i64,
    /// The age of the oldest request that was under way at the end, in nanoseconds.
    pub(crate) oldest_pending_ns: u64,
    /// The age of the oldest request that was given up, or was under way at the end, in nanoseconds.
    pub(crate) oldest_ns: u64,
    /// Requests that were due within the measurement and found no connection free until its end.
    pub(crate) never_sent: u64,
    /// How long requests without an answer had been due at the end, whether sent or not.
    pub(crate) unanswered: Times,
    /// Right answers by their time, from when they were due in an open loop, else from sending: see [`Doublings`].
    pub(crate) doublings: Doublings,
    /// When the thread ended: if the number of requests is given, when the last of them had its outcome.
    pub(crate) ended_ns: u64,
    /// CPU time of the thread that used the most, counted within the measurement, in microseconds.
    pub(crate) cpu_us: u64,
    /// Time for which the thread that waited most was ready and had no CPU, in microseconds.
    pub(crate) waited_us: u64,
    /// CPU time and waiting time together, of the thread with the largest sum, in microseconds.
    pub(crate) busy_us: u64,
}

impl Tally {
    /// Makes empty counts of a measurement that begins at `start_ns`, over `connections`.
    pub(crate) fn new(start_ns: u64, plan: &Plan, connections: usize) -> Self {
        Self {
            start_ns,
            is_open: matches!(plan.load, Load::Open { .. }),
            is_numbered: matches!(plan.until, Until::Requests(_)),
            deadline_ns: plan.deadline_ms.unwrap_or(u64::MAX).saturating_mul(1_000_000),
            counts: Counts::default(),
            in_time: 0,
            causes: BTreeMap::new(),
            came: None,
            kept: None,
            first_wrong: None,
            interim: (0, 0),
            odd_heads: OddHeads::default(),
            early: 0,
            statuses: BTreeMap::new(),
            run_of: (0, 0),
            own: OwnLimits::default(),
            response: Times::new(),
            service: Times::new(),
            first_byte: Times::new(),
            connect: Times::new(),
            connect_before: Times::new(),
            head_bytes: 0,
            body_bytes: 0,
            connections_made: 0,
            series: Vec::new(),
            places: Vec::new(),
            lulls: Lulls::new(start_ns),
            compared: 0,
            all_sent: 0,
            all_right: 0,
            by_url: plan.url_list.iter().map(|_| OfUrl::new()).collect(),
            by_connection: vec![OfConnection::default(); connections],
            in_flight_mean: 0.0,
            edges_ns: 0,
            oldest_pending_ns: 0,
            oldest_ns: 0,
            never_sent: 0,
            unanswered: Times::coarse(),
            ended_ns: 0,
            doublings: [0; DOUBLINGS],
            cpu_us: 0,
            waited_us: 0,
            busy_us: 0,
        }
    }

    /// Counts a request that goes out.
    #[inline]
    pub(crate) fn sent(&mut self, sent: &Sent) {
        self.all_sent += 1;
        if sent.counted {
            self.count_sent(sent.which);
        }
    }

    fn count_sent(&mut self, which: u32) {
        self.counts.sent += 1;
        if let Some(of) = self.by_url.get_mut(which as usize) {
            of.sent += 1;
        }
    }

    /// Whether a request whose outcome has just become known counts. A request that was under way when the measurement
    /// began counts as sent from now on.
    #[inline]
    fn counts(&mut self, sent: &Sent, now_ns: u64) -> bool {
        if sent.counted || now_ns < self.start_ns {
            return sent.counted;
        }
        if self.is_numbered {
            self.edges_ns += signed(now_ns - self.start_ns);
            return false;
        }
        self.edges_ns -= signed(self.start_ns - sent.begun_ns);
        self.count_sent(sent.which);
        true
    }

    /// Counts an answer that is whole.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        connection: usize,
        sent: Sent,
        AnswerTimes { first_byte_ns, now_ns }: AnswerTimes,
        answer: &JudgedAnswer,
    ) {
        self.all_right += u64::from(answer.judgement == Judgement::Right);
        if answer.interim > 0 {
            self.interim(&sent, answer.interim);
        }
        if !self.counts(&sent, now_ns) {
            return;
        }
        self.odd_heads.add(answer.head_bytes, answer.oddities);
        if self.run_of.0 != answer.status {
            self.end_run();
            self.run_of.0 = answer.status;
        }
        self.run_of.1 += 1;
        let is_open = self.is_open;
        let second = self.second(now_ns);
        if answer.judgement != Judgement::Right {
            second.wrong += 1;
            return self.answered_wrong(sent.which, answer.judgement);
        }
        let service_ns = now_ns.saturating_sub(sent.begun_ns);
        let response_ns = now_ns.saturating_sub(sent.due_ns);
        let told_ns = if is_open { response_ns } else { service_ns };
        second.right += 1;
        second.max_us = second.max_us.max(told_ns / 1000);
        second.sum_us += told_ns / 1000;
        second.squares += float(told_ns / 1000).powi(2);
        let index = usize::try_from(now_ns.saturating_sub(self.start_ns) / SECOND_NS).unwrap_or(usize::MAX);
        if let Some(places) = self.places.get_mut(index) {
            places.add(told_ns);
        }
        self.lulls.answered(now_ns);
        self.counts.right += 1;
        self.compared += u64::from(answer.compared);
        self.head_bytes += answer.head_bytes;
        self.body_bytes += answer.body_bytes;
        let of = &mut self.by_connection[connection];
        (of.right, of.sum_ns) = (of.right + 1, of.sum_ns + service_ns);
        self.service.add(service_ns);
        self.doublings[doubling(told_ns)] += 1;
        self.first_byte.add(first_byte_ns);
        if is_open {
            self.response.add(response_ns);
        }
        self.in_time += u64::from(told_ns <= self.deadline_ns);
        if let Some(of) = self.by_url.get_mut(sent.which as usize) {
            of.right += 1;
            of.times.add(told_ns);
        }
    }

    fn answered_wrong(&mut self, which: u32, judgement: Judgement) {
        let cause = match judgement {
            Judgement::Right | Judgement::WrongStatus => None,
            Judgement::WrongLength => Some(Cause::WrongLength),
            Judgement::WrongBytes => Some(Cause::WrongBytes),
        };
        match cause {
            // All statuses are counted by their numbers.
            None => self.counts.wrong_status += 1,
            Some(cause) => {
                self.counts.wrong_body += 1;
                *self.causes.entry(cause).or_default() += 1;
            }
        }
        self.wrong_of(which);
    }

    fn wrong_of(&mut self, which: u32) {
        if let Some(of) = self.by_url.get_mut(which as usize) {
            of.wrong += 1;
        }
    }

    /// Counts a connection that was made.
    pub(crate) fn connected(&mut self, took_ns: u64, now_ns: u64) {
        if now_ns < self.start_ns {
            return self.connect_before.add(took_ns);
        }
        self.connections_made += 1;
        self.connect.add(took_ns);
    }

    /// Counts interim answers that came before an answer, or that no answer followed.
    pub(crate) fn interim(&mut self, sent: &Sent, count: u32) {
        if sent.counted {
            self.interim = (self.interim.0 + u64::from(count), self.interim.1.max(count));
        }
    }

    /// Keeps the text that tells how much of a body had come before the timeout; only the first text is kept.
    pub(crate) fn came(&mut self, text: Option<String>) {
        self.came = self.came.take().or(text);
    }

    /// Notes that a kept connection was closed without notice after this many answers.
    pub(crate) fn ended_kept(&mut self, answers: u64) {
        let (few, many) = self.kept.unwrap_or((answers, answers));
        self.kept = Some((few.min(answers), many.max(answers)));
    }

    /// Keeps the first wrong answer, to be shown; `wrong` is called only for the first.
    pub(crate) fn wrong(&mut self, sent: &Sent, now_ns: u64, wrong: impl FnOnce() -> FirstWrong) {
        if self.first_wrong.is_none() && (sent.counted || (!self.is_numbered && now_ns >= self.start_ns)) {
            self.first_wrong = Some((now_ns, wrong()));
        }
    }

    /// Returns the causes in words, and how often each of them occurred.
    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        let named = |cause: &Cause| match (cause, &self.came, self.kept) {
            (Cause::TimedOut(Came::PartOfBody), Some(came), _) => format!("{cause}, {came} at the first"),
            (Cause::EndedKept, _, Some((few, many))) if few == many => {
                format!("{cause}, after {few} answers")
            }
            (Cause::EndedKept, _, Some((few, many))) => format!("{cause}, after {few} to {many} answers"),
            _ => cause.to_string(),
        };
        self.causes.iter().map(|(cause, count)| (named(cause), *count)).collect()
    }

    /// Counts a request that will have no answer.
    pub(crate) fn failed(&mut self, sent: Sent, now_ns: u64, cause: Cause) {
        if !self.counts(&sent, now_ns) {
            return;
        }
        self.oldest_ns = self.oldest_ns.max(now_ns.saturating_sub(sent.begun_ns));
        self.second(now_ns).wrong += 1;
        *self.causes.entry(cause).or_default() += 1;
        self.wrong_of(sent.which);
        match cause {
            Cause::TimedOut(_) => self.counts.timeout += 1,
            _ => self.counts.connection_error += 1,
        }
    }

    /// Counts a request that has no outcome at the end of the measurement.
    pub(crate) fn unfinished(&mut self, sent: Sent, end_ns: u64) {
        if end_ns < self.start_ns || !self.counts(&sent, end_ns) {
            return;
        }
        let age_ns = end_ns.saturating_sub(sent.begun_ns);
        self.counts.in_flight += 1;
        self.unanswered.add(end_ns.saturating_sub(sent.due_ns));
        self.oldest_ns = self.oldest_ns.max(age_ns);
        self.oldest_pending_ns = self.oldest_pending_ns.max(age_ns);
        // A request that was under way for longer than any answer took adds only the time of the longest answer. If it
        // began before the measurement, it adds at least the time that `counts` has subtracted, so that its own sum is
        // never negative.
        let before_ns = self.start_ns.saturating_sub(sent.begun_ns);
        self.edges_ns += signed(age_ns.min(self.service.max_ns()).max(before_ns));
    }

    /// Counts a request that was due and found no connection free until the end of the measurement.
    pub(crate) fn never_sent(&mut self, due_ns: u64, end_ns: u64) {
        if due_ns >= self.start_ns {
            self.never_sent += 1;
            self.unanswered.add(end_ns.saturating_sub(due_ns));
        }
    }

    /// Counts the last status at the end of the measurement.
    pub(crate) fn end_run(&mut self) {
        let (status, count) = std::mem::take(&mut self.run_of);
        if count > 0 {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    /// Adds the seconds in which no request had an outcome, up to the end of the measurement.
    pub(crate) fn fill_series(&mut self, elapsed_ns: u64) {
        self.series_up_to(elapsed_ns.div_ceil(SECOND_NS));
        for (second, places) in self.series.iter_mut().zip(&self.places) {
            (second.p50_us, second.p99_us) = (places.percentile_us(50), places.percentile_us(99));
        }
    }

    fn second(&mut self, now_ns: u64) -> &mut Second {
        let index = now_ns.saturating_sub(self.start_ns) / SECOND_NS;
        let length = self.series_up_to(index + 1);
        &mut self.series[length - 1]
    }

    /// Makes the series at least this long, and returns the length that was asked for.
    fn series_up_to(&mut self, seconds: u64) -> usize {
        let length = usize::try_from(seconds).unwrap_or(usize::MAX);
        if length > self.series.len() {
            self.series.resize(length, Second::default());
            self.places.resize(length.min(PLACED_SECONDS_MAX), Places([0; PLACES]));
        }
        length
    }

    /// Adds the counts of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.in_time += other.in_time;
        self.came = self.came.take().or(other.came);
        self.kept = match (self.kept, other.kept) {
            (Some((few, many)), Some((fewer, more))) => Some((few.min(fewer), many.max(more))),
            (own, theirs) => own.or(theirs),
        };
        self.first_wrong = [self.first_wrong.take(), other.first_wrong]
            .into_iter()
            .flatten()
            .min_by_key(|(came_ns, _)| *came_ns);
        self.interim = (self.interim.0 + other.interim.0, self.interim.1.max(other.interim.1));
        self.odd_heads.merge(&other.odd_heads);
        self.early += other.early;
        other.causes.iter().for_each(|(cause, count)| *self.causes.entry(*cause).or_default() += count);
        other.statuses.iter().for_each(|(status, count)| *self.statuses.entry(*status).or_default() += count);
        self.own.descriptors += other.own.descriptors;
        self.own.ports += other.own.ports;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        self.connect.merge(&other.connect);
        self.connect_before.merge(&other.connect_before);
        self.head_bytes += other.head_bytes;
        self.body_bytes += other.body_bytes;
        self.compared += other.compared;
        self.all_sent += other.all_sent;
        self.all_right += other.all_right;
        self.connections_made += other.connections_made;
        self.series_up_to(other.series.len() as u64);
        for (own, theirs) in self.places.iter_mut().zip(&other.places) {
            own.0.iter_mut().zip(theirs.0).for_each(|(own, theirs)| *own = own.saturating_add(theirs));
        }
        for (own, theirs) in self.series.iter_mut().zip(&other.series) {
            own.right += theirs.right;
            own.wrong += theirs.wrong;
            own.max_us = own.max_us.max(theirs.max_us);
            own.sum_us += theirs.sum_us;
            own.squares += theirs.squares;
        }
        self.lulls.merge(&other.lulls);
        for (own, theirs) in self.by_url.iter_mut().zip(&other.by_url) {
            own.sent += theirs.sent;
            own.right += theirs.right;
            own.wrong += theirs.wrong;
            own.times.merge(&theirs.times);
        }
        self.by_connection.extend(other.by_connection);
        self.in_flight_mean += other.in_flight_mean;
        self.edges_ns += other.edges_ns;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
        self.oldest_pending_ns = self.oldest_pending_ns.max(other.oldest_pending_ns);
        self.never_sent += other.never_sent;
        self.unanswered.merge(&other.unanswered);
        self.ended_ns = self.ended_ns.max(other.ended_ns);
        self.cpu_us = self.cpu_us.max(other.cpu_us);
        self.waited_us = self.waited_us.max(other.waited_us);
        self.busy_us = self.busy_us.max(other.busy_us);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    #[test]
    fn places_tell_times_within_an_eighth() {
        let mut places = Places([0; PLACES]);
        for us in 1..=1_000 {
            places.add(us * 1_000);
        }
        let near = |expected: f64, us: Option<f64>| {
            assert!(us.is_some_and(|us| (1.0..1.13).contains(&(us / expected))));
        };

        near(500.0, places.percentile_us(50));
        near(990.0, places.percentile_us(99));
        places.add(u64::MAX);
        let mut few = Places([0; PLACES]);
        (0..5).for_each(|_| few.add(1));
        assert_eq!(None, few.percentile_us(50));
        few.add(3_600_000_000_000);
        assert_eq!(Some(0.256), few.percentile_us(50));
    }

    /// A request that hangs from before the measurement until after its end must not make `edges_ns` negative.
    #[test]
    fn edges_are_never_less_than_nothing() {
        let plan = Plan::new("http://127.0.0.1:1/".parse().unwrap());
        let mut tally = Tally::new(10 * SECOND_NS, &plan, 1);
        tally.service.add(1_000);
        tally.unfinished(Sent { due_ns: 0, begun_ns: 0, which: 0, counted: false }, 11 * SECOND_NS);

        assert_eq!((1, 0), (tally.counts.in_flight, tally.edges_ns));
    }
}
