//! A served folder: finds the file that answers a request, and makes the answer if there is no file.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, LazyLock};

use adyton_compress::Coding;
use adyton_http::{Method, Version};
use adyton_http1::Asked;
use adyton_sys::fs::{Fault, HeldRoot, Kind, Root, Symlinks};

use crate::answer::conditions::is_conditional;
use crate::answer::form::{Entry, Loader, Opened};
use crate::answer::listing;
use crate::answer::pages::{ErrorPage, error_page};
use crate::answer::replies::{self, broken, is_navigation, other_method, redirect};
use crate::answer::send::{self, Representation, answer};
use crate::cache::{Cache, Counts};
use crate::path::{FilePath, PathError, needs_no_escapes};
use crate::{Ask, FileAnswer, Options};

/// A served folder, with its cache. One thread at a time uses it.
pub struct Folder {
    options: Options,
    root: Root,
    links: Symlinks,
    not_found_page: Option<FilePath>,
    spa_fallback: Option<FilePath>,
    cache: Cache,
    /// The entry of the present answer, if the cache did not take it.
    uncached: Option<Entry>,
    /// Scratch for the path of an index.
    index_path: Vec<u8>,
    /// The `Server` field that the cached heads have.
    server: Vec<u8>,
    /// The batch ([`Ask::fresh`]) for which the root's path was last checked, and whether the root was not there.
    looked: Option<u64>,
    is_astray: bool,
    hits: u64,
    loads: u64,
    opened: u64,
}

/// The target of a path.
enum Resolved {
    /// A file, whose entry is loaded under its path.
    File(FilePath),
    /// An index file, whose entry is loaded under the index file's path.
    Index(FilePath),
    /// A folder whose path lacks its slash.
    Redirect(FilePath),
    /// A folder to be listed.
    Listing(FilePath, OwnedFd),
    /// Nothing that can be sent; the status and the sentence give the reason.
    Nothing(u16, &'static str),
}

/// The result of [`Folder::bring`].
enum Brought {
    /// A file, whose entry is loaded now.
    File,
    Folder(OwnedFd),
    /// A FIFO, socket or device.
    Other,
    /// A file that another route runs.
    Source,
}

impl Folder {
    /// Opens a folder to be served.
    ///
    /// # Errors
    ///
    /// Something is at the path but cannot be opened as a folder; or `InvalidInput`, with a sentence, for an option
    /// that makes no sense.
    pub fn open(mut options: Options) -> io::Result<Folder> {
        let pages = options.check()?;
        if options.cache_control.as_deref().is_some_and(|value| value.contains("no-transform")) {
            options.compressing.codings.clear();
        }
        let links = if options.follow_symlinks { Symlinks::Follow } else { Symlinks::Refuse };
        Ok(Folder {
            root: Root::open(&options.root)?,
            links,
            not_found_page: pages.not_found,
            spa_fallback: pages.spa_fallback,
            cache: Cache::new(Arc::clone(&options.cache_room), options.open_files_max),
            uncached: None,
            index_path: Vec::new(),
            server: Vec::new(),
            looked: None,
            is_astray: false,
            hits: 0,
            loads: 0,
            opened: 0,
            options,
        })
    }

    /// Answers one request. `out` gets the head, and also the body if the body is in memory.
    pub fn answer(&mut self, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        self.keep_identity(ask);
        if let Some(answer) = self.replay(ask, out) {
            self.hits += 1;
            return answer;
        }
        let start = out.len();
        let answer = self.answer_by_method(ask, out);
        self.uncached = None;
        let is_unwritten = matches!(answer, FileAnswer::FallThrough | FileAnswer::Named(_));
        debug_assert!(!is_unwritten || out.len() == start);
        answer
    }

    /// Answers like [`Folder::answer`], in a folder where some files are run. A file whose name says that it is run is
    /// only named, never sent.
    pub fn answer_unless(
        &mut self,
        is_run: impl Fn(&[u8]) -> bool,
        ask: &Ask<'_>,
        out: &mut Vec<u8>,
    ) -> FileAnswer {
        if !matches!(ask.request.method(), Method::Get | Method::Head) {
            return self.answer_by_method(ask, out);
        }
        self.keep_identity(ask);
        let answer = match self.find(ask) {
            Resolved::File(path) | Resolved::Index(path) if is_run(last_name(path.relative())) => {
                FileAnswer::Named(path.relative().to_vec())
            }
            found => self.answer_found(found, ask, out),
        };
        self.uncached = None;
        answer
    }

    /// Empties the cache if the answer's `Server` field differs from the field that the cached heads hold.
    #[inline]
    fn keep_identity(&mut self, ask: &Ask<'_>) {
        if self.server != ask.identity.server {
            self.server = ask.identity.server.to_vec();
            self.cache.clear();
        }
    }

