//! The PROXY protocol: what a proxy says of a connection before anything of it (`proxy-protocol.txt` of `HAProxy`, versions 1 and 2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::node::number;

/// The longest header that is read. One of version 1 has at most 107 bytes; one of version 2 has addresses of up to 216 bytes,
/// and values behind them that nobody here needs: certificates are the largest of these.
pub const HEADER_BYTES_MAX: usize = 4096;

/// What a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// It is not known yet: more has to come.
    Partial,
    /// A header of so many bytes.
    Whole(usize, Origin),
    /// No header, or none that is understood.
    Wrong,
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This client.
    Client(SocketAddr),
    /// The proxy itself, or a client that it cannot name: the connection's own address stands.
    Unknown,
}

/// Reads the header at the beginning of what a connection has received so far.
pub fn read_header(bytes: &[u8]) -> Header {
    if bytes.starts_with(SIGNATURE) {
        read_binary(bytes)
    } else if SIGNATURE.starts_with(bytes) || TEXT.starts_with(bytes) {
        Header::Partial
    } else if bytes.starts_with(TEXT) {
        read_text(bytes)
    } else {
        Header::Wrong
    }
}

const TEXT: &[u8] = b"PROXY ";
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// `PROXY TCP6 ffff:...:ffff ffff:...:ffff 65535 65535` with its line end.
const TEXT_BYTES_MAX: usize = 107;

/// Signature, version and command, family, and the length of what follows.
const FIXED_BYTES: usize = 16;

/// `PROXY TCP4 192.0.2.1 198.51.100.1 4711 80` with its line end.
fn read_text(bytes: &[u8]) -> Header {
    let seen = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    let Some(end) = seen.windows(2).position(|pair| pair == b"\r\n") else {
        return if seen.len() < TEXT_BYTES_MAX && !seen.contains(&b'\n') {
            Header::Partial
        } else {
            Header::Wrong
        };
    };
    let origin = std::str::from_utf8(&seen[TEXT.len()..end]).ok().and_then(text_origin);
    origin.map_or(Header::Wrong, |origin| Header::Whole(end + 2, origin))
}

fn text_origin(text: &str) -> Option<Origin> {
    let parts: Vec<&str> = text.split(' ').collect();
    let (source, source_port) = match parts[..] {
        // Whatever follows is to be ignored.
        ["UNKNOWN", ..] => return Some(Origin::Unknown),
        ["TCP4", source, target, source_port, target_port] => {
            let _: (Ipv4Addr, u16) = (target.parse().ok()?, number(target_port)?);
            (IpAddr::V4(source.parse().ok()?), source_port)
        }
        ["TCP6", source, target, source_port, target_port] => {
            let _: (Ipv6Addr, u16) = (target.parse().ok()?, number(target_port)?);
            (IpAddr::V6(source.parse().ok()?), source_port)
        }
        _ => return None,
    };
    Some(Origin::Client(SocketAddr::new(source, number(source_port)?)))
}

fn read_binary(bytes: &[u8]) -> Header {
    let Some(&[command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED_BYTES) else {
        return Header::Partial;
    };
    let whole = FIXED_BYTES + usize::from(u16::from_be_bytes([high, low]));
    let is_local = match command {
        0x20 => true,
        0x21 => false,
        _ => return Header::Wrong,
    };
    if whole > HEADER_BYTES_MAX {
        return Header::Wrong;
    }
    let Some(rest) = bytes.get(FIXED_BYTES..whole) else { return Header::Partial };
    let origin = if is_local { Some(Origin::Unknown) } else { binary_origin(family, rest) };
    origin.map_or(Header::Wrong, |origin| Header::Whole(whole, origin))
}

/// The addresses of version 2: source, target, and their ports; for each family of its own length.
fn binary_origin(family: u8, rest: &[u8]) -> Option<Origin> {
    let port = |at: usize| Some(u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?]));
    let (source, addresses_bytes): (IpAddr, usize) = match family {
        // TCP or UDP over IPv4, then over IPv6.
        0x11 | 0x12 => (Ipv4Addr::from(<[u8; 4]>::try_from(rest.get(..4)?).ok()?).into(), 8),
        0x21 | 0x22 => (Ipv6Addr::from(<[u8; 16]>::try_from(rest.get(..16)?).ok()?).into(), 32),
        // Unix sockets have no address to tell; what is not said is not known.
        0x31 | 0x32 => return (rest.len() >= 216 && are_values(&rest[216..])).then_some(Origin::Unknown),
        0x00 => return Some(Origin::Unknown),
        _ => return None,
    };
    let source_port = port(addresses_bytes)?;
    let values = rest.get(addresses_bytes + 4..)?;
    are_values(values).then_some(Origin::Client(SocketAddr::new(source, source_port)))
}

