//! Version 2 of the PROXY protocol: 16 bytes, addresses, and perhaps further values with type and length.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use crate::header::{Client, Read};

/// The beginning of every header: bytes that no other protocol begins with.
pub(crate) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Signature, version and command, family and transport, and the length of what follows.
pub(crate) const HEAD_BYTES: usize = 16;

/// The most bytes behind the head. Addresses take up to 216; a proxy that describes a client's certificate sends some
/// hundreds more. `HAProxy` reads what fits its buffer of 16 KiB; nginx reads 4 KiB in all.
pub(crate) const BLOCK_BYTES_MAX: usize = 4096;

/// Reads the header at the start of `bytes`, which begins as [`SIGNATURE`] does.
///
/// Each byte of the head is looked at as soon as it is there, and always in the same order: so more bytes never change
/// an error.
pub(crate) fn read(bytes: &[u8]) -> Read {
    read_head(bytes).unwrap_or_else(|read| read)
}

/// Reads like [`read`]; an outcome before the end is an error, so that `?` can return it.
fn read_head(bytes: &[u8]) -> Result<Read, Read> {
    let at = |place: usize| bytes.get(place).copied().ok_or(Read::NeedMore);
    let is_local = match at(12)? {
        0x20 => true,
        0x21 => false,
        0x22..=0x2f => return Err(Read::Wrong("has a PROXY header with an unknown command")),
        _ => return Err(Read::Wrong("has a PROXY header of an unknown version")),
    };
    let family = at(13)?;
    let known = if is_local { Some(Shape::Nothing) } else { Shape::of(family) };
    let shape = known.ok_or(Read::Wrong("has a PROXY header with an unknown family"))?;
    let length = usize::from(u16::from_be_bytes([at(14)?, at(15)?]));
    if length > BLOCK_BYTES_MAX {
        return Err(Read::Wrong("has a PROXY header of more than 4096 bytes"));
    }
    if length < shape.bytes() {
        return Err(Read::Wrong("has a PROXY header that is too short for its addresses"));
    }
    let header = bytes.get(..HEAD_BYTES + length).ok_or(Read::NeedMore)?;
    if shape != Shape::Nothing {
        check_rest(header, HEAD_BYTES + shape.bytes()).map_err(Read::Wrong)?;
    }
    Ok(Read::Header { bytes: header.len(), client: shape.client(&header[HEAD_BYTES..]) })
}

/// The form of the block behind the head.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A block that is to be passed over: the proxy speaks for itself, or does not tell the protocol of the client.
    Nothing,
    /// Two IPv4 addresses and two ports.
    Inet,
    /// Two IPv6 addresses and two ports.
    Inet6,
    /// Two paths.
    Unix,
}

impl Shape {
    /// The form for a byte with the family and the transport (unspecified, stream, datagram); `None` if the byte has no
    /// meaning.
    fn of(byte: u8) -> Option<Shape> {
        match (byte >> 4, byte & 15) {
            (0, 0..=2) | (1..=3, 0) => Some(Shape::Nothing),
            (1, 1..=2) => Some(Shape::Inet),
            (2, 1..=2) => Some(Shape::Inet6),
            (3, 1..=2) => Some(Shape::Unix),
            _ => None,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Shape::Nothing => 0,
            Shape::Inet => 12,
            Shape::Inet6 => 36,
            Shape::Unix => 216,
        }
    }

    /// Returns the client that `block` names. The block has at least [`Shape::bytes`].
    fn client(self, block: &[u8]) -> Client {
        let addresses = match self {
            Shape::Inet => addresses::<4>(block),
            Shape::Inet6 => addresses::<16>(block),
            Shape::Nothing | Shape::Unix => None,
        };
        addresses.unwrap_or(Client::Unknown)
    }
}

