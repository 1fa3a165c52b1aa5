//! Version 1 of the PROXY protocol: a line of text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use adyton_http::bytes::number;

use crate::address::parse;
use crate::header::{Client, Read};

/// The beginning of every line.
pub(crate) const START: &[u8] = b"PROXY ";

/// The longest line with its CRLF, as the specification counts it: `UNKNOWN`, two long IPv6 addresses, two ports.
const LINE_BYTES_MAX: usize = 107;

/// Reads the line at the start of `bytes`, which begins as [`START`] does.
pub(crate) fn read(bytes: &[u8]) -> Read {
    let line = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        return if line.len() < LINE_BYTES_MAX {
            Read::NeedMore
        } else {
            Read::Wrong("has a PROXY line of more than 107 bytes")
        };
    };
    let said = line.get(START.len()..end).and_then(client);
    said.map_or(Read::Wrong("has a malformed PROXY line"), |client| Read::Header { bytes: end + 2, client })
}

/// Reads the text between [`START`] and the end of the line: single spaces, nothing behind the ports.
fn client(said: &[u8]) -> Option<Client> {
    let mut words = said.split(|&byte| byte == b' ');
    match words.next()? {
        b"TCP4" => addresses::<Ipv4Addr>(words),
        b"TCP6" => addresses::<Ipv6Addr>(words),
        // Any text behind this word is to be ignored.
        b"UNKNOWN" => Some(Client::Unknown),
        _ => None,
    }
}

fn addresses<'b, A: FromStr + Into<IpAddr>>(mut words: impl Iterator<Item = &'b [u8]>) -> Option<Client> {
    let (source, destination) = (parse::<A>(words.next()?)?.into(), parse::<A>(words.next()?)?.into());
    let (source_port, destination_port) = (port(words.next()?)?, port(words.next()?)?);
    let client = Client::Addresses {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    };
    words.next().is_none().then_some(client)
}

/// Reads a port without leading zeros, which could be taken for octal.
fn port(word: &[u8]) -> Option<u16> {
    let is_padded = word.len() > 1 && word.starts_with(b"0");
    if is_padded { None } else { number(word)?.try_into().ok() }
}

#[cfg(test)]
mod tests {
    use crate::proxy_protocol::tests::{addresses, check};
    use crate::proxy_protocol::{Client, Read};

    const LONG: &str = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

    #[test]
    fn lines() {
        let longest = format!("UNKNOWN {LONG} {LONG} 65535 65535");
        for (said, client) in [
            ("TCP4 192.0.2.1 198.51.100.2 56324 443", addresses("192.0.2.1:56324", "198.51.100.2:443")),
            ("TCP4 0.0.0.0 255.255.255.255 0 65535", addresses("0.0.0.0:0", "255.255.255.255:65535")),
            ("TCP6 2001:DB8::1 ::1 1 2", addresses("[2001:db8::1]:1", "[::1]:2")),
            ("TCP6 ::ffff:192.0.2.1 :: 1 2", addresses("[::ffff:192.0.2.1]:1", "[::]:2")),
            (
                &format!("TCP6 {LONG} {LONG} 65535 65535"),
                addresses(&format!("[{LONG}]:65535"), &format!("[{LONG}]:65535")),
            ),
            ("UNKNOWN", Client::Unknown),
            ("UNKNOWN ", Client::Unknown),
            ("UNKNOWN what\rever \n\0", Client::Unknown),
            (&longest, Client::Unknown),
        ] {
            let line = format!("PROXY {said}\r\n");
            check(line.as_bytes(), Read::Header { bytes: line.len(), client });
        }
    }

    #[test]
    fn no_lines() {
        for said in [
            "",
            " ",
            "TCP4",
            "TCP4 ",
            "TCP5 192.0.2.1 192.0.2.2 1 2",
            "tcp4 192.0.2.1 192.0.2.2 1 2",
            "UNKNOWNS",
            "UDP4 192.0.2.1 192.0.2.2 1 2",
            " TCP4 192.0.2.1 192.0.2.2 1 2",
            "TCP4  192.0.2.1 192.0.2.2 1 2",
            "TCP4\t192.0.2.1 192.0.2.2 1 2",
            "TCP4 192.0.2.1 192.0.2.2 1",
            "TCP4 192.0.2.1 192.0.2.2 1 2 ",
            "TCP4 192.0.2.1 192.0.2.2 1 2 3",
            "TCP4 192.0.2.1 192.0.2.2 1 65536",
            "TCP4 192.0.2.1 192.0.2.2 -1 2",
            "TCP4 192.0.2.1 192.0.2.2 +1 2",
            "TCP4 192.0.2.1 192.0.2.2 01 2",
            "TCP4 192.0.2.1 192.0.2.2 00 2",
            "TCP4 192.0.2.1 192.0.2.2 http 2",
            "TCP4 192.0.2.01 192.0.2.2 1 2",
            "TCP4 192.0.2 192.0.2.2 1 2",
            "TCP4 192.0.2.256 192.0.2.2 1 2",
            "TCP4 ::1 ::2 1 2",
            "TCP4 192.0.2.1 localhost 1 2",
            "TCP6 192.0.2.1 192.0.2.2 1 2",
            "TCP6 [::1] [::2] 1 2",
            "TCP6 fe80::1%lo ::2 1 2",
            "TCP6 1::2::3 ::2 1 2",
            "TCP6 \u{e9}::1 ::2 1 2",
        ] {
            check(format!("PROXY {said}\r\n").as_bytes(), Read::Wrong("has a malformed PROXY line"));
        }
        check(b"PROXY\r\n", Read::Wrong("does not begin with a PROXY header"));
        check(b"proxy TCP4", Read::Wrong("does not begin with a PROXY header"));
        check(b"GET / HTTP/1.1\r\n\r\n", Read::Wrong("does not begin with a PROXY header"));
    }

    #[test]
    fn a_line_ends_in_time() {
        let long = format!("PROXY UNKNOWN {}", "x".repeat(91));
        assert_eq!(105, long.len());

        check(format!("{long}\r\n").as_bytes(), Read::Header { bytes: 107, client: Client::Unknown });
        check(format!("{long}y\r\n").as_bytes(), Read::Wrong("has a PROXY line of more than 107 bytes"));
        check(format!("{long}\n\r\n").as_bytes(), Read::Wrong("has a PROXY line of more than 107 bytes"));
        check(b"PROXY UNKNOWN\n", Read::NeedMore);
    }
}
