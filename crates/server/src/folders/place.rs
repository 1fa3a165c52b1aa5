//! The rules that count for a path: the rules of the folders on its way, of their route, and of the site.

use std::net::IpAddr;
use std::sync::Arc;

use adyton_route::{HeadEdits, Routes};

use super::rules::{FolderAnswer, FolderRules};
use super::runs::RunRules;
use crate::answering::changes::Changes;
use crate::site::door::Door;
use crate::site::terms::{StatusPage, Terms};

/// Status for clients that are not let in, and for files that are refused by their names.
const DENIED: u16 = 403;

/// The surroundings of a route's folders: the route's changes, and the site's terms.
pub(super) struct Outer<'o> {
    pub(super) changes: Option<&'o Arc<Changes>>,
    pub(super) terms: &'o Arc<Terms>,
    /// The error pages of the folders, the outermost first.
    pub(super) pages: Vec<StatusPage>,
}

/// The rules that count for the paths of a folder.
pub(crate) struct Place {
    /// Whether a folder on the way is wrong: then nothing beneath it is served.
    pub(crate) is_wrong: bool,
    /// Whether nothing was found at the path: then no file answers, whatever has come there since.
    pub(crate) is_absent: bool,
    /// Length of the path up to the end of a file, without the slash in front, if a file is on the way.
    pub(super) file_bytes: Option<usize>,
    /// Whether files are sent as they are, because a folder says that nothing may change them.
    pub(crate) is_as_stored: bool,
    /// The rules of all folders on the way, the outermost first.
    pub(super) made_of: Vec<Arc<FolderRules>>,
    /// The number of folders on the way.
    pub(super) levels: usize,
    /// The rules of the folders that keep some clients out, the outermost first.
    guarded: Vec<Arc<FolderRules>>,
    /// The changes that the route and its folders make to answers.
    pub(crate) changes: Option<Arc<Changes>>,
    /// The site's terms with the pages of folders, if there are any.
    pub(crate) terms: Option<Arc<Terms>>,
    /// The number of pages in `terms` that are the site's.
    pages_of_site: usize,
    /// The answers in place of files, the innermost first, each with the length of its folder's path.
    answers: Vec<(usize, Routes<FolderAnswer>)>,
    /// The rules that say which files are run, and by what.
    pub(crate) runs: RunRules,
    /// Names of files that answer for their folders, if folders set other names than the usual one.
    pub(crate) indexes: Option<Arc<[Box<[u8]>]>>,
}

impl Place {
    /// Makes the place of a path with a wrong folder on its way.
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

    /// Makes a place from the rules of folders, the outermost first; each comes with the length of its folder's path.
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
                // A path beneath the folder begins with a slash, which stands behind the folder's own path.
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

    /// Whether a path, without the route's own part, is the path of the file that was found on the way: the rules of
    /// folders are known only for that file.
    pub(crate) fn is_file(&self, path: &[u8]) -> bool {
        self.file_bytes.is_some_and(|bytes| bytes + 1 == path.len())
    }

    /// Whether folders name an index that may be a program. The files that other routes of the site run are not known
    /// here.
    pub(super) fn may_run_index(&self) -> bool {
        self.indexes.as_ref().is_some_and(|names| names.iter().any(|name| !self.runs.is_page(name)))
    }

    /// Returns the page that a folder has for a status.
    pub(crate) fn page_of(&self, status: u16) -> Option<&StatusPage> {
        let own = self.terms.as_ref()?.pages.get(self.pages_of_site..)?;
        own.iter().rev().find(|page| page.status == status)
    }

    /// Returns the condition for a client with this address, for each folder that keeps some clients out.
    pub(crate) fn doors(&self, client: Option<IpAddr>) -> impl Iterator<Item = Door<'_>> {
        self.guarded.iter().map(move |own| Door::of(own.admission.as_deref(), own.guard.as_ref(), client))
    }

    /// Returns the answer to a path, without the route's own part, in place of a file. Also returns the length of the
    /// path's beginning that belongs to the answer: its folder's path, and the prefix of its pattern.
    pub(crate) fn answer(&self, rest: &[u8]) -> Option<(&FolderAnswer, usize)> {
        if self.answers.is_empty() {
            return None;
        }
        // If one folder keeps a client out, no other folder redirects that client.
        if let Some(denied) = self.find(rest, |answer| *answer == FolderAnswer::Status(DENIED)) {
            return Some((denied, rest.len()));
        }
        let named = self.answers.iter().find_map(|(folder, routes)| {
            // `rest` begins with a slash, behind which the folder's path stands.
            let above = bytes_above(*folder);
            let (_, pattern, answer) = routes.first(rest.get(above..)?)?;
            Some((answer, above + pattern.prefix_bytes()))
        });
        named.or_else(|| {
            // A folder is answered with its index, which may be refused to everybody. Any other index is asked for by
            // its own path.
            let index = [rest, adyton_files::INDEX.as_bytes()].concat();
            let is_folder = rest.ends_with(b"/") && self.indexes.is_none();
            let refused = if is_folder { self.refusal(&index) } else { None };
            refused.map(|answer| (answer, rest.len()))
        })
    }

    /// Returns the answer that keeps a path, without the route's own part, from everybody, whatever else the folders on
    /// its way say.
    pub(crate) fn refusal(&self, path: &[u8]) -> Option<&FolderAnswer> {
        self.find(path, is_status)
    }

    /// Returns the answer of this kind that the innermost folder with such an answer has for a path.
    fn find(&self, path: &[u8], is_one: impl Fn(&FolderAnswer) -> bool) -> Option<&FolderAnswer> {
        self.answers.iter().find_map(|(folder, routes)| {
            let rest = path.get(bytes_above(*folder)..)?;
            routes.of(rest).map(|(_, _, answer)| answer).find(|answer| is_one(answer))
        })
    }

    /// Returns the answer that keeps a file in the route's own folder from everybody.
    pub(crate) fn refusal_at_top(&self, name: &[u8]) -> Option<&FolderAnswer> {
        let path = [b"/", name].concat();
        let mut own = self.answers.iter().filter(|(folder, _)| *folder == 0);
        own.find_map(|(_, routes)| {
            routes.of(&path).map(|(_, _, answer)| answer).find(|answer| is_status(answer))
        })
    }

    /// Whether folders have answers in place of files.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }
}

/// Returns how many bytes stand in front of the paths beneath a folder whose own path has `folder` bytes.
fn bytes_above(folder: usize) -> usize {
    if folder == 0 { 0 } else { folder + 1 }
}

fn is_status(answer: &FolderAnswer) -> bool {
    matches!(answer, FolderAnswer::Status(_))
}
