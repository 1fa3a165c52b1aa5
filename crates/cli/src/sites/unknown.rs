//! What to say about a key that a table does not have.

use super::keys::{Keys, Place, is_of};
use super::rows::{GROUP_ROWS, ROUTE_ROWS, SITE_ROWS};
use crate::elsewhere::{self, Here};
use crate::may_set::MaySet;
use crate::nearest::nearest;
use crate::row::{Row, Scope};
use crate::rows::ROWS;

/// What to say about a table that a file does not have.
pub(super) fn unknown_table(name: &str) -> String {
    let tables = ["server", "groups", "sites"];
    let hint = match (place(name), nearest(name, tables.into_iter())) {
        (Some(SERVER), _) => format!("; settings stand in {SERVER}"),
        (Some(place), _) => format!("; it stands in {place}"),
        (None, Some(near)) => format!("; did you mean {near}?"),
        (None, None) => {
            let tables = || "; there are [server], [groups.NAME] and [[sites]]".to_owned();
            foreign(name, |_| false).unwrap_or_else(tables)
        }
    };
    format!("{name} is no table of a file of sites{hint}")
}

/// What to say about a key that a table does not have.
pub(super) fn unknown<S>(name: &str, keys: &Keys<'_, '_>, rows: &'static [Row<S>]) -> String {
    let table = keys.name;
    if let Place::Folder(_) = keys.place {
        return unknown_in_folder(name, keys, rows);
    }
    if name == "static" {
        return format!(
            "{name} is no key of {table}; a folder is a route: path = \"/static/\", files = \"static\""
        );
    }
    if let (HOST, Place::Scope(Scope::Site | Scope::Route)) = (name, keys.place) {
        return format!(
            "{name} is no key of {table}; names of a site are hosts in {SITE}, and {HOST} in {SERVER} is where to listen"
        );
    }
    if let Some(place) = place(name) {
        return format!("{name} is no key of {table}; it stands in {place}");
    }
    let settings = || ROWS.iter().filter(|row| keys.place.has(row)).map(|row| row.name);
    let names = || rows.iter().map(|row| row.name).chain(keys.children.iter().copied()).chain(settings());
    let near = || nearest(name, names()).map_or(String::new(), |near| format!("; did you mean {near}?"));
    let is_own = |ours: &str| names().any(|own| own == ours);
    let hint = foreign(name, is_own).unwrap_or_else(near);
    format!("{name} is no key of {table}{hint}")
}

const HOST: &str = "host";
const SERVER: &str = "[server]";
const SITE: &str = "[[sites]]";
const ROUTE: &str = "[[sites.routes]]";

/// The table that has a key.
fn place(name: &str) -> Option<&'static str> {
    if ROUTE_ROWS.iter().any(|row| row.name == name) {
        Some(ROUTE)
    } else if SITE_ROWS.iter().any(|row| row.name == name) {
        Some(SITE)
    } else if Row::find(name).is_some_and(|row| is_of(row, Scope::Server)) {
        // What a group may not say is the server's.
        Some(SERVER)
    } else if GROUP_ROWS.iter().any(|row| row.name == name) {
        Some("[groups.NAME]")
    } else {
        None
    }
}

/// What stands here for a name that other servers have; `is_own`: whether this table has a key.
fn foreign(name: &str, is_own: impl Fn(&str) -> bool) -> Option<String> {
    Some(match elsewhere::find(name)? {
        Here::Called(ours) if is_own(ours) => format!("; here it is {ours}"),
        Here::Called(ours) => format!("; here it is {ours}, in {}", place(ours)?),
        Here::Said(sentence) => format!("; {sentence}"),
    })
}

/// The same, in a file in a folder.
fn unknown_in_folder<S>(name: &str, keys: &Keys<'_, '_>, rows: &'static [Row<S>]) -> String {
    let table = keys.name;
    if let Some(word) = MaySet::word_of(name)
        && rows.is_empty()
    {
        return format!(
            "{name} may not be said in a folder here; the site would have to allow it with {word:?}"
        );
    }
    let Place::Folder(may) = keys.place else { return String::new() };
    let names = rows.iter().map(|row| row.name).chain(may.keys());
    let hint = nearest(name, names).map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("{name} is no key of {table}{hint}")
}
