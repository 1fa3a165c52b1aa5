//! Settings of a folder that say which of its files are run, and which answer for it.

use std::path::PathBuf;

use crate::settings::row::{Kind, Row, switch};
use crate::sites::reading::rows::interpreter;

/// Settings of a folder that say which of its files are run, and which answer for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderRuns {
    /// Whether programs are run, by the mode of their files.
    pub cgi: Option<bool>,
    /// Suffixes of names, as `.pl`, and the program that runs files with each.
    pub interpreters: Vec<(String, PathBuf)>,
    /// Whether Python files are pages.
    pub scripts: Option<bool>,
    /// Names of files that answer for the folder.
    pub index: Option<Vec<String>>,
}

const RUNS: Row<FolderRuns> = Row { group: "Folders: files that are run", ..Row::EMPTY };

/// The keys that a folder has beside settings; each has a word in `may-set`.
pub(crate) static FOLDER_ROWS: &[Row<FolderRuns>] = &[
    Row {
        name: "cgi",
        kind: Kind::Form { shape: "on|off|*.END=PROGRAM", set: cgi },
        example: "on",
        repeatable: true,
        help: "whether programs in the folder are run",
        detail: "With `true`, executable files are run, except pages, pictures and the like. With a table of suffixes \
                 and interpreters, as `{ \"*.pl\" = \"/usr/bin/perl\" }`, files with these suffixes are run by these \
                 programs, which the site must name in `cgi-interpreters`. The key applies to all folders inside, \
                 too, until one of them has `false`.",
        ..RUNS
    },
    Row {
        name: "scripts",
        kind: Kind::Switch { set: |runs, on| runs.scripts = Some(on) },
        example: "on",
        help: "whether Python files in the folder are pages",
        detail: "Like those of a route with `scripts`: files whose names end in `.py` or `.wsgi` answer, and \
                 `index.py` for its folder. The key applies to all folders inside, too, until one of them has \
                 `false`.",
        ..RUNS
    },
    Row {
        name: "index",
        kind: Kind::Form { shape: "NAME", set: index },
        example: "index.cgi",
        repeatable: true,
        group: "Folders: files that answer for them",
        help: "files that answer for the folder",
        detail: "The first file that exists answers, as if the client had requested its own path. Other files, such \
                 as `index.html` and `index.py`, then answer only if they are named here. `none` stands alone: no \
                 file answers. The key applies to all folders inside, too, until one of them has other names.",
        ..RUNS
    },
];

fn cgi(runs: &mut FolderRuns, text: &str) -> Result<(), String> {
    if let Some(on) = switch(text) {
        return match runs.cgi.replace(on) {
            None if runs.interpreters.is_empty() => Ok(()),
            _ => Err("true and false stand alone".to_owned()),
        };
    }
    if runs.cgi.is_some() {
        return Err("true and false stand alone".to_owned());
    }
    let read = interpreter(text)?;
    runs.interpreters.push(read.ok_or("write true, false, or programs for suffixes of names, as *.pl")?);
    Ok(())
}

/// Limit of file names for one folder.
const NAMES_MAX: usize = 16;

fn index(runs: &mut FolderRuns, text: &str) -> Result<(), String> {
    let names = runs.index.get_or_insert_default();
    add_index(names, text)
}

/// Adds the name of a file that answers for its folder; `none` stands alone.
///
/// # Errors
///
/// Half a sentence, if no file of such a name is served, or if there are too many.
pub fn add_index(names: &mut Vec<String>, text: &str) -> Result<(), String> {
    if text == "none" && names.is_empty() {
        return Ok(());
    }
    if names.len() == NAMES_MAX {
        return Err(format!("there are more than {NAMES_MAX} names"));
    }
    if text.is_empty() || text.starts_with('.') || text.contains(['/', '\\', '%', '?', '#', '\0']) {
        return Err(format!("{text:?} is no name of a file in the folder, as index.cgi"));
    }
    names.push(text.to_owned());
    Ok(())
}
