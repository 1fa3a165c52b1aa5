//! The part of an address by which clients are counted, because it usually belongs to one client.

use std::net::IpAddr;

/// An IPv4 address, or the first half of an IPv6 address: usually, all addresses with this half belong to one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The 32 bits of an IPv4 address.
    V4(u32),
    /// The first 64 bits of an IPv6 address.
    V6(u64),
}

impl Place {
    /// The place of an address. An IPv4 address mapped into IPv6 (RFC 4291 section 2.5.5.2) counts as the IPv4 address.
    pub fn of(address: IpAddr) -> Place {
        match address.to_canonical() {
            IpAddr::V4(address) => Place::V4(address.to_bits()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments().map(u64::from);
                Place::V6(a << 48 | b << 32 | c << 16 | d)
            }
        }
    }
}
