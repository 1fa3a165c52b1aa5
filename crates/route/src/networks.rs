//! Ranges of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Ranges of addresses, such as `10.0.0.0/8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    ranges: Vec<Network>,
    /// Whether clients of unix sockets, which have no address, belong to them.
    has_unix: bool,
}

/// The addresses with the same first bits. An IPv4 address counts as `::ffff:a.b.c.d` (RFC 4291 section 2.5.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    bits: u128,
    mask: u128,
}

/// Reason why a text is no range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// The text is neither an address nor an address with a length.
    Malformed,
    /// The range's length is more than the bits of an address.
    TooLong(u8),
    /// Bits behind the range's length are set; this holds the range without them.
    HostBits(String),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Malformed => {
                write!(f, "write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix")
            }
            NetworkError::TooLong(most) => write!(f, "such an address has {most} bits"),
            NetworkError::HostBits(meant) => write!(f, "bits are set behind its length; write {meant}"),
        }
    }
}

impl std::error::Error for NetworkError {}

impl Networks {
    /// Adds an address, a range in CIDR notation (RFC 4632 section 3.1), or `unix`.
    ///
    /// # Errors
    ///
    /// [`NetworkError`].
    pub fn add(&mut self, text: &str) -> Result<(), NetworkError> {
        if text == "unix" {
            self.has_unix = true;
            return Ok(());
        }
        self.ranges.push(Network::read(text)?);
        Ok(())
    }

    /// Whether a client with this address is in one of these ranges; `None` is a client of a unix socket.
    pub fn has(&self, address: Option<IpAddr>) -> bool {
        let Some(address) = address else { return self.has_unix };
        let bits = mapped(address).to_bits();
        self.ranges.iter().any(|range| bits & range.mask == range.bits)
    }

    /// Whether there is no range.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && !self.has_unix
    }
}

impl Network {
    fn read(text: &str) -> Result<Network, NetworkError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(one, two)| (one, Some(two)));
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Malformed)?;
        let most: u8 = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(digits) if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(NetworkError::Malformed);
            }
            Some(digits) => {
                digits.parse().ok().filter(|&length| length <= most).ok_or(NetworkError::TooLong(most))?
            }
        };
        let behind = u32::from(most - length);
        let mask = u128::MAX.checked_shl(behind).unwrap_or(0);
        let all = mapped(address).to_bits();
        // The 96 bits in front of an IPv4 address are part of each range, however short the range is.
        let mask = if address.is_ipv4() { mask | !u128::from(u32::MAX) } else { mask };
        let bits = all & mask;
        if bits != all {
            let meant = Ipv6Addr::from_bits(bits);
            let meant = if address.is_ipv4() { meant.to_canonical() } else { IpAddr::V6(meant) };
            return Err(NetworkError::HostBits(format!("{meant}/{length}")));
        }
        Ok(Network { bits, mask })
    }
}

fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::Networks;

    fn networks(all: &[&str]) -> Networks {
        let mut networks = Networks::default();
        for one in all {
            assert_eq!(Ok(()), networks.add(one), "{one}");
        }
        networks
    }

    #[test]
    fn members() {
        for (ranges, address, is_in) in [
            (&["10.0.0.0/8"][..], "10.1.2.3", true),
            (&["10.0.0.0/8"], "11.0.0.0", false),
            (&["10.0.0.0/8"], "::ffff:10.1.2.3", true),
            (&["10.0.0.0/8"], "::a01:203", false),
            (&["192.0.2.7"], "192.0.2.7", true),
            (&["192.0.2.7"], "192.0.2.6", false),
            (&["0.0.0.0/0"], "255.255.255.255", true),
            (&["0.0.0.0/0"], "::1", false),
            (&["::/0"], "::1", true),
            (&["::/0"], "127.0.0.1", true),
            (&["fd00::/8"], "fdff::1", true),
            (&["fd00::/8"], "fe00::1", false),
            (&["::1", "127.0.0.0/8"], "127.9.9.9", true),
            (&[], "127.0.0.1", false),
            (&["unix"], "127.0.0.1", false),
        ] {
            assert_eq!(is_in, networks(ranges).has(address.parse().ok()), "{address} in {ranges:?}");
        }
        assert!(networks(&["unix"]).has(None) && !networks(&["::/0"]).has(None));
        assert!(
            networks(&[]).is_empty() && !networks(&["unix"]).is_empty() && !networks(&["::1"]).is_empty()
        );
    }

    #[test]
    fn no_networks() {
        for (text, sentence) in [
            ("", "write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
            ("10.0.0.0/", "write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
            ("10.0.0.0/+8", "write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
            ("10.0.0.0/255.0.0.0", "write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
            ("localhost", "write an address, or a range as 10.0.0.0/8 or fd00::/8, or unix"),
            ("10.0.0.0/33", "such an address has 32 bits"),
            ("::/129", "such an address has 128 bits"),
            ("::/999", "such an address has 128 bits"),
            ("10.1.0.0/8", "bits are set behind its length; write 10.0.0.0/8"),
            ("fd00::1/8", "bits are set behind its length; write fd00::/8"),
        ] {
            let said = Networks::default().add(text).err().map(|error| error.to_string());

            assert_eq!(Some(sentence.to_owned()), said, "{text}");
        }
    }
}
