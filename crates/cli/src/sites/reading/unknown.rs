//! Messages about a key that a table does not have.

use toml::de::DeValue;

use crate::command::elsewhere::{self, Here};
use crate::command::nearest::nearest;
use crate::rows::SettingRow;
use crate::settings::may_set::MaySet;
use crate::settings::row::{Row, Scope};
use crate::sites::reading::keys::{FOLDER, Keys, Place, is_of};
use crate::sites::reading::rows::{ACTIONS, GROUP_ROWS, ROUTE_ROWS, SITE_ROWS};

/// A key or a table of the file that Adyton does not know.
pub(super) struct Unknown {
    /// The message, without file and place.
    pub(crate) what: String,
    /// The keys and tables that the user may have meant.
    pub(super) meant: Vec<&'static str>,
}

/// The end of the message, behind the unknown name, and the names that the user may have meant.
struct Hint {
    text: String,
    meant: Vec<&'static str>,
}

impl Hint {
    fn one(text: String, meant: &'static str) -> Hint {
        Hint { text, meant: vec![meant] }
    }
}

/// Makes the message about a table that a file does not have, or a key outside all tables.
pub(super) fn unknown_table(name: &str, value: &DeValue<'_>) -> Unknown {
    let tables = ["server", "groups", "sites"];
    let hint = match (place(name), nearest(name, tables.into_iter())) {
        (key, Some(near)) if is_table(value) || key.is_none() => {
            Hint::one(format!("; did you mean {near}?"), near)
        }
        (Some((SERVER, row)), _) => Hint::one(format!("; settings stand in {SERVER}"), row),
        (Some((place, row)), _) => Hint::one(format!("; it stands in {place}"), row),
        (None, _) => foreign(name, |_| false).unwrap_or_else(|| Hint {
            text: "; there are [server], [groups.NAME] and [[sites]]".to_owned(),
            meant: tables.to_vec(),
        }),
    };
    Unknown { what: format!("{name} is no table of a file of sites{}", hint.text), meant: hint.meant }
}

/// Whether the value is a table, or several.
fn is_table(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Array(array) => array.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))),
        other => matches!(other, DeValue::Table(_)),
    }
}

/// Makes the message about a key that a table does not have.
pub(super) fn unknown<S>(
    name: &str,
    value: &DeValue<'_>,
    keys: &Keys<'_, '_>,
    rows: &'static [Row<S>],
) -> Unknown {
    if let Place::Folder(may) = keys.place {
        return unknown_in_folder(name, may, keys.name, rows);
    }
    let child = nearest(name, keys.children.iter().copied()).filter(|_| is_table(value));
    let Hint { text, meant } = match child {
        Some(near) => Hint::one(format!("; did you mean {near}?"), near),
        None => in_table(name, keys, rows),
    };
    Unknown { what: format!("{name} is no key of {}{text}", keys.name), meant }
}

fn in_table<S>(name: &str, keys: &Keys<'_, '_>, rows: &'static [Row<S>]) -> Hint {
    if name == "static" {
        let text = "; a folder is a route: path = \"/static/\", files = \"static\"".to_owned();
        return Hint::one(text, "files");
    }
    if let (HOST, Place::Scope(Scope::Site | Scope::Route)) = (name, keys.place) {
        let text =
            format!("; names of a site are hosts in {SITE}, and {HOST} in {SERVER} is where to listen");
        return Hint::one(text, "hosts");
    }
    if let Some((place, row)) = place(name) {
        return Hint::one(format!("; it stands in {place}"), row);
    }
    let is_own = |ours: &str| keys.names(rows).any(|own| own == ours);
    let mut hint = foreign(name, is_own).unwrap_or_else(|| near(name, || keys.names(rows)));
    if hint.meant.is_empty() && matches!(keys.place, Place::Scope(Scope::Site | Scope::Route)) {
        hint.meant.extend(ACTIONS.into_iter().chain(["group", "headers"]));
    }
    hint
}

const HOST: &str = "host";
const SERVER: &str = "[server]";
const SITE: &str = "[[sites]]";
const ROUTE: &str = "[[sites.routes]]";

/// Returns the table that has a key, and the key.
fn place(name: &str) -> Option<(&'static str, &'static str)> {
    fn own<S>(rows: &'static [Row<S>], name: &str) -> Option<&'static str> {
        rows.iter().map(|row| row.name).find(|own| *own == name)
    }
    // A setting that a group may not have is the server's.
    let of_server = || SettingRow::find(name).filter(|row| is_of(row, Scope::Server)).map(|row| row.name);
    let route = || own(ROUTE_ROWS, name).map(|row| (ROUTE, row));
    let site = || own(SITE_ROWS, name).map(|row| (SITE, row));
    let group = || own(GROUP_ROWS, name).map(|row| ("[groups.NAME]", row));
    route().or_else(|| of_server().map(|row| (SERVER, row))).or_else(site).or_else(group)
}

/// Returns the hint about a name that other servers have; `is_own`: whether this table has a key.
fn foreign(name: &str, is_own: impl Fn(&str) -> bool) -> Option<Hint> {
    Some(match elsewhere::find(name)? {
        Here::Called(ours) if is_own(ours) => Hint::one(format!("; here it is {ours}"), ours),
        Here::Called(ours) => Hint::one(format!("; here it is {ours}, in {}", place(ours)?.0), ours),
        Here::Said(sentence) => Hint { text: format!("; {sentence}"), meant: Vec::new() },
    })
}

/// Makes the message about a key that the file of a folder does not have.
fn unknown_in_folder<S>(name: &str, may: MaySet, table: &str, rows: &'static [Row<S>]) -> Unknown {
    // A table inside the folder's file cannot have the folder's keys.
    let forbidden = MaySet::word_of(name).filter(|_| table == FOLDER);
    if let Some((word, key)) = forbidden {
        let what =
            format!("{name} may not be set in a folder here; the site would have to allow it with {word:?}");
        return Unknown { what, meant: vec![key] };
    }
    let is_allowed = |name: &&str| Place::Folder(may).lets(name);
    let own = || rows.iter().map(|row| row.name).filter(is_allowed);
    let Hint { text, meant } = near(name, || own().chain(may.keys()));
    Unknown { what: format!("{name} is no key of {table}{text}"), meant }
}

/// Returns the nearest of these names; if none is near, any of them may be meant.
fn near<I: Iterator<Item = &'static str>>(name: &str, names: impl Fn() -> I) -> Hint {
    match nearest(name, names()) {
        Some(near) => Hint::one(format!("; did you mean {near}?"), near),
        None => Hint { text: String::new(), meant: names().collect() },
    }
}
