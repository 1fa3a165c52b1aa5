//! `match` of a step, as conditions of a route.

use crate::model::{Place, Route};
use crate::text::literal::{Item, Node};

/// Conditions that a request has to meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Condition {
    /// Paths as routes have them; empty: all.
    pub(super) paths: Vec<String>,
    /// Host names; empty: all.
    pub(super) hosts: Vec<String>,
    pub(super) methods: Vec<String>,
    pub(super) fields: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
    pub(super) remote: Vec<String>,
    /// Clients that are excluded: `!10.0.0.0/8`.
    pub(super) not_remote: Vec<String>,
    /// Half a sentence about each part that has no counterpart.
    pub(super) lost: Vec<String>,
    /// Whether some paths have no counterpart, so that the step may be for any path; `any_host`: whether some host
    /// names have no counterpart.
    any_path: bool,
    any_host: bool,
}

impl Condition {
    /// Reads a `match`.
    pub(super) fn read(node: &Node) -> Condition {
        let mut condition = Condition::default();
        for (name, value) in node.pairs() {
            match name.as_str() {
                "uri" => condition.any_path |= !condition.each(value, path, |all| &mut all.paths),
                "host" => condition.any_host |= !condition.each(value, host, |all| &mut all.hosts),
                "method" => {
                    condition.each(value, method, |all| &mut all.methods);
                }
                "source" => condition.source(value),
                "headers" => condition.named(value, |all| &mut all.fields),
                "arguments" => condition.named(value, |all| &mut all.query),
                // Every request without TLS has this scheme.
                "scheme" if value.text() == Some("http") => {}
                other => condition.lost.push(format!("conditions on {other} do not exist here")),
            }
        }
        condition
    }

    /// Reads each value of a list; returns whether all of them have a counterpart.
    fn each(
        &mut self,
        node: &Node,
        read: fn(&str) -> Option<String>,
        list: fn(&mut Condition) -> &mut Vec<String>,
    ) -> bool {
        let mut is_whole = true;
        for one in node.each() {
            let text = one.text().unwrap_or_default();
            if let Some(value) = read(text) {
                list(self).push(value);
            } else {
                is_whole = false;
                self.lost.push(format!("a route cannot have the pattern {text}"));
            }
        }
        is_whole
    }

    /// Returns a condition for all requests that this one may match, without the parts that have no counterpart.
    pub(super) fn widened(&self) -> Condition {
        Condition {
            paths: if self.any_path { Vec::new() } else { self.paths.clone() },
            hosts: if self.any_host { Vec::new() } else { self.hosts.clone() },
            ..Condition::default()
        }
    }

    fn source(&mut self, node: &Node) {
        for one in node.each() {
            let text = one.text().unwrap_or_default();
            let (list, text) = match text.strip_prefix('!') {
                Some(rest) => (&mut self.not_remote, rest),
                None => (&mut self.remote, text),
            };
            let address = text.split_once('/').map_or(text, |(address, _)| address);
            if address.parse::<std::net::IpAddr>().is_ok() || text == "unix" {
                list.push(text.to_owned());
            } else {
                self.lost.push(format!("the source {text} is no address, and no range such as 10.0.0.0/8"));
            }
        }
        if !self.remote.is_empty() && !self.not_remote.is_empty() {
            self.lost.push("one list both names and excludes addresses, which a route cannot say".to_owned());
        }
    }

    /// Reads all pairs of `{"name": "value"}`; a list of such tables, of which one has to match, has no counterpart.
    fn named(&mut self, node: &Node, list: fn(&mut Condition) -> &mut Vec<(String, String)>) {
        if matches!(&node.item, Item::List(all) if all.len() > 1) {
            self.lost.push("one route cannot require one set of fields or another".to_owned());
            return;
        }
        for (name, value) in node.each().iter().flat_map(Node::pairs) {
            match value.text() {
                Some(text) if text == "*" || !text.starts_with(['!', '~']) && !text.contains('*') => {
                    list(self).push((name.clone(), text.to_owned()));
                }
                _ => self.lost.push(format!("a route cannot have the pattern of {name}")),
            }
        }
    }

