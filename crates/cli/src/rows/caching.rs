//! Which answers are kept for other clients, and for how long.

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// The longest time for which answers may be kept; more than a year is taken for a mistake.
const FRESH_MS_MAX: u64 = 366 * 24 * 3_600_000;

/// Answers that are kept for other clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Caching {
    /// How long answers without a lifetime of their own are kept for other clients; `None`: no answer is
    /// kept.
    pub cache_ms: Option<u64>,
    pub cache_cookies: bool,
    pub cache_memory_max: u64,
}

impl<S: Has<Caching>> Section<S> for Caching {
    const HEADING: &'static str = "Cache";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "cache",
            kind: Kind::Form {
                shape: "TIME",
                set: |settings, text| fresh_ms(text).map(|fresh_ms| settings.as_mut().cache_ms = fresh_ms),
            },
            default: "off",
            example: "1s",
            scope: Scope::Route,
            help: "keep answers for other clients",
            detail: "The time for which an answer is kept if it does not say itself how long it is fresh (by \
                     `s-maxage` or `max-age` in `Cache-Control`, or by `Expires`). `0s` keeps only answers that say \
                     so themselves, `off` keeps none. While a request for a page is in the application, other \
                     requests for that page wait for its answer. Only answers to GET are kept, and none with \
                     `Set-Cookie`, `no-store`, `no-cache` or `private`, and none of requests with `Authorization`. \
                     Routes with `auth` keep nothing. The field `Cache-Status` of an answer says what the cache did. \
                     The default is `off`, because an application's answer may depend on the client even if it has no \
                     `Vary` field.",
            ..Self::ROW
        },
        Row {
            name: "cache-cookies",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().cache_cookies = on },
            default: "off",
            example: "on",
            scope: Scope::Route,
            help: "keep answers for clients with cookies, too",
            detail: "Off, an answer without caching fields of its own is not kept if its request has a cookie, and a \
                     kept one is not sent to a request with a cookie: a cookie may identify a user. Switch it on if \
                     pages are the same for everybody.",
            ..Self::ROW
        },
        Row {
            name: "cache-memory-max",
            kind: Kind::Number {
                unit: Unit::Bytes,
                least: 0,
                most: 1 << 40,
                set: |settings, number| settings.as_mut().cache_memory_max = number,
            },
            default: "64m",
            example: "256m",
            help: "memory of the answers that a process keeps",
            detail: "All memory of these answers counts. When it is used up, the least recently used answers go \
                     first; an answer that takes more than a sixteenth of it is not kept. Each process keeps answers \
                     of its own.",
            ..Self::ROW
        },
    ];
}

fn fresh_ms(text: &str) -> Result<Option<u64>, String> {
    if text == "off" {
        return Ok(None);
    }
    let parsed = Unit::Duration.parse(text).filter(|&fresh_ms| fresh_ms <= FRESH_MS_MAX);
    parsed.map(Some).ok_or_else(|| "write off, or a time as 500ms, 1s or 2m, of a year at most".to_owned())
}
