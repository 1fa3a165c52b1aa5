//! Folders that say themselves how they are served: which settings count for a path, and when they are read again.
//!
//! A folder beneath a route's folder may have a file of settings. Its rules count for the folder and for all beneath
//! it, besides the rules around the folder: to be let in, a client has to be let in by the route and by each folder on
//! the way. The path that routes are found by, decoded once, says which folders are on the way: the kernel is given the
//! same names. Links are not followed if folders have rules, so no path leads around a folder.
//!
//! The rules found for a path count for [`LOOK_EVERY_MS`]. Then the folders on its way and their files are looked at,
//! one by one, and changed files are read again. If a path leads to nothing, that result is not remembered, and no file
//! answers the present request, even if a file has come there since: the file might be served without the rules that
//! came with it. A link in the place of a folder is treated in this way, too.
//!
//! A file that is opened to be sent may have come after that look, together with the rules that protect it. Therefore,
//! whenever a file is opened for an answer, the folders are looked at once more after the answer is made
//! ([`Folders::says_still`]): an answer has the rules and the content of one moment.

mod level;
mod place;
mod remembered;
mod rules;
mod runs;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use adyton_files::scripts::Scripts;
use adyton_log::{self as log, messages};
use adyton_sys::clock;
use adyton_sys::fs::{HeldRoot, Root};

use self::level::{FolderReading, Level, Seen};
use self::place::Outer;
use self::remembered::Remembered;
use self::runs::Pages;
use crate::answering::changes::Changes;
use crate::app::App;
use crate::cgi::Cgi;
use crate::lock::lock;
use crate::site::terms::{StatusPage, Terms};

pub(crate) use self::place::Place;
pub use self::rules::{FolderAnswer, FolderFile, FolderPage, FolderReader, FolderRules, Form, FormFiles};
pub use self::runs::{PageRule, ProgramRule, RunRules};

/// Time for which found rules count. A change then counts within a second, with some time to spare for a busy loop.
const LOOK_EVERY_MS: u64 = 500;

/// Number of paths, and number of folders, that each of two generations remembers; other paths and folders are looked
/// for again at the next request. Each remembered path exists. A table of 4,096 buckets holds this many entries before
/// it grows to twice its size.
const REMEMBERED_MAX: usize = 4096 / 8 * 7;

/// The folders beneath a route's folder, each of which may say how it is served.
pub struct Folders {
    /// The number of the route's folder among the folders of [`crate::Parts`].
    pub(crate) number: usize,
    /// The path of the route, in its one spelling, without a slash at its end.
    url: Box<[u8]>,
    /// The files of settings that are looked for.
    forms: Vec<FormFiles>,
    /// The changes that the route makes to answers.
    changes: Option<Arc<Changes>>,
    reader: Arc<dyn FolderReader>,
    /// The programs of these folders, if the folders may say that some files are run.
    cgi: Option<Arc<Cgi>>,
    /// Whether the folders may say which files answer for them.
    names_indexes: bool,
    /// The Python pages of these folders, if the folders may say that files are pages.
    pages: Option<Pages>,
    known: Mutex<Known>,
}

/// The remembered state of the folders of a route.
struct Known {
    root: Root,
    levels: Remembered<Level>,
    /// Places by path, each as old as the levels it is made of: when a level changes or is forgotten, all places are
    /// forgotten.
    places: Remembered<(Arc<Place>, u64)>,
    /// Pages of which the log has said already that they are run, by their paths beneath the root.
    told: Remembered<()>,
}

impl Known {
    /// Looks for the root; if another folder has taken its place, all is forgotten.
    fn follow(&mut self) {
        if self.root.follow() == HeldRoot::Replaced {
            self.levels.clear();
            self.places.clear();
        }
    }
}

/// The levels that are due for a look.
#[derive(Clone, Copy)]
struct Due {
    now_ms: u64,
    /// Whether all levels are due, and not only the levels that were looked at too long ago.
    is_all: bool,
}

impl Due {
    /// Makes all levels due, now.
    fn now() -> Due {
        Due { now_ms: clock::monotonic_ms(), is_all: true }
    }

    fn has(self, level: &Level) -> bool {
        self.is_all || self.now_ms.saturating_sub(level.looked_ms) >= LOOK_EVERY_MS
    }
}

