//! The PROXY protocol: a proxy describes its client at the beginning of a connection, in front of all other
//! bytes.
//!
//! Nothing here guesses whether a connection begins with such a header: only settings may say that, because otherwise
//! every client could choose its address. The rules stand in `doc/proxy-protocol.txt` in the sources of `HAProxy`.

pub use crate::header::{Client, Read};
use crate::{v1, v2};

/// The most bytes that [`read`] may ask for: the head of version 2 and the longest block behind it.
pub const HEADER_BYTES_MAX: usize = v2::HEAD_BYTES + v2::BLOCK_BYTES_MAX;

/// Reads the header, of version 1 or 2, at the start of `bytes`.
///
/// More bytes behind the given ones change no result except [`Read::NeedMore`]. Only an incomplete header has that
/// result, and it has fewer than [`HEADER_BYTES_MAX`] bytes.
pub fn read(bytes: &[u8]) -> Read {
    if begins(bytes, v1::START) {
        v1::read(bytes)
    } else if begins(bytes, v2::SIGNATURE) {
        v2::read(bytes)
    } else {
        Read::Wrong("does not begin with a PROXY header")
    }
}

/// Whether `bytes` begins like `start`, as far as the shorter of the two goes.
fn begins(bytes: &[u8], start: &[u8]) -> bool {
    bytes.iter().zip(start).all(|(a, b)| a == b)
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test ends at its first surprise")]
pub(crate) mod tests {
    use super::{Client, Read, read};

    pub(crate) fn addresses(source: &str, destination: &str) -> Client {
        let socket = |text: &str| text.parse().expect("an address with a port");
        Client::Addresses { source: socket(source), destination: socket(destination) }
    }

    /// Reads `bytes` as a whole, with more bytes behind them, and in beginnings that grow by one byte.
    pub(crate) fn check(bytes: &[u8], expected: Read) {
        let show = bytes.escape_ascii().to_string();
        assert_eq!(expected, read(bytes), "{show}");

        for more in [&b"G"[..], b"PROXY ", b"\r\n", &[0; 5000]] {
            // With more bytes, `NeedMore` may become another result.
            if expected != Read::NeedMore {
                assert_eq!(expected, read(&[bytes, more].concat()), "{show} with more");
            }
        }
        let mut said = Read::NeedMore;
        for end in 0..=bytes.len() {
            let now = read(&bytes[..end]);
            assert!(said == Read::NeedMore || said == now, "{show}: {said:?}, then {now:?}");
            said = now;
            if let (Read::Header { bytes, .. }, Read::Header { .. }) = (expected, now) {
                assert!(end >= bytes, "{show} is read before its end");
            }
        }
        assert_eq!(expected, said, "{show} byte by byte");
        if let Read::Header { bytes: length, .. } = expected {
            for end in 0..length {
                assert_eq!(Read::NeedMore, read(&bytes[..end]), "the first {end} bytes of {show}");
            }
        }
    }

    #[test]
    fn nothing_is_the_beginning() {
        check(b"", Read::NeedMore);
        check(b"P", Read::NeedMore);
        check(b"\r", Read::NeedMore);
        check(b"Q", Read::Wrong("does not begin with a PROXY header"));
        check(b"\r\r", Read::Wrong("does not begin with a PROXY header"));
    }
}
