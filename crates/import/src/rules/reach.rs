//! Addresses of sites: in Adyton every site is at every address, so a site with fewer addresses is restricted, or
//! refuses.

use std::collections::BTreeSet;

use crate::model::{Draft, Key, Place, Route, Site, Value};

/// An address that a site listens at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The address as `bind` takes it.
    pub(crate) bind: String,
    /// The directive, as written.
    pub(crate) shown: String,
    pub(crate) place: Place,
    pub(crate) tls: bool,
}

impl Address {
    /// Returns the part that distinguishes addresses; the wildcard addresses of IPv4 and IPv6 count as one.
    pub(crate) fn reach(&self) -> String {
        let every = ["0.0.0.0:", "[::]:"].iter().find_map(|front| self.bind.strip_prefix(front));
        every.map_or_else(|| self.bind.clone(), |port| format!("*:{port}"))
    }
}

/// A site, and its addresses.
pub(crate) struct Placed {
    pub(crate) site: Site,
    pub(crate) addresses: Vec<Address>,
    /// Whether the site only sends everybody to https.
    pub(crate) is_way_to_tls: bool,
    /// Redirects to https that are not carried over.
    pub(crate) lost_ways: Vec<(Place, String)>,
}

/// Has a site without TLS refuse if its redirects to https are lost: clients would be served in the clear.
pub(crate) fn keep_from_clear(sites: &mut [Placed], draft: &mut Draft) {
    for placed in sites.iter_mut().filter(|placed| placed.addresses.iter().any(|address| !address.tls)) {
        for (place, what) in &placed.lost_ways {
            let why = "this redirect to https is not carried over, so clients would be served without TLS";
            draft.refuse_site(&mut placed.site, place, what, why);
        }
    }
}

/// Leaves out sites that only redirect to the https of another site: the proxy in front, which has TLS, does that.
pub(crate) fn without_ways_to_tls(sites: Vec<Placed>, draft: &mut Draft) -> Vec<Placed> {
    let has_tls = |placed: &&Placed| placed.addresses.iter().any(|address| address.tls);
    let with_tls: Vec<Vec<String>> =
        sites.iter().filter(has_tls).map(|placed| placed.site.hosts.clone()).collect();
    let is_elsewhere = |placed: &Placed| {
        let has = |hosts: &Vec<String>| placed.site.hosts.iter().any(|host| hosts.contains(host));
        !with_tls.is_empty() && (placed.site.hosts.is_empty() || with_tls.iter().any(has))
    };
    let (left, kept): (Vec<Placed>, Vec<Placed>) = sites
        .into_iter()
        .partition(|placed| placed.is_way_to_tls && !has_tls(&placed) && is_elsewhere(placed));
    for placed in left {
        if let Some(place) = &placed.site.place {
            let why = "this site only redirects clients to https, which is the work of the proxy in front";
            draft.lose(place, "site", why);
        }
    }
    kept
}

/// Sets the addresses of the server, and restricts sites to their own.
pub(crate) fn bind(sites: &mut [Placed], draft: &mut Draft) {
    let mut reached = BTreeSet::new();
    leave_to_proxy(sites, draft);
    for address in sites.iter().flat_map(|placed| &placed.addresses).filter(|address| !address.tls) {
        draft.server.add("bind", &address.bind, &address.place);
        reached.insert(address.reach());
    }
    for address in sites.iter().flat_map(|placed| &placed.addresses).filter(|address| address.tls) {
        let where_to =
            if reached.is_empty() { "; for that proxy the server is at 127.0.0.1:8000" } else { "" };
        draft.lose(&address.place, &address.shown, &format!("TLS is the work of a proxy in front{where_to}"));
    }
    for placed in sites {
        keep_apart(placed, &reached, draft);
    }
}

/// Leaves addresses without TLS to the proxy in front, if only sites that refuse are there, and other sites have TLS.
fn leave_to_proxy(sites: &mut [Placed], draft: &mut Draft) {
    let is_plain = |placed: &Placed| placed.addresses.iter().any(|address| !address.tls);
    let refuses = |placed: &Placed| {
        let says_no = |route: &Route| {
            matches!(route.keys.get("respond"), Some(Key { value: Value::Number(400..), .. }))
        };
        placed.site.routes.iter().all(says_no)
    };
    let has_tls = sites.iter().any(|placed| placed.addresses.iter().any(|address| address.tls));
    if !has_tls || !sites.iter().all(|placed| !is_plain(placed) || refuses(placed)) {
        return;
    }
    for placed in sites {
        for address in placed.addresses.extract_if(.., |address| !address.tls) {
            draft.lose(
                &address.place,
                &address.shown,
                "all sites that serve something have TLS, so this address is left to the proxy in front",
            );
        }
    }
}

/// Restricts a site that would get further addresses: to local clients, if it had local addresses alone; else it
/// refuses.
fn keep_apart(placed: &mut Placed, reached: &BTreeSet<String>, draft: &mut Draft) {
    let plain = placed.addresses.iter().filter(|address| !address.tls);
    let own: BTreeSet<String> = plain.map(Address::reach).collect();
    // A client at a local address is on this machine, so such an address lets in no more clients than any other.
    let other: Vec<&str> =
        reached.difference(&own).map(String::as_str).filter(|reach| !is_local(reach)).collect();
    let Some(place) = placed.site.place.clone().filter(|_| !other.is_empty()) else { return };
    let routes = &mut placed.site.routes;
    let is_free = routes.iter().all(|route| !route.keys.has("allow"));
    if is_free && !own.is_empty() && own.iter().all(|reach| is_local(reach)) {
        for route in routes {
            for whom in ["127.0.0.0/8", "::1", "unix"] {
                route.keys.add("allow", whom, &place);
            }
        }
        draft.lose(
            &place,
            "site",
            "the site was only at local addresses; here only clients of this machine are let in",
        );
        return;
    }
    let what =
        if own.is_empty() { "the site had only addresses with TLS" } else { "the site had other addresses" };
    let why =
        format!("{what}, and here every site is at every address, also this one at {}", other.join(", "));
    draft.open(&place, "site", &why);
    placed.site.refused.push(format!("{place}: {what}"));
}

/// Whether an address can be reached only from this machine.
fn is_local(reach: &str) -> bool {
    ["127.", "[::1]", "localhost:", "unix:"].iter().any(|front| reach.starts_with(front))
}
