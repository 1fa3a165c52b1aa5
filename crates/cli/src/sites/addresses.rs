//! Addresses that a group has to itself: the sites found there, and the mistakes of contradictory ones.

use crate::settings::bind::Bind;
use crate::sites::reading::document::{Document, SiteTable};
use crate::sites::reading::mistake::{Lines, Mistake};

/// Keys of a route that name its group, or may do so.
const OF_GROUP: [&str; 5] = ["app", "cgi", "group", "handler", "scripts"];

impl Document {
    /// Returns the group at whose own addresses a site is found.
    pub(super) fn bound_group(&self, site: &SiteTable) -> Option<usize> {
        let group = groups_of(site).next().filter(|_| !site.draft.bind.is_empty())?;
        self.group_named(group)
    }

    /// Returns the first site that says which addresses a group has to itself.
    pub(super) fn first_bound(&self, group: &str) -> Option<&SiteTable> {
        self.sites.iter().find(|site| !site.draft.bind.is_empty() && groups_of(site).next() == Some(group))
    }

    /// Finds mistakes in the addresses that sites name.
    pub(super) fn address_mistakes(&self, lines: &Lines<'_>) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for site in self.sites.iter().filter(|site| !site.draft.bind.is_empty() && is_read(site)) {
            check_bound(site, &mut mistakes);
        }
        for group in &self.groups {
            self.check_alike(&group.name, lines, &mut mistakes);
            self.check_others(&group.name, lines, &mut mistakes);
        }
        mistakes
    }

    /// Checks that all sites of a group are found at the same addresses: its workers cannot tell at which address a
    /// client has connected.
    fn check_alike(&self, group: &str, lines: &Lines<'_>, mistakes: &mut Vec<Mistake>) {
        let Some(first) = self.first_bound(group) else { return };
        let is_of_group = |site: &&SiteTable| groups_of(site).any(|other| other == group);
        for site in self.sites.iter().filter(is_of_group).filter(|site| is_read(site)) {
            if sorted(&site.draft.bind) == sorted(&first.draft.bind) {
                continue;
            }
            let line = lines.line(first.at);
            let remedy = "write the same bind in both, or give each of them a group of its own";
            let what = if site.draft.bind.is_empty() {
                format!(
                    "this site has no bind, and the group {group} has addresses to itself for the site of line {line}: \
                     {remedy}"
                )
            } else {
                format!(
                    "bind: the site of line {line} has other addresses for the same group {group}: {remedy}"
                )
            };
            mistakes.push(Mistake { at: site.at("bind"), what });
        }
    }

    /// Checks that an address belongs to one group.
    fn check_others(&self, group: &str, lines: &Lines<'_>, mistakes: &mut Vec<Mistake>) {
        let Some(site) = self.first_bound(group) else { return };
        let earlier = self.groups.iter().take_while(|other| other.name != group);
        for other in earlier {
            let Some(first) = self.first_bound(&other.name) else { continue };
            let is_its = |address: &&Bind| address.is_one() && first.draft.bind.contains(*address);
            if let Some(address) = site.draft.bind.iter().find(is_its) {
                let (name, line) = (&other.name, lines.line(first.at));
                let what = format!(
                    "bind: {address} is an address of the group {name} already (line {line}): sites that share an \
                     address need the same group, or no bind"
                );
                mistakes.push(Mistake { at: site.at("bind"), what });
            }
        }
    }
}

/// Checks that all applications of a site with addresses to itself run in one group.
fn check_bound(site: &SiteTable, mistakes: &mut Vec<Mistake>) {
    let (at, bind) = (site.at("bind"), &site.draft.bind);
    let is_twice =
        |address: &&Bind| address.is_one() && bind.iter().filter(|other| other == address).count() > 1;
    if let Some(twice) = bind.iter().find(is_twice) {
        mistakes.push(Mistake { at, what: format!("bind: {twice} is given twice") });
    }
    let Some(group) = groups_of(site).next() else {
        let what = "bind: a group accepts at the addresses of its sites, and no route of this site says \
                    group = \"NAME\": add it, or put the addresses into bind of [server]";
        mistakes.push(Mistake { at, what: what.to_owned() });
        return;
    };
    for route in &site.routes {
        match &route.draft.group {
            Some(other) if other != group => {
                let what = format!(
                    "group = {other:?}: this site is found at addresses that the group {group} has to itself; write \
                     group = {group:?}, or take bind out of the site"
                );
                mistakes.push(Mistake { at: route.at("group"), what });
            }
            None if route.draft.runs_application() => {
                let what = format!(
                    "this route has no group, and its site is found at addresses that the group {group} has to itself; \
                     write group = {group:?}, or take bind out of the site"
                );
                mistakes.push(Mistake { at: route.at, what });
            }
            _ => {}
        }
    }
}

/// Returns the groups that routes of a site name, in the order of the file.
fn groups_of(site: &SiteTable) -> impl Iterator<Item = &str> {
    site.routes.iter().filter_map(|route| route.draft.group.as_deref())
}

/// Whether all keys were understood that set the addresses and the group of a site.
fn is_read(site: &SiteTable) -> bool {
    !site.given.is_unread(&["bind", "group", "routes"])
        && !site.routes.iter().any(|route| route.given.is_unread(&OF_GROUP))
}

/// Returns the addresses as they are written, sorted.
fn sorted(bind: &[Bind]) -> Vec<String> {
    let mut all: Vec<String> = bind.iter().map(ToString::to_string).collect();
    all.sort();
    all
}
