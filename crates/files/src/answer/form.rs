//! Files and their precompressed neighbours, ready to be sent: opened, read, and with rendered answers.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use adyton_compress::{CODINGS, Coding, choose_coding, whole as compress};
use adyton_http::{Identity, Known, Version};
use adyton_http1::Asked;
use adyton_sys::fs::{Kind, Location, Meta, Root, Symlinks, stat};

use crate::answer::conditions::{Validators, etag};
use crate::answer::send::{Content, Representation, modified_s, now_ns, whole};
use crate::answer::types::mime_type;
use crate::options::Options;
use crate::run::sources::Kept;
use crate::{Ask, FileAnswer, Part};

/// Two ticks of the kernel's coarsest clock (100 Hz): a change after this time gets another ctime.
const TICK_NS: i64 = 20_000_000;
/// Two ticks of a coarser clock: times in steps of one second or two (FAT), or from another machine.
const COARSE_TICK_NS: i64 = 2_000_000_000;
/// Rough cost of an entry besides its bytes: structs, map, allocator.
const ENTRY_OVERHEAD_BYTES: usize = 512;

/// A file, its precompressed neighbours, and forms compressed from it.
pub(crate) struct Entry {
    plain: Form,
    /// Precompressed neighbours that may be used, in the order of [`CODINGS`].
    coded: Vec<Form>,
    /// Forms that the server has compressed from the file. They are current as long as the file is.
    made: Vec<Form>,
    /// Codings in which the server offers the file: the codings of `made`, and the codings that it can still make, in
    /// the server's order of preference.
    offers: Vec<Coding>,
    /// Whether answers depend on `Accept-Encoding`.
    is_negotiated: bool,
    content_type: Cow<'static, str>,
    /// The `Date` of the last look for neighbours, because one look a second is often enough.
    looked: [u8; 29],
    /// Whether the kernel's clock would show a change from now on; if not, the entry must not be kept.
    pub(crate) is_settled: bool,
}

/// One form of a file: the file itself, a precompressed neighbour, or a result of compressing the file.
struct Form {
    coding: Coding,
    place: Location,
    meta: Meta,
    /// The batch ([`Ask::fresh`]) for which `meta` was last compared with the file.
    checked: u64,
    etag: String,
    modified_s: Option<u64>,
    /// The head of a 200 on a connection that stays open, followed by the content, unless the content is in `file`.
    reply: Vec<u8>,
    head_bytes: usize,
    /// Offset of the date's 29 bytes in the head.
    date_at: Option<usize>,
    /// The open file, if its content is too long to be kept in memory.
    file: Option<Arc<OwnedFd>>,
}

/// The facts about a folder that loading a file needs.
pub(crate) struct Loader<'a> {
    pub(crate) root: &'a Root,
    pub(crate) links: Symlinks,
    /// Whether the root is no longer at its path, so that files are compared through the held root.
    pub(crate) is_astray: bool,
    pub(crate) options: &'a Options,
}

/// The file or folder at a path, opened.
pub(crate) enum Opened {
    File(OwnedFd, Meta),
    Folder(OwnedFd),
    /// A FIFO, socket or device, which is already closed again.
    Other,
}

