//! Threads inside the application, and what happens when there are too few.

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// Threads inside the application, and what happens when there are too few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Threads {
    pub threads: u32,
    pub hand_over: HandOver,
    pub slow_nice: u8,
    pub queue_limit: u64,
    pub queue_timeout_ms: u64,
    /// 0: no limit.
    pub request_timeout_ms: u64,
    /// 0: no limit.
    pub request_total_timeout_ms: u64,
    pub stream_body: bool,
    pub stream_body_threads_max: u64,
    pub output_bytes_max: u64,
}

impl<S: Has<Threads>> Section<S> for Threads {
    const HEADING: &'static str = "Threads and overload";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "threads",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 1,
                most: 4096,
                // The range of the row makes the number fit.
                set: |settings, number| settings.as_mut().threads = u32::try_from(number).unwrap_or(1),
            },
            default: "16",
            example: "64",
            help: "maximum number of threads in the application",
            detail: "A request runs on the thread that has read it. If it takes long, another thread takes over the \
                     event loop, up to this many at once. More threads help if requests wait (for a database, another \
                     server), not if they compute. A thread that waits for its client does not count. 1 is for \
                     applications that are not thread-safe: only the main thread enters them.",
            ..Self::ROW
        },
        Row {
            name: "hand-over",
            kind: Kind::Choice {
                words: &["auto", "always", "never"],
                set: |settings, index| {
                    settings.as_mut().hand_over = [HandOver::Auto, HandOver::Always, HandOver::Never][index];
                },
            },
            default: "auto",
            example: "never",
            help: "when another thread takes the event loop over",
            detail: "`auto`: when a request takes longer than a few milliseconds; requests for endpoints that are \
                     mostly slow go to other threads at once. `always`: before a request begins, which costs every \
                     request two thread switches. `never`: a slow request holds up all others, as in servers without \
                     threads. `always` and `never` are for tests and comparisons.",
            ..Self::ROW
        },
        Row {
            name: "slow-nice",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 0,
                most: 19,
                // The range of the row makes the number fit.
                set: |settings, number| settings.as_mut().slow_nice = u8::try_from(number).unwrap_or(0),
            },
            default: "10",
            example: "5",
            help: "nice(2) steps for threads that ran slow code",
            detail: "Once a thread has run a slow request with 10 ms of CPU time or more, it runs this many steps of \
                     nice(2) below the thread of the event loop, so that static files and quick pages go on when the \
                     CPU is busy. With 0 all threads have the same priority. Other programs on the CPU come before \
                     such threads, too, unless the server has a control group of its own, as in a container or in a \
                     systemd service with a CPU weight.",
            ..Self::ROW
        },
        Row {
            name: "queue-limit",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 0,
                most: 1_000_000,
                set: |settings, number| settings.as_mut().queue_limit = number,
            },
            default: "1000",
            example: "200",
            help: "maximum number of waiting requests; then 503",
            detail: "This many requests may wait for a thread. Further ones are answered 503 at once, with a \
                     `Retry-After` of one to three seconds. Each place costs the memory of a request.",
            ..Self::ROW
        },
        Row {
            name: "queue-timeout",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 10,
                most: 24 * 60 * 60 * 1_000,
                set: |settings, ms| settings.as_mut().queue_timeout_ms = ms,
            },
            default: "30s",
            example: "2s",
            help: "longest wait for a thread; then 503",
            detail: "Set it to the time that your clients are ready to wait, and below the timeout of a proxy in \
                     front. When every request of the last 100 ms has waited longer than half of this time, there is \
                     more work than can be done: then the newest request is served first, and requests that have \
                     waited longer than that half are answered 503, until the queue is empty (CoDel, RFC 8289). An \
                     `X-Request-Start` field of a proxy at a private address says when the wait began.",
            ..Self::ROW
        },
        Row {
            name: "request-timeout",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 0,
                most: 24 * 60 * 60 * 1_000,
                set: |settings, ms| settings.as_mut().request_timeout_ms = ms,
            },
            default: "60s",
            example: "10s",
            help: "longest silence of a request; then 504; 0: any",
            detail: "The time to the first byte of an answer's body, and then from each byte to the next, so that a \
                     stream may last as long as it sends something. When it is over, the server raises \
                     `adyton.RequestTimeout` inside the request and logs where the request was. A client that has got \
                     nothing yet gets a 504, an answer that has begun is cut. Time in the queue does not count, nor \
                     does the time in which the application waits for its client. Code that waits outside Python is \
                     interrupted only when it returns to Python. If it has not returned after a second, that is \
                     logged, and the client gets its 504.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "request-total-timeout",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 0,
                most: 24 * 60 * 60 * 1_000,
                set: |settings, ms| settings.as_mut().request_total_timeout_ms = ms,
            },
            default: "0",
            example: "15m",
            help: "longest run of a request in all; 0: any",
            detail: "Like `--request-timeout`, but for the whole run of a request, from its start to its end, \
                     whatever the application sends meanwhile. So it also ends event streams and long downloads. \
                     Waiting for the client does not count.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "stream-body",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().stream_body = on },
            default: "off",
            example: "on",
            help: "give bodies to the application as they come",
            detail: "Off, a request body is read before the application is called, so that a slow upload costs no \
                     thread. On, the application is called at once, and its reads wait for the client: for proxies, \
                     progress bars, and uploads that never end. With `--threads 1` it is always off: while the only \
                     thread waited, no client would be served.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "stream-body-threads",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 1,
                most: 4096,
                set: |settings, number| settings.as_mut().stream_body_threads_max = number,
            },
            default: "256",
            example: "64",
            help: "maximum number of threads that stream bodies",
            detail: "With `--stream-body`: how many threads may be reading bodies at once, beside those of \
                     `--threads`. Further bodies are read before the application is called, as without \
                     `--stream-body`. A thread waits for `--body-idle-timeout` at most, and `--body-rate-min` \
                     applies; a request whose client is slower is answered 408.",
            ..Self::ROW
        },
        Row {
            name: "output-bytes-max",
            kind: Kind::Number {
                unit: Unit::Bytes,
                least: 0,
                most: 1 << 40,
                set: |settings, number| settings.as_mut().output_bytes_max = number,
            },
            default: "256m",
            example: "64m",
            help: "maximum memory of unsent answers",
            detail: "A streamed answer waits for its client when 1 MiB of it is in memory. When all unsent answers of \
                     a process together hold this much, streamed answers wait at 64 KiB, and the rest of other \
                     answers is put into files in `--temp-dir`, as far as `--body-files-bytes-max` allows. Objects \
                     that the application keeps anyway do not count.",
            ..Self::ROW
        },
    ];
}

/// When another thread takes over the event loop from a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HandOver {
    /// When the request takes long.
    #[default]
    Auto,
    /// Before the request begins.
    Always,
    /// Not at all.
    Never,
}
