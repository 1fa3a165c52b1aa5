//! `return` and `rewrite` that redirect, or give an answer that is always the same.

use super::lex::Directive;
use crate::model::{Draft, Route, Value};
use crate::text::regex::{Captured, path_of};

/// Facts about a server that values of variables need.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) first: String,
    pub(super) tls: bool,
}

/// Returns the target of a redirect with our placeholders; `None` if it has a variable without a counterpart.
pub(super) fn target(text: &str, names: &Names) -> Option<String> {
    let scheme = if names.tls { "https" } else { "http" };
    // Longer names stand first, so that no shorter name is found at the beginning of a longer one.
    let places = [
        ("$request_uri", "{path}{query}"),
        ("$is_args$query_string", "{query}"),
        ("$is_args$args", "{query}"),
        ("?$query_string", "{query}"),
        ("?$args", "{query}"),
        ("$document_uri", "{path}"),
        ("$server_name", names.first.as_str()),
        ("$http_host", "{host}"),
        ("$host", "{host}"),
        ("$scheme", scheme),
        ("$uri", "{path}"),
    ];
    if text.contains(['{', '}']) {
        return None;
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some(sign) = rest.chars().next() {
        if let Some((name, place)) = places.iter().find(|(name, _)| rest.starts_with(name)) {
            out.push_str(place);
            rest = &rest[name.len()..];
            continue;
        }
        if sign == '$' {
            return None;
        }
        out.push(sign);
        rest = &rest[sign.len_utf8()..];
    }
    // `{path}{query}` comes from `$request_uri`, which has the query already.
    Some(out.replace("{path}{query}{query}", "{path}{query}"))
}

/// Has a route answer as `return` says.
pub(super) fn returns(
    one: &Directive,
    names: &Names,
    kind: Option<&str>,
    route: &mut Route,
    draft: &mut Draft,
) {
    let (place, first) = (&one.place, one.arg(0));
    let (status, text) = match first.parse::<u64>() {
        Ok(status) => (status, one.args.get(1)),
        Err(_) => (302, one.args.first()),
    };
    match (status, text) {
        (301 | 302 | 303 | 307 | 308, Some(text)) => match target(text, names) {
            Some(target) => {
                route.keys.set("redirect", target, place);
                route.keys.set("redirect-status", Value::Number(status), place);
            }
            None => not_said(one, route, draft),
        },
        (444, _) => {
            draft.lose(place, &one.shown(), "a request is always answered; here with 403");
            route.respond(403, place);
        }
        (200..=599, None) => route.respond(status, place),
        (200..=599, Some(text)) if !text.contains('$') => {
            route.respond(status, place);
            route.keys.set("body", text.as_str(), place);
            if let Some(kind) = kind.filter(|kind| *kind != "text/plain") {
                route.keys.set("content-type", kind, place);
            }
        }
        _ => not_said(one, route, draft),
    }
}

fn not_said(one: &Directive, route: &mut Route, draft: &mut Draft) {
    draft.lose(
        &one.place,
        &one.shown(),
        "this has a variable, or a status that a route cannot have; requests are answered 503",
    );
    route.respond(503, &one.place);
}

/// A `rewrite` that redirects all beneath a path, one path, or everything.
pub(super) struct Rewrite {
    pub(super) path: String,
    pub(super) target: String,
    pub(super) status: u64,
}

/// Reads `rewrite ^/old/(.*)$ /new/$1 permanent` and its like.
pub(super) fn rewrite(one: &Directive, names: &Names) -> Option<Rewrite> {
    let [regex, to, ..] = one.args.as_slice() else { return None };
    let status = match one.arg(2) {
        "permanent" => 301,
        "redirect" => 302,
        "" if to.contains("://") => 302,
        _ => return None,
    };
    let (to, query) = to.strip_suffix('?').map_or((to.as_str(), "{query}"), |to| (to, ""));
    let (path, captured) = path_of(regex)?;
    let mark = "\u{1}";
    let to = match captured {
        Some(_) => to.replacen("$1", mark, 1),
        None => to.to_owned(),
    };
    let target = target(&to, names)?;
    // A target with `{query}` has the query already.
    let query = if target.contains("{query}") { "" } else { query };
    let target = match captured {
        Some(Captured::Rest) => target.replace(mark, "{rest}"),
        _ => target.replace(mark, "{path}"),
    };
    Some(Rewrite {
        path,
        target: target.replace("//{rest}", "/{rest}").replace("/{path}", "{path}") + query,
        status,
    })
}

#[cfg(test)]
mod tests {
    use super::{Names, target};

    #[test]
    fn targets() {
        let names = Names { first: "a.example".to_owned(), tls: true };
        let cases = [
            ("https://$host$request_uri", Some("https://{host}{path}{query}")),
            ("https://b.example$uri$is_args$args", Some("https://b.example{path}{query}")),
            ("$scheme://$server_name/x", Some("https://a.example/x")),
            ("/x?$args", Some("/x{query}")),
            ("https://b.example/$cookie_a", None),
            ("/{x}", None),
        ];
        for (text, expected) in cases {
            assert_eq!(expected.map(str::to_owned), target(text, &names), "{text}");
        }
    }
}