/// Two addresses of `N` bytes, then two ports, all in network order.
fn addresses<const N: usize>(block: &[u8]) -> Option<Client>
where
    IpAddr: From<[u8; N]>,
{
    let (source, rest) = block.split_first_chunk::<N>()?;
    let (destination, rest) = rest.split_first_chunk::<N>()?;
    let (source_port, rest) = rest.split_first_chunk::<2>()?;
    let (destination_port, _) = rest.split_first_chunk::<2>()?;
    let socket = |ip: &[u8; N], port: &[u8; 2]| SocketAddr::new((*ip).into(), u16::from_be_bytes(*port));
    Some(Client::Addresses {
        source: socket(source, source_port),
        destination: socket(destination, destination_port),
    })
}

/// Passes over the additions behind the addresses: a type, a length of two bytes, a value, and so on to the end.
fn check_rest(header: &[u8], mut from: usize) -> Result<(), &'static str> {
    const MALFORMED: &str = "has a PROXY header with malformed additions";
    let mut checksum = None;
    while let Some(&kind) = header.get(from) {
        let length = header.get(from + 1..).and_then(<[u8]>::first_chunk::<2>).ok_or(MALFORMED)?;
        let start = from + 3;
        from = start + usize::from(u16::from_be_bytes(*length));
        if from > header.len() || (kind == CHECKSUM && checksum.replace(start..from).is_some()) {
            return Err(MALFORMED);
        }
    }
    if checksum.is_none_or(|place| is_checksum(header, place)) {
        Ok(())
    } else {
        Err("has a PROXY header with a wrong checksum")
    }
}

/// The type `PP2_TYPE_CRC32C`.
const CHECKSUM: u8 = 3;

/// Whether the bytes at this place are the checksum of the header, computed with zeros in that place.
fn is_checksum(header: &[u8], place: Range<usize>) -> bool {
    let (before, behind) = (&header[..place.start], &header[place.end..]);
    let bytes = before.iter().chain(&[0; 4]).chain(behind);
    header[place] == crc32c(bytes.copied()).to_be_bytes()
}

/// CRC-32C, RFC 9260 appendix A, a bit at a time: few proxies send it, and once for a connection.
fn crc32c(bytes: impl Iterator<Item = u8>) -> u32 {
    let shift = |crc: u32, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
    !bytes.fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(byte), shift))
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test ends at its first surprise")]
mod tests {
    use super::{BLOCK_BYTES_MAX, SIGNATURE, crc32c};
    use crate::proxy_protocol::tests::{addresses, check};
    use crate::proxy_protocol::{Client, HEADER_BYTES_MAX, Read};

    const INET: &[u8] = &[192, 0, 2, 1, 198, 51, 100, 2, 0xdc, 0x04, 0x01, 0xbb];
    /// An addition without a value.
    const NOOP: &[u8] = &[4, 0, 0];

    fn header(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let length = u16::try_from(block.len()).expect("a small block");
        [SIGNATURE, &[command, family], &length.to_be_bytes(), block].concat()
    }

    fn inet6() -> Vec<u8> {
        let mut block = [0; 36];
        (block[0], block[1], block[15], block[31]) = (0x20, 0x01, 7, 1);
        block[32..].copy_from_slice(&[0, 80, 255, 255]);
        block.to_vec()
    }

