//! A folder of Python scripts: finds the script that a path names, reads it, and tells whether it is unchanged.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use adyton_route::SCRIPT_ENDS;
use adyton_sys::fs::{self, Fault, Kind, Location, Meta, Root, Symlinks};

use crate::path::is_meant;
use crate::run::programs::NoProgram;

/// The most scripts that are listed: loading so many takes seconds.
pub const LISTED_MAX: usize = 1000;

/// The most names that are checked in order to list scripts.
const LISTED_NAMES_MAX: usize = 100_000;

/// Largest source of a script. Nobody writes a larger page, and a file that is not a source may have any size.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// Scripts beneath a folder, which are loaded and called. All threads share this value.
#[derive(Debug)]
pub struct Scripts {
    root: Mutex<Root>,
    links: Symlinks,
    /// Name of the script that answers for a folder.
    index: Vec<u8>,
}

/// A script that a path names: guessed from the path alone, or found among the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The script's file, relative to the folder.
    pub file: Vec<u8>,
    /// Length of the part of the path that names the script; the script gets the rest.
    pub name_bytes: usize,
}

/// Scripts found in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Their files, relative to the folder.
    pub files: Vec<Vec<u8>>,
    /// Whether there are more scripts than are listed.
    pub is_cut: bool,
}

/// The reason why a path names no script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// No script exists; answer with this status and sentence.
    Absent(NoProgram),
    /// The path names a folder that has an index script, and lacks the slash at its end.
    Unslashed,
}

/// The version of a file. It changes when the file is written or replaced, but not when only the permissions or the
/// names of the file change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    mtime_ns: i64,
}

impl From<Meta> for Stamp {
    fn from(meta: Meta) -> Stamp {
        let Meta { device, inode, bytes, mtime_ns, .. } = meta;
        Stamp { device, inode, bytes, mtime_ns }
    }
}

impl Stamp {
    /// Time at which the file was last written.
    pub fn modified(&self) -> SystemTime {
        let since = Duration::from_nanos(self.mtime_ns.unsigned_abs());
        if self.mtime_ns < 0 { SystemTime::UNIX_EPOCH - since } else { SystemTime::UNIX_EPOCH + since }
    }

    /// The time of the last write in seconds since 1970, as a float like Python's.
    pub fn mtime_s(&self) -> f64 {
        let since = Duration::from_nanos(self.mtime_ns.unsigned_abs()).as_secs_f64();
        since.copysign(if self.mtime_ns < 0 { -1.0 } else { 1.0 })
    }
}

const fn absent(status: u16, detail: &'static str) -> Unnamed {
    Unnamed::Absent(NoProgram { status, detail })
}

const ABSENT: Unnamed = absent(404, "There is no such page.");

impl Scripts {
    /// Opens a folder, which may be absent at first.
    ///
    /// # Errors
    ///
    /// Errors of [`Root::open`].
    pub fn open(folder: &Path, follow_symlinks: bool, index: &str) -> io::Result<Scripts> {
        let links = if follow_symlinks { Symlinks::Follow } else { Symlinks::Refuse };
        Ok(Scripts { root: Mutex::new(Root::open(folder)?), links, index: index.as_bytes().to_vec() })
    }

    fn root(&self) -> MutexGuard<'_, Root> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script that a path names, provided that no folder on the path has a script's name; does not look at the
    /// disk. The path must be decoded, have single slashes and no dot segments, and begin with a slash unless it is
    /// empty.
    pub fn guess(&self, path: &[u8]) -> Option<Named> {
        match next_script(path, 0) {
            // No script is guessed for a path with a NUL: such a path is always refused.
            _ if memchr::memchr(0, path).is_some() => None,
            Some(end) => Some(Named { file: path[1..end].to_vec(), name_bytes: end }),
            None if path.ends_with(b"/") && is_all_meant(path) => Some(self.index_of(path)),
            None => None,
        }
    }

