//! What counts for a path: all that the folders on its way say, and what stands around them.

use std::net::IpAddr;
use std::sync::Arc;

use adyton_route::{HeadEdits, Routes};

use super::rules::{FolderAnswer, FolderRules};
use super::runs::RunRules;
use crate::answering::changes::Changes;
use crate::site::door::Door;
use crate::site::terms::{StatusPage, Terms};

/// The status of whoever is let in nowhere: that of a file that is refused by its name.
const DENIED: u16 = 403;

/// What stands around the folders of a route.
pub(super) struct Outer<'o> {
    pub(super) changes: Option<&'o Arc<Changes>>,
    pub(super) terms: &'o Arc<Terms>,
    /// The pages of the folders for errors, the outermost first.
    pub(super) pages: Vec<StatusPage>,
}

/// What counts for the paths of a folder.
pub(crate) struct Place {
    /// Whether a folder on the way is wrong: then nothing beneath it is served.
    pub(crate) is_wrong: bool,
    /// Whether nothing was found at the path: then no file answers, whatever has come there since.
    pub(crate) is_absent: bool,
    /// The bytes of the path up to the end of a file, from behind the slash in front, if there is a file on the way.
    pub(super) file_bytes: Option<usize>,
    /// Whether files are sent as they are, because a folder says that nothing may change them.
    pub(crate) is_as_stored: bool,
    /// All that folders say, the outermost first.
    pub(super) made_of: Vec<Arc<FolderRules>>,
    /// The number of folders on the way.
    pub(super) levels: usize,
    /// Of the folders that keep somebody out, the outermost first.
    guarded: Vec<Arc<FolderRules>>,
    /// What is changed in answers, by the route and by folders.
    pub(crate) changes: Option<Arc<Changes>>,
    /// The site's terms with the pages of folders, if there are any.
    pub(crate) terms: Option<Arc<Terms>>,
    /// How many of those pages are the site's.
    pages_of_site: usize,
    /// What answers in the place of files, the innermost first, with how many bytes of the path are their folder's.
    answers: Vec<(usize, Routes<FolderAnswer>)>,
    /// Which files are run, and by what.
    pub(crate) runs: RunRules,
    /// Names of files that answer for their folders, if folders say other ones.
    pub(crate) indexes: Option<Arc<[Box<[u8]>]>>,
}

impl Place {
    /// One that is wrong.
    pub(super) fn wrong(changes: Option<Arc<Changes>>) -> Place {
        Place {
            is_wrong: true,
            is_absent: false,
            file_bytes: None,
            is_as_stored: false,
            made_of: Vec::new(),
            levels: 0,
            guarded: Vec::new(),
            changes,
            terms: None,
            pages_of_site: 0,
            answers: Vec::new(),
            runs: RunRules::default(),
            indexes: None,
        }
    }

    /// What folders say, the outermost first, each with the bytes of its path.
    pub(super) fn of(rules: Vec<(usize, Arc<FolderRules>)>, outer: Outer<'_>) -> Place {
        let mut edits = HeadEdits::default();
        let mut place = Place { is_wrong: false, ..Place::wrong(outer.changes.cloned()) };
        for (bytes, own) in rules {
            edits = edits.followed_by(&own.edits);
            place.runs = place.runs.followed_by(&own.runs);
            if let Some(names) = &own.indexes {
                place.indexes = Some(Arc::clone(names));
            }
            if !own.answers.is_empty() {
                // A path beneath the folder begins with a slash, which stands behind the folder's own.
                place.answers.insert(0, (bytes, Routes::new(own.answers.clone())));
            }
            if own.admission.is_some() || own.guard.is_some() {
                place.guarded.push(Arc::clone(&own));
            }
            place.made_of.push(own);
        }
        if !edits.is_empty() {
            place.is_as_stored = edits.adds("Cache-Control", "no-transform");
            let around = outer.changes.map(|changes| Changes::clone(changes)).unwrap_or_default();
            place.changes = Some(Arc::new(Changes { edits: around.edits.followed_by(&edits), ..around }));
        }
        if !outer.pages.is_empty() {
            place.pages_of_site = outer.terms.pages.len();
            place.terms = Some(Arc::new(outer.terms.with_more_pages(outer.pages)));
        }
        place
    }

