//! Folders that say themselves how they are served: which settings count for a path, and since when.
//!
//! A folder beneath that of a route may have a file of settings. What it says counts for the folder and all beneath it, beside what
//! stands around it: to be let in, a client has to be let in by the route and by each folder on the way. Which folders those are is
//! said by the path as routes are found, decoded once: the names in it are those that the kernel is given. Links are not followed
//! where folders say anything, so no path leads around one.
//!
//! What was found for a path counts for [`LOOK_EVERY_MS`]. Then the folders on its way and their files are looked at, one by one,
//! and those that have changed are read again. A path that leads to nothing is looked for each time, and no file answers it: what is
//! put there later is never served as if its folder said nothing, nor is what a link leads to that stands in the place of a folder.

mod level;
mod place;
mod rules;
mod runs;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldhash::fast::RandomState;

use adyton_files::scripts::Scripts;
use adyton_sys::fs::{Root, Whereabouts};

use self::level::{Level, Seen};
use self::place::Outer;
use self::runs::Pages;
use crate::app::App;
use crate::cgi::Cgi;
use crate::changes::Changes;
use crate::lock::lock;
use crate::terms::Terms;

pub(crate) use self::place::Place;
pub use self::rules::{FolderAnswer, FolderFile, FolderReader, FolderRules, Form};
pub use self::runs::{PageRule, RunRule};

/// For how long what was found counts. A change counts within a second, with some time to spare for a loop that is busy.
const LOOK_EVERY_MS: u64 = 500;

/// Paths and folders that are remembered, each; with more all are forgotten, and found again as they are asked for. Each path
/// that is remembered exists.
const REMEMBERED_MAX: usize = 8192;

/// The folders beneath that of a route, of which each may say how it is served.
pub struct Folders {
    /// The number of the folder among those of [`crate::Parts`].
    pub(crate) number: usize,
    /// The path of the route, in its one spelling, without a slash at its end.
    url: Box<[u8]>,
    /// Which files are looked for.
    forms: Vec<Form>,
    /// What its route changes in answers.
    changes: Option<Arc<Changes>>,
    reader: Arc<dyn FolderReader>,
    /// The programs of these folders, if these may say that some are run.
    cgi: Option<Arc<Cgi>>,
    /// Their Python pages, if they may say that files are such.
    pages: Option<Pages>,
    known: Mutex<Known>,
}

/// What is known of the folders of a route.
struct Known {
    root: Root,
    levels: HashMap<Box<[u8]>, Level, RandomState>,
    places: HashMap<Box<[u8]>, (Arc<Place>, u64), RandomState>,
}

impl Folders {
    /// Those beneath `root`, which is the folder with this number, for the paths beneath `url`.
    ///
    /// # Errors
    ///
    /// The folder is there and cannot be opened.
    pub fn open(
        (number, root): (usize, &Path),
        url: &[u8],
        forms: Vec<Form>,
        reader: Arc<dyn FolderReader>,
    ) -> io::Result<Folders> {
        let known = Known { root: Root::open(root)?, levels: HashMap::default(), places: HashMap::default() };
        Ok(Folders {
            number,
            url: url.into(),
            forms,
            changes: None,
            reader,
            cgi: None,
            pages: None,
            known: Mutex::new(known),
        })
    }

    /// The same, beneath what the route changes in its answers.
    #[must_use]
    pub(crate) fn beneath(mut self, changes: Option<Arc<Changes>>) -> Folders {
        self.changes = changes;
        self
    }

    /// Lets folders say that programs in them are run, as `cgi` says.
    #[must_use]
    pub fn running(mut self, cgi: Arc<Cgi>) -> Folders {
        self.cgi = Some(cgi);
        self
    }

    /// Lets folders say that Python files in them are pages: `files` finds these, and `app` is all of them.
    #[must_use]
    pub fn with_pages(mut self, files: Scripts, app: Arc<dyn App>) -> Folders {
        self.pages = Some(Pages { files, app });
        self
    }

    /// The pages of these folders.
    pub(crate) fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref()
    }

    /// Whether these folders may say that files in them are run.
    fn has_files_run(&self) -> bool {
        self.cgi.is_some() || self.pages.is_some()
    }

    /// The programs of these folders.
    pub(crate) fn cgi(&self) -> Option<&Arc<Cgi>> {
        self.cgi.as_ref()
    }

    /// What counts for a path, without that of the route and in its one spelling; `terms` are those of the site.
    pub(crate) fn place_of(&self, rest: &[u8], terms: &Arc<Terms>, now_ms: u64) -> Arc<Place> {
        let path = rest.strip_prefix(b"/").unwrap_or(rest);
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let mut known = lock(&self.known);
        if let Some((place, since_ms)) = known.places.get(path)
            && now_ms.saturating_sub(*since_ms) < LOOK_EVERY_MS
        {
            return Arc::clone(place);
        }
        self.look(&mut known, path, terms, now_ms)
    }

    /// Looks at each folder on the way of a path.
    #[inline(never)]
    fn look(&self, known: &mut Known, path: &[u8], terms: &Arc<Terms>, now_ms: u64) -> Arc<Place> {
        if known.root.follow() == Whereabouts::Replaced || known.levels.len() > REMEMBERED_MAX {
            known.levels.clear();
            known.places.clear();
        }
        let mut rules = Vec::new();
        // It counts for as long as what it is made of.
        let (mut exists, mut since_ms, mut file_bytes) = (true, now_ms, None);
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let ends = std::iter::once(0).chain(ends).chain([path.len()].into_iter().filter(|&end| end > 0));
        for end in ends {
            let folder = &path[..end];
            match self.level(known, folder, (now_ms, &mut since_ms)) {
                Seen::Folder(Ok(own)) => rules.extend(own.into_iter().map(|own| (end, own))),
                Seen::Folder(Err(())) => return Arc::new(Place::wrong(self.changes.clone())),
                // What a client writes behind the name of a file may be anything.
                Seen::File => {
                    exists = end == path.len();
                    file_bytes = Some(end);
                    break;
                }
                Seen::Nothing => {
                    exists = false;
                    break;
                }
            }
        }
        let outer = Outer { changes: self.changes.as_ref(), terms };
        let mut place = Place::of(rules, &outer);
        place.file_bytes = file_bytes;
        if !exists {
            return Arc::new(place.absent());
        }
        let place = Arc::new(place);
        if known.places.len() >= REMEMBERED_MAX {
            known.places.clear();
        }
        known.places.insert(path.into(), (Arc::clone(&place), since_ms));
        place
    }

    /// What a folder says itself; `since_ms` is at most when it was looked at.
    fn level(&self, known: &mut Known, folder: &[u8], (now_ms, since_ms): (u64, &mut u64)) -> Seen {
        let before = known.levels.remove(folder);
        // A program may have come with the file that says that it is one.
        let is_due =
            |level: &Level| self.has_files_run() || now_ms.saturating_sub(level.looked_ms) >= LOOK_EVERY_MS;
        let kept = before.as_ref().is_some_and(|level| !is_due(level) || level.is_current(&known.root));
        let looked = match before {
            Some(level) if kept => Ok(level),
            before => {
                let asked = (&*self.forms, &*self.url, self.has_files_run());
                Level::look(&known.root, folder, asked, &*self.reader, before.as_ref())
            }
        };
        match looked {
            Ok(mut level) => {
                if is_due(&level) {
                    level.looked_ms = now_ms;
                }
                *since_ms = level.looked_ms.min(*since_ms);
                let says = level.says.clone();
                known.levels.insert(folder.into(), level);
                Seen::Folder(says)
            }
            Err(other) => other,
        }
    }
}
