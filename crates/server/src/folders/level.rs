//! One folder: the rules in its files, and whether these files are unchanged.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use adyton_log::{self as log, messages};
use adyton_sys::fs::{Fault, Kind, Location, Meta, Root, Symlinks, open_regular, stat};

use super::rules::{FolderFile, FolderReader, FolderRules, Form, FormFiles};

/// Largest file of settings in a folder, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Age of a file below which a further change may leave its time stamp as it is: two ticks of the kernel's coarsest
/// clock.
const TICK_NS: i128 = 20_000_000;
/// Age like [`TICK_NS`], if time stamps are in whole seconds.
const COARSE_TICK_NS: i128 = 2_000_000_000;

/// Time that an editor, or an upload, may take to write a file that it has emptied, on a machine with much to do.
const WRITING_NS: i128 = 5_000_000_000;

/// The kind of thing that stands at a path.
pub(super) enum Seen {
    /// A folder, with its rules; `Err`: one of its files is wrong.
    Folder(Says),
    /// A file.
    File,
    /// Nothing that could be served.
    Nothing,
}

/// The rules in each file of a folder; `Err`: one of the files is wrong.
pub(super) type Says = Result<Vec<Arc<FolderRules>>, ()>;

/// The state of a folder as it was found.
pub(super) struct Level {
    pub(super) says: Says,
    /// When the folder was last found in this state.
    pub(super) looked_ms: u64,
    folder: (Location, Option<Meta>),
    files: Vec<(Location, Option<Meta>)>,
    others: Vec<(PathBuf, Option<Meta>)>,
    /// Whether a later change would show in the files' metadata.
    is_settled: bool,
    mistakes: Vec<String>,
    /// Redirects that lead back to themselves.
    loops: Vec<String>,
}

/// The reader of the files of folders, and the facts that it needs.
pub(super) struct FolderReading<'r> {
    pub(super) forms: &'r [FormFiles],
    /// The path of the root for clients.
    pub(super) url: &'r [u8],
    /// Whether the rules in the files may have other files run: without the rules, the text of those files would be
    /// sent.
    pub(super) is_wary: bool,
    pub(super) reader: &'r dyn FolderReader,
}

/// A folder that is looked at.
struct Here<'h> {
    /// The path beneath the root.
    own: &'h [u8],
    path: &'h Path,
    /// The path for clients.
    url: &'h [u8],
    /// Whether its files may have other files run.
    is_wary: bool,
}

impl Level {
    /// Looks at a folder, by its path beneath the root, and reads its files. `before`: the state found before.
    ///
    /// # Errors
    ///
    /// The path leads to no folder; the error says what stands at the path instead.
    pub(super) fn look(
        root: &Root,
        folder: &[u8],
        reading: &FolderReading<'_>,
        before: Option<&Level>,
    ) -> Result<Level, Seen> {
        let FolderReading { forms, url, is_wary, reader } = *reading;
        let own: &[u8] = if folder.is_empty() { b"." } else { folder };
        let Ok(name) = CString::new(own) else { return Err(Seen::Nothing) };
        let place = root.locate(&name);
        let mut wrong = None;
        let meta = match root.stat_held(&place, Symlinks::Refuse) {
            Ok(meta) if meta.kind == Kind::Folder => Some(meta),
            Ok(meta) if meta.kind == Kind::File => return Err(Seen::File),
            Ok(_) => return Err(Seen::Nothing),
            Err(error) if Fault::of(&error) == Fault::Absent => return Err(Seen::Nothing),
            Err(error) => {
                wrong = Some(error);
                None
            }
        };
        let path = root.path().join(OsStr::from_bytes(folder));
        let url = if folder.is_empty() { url.to_vec() } else { [url, b"/", folder].concat() };
        // Thousands of levels are kept, so the list of files is no longer than it must be.
        let names = forms.iter().map(|files| files.names.len()).sum();
        let mut level = Level {
            says: Ok(Vec::new()),
            looked_ms: 0,
            folder: (place, meta),
            files: Vec::with_capacity(names),
            others: Vec::new(),
            is_settled: true,
            mistakes: Vec::new(),
            loops: Vec::new(),
        };
        if let Some(error) = wrong {
            level.take(Err(vec![format!("{}: it cannot be looked at: {error}", path.display())]));
        }
        for files in forms.iter().filter(|_| meta.is_some()) {
            // If there are several names, the first one that exists is read.
            for name in &files.names {
                let here = Here { own, path: &path, url: &url, is_wary };
                if level.read_file(files.form, name, root, &here, reader) {
                    break;
                }
            }
        }
        level.tell(before);
        Ok(level)
    }

    /// Reads one file of the folder; returns whether it exists.
    fn read_file(
        &mut self,
        form: Form,
        name: &str,
        root: &Root,
        here: &Here<'_>,
        reader: &dyn FolderReader,
    ) -> bool {
        let Ok(inside) = CString::new([here.own, b"/", name.as_bytes()].concat()) else { return false };
        let (meta, text) = read(root, &inside);
        self.is_settled &= meta.is_none_or(|meta| !is_young(&meta));
        self.files.push((root.locate(&inside), meta));
        let file = here.path.join(name);
        match text {
            Ok(None) => return false,
            Ok(Some(text)) if here.is_wary && text.is_empty() && meta.is_some_and(|meta| is_new(&meta)) => {
                self.take(Err(vec![format!("{}: it is empty, and being written", file.display())]));
            }
            Ok(Some(text)) => {
                let root = root.path();
                let file = FolderFile { form, name, folder: here.path, root, url: here.url, text: &text };
                self.take(reader.read(&file));
            }
            Err(why) => self.take(Err(vec![format!("{}: {why}", file.display())])),
        }
        true
    }

