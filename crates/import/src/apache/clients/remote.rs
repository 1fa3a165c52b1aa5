//! Trust in proxies that report the address of a client, as in `mod_remoteip`: never more trust than in Apache.

use crate::apache::language::line::Line;
use crate::apache::language::network::network;
use crate::model::{Draft, Keys, Site};
use crate::rules::proxy_trust::ProxyTrust;

/// Header fields with the address of a client that are known here.
const FIELDS: [&str; 3] = ["X-Forwarded-For", "X-Client-IP", "X-Real-IP"];

/// Reads the trust in proxies from the main server, or from the only virtual host.
pub(crate) fn read(lines: &[Line], keys: &mut Keys) -> ProxyTrust {
    let says = |name: &str| lines.iter().rfind(|line| line.name == name);
    let lost = |line: &Line, why| ProxyTrust::Lost(line.place.clone(), line.text.clone(), why);
    if let Some(line) = says("remoteipproxyprotocol").filter(|line| !line.says(0, "off")) {
        return lost(
            line,
            "this does not say which proxies are trusted; write proxy-protocol = true and trusted-proxies, in [server]",
        );
    }
    let Some(header) = says("remoteipheader") else { return ProxyTrust::Unsaid };
    let Some(field) = FIELDS.into_iter().find(|field| header.says(0, field)) else {
        return lost(header, "trusted-fields cannot name this field");
    };
    if let Some(list) = says("remoteiptrustedproxylist").or_else(|| says("remoteipinternalproxylist")) {
        return lost(list, "write the proxies of this list into trusted-proxies, in [server]");
    }
    let proxies = |name: &'static str| lines.iter().filter(move |line| line.name == name);
    let mut all = Vec::new();
    for line in proxies("remoteipinternalproxy").chain(proxies("remoteiptrustedproxy")) {
        for one in &line.args {
            let Some(network) = network(one) else {
                return lost(line, "a proxy has to be named by its address");
            };
            all.push((network, &line.place));
        }
    }
    if all.is_empty() {
        return lost(
            header,
            "Apache believes this field of every client; write trusted-proxies in [server], with the address of the proxy in front",
        );
    }
    if let Some(key) = keys.get("trusted-proxies") {
        return ProxyTrust::Lost(
            key.place.clone(),
            header.text.clone(),
            "the proxies that WSGITrustedProxies names are trusted instead",
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
            why: "Apache does not believe this proxy if it tells a private address, and Adyton does",
            is_of_private: true,
        },
        None => ProxyTrust::Carried,
    }
}

/// Reports the trust in proxies of one of several virtual hosts as lost, because Adyton trusts a proxy for all sites.
pub(crate) fn of_one(lines: &[Line], site: &mut Site, draft: &mut Draft) {
    if let Some(line) =
        lines.iter().find(|line| matches!(line.name.as_str(), "remoteipheader" | "remoteipproxyprotocol"))
    {
        let why = "which proxies are trusted is said once, by trusted-proxies in [server]";
        ProxyTrust::Lost(line.place.clone(), line.text.clone(), why).guard(site, draft);
    }
}
