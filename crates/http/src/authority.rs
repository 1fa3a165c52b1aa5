//! The authority of a request: a host and, optionally, a port.

use crate::bytes::is_reg_name_byte;

/// The form of a well-formed authority: a host, with or without a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// A host alone.
    Host,
    /// A host and a port, which may be empty.
    HostAndPort,
}

/// Reads `host [ ":" port ]` of RFC 9110 section 7.2; `None` if `authority` has another form.
///
/// Stricter than RFC 3986 section 3.2: no user information, no empty host, no comma (a proxy may join two Host fields
/// with a comma), no `IPvFuture`, no port above 65535.
pub fn read(authority: &[u8]) -> Option<Authority> {
    let port = match authority {
        [b'[', rest @ ..] => behind_ipv6(rest)?,
        _ => behind_name(authority)?,
    };
    match port {
        [] => Some(Authority::Host),
        [b':', digits @ ..] => is_port(digits).then_some(Authority::HostAndPort),
        _ => None,
    }
}

/// Returns the rest of `authority` after the name or the IPv4 address at its start.
fn behind_name(authority: &[u8]) -> Option<&[u8]> {
    let mut rest = authority;
    loop {
        match rest {
            [byte, more @ ..] if is_reg_name_byte(*byte) => rest = more,
            [b'%', a, b, more @ ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest = more,
            _ => break,
        }
    }
    (rest.len() < authority.len()).then_some(rest)
}

/// Returns the rest of `bytes` after the `address "]"` at its start.
fn behind_ipv6(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|&byte| byte == b']')?;
    let (address, rest) = bytes.split_at(end);
    let address = str::from_utf8(address).ok()?;
    address.parse::<core::net::Ipv6Addr>().ok()?;
    rest.get(1..)
}

/// Whether `digits` are a port, which may be empty (RFC 3986 section 3.2.3). Every port has at most five digits.
fn is_port(digits: &[u8]) -> bool {
    digits.is_empty() || (digits.len() <= 5 && crate::bytes::number(digits).is_some_and(|port| port <= 65535))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        for good in
            ["a", "example.com", "127.0.0.1", "a_b.c~d", "%61b", "[::1]", "[::ffff:1.2.3.4]", "xn--a-b"]
        {
            assert_eq!(Some(Authority::Host), read(good.as_bytes()), "{good}");
            for port in [":", ":0", ":80", ":65535"] {
                assert_eq!(
                    Some(Authority::HostAndPort),
                    read(format!("{good}{port}").as_bytes()),
                    "{good}{port}"
                );
            }
            for bad in
                [":65536", ":000080", ":-1", ":8o", ":80:80", "/", "?", "#", "@b", ",b", " b", "\u{e9}"]
            {
                assert_eq!(None, read(format!("{good}{bad}").as_bytes()), "{good}{bad}");
            }
        }
        for bad in [
            "",
            ":80",
            "[",
            "[]",
            "[::1",
            "[1.2.3.4]",
            "[v1.a]",
            "[::1%25lo]",
            "%6",
            "%6g",
            "::1",
            "a@b",
            "\\",
        ] {
            assert_eq!(None, read(bad.as_bytes()), "{bad}");
        }
    }
}
