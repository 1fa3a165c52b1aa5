//! Redirects that lead back to themselves, directly or by way of other redirects.

use adyton_http1::{Head, Limits, Parsed};
use adyton_route::{
    HostPattern, Hosts, Location, Networks, PathPattern, Routes, Taken, When, escaped, raw_bytes, spelled,
};

use crate::settings::said::Fault;
use crate::settings::typed::{Site, SiteAction, SiteRoute, Sites};
use crate::sites::{MATCHING, TableRoute};

/// Redirects that are followed in turn; browsers give up after some twenty.
pub(super) const HOPS_MAX: usize = 10;

/// Keys that say where a route sends clients.
const SENDS: [&str; 2] = ["redirect", "redirect-status"];

/// A name that no route has, for a path beneath one.
const ANY_NAME: &str = "/-";

/// The host of a site that has no name.
pub(super) const ANY_HOST: &str = "adyton.invalid";

/// Finds routes that send clients back to themselves.
pub(super) fn mistakes(sites: &Sites) -> Vec<Fault> {
    let is_read = |site: &Site| !site.settings.is_any_unread(&["deny-paths", "rewrite"]);
    let is_own = |route: &SiteRoute| {
        !route.is_internal
            && !route.settings.is_any_unread(&MATCHING)
            && !route.settings.is_any_unread(&SENDS)
    };
    let hosts = hosts(sites);
    let mut all = Vec::new();
    for (number, site) in sites.sites.iter().enumerate().filter(|(_, site)| is_read(site)) {
        let is_whole = !site.settings.is_unread("routes")
            && !site.routes.iter().any(|route| route.settings.is_any_unread(&MATCHING));
        let walk = Walk { site, is_whole, table: site.table(), hosts: hosts.as_ref(), number };
        for (own, route) in site.routes.iter().enumerate().filter(|(_, route)| is_own(route)) {
            let SiteAction::Redirect(status, location) = &route.action else { continue };
            let looping = route
                .paths
                .iter()
                .find_map(|path| walk.back(own, Redirect { status: *status, location }, path));
            if let Some((path, back)) = looping {
                let what = format!(
                    "redirect = {location}: {} is sent to {back}, which this route has, too, and so on without end; \
                     name another target, or give {back} a route of its own",
                    String::from_utf8_lossy(&path)
                );
                all.push(Fault { at: route.said_at("redirect"), what });
            }
        }
    }
    all
}

/// Returns the names of all sites, if they are known.
fn hosts(sites: &Sites) -> Option<Hosts> {
    let is_unread = sites.sites.iter().any(|site| site.settings.is_any_unread(&["hosts", "sites"]));
    let names: Vec<Vec<HostPattern>> = sites.sites.iter().map(|site| site.hosts.clone()).collect();
    Hosts::new(&names).ok().filter(|_| !is_unread)
}

/// A client that follows redirects in a site.
struct Walk<'s> {
    site: &'s Site,
    /// Whether it is known which requests each route of the site takes. If not, a redirect counts as leading back to
    /// itself only if no route in between could end the loop.
    is_whole: bool,
    table: Routes<TableRoute<'s>>,
    hosts: Option<&'s Hosts>,
    /// The site's number.
    number: usize,
}

/// Where a route sends clients, and with which status.
#[derive(Clone, Copy)]
struct Redirect<'s> {
    status: u16,
    location: &'s Location,
}

/// A request of that client.
#[derive(PartialEq, Eq)]
struct Step {
    method: Vec<u8>,
    /// Path and query.
    target: String,
}

