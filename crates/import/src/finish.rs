//! Checks the draft in the end: each key is read by its settings row, and a value that the row does not take is
//! reported as lost.

use std::collections::{HashMap, HashSet};

use adyton_cli::{Scope, takes};

use crate::model::{Draft, Keys, Loss, Place, Route, Site, plain, shown};
use crate::rules::inner;

/// Makes the draft a valid file of sites.
pub(crate) fn finish(draft: &mut Draft, file: &Place) {
    let losses = &mut draft.losses;
    if let (Some(group), false) = (draft.server.get("group").cloned(), draft.server.has("user")) {
        draft.server.0.retain(|key| key.name != "group");
        let what = format!("group = {}", group.value.texts().concat());
        let why = "a group needs a user beside it".to_owned();
        losses.push(Loss { place: group.place, what: shown(&what), why, opens: false });
    }
    let user = draft.server.get("user").or(draft.server.get("group")).cloned();
    check(&mut draft.server, Scope::Server, losses);
    if let Some(key) = user.filter(|key| !draft.server.has(key.name)) {
        let what = format!("{} = {}", key.name, key.value.texts().concat());
        let why = "this names no user, and without a user the workers run as whoever starts the server";
        draft.refuse_all(&key.place, &what, why);
    }
    unnamed(draft);
    let losses = &mut draft.losses;
    for site in &mut draft.sites {
        check(&mut site.keys, Scope::Site, losses);
        let mut lost = Vec::new();
        site.routes.retain_mut(|route| is_route(route, losses, &mut lost));
        site.refused.extend(lost);
        site.refused.extend(draft.refused.iter().cloned());
        inner::guard(site, losses);
        drop_unreached(site, losses);
        if site.routes.is_empty() {
            let place = site.place.clone().unwrap_or_else(|| file.clone());
            let mut nothing = Route::new("/", &place);
            nothing.respond(404, &place);
            site.routes.push(nothing);
        }
    }
    check_hosts(draft, file);
    for loss in &mut draft.losses {
        loss.why = plain(&loss.why);
    }
}

/// Refuses names that cannot be written in `hosts`, because the first site would answer them. If such names belong to
/// another site than the first, a site in front of all refuses every name that no site has.
fn unnamed(draft: &mut Draft) {
    for site in &mut draft.sites {
        let place = site.place.clone().unwrap_or_else(|| Place { file: "".into(), line: 0 });
        let wrong = site.hosts.extract_if(.., |host| takes(Scope::Site, "hosts", host).is_err());
        site.patterns.extend(wrong.map(|host| (place.clone(), format!("host {host}"))));
    }
    let mut sites = draft.sites.iter();
    let of_first = sites.next().map_or(Vec::new(), |site| site.patterns.clone());
    let others: Vec<(Place, String)> = sites.flat_map(|site| site.patterns.clone()).collect();
    for (place, what) in of_first {
        draft.lose(
            &place,
            &what,
            "a host is a name, or *.example.org; this site also answers requests whose host no site names",
        );
    }
    if others.is_empty() {
        return;
    }
    let mut front = Site::default();
    for (place, what) in others {
        let why = "a host is a name, or *.example.org, so the first site would answer requests for this host";
        draft.refuse_site(&mut front, &place, &what, why);
        if front.place.is_none() {
            let mut route = Route::new("/", &place);
            route.respond(503, &place);
            front.routes.push(route);
            front.place = Some(place);
        }
    }
    match draft.sites.first_mut().filter(|first| first.hosts.is_empty()) {
        Some(first) => first.refused.extend(front.refused),
        None => draft.sites.insert(0, front),
    }
}

/// Removes keys that their rows do not take; returns whether all keys were kept.
fn check(keys: &mut Keys, scope: Scope, losses: &mut Vec<Loss>) -> bool {
    let before = keys.0.len();
    keys.0.retain(|key| {
        // `try` is valid only as a whole list, and importers always write the same list.
        if key.name == "try" {
            return true;
        }
        let wrong = key.value.texts().iter().find_map(|text| takes(scope, key.name, text).err());
        if let Some(why) = &wrong {
            let what = format!("{} = {}", key.name, key.value.texts().join(", "));
            let opens = matches!(key.name, "allow" | "deny" | "allow-python") || key.name.starts_with("auth");
            losses.push(Loss { place: key.place.clone(), what: shown(&what), why: why.clone(), opens });
        }
        wrong.is_none()
    });
    keys.0.len() == before
}

