//! Trust in proxies that tell the address of a client: never more than in the source.

use crate::model::{Draft, Place, Route, Site, shown};

/// The extent to which trust in proxies was carried over; rules about addresses depend on it.
#[derive(Clone, Debug)]
pub(crate) enum ProxyTrust {
    /// The source does not mention trusted proxies.
    Unsaid,
    /// Proxies are trusted as in the source.
    Carried,
    /// Proxies are trusted, but in the source less than here.
    Less {
        place: Place,
        what: String,
        why: &'static str,
        /// Whether the source believes such a proxy, except about addresses of private networks.
        is_of_private: bool,
    },
    /// The trust was lost, so clients have the addresses of proxies: the place, the directive, the reason.
    Lost(Place, String, &'static str),
}

impl ProxyTrust {
    /// Has a route refuse everybody if its rules would see other addresses than in the source.
    pub(crate) fn guard(&self, site: &mut Site, draft: &mut Draft) {
        let (place, what, why, is_all) = match self {
            ProxyTrust::Unsaid | ProxyTrust::Carried => return,
            ProxyTrust::Lost(place, what, why) => (place, what, *why, true),
            ProxyTrust::Less { place, what, why, is_of_private } => (place, what, *why, !is_of_private),
        };
        let mut opens = false;
        for route in site.routes.iter_mut().filter(|route| sees(route, is_all)) {
            route.refused.push(format!("{place}: {}", shown(what)));
            opens = true;
        }
        if opens {
            draft.open(place, what, &format!("{why}; allow and deny would see another address"));
        } else if matches!(self, ProxyTrust::Lost(..)) {
            draft.lose(place, what, why);
        }
    }
}

/// Whether a route has rules about addresses; if not `all`, only rules about private networks count.
fn sees(route: &Route, all: bool) -> bool {
    let keys = route.keys.0.iter().filter(|key| matches!(key.name, "allow" | "deny"));
    keys.flat_map(|key| key.value.texts()).any(|whom| all || is_private(&whom))
}

/// Whether a network is not a public one.
fn is_private(whom: &str) -> bool {
    let address = whom.split('/').next().unwrap_or_default();
    match address.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
        }
        // Apache takes only 2000::/3 for public.
        Ok(std::net::IpAddr::V6(address)) => address.segments()[0] & 0xe000 != 0x2000,
        Err(_) => false,
    }
}
