//! A folder of Python scripts: which of them a path names, what it holds, and whether it is still the same.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use adyton_sys::fs::{self, Fault, Kind, Location, Meta, Root, Symlinks};

use crate::path::is_meant;
use crate::run::programs::NoProgram;

/// The ends of the names of scripts.
pub const ENDS: [&[u8]; 2] = [b".py", b".wsgi"];

/// The most scripts that are listed: to load as many takes seconds.
pub const LISTED_MAX: usize = 1000;

/// Names that are looked at to list scripts, at most.
const LISTED_NAMES_MAX: usize = 100_000;

/// Longer sources are refused: nobody writes such a page, and what is no source may be any size.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// Scripts beneath a folder, which are loaded and asked. All threads share it.
#[derive(Debug)]
pub struct Scripts {
    root: Mutex<Root>,
    links: Symlinks,
    /// The name of the script that answers for a folder.
    index: Vec<u8>,
}

/// A script that a path names, by its form alone or by what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its file, relative to the folder.
    pub file: Vec<u8>,
    /// How many bytes of the path have named it; the rest is for it.
    pub name_bytes: usize,
}

/// Scripts that are in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Their files, relative to the folder.
    pub files: Vec<Vec<u8>>,
    /// Whether there are more.
    pub is_cut: bool,
}

/// Why a path names no script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// There is none, and this is to be said.
    Absent(NoProgram),
    /// It is a folder that has a script, and lacks the slash at its end.
    Unslashed,
}

/// What tells one version of a file from another: that it was written, or is another file. Who may read it, and under which
/// names it stands, makes no other version of it.
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
    /// When it was written last.
    pub fn modified(&self) -> SystemTime {
        let since = Duration::from_nanos(self.mtime_ns.unsigned_abs());
        if self.mtime_ns < 0 { SystemTime::UNIX_EPOCH - since } else { SystemTime::UNIX_EPOCH + since }
    }

    /// The same in seconds since 1970, as Python has it.
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
    /// Opens a folder, which need not be there yet.
    ///
    /// # Errors
    ///
    /// Those of [`Root::open`].
    pub fn open(folder: &Path, follow_symlinks: bool, index: &str) -> io::Result<Scripts> {
        let links = if follow_symlinks { Symlinks::Follow } else { Symlinks::Refuse };
        Ok(Scripts { root: Mutex::new(Root::open(folder)?), links, index: index.as_bytes().to_vec() })
    }

    fn root(&self) -> MutexGuard<'_, Root> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The script that a path names if nothing on its way is a folder with the name of a script: no look at the disk. The path
    /// is decoded, has single slashes and no dot segments, and begins with a slash unless it is empty.
    pub fn guess(&self, path: &[u8]) -> Option<Named> {
        match next_script(path, 0) {
            // That is refused, whether the script is known or not.
            _ if memchr::memchr(0, path).is_some() => None,
            Some(end) => Some(Named { file: path[1..end].to_vec(), name_bytes: end }),
            None if path.ends_with(b"/") && is_all_meant(path) => Some(self.index_of(path)),
            None => None,
        }
    }

    /// The script that a path names, and which version of it is there: the first file on the way that has the name of one, or
    /// that of a folder.
    ///
    /// # Errors
    ///
    /// [`Unnamed`].
    pub fn find(&self, path: &[u8]) -> Result<(Named, Stamp), Unnamed> {
        if memchr::memchr(0, path).is_some() {
            return Err(absent(400, "The path holds a NUL."));
        }
        let mut root = self.root();
        // The folder may be another one by now.
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

    /// The scripts whose paths in the folder have one of these patterns, in which `*` stands for anything; by their names, and
    /// [`LISTED_MAX`] of them at most. Links to folders are not followed.
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

    /// The script of a folder whose path ends in a slash, which is left to it.
    fn index_of(&self, path: &[u8]) -> Named {
        let file = [path.strip_prefix(b"/").unwrap_or(path), &self.index].concat();
        Named { file, name_bytes: path.len() - 1 }
    }

    fn look(&self, root: &Root, file: &[u8]) -> io::Result<Meta> {
        root.stat_beneath(&c_path(file)?, self.links)
    }

    /// Where a file is, for [`Scripts::stamp`].
    ///
    /// # Errors
    ///
    /// Its name holds a NUL.
    pub fn locate(&self, file: &[u8]) -> io::Result<Location> {
        Ok(self.root().locate(&c_path(file)?))
    }

    /// Where a file is, from the top.
    pub fn path(&self, file: &[u8]) -> PathBuf {
        self.root().path().join(std::ffi::OsStr::from_bytes(file))
    }

    /// Which version of a file is there that was read before: one look at its absolute path. `None`: none, as far as
    /// that tells.
    pub fn stamp(&self, place: &Location) -> Option<Stamp> {
        let meta = self.root().stat(place, self.links).ok()?;
        (meta.kind == Kind::File).then(|| meta.into())
    }

    /// Reads a file, and says which version of it that was.
    ///
    /// # Errors
    ///
    /// It is gone, cannot be read, or is no source that could be meant.
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

/// Whether a path is that of a script that one of these patterns names.
fn is_named(path: &[u8], patterns: &[String]) -> bool {
    ENDS.iter().any(|end| path.ends_with(end))
        && patterns.iter().any(|pattern| matches(pattern.as_bytes(), path))
}

/// Whether a path has a pattern, in which `*` stands for anything.
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

/// Where the first segment ends that begins behind `from` and has the name of a script; none, if one before it is not
/// meant for clients.
fn next_script(path: &[u8], from: usize) -> Option<usize> {
    let mut start = from + 1;
    while start <= path.len() {
        let end = memchr::memchr(b'/', &path[start..]).map_or(path.len(), |length| start + length);
        let name = &path[start..end];
        if !is_page(name) {
            return None;
        }
        if ENDS.iter().any(|end| name.ends_with(end)) {
            return Some(end);
        }
        start = end + 1;
    }
    None
}

/// Whether all segments of a path are meant for clients; the last one may be empty.
fn is_all_meant(path: &[u8]) -> bool {
    let inner = path.strip_prefix(b"/").unwrap_or(path);
    let inner = inner.strip_suffix(b"/").unwrap_or(inner);
    inner.is_empty() || inner.split(|&byte| byte == b'/').all(is_page)
}

/// Whether clients may ask for a file or folder of this name: what begins with an underscore is for other scripts.
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
