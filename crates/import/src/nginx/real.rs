//! `set_real_ip_from` and `error_page`: proxies that are believed about the address of a client, and pages for errors.

use super::lex::Directive;
use crate::model::{Draft, Keys, Route, Site, Value, has_end};
use crate::rules::pages;
use crate::rules::proxy_trust::ProxyTrust;

/// Takes the trusted proxies of http, and of its only server. Elsewhere they are not read, and routes that depend on
/// addresses refuse.
pub(super) fn take(all: &mut [Directive], keys: &mut Keys) -> ProxyTrust {
    let servers = count(all);
    let mut taken = Vec::new();
    take_out(all, servers == 1, &mut taken);
    read(&taken, keys)
}

fn count(all: &[Directive]) -> usize {
    let inside = |one: &Directive| if one.name == "http" { count(one.inside()) } else { 0 };
    all.iter().map(|one| usize::from(one.name == "server") + inside(one)).sum()
}

/// Takes the directives out of http and of the only server, whose directives come last, so that they count.
fn take_out(all: &mut [Directive], is_only: bool, taken: &mut Vec<Directive>) {
    for one in all {
        if one.name == "http" || (one.name == "server" && is_only) {
            let block = one.block.get_or_insert_default();
            taken.extend(block.extract_if(.., |inner| NAMES.contains(&inner.name.as_str())));
            take_out(block, is_only, taken);
        }
    }
}

const NAMES: [&str; 3] = ["set_real_ip_from", "real_ip_header", "real_ip_recursive"];

/// Header fields with the address of a client that are known here.
const FIELDS: [&str; 3] = ["X-Real-IP", "X-Forwarded-For", "X-Client-IP"];

fn read(taken: &[Directive], keys: &mut Keys) -> ProxyTrust {
    let froms: Vec<&Directive> = taken.iter().filter(|one| one.name == "set_real_ip_from").collect();
    let Some(first) = froms.first() else { return ProxyTrust::Unsaid };
    let header = taken.iter().rfind(|one| one.name == "real_ip_header");
    let said = header.map_or("X-Real-IP", |header| header.arg(0));
    let Some(field) = FIELDS.into_iter().find(|field| field.eq_ignore_ascii_case(said)) else {
        let one = header.unwrap_or(first);
        let why = match said {
            "proxy_protocol" => "write proxy-protocol = true beside trusted-proxies, in [server]",
            _ => "trusted-fields cannot name this field",
        };
        return ProxyTrust::Lost(one.place.clone(), one.shown(), why);
    };
    let whom =
        |one: &Directive| if one.arg(0) == "unix:" { "unix".to_owned() } else { one.arg(0).to_owned() };
    let is_address = |whom: &str| {
        let address = whom.split('/').next().unwrap_or_default();
        whom == "unix" || address.parse::<std::net::IpAddr>().is_ok()
    };
    if let Some(one) = froms.iter().find(|one| !is_address(&whom(one))) {
        return ProxyTrust::Lost(one.place.clone(), one.shown(), "a proxy has to be named by its address");
    }
    for one in &froms {
        keys.add("trusted-proxies", &whom(one), &one.place);
    }
    keys.add("trusted-fields", field, &header.unwrap_or(first).place);
    let walks =
        taken.iter().rfind(|one| one.name == "real_ip_recursive").is_some_and(|one| one.arg(0) == "on");
    if walks || field != "X-Forwarded-For" {
        return ProxyTrust::Carried;
    }
    ProxyTrust::Less {
        place: first.place.clone(),
        what: first.shown(),
        why: "without real_ip_recursive nginx takes the last address of the field, and Adyton the last address that is not a trusted proxy's",
        is_of_private: false,
    }
}

/// Takes the error pages of http and of a server, which are files of its own routes.
pub(super) fn error_pages(outer: &[Directive], inside: &[Directive], site: &mut Site, draft: &mut Draft) {
    let is_page = |one: &&Directive| one.name == "error_page";
    let own: Vec<&Directive> = inside.iter().filter(is_page).collect();
    // A server inherits these only if it has none of its own.
    let all = if own.is_empty() { outer.iter().filter(is_page).collect() } else { own };
    for one in all {
        let Some((path, statuses)) = one.args.split_last() else { continue };
        match file(path, statuses, site) {
            Ok(file) => {
                for status in statuses {
                    site.keys.pair("error-pages", status, &file, &one.place);
                }
                if statuses.iter().any(|status| status == "404") {
                    site.routes.iter_mut().for_each(|route| pages::missing(route, &file, &one.place));
                }
            }
            Err(why) => draft.lose(&one.place, &one.shown(), why),
        }
    }
}

/// Returns the file of a path, if everybody may have it.
fn file(path: &str, statuses: &[String], site: &Site) -> Result<String, &'static str> {
    let is_error = |status: &String| status.parse::<u16>().is_ok_and(|status| (400..600).contains(&status));
    if !path.starts_with('/') || !statuses.iter().all(is_error) || path.contains(['$', '%', '?']) {
        return Err("an error page is a file for a status from 400 on: error-pages = { STATUS = \"FILE\" }");
    }
    let begins = |own: &String| own == path || (own.ends_with('/') && path.starts_with(own.as_str()));
    // Of equally long paths the first one counts.
    let longest = |route: &Route| route.paths.iter().filter(|own| begins(own)).map(String::len).max();
    let route =
        site.routes.iter().rev().filter(|route| longest(route).is_some()).max_by_key(|route| longest(route));
    let route = route.ok_or("nothing answers that path")?;
    let Some(Value::Text(folder)) = route.keys.get("files").map(|key| &key.value) else {
        return Err("an error page must be a file; write error-pages = { STATUS = \"FILE\" }");
    };
    if route.keeps_out() || !site.refused.is_empty() {
        return Err("some clients are denied that page, but an error page is sent to everybody");
    }
    if !pages::ENDS.into_iter().any(|end| has_end(path, end)) || !folder.starts_with('/') {
        return Err("an error page must be a file that is sent as it is, such as one that ends in .html");
    }
    let front = route.paths.iter().filter(|own| begins(own) && own.ends_with('/')).map(String::len).max();
    let rest = front.map_or(path, |front| &path[front - 1..]);
    Ok(format!("{}{rest}", folder.trim_end_matches('/')))
}