/// Whether these are whole values, each with its type and length.
fn are_values(mut bytes: &[u8]) -> bool {
    while let [_, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let Some(behind) = rest.get(length..) else { return false };
        bytes = behind;
    }
    bytes.is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "what is wrong then is the test")]

    use super::{HEADER_BYTES_MAX, Header, Origin, SIGNATURE, read_header};

    fn client(address: &str) -> Option<Origin> {
        address.parse().ok().map(Origin::Client)
    }

    /// A header of version 2.
    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).expect("short").to_be_bytes();
        [SIGNATURE, &[command, family], &length, rest].concat()
    }

    fn cases() -> Vec<(Vec<u8>, Option<Origin>)> {
        let v4 = b"\xc0\x00\x02\x01\xc6\x33\x64\x01\x12\x67\x00\x50";
        let v6 = [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1], &[0; 16], &[0, 1, 0, 2]].concat();
        let value = [&v4[..], &[0x04, 0, 2, b'a', b'b'], &[0x20, 0, 0]].concat();
        let text = |text: &str| text.as_bytes().to_vec();
        vec![
            (text("PROXY TCP4 192.0.2.1 198.51.100.1 4711 80\r\n"), client("192.0.2.1:4711")),
            (text("PROXY TCP6 2001:db8::1 ::1 1 65535\r\n"), client("[2001:db8::1]:1")),
            (text("PROXY UNKNOWN\r\n"), Some(Origin::Unknown)),
            (text("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), Some(Origin::Unknown)),
            (text("PROXY TCP4 192.0.2.1 198.51.100.1 4711\r\n"), None),
            (text("PROXY TCP4 192.0.2.1 198.51.100.1 4711 80 9\r\n"), None),
            (text("PROXY TCP4 192.0.2.1  198.51.100.1 4711 80\r\n"), None),
            (text("PROXY TCP4 ::1 ::2 4711 80\r\n"), None),
            (text("PROXY TCP6 192.0.2.1 198.51.100.1 4711 80\r\n"), None),
            (text("PROXY TCP4 192.0.2.1 198.51.100.1 4711 65536\r\n"), None),
            (text("PROXY TCP4 192.0.2.1 198.51.100.1 +711 80\r\n"), None),
            (text("PROXY tcp4 192.0.2.1 198.51.100.1 4711 80\r\n"), None),
            (text("PROXY TCP4 192.0.2.1 198.51.100.1 4711 80\n"), None),
            (text(&format!("PROXY UNKNOWN {}\r\n", "x".repeat(91))), Some(Origin::Unknown)),
            (text(&format!("PROXY UNKNOWN {}\r\n", "x".repeat(92))), None),
            (text("GET / HTTP/1.1\r\n"), None),
            (text("PROXYX"), None),
            (binary(0x21, 0x11, v4), client("192.0.2.1:4711")),
            (binary(0x21, 0x12, v4), client("192.0.2.1:4711")),
            (binary(0x21, 0x21, &v6), client("[2001:db8::1]:1")),
            (binary(0x21, 0x11, &value), client("192.0.2.1:4711")),
            (binary(0x20, 0x00, b""), Some(Origin::Unknown)),
            (binary(0x20, 0x11, v4), Some(Origin::Unknown)),
            (binary(0x21, 0x00, b"what"), Some(Origin::Unknown)),
            (binary(0x21, 0x31, &[0; 216]), Some(Origin::Unknown)),
            (binary(0x21, 0x31, &[0; 215]), None),
            (binary(0x21, 0x11, &v4[..11]), None),
            (binary(0x21, 0x21, &v6[..35]), None),
            (binary(0x21, 0x11, &value[..13]), None),
            (binary(0x21, 0x11, &value[..16]), None),
            (binary(0x21, 0x41, v4), None),
            (binary(0x22, 0x11, v4), None),
            (binary(0x11, 0x11, v4), None),
            (binary(0x20, 0x00, &vec![0; HEADER_BYTES_MAX - 16]), Some(Origin::Unknown)),
            (binary(0x20, 0x00, &vec![0; HEADER_BYTES_MAX - 15]), None),
        ]
    }

    /// Whole, with a request behind them, and byte by byte: before the end none is whole, and what is wrong stays wrong.
    #[test]
    fn headers() {
        for (bytes, expected) in cases() {
            let shown = bytes.escape_ascii().to_string();
            let whole = expected.map_or(Header::Wrong, |origin| Header::Whole(bytes.len(), origin));

            assert_eq!(whole, read_header(&bytes), "{shown}");
            assert_eq!(whole, read_header(&[&bytes[..], b"GET / HTTP/1.1\r\n\r\n"].concat()), "{shown}");
            let first =
                (0..=bytes.len()).map(|end| read_header(&bytes[..end])).find(|one| *one != Header::Partial);
            assert_eq!(Some(whole), first, "{shown}");
        }
    }
}
