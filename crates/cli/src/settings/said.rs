//! Places of settings: the place in a file of sites that a message names.

use std::cmp::Ordering;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::settings::bind::Bind;
use crate::settings::typed::{Settings, SiteRoute};

/// The place of a setting: in a file, or nothing for a flag or a variable.
///
/// The place is no part of the setting, so all places are equal: settings that differ only in their places are equal.
#[derive(Clone, Default)]
pub struct SaidAt(Option<Arc<Spot>>);

/// A place in a file.
struct Spot {
    file: Box<Path>,
    line: usize,
    column: usize,
}

/// Settings of a file and their places; a value stands behind the values that it overrules. All `Sayings` compare as
/// equal, like places: only the settings themselves are compared.
#[derive(Clone, Debug, Default)]
pub struct Sayings {
    pub(crate) all: Vec<Saying>,
    /// Keys of a refused file for which [`Settings::is_unread`] is true.
    pub(crate) unread: Vec<&'static str>,
}

impl PartialEq for Sayings {
    fn eq(&self, _: &Sayings) -> bool {
        true
    }
}

impl Eq for Sayings {}

/// A value of a setting, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saying {
    /// The name of the row.
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) at: SaidAt,
}

/// A fault or a doubt, and its place: the two halves of a line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place.
    pub at: SaidAt,
    /// A sentence without a full stop.
    pub what: String,
}

impl SaidAt {
    /// Makes a place of a line and a column of a file, from 1 on.
    pub(crate) fn new(file: &Path, line: usize, column: usize) -> SaidAt {
        SaidAt(Some(Arc::new(Spot { file: file.into(), line, column })))
    }

    /// Whether the place is in a file.
    pub fn is_in_file(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the line, if the place is in a file.
    pub fn line(&self) -> Option<usize> {
        self.0.as_ref().map(|spot| spot.line)
    }

    /// Whether both are the same place.
    pub(crate) fn is_same(&self, other: &SaidAt) -> bool {
        self.key() == other.key()
    }

    /// Returns the sort key of a place; a place that is in no file comes last.
    pub(crate) fn key(&self) -> (bool, usize, usize) {
        self.0.as_ref().map_or((true, 0, 0), |spot| (false, spot.line, spot.column))
    }
}

impl PartialEq for SaidAt {
    fn eq(&self, _: &SaidAt) -> bool {
        true
    }
}

impl Eq for SaidAt {}

impl fmt::Debug for SaidAt {
    /// Writes nothing: values are compared by their debug output, which must not depend on places.
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl fmt::Display for SaidAt {
    /// Writes `site.toml:3:8: `, to stand in front of a sentence; nothing if the place is in no file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(spot) => write!(f, "{}:{}:{}: ", spot.file.display(), spot.line, spot.column),
            None => Ok(()),
        }
    }
}

impl Fault {
    /// Orders faults by their places.
    pub fn order(&self, other: &Fault) -> Ordering {
        self.at.key().cmp(&other.at.key())
    }
}

impl From<String> for Fault {
    /// Makes a fault that is in no file.
    fn from(what: String) -> Fault {
        Fault { at: SaidAt::default(), what }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.at, self.what)
    }
}

impl Settings {
    /// Whether a mistake concerns this key, in this table or in one around it: the value is wrong, or an unknown key
    /// may be a misspelling of this one. The value is then unknown, so a key that seems absent is not reported.
    pub fn is_unread(&self, name: &str) -> bool {
        self.sayings.unread.contains(&name)
    }

    /// Whether [`is_unread`](Settings::is_unread) is true for one of these keys.
    pub(crate) fn is_any_unread(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is_unread(name))
    }

    /// Returns the place of the value of a setting that applies; if there are several values, the place of
    /// the last one.
    pub fn said_at(&self, name: &str) -> SaidAt {
        let said = self.sayings.all.iter().rev().find(|saying| saying.name == name);
        said.map_or_else(SaidAt::default, |saying| saying.at.clone())
    }

    /// Returns the place of this value of a setting.
    pub fn said_at_value(&self, name: &str, value: &str) -> SaidAt {
        let mut said = self.sayings.all.iter().rev();
        let found = said.find(|saying| saying.name == name && saying.value == value);
        found.map_or_else(SaidAt::default, |saying| saying.at.clone())
    }

    /// Returns the place of the setting that makes the server listen at this address.
    pub fn said_at_bind(&self, bind: &Bind) -> SaidAt {
        let is_it = |saying: &&Saying| saying.name == "bind" && saying.value.parse().as_ref() == Ok(bind);
        let said = self.sayings.all.iter().find(is_it).map(|saying| saying.at.clone());
        let parts = || ["port", "host"].map(|name| self.said_at(name)).into_iter().find(SaidAt::is_in_file);
        said.or_else(parts).unwrap_or_default()
    }

    /// Makes a fault of a setting; the fault names the flag, unless the setting stands in a file.
    pub fn fault(&self, name: &str, why: impl fmt::Display) -> Fault {
        let at = self.said_at(name);
        let what = if at.is_in_file() { format!("{name}: {why}") } else { format!("--{name}: {why}") };
        Fault { at, what }
    }
}

impl SiteRoute {
    /// Returns the place of a key that only routes have, or the place where the route begins if it does not
    /// have the key.
    pub fn said_at(&self, key: &str) -> SaidAt {
        let found = self.said.keys.iter().find(|(other, _)| *other == key);
        found.map_or_else(|| self.said.table.clone(), |(_, at)| at.clone())
    }
}