    /// Whether a missing file is answered by [`FileAnswer::FallThrough`], and not by a 404.
    pub fn falls_through(&self) -> bool {
        self.options.fall_through
    }

    /// Gives memory to the caches of other folders that want some. Call this from time to time.
    pub fn give_way(&mut self) {
        self.cache.give_way();
    }

    /// Number of files and folders opened so far. If the number has grown after an answer, the answer opened something.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// The folder that is held open.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Forgets all files and closes the held folder, so that all of them are looked for again.
    pub fn forget(&mut self) {
        self.cache.clear();
        self.uncached = None;
        self.looked = None;
    }

    /// The counters of the cache.
    pub fn counts(&self) -> Counts {
        self.cache.add_to(Counts { hits: self.hits, loads: self.loads, ..Counts::default() })
    }

    /// Checks the root's path, once for all requests that arrived together. If another folder is there, the cache is
    /// worthless.
    fn look_for_root(&mut self, ask: &Ask<'_>) {
        if self.looked.replace(ask.fresh) == Some(ask.fresh) {
            return;
        }
        let found = self.root.follow();
        self.is_astray = found == HeldRoot::Gone;
        if found == HeldRoot::Replaced {
            self.cache.clear();
        }
    }

    /// Answers the common case: a plain GET or HEAD for a file in the cache, on a 1.1 connection that stays open.
    ///
    /// A cached path is in normal form and needs no escapes, so a raw path that equals it names the same file.
    #[inline]
    fn replay(&mut self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<FileAnswer> {
        let Asked { version, keep_alive, .. } = ask.asked;
        let is_plain = matches!(ask.request.method(), Method::Get | Method::Head)
            && keep_alive
            && !ask.is_absent
            && matches!(version, Version::Http11)
            && !is_conditional(ask.request);
        if !is_plain {
            return None;
        }
        let raw = ask.request.path();
        let mut path = raw.get(ask.prefix.len()..)?.strip_prefix(b"/")?;
        if matches!(path, [] | [.., b'/']) {
            if ask.names_others || ask.indexes.is_some() {
                return None;
            }
            self.index_path.clear();
            self.index_path.extend_from_slice(path);
            self.index_path.extend_from_slice(self.options.index.as_bytes());
            path = &self.index_path;
        }
        let entry = self.cache.find(path)?;
        let coding = entry.choose(ask)?;
        let loader = loader(&self.options, &self.root, self.links);
        if entry.is_current(coding, &loader, ask) { entry.replay(coding, ask, out) } else { None }
    }

    fn answer_by_method(&mut self, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        if matches!(ask.request.method(), Method::Get | Method::Head) {
            return self.read(ask, out);
        }
        // A program that answers for the folder may accept other methods.
        if ask.indexes.is_some()
            && let Resolved::Index(path) = self.find(ask)
        {
            return FileAnswer::Named(path.relative().to_vec());
        }
        if self.options.fall_through && matches!(self.find(ask), Resolved::Nothing(404 | 400, _)) {
            return FileAnswer::FallThrough;
        }
        other_method(ask, out)
    }

    fn read(&mut self, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        let found = self.find(ask);
        self.answer_found(found, ask, out)
    }

    fn answer_found(&mut self, found: Resolved, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        match found {
            Resolved::File(path) => self.send(&path, ask, out),
            Resolved::Index(path) => self.send_other(&path, ask, out),
            Resolved::Redirect(path) => redirect(&path, ask, out),
            Resolved::Listing(path, folder) => self.list(&path, &folder, ask, out),
            Resolved::Nothing(404, _) => self.not_found(ask, out),
            Resolved::Nothing(400, _) if self.options.fall_through => FileAnswer::FallThrough,
            Resolved::Nothing(status, detail) => {
                error_page(out, ask.asked, &ask.identity, status, detail, &[])
            }
        }
    }

    /// Finds the target of the request's path.
    fn find(&mut self, ask: &Ask<'_>) -> Resolved {
        let raw = ask.request.path();
        // A target in absolute form without a path means the root (RFC 9112 section 3.2.2).
        let raw = if raw.is_empty() { b"/" } else { raw };
        let path = match FilePath::parse(raw.get(ask.prefix.len()..).unwrap_or_default()) {
            Ok(path) => path,
            Err(PathError::Malformed(detail)) => return Resolved::Nothing(400, detail),
            Err(PathError::Unpublished) => return nothing_there(),
        };
        if ask.is_absent {
            return nothing_there();
        }
        match self.bring(&path, ask) {
            Ok(Brought::File) if path.names_folder() => nothing_there(),
            Ok(Brought::File) => Resolved::File(path),
            Ok(Brought::Other | Brought::Source) => nothing_there(),
            Ok(Brought::Folder(folder)) => self.find_in_folder(path, folder, ask),
            Err(error) => nothing_for(&error),
        }
    }

    fn find_in_folder(&mut self, path: FilePath, folder: OwnedFd, ask: &Ask<'_>) -> Resolved {
        let target = self.find_index(&path, folder, ask);
        // A path that lacks its slash is redirected only if a file answers for the folder, never to a 404: if the
        // application is asked then, it may redirect back.
        match target {
            Resolved::Nothing(404, _) => nothing_there(),
            _ if !path.names_folder() => Resolved::Redirect(path),
            target => target,
        }
    }

    fn find_index(&mut self, path: &FilePath, folder: OwnedFd, ask: &Ask<'_>) -> Resolved {
        let found = match ask.indexes {
            Some(names) => names.iter().find_map(|name| self.look_for_index(path.join(name))),
            None if self.options.index.is_empty() => None,
            None => self.try_index(path.join(self.options.index.as_bytes()), ask),
        };
        match found {
            Some(found) => found,
            None if self.options.listing => Resolved::Listing(path.clone(), folder),
            None => nothing_there(),
        }
    }

    /// Looks for a file that the caller names as the folder's index. The file will be requested by its own path, and
    /// may be a file that is run, so nothing of it is read or kept here.
    fn look_for_index(&self, index: FilePath) -> Option<Resolved> {
        match self.root.stat_beneath(&index.to_c(), self.links) {
            Ok(meta) if meta.kind == Kind::File => Some(Resolved::Index(index)),
            Ok(_) => None,
            Err(error) if Fault::of(&error) == Fault::Absent => None,
            Err(error) => Some(nothing_for(&error)),
        }
    }

    /// Finds a file that answers for its folder; `None` if it is absent.
    fn try_index(&mut self, index: FilePath, ask: &Ask<'_>) -> Option<Resolved> {
        match self.bring(&index, ask) {
            Ok(Brought::File) => Some(Resolved::Index(index)),
            // Another route may answer requests for the path of the index.
            Ok(Brought::Source) if ask.names_others => Some(Resolved::Index(index)),
            Ok(Brought::Folder(_) | Brought::Other | Brought::Source) => None,
            Err(error) if Fault::of(&error) == Fault::Absent => None,
            Err(error) => Some(nothing_for(&error)),
        }
    }

    /// Loads the entry of a file, from the cache or from the disk.
    fn bring(&mut self, path: &FilePath, ask: &Ask<'_>) -> io::Result<Brought> {
        self.uncached = None;
        let key = path.relative();
        if self.has_current(key, false, ask) {
            return Ok(Brought::File);
        }
        self.look_for_root(ask);
        if self.is_astray && self.has_current(key, true, ask) {
            return Ok(Brought::File);
        }
        self.cache.remove(key);
        let loader = loader(&self.options, &self.root, self.links);
        let name = path.to_c();
        self.opened += 1;
        let (fd, meta) = match loader.open(&name).or_else(|error| {
            if Fault::of(&error) != Fault::OutOfFiles {
                return Err(error);
            }
            self.cache.close_files();
            loader.open(&name)
        })? {
            Opened::File(_, meta) if loader.kept().has(key, &meta) => return Ok(Brought::Source),
            Opened::File(fd, meta) => (fd, meta),
            Opened::Folder(fd) => return Ok(Brought::Folder(fd)),
            Opened::Other => return Ok(Brought::Other),
        };
        self.loads += 1;
        let entry = loader.load(&name, fd, meta, ask)?;
        // The cache compares raw paths: see `replay`.
        let is_kept = entry.is_settled && needs_no_escapes(key);
        self.uncached = if is_kept { self.cache.insert(key, entry) } else { Some(entry) };
        Ok(Brought::File)
    }

    /// Whether the cache holds the present version of a file; for `is_astray` see [`Loader`].
    fn has_current(&mut self, key: &[u8], is_astray: bool, ask: &Ask<'_>) -> bool {
        let loader = Loader { is_astray, ..loader(&self.options, &self.root, self.links) };
        self.cache.find(key).is_some_and(|entry| {
            let coding = entry.choose(ask).unwrap_or(Coding::Identity);
            entry.is_current(coding, &loader, ask)
        })
    }

    /// The entry that [`Folder::bring`] has loaded.
    fn entry(&mut self, path: &FilePath) -> Option<&Entry> {
        match &self.uncached {
            Some(entry) => Some(entry),
            None => self.cache.find(path.relative()).map(|entry| &*entry),
        }
    }

    /// Sends a file that stands in for the requested path, or names it if the request says so.
    fn send_other(&mut self, path: &FilePath, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        if ask.names_others || ask.indexes.is_some() {
            return FileAnswer::Named(path.relative().to_vec());
        }
        self.send(path, ask, out)
    }

    fn send(&mut self, path: &FilePath, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        let start = out.len();
        let cache_control = self.options.cache_control.clone();
        if !self.options.compressing.codings.is_empty() {
            self.make(path, ask);
        }
        let Some(entry) = self.entry(path) else { return broken(ask, out) };
        let Some(coding) = entry.choose(ask) else {
            let detail = "The file exists in no coding that the request accepts.";
            let fields = [(&b"Vary"[..], &b"Accept-Encoding"[..])];
            return error_page(out, ask.asked, &ask.identity, 406, detail, &fields);
        };
        entry.with(coding, cache_control.as_deref(), |form| answer(ask, form, out)).unwrap_or_else(|_| {
            out.truncate(start);
            broken(ask, out)
        })
    }

    /// Compresses the file with the coding that the client accepts, if the result can be kept.
    fn make(&mut self, path: &FilePath, ask: &Ask<'_>) {
        if let Some(uncached) = &mut self.uncached {
            return uncached.offer_nothing();
        }
        let loader = loader(&self.options, &self.root, self.links);
        // Each round makes a form, or finds out that the coding is of no use.
        while let Some(coding) = self.cache.find(path.relative()).and_then(|entry| entry.lacking(ask)) {
            let change = |entry: &mut Entry| entry.make(coding, &loader, ask);
            if let Some(mut uncached) = self.cache.change(path.relative(), change) {
                uncached.offer_nothing();
                self.uncached = Some(uncached);
                return;
            }
        }
    }

    fn list(&self, path: &FilePath, folder: &OwnedFd, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        let raw = ask.request.path();
        let prefix = String::from_utf8_lossy(raw.get(..ask.prefix.len()).unwrap_or_default());
        let relative = listing::shown(path.relative());
        let slash = if relative.is_empty() { "" } else { "/" };
        let title = format!("{prefix}/{relative}{slash}");
        let loader = loader(&self.options, &self.root, self.links);
        let Ok(page) = listing::render(&self.root, loader.kept(), path, &title, folder.as_fd()) else {
            return broken(ask, out);
        };
        replies::page(ask, page.as_bytes(), out)
    }

    /// Answers for an absent file: with the fallback of a single-page application, by falling through, or with a 404.
    fn not_found(&mut self, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
        if let Some(page) = self.spa_fallback.clone().filter(|_| is_navigation(ask)) {
            match self.bring(&page, ask) {
                Ok(Brought::File) => return self.send_other(&page, ask, out),
                Ok(Brought::Source) if ask.names_others => return self.send_other(&page, ask, out),
                _ => {}
            }
        }
        if self.options.fall_through {
            return FileAnswer::FallThrough;
        }
        if let Some(page) = self.not_found_page.clone()
            && !ask.runs_page.is_some_and(|is_run| is_run(page.relative()))
            && let Some(answer) = self.not_found_page(&page, ask, out)
        {
            return answer;
        }
        NO_FILE.write(out, ask.asked, &ask.identity, &[])
    }

    /// Answers with the operator's page, without its validators: the client did not ask for that page.
    fn not_found_page(&mut self, page: &FilePath, ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<FileAnswer> {
        if !matches!(self.bring(page, ask), Ok(Brought::File)) {
            return None;
        }
        let start = out.len();
        let sent = self.entry(page)?.with(Coding::Identity, None, |form| {
            let form = Representation {
                validators: crate::Validators { etag: b"", modified_s: None },
                fields: &[],
                ..*form
            };
            send::whole(ask, &form, 404, out)
        });
        if sent.is_err() {
            out.truncate(start);
        }
        sent.ok()
    }
}

fn loader<'a>(options: &'a Options, root: &'a Root, links: Symlinks) -> Loader<'a> {
    Loader { root, links, is_astray: false, options }
}

/// The page of a 404.
static NO_FILE: LazyLock<ErrorPage> = LazyLock::new(|| ErrorPage::new(404, NO_FILE_DETAIL));

const NO_FILE_DETAIL: &str = "There is no such file.";

/// The last segment of a path.
fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

fn nothing_there() -> Resolved {
    Resolved::Nothing(404, NO_FILE_DETAIL)
}

/// Meaning of an error of the file system for the client.
fn nothing_for(error: &io::Error) -> Resolved {
    match Fault::of(error) {
        Fault::Absent => nothing_there(),
        Fault::Denied => Resolved::Nothing(403, "The server may not read this file."),
        Fault::Racing => Resolved::Nothing(503, "The folder is being changed; try again."),
        Fault::OutOfFiles => Resolved::Nothing(503, "The server has too many files open; try again."),
        Fault::Broken => Resolved::Nothing(500, "The file could not be read."),
    }
}
