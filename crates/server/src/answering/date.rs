//! The date as HTTP writes it.

use std::time::SystemTime;

/// Returns the value of the `Date` field (RFC 9110 section 6.6.1) for this second.
pub(crate) fn date_now() -> [u8; 29] {
    httpdate::fmt_http_date(SystemTime::now()).as_bytes().try_into().unwrap_or([b' '; 29])
}
