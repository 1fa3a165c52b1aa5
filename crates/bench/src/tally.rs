//! What became of every request: each that was sent ends in exactly one count.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use serde::Serialize;

use crate::answer::{Answer, Judgement};
use crate::latency::Times;

/// Requests by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests that were sent, or that could not be because nobody took the connection.
    pub sent: u64,
    /// Answers that are right in all that is checked.
    pub right: u64,
    /// Answers with a status that is not right.
    pub wrong_status: u64,
    /// Answers with a right status and another body.
    pub wrong_body: u64,
    /// Requests whose connection could not be made, was cut, or carried nonsense.
    pub connection_error: u64,
    /// Requests that were given up.
    pub timeout: u64,
    /// Requests without an outcome when the measurement ended.
    pub in_flight: u64,
}

impl Counts {
    /// All outcomes, those under way included; equals `sent`, or there is a mistake in this program.
    pub fn outcomes(&self) -> u64 {
        self.settled() + self.in_flight
    }

    /// All outcomes but those under way.
    pub(crate) fn settled(&self) -> u64 {
        self.right + self.wrong()
    }

    /// Everything that went wrong.
    pub fn wrong(&self) -> u64 {
        self.wrong_status + self.wrong_body + self.connection_error + self.timeout
    }

    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.right += other.right;
        self.wrong_status += other.wrong_status;
        self.wrong_body += other.wrong_body;
        self.connection_error += other.connection_error;
        self.timeout += other.timeout;
        self.in_flight += other.in_flight;
    }
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Connecting or sending failed, as the kernel says.
    Kernel(io::ErrorKind),
    /// The connection ended before anything of the answer came.
    EndedBefore,
    /// The connection ended within the answer.
    CutShort,
    /// The answer breaks a rule of HTTP.
    Malformed(&'static str),
    /// Bytes came that nobody had asked for.
    Unasked,
    /// A unix socket whose listen queue is full.
    QueueFull,
    /// No answer within the time that the user allows.
    TimedOut,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(io::ErrorKind::ConnectionRefused) => f.write_str("connection refused"),
            Self::Kernel(io::ErrorKind::ConnectionReset) => f.write_str("connection reset"),
            Self::Kernel(io::ErrorKind::BrokenPipe) => f.write_str("connection closed while sending"),
            Self::Kernel(io::ErrorKind::NotFound) => f.write_str("there is no such socket"),
            Self::Kernel(kind) => write!(f, "{kind}"),
            Self::EndedBefore => f.write_str("connection closed without an answer"),
            Self::CutShort => f.write_str("answer cut short"),
            Self::Malformed(reason) => write!(f, "malformed answer: {}", reason.trim_end_matches('.')),
            Self::Unasked => f.write_str("more came than was asked for"),
            Self::QueueFull => f.write_str("the listen queue is full"),
            Self::TimedOut => f.write_str("timed out"),
        }
    }
}

/// What this program itself ran out of; the server is not to blame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OwnLimits {
    /// Connections that were not made for want of a descriptor.
    pub descriptors: u64,
    /// Connections that were not made for want of a local port.
    pub ports: u64,
}

/// One second of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Second {
    /// Right answers.
    pub right: u64,
    /// Everything else that had an outcome.
    pub wrong: u64,
    /// The slowest right answer, in microseconds.
    pub max_us: u64,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// When it was due.
    pub(crate) due_ns: u64,
    /// When it was begun.
    pub(crate) begun_ns: u64,
    /// Which of the plan's requests it is.
    pub(crate) target: u32,
    /// It was begun within the measurement.
    pub(crate) counted: bool,
}

/// What became of one of several requests.
#[derive(Debug)]
pub(crate) struct OfTarget {
    pub(crate) sent: u64,
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    /// From when it was due with an open loop, else from when it was sent.
    pub(crate) times: Times,
}

impl OfTarget {
    fn new() -> Self {
        Self { sent: 0, right: 0, wrong: 0, times: Times::coarse() }
    }
}