    /// Whether the folder and its files are unchanged, and a change could not have gone unnoticed.
    pub(super) fn is_current(&self, root: &Root) -> bool {
        self.is_settled && self.is_same(root)
    }

    /// Whether the folder and its files look unchanged.
    pub(super) fn is_same(&self, root: &Root) -> bool {
        let look = |place: &Location| root.stat_held(place, Symlinks::Refuse);
        let is_same = |(place, meta): &(Location, Option<Meta>)| match look(place) {
            Ok(found) => *meta == Some(found),
            Err(error) => Fault::of(&error) == Fault::Absent && meta.is_none(),
        };
        // Other entries of the folder may have changed, but it must be the folder that was looked at.
        let (place, meta) = &self.folder;
        let it = |meta: Meta| (meta.device, meta.inode, meta.kind);
        look(place).is_ok_and(|found| meta.is_some_and(|meta| it(meta) == it(found)))
            && self.files.iter().all(is_same)
            && self.others.iter().all(|(path, meta)| *meta == look_at(path))
    }

    /// Adds the rules of one of the folder's files.
    fn take(&mut self, read: Result<FolderRules, Vec<String>>) {
        match read {
            Ok(rules) => {
                self.others.extend(rules.others.iter().map(|path| (path.clone(), look_at(path))));
                self.loops.extend(rules.loops.iter().cloned());
                if let Ok(says) = &mut self.says {
                    says.push(Arc::new(rules));
                }
            }
            Err(mistakes) => {
                self.mistakes.extend(mistakes);
                self.says = Err(());
                // The mistake may lie in another file that this file names, and changes of such a file are not watched.
                self.is_settled = false;
            }
        }
    }

    /// Logs the mistake, unless it was logged for this version of the files.
    fn tell(&self, before: Option<&Level>) {
        let metas = |level: &Level| level.files.iter().map(|(_, meta)| *meta).collect::<Vec<_>>();
        let told = |level: &Level| (level.mistakes.clone(), level.loops.clone(), metas(level));
        if before.is_some_and(|before| told(before) == told(self)) {
            return;
        }
        for mistake in &self.mistakes {
            log::write(&messages::FOLDER_WRONG, format_args!("{mistake}"));
        }
        for redirect in &self.loops {
            log::write(&messages::FOLDER_LOOP, format_args!("{redirect}"));
        }
    }
}

/// Whether a file stands at a path.
pub(super) fn is_file(root: &Root, path: &[u8]) -> bool {
    let Ok(name) = CString::new(path) else { return false };
    root.stat_held(&root.locate(&name), Symlinks::Refuse).is_ok_and(|meta| meta.kind == Kind::File)
}

/// Reads a file: its metadata, by which its versions are told apart, and its text; `None` if there is no file.
fn read(root: &Root, name: &CStr) -> (Option<Meta>, Result<Option<String>, String>) {
    let meta = match root.stat_held(&root.locate(name), Symlinks::Refuse) {
        Err(error) if Fault::of(&error) == Fault::Absent => return (None, Ok(None)),
        Err(error) => return (None, Err(format!("it cannot be looked at: {error}"))),
        Ok(meta) => meta,
    };
    (Some(meta), read_regular(root, name, &meta).map(Some))
}

fn read_regular(root: &Root, name: &CStr, meta: &Meta) -> Result<String, String> {
    let refused = |error: io::Error| format!("it cannot be read: {error}");
    if meta.kind != Kind::File {
        return Err("it is no regular file".to_owned());
    }
    let opened = root.open_beneath(name, Symlinks::Refuse).map_err(refused)?;
    let changed = || Err("it was changed while it was read".to_owned());
    if stat(opened.as_fd()).map_err(refused)? != *meta {
        return changed();
    }
    let mut text = String::new();
    let length = File::from(opened).take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(refused)?;
    if length as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes"));
    }
    // A program that writes a file in place empties it first.
    if length as u64 == meta.bytes { Ok(text) } else { changed() }
}

/// Whether a file has changed so lately that a further change may have an equal time stamp.
fn is_young(meta: &Meta) -> bool {
    age_ns(meta) < if meta.ctime_ns % 1_000_000_000 == 0 { COARSE_TICK_NS } else { TICK_NS }
}

/// Whether the program that has emptied a file may be about to write it.
fn is_new(meta: &Meta) -> bool {
    age_ns(meta) < WRITING_NS
}

/// Returns the time since the last change of a file.
fn age_ns(meta: &Meta) -> i128 {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i128::try_from(now_ns).unwrap_or_default() - i128::from(meta.ctime_ns)
}

fn look_at(path: &Path) -> Option<Meta> {
    open_regular(path).ok().flatten().map(|(_, meta)| meta)
}
