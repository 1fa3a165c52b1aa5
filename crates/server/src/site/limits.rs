//! Limits and timeouts for the clients of one site; the reasons are with the settings that fill them.

/// The limits and timeouts of a site. Bytes are bytes, `_ms` are milliseconds, `_rate` is bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteLimits {
    /// The largest request body; more is a 413.
    pub body_bytes_max: u64,
    /// The longest pause inside a request body.
    pub body_idle_timeout_ms: u64,
    /// The slowest body, once `body_rate_grace_ms` has passed; 0 allows any.
    pub body_rate: u64,
    /// How long a body may be slower than `body_rate`.
    pub body_rate_grace_ms: u64,
    /// The longest time without the client taking a byte.
    pub write_idle_timeout_ms: u64,
    /// The slowest reader, once `write_rate_grace_ms` has passed; 0 allows any.
    pub write_rate: u64,
    /// How long a reader may be slower than `write_rate`.
    pub write_rate_grace_ms: u64,
    /// How long a connection may idle between two requests.
    pub keep_alive_timeout_ms: u64,
    /// Requests on one connection before it is closed; 0 is no limit.
    pub keep_alive_requests_max: u32,
    /// Whether the application reads bodies as they come.
    pub stream_body: bool,
    /// How long the application may take.
    pub call: CallLimits,
}

/// How long a call of the application may take, in ms; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest time without anything of the answer.
    pub silence_ms: u64,
    /// The longest time until the end of the answer.
    pub total_ms: u64,
}

impl CallLimits {
    /// Returns the shortest time after which a call can be overdue; `None` if it never is.
    pub(crate) fn first_ms(self) -> Option<u64> {
        [self.silence_ms, self.total_ms].into_iter().filter(|&ms| ms > 0).min()
    }
}

impl Default for SiteLimits {
    /// Returns limits that only a faulty client reaches.
    fn default() -> SiteLimits {
        SiteLimits {
            body_bytes_max: 1 << 30,
            body_idle_timeout_ms: LONG_MS,
            body_rate: 0,
            body_rate_grace_ms: LONG_MS,
            write_idle_timeout_ms: LONG_MS,
            write_rate: 0,
            write_rate_grace_ms: LONG_MS,
            keep_alive_timeout_ms: LONG_MS,
            keep_alive_requests_max: 0,
            stream_body: false,
            call: CallLimits::default(),
        }
    }
}

/// Timeout in ms that only a faulty client reaches.
pub(crate) const LONG_MS: u64 = 60_000;
