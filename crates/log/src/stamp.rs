//! The time of a line, rendered once a second, in UTC.

use std::time::{Duration, UNIX_EPOCH};

/// One second, in all notations.
pub struct Stamp {
    unix_seconds: u64,
    http: String,
    apache: String,
    rfc3339: String,
}

impl Stamp {
    /// Makes the stamp of a second since 1970.
    pub fn at(unix_seconds: u64) -> Self {
        let mut stamp =
            Self { unix_seconds, http: String::new(), apache: String::new(), rfc3339: String::new() };
        stamp.render();
        stamp
    }

    /// Returns the time as HTTP has it (RFC 9110 section 5.6.7): `Fri, 20 Nov 2026 10:55:52 GMT`.
    pub fn http(&self) -> &str {
        &self.http
    }

    /// Sets the time.
    #[inline]
    pub fn set(&mut self, unix_seconds: u64) {
        if unix_seconds != self.unix_seconds {
            self.unix_seconds = unix_seconds;
            self.render();
        }
    }

    /// Returns the time like Apache's `%t`: `[20/Nov/2026:10:55:52 +0000]`.
    #[inline]
    pub fn apache(&self) -> &[u8] {
        self.apache.as_bytes()
    }

    /// Returns the time as RFC 3339 has it: `2026-11-20T10:55:52Z`.
    #[inline]
    pub fn rfc3339(&self) -> &[u8] {
        self.rfc3339.as_bytes()
    }

    #[cold]
    fn render(&mut self) {
        let since_epoch = Duration::from_secs(self.unix_seconds.min(UNIX_SECONDS_MAX));
        // An IMF-fixdate (RFC 9110 section 5.6.7) has all its parts at fixed places.
        let date = httpdate::fmt_http_date(UNIX_EPOCH + since_epoch);
        let (day, month, year, time) = (&date[5..7], &date[8..11], &date[12..16], &date[17..25]);
        let number = MONTHS.iter().position(|name| *name == month).map_or(0, |index| index + 1);
        self.apache = format!("[{day}/{month}/{year}:{time} +0000]");
        self.rfc3339 = format!("{year}-{number:02}-{day}T{time}Z");
        self.http = date;
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The end of the year 9999, after which `httpdate` panics: a broken clock must not stop the server.
const UNIX_SECONDS_MAX: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        let mut stamp = Stamp::at(0);
        for (unix_seconds, apache, rfc3339) in [
            (0, "[01/Jan/1970:00:00:00 +0000]", "1970-01-01T00:00:00Z"),
            (1_795_172_152, "[20/Nov/2026:10:55:52 +0000]", "2026-11-20T10:55:52Z"),
            (1_709_251_199, "[29/Feb/2024:23:59:59 +0000]", "2024-02-29T23:59:59Z"),
            (1_709_251_200, "[01/Mar/2024:00:00:00 +0000]", "2024-03-01T00:00:00Z"),
            (1_709_251_200, "[01/Mar/2024:00:00:00 +0000]", "2024-03-01T00:00:00Z"),
            (u64::MAX, "[31/Dec/9999:23:59:59 +0000]", "9999-12-31T23:59:59Z"),
        ] {
            stamp.set(unix_seconds);

            assert_eq!(apache.as_bytes(), stamp.apache());
            assert_eq!(rfc3339.as_bytes(), stamp.rfc3339());
        }
    }
}
