//! Keys that are meant to restrict clients, but keep nobody out where they stand.

use std::collections::HashMap;

use crate::rows::access::{Access, Auth, everybody};
use crate::settings::may_set::MaySet;
use crate::settings::said::{Fault, SaidAt};
use crate::settings::typed::{Settings, SiteAction, SiteRoute, Sites};
use crate::sites::ACTIONS;

/// A key that has an effect only beside another key.
struct Part {
    name: &'static str,
    /// Whether a command line sets the key; in a file, the place of the key tells.
    is_said: fn(&Settings) -> bool,
    /// Whether it has an effect.
    works: fn(&Settings) -> bool,
    /// The keys that this one depends on.
    needs: &'static [&'static str],
    /// The consequence, and what to do.
    why: &'static str,
}

const UNASKED: &str = "no client is asked who it is, so all are let in; auth, as basic:FILE, asks them";
const NO_GROUP: &str =
    "no group is required, so all users are let in; auth-groups names the groups whose members are let in";

const PARTS: [Part; 7] = [
    Part {
        name: "auth-realm",
        is_said: |settings| settings.access.auth_realm != "protected",
        works: |settings| settings.access.auth.is_some(),
        needs: &["auth"],
        why: UNASKED,
    },
    Part {
        name: "auth-users",
        is_said: |settings| !settings.access.auth_users.is_empty(),
        works: |settings| settings.access.auth.is_some(),
        needs: &["auth"],
        why: UNASKED,
    },
    Part {
        name: "auth-groups",
        is_said: |settings| !settings.access.auth_groups.is_empty(),
        works: |settings| settings.access.auth.is_some(),
        needs: &["auth"],
        why: UNASKED,
    },
    Part {
        name: "auth-satisfy",
        is_said: |settings| settings.access.auth_satisfy_any,
        works: |settings| settings.access.auth.is_some(),
        needs: &["auth"],
        why: UNASKED,
    },
    Part {
        name: "auth-group-file",
        is_said: |settings| settings.access.auth_group_file.is_some(),
        works: |settings| settings.access.auth.is_some() && !settings.access.auth_groups.is_empty(),
        needs: &["auth", "auth-groups"],
        why: NO_GROUP,
    },
    Part {
        name: "auth-group-python",
        is_said: |settings| settings.access.auth_group_python.is_some(),
        works: |settings| settings.access.auth.is_some() && !settings.access.auth_groups.is_empty(),
        needs: &["auth", "auth-groups"],
        why: NO_GROUP,
    },
    Part {
        name: "rate-burst",
        is_said: |settings| settings.access.rate_burst != 20,
        works: |settings| settings.access.rate_limit.is_some(),
        needs: &["rate-limit"],
        why: "requests are not limited; rate-limit, as 10/s, limits them",
    },
];

impl Part {
    /// Whether the key may have an effect, as far as the keys on which it depends were understood.
    fn may_work(&self, settings: &Settings) -> bool {
        (self.works)(settings) || settings.is_any_unread(self.needs)
    }

    fn is_idle(&self, settings: &Settings) -> bool {
        (self.is_said)(settings) && !self.may_work(settings)
    }
}

/// Finds keys of a command line, or of a program, that keep nobody out.
pub fn mistakes_alone(settings: &Settings) -> Vec<Fault> {
    let idle = PARTS.iter().filter(|part| part.is_idle(settings)).map(|part| (part.name, part.why));
    idle.chain(contradictions(settings)).map(|(name, why)| settings.fault(name, why)).collect()
}

/// Finds mistakes of a folder's own file, each as its key and the sentence about it.
pub(crate) fn mistakes_of_folder(settings: &Settings) -> Vec<(&'static str, &'static str)> {
    let idle = PARTS.iter().filter(|part| part.is_idle(settings) && MaySet::ALL.has(part.name));
    idle.map(|part| (part.name, part.why)).chain(contradictions(settings)).collect()
}

