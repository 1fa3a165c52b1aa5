//! Requests that were refused: counted by cause, and logged once a minute for each cause.
//!
//! With a line for each, a client could fill the disk; without any, nobody would know why requests fail.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use adyton_http1::Refusal;
use adyton_log::{self as log, messages};
use adyton_sys::clock;

use crate::board::tally::{Cell, Tally};
use crate::lock::lock;

/// The least time between two log lines about one cause; the first line is written at once.
const TOLD_EVERY_MS: u64 = 60_000;

/// A client that needs too long for its request (RFC 9110 section 15.5.9).
pub(crate) const TOO_SLOW: Refusal = Refusal { status: 408, reason: "the request came too slowly" };

pub(crate) const TOO_LARGE: Refusal =
    Refusal { status: 413, reason: "the request body is larger than the limit" };

pub(crate) const UNDERSCORE: Refusal = Refusal { status: 400, reason: "a field name has an underscore" };

/// The client has gone in the middle of the body, or its connection has failed.
pub(crate) const BROKE_OFF: Refusal = Refusal { status: 400, reason: "the request body broke off" };

pub(crate) const NO_ROOM: Refusal = Refusal { status: 500, reason: "the request body could not be stored" };

/// All the disk space for bodies is taken.
pub(crate) const NO_DISK: Refusal = Refusal { status: 503, reason: "too many large request bodies at once" };

/// The application would read the body live on the last free thread, which must not wait for a client.
pub(crate) const NO_READER: Refusal =
    Refusal { status: 503, reason: "no thread can wait for the request body" };

/// A client that waits for `100 Continue` is refused at once if its request would be turned away later.
pub(crate) const QUEUE_FULL: Refusal =
    Refusal { status: 503, reason: "too many requests wait for the application" };

/// Too many passwords wait: they are verified one after the other.
pub(crate) const CHECKS_FULL: Refusal =
    Refusal { status: 503, reason: "too many passwords wait to be verified" };

/// As many scripts run as the limit allows, and none has ended in time.
pub(crate) const SCRIPTS_FULL: Refusal = Refusal { status: 503, reason: "too many scripts run already" };

pub(crate) const NO_THREAD: Refusal = Refusal { status: 503, reason: "no thread came free in time" };

/// A connection has to make room for other connections.
pub(crate) const CROWDED: Refusal =
    Refusal { status: 503, reason: "There are too many connections, and this one is slow." };

/// The passage to the processes that should answer is full, or closed.
pub(crate) const NO_PROCESS: Refusal =
    Refusal { status: 503, reason: "no process of the application took the request in time" };

/// The body was read before it was known which process answers; now it is in a file, or too large to move.
pub(crate) const NOT_MOVED: Refusal =
    Refusal { status: 503, reason: "the request body cannot move to the process that answers" };

/// Each process believes that another one answers the request.
pub(crate) const NO_AGREEMENT: Refusal =
    Refusal { status: 503, reason: "the processes of this server do not agree on who answers this" };

pub(crate) const TIMED_OUT: Refusal =
    Refusal { status: 504, reason: "the application takes too long, and does not react" };

/// The causes of refusals: the cell that counts each cause, and what to change if such requests are to be served.
const CAUSES: [(Cell, &str); 11] = [
    (Cell::Malformed, "the client has to be mended (--underscore-headers is the only rule that can be set)"),
    (Cell::HeadTooSlow, "--header-timeout says how long a head may take"),
    (Cell::BodyTooSlow, "--body-idle-timeout and --body-rate-min say how slow a body may be"),
    (Cell::BodyTooLarge, "--body-bytes-max says how large a body may be"),
    (Cell::LineTooLong, "--request-line-bytes-max says how long it may be"),
    (
        Cell::HeadTooLarge,
        "--header-bytes-max, --header-field-bytes-max and --header-fields-max say how large it may be",
    ),
    (Cell::NoRoom, "--body-files-bytes-max and --temp-dir say how much room there is"),
    (Cell::Crowded, "--connections-max and the limit of open files say how many there may be"),
    (
        Cell::Overload,
        "--threads, --cgi-processes, --queue-limit and --queue-timeout say how many requests are taken on",
    ),
    (Cell::NoGroup, "adyton status says how each group stands, and the log of each says why"),
    (Cell::Unsupported, "no setting changes that"),
];

/// Returns the cell that counts a refusal by its cause; `in_body` if the request's head was accepted. `None` if the
/// application has failed, or the client has gone.
fn cause_of(refusal: Refusal, in_body: bool) -> Option<Cell> {
    Some(match (refusal.status, refusal) {
        (_, BROKE_OFF) => return None,
        (_, CROWDED) => Cell::Crowded,
        (_, NO_PROCESS | NO_AGREEMENT) => Cell::NoGroup,
        (_, NOT_MOVED) => Cell::Unsupported,
        (_, NO_DISK | NO_ROOM) => Cell::NoRoom,
        (408, _) if in_body => Cell::BodyTooSlow,
        (408, _) => Cell::HeadTooSlow,
        (413, _) => Cell::BodyTooLarge,
        (414, _) => Cell::LineTooLong,
        (431, _) => Cell::HeadTooLarge,
        (503, _) => Cell::Overload,
        (417 | 501 | 505, _) => Cell::Unsupported,
        (400..=499, _) => Cell::Malformed,
        _ => return None,
    })
}