/// A histogram for a live view: the first place counts what takes up to a microsecond, and each other what takes up to
/// twice as long as the one before.
pub type Doublings = [u64; DOUBLINGS];

/// The last one is for everything above 2²³ µs, which is eight seconds.
pub(crate) const DOUBLINGS: usize = 24;

fn doubling(ns: u64) -> usize {
    // At most 64.
    let bits = u64::BITS - (ns / 1000).leading_zeros();
    (bits as usize).min(DOUBLINGS - 1)
}

/// All that one thread has counted.
#[derive(Debug)]
pub(crate) struct Tally {
    start_ns: u64,
    /// Requests are due at times of their own.
    is_open: bool,
    pub(crate) counts: Counts,
    pub(crate) causes: BTreeMap<Cause, u64>,
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// The last status, and how often it came in a row: the map is looked at when it changes.
    run_of: (u16, u64),
    pub(crate) own: OwnLimits,
    /// From when it was due to its last byte; only with an open loop.
    pub(crate) response: Times,
    /// From when it was sent to its last byte.
    pub(crate) service: Times,
    /// From when it was sent to its first byte.
    pub(crate) first_byte: Times,
    pub(crate) connect: Times,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    /// Connections that were made.
    pub(crate) connections_made: u64,
    pub(crate) series: Vec<Second>,
    /// Right answers of which every byte was compared.
    pub(crate) compared: u64,
    /// Requests that were sent, and right answers, those outside the measurement included.
    pub(crate) all_sent: u64,
    pub(crate) all_right: u64,
    /// By what was asked for, if there is a list.
    pub(crate) by_target: Vec<OfTarget>,
    /// Right answers by connection.
    pub(crate) by_connection: Vec<u64>,
    /// How many requests were under way on average.
    pub(crate) in_flight_mean: f64,
    /// The age of the oldest request that was given up, or was under way at the end, in nanoseconds.
    pub(crate) oldest_ns: u64,
    /// Requests that were due within the measurement and found no connection free until its end.
    pub(crate) never_sent: u64,
    /// Right answers by their time from sending: see [`Doublings`].
    pub(crate) doublings: Doublings,
    /// When the thread has ended: with a number of requests, when the last of them had its outcome.
    pub(crate) ended_ns: u64,
    /// CPU time within the measurement of the thread that used most, in microseconds.
    pub(crate) cpu_us: u64,
}

impl Tally {
    pub(crate) fn new(start_ns: u64, is_open: bool, (connections, targets): (usize, usize)) -> Self {
        Self {
            start_ns,
            is_open,
            counts: Counts::default(),
            causes: BTreeMap::new(),
            statuses: BTreeMap::new(),
            run_of: (0, 0),
            own: OwnLimits::default(),
            response: Times::new(),
            service: Times::new(),
            first_byte: Times::new(),
            connect: Times::new(),
            head_bytes: 0,
            body_bytes: 0,
            connections_made: 0,
            series: Vec::new(),
            compared: 0,
            all_sent: 0,
            all_right: 0,
            by_target: (0..targets).map(|_| OfTarget::new()).collect(),
            by_connection: vec![0; connections],
            in_flight_mean: 0.0,
            oldest_ns: 0,
            never_sent: 0,
            ended_ns: 0,
            doublings: [0; DOUBLINGS],
            cpu_us: 0,
        }
    }

    /// A request goes out.
    #[inline]
    pub(crate) fn sent(&mut self, sent: &Sent) {
        self.all_sent += 1;
        self.counts.sent += u64::from(sent.counted);
        if let Some(of) = self.by_target.get_mut(sent.target as usize) {
            of.sent += u64::from(sent.counted);
        }
    }

