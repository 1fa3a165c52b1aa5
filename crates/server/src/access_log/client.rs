//! The client's address as text.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// Appends the address without the port. An IPv4 client on a socket of both versions (`::ffff:192.0.2.1`) is written as
/// an IPv4 address.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, peer: SocketAddr) {
    match peer.ip().to_canonical() {
        IpAddr::V4(address) => {
            // Four times faster than `Display` of `Ipv4Addr`.
            let mut digits = itoa::Buffer::new();
            for (i, octet) in address.octets().into_iter().enumerate() {
                if i > 0 {
                    out.push(b'.');
                }
                out.extend_from_slice(digits.format(octet).as_bytes());
            }
        }
        IpAddr::V6(address) => {
            // Writing into a `Vec` cannot fail.
            let _ = write!(out, "{address}");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a wrong address in a test is a wrong test")]

    use super::*;

    #[test]
    fn addresses_are_written_as_the_standard_library_does() {
        for (peer, expected) in [
            ("127.0.0.1:80", "127.0.0.1"),
            ("0.0.0.0:80", "0.0.0.0"),
            ("255.10.99.100:65535", "255.10.99.100"),
            ("[::1]:80", "::1"),
            ("[2001:db8::ff00:42:8329]:80", "2001:db8::ff00:42:8329"),
            ("[fe80::1%3]:80", "fe80::1"),
            ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
        ] {
            let mut out = Vec::new();
            write(&mut out, peer.parse().unwrap());

            assert_eq!(expected.as_bytes(), out);
        }
    }
}