impl Loader<'_> {
    /// Opens a file or folder beneath the root.
    ///
    /// # Errors
    ///
    /// Errors of [`Root::open_beneath`].
    pub(crate) fn open(&self, path: &CStr) -> io::Result<Opened> {
        let fd = self.root.open_beneath(path, self.links)?;
        let meta = stat(fd.as_fd())?;
        match meta.kind {
            Kind::File => Ok(Opened::File(fd, meta)),
            Kind::Folder => Ok(Opened::Folder(fd)),
            Kind::Link | Kind::Other => Ok(Opened::Other),
        }
    }

    /// The files that are not sent, because other routes run them.
    pub(crate) fn kept(&self) -> Kept<'_> {
        Kept { sources: &self.options.sources, root: self.root.path(), links: self.links }
    }

    /// Reads an open file and its precompressed neighbours, and renders their answers.
    ///
    /// # Errors
    ///
    /// Errors of reading the file.
    pub(crate) fn load(&self, path: &CStr, fd: OwnedFd, meta: Meta, ask: &Ask<'_>) -> io::Result<Entry> {
        let now_ns = now_ns();
        let content_type = mime_type(Path::new(OsStr::from_bytes(path.to_bytes())));
        let mut forms = vec![self.read(Coding::Identity, path, fd, meta)?];
        for coding in CODINGS.into_iter().filter(|_| self.options.precompressed) {
            let path = neighbour(forms[0].place.relative(), coding);
            if let Ok(Opened::File(fd, meta)) = self.open(&path)
                && meta.mtime_ns >= forms[0].meta.mtime_ns
                && !self.kept().is_run(path.to_bytes(), &meta)
            {
                forms.push(self.read(coding, &path, fd, meta)?);
            }
        }
        let offers: Vec<Coding> =
            self.options.compressing.codings_of(forms[0].meta.bytes, &content_type).to_vec();
        let is_negotiated = forms.len() > 1 || !offers.is_empty();
        let mut is_settled = true;
        for form in &mut forms {
            form.checked = ask.fresh;
            form.modified_s = modified_s(&form.meta);
            is_settled &= form.is_settled(now_ns);
            form.render(self, &content_type, is_negotiated, now_ns, ask);
            is_settled &= form.date_at.is_some() || form.is_ahead(now_ns);
        }
        let plain = forms.remove(0);
        Ok(Entry {
            plain,
            coded: forms,
            made: Vec::new(),
            offers,
            is_negotiated,
            content_type,
            looked: *ask.identity.date,
            is_settled,
        })
    }

    /// Gets the metadata of a file that was opened before.
    #[inline]
    fn stat(&self, place: &Location) -> io::Result<Meta> {
        if self.is_astray {
            return self.root.stat_held(place, self.links);
        }
        self.root.stat(place, self.links)
    }

    fn read(&self, coding: Coding, path: &CStr, fd: OwnedFd, meta: Meta) -> io::Result<Form> {
        let mut form = Form::of(coding, self.root.locate(path), meta);
        if meta.bytes > self.options.cache_file_bytes_max {
            form.file = Some(Arc::new(fd));
            return Ok(form);
        }
        let file = File::from(fd);
        form.reply.resize(usize::try_from(meta.bytes).map_err(io::Error::other)?, 0);
        let read = file.read_exact_at(&mut form.reply, 0);
        // If the file changes while it is read, the server sends it from the descriptor: the present bytes, or a cut
        // answer.
        if read.is_err() || stat(file.as_fd())? != meta {
            form.reply.clear();
            form.file = Some(Arc::new(file.into()));
        }
        Ok(form)
    }
}

impl Entry {
    /// Whether the file, and the form in `coding` that is about to be sent, are unchanged since they were read: one
    /// stat for each. Once a second, also looks for precompressed neighbours.
    #[inline]
    pub(crate) fn is_current(&mut self, coding: Coding, loader: &Loader<'_>, ask: &Ask<'_>) -> bool {
        if !self.plain.is_current(loader, ask.fresh) {
            return false;
        }
        if loader.options.precompressed && self.looked != *ask.identity.date {
            if !self.has_same_neighbours(loader) {
                return false;
            }
            self.looked = *ask.identity.date;
        }
        // A form compressed from the file is current if the file is.
        coding == Coding::Identity
            || self.neighbour(coding).is_none_or(|form| form.is_current(loader, ask.fresh))
    }