    /// An answer has come whole.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        connection: usize,
        sent: Sent,
        (first_ns, now_ns): (u64, u64),
        answer: &Answer,
    ) {
        self.all_right += u64::from(answer.judgement == Judgement::Right);
        if !sent.counted {
            return;
        }
        if self.run_of.0 != answer.status {
            self.end_run();
            self.run_of.0 = answer.status;
        }
        self.run_of.1 += 1;
        let second = self.second(now_ns);
        if answer.judgement != Judgement::Right {
            second.wrong += 1;
            match answer.judgement {
                Judgement::WrongStatus => self.counts.wrong_status += 1,
                _ => self.counts.wrong_body += 1,
            }
            self.wrong_of(sent.target);
            return;
        }
        let service_ns = now_ns.saturating_sub(sent.begun_ns);
        second.right += 1;
        second.max_us = second.max_us.max(service_ns / 1000);
        self.counts.right += 1;
        self.compared += u64::from(answer.compared);
        self.head_bytes += answer.head_bytes;
        self.body_bytes += answer.body_bytes;
        self.by_connection[connection] += 1;
        self.service.add(service_ns);
        self.doublings[doubling(service_ns)] += 1;
        self.first_byte.add(first_ns.saturating_sub(sent.begun_ns));
        let response_ns = now_ns.saturating_sub(sent.due_ns);
        if self.is_open {
            self.response.add(response_ns);
        }
        if let Some(of) = self.by_target.get_mut(sent.target as usize) {
            of.right += 1;
            of.times.add(if self.is_open { response_ns } else { service_ns });
        }
    }

    fn wrong_of(&mut self, target: u32) {
        if let Some(of) = self.by_target.get_mut(target as usize) {
            of.wrong += 1;
        }
    }

    /// There will be no answer.
    pub(crate) fn failed(&mut self, sent: Sent, now_ns: u64, cause: Cause) {
        if !sent.counted {
            return;
        }
        self.oldest_ns = self.oldest_ns.max(now_ns.saturating_sub(sent.begun_ns));
        self.second(now_ns).wrong += 1;
        *self.causes.entry(cause).or_default() += 1;
        self.wrong_of(sent.target);
        match cause {
            Cause::TimedOut => self.counts.timeout += 1,
            _ => self.counts.connection_error += 1,
        }
    }

    /// The measurement is over.
    pub(crate) fn end_run(&mut self) {
        let (status, count) = std::mem::take(&mut self.run_of);
        if count > 0 {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    fn second(&mut self, now_ns: u64) -> &mut Second {
        let index =
            usize::try_from(now_ns.saturating_sub(self.start_ns) / 1_000_000_000).unwrap_or(usize::MAX);
        if index >= self.series.len() {
            self.series.resize(index + 1, Second::default());
        }
        &mut self.series[index]
    }

    /// Adds what another thread has counted.
    pub(crate) fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        other.causes.iter().for_each(|(cause, count)| *self.causes.entry(*cause).or_default() += count);
        other.statuses.iter().for_each(|(status, count)| *self.statuses.entry(*status).or_default() += count);
        self.own.descriptors += other.own.descriptors;
        self.own.ports += other.own.ports;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        self.connect.merge(&other.connect);
        self.head_bytes += other.head_bytes;
        self.body_bytes += other.body_bytes;
        self.compared += other.compared;
        self.all_sent += other.all_sent;
        self.all_right += other.all_right;
        self.connections_made += other.connections_made;
        self.series.resize(self.series.len().max(other.series.len()), Second::default());
        for (own, theirs) in self.series.iter_mut().zip(&other.series) {
            own.right += theirs.right;
            own.wrong += theirs.wrong;
            own.max_us = own.max_us.max(theirs.max_us);
        }
        for (own, theirs) in self.by_target.iter_mut().zip(&other.by_target) {
            own.sent += theirs.sent;
            own.right += theirs.right;
            own.wrong += theirs.wrong;
            own.times.merge(&theirs.times);
        }
        self.by_connection.extend(other.by_connection);
        self.in_flight_mean += other.in_flight_mean;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
        self.never_sent += other.never_sent;
        self.ended_ns = self.ended_ns.max(other.ended_ns);
        self.cpu_us = self.cpu_us.max(other.cpu_us);
    }
}
