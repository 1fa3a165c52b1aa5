//! Timeouts: how long the server waits, and for what.

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// The longest wait; a longer one is a mistake in the unit.
const WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

const RATE_MAX: u64 = 1 << 30;

/// Timeouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Timeouts {
    pub first_byte_timeout_ms: u64,
    pub header_timeout_ms: u64,
    pub body_idle_timeout_ms: u64,
    /// 0: no such check.
    pub body_rate_min_bytes_per_second: u64,
    pub body_rate_grace_ms: u64,
    pub write_idle_timeout_ms: u64,
    /// 0: no such check.
    pub write_rate_min_bytes_per_second: u64,
    pub write_rate_grace_ms: u64,
    pub keep_alive_timeout_ms: u64,
    pub linger_timeout_ms: u64,
    pub graceful_timeout_ms: u64,
}

impl<S: Has<Timeouts>> Section<S> for Timeouts {
    const HEADING: &'static str = "Timeouts";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "first-byte-timeout",
            kind: wait(1, |settings, ms| settings.as_mut().first_byte_timeout_ms = ms),
            default: "10s",
            example: "5s",
            help: "longest wait for the first byte of a client",
            detail: "Browsers open connections in advance; one that stays silent is closed without an answer.",
            ..Self::ROW
        },
        Row {
            name: "header-timeout",
            kind: wait(1, |settings, ms| settings.as_mut().header_timeout_ms = ms),
            default: "30s",
            example: "10s",
            help: "longest time of a request head; then 408",
            detail: "Limits the time of the whole head, not the time between reads: a client that sends a byte a \
                     second cannot hold a connection for hours.",
            ..Self::ROW
        },
        Row {
            name: "body-idle-timeout",
            kind: wait(1, |settings, ms| settings.as_mut().body_idle_timeout_ms = ms),
            default: "30s",
            example: "1m",
            help: "longest pause in a request body; then 408",
            detail: "The time starts again with every byte that arrives.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "body-rate-min",
            kind: rate(|settings, rate| settings.as_mut().body_rate_min_bytes_per_second = rate),
            default: "500",
            example: "2k",
            help: "slowest upload, bytes per second; 0: any",
            detail: "On average since the body began, checked after `--body-rate-grace`: a slower body is answered \
                     408. 500 is below any modem; Apache's `mod_reqtimeout` has the same default.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "body-rate-grace",
            kind: wait(0, |settings, ms| settings.as_mut().body_rate_grace_ms = ms),
            default: "20s",
            example: "40s",
            help: "how long an upload may be below body-rate-min",
            detail: "A radio link that is lost for some seconds is no attack.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "write-idle-timeout",
            kind: wait(1, |settings, ms| settings.as_mut().write_idle_timeout_ms = ms),
            default: "60s",
            example: "30s",
            help: "longest pause of a client that takes an answer",
            detail: "The time starts again with every byte that the client's kernel accepts. When the time is over, \
                     the connection is cut.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "write-rate-min",
            kind: rate(|settings, rate| settings.as_mut().write_rate_min_bytes_per_second = rate),
            default: "500",
            example: "0",
            help: "slowest download, bytes per second; 0: any",
            detail: "On average since the client began to be slow, checked after `--write-rate-grace`; a slower \
                     connection is cut.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "write-rate-grace",
            kind: wait(0, |settings, ms| settings.as_mut().write_rate_grace_ms = ms),
            default: "20s",
            example: "40s",
            help: "grace time of a download below write-rate-min",
            detail: "Like `--body-rate-grace`, but for answers.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "keep-alive-timeout",
            kind: wait(1, |settings, ms| settings.as_mut().keep_alive_timeout_ms = ms),
            default: "60s",
            example: "15s",
            help: "longest wait for a connection's next request",
            detail: "An idle connection costs some hundred bytes and a descriptor. The timeout must be longer than \
                     that of a proxy in front, or the proxy sends a request into a connection that is being closed. \
                     When descriptors run short, idle connections are closed earlier.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "linger-timeout",
            kind: wait(0, |settings, ms| settings.as_mut().linger_timeout_ms = ms),
            default: "2s",
            example: "5s",
            help: "how long to read on after the last answer",
            detail: "RFC 9112 section 9.6: if the server closed while the client still sends, the client's kernel \
                     would throw the answer away. So the server only stops writing, and reads on until the client is \
                     done or this time has passed.",
            ..Self::ROW
        },
        Row {
            name: "graceful-timeout",
            kind: wait(0, |settings, ms| settings.as_mut().graceful_timeout_ms = ms),
            default: "30s",
            example: "2m",
            help: "longest wait for running requests at a stop",
            detail: "After SIGTERM or SIGINT no connection is accepted and running requests finish; requests that \
                     still run after this time are cut. A second signal cuts them at once.",
            held: Some(|one, other| one.as_ref().graceful_timeout_ms == other.as_ref().graceful_timeout_ms),
            ..Self::ROW
        },
    ];
}

const fn wait<S>(least: u64, set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Duration, least, most: WAIT_MS_MAX, set }
}

const fn rate<S>(set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Rate, least: 0, most: RATE_MAX, set }
}
