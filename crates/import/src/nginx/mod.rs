//! `nginx.conf`: its servers become sites; its locations, routes.
//!
//! nginx takes the longest prefix, then the first pattern that fits, unless the prefix says `^~`; here the longest
//! prefix takes precedence over a suffix such as `*.php`. If this difference would let in more clients, it is a loss
//! with `opens` set.

mod known;
mod level;
mod lex;
mod listen;
mod location;
mod password;
mod pattern;
mod real;
mod redirect;
mod request;
mod server;
mod settings;

use std::sync::Arc;

use crate::model::{Draft, Mistake, Place};
use crate::rules::reach::{self, Address, Placed};
use crate::text::include::Includes;
use level::Level;
use lex::Directive;
use server::Server;

/// nginx's default limit of a body.
const BODY_BYTES_MAX: &str = "1m";

/// Reads a file and the files that it includes.
pub(crate) fn read(
    file: &Arc<str>,
    text: &str,
    includes: &mut Includes<'_>,
    draft: &mut Draft,
) -> Result<(), Mistake> {
    let mut all = lex::read(file, text, includes)?;
    let proxy_trust = real::take(&mut all, &mut draft.server);
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
    for server in &mut servers {
        proxy_trust.guard(&mut server.site, draft);
    }
    let sites = in_order(servers).into_iter().map(|server| placed(server, draft)).collect();
    let mut sites = reach::without_ways_to_tls(sites, draft);
    reach::bind(&mut sites, draft);
    draft.sites = sites.into_iter().map(|placed| placed.site).collect();
    Ok(())
}

/// Reads the top of the file, and http in it: the file may also be one that http includes.
fn main(all: &[Directive], servers: &mut Vec<Server>, draft: &mut Draft) {
    let http: Vec<Directive> = all
        .iter()
        .flat_map(|one| if one.name == "http" { one.inside().to_vec() } else { vec![one.clone()] })
        .collect();
    let level = Level::default().inner(&http, draft);
    let mut keys = std::mem::take(&mut draft.server);
    for one in &http {
        match one.name.as_str() {
            "server" => {
                let mut server = server::read(one, &level, draft);
                real::error_pages(&http, one.inside(), &mut server.site, draft);
                servers.push(server);
            }
            "events" => {
                for inside in one.inside() {
                    let _ = settings::take(inside, settings::Table::Server, &mut keys, draft);
                }
            }
            "root" | "allow" | "deny" | "satisfy" | "autoindex" | "add_header" | "expires"
            | "default_type" | "error_page" => {}
            name if password::NAMES.contains(&name) => {}
            "index" if one.args.iter().any(|arg| arg == "index.html") => {}
            _ if known::restricts(one).is_some() => {}
            _ => {
                if !settings::take(one, settings::Table::Server, &mut keys, draft) {
                    known::tell(one, draft);
                }
            }
        }
    }
    if all.iter().any(|one| one.name == "events") && !keys.has("user") {
        let place = Place::unsaid("nginx");
        let why = "without it, nginx runs its workers as the user that it was built with, mostly nobody; here they \
                   would run as whoever starts the server, who may be root: write user NAME; in the file, and \
                   import it again";
        draft.refuse_all(&place, "user", why);
    }
    draft.server = keys;
}

/// Puts the server for all other names first.
fn in_order(mut servers: Vec<Server>) -> Vec<Server> {
    let first = servers.iter().position(|server| server.listens.iter().any(|listen| listen.is_default));
    if let Some(first) = first {
        let server = servers.remove(first);
        servers.insert(0, server);
    }
    servers
}

/// Adds the addresses of a server: port 80 of every address, unless it names some.
fn placed(server: Server, draft: &mut Draft) -> Placed {
    let Server { mut site, listens, is_way_to_tls } = server;
    let mut addresses = Vec::new();
    for listen in listens {
        let (place, shown) = (listen.directive.place.clone(), listen.directive.shown());
        if listen.proxied {
            let why = "this does not say which proxies are trusted; write proxy-protocol = true and trusted-proxies, in [server]";
            draft.refuse_site(&mut site, &place, &shown, why);
        }
        addresses.push(Address { bind: listen.bind, shown, place, tls: listen.tls });
    }
    if let (true, Some(place)) = (addresses.is_empty(), site.place.clone()) {
        addresses.push(Address {
            bind: "0.0.0.0:80".to_owned(),
            shown: "server".to_owned(),
            place,
            tls: false,
        });
    }
    Placed { site, addresses, is_way_to_tls, lost_ways: Vec::new() }
}
