//! Addresses and ranges of them, as Apache writes them.

/// Reads an address or a range, also `10.1` and `10.0.0.0/255.0.0.0`.
pub(crate) fn network(text: &str) -> Option<String> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    if address.contains(':') || address.split('.').count() == 4 {
        let length = match length {
            Some(mask) if mask.contains('.') => Some(mask_bits(mask)?.to_string()),
            Some(length) => Some(length.to_owned()),
            None => None,
        };
        let is_address = address.parse::<std::net::IpAddr>().is_ok();
        return is_address
            .then(|| length.map_or_else(|| address.to_owned(), |length| format!("{address}/{length}")));
    }
    // Apache takes the first bytes of an address as a range.
    let bytes: Vec<&str> = address.trim_end_matches('.').split('.').collect();
    let is_byte = |text: &&str| text.parse::<u8>().is_ok();
    let missing = 4_usize.checked_sub(bytes.len())?;
    let fits = length.is_none() && bytes.iter().all(is_byte);
    fits.then(|| format!("{}{}/{}", bytes.join("."), ".0".repeat(missing), 8 * bytes.len()))
}

/// Returns the number of bits of a mask such as `255.255.0.0`.
fn mask_bits(mask: &str) -> Option<u32> {
    let bits = u32::from(mask.parse::<std::net::Ipv4Addr>().ok()?);
    (bits.leading_ones() + bits.trailing_zeros() == 32 || bits == 0).then(|| bits.leading_ones())
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn networks() {
        let cases = [
            ("10", Some("10.0.0.0/8")),
            ("10.1.", Some("10.1.0.0/16")),
            ("10.0.0.0/255.255.0.0", Some("10.0.0.0/16")),
            ("10.0.0.0/255.0.255.0", None),
            ("::1", Some("::1")),
            ("a.example", None),
            ("all", None),
        ];
        for (text, expected) in cases {
            assert_eq!(expected.map(str::to_owned), network(text), "{text}");
        }
    }
}