/// Whether a route can be written. If it cannot, and denied some clients, `lost` gets the reason why the whole site has
/// to refuse.
fn is_route(route: &mut Route, losses: &mut Vec<Loss>, lost: &mut Vec<String>) -> bool {
    let Some(place) = route.place.clone() else { return false };
    let restricted = route.is_restricted();
    if !check(&mut route.keys, Scope::Route, losses) && restricted {
        route.refused.push(format!("a key of {place}"));
    }
    let actions = ["app", "handler", "files", "scripts", "cgi", "redirect", "respond"];
    if !actions.iter().any(|action| route.keys.has(action)) {
        route.respond(503, &place);
    }
    route.paths.retain(|path| {
        let wrong = takes(Scope::Route, "path", path);
        if let Err(why) = &wrong {
            let what = format!("path {path}");
            losses.push(Loss {
                place: place.clone(),
                what: shown(&what),
                why: why.clone(),
                opens: restricted,
            });
            if restricted {
                lost.push(format!("the path {} of {place}", shown(path)));
            }
        }
        wrong.is_ok()
    });
    !route.paths.is_empty()
}

/// Removes routes that are never reached, because an earlier route takes every request for their path. If a removed
/// route denied some clients, the site refuses.
fn drop_unreached(site: &mut Site, losses: &mut Vec<Loss>) {
    // Paths of a route that refuses now: later routes are not reached, and that is reported already.
    let mut refusing: HashSet<String> = HashSet::new();
    // The paths that earlier routes answer, and whether each is answered with a refusal.
    let mut taken: HashMap<String, bool> = HashMap::new();
    let mut lost = Vec::new();
    let site_refuses = !site.refused.is_empty();
    site.routes.retain_mut(|route| {
        let keeps_out = route.keeps_out();
        let place = route.place.clone();
        route.paths.retain(|path| !refusing.contains(path));
        route.paths.retain(|path| {
            let earlier = taken.get(path);
            if let (Some(refuses), Some(place)) = (earlier, &place) {
                let opens = keeps_out && !refuses;
                let what = format!("path {}", shown(path));
                let why = "an earlier route of the site answers this path".to_owned();
                if opens {
                    lost.push(format!("{place}: {what}"));
                }
                losses.push(Loss { place: place.clone(), what, why, opens });
            }
            earlier.is_none()
        });
        let narrowed = ["methods", "if-headers", "if-query", "remote"].iter().any(|key| route.keys.has(key));
        if !narrowed && (site_refuses || !route.refused.is_empty()) {
            refusing.extend(route.paths.iter().cloned());
        } else if !narrowed && !route.keys.has("files") {
            taken.extend(route.paths.iter().map(|path| (path.clone(), route.refuses())));
        }
        !route.paths.is_empty()
    });
    site.refused.extend(lost);
}

/// Checks that each name belongs to one site, and that only the first site has none.
fn check_hosts(draft: &mut Draft, file: &Place) {
    let mut seen: HashSet<String> = HashSet::new();
    let losses = &mut draft.losses;
    let mut number = 0;
    draft.sites.retain_mut(|site| {
        let place = site.place.clone().unwrap_or_else(|| file.clone());
        let mut note = |what: String, why: &str| {
            losses.push(Loss { place: place.clone(), what: shown(&what), why: why.to_owned(), opens: false });
        };
        let mut own = HashSet::new();
        site.hosts.retain(|host| {
            if let Err(why) = takes(Scope::Site, "hosts", host) {
                note(format!("host {host}"), &why);
                return false;
            }
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            if !own.insert(name.clone()) {
                return false;
            }
            let is_new = seen.insert(name);
            if !is_new {
                note(format!("host {host}"), "another site has this name already");
            }
            is_new
        });
        let is_kept = number == 0 || !site.hosts.is_empty();
        if !is_kept {
            note(
                "site".to_owned(),
                "this site has no name, and requests whose host no site names go to the first site",
            );
        }
        number += 1;
        is_kept
    });
}
