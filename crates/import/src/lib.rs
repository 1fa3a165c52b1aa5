//! Turns configurations of other servers into a file of sites: text to text, with a list of the losses.
//!
//! Each importer reads its language into the [`model`]: settings, sites and routes, each key with the line that it
//! comes from. `finish.rs` validates each key with the settings row that will parse it, so the result is a valid file
//! of sites; `write.rs` writes it. Nothing becomes less secure in silence: a lost restriction is recorded as a [`Loss`]
//! with `opens` set, and the routes it protected refuse everybody. Included files come from the caller, and are limited
//! in number and size.

#![forbid(unsafe_code)]

mod apache;
mod finish;
mod model;
mod nginx;
mod python_servers;
mod rules;
mod text;
mod unit;
mod write;

use crate::python_servers::{gunicorn, uwsgi};
use crate::rules::pages;
use std::sync::Arc;

pub use model::{Loss, Mistake, Place};
pub use rules::folder_handlers::{FolderHandlers, Handler};
pub use rules::folder_lines::{Document, ErrorDocument, FolderLines, Indexes};
pub use text::glob::matches;
pub use text::include::Found;

use model::Draft;
use text::include::Includes;

/// The server that a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `nginx.conf`.
    Nginx,
    /// The JSON of NGINX Unit.
    Unit,
    /// `uwsgi.ini`.
    Uwsgi,
    /// `gunicorn.conf.py`.
    Gunicorn,
    /// `httpd.conf`, or an `.htaccess`.
    Apache,
}

/// The kinds by their names.
const KINDS: [(&str, Kind); 5] = [
    ("nginx", Kind::Nginx),
    ("unit", Kind::Unit),
    ("uwsgi", Kind::Uwsgi),
    ("gunicorn", Kind::Gunicorn),
    ("apache", Kind::Apache),
];

impl Kind {
    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Kind> {
        KINDS.iter().find(|(word, _)| *word == name).map(|(_, kind)| *kind)
    }

    /// Returns the names of all kinds, as in `a, b or c`.
    pub fn names() -> String {
        let words = KINDS.map(|(word, _)| word);
        let (last, others) = words.split_last().unwrap_or((&"", &[]));
        format!("{} or {last}", others.join(", "))
    }

    /// Returns the kind that a file seems to be, by its name and its text.
    pub fn detect(name: &str, text: &str) -> Option<Kind> {
        let last = name.rsplit('/').next().unwrap_or(name);
        let lines = || text.lines().map(str::trim_start);
        let begins = |word: &str| lines().any(|line| line.starts_with(word));
        let block = |word: &str| {
            lines().any(|line| line.strip_prefix(word).is_some_and(|rest| rest.trim_start().starts_with('{')))
        };
        if model::has_end(last, "py") {
            Some(Kind::Gunicorn)
        } else if text.trim_start().starts_with('{') {
            Some(Kind::Unit)
        } else if begins("[uwsgi]") {
            Some(Kind::Uwsgi)
        } else if block("server") || block("http") || last == "nginx.conf" {
            Some(Kind::Nginx)
        } else if last == ".htaccess" || apache::is_one(text) {
            Some(Kind::Apache)
        } else {
            None
        }
    }
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The file of sites.
    pub text: String,
    /// Directives that could not be carried over.
    pub losses: Vec<Loss>,
}

impl Import {
    /// Whether a restriction was lost, so that somebody has to accept the loss.
    pub fn opens(&self) -> bool {
        self.losses.iter().any(|loss| loss.opens)
    }
}

/// Makes a file of sites. `name` is the name of the file with this `text`, and `include` finds included files by
/// pattern, relative to the folder of this file.
///
/// # Errors
///
/// The text is not in the kind's language, or goes beyond a limit, or a file that it includes cannot be read.
pub fn import(
    kind: Kind,
    name: &str,
    text: &str,
    include: &mut dyn FnMut(&str) -> Result<Vec<Found>, String>,
) -> Result<Import, Mistake> {
    make(kind, name, text, include, None).map(|(import, _)| import)
}

/// Reads the `.htaccess` of a folder. Lines about error pages, about index files and, if `takes_handlers`, about files
/// that are run are returned separately, and are not in the file of sites.
///
/// # Errors
///
/// The errors of [`import`].
pub fn import_folder(name: &str, text: &str, takes_handlers: bool) -> Result<(Import, FolderLines), Mistake> {
    let mut include = |_: &str| Err("a folder's file includes no other".to_owned());
    let handlers = takes_handlers.then(FolderHandlers::default);
    let wanted = FolderLines { handlers, ..FolderLines::default() };
    let (import, found) = make(Kind::Apache, name, text, &mut include, Some(wanted))?;
    Ok((import, found.unwrap_or_default()))
}

fn make(
    kind: Kind,
    name: &str,
    text: &str,
    include: &mut dyn FnMut(&str) -> Result<Vec<Found>, String>,
    folder: Option<FolderLines>,
) -> Result<(Import, Option<FolderLines>), Mistake> {
    let file: Arc<str> = model::plain(name).into();
    let mut includes = Includes::new(include);
    includes.begin(&file, text)?;
    let mut draft = Draft::default();
    draft.folder = folder;
    match kind {
        Kind::Nginx => nginx::read(&file, text, &mut includes, &mut draft)?,
        Kind::Unit => unit::read(&file, text, &mut draft)?,
        Kind::Uwsgi => uwsgi::read(&file, text, &mut includes, &mut draft)?,
        Kind::Apache => apache::read(&file, text, &mut includes, &mut draft)?,
        Kind::Gunicorn => gunicorn::read(&file, text, &mut draft),
    }
    pages::without_absent(&mut draft, &mut includes)?;
    finish::finish(&mut draft, &Place { file, line: 1 });
    let text = write::write(&draft, name);
    Ok((Import { text, losses: draft.losses }, draft.folder))
}
