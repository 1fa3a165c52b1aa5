//! What every importer makes: settings, sites and routes, each key with its place, and what was lost.

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
    /// The line, from 1 on; 0 of what stands nowhere.
    pub line: usize,
}

impl Place {
    /// What a server does that is not told anything: a place without a line.
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

/// Why nothing was made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
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

/// Something that the source says and the result does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where it stands.
    pub place: Place,
    /// The directive, as written.
    pub what: String,
    /// Why it is lost, and what to do; half a sentence.
    pub why: String,
    /// Whether it kept somebody out: such a loss is an error until somebody accepts it.
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
    /// `NAME=VALUE`, each of them.
    Pairs(Vec<(String, String)>),
}

impl Value {
    /// Each value as a row reads it.
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
    /// The line that says it.
    pub(crate) place: Place,
}

/// The keys of a table, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys(pub(crate) Vec<Key>);

impl Keys {
    /// Says something; a key that is there already says it anew.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Value>, place: &Place) {
        let key = Key { name, value: value.into(), place: place.clone() };
        match self.0.iter_mut().find(|other| other.name == name) {
            Some(other) => *other = key,
            None => self.0.push(key),
        }
    }

    /// Says one more of what may be said several times.
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

    /// The same for `NAME=VALUE`.
    pub(crate) fn pair(&mut self, name: &'static str, pair: (&str, &str), place: &Place) {
        let pair = (pair.0.to_owned(), pair.1.to_owned());
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
    /// Where the paths stand.
    pub(crate) place: Option<Place>,
    pub(crate) keys: Keys,
    /// Why it has to refuse everybody: restrictions that were lost.
    pub(crate) refused: Vec<String>,
}

/// Keys that say what answers.
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

/// Those of a folder, whose files a route of the ends of names is about, too.
const FOLDERS: [&str; 3] = ["files", "scripts", "cgi"];

impl Route {
    pub(crate) fn new(path: &str, place: &Place) -> Route {
        Route { paths: vec![path.to_owned()], place: Some(place.clone()), ..Route::default() }
    }

    /// Whether a key is part of what answers.
    pub(crate) fn is_action(name: &str) -> bool {
        ACTIONS.contains(&name) || name.starts_with("static-")
    }

    /// Whether a folder of files answers.
    pub(crate) fn has_files(&self) -> bool {
        self.keys.has("files")
    }

    /// Whether a folder answers.
    pub(crate) fn has_folder(&self) -> bool {
        FOLDERS.iter().any(|name| self.keys.has(name))
    }

    /// Has it answer with a status, whatever it answered before.
    pub(crate) fn respond(&mut self, status: u64, place: &Place) {
        self.keys.0.retain(|key| !Route::is_action(key.name));
        self.keys.set("respond", Value::Number(status), place);
    }

    /// Whether some clients are kept out.
    pub(crate) fn keeps_out(&self) -> bool {
        self.is_closed() || !self.refused.is_empty() || {
            self.keys
                .0
                .iter()
                .any(|key| matches!(key.name, "allow" | "deny" | "allow-python" | "methods" | "auth"))
        }
    }

    /// Whether something would be seen if this route were not there: what is kept out, or what a gateway would have run.
    pub(crate) fn is_restricted(&self) -> bool {
        self.keeps_out() || self.refuses_with(500..600)
    }

    /// Whether nobody is served by it.
    pub(crate) fn refuses(&self) -> bool {
        !self.refused.is_empty() || self.refuses_with(400..600)
    }

    /// Whether everybody is kept out, and not only left without what a gateway would have answered.
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
    /// Where it begins.
    pub(crate) place: Option<Place>,
    pub(crate) keys: Keys,
    pub(crate) routes: Vec<Route>,
    /// Why all its routes have to refuse everybody.
    pub(crate) refused: Vec<String>,
    /// Names that it had and that `hosts` cannot say, with their directives.
    pub(crate) patterns: Vec<(Place, String)>,
}

/// All that was made of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) server: Keys,
    pub(crate) sites: Vec<Site>,
    pub(crate) losses: Vec<Loss>,
    /// Why all sites have to refuse everybody.
    pub(crate) refused: Vec<String>,
    /// The lines of a folder's file that are wanted apart, if any are.
    pub(crate) folder: Option<FolderLines>,
    /// The losses as they are told, each once.
    told: HashSet<String>,
}

impl Draft {
    /// Notes what is lost and keeps nobody out.
    pub(crate) fn lose(&mut self, place: &Place, what: &str, why: &str) {
        self.note(place, what, why, false);
    }

    /// Notes a restriction that is lost.
    pub(crate) fn open(&mut self, place: &Place, what: &str, why: &str) {
        self.note(place, what, why, true);
    }

    /// Notes a restriction that is lost, and that is a route's: the route refuses everybody.
    pub(crate) fn refuse(&mut self, route: &mut Route, place: &Place, what: &str, why: &str) {
        self.open(place, what, why);
        let reason = format!("{place}: {}", shown(what));
        if !route.refused.contains(&reason) {
            route.refused.push(reason);
        }
    }

    /// The same of a site, whose routes refuse.
    pub(crate) fn refuse_site(&mut self, site: &mut Site, place: &Place, what: &str, why: &str) {
        self.open(place, what, why);
        let reason = format!("{place}: {}", shown(what));
        if !site.refused.contains(&reason) {
            site.refused.push(reason);
        }
    }

    /// The same of the whole server: each of its sites refuses.
    pub(crate) fn refuse_all(&mut self, place: &Place, what: &str, why: &str) {
        self.open(place, what, why);
        let reason = format!("{place}: {}", shown(what));
        if !self.refused.contains(&reason) {
            self.refused.push(reason);
        }
    }

    /// Takes over what another draft has lost.
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
        // What a level says is said of each route inside.
        if self.told.insert(loss.to_string()) {
            self.losses.push(loss);
        }
    }
}

/// Whether the name of a file has this extension, in small letters: others are other files.
pub(crate) fn has_end(name: &str, wanted: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == wanted)
}

/// A text without what ends a line or is not seen.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// A text on one line, shortened.
pub(crate) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String = line.chars().filter(|sign| !sign.is_control()).collect();
    match plain.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &plain[..end]),
        None => plain,
    }
}

/// A directive is recognised by this much of it.
const SHOWN_CHARS_MAX: usize = 60;