/// Finds mistakes of a file of sites.
pub(super) fn mistakes(sites: &Sites) -> Vec<Fault> {
    let mut all: Vec<Fault> = Vec::new();
    for part in &PARTS {
        all.extend(idle(sites, part.name, part.why, |route| part.may_work(&route.settings)));
    }
    for name in ["may-set", "htaccess"] {
        let why = "only a route with files = reads the settings of folders, so paths that folders forbid would be \
                   open here; set it in such a route";
        let is_none = |route: &SiteRoute| !route.settings.lets_folders_speak();
        all.extend(idle(sites, name, why, |route| {
            matches!(route.action, SiteAction::Files(_))
                || is_none(route)
                || route.settings.is_any_unread(&ACTIONS)
        }));
    }
    for route in sites.routes() {
        all.extend(
            contradictions(&route.settings).into_iter().map(|(name, why)| route.settings.fault(name, why)),
        );
    }
    once(all)
}

/// Finds keys of a file that have no effect, and restrict nobody either.
pub(super) fn warnings(sites: &Sites) -> Vec<Fault> {
    let why = "all clients need a password, because no allow says who needs none; add allow";
    let has_effect = |route: &SiteRoute| {
        let Access { auth_satisfy_any, allow, auth, .. } = &route.settings.access;
        let is_unread = route.settings.is_any_unread(&["allow", "auth", "auth-satisfy"]);
        !auth_satisfy_any || !allow.is_empty() || auth.is_none() || is_unread
    };
    let mut all = idle(sites, "auth-satisfy", why, has_effect);
    let why = "it has no effect on a file of passwords; use it with auth = \"basic-python:MODULE\"";
    all.extend(idle(sites, "auth-remember", why, |route| {
        matches!(route.settings.access.auth, Some(Auth::BasicPython(_))) || route.settings.is_unread("auth")
    }));
    once(all)
}

/// Finds the places where a setting has a value that affects no route, although some routes inherit it.
fn idle(sites: &Sites, name: &str, why: &str, works: impl Fn(&SiteRoute) -> bool) -> Vec<Fault> {
    let mut places: HashMap<_, (SaidAt, bool)> = HashMap::new();
    for route in sites.routes() {
        let at = route.settings.said_at(name);
        // A table that was not understood may have the part that gives the key its effect.
        let works = works(route) || route.settings.is_any_unread(&["sites", "routes"]);
        places.entry(at.key()).or_insert((at, false)).1 |= works;
    }
    let idle = places.into_values().filter(|(at, works)| at.is_in_file() && !works);
    idle.map(|(at, _)| Fault { at, what: format!("{name}: {why}, or leave it out") }).collect()
}

/// Finds settings that undo each other, or let nobody in.
fn contradictions(settings: &Settings) -> Vec<(&'static str, &'static str)> {
    let Access { auth, auth_groups, auth_group_file, auth_group_python, .. } = &settings.access;
    let mut all = Vec::new();
    let is_unread = |name: &str| settings.is_unread(name);
    if settings.access.auth_satisfy_any
        && auth.is_some()
        && settings.access.allow == everybody()
        && !is_unread("allow")
    {
        let why =
            "with any, clients of allow need no password, and allow has everybody; leave one of them out";
        all.push(("auth-satisfy", why));
    }
    let knows_groups = matches!(auth, None | Some(Auth::BasicPython(_) | Auth::DigestPython(_)));
    let is_unread = ["auth", "auth-group-file", "auth-group-python"].into_iter().any(is_unread);
    if !auth_groups.is_empty()
        && !knows_groups
        && auth_group_file.is_none()
        && auth_group_python.is_none()
        && !is_unread
    {
        let why = "nothing says who is in which group; auth-group-file or auth-group-python does";
        all.push(("auth-groups", why));
    }
    all
}

/// Keeps each fault once, though several routes have it.
fn once(all: Vec<Fault>) -> Vec<Fault> {
    let mut kept: Vec<Fault> = Vec::new();
    for fault in all {
        if !kept.iter().any(|other| other.at.is_same(&fault.at) && other.what == fault.what) {
            kept.push(fault);
        }
    }
    kept
}
