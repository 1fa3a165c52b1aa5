//! nginx.conf: its servers are sites, its locations routes.
//!
//! nginx takes the longest prefix, then the first pattern that fits, unless the prefix says `^~`; here the longest prefix
//! counts before an end such as `*.php`. Where that makes a difference for what is kept out, it is a loss that opens.

mod known;
mod level;
mod lex;
mod listen;
mod location;
mod pattern;
mod redirect;
mod server;
mod settings;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::include::Includes;
use crate::model::{Draft, Mistake, Place};
use level::Level;
use lex::Directive;
use listen::Listen;
use server::Server;

/// What nginx takes of a body unless it is told otherwise.
const BODY_BYTES_MAX: &str = "1m";

/// Reads a file and what it includes.
pub(crate) fn read(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<(), Mistake> {
    let all = lex::read(file, text, includes)?;
    let mut servers = Vec::new();
    main(&all, &mut servers, draft);
    if servers.is_empty() {
        let place = Place { file: Arc::clone(file), line: 1 };
        return Err(Mistake { place, what: "there is no server in it".to_owned() });
    }
    if !draft.server.has("body-bytes-max") {
        let place = Place::unsaid("nginx");
        draft.server.set("body-bytes-max", BODY_BYTES_MAX, &place);
    }
    let mut servers = without_ways_to_tls(servers, draft);
    bind(&mut servers, draft);
    draft.sites = in_order(servers).into_iter().map(|server| server.site).collect();
    Ok(())
}

/// The top of the file, or http: a file may also be one that http includes.
fn main(all: &[Directive], servers: &mut Vec<Server>, draft: &mut Draft) {
    let http: Vec<Directive> = all
        .iter()
        .flat_map(|one| if one.name == "http" { one.inside().to_vec() } else { vec![one.clone()] })
        .collect();
    let level = Level::default().inner(&http, draft);
    let mut keys = std::mem::take(&mut draft.server);
    for one in &http {
        match one.name.as_str() {
            "server" => servers.push(server::read(one, &level, draft)),
            "events" => {
                for inside in one.inside() {
                    let _ = settings::take(inside, settings::Table::Server, &mut keys, draft);
                }
            }
            "root" | "allow" | "deny" | "satisfy" | "autoindex" | "add_header" | "expires"
            | "default_type" => {}
            "index" if one.args.iter().any(|arg| arg == "index.html") => {}
            _ if known::restricts(one).is_some() => {}
            _ => {
                if !settings::take(one, settings::Table::Server, &mut keys, draft) {
                    known::tell(one, draft);
                }
            }
        }
    }
    draft.server = keys;
}

/// Leaves out servers that only send to https what another server has: a proxy in front, which has TLS, does that.
fn without_ways_to_tls(servers: Vec<Server>, draft: &mut Draft) -> Vec<Server> {
    let with_tls: Vec<Vec<String>> = servers
        .iter()
        .filter(|server| server.listens.iter().any(|listen| listen.tls))
        .map(|server| server.site.hosts.clone())
        .collect();
    let is_elsewhere = |server: &Server| {
        let has = |hosts: &Vec<String>| server.site.hosts.iter().any(|host| hosts.contains(host));
        !with_tls.is_empty() && (server.site.hosts.is_empty() || with_tls.iter().any(has))
    };
    let (left, kept): (Vec<Server>, Vec<Server>) =
        servers.into_iter().partition(|server| server.is_way_to_tls && is_elsewhere(server));
    for server in left {
        if let Some(place) = &server.site.place {
            draft.lose(
                place,
                "server",
                "it only sends clients to https: that is the work of the proxy in front, which has TLS",
            );
        }
    }
    kept
}

/// The server that is for other names comes first.
fn in_order(mut servers: Vec<Server>) -> Vec<Server> {
    let first = servers.iter().position(|server| server.listens.iter().any(|listen| listen.is_default));
    if let Some(first) = first {
        let server = servers.remove(first);
        servers.insert(0, server);
    }
    servers
}

/// Where it listens: every site at every address.
fn bind(servers: &mut [Server], draft: &mut Draft) {
    let mut reached = BTreeSet::new();
    for server in &*servers {
        if let (true, Some(place)) = (server.listens.is_empty(), &server.site.place) {
            draft.server.add("bind", "0.0.0.0:80", place);
            reached.insert(EVERYWHERE.to_owned());
        }
        for listen in server.listens.iter().filter(|listen| !listen.tls) {
            draft.server.add("bind", &listen.bind, &listen.directive.place);
            reached.insert(listen.reach());
        }
    }
    for listen in servers.iter().flat_map(|server| &server.listens) {
        let (place, shown) = (&listen.directive.place, listen.directive.shown());
        if listen.tls {
            let where_to =
                if reached.is_empty() { "; for that one it is at 127.0.0.1:8000 here" } else { "" };
            draft.lose(place, &shown, &format!("TLS is the work of a proxy in front{where_to}"));
        }
        if listen.proxied {
            draft.open(
                place,
                &shown,
                "the PROXY protocol is not understood: addresses would be those of the proxy",
            );
        }
    }
    for server in servers {
        keep_apart(server, &reached, draft);
    }
}

/// A site that would be reached where it was not is for local clients, if it was, and else refuses.
fn keep_apart(server: &mut Server, reached: &BTreeSet<String>, draft: &mut Draft) {
    let plain = server.listens.iter().filter(|listen| !listen.tls);
    let mut own: BTreeSet<String> = plain.map(Listen::reach).collect();
    if server.listens.is_empty() {
        own.insert(EVERYWHERE.to_owned());
    }
    // Who comes to a local address is on this machine: that is no wider than any other one.
    let other: Vec<&str> =
        reached.difference(&own).map(String::as_str).filter(|reach| !is_local(reach)).collect();
    let Some(place) = server.site.place.clone().filter(|_| !other.is_empty()) else { return };
    let routes = &mut server.site.routes;
    if !own.is_empty()
        && own.iter().all(|reach| is_local(reach))
        && routes.iter().all(|route| !route.keys.has("allow"))
    {
        for route in routes {
            for whom in ["127.0.0.0/8", "::1", "unix"] {
                route.keys.add("allow", whom, &place);
            }
        }
        draft.lose(
            &place,
            "server",
            "it was at local addresses alone; here it is for clients of this machine alone",
        );
        return;
    }
    let what = if own.is_empty() { "it had TLS alone" } else { "it was elsewhere" };
    let why =
        format!("{what}, and here every site is at every address, this one at {}, too", other.join(", "));
    draft.open(&place, "server", &why);
    server.site.refused.push(format!("{place}: server, {what}"));
}

/// Whether an address is one of this machine alone.
fn is_local(reach: &str) -> bool {
    ["127.", "[::1]", "localhost:", "unix:"].iter().any(|front| reach.starts_with(front))
}

/// Port 80 of every address, where a server listens that does not say where.
const EVERYWHERE: &str = "*:80";
