//! Requests that were refused: counted by cause, and logged once a minute for each cause.
//!
//! A line for each would let a client fill the disk; none would leave nobody any trace of why his requests fail.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_http1::Refusal;
use adyton_log::{self as log, messages};
use adyton_sys::clock;

use crate::server::lock;
use crate::tally::{Cell, Tally};

/// A cause is told at once, and then not again before this has passed.
const TOLD_EVERY_MS: u64 = 60_000;

/// A connection has to make room for others.
pub(crate) const CROWDED: Refusal =
    Refusal { status: 503, reason: "There are too many connections, and this one is slow." };

/// Why requests are refused, in the order of their cells on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Cause {
    Malformed,
    HeadTooSlow,
    BodyTooSlow,
    BodyTooLarge,
    LineTooLong,
    HeadTooLarge,
    NoRoom,
    Crowded,
    Overload,
    Unsupported,
}

/// How many there are.
const CAUSES: usize = ALL.len();

impl Cause {
    /// Why this was refused; `None`: it is the application that has failed.
    pub(crate) fn of(refusal: Refusal, in_body: bool) -> Option<Self> {
        Some(match refusal.status {
            408 if in_body => Self::BodyTooSlow,
            408 => Self::HeadTooSlow,
            413 => Self::BodyTooLarge,
            414 => Self::LineTooLong,
            431 => Self::HeadTooLarge,
            503 if refusal == CROWDED => Self::Crowded,
            503 => Self::NoRoom,
            417 | 501 | 505 => Self::Unsupported,
            400..=499 => Self::Malformed,
            _ => return None,
        })
    }

    fn cell(self) -> Cell {
        const CELLS: [Cell; CAUSES] = [
            Cell::Malformed,
            Cell::HeadTooSlow,
            Cell::BodyTooSlow,
            Cell::BodyTooLarge,
            Cell::LineTooLong,
            Cell::HeadTooLarge,
            Cell::NoRoom,
            Cell::Crowded,
            Cell::Overload,
            Cell::Unsupported,
        ];
        CELLS[self as usize]
    }

    /// What to change if such requests are to be served.
    fn remedy(self) -> &'static str {
        match self {
            Self::Malformed => {
                "the client has to be mended (--underscore-headers is the only rule that can be set)"
            }
            Self::HeadTooSlow => "--header-timeout says how long a head may take",
            Self::BodyTooSlow => "--body-idle-timeout and --body-rate-min say how slow a body may be",
            Self::BodyTooLarge => "--body-bytes-max says how large a body may be",
            Self::LineTooLong => "--request-line-bytes-max says how long it may be",
            Self::HeadTooLarge => {
                "--header-bytes-max, --header-field-bytes-max and --header-fields-max say how large it may be"
            }
            Self::NoRoom => "--body-files-bytes-max and --temp-dir say how much room there is",
            Self::Crowded => "--connections-max and the limit of open files say how many there may be",
            Self::Overload => "--threads, --queue-limit and --queue-timeout say how much is taken on",
            Self::Unsupported => "no setting changes that",
        }
    }
}

/// What is known of one cause and not told yet.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    requests: u64,
    /// When it was told last; `None`: never.
    told_ms: Option<u64>,
    /// Of the last request.
    last: Option<(Option<SocketAddr>, Refusal)>,
}

impl Untold {
    fn is_due(&self, now_ms: u64) -> bool {
        self.requests > 0 && self.told_ms.is_none_or(|told_ms| now_ms >= told_ms + TOLD_EVERY_MS)
    }

    /// Says it in a sentence; nothing is left to be told then.
    fn tell(&mut self, cause: Cause, now_ms: u64) -> Option<String> {
        let (peer, Refusal { status, reason }) = self.last?;
        let requests = std::mem::take(&mut self.requests);
        let since_ms = self.told_ms.replace(now_ms);
        let client =
            peer.map_or_else(|| "a client at a unix socket".to_owned(), |peer| peer.ip().to_string());
        let mut text = match (requests, since_ms) {
            (1, _) => format!("a request from {client} was refused"),
            (_, since_ms) => {
                let seconds = since_ms.map_or(0, |since_ms| (now_ms - since_ms) / 1000);
                format!("{requests} requests were refused in {seconds} s, the last one from {client},")
            }
        };
        let _ = write!(text, " with {status}: {} {}", ended(reason), cause.remedy());
        Some(text)
    }
}