impl Folders {
    /// Opens the folders beneath `root`, which is the folder with this number, for the paths beneath `url`.
    ///
    /// # Errors
    ///
    /// The folder is there and cannot be opened.
    pub fn open(
        number: usize,
        root: &Path,
        url: &[u8],
        forms: Vec<FormFiles>,
        reader: Arc<dyn FolderReader>,
    ) -> io::Result<Folders> {
        let root = Root::open(root)?;
        let (levels, places) = (Remembered::new(REMEMBERED_MAX), Remembered::new(REMEMBERED_MAX));
        let known = Known { root, levels, places, told: Remembered::new(REMEMBERED_MAX) };
        Ok(Folders {
            number,
            url: url.into(),
            forms,
            changes: None,
            reader,
            cgi: None,
            names_indexes: false,
            pages: None,
            known: Mutex::new(known),
        })
    }

    /// Sets the changes that the route makes to answers.
    #[must_use]
    pub(crate) fn beneath(mut self, changes: Option<Arc<Changes>>) -> Folders {
        self.changes = changes;
        self
    }

    /// Lets folders say that programs in them are run, as `cgi` sets out.
    #[must_use]
    pub fn running(mut self, cgi: Arc<Cgi>) -> Folders {
        self.cgi = Some(cgi);
        self
    }

    /// Lets folders say which files answer for them.
    #[must_use]
    pub fn naming_indexes(mut self) -> Folders {
        self.names_indexes = true;
        self
    }

    /// Lets folders say that Python files in them are pages: `files` finds them, and `app` runs them all.
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

    /// Returns the place of a path in its one spelling, without the route's own part; `terms` are the site's terms.
    pub(crate) fn place_of(&self, rest: &[u8], terms: &Arc<Terms>, now_ms: u64) -> Arc<Place> {
        let path = beneath(rest);
        let mut known = lock(&self.known);
        if let Some((place, since_ms)) = known.places.recent(path)
            && now_ms.saturating_sub(*since_ms) < LOOK_EVERY_MS
        {
            return Arc::clone(place);
        }
        // A program may have come together with the file of settings that has it run.
        let due = Due { now_ms, is_all: self.has_files_run() };
        self.look(&mut known, path, terms, due)
    }

    /// Whether a program may answer a path: a file on its way is a program, or no file is on its way and the index may
    /// be a program, perhaps of another route.
    pub(crate) fn may_run_at(&self, rest: &[u8], terms: &Arc<Terms>, now_ms: u64) -> bool {
        if self.cgi.is_none() && !self.names_indexes {
            return false;
        }
        let place = self.place_of(rest, terms, now_ms);
        match place.file_bytes {
            Some(bytes) => place.runs.is_program(rest.get(..=bytes).unwrap_or(rest)),
            None => place.runs.programs().is_some() || place.may_run_index(),
        }
    }

    /// Returns the place of a path after a look at its folders now, whenever they were looked at last.
    pub(crate) fn place_now(&self, rest: &[u8], terms: &Arc<Terms>, now_ms: u64) -> Arc<Place> {
        self.look(&mut lock(&self.known), beneath(rest), terms, Due { now_ms, is_all: true })
    }

    /// Whether the folders on the way of a path still have the rules that they had when this place was found for it;
    /// `root` is the folder in which a file was opened since.
    pub(crate) fn says_still(&self, rest: &[u8], place: &Place, root: &Root) -> bool {
        let path = beneath(rest);
        let mut known = lock(&self.known);
        known.follow();
        if !known.root.holds_same(root) {
            return false;
        }
        let mut ends = ends(path);
        let mut rules = place.made_of.iter();
        let is_same = ends.by_ref().take(place.levels).all(|end| {
            let level = known.levels.find(&path[..end]).filter(|level| level.is_same(&known.root));
            let own = level.and_then(|level| level.says.as_ref().ok());
            own.is_some_and(|own| {
                own.iter().all(|own| rules.next().is_some_and(|other| Arc::ptr_eq(own, other)))
            })
        });
        // A file may have become a folder by now, with rules of its own.
        let is_file = |end| place.is_absent || level::is_file(&known.root, &path[..end]);
        is_same && rules.next().is_none() && ends.next().is_none_or(is_file)
    }