    /// Whether a path, without that of the route, is the one of the file on the way that was found: only for that one it is known
    /// what folders say.
    pub(crate) fn is_file(&self, path: &[u8]) -> bool {
        self.file_bytes.is_some_and(|bytes| bytes + 1 == path.len())
    }

    /// Whether folders name an index that may be a program. Which files other routes of the site run is not known here.
    pub(super) fn may_run_index(&self) -> bool {
        self.indexes.as_ref().is_some_and(|names| names.iter().any(|name| !self.runs.is_page(name)))
    }

    /// The page that a folder has for a status.
    pub(crate) fn page_of(&self, status: u16) -> Option<&StatusPage> {
        let own = self.terms.as_ref()?.pages.get(self.pages_of_site..)?;
        own.iter().rev().find(|page| page.status == status)
    }

    /// What a client with this address has to do, for each folder that keeps somebody out.
    pub(crate) fn doors(&self, client: Option<IpAddr>) -> impl Iterator<Item = Door<'_>> {
        self.guarded.iter().map(move |own| Door::of(own.admission.as_deref(), own.guard.as_ref(), client))
    }

    /// What answers a path, without that of the route, in the place of a file; and how many bytes of it are that answer's own.
    pub(crate) fn answer(&self, rest: &[u8]) -> Option<(&FolderAnswer, usize)> {
        if self.answers.is_empty() {
            return None;
        }
        // A client that one folder keeps out is led nowhere by another.
        if let Some(denied) = self.find(rest, |answer| *answer == FolderAnswer::Status(DENIED)) {
            return Some((denied, rest.len()));
        }
        let named = self.answers.iter().find_map(|(folder, routes)| {
            // `rest` begins with a slash, and the folder's path is behind it.
            let above = bytes_above(*folder);
            let (_, pattern, answer) = routes.first(rest.get(above..)?)?;
            Some((answer, above + pattern.prefix_bytes()))
        });
        named.or_else(|| {
            // A folder is answered with its index, which may be what nobody gets. Any other index is asked for by its own path.
            let index = [rest, adyton_files::INDEX.as_bytes()].concat();
            let is_folder = rest.ends_with(b"/") && self.indexes.is_none();
            let refused = if is_folder { self.refusal(&index) } else { None };
            refused.map(|answer| (answer, rest.len()))
        })
    }

    /// What keeps a path, without that of the route, from everybody: a folder on its way says so, whatever else it and others say.
    pub(crate) fn refusal(&self, path: &[u8]) -> Option<&FolderAnswer> {
        self.find(path, is_status)
    }

    /// The first answer of this kind that any folder has for a path, the innermost first.
    fn find(&self, path: &[u8], is_one: impl Fn(&FolderAnswer) -> bool) -> Option<&FolderAnswer> {
        self.answers.iter().find_map(|(folder, routes)| {
            let rest = path.get(bytes_above(*folder)..)?;
            routes.of(rest).map(|(_, _, answer)| answer).find(|answer| is_one(answer))
        })
    }

    /// The same of a file in the folder of the route itself.
    pub(crate) fn refusal_at_top(&self, name: &[u8]) -> Option<&FolderAnswer> {
        let path = [b"/", name].concat();
        let mut own = self.answers.iter().filter(|(folder, _)| *folder == 0);
        own.find_map(|(_, routes)| {
            routes.of(&path).map(|(_, _, answer)| answer).find(|answer| is_status(answer))
        })
    }

    /// Whether folders answer anything in the place of files.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }
}

/// How many bytes stand in front of the paths beneath a folder whose own path has so many.
fn bytes_above(folder: usize) -> usize {
    if folder == 0 { 0 } else { folder + 1 }
}

fn is_status(answer: &FolderAnswer) -> bool {
    matches!(answer, FolderAnswer::Status(_))
}
