//! Trust of `mod_remoteip` in proxies that tell the address of a client: never more of it than Apache has.

use crate::apache::language::line::Line;
use crate::apache::language::network::network;
use crate::model::{Draft, Keys, Site};
use crate::rules::proxy_trust::ProxyTrust;

/// Header fields with an address that are known here.
const FIELDS: [&str; 3] = ["X-Forwarded-For", "X-Client-IP", "X-Real-IP"];

/// Reads the trust in proxies from the main server, or from the only virtual host.
pub(crate) fn read(lines: &[Line], keys: &mut Keys) -> ProxyTrust {
    let says = |name: &str| lines.iter().rfind(|line| line.name == name);
    let lost = |line: &Line, why| ProxyTrust::Lost(line.place.clone(), line.text.clone(), why);
    if let Some(line) = says("remoteipproxyprotocol").filter(|line| !line.says(0, "off")) {
        return lost(
            line,
            "whom it is believed of is not said there; write proxy-protocol = true and trusted-proxies, in [server]",
        );
    }
    let Some(header) = says("remoteipheader") else { return ProxyTrust::Unsaid };
    let Some(field) = FIELDS.into_iter().find(|field| header.says(0, field)) else {
        return lost(header, "this field is not one of trusted-fields");
    };
    if let Some(list) = says("remoteiptrustedproxylist").or_else(|| says("remoteipinternalproxylist")) {
        return lost(list, "lists of proxies are written into trusted-proxies, in [server]");
    }
    let proxies = |name: &'static str| lines.iter().filter(move |line| line.name == name);
    let mut all = Vec::new();
    for line in proxies("remoteipinternalproxy").chain(proxies("remoteiptrustedproxy")) {
        for one in &line.args {
            let Some(network) = network(one) else { return lost(line, "a proxy is known by its address") };
            all.push((network, &line.place));
        }
    }
    if all.is_empty() {
        return lost(
            header,
            "everybody is believed there; write trusted-proxies in [server], for the proxy in front",
        );
    }
    if let Some(key) = keys.get("trusted-proxies") {
        return ProxyTrust::Lost(
            key.place.clone(),
            header.text.clone(),
            "whom WSGITrustedProxies names is believed",
        );
    }
    for (network, place) in all {
        keys.add("trusted-proxies", &network, place);
    }
    keys.add("trusted-fields", field, &header.place);
    match says("remoteiptrustedproxy") {
        Some(line) => ProxyTrust::Less {
            place: line.place.clone(),
            what: line.text.clone(),
            why: "it is not believed there in addresses of private networks, and here it is",
            is_of_private: true,
        },
        None => ProxyTrust::Carried,
    }
}

/// Reads one of several virtual hosts, which has its own trust in proxies: here there is one for the whole server.
pub(crate) fn of_one(lines: &[Line], site: &mut Site, draft: &mut Draft) {
    if let Some(line) =
        lines.iter().find(|line| matches!(line.name.as_str(), "remoteipheader" | "remoteipproxyprotocol"))
    {
        let why = "whose word counts is said once, by trusted-proxies in [server]";
        ProxyTrust::Lost(line.place.clone(), line.text.clone(), why).guard(site, draft);
    }
}
