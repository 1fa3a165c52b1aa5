//! Whose word counts for the address of a client: never of more than in the source.

use crate::model::{Draft, Place, Route, Site, shown};

/// What became of it, for the sites that say who may come by addresses.
#[derive(Clone, Debug)]
pub(crate) enum Believed {
    /// Nothing is said of it.
    Unsaid,
    /// What proxies say is believed, and all of it there, too.
    Carried,
    /// The same, but that there less of it is believed than here.
    Less {
        place: Place,
        what: String,
        why: &'static str,
        /// Only addresses of private networks are not believed.
        is_of_private: bool,
    },
    /// Addresses are those of proxies: where, what, why.
    Lost(Place, String, &'static str),
}

impl Believed {
    /// Has routes refuse everybody whose rules would see other addresses than there.
    pub(crate) fn guard(&self, site: &mut Site, draft: &mut Draft) {
        let (place, what, why, is_all) = match self {
            Believed::Unsaid | Believed::Carried => return,
            Believed::Lost(place, what, why) => (place, what, *why, true),
            Believed::Less { place, what, why, is_of_private } => (place, what, *why, !is_of_private),
        };
        let mut opens = false;
        for route in site.routes.iter_mut().filter(|route| sees(route, is_all)) {
            route.refused.push(format!("{place}: {}", shown(what)));
            opens = true;
        }
        if opens {
            draft.open(place, what, &format!("{why}; allow and deny would see another address"));
        } else if matches!(self, Believed::Lost(..)) {
            draft.lose(place, what, why);
        }
    }
}

/// Whether a route looks at addresses; if not `all`, at those of private networks.
fn sees(route: &Route, all: bool) -> bool {
    let keys = route.keys.0.iter().filter(|key| matches!(key.name, "allow" | "deny"));
    keys.flat_map(|key| key.value.texts()).any(|whom| all || is_private(&whom))
}

/// Whether a network is not one of the outside.
fn is_private(whom: &str) -> bool {
    let address = whom.split('/').next().unwrap_or_default();
    match address.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
        }
        // Apache believes in 2000::/3 alone.
        Ok(std::net::IpAddr::V6(address)) => address.segments()[0] & 0xe000 != 0x2000,
        Err(_) => false,
    }
}