    /// Looks at each folder on the way of a path.
    #[inline(never)]
    fn look(&self, known: &mut Known, path: &[u8], terms: &Arc<Terms>, due: Due) -> Arc<Place> {
        known.follow();
        let mut rules = Vec::new();
        // The place is as old as the oldest level that it is made of.
        let (mut exists, mut since_ms, mut levels) = (true, due.now_ms, 0);
        let mut file_bytes = None;
        for end in ends(path) {
            let folder = &path[..end];
            match self.level(known, folder, due, &mut since_ms) {
                Seen::Folder(Ok(own)) => {
                    rules.extend(own.into_iter().map(|own| (end, own)));
                    levels += 1;
                }
                Seen::Folder(Err(())) => return Arc::new(Place::wrong(self.changes.clone())),
                // A client may write anything behind the name of a file.
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
        let pages = self.pages_of(known, path, &rules, due);
        let mut place = Place::of(rules, Outer { changes: self.changes.as_ref(), terms, pages });
        (place.levels, place.is_absent, place.file_bytes) = (levels, !exists, file_bytes);
        let place = Arc::new(place);
        if exists {
            known.places.put(path, (Arc::clone(&place), since_ms));
        }
        place
    }

    /// Returns the error pages of the folders on the way of a path, without pages that are run: nobody gets their
    /// texts.
    fn pages_of(
        &self,
        known: &mut Known,
        path: &[u8],
        rules: &[(usize, Arc<FolderRules>)],
        due: Due,
    ) -> Vec<StatusPage> {
        let mut pages: Vec<(&[u8], &FolderPage)> = Vec::new();
        for (end, own) in rules {
            pages.retain(|(_, page)| !own.without_pages_for.contains(&page.page.status));
            pages.extend(own.pages.iter().map(|page| (&path[..*end], page)));
        }
        let mut is_run = |folder: &[u8], file: &[u8]| {
            let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
            self.is_run_page(known, &[folder, slash, file].concat(), due)
        };
        pages.retain(|(folder, FolderPage { path: file, .. })| match file {
            Some(file) if self.has_files_run() => !is_run(folder, file),
            _ => true,
        });
        pages.into_iter().map(|(_, FolderPage { page, .. })| page.clone()).collect()
    }

    /// Whether the file at a path beneath the route's folder is run, by the present rules of the folders on its way. In
    /// a wrong folder all files count as run, so that none is sent.
    pub fn run_file(&self, path: &[u8]) -> bool {
        self.is_run(&mut lock(&self.known), path, Due::now())
    }

    /// Whether the file at this path, which is the page for missing files, is run. If it is run, the log says so once.
    pub(crate) fn run_page(&self, path: &[u8]) -> bool {
        self.has_files_run() && self.is_run_page(&mut lock(&self.known), path, Due::now())
    }

    fn is_run_page(&self, known: &mut Known, path: &[u8], due: Due) -> bool {
        let is_run = self.is_run(known, path, due);
        let was_told = known.told.take(path).is_some();
        if is_run {
            known.told.put(path, ());
        }
        if is_run && !was_told {
            let file = known.root.path().join(OsStr::from_bytes(path));
            log::write(
                &messages::PAGE_IS_RUN,
                format_args!(
                    "{}: it is run, and its text is never sent; the answer is without it",
                    file.display()
                ),
            );
        }
        is_run
    }

    fn is_run(&self, known: &mut Known, path: &[u8], due: Due) -> bool {
        let (mut runs, mut since_ms) = (RunRules::default(), due.now_ms);
        for end in ends(path) {
            match self.level(known, &path[..end], due, &mut since_ms) {
                Seen::Folder(Ok(own)) => {
                    runs = own.iter().fold(runs, |runs, own| runs.followed_by(&own.runs));
                }
                Seen::Folder(Err(())) => return true,
                Seen::File | Seen::Nothing => break,
            }
        }
        runs.is_program(path)
    }

    /// Returns the rules of a folder itself; lowers `since_ms` to the time at which the folder was looked at.
    fn level(&self, known: &mut Known, folder: &[u8], due: Due, since_ms: &mut u64) -> Seen {
        let before = known.levels.take(folder);
        let kept = before.as_ref().is_some_and(|level| !due.has(level) || level.is_current(&known.root));
        if before.is_some() && !kept {
            known.places.clear();
        }
        let looked = match before {
            Some(level) if kept => Ok(level),
            before => {
                let reading = FolderReading {
                    forms: &self.forms,
                    url: &self.url,
                    is_wary: self.has_files_run(),
                    reader: &*self.reader,
                };
                Level::look(&known.root, folder, &reading, before.as_ref())
            }
        };
        match looked {
            Ok(mut level) => {
                if due.has(&level) {
                    level.looked_ms = due.now_ms;
                }
                *since_ms = level.looked_ms.min(*since_ms);
                let says = level.says.clone();
                if known.levels.put(folder, level) {
                    known.places.clear();
                }
                Seen::Folder(says)
            }
            Err(other) => other,
        }
    }
}

/// Returns a path beneath the folder of a route, without a slash at either end.
fn beneath(rest: &[u8]) -> &[u8] {
    let path = rest.strip_prefix(b"/").unwrap_or(rest);
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Returns where each folder on the way of a path ends, from the outermost on, and then the path itself.
fn ends(path: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    std::iter::once(0).chain(slashes).chain([path.len()].into_iter().filter(|&end| end > 0))
}
