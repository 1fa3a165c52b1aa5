//! Names of virtual hosts: in Apache the first host that matches a name answers; in Adyton, the host with the most
//! exact pattern.

use crate::model::Draft;
use crate::rules::reach::{Address, Placed};
use crate::text::glob;

/// Moves names that an earlier host matches by a wildcard to that host.
pub(crate) fn settle(sites: &mut [Placed], draft: &mut Draft) {
    for at in 1..sites.len() {
        let (earlier, rest) = sites.split_at_mut(at);
        let Some(own) = rest.first_mut() else { continue };
        for host in std::mem::take(&mut own.site.hosts) {
            let has = |other: &&mut Placed| shares(&own.addresses, &other.addresses) && has(other, &host);
            let Some(other) = earlier.iter_mut().find(has) else {
                own.site.hosts.push(host);
                continue;
            };
            if let (Some(place), Some(by)) = (&own.site.place, &other.site.place) {
                let why =
                    format!("the virtual host of {by} matches this name by a wildcard, and comes first");
                draft.lose(place, &format!("host {host}"), &why);
            }
            other.site.hosts.push(host);
        }
    }
}

/// Whether a host matches a name by a wildcard.
fn has(placed: &Placed, host: &str) -> bool {
    let lost = placed.site.patterns.iter().filter_map(|(_, what)| what.split_whitespace().nth(1));
    let all = placed.site.hosts.iter().map(String::as_str).chain(lost);
    let host = host.to_ascii_lowercase();
    all.filter(|one| one.contains(['*', '?'])).any(|one| glob::matches(&one.to_ascii_lowercase(), &host))
}

fn shares(some: &[Address], others: &[Address]) -> bool {
    some.iter().any(|one| others.iter().any(|other| one.reach() == other.reach()))
}