    /// Answers with the rendered head and content, if the request has no conditions and its 1.1 connection stays open.
    #[inline]
    pub(crate) fn replay(&self, coding: Coding, ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<FileAnswer> {
        if coding == Coding::Identity {
            return self.plain.replay(ask, out);
        }
        self.find(coding)?.replay(ask, out)
    }

    /// The coding in which the client gets the file; `None` if it accepts no coding that the file has.
    #[inline]
    pub(crate) fn choose(&self, ask: &Ask<'_>) -> Option<Coding> {
        if !ask.request.has(Known::AcceptEncoding) {
            return Some(Coding::Identity);
        }
        let lines = || ask.request.all(Known::AcceptEncoding);
        // If the file has only one form, that form is sent, unless the request refuses it by a weight of 0.
        if !self.is_negotiated && !lines().any(|line| line.windows(2).any(|pair| pair == b"=0")) {
            return Some(Coding::Identity);
        }
        let lines: Vec<&[u8]> = lines().collect();
        // Ranges refer to the bytes of a file on the disk, so nothing is compressed for them.
        let offers: &[Coding] =
            if ask.as_stored || ask.request.has(Known::Range) { &[] } else { &self.offers };
        if !self.coded.is_empty() {
            // A precompressed neighbour is preferred: it is usually smaller, and costs no time.
            let beforehand = choose_coding(&lines, self.coded.iter().map(|form| form.coding));
            if offers.is_empty() || !matches!(beforehand, Some(Coding::Identity) | None) {
                return beforehand;
            }
        }
        choose_coding(&lines, offers.iter().copied())
    }

    /// The coding in which the client gets the file, if the file must first be compressed with it.
    pub(crate) fn lacking(&self, ask: &Ask<'_>) -> Option<Coding> {
        self.choose(ask).filter(|&coding| coding != Coding::Identity && self.find(coding).is_none())
    }

    /// Compresses the file; if the result is not smaller, the coding is no longer offered.
    pub(crate) fn make(&mut self, coding: Coding, loader: &Loader<'_>, ask: &Ask<'_>) {
        let made = self.plain.content().and_then(|content| compress(coding, &content));
        let Some(reply) = made else {
            self.offers.retain(|&offer| offer != coding);
            return;
        };
        let place = loader.root.locate(self.plain.place.relative());
        let mut form = Form { reply, ..Form::of(coding, place, self.plain.meta) };
        form.modified_s = self.plain.modified_s;
        form.render(loader, &self.content_type, true, now_ns(), ask);
        self.made.push(form);
    }

    /// Stops offering codings that the server would make, because there is no room to keep the results.
    pub(crate) fn offer_nothing(&mut self) {
        self.offers.clear();
    }

    /// Lends one form of the file, with all facts that its answers need, to `use_it`.
    pub(crate) fn with<T>(
        &self,
        coding: Coding,
        cache_control: Option<&str>,
        use_it: impl FnOnce(&Representation<'_>) -> T,
    ) -> T {
        let form = self.find(coding).unwrap_or(&self.plain);
        form.with(&self.content_type, cache_control, self.is_negotiated, use_it)
    }

    /// Bytes of memory that the entry takes.
    pub(crate) fn bytes(&self) -> u64 {
        let one = |form: &Form| form.reply.capacity() + form.place.bytes() * 3 + ENTRY_OVERHEAD_BYTES;
        let coded = self.coded.iter().chain(&self.made);
        (one(&self.plain) + coded.map(one).sum::<usize>()) as u64
    }

    /// Descriptors that the entry holds.
    pub(crate) fn open_files(&self) -> usize {
        usize::from(self.plain.file.is_some()) + self.coded.iter().filter(|form| form.file.is_some()).count()
    }

    /// The form in this coding, if there is one.
    fn find(&self, coding: Coding) -> Option<&Form> {
        self.coded.iter().chain(&self.made).find(|form| form.coding == coding)
    }

    fn neighbour(&mut self, coding: Coding) -> Option<&mut Form> {
        self.coded.iter_mut().find(|form| form.coding == coding)
    }

    fn has_same_neighbours(&self, loader: &Loader<'_>) -> bool {
        CODINGS.into_iter().all(|coding| {
            let place = loader.root.locate(&neighbour(self.plain.place.relative(), coding));
            let usable = |meta: &Meta| {
                meta.kind == Kind::File
                    && meta.mtime_ns >= self.plain.meta.mtime_ns
                    && !loader.kept().is_run(place.relative().to_bytes(), meta)
            };
            let found = loader.stat(&place).ok().filter(usable);
            let known = self.coded.iter().find(|form| form.coding == coding).map(|form| form.meta);
            found == known
        })
    }
}

impl Form {
    /// Makes a form whose content was not read yet.
    fn of(coding: Coding, place: Location, meta: Meta) -> Form {
        let etag = coded_etag(&meta, coding);
        let (reply, file) = (Vec::new(), None);
        Form {
            coding,
            place,
            meta,
            checked: 0,
            etag,
            modified_s: None,
            reply,
            head_bytes: 0,
            date_at: None,
            file,
        }
    }

    /// The content; `None` if it cannot be read or has changed.
    fn content(&self) -> Option<Cow<'_, [u8]>> {
        let Some(file) = &self.file else { return Some(Cow::Borrowed(&self.reply[self.head_bytes..])) };
        let mut content = vec![0; usize::try_from(self.meta.bytes).ok()?];
        let file = File::from(file.try_clone().ok()?);
        file.read_exact_at(&mut content, 0).ok()?;
        (stat(file.as_fd()).ok()? == self.meta).then_some(Cow::Owned(content))
    }

    #[inline]
    fn is_current(&mut self, loader: &Loader<'_>, fresh: u64) -> bool {
        if self.checked == fresh {
            return true;
        }
        let is_same = loader.stat(&self.place).is_ok_and(|meta| meta == self.meta);
        if is_same {
            self.checked = fresh;
        }
        is_same
    }

    #[inline]
    fn replay(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Option<FileAnswer> {
        let date_at = out.len() + self.date_at?;
        let (status, keep_alive) = (200, true);
        let content_bytes = self.reply.len() - self.head_bytes;
        let (head, content) = self.reply.split_at(self.head_bytes);
        if ask.identity.lines.is_empty() {
            out.extend_from_slice(if ask.asked.is_head { head } else { &self.reply });
        } else {
            // Header fields that belong to this answer alone go before the empty line.
            out.extend_from_slice(head.strip_suffix(b"\r\n").unwrap_or(head));
            out.extend_from_slice(ask.identity.lines);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(if ask.asked.is_head { b"" } else { content });
        }
        out[date_at..date_at + 29].copy_from_slice(ask.identity.date);
        match &self.file {
            Some(file) if !ask.asked.is_head => {
                let part = Part::File { file: Arc::clone(file), offset: 0, bytes: self.meta.bytes };
                Some(FileAnswer::Parts { status, body_bytes: self.meta.bytes, keep_alive, parts: vec![part] })
            }
            _ => {
                let body_bytes = if ask.asked.is_head { 0 } else { content_bytes as u64 };
                Some(FileAnswer::Whole { status, body_bytes, keep_alive })
            }
        }
    }

    /// Whether a change from now on would change the ctime, too; see the crate's documentation.
    fn is_settled(&self, now_ns: i64) -> bool {
        let is_coarse = self.meta.ctime_ns % 1_000_000_000 == 0;
        let tick = if is_coarse { COARSE_TICK_NS } else { TICK_NS };
        now_ns.saturating_sub(self.meta.ctime_ns) >= tick
    }

    /// Whether the form's date is in the future, so that each answer has a different `Last-Modified`.
    fn is_ahead(&self, now_ns: i64) -> bool {
        self.meta.mtime_ns > now_ns
    }

    /// Writes the head of a 200 in front of the content, and notes the offset of its date. Does nothing if each answer
    /// needs a head of its own.
    fn render(
        &mut self,
        loader: &Loader<'_>,
        content_type: &str,
        is_negotiated: bool,
        now_ns: i64,
        ask: &Ask<'_>,
    ) {
        if self.is_ahead(now_ns) {
            return;
        }
        let asked = Asked { version: Version::Http11, is_head: false, keep_alive: true };
        // Answers to other requests use this head, too, so it must hold no field of this request alone.
        let identity = Identity { lines: b"", ..ask.identity };
        let ask = Ask { asked, identity, ..*ask };
        let mut reply = Vec::new();
        let rendered =
            self.with(content_type, loader.options.cache_control.as_deref(), is_negotiated, |form| {
                whole(&ask, form, 200, &mut reply)
            });
        if rendered.is_err() {
            // Should not happen, because `Folder::open` has tried the fields. Without a stored head, a head is
            // rendered for each answer.
            return;
        }
        reply.shrink_to_fit();
        self.head_bytes = reply.len() - self.reply.len();
        let head = &reply[..self.head_bytes];
        self.date_at = memchr::memmem::find(head, b"\r\nDate: ").map(|at| at + b"\r\nDate: ".len());
        self.reply = reply;
    }

    fn with<T>(
        &self,
        content_type: &str,
        cache_control: Option<&str>,
        is_negotiated: bool,
        use_it: impl FnOnce(&Representation<'_>) -> T,
    ) -> T {
        let mut fields: Vec<(&[u8], &[u8])> = Vec::with_capacity(3);
        if let Some(value) = cache_control {
            fields.push((b"Cache-Control", value.as_bytes()));
        }
        if is_negotiated {
            fields.push((b"Vary", b"Accept-Encoding"));
        }
        if self.coding != Coding::Identity {
            fields.push((b"Content-Encoding", self.coding.token().as_bytes()));
        }
        let content = match &self.file {
            Some(file) => Content::File(file, self.meta.bytes),
            None => Content::Memory(&self.reply[self.head_bytes..]),
        };
        let validators = Validators { etag: self.etag.as_bytes(), modified_s: self.modified_s };
        let content_type = content_type.as_bytes();
        use_it(&Representation { content, content_type, validators, fields: &fields })
    }
}

/// The tag of a file in a coding. Two forms of a file must never have the same tag (RFC 9110 section 8.8.3.3).
fn coded_etag(meta: &Meta, coding: Coding) -> String {
    let mut tag = etag(meta.bytes, meta.mtime_ns);
    if coding != Coding::Identity {
        tag.insert_str(tag.len() - 1, &coding.suffix().replace('.', "-"));
    }
    tag
}

/// The name of a precompressed neighbour: `name.br` for `name`.
fn neighbour(path: &CStr, coding: Coding) -> CString {
    // Neither part holds a NUL, so the default is never taken.
    CString::new([path.to_bytes(), coding.suffix().as_bytes()].concat()).unwrap_or_default()
}
