//! Settings around every action: which clients are let in, changes to answers, and how tables of a file inherit both.

use adyton_route::{Admission, HeadEdits, Networks};

use crate::rows::ROWS;
use crate::rows::access::everybody;
use crate::settings::typed::Settings;

impl Settings {
    /// Returns which clients are let in.
    pub fn admission(&self) -> Admission {
        // An `allow` of everybody needs no comparison, unless addresses may replace a password.
        let is_all = !self.access.auth_satisfy_any && self.access.allow == everybody();
        Admission {
            allow: if is_all { Networks::default() } else { self.access.allow.clone() },
            deny: self.access.deny.clone(),
            replaces_password: self.access.auth_satisfy_any,
        }
    }

    /// Returns the changes to heads of answers.
    pub fn head_edits(&self) -> HeadEdits {
        let mut edits = HeadEdits::default();
        let last = |(at, (name, _)): &(usize, &(String, String))| {
            !self.answers.headers[at + 1..].iter().any(|(other, _)| is_name(other, name))
        };
        let cache_control = self.answers.cache_control.as_deref().map(|value| (CACHE_CONTROL, value));
        let replaced = self
            .answers
            .headers
            .iter()
            .enumerate()
            .filter(last)
            .map(|(_, (name, value))| (&**name, &**value));
        let replaced: Vec<(&str, &str)> = replaced.chain(cache_control).collect();
        let added = self.answers.add_headers.iter().map(|(name, value)| (&**name, &**value));
        let removed = self.answers.remove_headers.iter().map(String::as_str);
        let mut changes: Vec<Result<(), &str>> =
            removed.chain(replaced.iter().map(|(name, _)| *name)).map(|name| edits.remove(name)).collect();
        changes.extend(replaced.iter().copied().chain(added).map(|(name, value)| edits.add(name, value)));
        debug_assert!(changes.iter().all(Result::is_ok), "each was checked when it was read");
        edits
    }

    /// Returns these settings as the beginning of an inner table that has the keys `names`, without the values that the
    /// table replaces.
    pub(crate) fn for_table(&self, names: &[&str]) -> Settings {
        let mut inside = self.clone();
        inside.answers.headers = Vec::new();
        inside.answers.add_headers = Vec::new();
        inside.answers.remove_headers = Vec::new();
        for row in ROWS.iter().filter(|row| names.contains(&row.name)) {
            if let Some(clear) = row.clear {
                clear(&mut inside);
            }
        }
        inside
    }

    /// Adds the header fields of `around` that the table does not name, after the table's own settings have been
    /// applied.
    pub(crate) fn end_table(&mut self, around: &Settings, names: &[&str]) {
        let sets_caching = names.contains(&"cache-control");
        let says = |name: &str| {
            self.answers.headers.iter().any(|(own, _)| is_name(own, name))
                || self.answers.remove_headers.iter().any(|own| is_name(own, name))
                || sets_caching && is_name(name, CACHE_CONTROL)
        };
        let is_left = |field: &&(String, String)| !says(&field.0);
        let headers: Vec<_> = around.answers.headers.iter().filter(is_left).cloned().collect();
        let added: Vec<_> = around.answers.add_headers.iter().filter(is_left).cloned().collect();
        if !sets_caching && says(CACHE_CONTROL) {
            self.answers.cache_control = None;
        }
        self.answers.headers.splice(0..0, headers);
        self.answers.add_headers.splice(0..0, added);
        self.answers.remove_headers.splice(0..0, around.answers.remove_headers.iter().cloned());
    }
}

const CACHE_CONTROL: &str = "Cache-Control";

fn is_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}
