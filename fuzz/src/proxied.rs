//! What must hold of what proxies say, and a twin that follows `X-Forwarded-For` step by step.

use std::net::IpAddr;

use adyton_http1::{Head, Limits, Parsed};
use adyton_proxied::{FIELDS, Header, Trust, read_header};
use adyton_route::Networks;

/// Panics unless a header is as long as it says, and not whole before.
pub fn check_header(bytes: &[u8]) {
    if let Header::Whole(length, _) = read_header(bytes) {
        assert!(length <= bytes.len(), "longer than what there is");
        for end in 0..length {
            assert_eq!(Header::Partial, read_header(&bytes[..end]), "whole before its end");
        }
    }
}

/// Panics unless what is hidden was sent, and the client is the one that the twin finds.
pub fn check_fields(bytes: &[u8]) {
    let mut head = Head::new();
    if !matches!(head.parse(bytes, &Limits::default()), Ok(Parsed::Complete)) {
        return;
    }
    let request = head.of(bytes);
    let mut proxies = Networks::default();
    proxies.add("10.0.0.0/8").expect("a network");
    for believed in [&["X-Forwarded-For"][..], &FIELDS] {
        let mut trust = Trust::new(proxies.clone());
        for field in believed {
            trust.believe(field).expect("a field");
        }
        for peer in ["10.0.0.1", "192.0.2.1"] {
            let told = trust.told(peer.parse().ok(), request).unwrap_or_default();
            for hidden in &told.hidden {
                assert!(request.all_named(hidden.as_bytes()).next().is_some(), "{hidden} was not sent");
            }
            if believed.len() == 1 {
                let chain: Vec<&[u8]> = request.all_named(b"X-Forwarded-For").collect();
                let expected = if peer.starts_with("10.") { client(&chain.join(&b","[..])) } else { None };
                assert_eq!(expected, told.client, "another client");
            }
        }
    }
}

/// The client of a chain, whose proxies are `10.0.0.0/8`.
fn client(chain: &[u8]) -> Option<IpAddr> {
    let text = String::from_utf8_lossy(chain);
    let mut found = None;
    for element in
        text.rsplit(',').map(|element| element.trim_matches([' ', '\t'])).filter(|one| !one.is_empty())
    {
        let bare = match element.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((inner, "")) if inner.contains(':') => inner,
            Some((inner, port)) if inner.contains(':') && is_port(port.strip_prefix(':')?) => inner,
            Some(_) => return found,
            None => match element.split_once(':') {
                Some((address, port)) if !port.contains(':') && is_port(port) => address,
                _ => element,
            },
        };
        let is_bare_v6 = bare.len() == element.len() && bare.contains(':');
        let address: IpAddr = match bare.parse() {
            Ok(IpAddr::V6(_)) if !is_bare_v6 && !element.starts_with('[') => return found,
            Ok(address) => IpAddr::to_canonical(&address),
            Err(_) => return found,
        };
        found = Some(address);
        if !matches!(address, IpAddr::V4(four) if four.octets()[0] == 10) {
            return found;
        }
    }
    found
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}
