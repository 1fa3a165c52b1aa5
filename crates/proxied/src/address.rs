//! An address as fields spell it, perhaps with a port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use adyton_http::bytes::number;

/// The address of a client or a proxy, perhaps with a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// The address; an IPv4 address mapped into IPv6 is that IPv4 address.
    pub ip: IpAddr,
    /// The port, if the field has one.
    pub port: Option<u16>,
}

impl NodeAddress {
    /// Reads an element of `X-Forwarded-For`, which has no specification: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`,
    /// `[2001:db8::1]` and `[2001:db8::1]:80` are all sent.
    pub(crate) fn read(text: &[u8]) -> Option<NodeAddress> {
        if let Some(ip) = parse::<Ipv6Addr>(text) {
            return Some(NodeAddress { ip: IpAddr::V6(ip).to_canonical(), port: None });
        }
        let (ip, port) = split_port(text)?;
        let port = port.map_or(Some(None), |digits| read_port(digits).map(Some))?;
        Some(NodeAddress { ip, port })
    }
}

/// Splits an IPv4 address, or an IPv6 address in brackets, from the text behind a colon, if there is one.
pub(crate) fn split_port(text: &[u8]) -> Option<(IpAddr, Option<&[u8]>)> {
    let (ip, behind) = if let [b'[', inner @ ..] = text {
        let end = inner.iter().position(|&byte| byte == b']')?;
        (IpAddr::V6(parse::<Ipv6Addr>(&inner[..end])?), &inner[end + 1..])
    } else {
        let end = text.iter().position(|&byte| byte == b':').unwrap_or(text.len());
        (IpAddr::V4(parse::<Ipv4Addr>(&text[..end])?), &text[end..])
    };
    match behind {
        [] => Some((ip.to_canonical(), None)),
        [b':', port @ ..] => Some((ip.to_canonical(), Some(port))),
        _ => None,
    }
}

/// Reads `port` of RFC 7239 section 6: at most five digits.
pub(crate) fn read_port(digits: &[u8]) -> Option<u16> {
    if digits.len() > 5 { None } else { number(digits)?.try_into().ok() }
}

/// Reads an address alone. The standard library is strict: no leading zeros in IPv4, no zones, no blanks.
pub(crate) fn parse<A: FromStr>(text: &[u8]) -> Option<A> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::NodeAddress;

    #[test]
    fn addresses() {
        for (text, ip, port) in [
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:80", "192.0.2.1", Some(80)),
            ("2001:DB8::1", "2001:db8::1", None),
            ("2001:db8::1:80", "2001:db8::1:80", None),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("[2001:db8::1]:65535", "2001:db8::1", Some(65535)),
            ("::ffff:192.0.2.1", "192.0.2.1", None),
            ("[::ffff:c000:201]:00080", "192.0.2.1", Some(80)),
        ] {
            let expected = ip.parse().ok().map(|ip| NodeAddress { ip, port });

            assert_eq!(expected, NodeAddress::read(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn no_addresses() {
        for text in [
            "",
            "unknown",
            "localhost",
            "192.0.2",
            "192.0.2.01",
            "192.0.2.1:",
            "192.0.2.1:65536",
            "192.0.2.1:000080",
            "192.0.2.1:+80",
            "192.0.2.1:80:80",
            "192.0.2.1/32",
            "192.0.2.1 ",
            "[192.0.2.1]",
            "[2001:db8::1",
            "[2001:db8::1]80",
            "[2001:db8::1]:",
            "2001:db8::1]",
            "fe80::1%lo",
            "\"192.0.2.1\"",
            "\u{661}92.0.2.1",
        ] {
            assert_eq!(None, NodeAddress::read(text.as_bytes()), "{text}");
        }
    }
}
