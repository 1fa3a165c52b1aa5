//! Which keys a table of a file may have.

use toml::de::DeTable;

use super::rows::is_of_group;
use crate::may_set::MaySet;
use crate::row::{Row, Scope};

/// A table, and which of its keys were found.
pub(super) struct Keys<'k, 't> {
    pub(super) table: &'k DeTable<'t>,
    /// What the table is called in messages.
    pub(super) name: &'static str,
    pub(super) place: Place,
    /// Keys with tables of their own.
    pub(super) children: &'static [&'static str],
}

/// Which table it is, as far as settings of the server go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Scope(Scope),
    Group,
    /// A file in a folder that may say this.
    Folder(MaySet),
}

impl Place {
    /// Whether a setting may stand there.
    pub(super) fn has(self, row: &Row) -> bool {
        match self {
            Place::Scope(scope) => is_of(row, scope),
            Place::Group => is_of_group(row),
            Place::Folder(may) => may.has(row.name),
        }
    }
}

/// Whether a setting may stand in such a table. A folder is a route in a file.
pub(crate) fn is_of(row: &Row, scope: Scope) -> bool {
    row.scope >= scope && row.name != "static"
}
