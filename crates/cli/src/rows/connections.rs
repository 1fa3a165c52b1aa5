//! How many connections there may be, and how long each is used.

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// How many connections there may be, and how long each is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Connections {
    pub crowded_timeout_ms: u64,
    /// 0: as many as the limit of open files leaves room for.
    pub connections_max: u64,
    /// 0: no cap.
    pub connections_per_address_max: u64,
    /// 0: no cap.
    pub keep_alive_requests_max: u32,
    pub drain_bytes_max: u64,
}

impl<S: Has<Connections>> Section<S> for Connections {
    const HEADING: &'static str = "Connections";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "connections-per-address-max",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 0,
                most: 10_000_000,
                set: |settings, number| settings.as_mut().connections_per_address_max = number,
            },
            default: "0",
            example: "200",
            help: "maximum connections of one client; 0: no cap",
            detail: "A further connection is closed at once, without an answer. Off by default: behind a proxy or a \
                     large network many people share one address. IPv6 addresses with the same first 64 bits count as \
                     one client: one customer usually has all of them. Each worker counts for itself.",
            ..Self::ROW
        },
        Row {
            name: "connections-max",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 0,
                most: 10_000_000,
                set: |settings, number| settings.as_mut().connections_max = number,
            },
            default: "0",
            example: "10000",
            help: "maximum open connections; 0: by the file limit",
            detail: "0 takes the limit of open files (`RLIMIT_NOFILE`), less the files that the server and the \
                     application need themselves. Further connections wait in the backlog.",
            ..Self::ROW
        },
        Row {
            name: "crowded-timeout",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 1,
                most: 24 * 60 * 60 * 1_000,
                set: |settings, ms| settings.as_mut().crowded_timeout_ms = ms,
            },
            default: "300ms",
            example: "2s",
            help: "longest silence while clients wait for a place",
            detail: "Applies when no descriptor is left or `--connections-max` is reached, and no connection is idle. \
                     Then a connection is answered 503 and closed if its client has sent nothing of its request for \
                     this long, or is slower than `--body-rate-min`.",
            ..Self::ROW
        },
        Row {
            name: "keep-alive-requests-max",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 0,
                most: 1_000_000_000,
                // The range of the row makes the number fit.
                set: |settings, number| {
                    settings.as_mut().keep_alive_requests_max = u32::try_from(number).unwrap_or(u32::MAX);
                },
            },
            default: "0",
            example: "1000",
            help: "maximum requests on a connection; 0: no cap",
            detail: "A connection costs no more after its millionth request, and closing it loses requests that the \
                     client has already pipelined. So set a cap only if a load balancer in front needs one. 1 turns \
                     keep-alive off.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "drain-bytes-max",
            kind: Kind::Number {
                unit: Unit::Bytes,
                least: 0,
                most: 64 << 20,
                set: |settings, number| settings.as_mut().drain_bytes_max = number,
            },
            default: "256k",
            example: "1m",
            help: "maximum unread body that is read and discarded",
            detail: "If the answer is complete before the request body has been read, up to this much of the body is \
                     read and discarded, so that the connection stays open. If more of the body is to come, the \
                     connection is closed (see `--linger-timeout`).",
            ..Self::ROW
        },
    ];
}