impl Walk<'_> {
    /// Returns a path of the route `own` that leads back to that route, and the last place to which a client was sent.
    fn back(&self, own: usize, redirect: Redirect<'_>, pattern: &PathPattern) -> Option<(Vec<u8>, String)> {
        let paths = paths_of(pattern);
        // The first path of a prefix is the prefix itself, which may belong to another route.
        let known = if self.is_whole { 0 } else { paths.len() - 1 };
        paths.into_iter().skip(known).find_map(|path| {
            let target = self.follow(own, redirect, &path)?;
            Some((path, target))
        })
    }

    fn follow(&self, own: usize, redirect: Redirect<'_>, path: &[u8]) -> Option<String> {
        let route = &self.site.routes[own];
        let method = route.when.methods.first().map_or(b"GET".to_vec(), |method| method.to_vec());
        let mut step = Step { method, target: format!("{}{}", text(path), query_of(&route.when)) };
        if self.taken(own, &step)?.0 != own {
            return None;
        }
        let (mut route, mut redirect) = (own, redirect);
        for _ in 0..HOPS_MAX {
            let next = self.next(own, route, redirect, &step)?;
            if !self.is_whole && next != step {
                return None;
            }
            step = next;
            let (taken, _) = self.taken(own, &step)?;
            if taken == own {
                return Some(step.target);
            }
            let next = &self.site.routes[taken];
            let SiteAction::Redirect(status, location) = &next.action else { return None };
            if next.settings.is_any_unread(&SENDS) {
                return None;
            }
            (route, redirect) = (taken, Redirect { status: *status, location });
        }
        None
    }

    /// Returns the request that a client sends after the redirect of a route, if the redirect leads to this site.
    fn next(&self, own: usize, route: usize, redirect: Redirect<'_>, step: &Step) -> Option<Step> {
        let Redirect { status, location } = redirect;
        let (_, prefix_bytes) = self.taken(own, step).filter(|(taken, _)| *taken == route)?;
        let bytes = self.bytes(own, step);
        let mut head = Head::new();
        (head.parse(&bytes, &Limits::default()) == Ok(Parsed::Complete)).then_some(())?;
        let request = head.of(&bytes);
        let prefix_bytes = raw_bytes(request.path(), prefix_bytes);
        let found = String::from_utf8(location.of(request, prefix_bytes)).ok()?;
        let is_get = status == 303 || matches!(status, 301 | 302) && step.method == b"POST";
        let method = if is_get && step.method != b"HEAD" { b"GET".to_vec() } else { step.method.clone() };
        Some(Step { method, target: self.own_target(&found)? })
    }

    /// Returns path and query of a URL, if it leads to this site over http.
    fn own_target(&self, url: &str) -> Option<String> {
        let url = url.split('#').next().unwrap_or_default();
        if url.starts_with('/') && !url.starts_with("//") {
            return Some(url.to_owned());
        }
        // The server in front decides whether another scheme leads here.
        let rest = url.strip_prefix("http://")?;
        let (host, target) = rest.find(['/', '?']).map_or((rest, "/"), |at| rest.split_at(at));
        let is_named = |hosts: &Hosts| hosts.matching(Some(host.as_bytes())) == Some(self.number);
        let is_own = host == self.host() || self.hosts.is_some_and(is_named);
        is_own.then(|| if target.starts_with('/') { target.to_owned() } else { format!("/{target}") })
    }

    /// Returns a name of the site.
    fn host(&self) -> String {
        let named = self.site.hosts.first().map(ToString::to_string);
        named.map_or(ANY_HOST.to_owned(), |name| name.replace('*', "-"))
    }

    fn bytes(&self, own: usize, step: &Step) -> Vec<u8> {
        let mut bytes = step.method.clone();
        bytes.extend(format!(" {} HTTP/1.1\r\nHost: {}\r\n", step.target, self.host()).bytes());
        for field in &self.site.routes[own].when.fields {
            bytes.extend_from_slice(&field.name);
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(field.value.as_deref().unwrap_or(b"-"));
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }

    /// Returns the route that a request takes, and how many bytes of its path are the route's own; `None` if that is
    /// not known.
    fn taken(&self, own: usize, step: &Step) -> Option<(usize, usize)> {
        let bytes = self.bytes(own, step);
        let mut head = Head::new();
        (head.parse(&bytes, &Limits::default()) == Ok(Parsed::Complete)).then_some(())?;
        let request = head.of(&bytes);
        let path = spelled(request.path()).ok()?;
        if self.site.ahead.rule(&path, request.query(), true).is_some() {
            return None;
        }
        for (_, pattern, TableRoute { number, route }) in self.table.of(&path) {
            if route.settings.is_any_unread(&MATCHING) {
                continue;
            }
            // The client's address is not known, but stays the same.
            let is_near = *number == own || route.when.remote.is_empty();
            let when = When { remote: Networks::default(), ..route.when.clone() };
            match when.takes(request, None) {
                Taken::Yes if is_near => return Some((*number, pattern.prefix_bytes())),
                Taken::Yes => return None,
                Taken::OtherMethod | Taken::No => {}
            }
        }
        None
    }
}

/// Returns the query that a request needs for a route.
fn query_of(when: &When) -> String {
    let pair = |wanted: &adyton_route::Wanted| {
        let value = wanted.value.as_deref().unwrap_or(b"-");
        format!("{}={}", text(&wanted.name), text(value))
    };
    let all: Vec<String> = when.query.iter().map(pair).collect();
    if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
}

/// Returns bytes as they are sent in a path, or in a part of a query.
pub(super) fn text(bytes: &[u8]) -> String {
    escaped(bytes).into_iter().map(char::from).collect()
}

/// Returns paths that a pattern matches.
pub(super) fn paths_of(pattern: &PathPattern) -> Vec<Vec<u8>> {
    match pattern {
        PathPattern::Exact(path) => vec![path.to_vec()],
        PathPattern::Suffix(end) => vec![[ANY_NAME.as_bytes(), end].concat()],
        PathPattern::Prefix(prefix) => {
            let own = if prefix.is_empty() { b"/".to_vec() } else { prefix.to_vec() };
            vec![own, [prefix, ANY_NAME.as_bytes()].concat()]
        }
    }
}
