//! Settings of a folder that say which of its files are run.

use std::path::PathBuf;

use super::rows::interpreter;
use crate::may_set::MaySet;
use crate::row::{Kind, Row, switch};

/// Which files of a folder are run, if it says that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderRuns {
    /// Whether programs are, by the mode of their files.
    pub cgi: Option<bool>,
    /// Ends of names, as `.pl`, and what runs the files that have them.
    pub interpreters: Vec<(String, PathBuf)>,
    /// Whether Python files are pages.
    pub scripts: Option<bool>,
}

const RUNS: Row<FolderRuns> = Row { group: "Folders: files that are run", ..Row::EMPTY };

static ROWS: [Row<FolderRuns>; 2] = [
    Row {
        name: "cgi",
        kind: Kind::Form { shape: "on|off|*.END=PROGRAM", set: cgi },
        example: "on",
        repeatable: true,
        help: "whether programs in the folder are run",
        detail: "With `true` all files but pages, pictures and the like, if they are executable; with programs for ends of names, as \
                 `{ \"*.pl\" = \"/usr/bin/perl\" }`, those that end so, by these. The site names the programs in `cgi-interpreters`. \
                 It counts for all folders inside, too, until one says `false`.",
        ..RUNS
    },
    Row {
        name: "scripts",
        kind: Kind::Switch { set: |runs, on| runs.scripts = Some(on) },
        example: "on",
        help: "whether Python files in the folder are pages",
        detail: "As those of a route with `scripts`: files whose names end in `.py` or `.wsgi` answer, and `index.py` for its folder. \
                 It counts for all folders inside, too, until one says `false`.",
        ..RUNS
    },
];

/// The keys that a folder has beside settings, if it may say this.
pub(super) fn rows(may: MaySet) -> &'static [Row<FolderRuns>] {
    match (may.lets_run(), may.lets_have_pages()) {
        (true, true) => &ROWS,
        (true, false) => &ROWS[..1],
        (false, true) => &ROWS[1..],
        (false, false) => &[],
    }
}

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
    runs.interpreters.push(read.ok_or("write true, false, or programs for ends of names, as *.pl")?);
    Ok(())
}