    /// The script that a path names, and its present version: the first file on the path that has the name of a script,
    /// or the index of a folder.
    ///
    /// # Errors
    ///
    /// [`Unnamed`].
    pub fn find(&self, path: &[u8]) -> Result<(Named, Stamp), Unnamed> {
        if memchr::memchr(0, path).is_some() {
            return Err(absent(400, "The path holds a NUL."));
        }
        let mut root = self.root();
        // By now another folder may be at the root's path.
        root.follow();
        let mut from = 0;
        while let Some(end) = next_script(path, from) {
            match self.look(&root, &path[1..end]) {
                Ok(meta) if meta.kind == Kind::File => {
                    return Ok((Named { file: path[1..end].to_vec(), name_bytes: end }, meta.into()));
                }
                Ok(meta) if meta.kind == Kind::Folder => from = end,
                Ok(_) => return Err(ABSENT),
                Err(error) => return Err(why(&error)),
            }
        }
        if !is_all_meant(path) {
            return Err(ABSENT);
        }
        let is_slashed = path.ends_with(b"/");
        let named = if is_slashed { self.index_of(path) } else { self.index_of(&[path, b"/"].concat()) };
        match self.look(&root, &named.file) {
            Ok(meta) if meta.kind == Kind::File && is_slashed => Ok((named, meta.into())),
            Ok(meta) if meta.kind == Kind::File => Err(Unnamed::Unslashed),
            Ok(_) => Err(ABSENT),
            Err(error) => Err(why(&error)),
        }
    }

    /// Lists the scripts whose paths in the folder match one of the patterns, in which `*` stands for any bytes. The
    /// list is sorted by name and holds at most [`LISTED_MAX`] scripts. Links to folders are not followed.
    ///
    /// # Errors
    ///
    /// A folder cannot be read.
    pub fn list(&self, patterns: &[String]) -> io::Result<Listed> {
        let mut root = self.root();
        root.follow();
        let mut listed = Listed::default();
        let (mut folders, mut names_left) = (vec![Vec::new()], LISTED_NAMES_MAX);
        while let Some(folder) = folders.pop() {
            let here = if folder.is_empty() { &b"."[..] } else { &folder };
            let opened = match root.open_beneath(&c_path(here)?, self.links) {
                Err(error) if Fault::of(&error) == Fault::Absent => continue,
                opened => opened?,
            };
            let found = fs::list(std::os::fd::AsFd::as_fd(&opened), names_left)?;
            names_left -= found.len();
            listed.is_cut |= names_left == 0;
            for (name, meta) in found.into_iter().filter(|(name, _)| is_page(name.to_bytes())) {
                let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
                let path = [&folder, slash, name.to_bytes()].concat();
                match meta.kind {
                    Kind::Folder => folders.push(path),
                    Kind::Link if self.links == Symlinks::Refuse => {}
                    Kind::File | Kind::Link if is_named(&path, patterns) => listed.files.push(path),
                    _ => {}
                }
            }
        }
        listed.files.sort();
        listed.is_cut |= listed.files.len() > LISTED_MAX;
        listed.files.truncate(LISTED_MAX);
        Ok(listed)
    }

    /// The index script of the folder at a path that ends in a slash; this slash belongs to the rest, which the script
    /// gets.
    fn index_of(&self, path: &[u8]) -> Named {
        let file = [path.strip_prefix(b"/").unwrap_or(path), &self.index].concat();
        Named { file, name_bytes: path.len() - 1 }
    }

    fn look(&self, root: &Root, file: &[u8]) -> io::Result<Meta> {
        root.stat_beneath(&c_path(file)?, self.links)
    }

    /// The location of a file, for [`Scripts::stamp`].
    ///
    /// # Errors
    ///
    /// The file's name holds a NUL.
    pub fn locate(&self, file: &[u8]) -> io::Result<Location> {
        Ok(self.root().locate(&c_path(file)?))
    }

    /// The absolute path of a file.
    pub fn path(&self, file: &[u8]) -> PathBuf {
        self.root().path().join(std::ffi::OsStr::from_bytes(file))
    }