    #[test]
    fn headers() {
        let inet = addresses("192.0.2.1:56324", "198.51.100.2:443");
        let inet6_client = addresses("[2001::7]:80", "[::1]:65535");
        let with = |more: &[&[u8]]| [&[INET], more].concat().concat();
        for (command, family, block, client) in [
            (0x21, 0x11, INET.to_vec(), inet),
            (0x21, 0x12, INET.to_vec(), inet),
            (0x21, 0x21, inet6(), inet6_client),
            (0x21, 0x22, inet6(), inet6_client),
            (0x21, 0x11, with(&[NOOP]), inet),
            (0x21, 0x11, with(&[NOOP, &[2, 0, 3], b"a.b", &[0xff, 0, 1, 0], NOOP]), inet),
            (0x21, 0x21, [&inet6()[..], NOOP].concat(), inet6_client),
            (0x21, 0x11, with(&[&[4, 0x0f, 0xf1], &[7; 0xff1]]), inet),
            (0x21, 0x31, vec![b'a'; 216], Client::Unknown),
            (0x21, 0x32, [&[b'a'; 216], NOOP].concat(), Client::Unknown),
            // These blocks are passed over, whatever their content.
            (0x21, 0x00, vec![], Client::Unknown),
            (0x21, 0x00, vec![9; 100], Client::Unknown),
            (0x21, 0x01, vec![9], Client::Unknown),
            (0x21, 0x10, INET.to_vec(), Client::Unknown),
            (0x21, 0x30, vec![], Client::Unknown),
            (0x20, 0x00, vec![], Client::Unknown),
            (0x20, 0x11, INET.to_vec(), Client::Unknown),
            (0x20, 0x11, vec![1], Client::Unknown),
            (0x20, 0xff, vec![0; BLOCK_BYTES_MAX], Client::Unknown),
        ] {
            let bytes = header(command, family, &block);
            check(&bytes, Read::Header { bytes: bytes.len(), client });
        }
    }

    #[test]
    fn no_headers() {
        let wrong = |command, family, block: &[u8], why| {
            check(&header(command, family, block), Read::Wrong(why));
        };
        for command in [0x22, 0x2f] {
            wrong(command, 0x11, INET, "has a PROXY header with an unknown command");
        }
        for version in [0x01, 0x11, 0x31, 0xf1] {
            wrong(version, 0x11, INET, "has a PROXY header of an unknown version");
        }
        for family in [0x03, 0x13, 0x1f, 0x23, 0x33, 0x40, 0x41, 0xf0] {
            wrong(0x21, family, INET, "has a PROXY header with an unknown family");
        }
        for (family, length) in [(0x11, 0), (0x11, 11), (0x21, 35), (0x22, 12), (0x31, 215)] {
            let why = "has a PROXY header that is too short for its addresses";
            wrong(0x21, family, &vec![0; length], why);
        }
        for command in [0x20, 0x21] {
            wrong(command, 0x11, &[0; BLOCK_BYTES_MAX + 1], "has a PROXY header of more than 4096 bytes");
        }
        for more in [&[4][..], &[4, 0], &[4, 0, 1], &[4, 0, 0, 4], &[4, 0xff, 0xff, 1], &[3, 0, 0, 3, 0, 0]] {
            let block = [INET, more].concat();
            wrong(0x21, 0x11, &block, "has a PROXY header with malformed additions");
        }
        check(b"\r\n\r\n\0\r\nQUIT\r\n", Read::Wrong("does not begin with a PROXY header"));
        check(b"\r\n\r\nGET / HTTP/1.1", Read::Wrong("does not begin with a PROXY header"));
    }

    #[test]
    fn checksums() {
        assert_eq!(0xe306_9283, crc32c(b"123456789".iter().copied()));

        let block = [INET, NOOP, &[3, 0, 4, 0, 0, 0, 0], NOOP].concat();
        let mut bytes = header(0x21, 0x11, &block);
        let sum = crc32c(bytes.iter().copied()).to_be_bytes();
        let at = bytes.len() - NOOP.len() - sum.len();
        check(&bytes, Read::Wrong("has a PROXY header with a wrong checksum"));
        bytes[at..at + 4].copy_from_slice(&sum);
        let client = addresses("192.0.2.1:56324", "198.51.100.2:443");
        check(&bytes, Read::Header { bytes: bytes.len(), client });
        bytes[16] ^= 1;
        check(&bytes, Read::Wrong("has a PROXY header with a wrong checksum"));

        let short = header(0x21, 0x11, &[INET, &[3, 0, 3, 0, 0, 0]].concat());
        check(&short, Read::Wrong("has a PROXY header with a wrong checksum"));
    }

    #[test]
    fn the_longest_is_not_waited_for() {
        let bytes = header(0x20, 0, &[0; BLOCK_BYTES_MAX]);

        assert_eq!(HEADER_BYTES_MAX, bytes.len());
    }
}
