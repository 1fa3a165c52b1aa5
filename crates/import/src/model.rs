//! The model that every importer fills: settings, sites and routes, each key with its place, and the losses.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::rules::folder_lines::FolderLines;

/// A line of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// The line, from 1 on; 0 if there is none.
    pub line: usize,
}

impl Place {
    /// Returns the place of a server's default, which has no line.
    pub(crate) fn unsaid(server: &str) -> Place {
        Place { file: format!("the default of {server}").into(), line: 0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// The reason why nothing was made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The place.
    pub place: Place,
    /// A sentence without a full stop.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for Mistake {}

/// A directive of the source that the result does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The place of the directive.
    pub place: Place,
    /// The directive, as written.
    pub what: String,
    /// The reason, and what to do; half a sentence.
    pub why: String,
    /// Whether the directive denied some clients: such a loss is an error until somebody accepts it.
    pub opens: bool,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.what, self.why)
    }
}

/// A value, as TOML has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Switch(bool),
    List(Vec<String>),
    /// Several `NAME=VALUE`.
    Pairs(Vec<(String, String)>),
}

impl Value {
    /// Returns each value as a row reads it.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Value::Text(text) => vec![text.clone()],
            Value::Number(number) => vec![number.to_string()],
            Value::Switch(on) => vec![if *on { "on" } else { "off" }.to_owned()],
            Value::List(list) => list.clone(),
            Value::Pairs(pairs) => pairs.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    /// The line that the key comes from.
    pub(crate) place: Place,
}

/// The keys of a table, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys(pub(crate) Vec<Key>);

impl Keys {
    /// Sets a key, and replaces the value that it had.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Value>, place: &Place) {
        let key = Key { name, value: value.into(), place: place.clone() };
        match self.0.iter_mut().find(|other| other.name == name) {
            Some(other) => *other = key,
            None => self.0.push(key),
        }
    }

    /// Adds a value to a key that may be repeated.
    pub(crate) fn add(&mut self, name: &'static str, text: &str, place: &Place) {
        let found = self.0.iter_mut().find(|key| key.name == name);
        if let Some(Key { value: Value::List(list), .. }) = found {
            if !list.iter().any(|other| other == text) {
                list.push(text.to_owned());
            }
        } else {
            self.set(name, Value::List(vec![text.to_owned()]), place);
        }
    }

    /// Adds a `NAME=VALUE` to a key that may be repeated.
    pub(crate) fn pair(&mut self, name: &'static str, key: &str, value: &str, place: &Place) {
        let pair = (key.to_owned(), value.to_owned());
        match self.0.iter_mut().find(|key| key.name == name) {
            Some(Key { value: Value::Pairs(pairs), .. }) => pairs.push(pair),
            _ => self.set(name, Value::Pairs(vec![pair]), place),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// A table `[[sites.routes]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) paths: Vec<String>,
    /// The place of the paths.
    pub(crate) place: Option<Place>,
    pub(crate) keys: Keys,
    /// Lost restrictions, because of which the route has to refuse everybody.
    pub(crate) refused: Vec<String>,
}

/// Keys of actions and their parts.
const ACTIONS: [&str; 12] = [
    "app",
    "try",
    "mount",
    "handler",
    "files",
    "scripts",
    "cgi",
    "redirect",
    "redirect-status",
    "respond",
    "body",
    "content-type",
];

/// Actions that answer from a folder; routes for ends of names concern the files of these folders, too.
const FOLDERS: [&str; 3] = ["files", "scripts", "cgi"];

impl Route {
    pub(crate) fn new(path: &str, place: &Place) -> Route {
        Route { paths: vec![path.to_owned()], place: Some(place.clone()), ..Route::default() }
    }

    /// Whether a key is part of an action.
    pub(crate) fn is_action(name: &str) -> bool {
        ACTIONS.contains(&name) || name.starts_with("static-")
    }

    /// Whether the action is a folder of files.
    pub(crate) fn has_files(&self) -> bool {
        self.keys.has("files")
    }

    /// Whether the action is a folder.
    pub(crate) fn has_folder(&self) -> bool {
        FOLDERS.iter().any(|name| self.keys.has(name))
    }

    /// Has the route answer with a status, whatever it answered before.
    pub(crate) fn respond(&mut self, status: u64, place: &Place) {
        self.keys.0.retain(|key| !Route::is_action(key.name));
        self.keys.set("respond", Value::Number(status), place);
    }

    /// Whether the route denies some clients.
    pub(crate) fn keeps_out(&self) -> bool {
        self.is_closed() || !self.refused.is_empty() || {
            self.keys
                .0
                .iter()
                .any(|key| matches!(key.name, "allow" | "deny" | "allow-python" | "methods" | "auth"))
        }
    }

    /// Whether more would be seen without this route: it denies some clients, or stands for a gateway.
    pub(crate) fn is_restricted(&self) -> bool {
        self.keeps_out() || self.refuses_with(500..600)
    }

    /// Whether the route serves nobody.
    pub(crate) fn refuses(&self) -> bool {
        !self.refused.is_empty() || self.refuses_with(400..600)
    }

    /// Whether the route denies everybody by a status, and does not only stand for a gateway.
    pub(crate) fn is_closed(&self) -> bool {
        self.refuses_with(400..500)
    }

    fn refuses_with(&self, statuses: Range<u64>) -> bool {
        matches!(self.keys.get("respond"), Some(Key { value: Value::Number(status), .. }) if statuses.contains(status))
    }
}

/// A table `[[sites]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) hosts: Vec<String>,
    /// The place where the table begins.
    pub(crate) place: Option<Place>,
    pub(crate) keys: Keys,
    pub(crate) routes: Vec<Route>,
    /// Lost restrictions, because of which all routes of the site have to refuse everybody.
    pub(crate) refused: Vec<String>,
    /// Names of the host that `hosts` cannot say, with their directives.
    pub(crate) patterns: Vec<(Place, String)>,
}