    /// The present version of a file that was read before: one stat of its absolute path. `None` if this stat finds no
    /// file.
    pub fn stamp(&self, place: &Location) -> Option<Stamp> {
        let meta = self.root().stat(place, self.links).ok()?;
        (meta.kind == Kind::File).then(|| meta.into())
    }

    /// Reads a file; returns its bytes and its version.
    ///
    /// # Errors
    ///
    /// The file is gone, cannot be read, or is too large for a script.
    pub fn read(&self, file: &[u8]) -> io::Result<(Vec<u8>, Stamp)> {
        let descriptor = self.root().open_beneath(&c_path(file)?, self.links)?;
        let opened = File::from(descriptor);
        let meta = fs::stat(std::os::fd::AsFd::as_fd(&opened))?;
        if meta.kind != Kind::File {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let mut source = Vec::with_capacity(usize::try_from(meta.bytes.min(SOURCE_BYTES_MAX)).unwrap_or(0));
        opened.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut source)?;
        if source.len() as u64 > SOURCE_BYTES_MAX {
            return Err(io::Error::other(format!("it has more than {SOURCE_BYTES_MAX} bytes")));
        }
        Ok((source, meta.into()))
    }
}

fn c_path(file: &[u8]) -> io::Result<CString> {
    CString::new(file).map_err(|_| io::Error::from(io::ErrorKind::NotFound))
}

/// Whether a path names a script and matches one of the patterns.
fn is_named(path: &[u8], patterns: &[String]) -> bool {
    SCRIPT_ENDS.iter().any(|end| path.ends_with(end))
        && patterns.iter().any(|pattern| matches(pattern.as_bytes(), path))
}

/// Whether a path matches a pattern, in which `*` stands for any bytes.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let mut parts = pattern.split(|&byte| byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some(at) = memchr::memmem::find(rest, part) else { return false };
            rest = &rest[at + part.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last: &[u8]| rest.ends_with(last))
}

/// The end of the first segment after `from` that has the name of a script; `None` if clients may not ask for a segment
/// before it.
fn next_script(path: &[u8], from: usize) -> Option<usize> {
    let mut start = from + 1;
    while start <= path.len() {
        let end = memchr::memchr(b'/', &path[start..]).map_or(path.len(), |length| start + length);
        let name = &path[start..end];
        if !is_page(name) {
            return None;
        }
        if SCRIPT_ENDS.iter().any(|end| name.ends_with(end)) {
            return Some(end);
        }
        start = end + 1;
    }
    None
}

/// Whether clients may ask for all segments of a path; the last segment may be empty.
fn is_all_meant(path: &[u8]) -> bool {
    let inner = path.strip_prefix(b"/").unwrap_or(path);
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    inner.is_empty() || inner.split(|&byte| byte == b'/').all(is_page)
}

/// Whether clients may ask for a file or folder of this name. A name that begins with an underscore is only for other
/// scripts to import.
fn is_page(name: &[u8]) -> bool {
    is_meant(name) && name[0] != b'_' && name != b".."
}

fn why(error: &io::Error) -> Unnamed {
    match Fault::of(error) {
        Fault::Absent => ABSENT,
        Fault::Denied => absent(403, "The server may not look at this page."),
        Fault::Racing => absent(503, "The folder is being changed; try again."),
        Fault::OutOfFiles => absent(503, "The server has too many files open; try again."),
        Fault::Broken => absent(500, "The page could not be looked at."),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, path, is_meant) in [
            ("*", "a.py", true),
            ("*", "a/b.py", true),
            ("a.py", "a.py", true),
            ("a.py", "b/a.py", false),
            ("a.py", "a.py.py", false),
            ("a/*", "a/b/c.py", true),
            ("a/*", "b/a/c.py", false),
            ("*/c.py", "a/b/c.py", true),
            ("*/c.py", "c.py", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "axbybzc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("**", "", true),
        ] {
            assert_eq!(is_meant, matches(pattern.as_bytes(), path.as_bytes()), "{pattern} {path}");
        }
    }
}
