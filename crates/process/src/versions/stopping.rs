//! The end of the server: whether it was asked for, how fast it is to be, and when the workers get the order.
//!
//! This module does no I/O: it takes events with their times, and returns decisions.

/// Two signals that are less than this apart count as one.
const TWICE_MS: u64 = 100;

/// A stop that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    /// The time when the stop was asked for.
    asked_ms: u64,
    /// The time when workers get the order; before it, readiness probes fail already.
    at_ms: u64,
    is_fast: bool,
    /// The status, for a server that has not started.
    failed: Option<u8>,
}

/// The stop of the server, if it has begun.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stopping {
    /// Time between the beginning of a graceful stop and its first act.
    delay_ms: u64,
    begun: Option<Stop>,
}

/// The announcement of a stop when it begins, and again when it becomes faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// `stopping when running requests are done`
    Gracefully,
    /// `stopping at once`
    AtOnce,
}

impl Said {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Gracefully => "when running requests are done",
            Self::AtOnce => "at once",
        }
    }
}

impl Stopping {
    /// Makes a server that does not stop yet; a graceful stop acts `delay_ms` after it was asked for.
    pub(crate) fn new(delay_ms: u64) -> Self {
        Self { delay_ms, begun: None }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Takes SIGTERM or SIGINT: a second one makes the stop fast. One signal for a whole process group may come twice:
    /// from the terminal, and from a program that passes it on.
    pub(crate) fn interrupt(&mut self, now_ms: u64) -> Option<Said> {
        let is_second = self.begun.is_some_and(|stop| now_ms >= stop.asked_ms + TWICE_MS);
        self.ask(is_second, now_ms)
    }

    /// Begins to stop, or stops faster; returns the announcement if there is a new one.
    pub(crate) fn ask(&mut self, is_fast: bool, now_ms: u64) -> Option<Said> {
        let at_ms = if is_fast { now_ms } else { now_ms + self.delay_ms };
        let stop = match self.begun {
            None => Stop { asked_ms: now_ms, at_ms, is_fast, failed: None },
            // Workers that were told have closed their sockets: there is no way back.
            Some(begun) => Stop { at_ms: at_ms.min(begun.at_ms), is_fast: is_fast || begun.is_fast, ..begun },
        };
        let is_news = self.begun.is_none_or(|begun| stop.is_fast && !begun.is_fast);
        self.begun = Some(stop);
        is_news.then_some(if stop.is_fast { Said::AtOnce } else { Said::Gracefully })
    }

    /// If the server does not start, ends it with this status, unless it is stopping already.
    pub(crate) fn fail(&mut self, status: u8, now_ms: u64) {
        let failed = Stop { asked_ms: now_ms, at_ms: now_ms, is_fast: true, failed: Some(status) };
        self.begun.get_or_insert(failed);
    }

    /// Returns the status of a server that has not started.
    pub(crate) fn failed(&self) -> Option<u8> {
        self.begun.and_then(|stop| stop.failed)
    }

    /// Returns whether workers are to end at once, if they are to be told now; else `None`.
    pub(crate) fn due(&self, now_ms: u64) -> Option<bool> {
        self.begun.filter(|stop| now_ms >= stop.at_ms).map(|stop| stop.is_fast)
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, Stopping};

    /// An event, and its time.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// SIGTERM or SIGINT.
        Interrupt(u64),
        /// SIGQUIT, or `adyton stop --fast`.
        Fast(u64),
        /// `adyton stop`.
        Graceful(u64),
        /// The first worker does not start.
        Fails(u64),
    }

    /// A row: the events, the announcement at each, the time when workers are told to end, whether they are to end at
    /// once, and the status of a server that has not started.
    type Row = (&'static [Event], &'static [Option<Said>], u64, bool, Option<u8>);

    use Event::{Fails, Fast, Graceful, Interrupt};
    use Said::{AtOnce, Gracefully};

    /// Events begin a stop or make it faster, and never slower, in whatever order they come.
    #[test]
    fn orders() {
        let table: &[Row] = &[
            (&[Interrupt(0)], &[Some(Gracefully)], 500, false, None),
            (&[Graceful(0)], &[Some(Gracefully)], 500, false, None),
            (&[Fast(0)], &[Some(AtOnce)], 0, true, None),
            (&[Fails(0)], &[None], 0, true, Some(3)),
            // A signal that comes again less than 100 ms later counts once; after that it is a second signal.
            (&[Interrupt(0), Interrupt(99)], &[Some(Gracefully), None], 500, false, None),
            (&[Interrupt(0), Interrupt(100)], &[Some(Gracefully), Some(AtOnce)], 100, true, None),
            (&[Graceful(0), Interrupt(99)], &[Some(Gracefully), None], 500, false, None),
            (&[Graceful(0), Interrupt(100)], &[Some(Gracefully), Some(AtOnce)], 100, true, None),
            (&[Interrupt(0), Graceful(700)], &[Some(Gracefully), None], 500, false, None),
            (&[Graceful(0), Graceful(200)], &[Some(Gracefully), None], 500, false, None),
            // A stop can become faster at any time, and never slower again.
            (&[Interrupt(0), Fast(10)], &[Some(Gracefully), Some(AtOnce)], 10, true, None),
            (&[Graceful(0), Fast(900)], &[Some(Gracefully), Some(AtOnce)], 500, true, None),
            (&[Fast(0), Interrupt(10)], &[Some(AtOnce), None], 0, true, None),
            (&[Fast(0), Graceful(10)], &[Some(AtOnce), None], 0, true, None),
            (&[Fast(0), Fast(10)], &[Some(AtOnce), None], 0, true, None),
            (
                &[Interrupt(0), Interrupt(200), Interrupt(400)],
                &[Some(Gracefully), Some(AtOnce), None],
                200,
                true,
                None,
            ),
            // A server that does not start has failed, whatever comes later, unless it was being stopped already.
            (&[Fails(0), Interrupt(10)], &[None, None], 0, true, Some(3)),
            (&[Fails(0), Fast(10)], &[None, None], 0, true, Some(3)),
            (&[Interrupt(0), Fails(10)], &[Some(Gracefully), None], 500, false, None),
            (&[Fast(0), Fails(10)], &[Some(AtOnce), None], 0, true, None),
        ];
        for (events, expected, due_ms, is_fast, failed) in table {
            let mut stopping = Stopping::new(500);
            assert_eq!((false, None), (stopping.has_begun(), stopping.due(u64::MAX)));
            let said: Vec<Option<Said>> = events
                .iter()
                .map(|event| match *event {
                    Interrupt(now_ms) => stopping.interrupt(now_ms),
                    Fast(now_ms) => stopping.ask(true, now_ms),
                    Graceful(now_ms) => stopping.ask(false, now_ms),
                    Fails(now_ms) => {
                        stopping.fail(3, now_ms);
                        None
                    }
                })
                .collect();

            assert_eq!(*expected, said, "{events:?}");
            assert_eq!(Some(*is_fast), stopping.due(*due_ms), "{events:?}");
            assert_eq!(
                None,
                due_ms.checked_sub(1).and_then(|before_ms| stopping.due(before_ms)),
                "{events:?}"
            );
            assert_eq!((true, *failed), (stopping.has_begun(), stopping.failed()), "{events:?}");
        }
    }
}