/// With a full stop.
fn ended(reason: &str) -> String {
    format!("{}.", reason.trim_end_matches('.'))
}

/// The refusals of a server.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    causes: Mutex<[Untold; CAUSES]>,
    /// Whether something is left to be told.
    is_left: AtomicBool,
}

impl Refusals {
    /// A request was refused.
    pub(crate) fn note(&self, tally: &Tally, cause: Cause, refusal: Refusal, peer: Option<SocketAddr>) {
        tally.count(cause.cell());
        let now_ms = clock::monotonic_ms();
        let mut causes = lock(&self.causes);
        let untold = &mut causes[cause as usize];
        untold.requests += 1;
        untold.last = Some((peer, refusal));
        let text = if untold.is_due(now_ms) { untold.tell(cause, now_ms) } else { None };
        drop(causes);
        match text {
            Some(text) => log::write(&messages::REFUSALS, format_args!("{text}")),
            None => self.is_left.store(true, Ordering::Relaxed),
        }
    }

    /// Tells what is due, or at the end everything.
    pub(crate) fn tell(&self, now_ms: u64, is_end: bool) {
        if !self.is_left.swap(false, Ordering::Relaxed) {
            return;
        }
        for cause in ALL {
            let mut causes = lock(&self.causes);
            let untold = &mut causes[cause as usize];
            let is_due = untold.is_due(now_ms) || (is_end && untold.requests > 0);
            let text = if is_due { untold.tell(cause, now_ms) } else { None };
            let is_left = untold.requests > 0;
            drop(causes);
            if let Some(text) = text {
                log::write(&messages::REFUSALS, format_args!("{text}"));
            }
            if is_left {
                self.is_left.store(true, Ordering::Relaxed);
            }
        }
    }
}

const ALL: [Cause; 10] = [
    Cause::Malformed,
    Cause::HeadTooSlow,
    Cause::BodyTooSlow,
    Cause::BodyTooLarge,
    Cause::LineTooLong,
    Cause::HeadTooLarge,
    Cause::NoRoom,
    Cause::Crowded,
    Cause::Overload,
    Cause::Unsupported,
];

#[cfg(test)]
mod tests {
    use adyton_http1::Refusal;

    use super::{ALL, Cause, TOLD_EVERY_MS, Untold};

    const TOO_LARGE: Refusal = Refusal { status: 413, reason: "too large" };

    /// The first is told at once, the next ones together after a minute.
    #[test]
    fn once_a_minute() {
        let mut untold = Untold::default();
        let mut told = Vec::new();
        for now_ms in [1, 2, 3, TOLD_EVERY_MS, TOLD_EVERY_MS + 1] {
            untold.requests += 1;
            untold.last = Some((Some(([192, 0, 2, 1], 5).into()), TOO_LARGE));
            if untold.is_due(now_ms) {
                told.extend(untold.tell(Cause::BodyTooLarge, now_ms));
            }
        }
        let rest = "with 413: too large. --body-bytes-max says how large a body may be";

        assert_eq!(
            vec![
                format!("a request from 192.0.2.1 was refused {rest}"),
                format!("4 requests were refused in 60 s, the last one from 192.0.2.1, {rest}"),
            ],
            told
        );
        assert!(!untold.is_due(u64::MAX));
    }

    /// Every refusal has a cause, and a cell of its own.
    #[test]
    fn causes() {
        let of = |status| Cause::of(Refusal { status, reason: "" }, false);

        assert_eq!(None, of(504));
        assert_eq!(Some(Cause::Malformed), of(400));
        assert_eq!(Some(Cause::HeadTooSlow), of(408));
        assert_eq!(Some(Cause::BodyTooSlow), Cause::of(Refusal { status: 408, reason: "" }, true));
        for (at, cause) in ALL.into_iter().enumerate() {
            assert_eq!(at, cause as usize);
            assert_eq!(crate::tally::Cell::Malformed as usize + at, cause.cell() as usize);
        }
    }
}
