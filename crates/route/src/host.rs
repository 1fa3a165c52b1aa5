//! Host names, and the sites that have them.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;

/// A host name that a site has, without a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// One name, or one address, in lower case.
    Exact(Box<[u8]>),
    /// Every name that ends in this text, which begins with a dot: `*.example.org` has `.example.org`.
    Wildcard(Box<[u8]>),
}

/// Reason why a text is no host pattern, or why patterns cannot stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// The text is empty, has a port, or has a `*` elsewhere than as its first label.
    Malformed(String),
    /// Two sites have this pattern.
    Repeated(HostPattern),
}

impl HostPattern {
    /// Reads `example.org`, `*.example.org` or `[::1]`; case and a dot at the end do not matter.
    ///
    /// # Errors
    ///
    /// [`HostError::Malformed`].
    pub fn read(text: &str) -> Result<HostPattern, HostError> {
        let malformed = || HostError::Malformed(text.to_owned());
        let lower = text.to_ascii_lowercase();
        let name = lower.strip_suffix('.').unwrap_or(&lower);
        let (rest, is_wildcard) = name.strip_prefix('*').map_or((name, false), |rest| (rest, true));
        let is_address = rest.starts_with('[') && rest.ends_with(']');
        let is_name = rest.len() > usize::from(is_wildcard)
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
        match (is_wildcard, rest.starts_with('.')) {
            (true, true) if is_name => Ok(HostPattern::Wildcard(rest.as_bytes().into())),
            (false, false) if is_name || is_address => Ok(HostPattern::Exact(rest.as_bytes().into())),
            _ => Err(malformed()),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Exact(name) => write!(f, "{}", name.escape_ascii()),
            HostPattern::Wildcard(end) => write!(f, "*{}", end.escape_ascii()),
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::Malformed(text) => write!(
                f,
                "{text:?} is no host name: it is like example.org, *.example.org or [::1], without a port"
            ),
            HostError::Repeated(pattern) => write!(f, "two sites have the host name {pattern}"),
        }
    }
}

impl std::error::Error for HostError {}

/// The sites by host name, each as its number.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    exact: HostTable,
    /// Wildcards by the part behind their first label, with its dot.
    wildcards: HostTable,
}

/// Sites by names, or by the ends of names.
type HostTable = HashMap<Box<[u8]>, usize, RandomState>;

/// The longest name that a host can have (RFC 1035 section 2.3.4), and a dot at its end.
const NAME_BYTES_MAX: usize = 254;

impl Hosts {
    /// The table of the sites with these names, in their order.
    ///
    /// # Errors
    ///
    /// [`HostError::Repeated`].
    pub fn new(sites: &[Vec<HostPattern>]) -> Result<Hosts, HostError> {
        let mut hosts = Hosts::default();
        for (site, patterns) in sites.iter().enumerate() {
            for pattern in patterns {
                let before = match pattern {
                    HostPattern::Exact(name) => hosts.exact.insert(name.clone(), site),
                    HostPattern::Wildcard(end) => hosts.wildcards.insert(end.clone(), site),
                };
                if before.is_some() {
                    return Err(HostError::Repeated(pattern.clone()));
                }
            }
        }
        Ok(hosts)
    }

    /// The site for requests with this host, perhaps with a port; the first site if no name matches.
    pub fn find(&self, host: Option<&[u8]>) -> usize {
        self.matching(host).unwrap_or(0)
    }

    /// The site that has the name of this host, perhaps with a port.
    pub fn matching(&self, host: Option<&[u8]>) -> Option<usize> {
        let name = without_port(host?);
        let mut lower = [0; NAME_BYTES_MAX];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let name = lower.strip_suffix(b".").unwrap_or(lower);
        if let Some(&site) = self.exact.get(name) {
            return Some(site);
        }
        if self.wildcards.is_empty() {
            return None;
        }
        // The rest of the name from each dot on is looked up, the longest first; a dot at the beginning is
        // left out.
        let dots = name.iter().enumerate().skip(1).filter(|&(_, &byte)| byte == b'.');
        dots.into_iter().find_map(|(at, _)| self.wildcards.get(&name[at..]).copied())
    }
}

/// The host of an authority (RFC 3986 section 3.2); the colons of an address in brackets are its own.
pub fn without_port(authority: &[u8]) -> &[u8] {
    let behind = authority.iter().rposition(|&byte| byte == b']').map_or(0, |at| at + 1);
    let colon = authority[behind..].iter().position(|&byte| byte == b':');
    &authority[..colon.map_or(authority.len(), |at| behind + at)]
}

#[cfg(test)]
mod tests {
    use super::{HostError, HostPattern, Hosts};

    fn patterns(names: &[&str]) -> Vec<HostPattern> {
        names.iter().filter_map(|name| HostPattern::read(name).ok()).collect()
    }

    /// The exact name, else the longest wildcard, else the first site.
    #[test]
    fn most_specific_host() -> Result<(), HostError> {
        let sites = [
            patterns(&["first.example"]),
            patterns(&["shop.example", "*.shop.example"]),
            patterns(&["admin.shop.example", "*.deep.shop.example", "[::1]"]),
        ];
        let hosts = Hosts::new(&sites)?;
        for (host, site) in [
            ("first.example", 0),
            ("unknown.example", 0),
            ("shop.example", 1),
            ("SHOP.Example:8080", 1),
            ("shop.example.", 1),
            ("shop.example.:80", 1),
            ("www.shop.example", 1),
            ("a.b.shop.example:1", 1),
            ("notshop.example", 0),
            (".shop.example", 0),
            ("admin.shop.example", 2),
            ("deep.shop.example", 1),
            ("x.deep.shop.example", 2),
            ("[::1]:8000", 2),
            ("[::1]", 2),
            ("", 0),
        ] {
            assert_eq!(site, hosts.find(Some(host.as_bytes())), "{host}");
        }
        assert_eq!(0, hosts.find(None));
        Ok(())
    }

    #[test]
    fn no_host_patterns() {
        for text in [
            "",
            ".",
            "*",
            "*.",
            "*shop.example",
            "a.*.example",
            ".example",
            "a:80",
            "a b",
            "[::1",
            "http://a",
        ] {
            assert_eq!(Err(HostError::Malformed(text.to_owned())), HostPattern::read(text));
        }
    }

    #[test]
    fn two_sites_with_one_name() {
        for name in ["a.example", "*.a.example"] {
            let repeated = Hosts::new(&[patterns(&[name]), patterns(&[&name.to_uppercase()])]).err();
            let sentence = repeated.map(|error| error.to_string());

            assert_eq!(Some(format!("two sites have the host name {name}")), sentence);
        }
    }
}
