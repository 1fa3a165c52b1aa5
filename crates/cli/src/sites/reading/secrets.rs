//! Values of a file of sites that not every process gets: variables of an application may hold passwords.
//!
//! Each process is handed the whole file, because it must know which process answers a request that is not its own.
//! Before that, values that only other processes need are overwritten by values of the same length, so that everything
//! else keeps its place.

use std::ops::Range;

use crate::settings::typed::{Part, Reader, Secret, Site, SiteAction, Sites};
use crate::sites::reading::document::{Document, Given, RouteTable, SiteTable};

impl Document {
    /// Returns the values that not every process gets.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let mut secrets = Vec::new();
        let mut add = |given: &Given, key: &str, reader: Reader| {
            let values = given.of(key).map(|said| said.values.as_slice()).unwrap_or_default();
            let secret = |place: &Range<usize>| Secret { place: place.clone(), reader: reader.clone() };
            secrets.extend(values.iter().map(|value| secret(&value.place)));
        };
        add(&self.server, "admin-token", Reader::Supervisor);
        add(&self.server, "cgi-environment", Reader::Scripts);
        for (number, group) in self.groups.iter().enumerate() {
            add(&group.given, "env", Reader::Parts(vec![Part::Group(number)]));
        }
        for site in &self.sites {
            let accepts = self.bound_group(site).map_or(Part::Door, Part::Group);
            let groups = site.routes.iter().filter_map(|route| self.group_of_scripts(route));
            let here = self.starts_where_it_accepts(site).then_some(accepts);
            let all = here.into_iter().chain(groups.map(Part::Group)).collect();
            add(&site.given, "cgi-environment", Reader::Parts(all));
            for route in &site.routes {
                let part = self.group_of_scripts(route).map_or(accepts, Part::Group);
                add(&route.given, "cgi-environment", Reader::Parts(vec![part]));
            }
        }
        secrets
    }

    /// Whether the workers that accept the connections of a site may start its scripts. If folders have settings of
    /// their own, these settings may have any script run.
    fn starts_where_it_accepts(&self, site: &SiteTable) -> bool {
        let speaks = |given: &Given| ["may-set", "htaccess"].iter().any(|key| given.of(key).is_some());
        let starts = |route: &RouteTable| {
            speaks(&route.given) || (route.draft.runs_programs() && self.group_of_scripts(route).is_none())
        };
        speaks(&self.server) || speaks(&site.given) || site.routes.iter().any(starts)
    }

    /// Returns the group whose workers start the scripts of a route.
    fn group_of_scripts(&self, route: &RouteTable) -> Option<usize> {
        let group = route.draft.group.as_ref().filter(|_| route.draft.runs_programs());
        group.and_then(|name| self.group_named(name))
    }
}

impl Sites {
    /// Returns the file for the processes of a part, without the secrets of other parts.
    pub fn text_for(&self, part: Part) -> String {
        let starts_scripts = self.sites.iter().any(|site| starts_scripts(site, part));
        let is_hidden = |secret: &&Secret| match &secret.reader {
            _ if part == Part::Whole => false,
            Reader::Supervisor => true,
            Reader::Parts(readers) => !readers.contains(&part),
            Reader::Scripts => !starts_scripts,
        };
        let mut text = self.text.clone().into_bytes();
        for secret in self.secrets.iter().filter(is_hidden) {
            if let Some(value) = text.get_mut(secret.place.clone()) {
                overwrite(value);
            }
        }
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Whether the processes of a part may start scripts of a site, as in `starts_where_it_accepts`.
fn starts_scripts(site: &Site, part: Part) -> bool {
    let accepts = site.bound.map_or(Part::Door, Part::Group);
    site.routes.iter().any(|route| match &route.action {
        SiteAction::Cgi(scripts) => scripts.group.map_or(accepts, Part::Group) == part,
        _ => accepts == part && route.settings.lets_folders_speak(),
    })
}

/// Overwrites a value of TOML with another one of the same length, which is valid as `NAME=VALUE` and as a token, too.
fn overwrite(value: &mut [u8]) {
    let quote = match value {
        [b'"', b'"', b'"', .., b'"', b'"', b'"'] | [b'\'', b'\'', b'\'', .., b'\'', b'\'', b'\''] => 3,
        [b'"', .., b'"'] | [b'\'', .., b'\''] => 1,
        _ => {
            // A number stands without quotes.
            value.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'1');
            return;
        }
    };
    let inside = quote..value.len().saturating_sub(quote);
    let bytes = value.get_mut(inside).unwrap_or_default().iter_mut().filter(|byte| !b"\r\n".contains(byte));
    for (byte, other) in bytes.zip(b"x=".iter().chain(std::iter::repeat(&b'x'))) {
        *byte = *other;
    }
}

#[cfg(test)]
mod tests {
    use super::overwrite;

    #[test]
    fn values_are_overwritten() {
        for (value, expected) in [
            ("\"A=secret\"", "\"x=xxxxxx\""),
            ("'A=secret'", "'x=xxxxxx'"),
            ("\"\"\"\nA=one\r\ntwo\"\"\"", "\"\"\"\nx=xxx\r\nxxx\"\"\""),
            ("'''A='s'''", "'''x=xx'''"),
            ("\"\\\"=\u{e9}\\\\\"", "\"x=xxxxx\""),
            ("\"\"", "\"\""),
            ("\"a\"", "\"x\""),
            ("-120.5", "-111.1"),
            ("true", "true"),
        ] {
            let mut bytes = value.as_bytes().to_vec();
            overwrite(&mut bytes);

            assert_eq!(Ok(expected), std::str::from_utf8(&bytes), "{value}");
        }
    }
}