/// Everything that was made of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) server: Keys,
    pub(crate) sites: Vec<Site>,
    pub(crate) losses: Vec<Loss>,
    /// Lost restrictions, because of which all sites have to refuse everybody.
    pub(crate) refused: Vec<String>,
    /// The lines of a folder's file that the caller wants separately, if it wants any.
    pub(crate) folder: Option<FolderLines>,
    /// Losses as they are reported, so that each is reported once.
    told: HashSet<String>,
}

impl Draft {
    /// Notes the loss of a directive that denied nobody.
    pub(crate) fn lose(&mut self, place: &Place, what: &str, why: &str) {
        self.note(place, what, why, false);
    }

    /// Notes a restriction that is lost.
    pub(crate) fn open(&mut self, place: &Place, what: &str, why: &str) {
        self.note(place, what, why, true);
    }

    /// Notes a lost restriction of a route, which refuses everybody from now on.
    pub(crate) fn refuse(&mut self, route: &mut Route, place: &Place, what: &str, why: &str) {
        self.open(place, what, why);
        let reason = format!("{place}: {}", shown(what));
        if !route.refused.contains(&reason) {
            route.refused.push(reason);
        }
    }

    /// Notes a lost restriction of a site, whose routes refuse everybody from now on.
    pub(crate) fn refuse_site(&mut self, site: &mut Site, place: &Place, what: &str, why: &str) {
        self.open(place, what, why);
        let reason = format!("{place}: {}", shown(what));
        if !site.refused.contains(&reason) {
            site.refused.push(reason);
        }
    }

    /// Notes a lost restriction of the whole server, whose sites refuse everybody from now on.
    pub(crate) fn refuse_all(&mut self, place: &Place, what: &str, why: &str) {
        self.open(place, what, why);
        let reason = format!("{place}: {}", shown(what));
        if !self.refused.contains(&reason) {
            self.refused.push(reason);
        }
    }

    /// Takes over the losses of another draft.
    pub(crate) fn absorb(&mut self, other: Draft) {
        self.refused.extend(other.refused);
        for loss in other.losses {
            if self.told.insert(loss.to_string()) {
                self.losses.push(loss);
            }
        }
    }

    fn note(&mut self, place: &Place, what: &str, why: &str, opens: bool) {
        let loss = Loss { place: place.clone(), what: shown(what), why: plain(why), opens };
        // Each route inside a level repeats the level's losses.
        if self.told.insert(loss.to_string()) {
            self.losses.push(loss);
        }
    }
}

/// Whether the name of a file has this extension in small letters; in capitals it is a different extension.
pub(crate) fn has_end(name: &str, wanted: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == wanted)
}

/// Returns a text with a blank in the place of each control character.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// Returns a text on one line, shortened.
pub(crate) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String = line.chars().filter(|sign| !sign.is_control()).collect();
    match plain.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &plain[..end]),
        None => plain,
    }
}

/// Length of a shortened text: a directive is recognised by this much of it.
const SHOWN_CHARS_MAX: usize = 60;
