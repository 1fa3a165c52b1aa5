//! Where settings are said: the place in a file of sites that a message names.

use std::cmp::Ordering;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::settings::bind::Bind;
use crate::settings::typed::{Settings, SiteRoute};

/// Where something is said: a place in a file, or nothing for what a flag or a variable says.
///
/// The place is no part of what is said, so all places are equal: settings that differ in their places alone are the same.
#[derive(Clone, Default)]
pub struct SaidAt(Option<Arc<Spot>>);

/// A place in a file.
struct Spot {
    file: Box<Path>,
    line: usize,
    column: usize,
}

/// What a file says of settings, what counts behind what is overruled. As places, all are equal: the settings themselves
/// are compared.
#[derive(Clone, Debug, Default)]
pub struct Sayings {
    pub(crate) all: Vec<Saying>,
    /// Keys of a file that was refused, as [`Settings::is_unread`] has them.
    pub(crate) unread: Vec<&'static str>,
}

impl PartialEq for Sayings {
    fn eq(&self, _: &Sayings) -> bool {
        true
    }
}

impl Eq for Sayings {}

/// A value of a setting, and where it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saying {
    /// The name of the row.
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) at: SaidAt,
}

/// Something that is wrong or doubtful, and where: half of a sentence's line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is said.
    pub at: SaidAt,
    /// A sentence without a full stop.
    pub what: String,
}

impl SaidAt {
    /// This line and this column of a file, from 1 on.
    pub(crate) fn new(file: &Path, line: usize, column: usize) -> SaidAt {
        SaidAt(Some(Arc::new(Spot { file: file.into(), line, column })))
    }

    /// Whether it is a place in a file.
    pub fn is_in_file(&self) -> bool {
        self.0.is_some()
    }

    /// The line, if it is a place in a file.
    pub fn line(&self) -> Option<usize> {
        self.0.as_ref().map(|spot| spot.line)
    }

    /// Whether both are one place.
    pub(crate) fn is_same(&self, other: &SaidAt) -> bool {
        self.key() == other.key()
    }

    /// What orders places; what is in no file comes last.
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
    /// Nothing: what is compared by how it is shown does not depend on it.
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl fmt::Display for SaidAt {
    /// `site.toml:3:8: `, to stand in front of a sentence; nothing where it is in no file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(spot) => write!(f, "{}:{}:{}: ", spot.file.display(), spot.line, spot.column),
            None => Ok(()),
        }
    }
}

impl Fault {
    /// Orders faults by where they are.
    pub fn order(&self, other: &Fault) -> Ordering {
        self.at.key().cmp(&other.at.key())
    }
}

impl From<String> for Fault {
    /// One of what is in no file.
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
    /// Whether a mistake is about this key, here or in a table around: it has a wrong value, or a key that there is not may
    /// have been meant as it. What the key says is not known then, and nothing can be wrong because it says nothing.
    pub fn is_unread(&self, name: &str) -> bool {
        self.sayings.unread.contains(&name)
    }

    /// Whether it is so for one of these.
    pub(crate) fn is_any_unread(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is_unread(name))
    }

    /// Where a setting is said that counts; of several values, where the last one is.
    pub fn said_at(&self, name: &str) -> SaidAt {
        let said = self.sayings.all.iter().rev().find(|saying| saying.name == name);
        said.map_or_else(SaidAt::default, |saying| saying.at.clone())
    }

    /// Where this value of a setting is said.
    pub fn said_at_value(&self, name: &str, value: &str) -> SaidAt {
        let mut said = self.sayings.all.iter().rev();
        let found = said.find(|saying| saying.name == name && saying.value == value);
        found.map_or_else(SaidAt::default, |saying| saying.at.clone())
    }

    /// Where it is said that the server listens here.
    pub fn said_at_bind(&self, bind: &Bind) -> SaidAt {
        let is_it = |saying: &&Saying| saying.name == "bind" && saying.value.parse().as_ref() == Ok(bind);
        let said = self.sayings.all.iter().find(is_it).map(|saying| saying.at.clone());
        let parts = || ["port", "host"].map(|name| self.said_at(name)).into_iter().find(SaidAt::is_in_file);
        said.or_else(parts).unwrap_or_default()
    }

    /// What is wrong with a setting: named as a flag, unless a file says it.
    pub fn fault(&self, name: &str, why: impl fmt::Display) -> Fault {
        let at = self.said_at(name);
        let what = if at.is_in_file() { format!("{name}: {why}") } else { format!("--{name}: {why}") };
        Fault { at, what }
    }
}

impl SiteRoute {
    /// Where a key is said that only routes have; else where the route begins.
    pub fn said_at(&self, key: &str) -> SaidAt {
        let found = self.said.keys.iter().find(|(other, _)| *other == key);
        found.map_or_else(|| self.said.table.clone(), |(_, at)| at.clone())
    }
}
