//! Files whose text no folder sends, because another route of the site runs them.
//!
//! A file is judged when it is opened, and not again while it is in the cache. Its absolute path is compared both as it
//! was requested and with all links resolved, so that the file is recognised by whichever path it is found. A hard link
//! with another name counts as another file: to recognise a file by its inode, the inodes of all scripts would have to
//! be looked up for each file that has several names. A file whose name and mode no source can have
//! needs no such comparison.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use adyton_compress::CODINGS;
use adyton_sys::fs::{Meta, Symlinks};

/// Files that a route of the site runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The absolute path of the folder with the files.
    pub folder: PathBuf,
    /// Endings of the files' names, compared without regard to case; if empty, all executable files are run.
    pub ends: Vec<Vec<u8>>,
}

impl Sources {
    /// Whether a route of the site runs this file, or runs the original of which the file is a compressed copy. `file`
    /// is an absolute path.
    pub fn have(all: &[Sources], file: &Path) -> bool {
        let kept = Kept { sources: all, root: Path::new("/"), links: Symlinks::Follow };
        let is_run = |path: &PathBuf| kept.has_path(path, is_executable(path)) || kept.is_copy(path);
        !all.is_empty() && [resolved(file), file.to_owned()].iter().any(is_run)
    }

    /// Whether a file with this name may be one of these files, in whichever folder it is.
    fn may_have(&self, name: &[u8], is_executable: bool) -> bool {
        if self.ends.is_empty() { is_executable } else { self.ends.iter().any(|end| ends_with(name, end)) }
    }

    /// Whether the file at this absolute path is one of these files.
    fn has(&self, file: &Path, is_executable: bool) -> bool {
        let is_beneath = |folder: &Path| file.starts_with(folder);
        self.may_have(file.as_os_str().as_bytes(), is_executable)
            && (is_beneath(&self.folder) || is_beneath(&resolved(&self.folder)))
    }
}

/// Tells which files of a folder are not sent because other routes run them.
#[derive(Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) sources: &'a [Sources],
    /// The absolute path of the folder.
    pub(crate) root: &'a Path,
    pub(crate) links: Symlinks,
}

impl Kept<'_> {
    /// Whether the file at a path beneath the folder is run, or is a compressed copy of a file that is run.
    pub(crate) fn has(self, relative: &[u8], meta: &Meta) -> bool {
        let original = without_coding(relative);
        let may_copy = |source: &Sources| original.is_some_and(|name| source.may_have(name, true));
        let may_have = |source: &Sources| {
            self.follows() || source.may_have(relative, meta.is_executable) || may_copy(source)
        };
        let is_kept = |path: &PathBuf| self.has_path(path, meta.is_executable) || self.is_copy(path);
        self.sources.iter().any(may_have) && self.paths(relative).iter().any(is_kept)
    }

    /// Whether the file at a path beneath the folder is run.
    pub(crate) fn is_run(self, relative: &[u8], meta: &Meta) -> bool {
        let may_have = |source: &Sources| self.follows() || source.may_have(relative, meta.is_executable);
        self.sources.iter().any(may_have)
            && self.paths(relative).iter().any(|path| self.has_path(path, meta.is_executable))
    }

    /// Whether a name may be a link to a file with another name.
    fn follows(self) -> bool {
        self.links == Symlinks::Follow
    }

    fn has_path(self, path: &Path, is_executable: bool) -> bool {
        self.sources.iter().any(|source| source.has(path, is_executable))
    }

    fn is_copy(self, path: &Path) -> bool {
        let Some(original) = without_coding(path.as_os_str().as_bytes()) else { return false };
        let original = Path::new(OsStr::from_bytes(original));
        self.has_path(original, is_executable(original))
    }

    /// The absolute paths of a file: first with all links resolved, then as named.
    fn paths(self, relative: &[u8]) -> [PathBuf; 2] {
        let named = self.root.join(OsStr::from_bytes(relative));
        [resolved(&named), named]
    }
}

/// Whether some user may execute the file at a path.
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// A path with its links resolved. A path at which there is no file is returned as it is.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The name of the original, if this is the name of a compressed copy.
fn without_coding(name: &[u8]) -> Option<&[u8]> {
    CODINGS.iter().find_map(|coding| name.strip_suffix(coding.suffix().as_bytes()))
}

fn ends_with(name: &[u8], end: &[u8]) -> bool {
    name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}
