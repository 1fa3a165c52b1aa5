//! The keys that a table of a file may have.

use toml::de::DeTable;

use crate::rows::ROWS;
use crate::rows::SettingRow;
use crate::settings::may_set::MaySet;
use crate::settings::row::{Row, Scope};
use crate::sites::reading::rows::is_of_group;

/// The name of the table of a folder in messages.
pub(crate) const FOLDER: &str = "a folder";

/// A table of a file, and the keys that it may have.
pub(crate) struct Keys<'k, 't> {
    /// The place where the table begins, in bytes.
    pub(crate) at: usize,
    pub(crate) table: &'k DeTable<'t>,
    /// The name of the table in messages.
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    /// Keys with tables of their own.
    pub(crate) children: &'static [&'static str],
}

impl Keys<'_, '_> {
    /// Returns the names of all keys that the table may have; `rows` are its own.
    pub(super) fn names<S>(&self, rows: &'static [Row<S>]) -> impl Iterator<Item = &'static str> {
        let settings = ROWS.iter().filter(|row| self.place.has(row)).map(|row| row.name);
        let own = rows.iter().map(|row| row.name).filter(|name| self.place.lets(name));
        own.chain(self.children.iter().copied()).chain(settings)
    }
}

/// The kind of a table, for the settings of the server that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Scope(Scope),
    Group,
    /// A file in a folder, with the words that are allowed there.
    Folder(MaySet),
}

impl Place {
    /// Whether a key of the table's own may stand there.
    pub(super) fn lets(self, name: &str) -> bool {
        match self {
            Place::Folder(may) => MaySet::word_of(name).is_none() || may.has(name),
            Place::Scope(_) | Place::Group => true,
        }
    }

    /// Whether a setting may stand there.
    pub(super) fn has(self, row: &SettingRow) -> bool {
        match self {
            Place::Scope(scope) => is_of(row, scope),
            Place::Group => is_of_group(row),
            Place::Folder(may) => may.has(row.name),
        }
    }
}

/// Whether a setting may stand in a table with this scope. `static` may not: a folder of files is a route in a file of
/// sites.
pub(crate) fn is_of(row: &SettingRow, scope: Scope) -> bool {
    row.scope >= scope && row.name != "static"
}
