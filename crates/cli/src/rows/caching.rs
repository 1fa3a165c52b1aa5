//! Which answers are kept for other clients, and for how long.

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// The longest time; more than a year is a mistake.
const FRESH_MS_MAX: u64 = 366 * 24 * 3_600_000;

/// Answers that are kept for other clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Caching {
    /// How long answers that do not say it themselves are kept for other clients; `None`: they are not kept.
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
            detail: "A time, for answers that do not say themselves how long they are fresh (`Cache-Control` with \
                     `s-maxage` or `max-age`, `Expires`); `0s` keeps only those that do; or `off`. Requests for the \
                     same page that come while one is in the application wait for its answer. Only answers to GET are \
                     kept, and none with `Set-Cookie`, `no-store`, `no-cache` or `private`, and none of requests with \
                     `Authorization`. Routes with `auth` keep nothing. The field `Cache-Status` of an answer has what \
                     the cache did. Off, because an application's answer may depend on the client without a `Vary` \
                     field.",
            ..Self::ROW
        },
        Row {
            name: "cache-cookies",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().cache_cookies = on },
            default: "off",
            example: "on",
            scope: Scope::Route,
            help: "keep answers for clients with cookies, too",
            detail: "Off, an answer without caching fields of its own is not kept if its request has a cookie, nor \
                     used for such requests: a cookie may identify a user. Switch it on where pages are the same for \
                     everybody.",
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
            detail: "It counts all memory of these answers. Answers used least recently go first; an answer that takes \
                     more than a sixteenth of it is not kept. Each process keeps its own.",
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
