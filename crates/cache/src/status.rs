//! Writes the field `Cache-Status` (RFC 9211), in which a cache says how it has handled a request.

/// The beginning of the field, with the name of this cache.
const NAME: &[u8] = b"Cache-Status: adyton; ";

/// The reason why a request was sent on to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The cache does not handle such requests.
    Bypass,
    /// No answer is kept for the address.
    Miss,
    /// The kept answer is too old.
    Stale,
}

/// Writes the line for a request that was sent on to the application: `is_stored` tells whether its answer was kept,
/// and `is_collapsed` whether the request has waited for another request's answer.
pub fn forwarded(out: &mut Vec<u8>, forward: Forward, is_stored: bool, is_collapsed: bool) {
    out.extend_from_slice(NAME);
    out.extend_from_slice(match forward {
        Forward::Bypass => b"fwd=bypass",
        Forward::Miss => b"fwd=miss",
        Forward::Stale => b"fwd=stale",
    });
    if is_stored {
        out.extend_from_slice(b"; stored");
    }
    if is_collapsed {
        out.extend_from_slice(b"; collapsed");
    }
    out.extend_from_slice(b"\r\n");
}

/// An answer from the cache.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// The age of the answer.
    pub age_ms: u64,
    /// The age until which the answer is fresh.
    pub fresh_ms: u64,
    /// Whether the request has waited for another request's answer.
    pub is_collapsed: bool,
}

/// Writes the lines of `Age` and `Cache-Status` for an answer from the cache. They are built from the end to the start,
/// and then appended at once.
pub fn hit(out: &mut Vec<u8>, hit: Hit) {
    let Hit { age_ms, fresh_ms, is_collapsed } = hit;
    let mut lines = Backwards { bytes: [0; 112], start: 112 };
    lines.put(if is_collapsed { b"; collapsed\r\n" } else { b"\r\n" });
    if fresh_ms < age_ms {
        // RFC 9211 section 2.3: the value is negative if the answer is stale.
        lines.put_number((age_ms - fresh_ms).div_ceil(1000));
        lines.put(b"-");
    } else {
        lines.put_number((fresh_ms / 1000).saturating_sub(age_ms / 1000));
    }
    lines.put(b"\r\nCache-Status: adyton; hit; ttl=");
    lines.put_number(age_ms / 1000);
    lines.put(b"Age: ");
    out.extend_from_slice(&lines.bytes[lines.start..]);
}

/// Text that grows at its start, with room for the two largest numbers and the words of [`hit`].
struct Backwards {
    bytes: [u8; 112],
    start: usize,
}

impl Backwards {
    #[inline]
    fn put(&mut self, text: &[u8]) {
        self.start -= text.len();
        self.bytes[self.start..][..text.len()].copy_from_slice(text);
    }

    #[inline]
    fn put_number(&mut self, number: u64) {
        let mut left = number;
        loop {
            self.start -= 1;
            self.bytes[self.start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hit, hit};

    #[test]
    fn hits() {
        for ((age_ms, fresh_ms), is_collapsed, expected) in [
            ((0, 1000), false, "Age: 0\r\nCache-Status: adyton; hit; ttl=1\r\n"),
            ((1999, 60_000), true, "Age: 1\r\nCache-Status: adyton; hit; ttl=59; collapsed\r\n"),
            ((61_500, 60_000), false, "Age: 61\r\nCache-Status: adyton; hit; ttl=-2\r\n"),
            (
                (u64::MAX, 0),
                true,
                "Age: 18446744073709551\r\nCache-Status: adyton; hit; ttl=-18446744073709552; collapsed\r\n",
            ),
        ] {
            let mut out = Vec::new();
            hit(&mut out, Hit { age_ms, fresh_ms, is_collapsed });

            assert_eq!(expected, String::from_utf8_lossy(&out));
        }
    }
}
