//! Redirects that lead back to themselves, straight away or by way of others.

use adyton_http1::{Head, Limits, Parsed};
use adyton_route::{HostPattern, Hosts, Location, Networks, PathPattern, Routes, Taken, When, spelled};

use crate::said::Fault;
use crate::settings::{Site, SiteAction, Sites};

/// Browsers give up after some twenty.
const HOPS_MAX: usize = 10;

/// A name that no route has, for a path beneath one.
const ANY_NAME: &str = "/-";

/// The host of a site that has no name.
const ANY_HOST: &str = "adyton.invalid";

/// Routes that send clients back to themselves.
pub(super) fn mistakes(sites: &Sites) -> Vec<Fault> {
    let names: Vec<Vec<HostPattern>> = sites.sites.iter().map(|site| site.hosts.clone()).collect();
    let Ok(hosts) = Hosts::new(&names) else { return Vec::new() };
    let mut all = Vec::new();
    for (number, site) in sites.sites.iter().enumerate() {
        if !site.routes.iter().all(|route| route.said.is_understood) {
            continue;
        }
        let walk = Walk { site, table: site.table(), hosts: &hosts, number };
        for (own, route) in site.routes.iter().enumerate().filter(|(_, route)| !route.is_internal) {
            let SiteAction::Redirect(status, location) = &route.action else { continue };
            let looping = route.paths.iter().find_map(|path| walk.back(own, (*status, location), path));
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

/// A client that follows redirects in a site.
struct Walk<'s> {
    site: &'s Site,
    table: Routes<usize>,
    hosts: &'s Hosts,
    /// The site's number.
    number: usize,
}

/// A request of that client.
struct Step {
    method: Vec<u8>,
    /// Path and query.
    target: String,
}

impl Walk<'_> {
    /// A path of a route that leads back to it, and where it was sent last.
    fn back(
        &self,
        own: usize,
        redirect: (u16, &Location),
        pattern: &PathPattern,
    ) -> Option<(Vec<u8>, String)> {
        paths_of(pattern).into_iter().find_map(|path| {
            let target = self.follow(own, redirect, &path)?;
            Some((path, target))
        })
    }

    fn follow(&self, own: usize, redirect: (u16, &Location), path: &[u8]) -> Option<String> {
        let route = &self.site.routes[own];
        let method = route.when.methods.first().map_or(b"GET".to_vec(), |method| method.to_vec());
        let mut step = Step { method, target: format!("{}{}", escaped(path), query_of(&route.when)) };
        if self.taken(own, &step)?.0 != own {
            return None;
        }
        let mut redirect = (own, redirect.0, redirect.1);
        for _ in 0..HOPS_MAX {
            step = self.next(own, redirect, &step)?;
            let (taken, _) = self.taken(own, &step)?;
            if taken == own {
                return Some(step.target);
            }
            let SiteAction::Redirect(status, location) = &self.site.routes[taken].action else { return None };
            redirect = (taken, *status, location);
        }
        None
    }

    /// What a client asks for when it is sent on, if that is this site.
    fn next(
        &self,
        own: usize,
        (route, status, location): (usize, u16, &Location),
        step: &Step,
    ) -> Option<Step> {
        let (_, prefix_bytes) = self.taken(own, step).filter(|(taken, _)| *taken == route)?;
        let bytes = self.bytes(own, step);
        let mut head = Head::new();
        (head.parse(&bytes, &Limits::default()) == Ok(Parsed::Complete)).then_some(())?;
        let found = String::from_utf8(location.of(head.of(&bytes), prefix_bytes)).ok()?;
        let is_get = status == 303 || matches!(status, 301 | 302) && step.method == b"POST";
        let method = if is_get && step.method != b"HEAD" { b"GET".to_vec() } else { step.method.clone() };
        Some(Step { method, target: self.own_target(&found)? })
    }

    /// Path and query of a URL, if they are asked of this site in this way.
    fn own_target(&self, url: &str) -> Option<String> {
        let url = url.split('#').next().unwrap_or_default();
        if url.starts_with('/') && !url.starts_with("//") {
            return Some(url.to_owned());
        }
        // Whether another scheme ends here is for what stands in front to say.
        let rest = url.strip_prefix("http://")?;
        let (host, target) = rest.find(['/', '?']).map_or((rest, "/"), |at| rest.split_at(at));
        let is_own = host == self.host() || self.hosts.matching(Some(host.as_bytes())) == Some(self.number);
        is_own.then(|| if target.starts_with('/') { target.to_owned() } else { format!("/{target}") })
    }

    /// A name of the site.
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

    /// The route that a request takes, and how much of its path is the route's own; nothing if that cannot be told.
    fn taken(&self, own: usize, step: &Step) -> Option<(usize, usize)> {
        let bytes = self.bytes(own, step);
        let mut head = Head::new();
        (head.parse(&bytes, &Limits::default()) == Ok(Parsed::Complete)).then_some(())?;
        let request = head.of(&bytes);
        let path = spelled(request.path()).ok()?;
        if self.site.rewrites.target(&path, request.query()).is_some() {
            return None;
        }
        for (_, pattern, number) in self.table.of(&path) {
            let route = &self.site.routes[*number];
            // Where the client is, is not known; it stays there.
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

/// What a request has behind its path to be one of these.
fn query_of(when: &When) -> String {
    let pair = |wanted: &adyton_route::Wanted| {
        let value = wanted.value.as_deref().unwrap_or(b"-");
        format!("{}={}", escaped(&wanted.name), escaped(value))
    };
    let all: Vec<String> = when.query.iter().map(pair).collect();
    if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
}

/// Bytes as they are sent in a path, or in a part of a query.
fn escaped(bytes: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let each = |byte: &u8| {
        if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    };
    bytes.iter().map(each).collect()
}

/// Paths that a pattern has.
fn paths_of(pattern: &PathPattern) -> Vec<Vec<u8>> {
    match pattern {
        PathPattern::Exact(path) => vec![path.to_vec()],
        PathPattern::Suffix(end) => vec![[ANY_NAME.as_bytes(), end].concat()],
        PathPattern::Prefix(prefix) => {
            let own = if prefix.is_empty() { b"/".to_vec() } else { prefix.to_vec() };
            vec![own, [prefix, ANY_NAME.as_bytes()].concat()]
        }
    }
}