/// Bytes of a refused request that are looked at and logged.
const START_BYTES: usize = 256;

/// The beginning of a request, without the empty line that may precede it.
pub(crate) fn start_of(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\r\n").unwrap_or(bytes);
    bytes[..bytes.len().min(START_BYTES)].to_vec()
}

/// Refusals of one cause that were not logged yet.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    requests: u64,
    /// When the cause was logged last; `None` if it never was.
    told_ms: Option<u64>,
    /// The client and the refusal of the last request.
    last: Option<(Option<SocketAddr>, Refusal)>,
}

impl Untold {
    fn is_due(&self, now_ms: u64) -> bool {
        self.requests > 0 && self.told_ms.is_none_or(|told_ms| now_ms >= told_ms + TOLD_EVERY_MS)
    }

    /// Returns a sentence for the log, after which nothing is left to be told.
    fn tell(&mut self, remedy: &str, now_ms: u64) -> Option<String> {
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
        let _ = write!(text, " with {status}: {} {}", ended(reason), remedy);
        Some(text)
    }
}

/// Returns a reason with a full stop at its end.
fn ended(reason: &str) -> String {
    format!("{}.", reason.trim_end_matches('.'))
}

/// The refusals of a server.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// The refusals of each cause, in the order of [`CAUSES`].
    causes: Mutex<[Untold; CAUSES.len()]>,
    /// Whether something is left to be logged.
    is_left: AtomicBool,
}

impl Refusals {
    /// Counts a request that was refused; `in_body` if its head was accepted.
    pub(crate) fn note(&self, tally: &Tally, refusal: Refusal, in_body: bool, peer: Option<SocketAddr>) {
        let Some(cell) = cause_of(refusal, in_body) else { return };
        tally.count(cell);
        let Some(at) = CAUSES.iter().position(|cause| cause.0 == cell) else { return };
        let now_ms = clock::monotonic_ms();
        let mut causes = lock(&self.causes);
        let untold = &mut causes[at];
        untold.requests += 1;
        untold.last = Some((peer, refusal));
        let text = if untold.is_due(now_ms) { untold.tell(CAUSES[at].1, now_ms) } else { None };
        drop(causes);
        match text {
            Some(text) => log::write(&messages::REFUSALS, format_args!("{text}")),
            None => self.is_left.store(true, Ordering::Relaxed),
        }
    }

    /// Logs the causes that are due, or all of them at the end.
    pub(crate) fn tell(&self, now_ms: u64, is_end: bool) {
        if !self.is_left.swap(false, Ordering::Relaxed) {
            return;
        }
        for (at, (_, remedy)) in CAUSES.into_iter().enumerate() {
            let mut causes = lock(&self.causes);
            let untold = &mut causes[at];
            let is_due = untold.is_due(now_ms) || (is_end && untold.requests > 0);
            let text = if is_due { untold.tell(remedy, now_ms) } else { None };
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

#[cfg(test)]
mod tests {
    use adyton_http1::Refusal;

    use super::{
        BROKE_OFF, CAUSES, NO_AGREEMENT, NO_PROCESS, NO_READER, NO_ROOM, NOT_MOVED, QUEUE_FULL,
        TOLD_EVERY_MS, TOO_LARGE, Untold, cause_of,
    };
    use crate::board::tally::Cell;

    /// The first refusal is logged at once, the next ones together after a minute.
    #[test]
    fn once_a_minute() {
        let mut untold = Untold::default();
        let mut told = Vec::new();
        for now_ms in [1, 2, 3, TOLD_EVERY_MS, TOLD_EVERY_MS + 1] {
            untold.requests += 1;
            untold.last = Some((Some(([192, 0, 2, 1], 5).into()), TOO_LARGE));
            if untold.is_due(now_ms) {
                told.extend(untold.tell(CAUSES[3].1, now_ms));
            }
        }
        let rest = "with 413: the request body is larger than the limit. --body-bytes-max says how large a body may be";

        assert_eq!(
            vec![
                format!("a request from 192.0.2.1 was refused {rest}"),
                format!("4 requests were refused in 60 s, the last one from 192.0.2.1, {rest}"),
            ],
            told
        );
        assert!(!untold.is_due(u64::MAX));
    }

    /// Every refusal has a cause, unless the application has failed or the client has gone.
    #[test]
    fn causes() {
        let of = |status| cause_of(Refusal { status, reason: "" }, false);

        assert_eq!(None, of(504));
        assert_eq!(None, cause_of(BROKE_OFF, true));
        assert_eq!(Some(Cell::Malformed), of(400));
        assert_eq!(Some(Cell::HeadTooSlow), of(408));
        assert_eq!(Some(Cell::BodyTooSlow), cause_of(Refusal { status: 408, reason: "" }, true));
        assert_eq!(Some(Cell::NoRoom), cause_of(NO_ROOM, true));
        assert_eq!(Some(Cell::Overload), cause_of(QUEUE_FULL, false));
        assert_eq!(Some(Cell::Overload), cause_of(NO_READER, true));
        assert_eq!(Some(Cell::NoGroup), cause_of(NO_PROCESS, false));
        assert_eq!(Some(Cell::NoGroup), cause_of(NO_AGREEMENT, false));
        assert_eq!(Some(Cell::Unsupported), cause_of(NOT_MOVED, false));
    }
}
