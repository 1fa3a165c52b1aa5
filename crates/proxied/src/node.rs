//! An address as proxies write it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711` (RFC 7239 section 6), with the
/// port if there is one. A name, a hidden one too, is no address.
pub(crate) fn read(text: &[u8]) -> Option<(IpAddr, Option<u16>)> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(inner) = text.strip_prefix('[') {
        let (address, rest) = inner.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        return match rest.strip_prefix(':') {
            None if rest.is_empty() => Some((address.to_canonical(), None)),
            Some(port) => Some((address.to_canonical(), Some(number(port)?))),
            None => None,
        };
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address.to_canonical(), None));
    }
    let (address, port) = text.split_once(':')?;
    Some((IpAddr::V4(address.parse::<Ipv4Addr>().ok()?), Some(number(port)?)))
}

/// A port: digits only, which `u16::from_str` alone would not ask for.
pub(crate) fn number(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "what is wrong then is the test")]

    use super::read;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("192.0.2.1", Some(("192.0.2.1", None))),
            ("192.0.2.1:80", Some(("192.0.2.1", Some(80)))),
            ("2001:db8::1", Some(("2001:db8::1", None))),
            ("[2001:db8::1]", Some(("2001:db8::1", None))),
            ("[2001:db8::1]:65535", Some(("2001:db8::1", Some(65535)))),
            ("::ffff:192.0.2.1", Some(("192.0.2.1", None))),
            ("[::ffff:192.0.2.1]:1", Some(("192.0.2.1", Some(1)))),
            ("192.0.2.1:", None),
            ("192.0.2.1:+80", None),
            ("192.0.2.1:65536", None),
            ("192.0.2.1:x", None),
            ("192.0.2", None),
            ("192.0.2.01", None),
            ("[192.0.2.1]", None),
            ("[2001:db8::1", None),
            ("[2001:db8::1]80", None),
            ("fe80::1%eth0", None),
            ("unknown", None),
            ("_hidden", None),
            ("localhost", None),
            ("", None),
        ] {
            let expected = expected.map(|(address, port)| (address.parse().expect("an address"), port));

            assert_eq!(expected, read(text.as_bytes()), "{text}");
        }
        assert_eq!(None, read(b"\xff"));
    }
}