    /// Returns the condition that holds if both conditions hold; parts that cannot be combined are lost.
    pub(super) fn and(&self, inner: &Condition) -> Condition {
        let mut both = inner.clone();
        let lists = [
            (&self.hosts, &mut both.hosts, "host"),
            (&self.methods, &mut both.methods, "method"),
            (&self.remote, &mut both.remote, "source"),
            (&self.not_remote, &mut both.not_remote, "source"),
        ];
        for (outer, inner, name) in lists {
            if inner.is_empty() {
                inner.clone_from(outer);
            } else if !outer.is_empty() && outer != inner {
                both.any_host |= name == "host";
                both.lost.push(format!(
                    "two different conditions on {name}, one inside the other, cannot be carried over"
                ));
            }
        }
        if both.paths.is_empty() {
            both.paths.clone_from(&self.paths);
        } else if !self.paths.is_empty() {
            let is_within = both.paths.iter().all(|path| self.paths.iter().any(|outer| covers(outer, path)));
            if !is_within {
                both.any_path = true;
                both.lost.push(
                    "two different conditions on uri, one inside the other, cannot be carried over"
                        .to_owned(),
                );
            }
        }
        both.fields.extend(self.fields.iter().cloned());
        both.query.extend(self.query.iter().cloned());
        both.lost.extend(self.lost.iter().cloned());
        both.any_path |= self.any_path;
        both.any_host |= self.any_host;
        both
    }

    pub(super) fn is_for_host(&self, name: Option<&str>) -> bool {
        self.hosts.is_empty() || name.is_some_and(|name| self.hosts.iter().any(|host| is_host(host, name)))
    }

    /// Whether all requests for the paths match.
    pub(super) fn has_all(&self) -> bool {
        self.has_all_but_remote() && self.not_remote.is_empty()
    }

    /// Whether all requests for the paths match, except those of excluded clients.
    pub(super) fn has_all_but_remote(&self) -> bool {
        self.methods.is_empty() && self.fields.is_empty() && self.query.is_empty() && self.remote.is_empty()
    }

    /// Writes the conditions into a route, without the paths.
    pub(super) fn narrow(&self, route: &mut Route, place: &Place) {
        for method in &self.methods {
            route.keys.add("methods", method, place);
        }
        for (name, value) in &self.fields {
            route.keys.pair("if-headers", name, value, place);
        }
        for (name, value) in &self.query {
            route.keys.pair("if-query", name, value, place);
        }
        for network in &self.remote {
            route.keys.add("remote", network, place);
        }
    }
}

/// Whether a pattern of hosts matches a name.
fn is_host(pattern: &str, name: &str) -> bool {
    pattern == name
        || pattern.strip_prefix('*').is_some_and(|end| name.len() > end.len() && name.ends_with(end))
}

/// Whether all paths of `inner` are paths of `outer`.
pub(super) fn covers(outer: &str, inner: &str) -> bool {
    if outer == "/" || outer == inner {
        return true;
    }
    match (outer.strip_prefix('*'), outer.strip_suffix('/')) {
        (Some(end), _) => inner.ends_with(end) && !inner.ends_with('/'),
        (None, Some(prefix)) => {
            inner.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        (None, None) => false,
    }
}

/// Reads `/a`, `/a/*`, `*.php`, `*`.
fn path(text: &str) -> Option<String> {
    if matches!(text, "*" | "/*") {
        return Some("/".to_owned());
    }
    if text.starts_with(['!', '~']) {
        return None;
    }
    let (front, end) = (text.strip_prefix('*'), text.strip_suffix("/*"));
    match (front, end) {
        (Some(end), None) if !end.contains(['*', '/']) && !end.is_empty() => Some(text.to_owned()),
        (None, Some(prefix)) if !prefix.contains('*') => Some(format!("{prefix}/")),
        (None, None) if !text.contains('*') && !text.ends_with('/') => Some(text.to_owned()),
        _ => None,
    }
}

fn host(text: &str) -> Option<String> {
    let is_name = !text.starts_with(['!', '~']) && !text.trim_start_matches("*.").contains('*');
    is_name.then(|| text.to_ascii_lowercase())
}

fn method(text: &str) -> Option<String> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    is_word.then(|| text.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::{covers, path};

    #[test]
    fn paths() {
        let cases = [
            ("/a", Some("/a")),
            ("/a/*", Some("/a/")),
            ("*", Some("/")),
            ("/*", Some("/")),
            ("*.php", Some("*.php")),
            ("/a*", None),
            ("/", None),
            ("!/a", None),
            ("~^/a", None),
        ];
        for (text, expected) in cases {
            assert_eq!(expected.map(str::to_owned), path(text), "{text}");
        }
    }

    #[test]
    fn paths_in_paths() {
        for (outer, inner) in
            [("/", "/a"), ("/a/", "/a"), ("/a/", "/a/b/"), ("*.php", "/x.php"), ("*.php", "*.php")]
        {
            assert!(covers(outer, inner), "{outer} {inner}");
        }
        for (outer, inner) in
            [("/a/", "/ab"), ("/a", "/a/"), ("*.php", "/a/"), ("/a/", "/"), ("/a/", "*.php")]
        {
            assert!(!covers(outer, inner), "{outer} {inner}");
        }
    }
}
