//! Files beneath a folder: opened so that no path leads out of the folder, and recognised again by one `stat`.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::files::stdio;

/// Number of times that an open is tried again after it has lost a race with a rename (`EAGAIN`, openat2(2)).
const RACES_MAX: u32 = 8;

/// The most symbolic links followed in a path that has an absolute link: the kernel's own limit, see
/// `path_resolution(7)`.
const LINKS_MAX: u32 = 40;

/// The execute permissions; a program needs at least one of them.
const EXECUTES: Mode = Mode::XUSR.union(Mode::XGRP).union(Mode::XOTH);

/// Flags with which each path is resolved.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Treatment of a symbolic link in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symlinks {
    /// Follow the link if it stays beneath the root, even if its target is written as an absolute path.
    Follow,
    /// Refuse the path with `ELOOP`.
    Refuse,
}

/// The type of a file, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A symbolic link that was not followed.
    Link,
    /// A FIFO, socket or device.
    Other,
}

/// The part of `stat` that tells one version of a file from another.
///
/// Two equal values mean: same file, same content, as far as the file system's clock can tell.
/// `ctime_ns` moves with every write and cannot be set from outside, unlike `mtime_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number, unique on the device while the file exists.
    pub inode: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Last change of the content, nanoseconds since 1970; saturates in the year 2262.
    pub mtime_ns: i64,
    /// Last change of content or inode, nanoseconds since 1970; saturates in the year 2262, too.
    pub ctime_ns: i64,
    /// File, folder or something else.
    pub kind: Kind,
    /// Whether some user may execute the file.
    pub is_executable: bool,
}

/// A folder that is held open. Its files are opened without ever leaving the folder.
///
/// The folder may be absent at first; until it appears, no file in it is found. With openat2(2) the kernel resolves a
/// path beneath the folder in one call. If that call is missing (Linux before 5.6, or forbidden by a sandbox), the path
/// is walked component by component with `O_NOFOLLOW`; links are then refused even if [`Symlinks::Follow`] allows them.
#[derive(Debug)]
pub struct Root {
    /// `None` as long as no folder was found at the path.
    folder: Option<Folder>,
    /// The absolute path: it names the same place even after the process has changed its working directory.
    path: PathBuf,
    walks: bool,
}

/// An open folder, and how it is recognised.
#[derive(Debug)]
struct Folder {
    fd: OwnedFd,
    device: u64,
    inode: u64,
}

/// Result of comparing the folder that is held with the folder at the path of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldRoot {
    /// The held folder is still at the path.
    Same,
    /// Another folder is at the path, and is held from now on.
    Replaced,
    /// No folder that this process may see is at the path. A folder that was held before is still held.
    Gone,
}

/// The path of a file beneath a root, both absolute and relative to the root.
#[derive(Debug)]
pub struct Location {
    absolute: CString,
    relative_at: usize,
}

impl Location {
    /// The path relative to the root.
    pub fn relative(&self) -> &CStr {
        let bytes = self.absolute.as_bytes_with_nul().get(self.relative_at..).unwrap_or_default();
        CStr::from_bytes_with_nul(bytes).unwrap_or_default()
    }

    /// Bytes of memory that the location takes.
    pub fn bytes(&self) -> usize {
        self.absolute.as_bytes_with_nul().len()
    }
}

impl Root {
    /// Opens the folder at `path`, if there is one.
    ///
    /// # Errors
    ///
    /// Errors of open(2), except `ENOENT`; `ENOTDIR` if `path` is not a folder; `EACCES` if this process may not look
    /// up names in the folder.
    pub fn open(path: &Path) -> io::Result<Root> {
        let mut root = Root::open_to_walk(path)?;
        if root.folder.is_some() {
            // Opening a folder with O_PATH needs no permission on it, but looking up a name in it does
            // (path_resolution(7)).
            root.walk(c".", OFlags::PATH)?;
        }
        let probe = rustix::fs::openat2(CWD, c".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), BENEATH);
        // Container runtimes before 2020 answer EPERM to a system call that they do not know.
        root.walks = matches!(probe, Err(Errno::NOSYS | Errno::PERM));
        Ok(root)
    }

    /// Opens the folder at `path` and walks its paths, as on a kernel without openat2(2).
    ///
    /// # Errors
    ///
    /// Errors of [`Root::open`].
    pub fn open_to_walk(path: &Path) -> io::Result<Root> {
        let path = std::path::absolute(path)?;
        let folder = match Folder::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            result => Some(result?),
        };
        Ok(Root { folder, path, walks: true })
    }

    /// Compares the held folder with the folder at its path by one stat(2), and opens the folder at the path if the two
    /// differ.
    ///
    /// If nothing is at the path, the held folder stays open: a deployment may swap folders by two renames.
    pub fn follow(&mut self) -> HeldRoot {
        let Ok(now) = rustix::fs::statat(CWD, &self.path, AtFlags::empty()) else {
            return HeldRoot::Gone;
        };
        let is_held = |held: &Folder| (now.st_dev, now.st_ino) == (held.device, held.inode);
        if self.folder.as_ref().is_some_and(is_held) {
            return HeldRoot::Same;
        }
        match Folder::open(&self.path) {
            Ok(folder) => {
                self.folder = Some(folder);
                HeldRoot::Replaced
            }
            Err(_) => HeldRoot::Gone,
        }
    }

    /// The location of a path that is relative to the root.
    pub fn locate(&self, relative: &CStr) -> Location {
        let mut absolute = self.path.as_os_str().as_bytes().to_vec();
        absolute.push(b'/');
        let relative_at = absolute.len();
        absolute.extend_from_slice(relative.to_bytes());
        // The default is never taken, because neither part holds a NUL: the root's path has been passed to the kernel
        // before, and `relative` is a C string.
        Location { absolute: CString::new(absolute).unwrap_or_default(), relative_at }
    }

    /// Opens `path`, relative to the folder, for reading.
    ///
    /// Never waits for the other end of a FIFO (`O_NONBLOCK`) and never makes a terminal the controlling one
    /// (`O_NOCTTY`). The caller checks the kind of the opened file.
    ///
    /// # Errors
    ///
    /// `EXDEV` for a path that leaves the folder, `ELOOP` for a link that is refused, `EAGAIN` when renames interfere
    /// again and again, and errors of open(2).
    pub fn open_beneath(&self, path: &CStr, links: Symlinks) -> io::Result<OwnedFd> {
        stdio::above(self.open_anywhere(path, links)?)
    }

    fn open_anywhere(&self, path: &CStr, links: Symlinks) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        if self.walks {
            return Ok(self.walk(path, flags)?);
        }
        for _ in 1..RACES_MAX {
            match self.resolve_links(path, flags, links) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
        Ok(self.resolve_links(path, flags, links)?)
    }

    /// Gets the metadata of a location without opening it, by its absolute path: one fstatat(2), some 0.5 µs.
    ///
    /// Through the absolute path, a replaced root is noticed. Use this only to recognise a file that
    /// [`Root::open_beneath`] has opened before, not to decide whether a path may be served: links above the last
    /// component are followed, wherever they lead.
    ///
    /// # Errors
    ///
    /// Errors of fstatat(2).
    #[inline]
    pub fn stat(&self, place: &Location, links: Symlinks) -> io::Result<Meta> {
        Ok(Meta::of(&rustix::fs::statat(CWD, &place.absolute, links.at_flags())?))
    }

    /// Gets the metadata of a location like [`Root::stat`], but in the held folder, which may no longer be at its path.
    ///
    /// # Errors
    ///
    /// Errors of fstatat(2).
    pub fn stat_held(&self, place: &Location, links: Symlinks) -> io::Result<Meta> {
        Ok(Meta::of(&rustix::fs::statat(self.fd()?, place.relative(), links.at_flags())?))
    }

    /// Gets the metadata of `path`, which cannot lead out of the folder, without opening the file: three system calls.
    ///
    /// # Errors
    ///
    /// Errors of [`Root::open_beneath`].
    pub fn stat_beneath(&self, path: &CStr, links: Symlinks) -> io::Result<Meta> {
        let fd = if self.walks {
            self.walk(path, OFlags::PATH)?
        } else {
            self.resolve_links(path, OFlags::PATH, links)?
        };
        stat(fd.as_fd())
    }

    /// The kind of `path`, which cannot lead out of the folder, and whether some user may execute it: three system
    /// calls.
    ///
    /// # Errors
    ///
    /// Errors of [`Root::open_beneath`].
    pub fn program_beneath(&self, path: &CStr, links: Symlinks) -> io::Result<(Kind, bool)> {
        let fd = if self.walks {
            self.walk(path, OFlags::PATH)?
        } else {
            self.resolve_links(path, OFlags::PATH, links)?
        };
        let meta = stat(fd.as_fd())?;
        Ok((meta.kind, meta.is_executable))
    }

    /// Whether both roots hold the same folder, or neither root holds a folder.
    pub fn holds_same(&self, other: &Root) -> bool {
        let held = |root: &Root| root.folder.as_ref().map(|folder| (folder.device, folder.inode));
        held(self) == held(other)
    }

    /// The absolute path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Resolves a path like `resolve`, and follows links with absolute targets beneath the root.
    ///
    /// The kernel refuses all absolute links. Therefore the links in the path are replaced by their targets, and the
    /// kernel resolves the result, again beneath the root: even if links were swapped meanwhile, the result cannot lead
    /// out of the root.
    fn resolve_links(&self, path: &CStr, flags: OFlags, links: Symlinks) -> Result<OwnedFd, Errno> {
        match self.resolve(path, flags, links) {
            Err(Errno::XDEV) if links == Symlinks::Follow => {
                self.resolve(&self.without_links(path)?, flags, links)
            }
            result => result,
        }
    }

    #[cold]
    fn without_links(&self, path: &CStr) -> Result<CString, Errno> {
        let mut path = path.to_bytes().to_vec();
        for _ in 0..LINKS_MAX {
            let Some((end, target)) = self.first_link(&path)? else {
                return CString::new(path).map_err(|_| Errno::INVAL);
            };
            let start = path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
            let target = target.to_bytes();
            let mut replaced = match target.first() {
                Some(b'/') => self.relative(target).ok_or(Errno::XDEV)?,
                _ => [&path[..start], target].concat(),
            };
            replaced.extend_from_slice(&path[end..]);
            path = replaced;
        }
        Err(Errno::LOOP)
    }

    /// The first symbolic link in a path: the end of its name, and its target.
    fn first_link(&self, path: &[u8]) -> Result<Option<(usize, CString)>, Errno> {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in slashes.chain([path.len()]).filter(|&end| end > 0 && path[end - 1] != b'/') {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::openat2(self.fd()?, &path[..end], flags, Mode::empty(), BENEATH)?;
            if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Symlink {
                return Ok(Some((end, rustix::fs::readlinkat(&fd, c"", Vec::new())?)));
            }
        }
        Ok(None)
    }

    /// Converts an absolute path to one relative to the root, if it begins with the root's path.
    fn relative(&self, path: &[u8]) -> Option<Vec<u8>> {
        let path = Path::new(OsStr::from_bytes(path));
        let is_at = std::fs::canonicalize(&self.path).ok();
        let roots = [Some(&self.path), is_at.as_ref()];
        let beneath = roots.into_iter().flatten().find_map(|root| path.strip_prefix(root).ok())?;
        let beneath = beneath.as_os_str().as_bytes();
        Some(if beneath.is_empty() { b".".to_vec() } else { beneath.to_vec() })
    }

    fn resolve(&self, path: &CStr, flags: OFlags, links: Symlinks) -> Result<OwnedFd, Errno> {
        let resolve = match links {
            Symlinks::Follow => BENEATH,
            Symlinks::Refuse => BENEATH | ResolveFlags::NO_SYMLINKS,
        };
        rustix::fs::openat2(self.fd()?, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.folder.as_ref().map(|folder| folder.fd.as_fd()).ok_or(Errno::NOENT)
    }

    /// Opens `path` one component at a time, following no link and no `..`.
    fn walk(&self, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let last = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (above, name) = match path.to_bytes().iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path.to_bytes()[..slash], &path.to_bytes()[slash + 1..]),
            None => (&b""[..], path.to_bytes()),
        };
        if name == b".." || path.to_bytes().first() == Some(&b'/') {
            return Err(Errno::XDEV);
        }
        let root = self.fd()?;
        let mut held: Option<OwnedFd> = None;
        for part in above.split(|&byte| byte == b'/').filter(|part| !matches!(*part, b"" | b".")) {
            if part == b".." {
                return Err(Errno::XDEV);
            }
            let from = held.as_ref().map_or(root, AsFd::as_fd);
            held = Some(rustix::fs::openat(from, part, step, Mode::empty())?);
        }
        let from = held.as_ref().map_or(root, AsFd::as_fd);
        // A path that ends in a slash means the folder before the slash.
        let name = if name.is_empty() { b"." } else { name };
        let fd = rustix::fs::openat(from, name, last, Mode::empty())?;
        // With O_PATH, O_NOFOLLOW opens the link itself instead of refusing it (open(2)).
        match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
            FileType::Symlink => Err(Errno::LOOP),
            _ => Ok(fd),
        }
    }
}

impl Folder {
    fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = stdio::above(rustix::fs::open(path, flags, Mode::empty())?)?;
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Folder { fd, device: stat.st_dev, inode: stat.st_ino })
    }
}

impl Symlinks {
    fn at_flags(self) -> AtFlags {
        match self {
            Symlinks::Follow => AtFlags::empty(),
            Symlinks::Refuse => AtFlags::SYMLINK_NOFOLLOW,
        }
    }
}

impl Meta {
    #[inline]
    fn of(stat: &Stat) -> Meta {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        Meta {
            device: stat.st_dev,
            inode: stat.st_ino,
            // The kernel reports no negative length.
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            kind,
            is_executable: Mode::from_raw_mode(stat.st_mode).intersects(EXECUTES),
        }
    }
}

/// Meaning of an error of this module for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No such file exists beneath the root, or the path to it may not be followed.
    Absent,
    /// The process may not read the file.
    Denied,
    /// Renames interfered with each attempt; the next request may succeed.
    Racing,
    /// The process, or the machine, has no descriptor left.
    OutOfFiles,
    /// Any other fault, such as one of the disk, or lack of memory.
    Broken,
}

impl Fault {
    /// Classifies an error of opening or inspecting a path.
    pub fn of(error: &io::Error) -> Fault {
        match Errno::from_io_error(error) {
            Some(
                Errno::NOENT | Errno::NOTDIR
                // The path is a socket, or a device without a driver.
                | Errno::NXIO | Errno::NODEV
                // The path leads out of the root, has a link that is refused, or is longer than any path can be.
                | Errno::XDEV | Errno::LOOP | Errno::NAMETOOLONG,
            ) => Fault::Absent,
            Some(Errno::ACCESS | Errno::PERM) => Fault::Denied,
            Some(Errno::AGAIN | Errno::INTR) => Fault::Racing,
            Some(Errno::MFILE | Errno::NFILE) => Fault::OutOfFiles,
            _ => Fault::Broken,
        }
    }
}

/// Opens a regular file for reading, and gets its metadata; `None` if it is something else.
///
/// Never waits for the other end of a FIFO (`O_NONBLOCK`) and never makes a terminal the controlling one (`O_NOCTTY`).
///
/// # Errors
///
/// Errors of open(2).
pub fn open_regular(path: &Path) -> io::Result<Option<(OwnedFd, Meta)>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => stdio::above(fd)?,
        // The path is a socket, or a device without a driver.
        Err(Errno::NXIO | Errno::NODEV) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let meta = stat(fd.as_fd())?;
    Ok((meta.kind == Kind::File).then_some((fd, meta)))
}

/// Gets the metadata of an open file: one fstat(2).
///
/// # Errors
///
/// Errors of fstat(2); `EBADF` cannot happen to a borrowed descriptor.
pub fn stat(fd: BorrowedFd<'_>) -> io::Result<Meta> {
    Ok(Meta::of(&rustix::fs::fstat(fd)?))
}

/// The length of an open file, or `None` if sendfile(2) might not send all of it. The file must be regular and
/// readable, and its reported length must be true. For a file that the kernel generates at each read, the kernel
/// reports the length 0 or the length of a page; a file of length 0 is therefore read instead of sent.
pub fn sendable_bytes(fd: BorrowedFd<'_>) -> Option<u64> {
    let meta = stat(fd).ok().filter(|meta| meta.kind == Kind::File && meta.bytes > 0)?;
    let mode = rustix::fs::fcntl_getfl(fd).ok()? & OFlags::RWMODE;
    let is_made_up = is_made_up(rustix::fs::fstatfs(fd).ok()?.f_type);
    (mode != OFlags::WRONLY && !is_made_up).then_some(meta.bytes)
}

/// Whether a file system of this type generates its files as they are read.
fn is_made_up(of_type: impl TryInto<i64>) -> bool {
    of_type.try_into().is_ok_and(|of_type| MADE_UP.contains(&of_type))
}

/// Lists the names in an open folder with the metadata of each, without `.` and `..`, at most `names_max` of them.
///
/// The names come in the order of the file system. Symlinks are not followed: they come back as [`Kind::Link`].
///
/// # Errors
///
/// Errors of getdents64(2). A name that vanishes meanwhile is left out.
pub fn list(folder: BorrowedFd<'_>, names_max: usize) -> io::Result<Vec<(CString, Meta)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if found.len() == names_max {
            break;
        }
        if let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            found.push((name.to_owned(), Meta::of(&stat)));
        }
    }
    Ok(found)
}

/// The types (statfs(2)) of `/proc`, `/sys`, and the file systems mounted beneath them: control groups of both
/// versions, debugfs, tracefs, securityfs.
const MADE_UP: [i64; 7] =
    [0x9fa0, 0x6265_6572, 0x27_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163, 0x7363_6673];

#[inline]
fn nanoseconds(seconds: impl TryInto<i64>, nanoseconds: impl TryInto<i64>) -> i64 {
    let seconds = seconds.try_into().unwrap_or(i64::MAX);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    use std::fs;
    use std::os::unix::fs::symlink;

    /// A folder with a secret beside it, removed at the end.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> TempFolder {
            let path = std::env::temp_dir().join(format!("adyton-sys-fs-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("root/a/b")).unwrap();
            fs::write(path.join("root/a/b/file"), "12345").unwrap();
            fs::write(path.join("secret"), "secret").unwrap();
            symlink("a/b/file", path.join("root/link")).unwrap();
            symlink("a", path.join("root/a-link")).unwrap();
            symlink("../secret", path.join("root/out")).unwrap();
            symlink("..", path.join("root/up")).unwrap();
            TempFolder(path)
        }

        fn root(&self) -> PathBuf {
            self.0.join("root")
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Opens a path, and returns the kind of the opened file, or the fault.
    fn open(root: &Root, path: &CStr, links: Symlinks) -> Result<Kind, Fault> {
        let opened = root.open_beneath(path, links).map_err(|error| Fault::of(&error))?;
        let kind = stat(opened.as_fd()).unwrap().kind;

        assert_eq!(Some(kind), root.stat_beneath(path, links).ok().map(|meta| meta.kind), "{path:?}");
        Ok(kind)
    }

    #[test]
    fn no_path_leads_out_with_openat2_or_without() {
        let place = TempFolder::new("beneath");
        let (resolving, walking) =
            (Root::open(&place.root()).unwrap(), Root::open_to_walk(&place.root()).unwrap());
        let absent = Err(Fault::Absent);
        let cases = [
            (c".", Ok(Kind::Folder)),
            (c"a", Ok(Kind::Folder)),
            (c"a/b/", Ok(Kind::Folder)),
            (c"a/b/file", Ok(Kind::File)),
            (c"./a/./b//file", Ok(Kind::File)),
            (c"missing", absent),
            (c"a/b/file/x", absent),
            (c"link", absent),
            (c"a-link/b/file", absent),
            (c"out", absent),
            (c"up/secret", absent),
            (c"..", absent),
            (c"../secret", absent),
            (c"a/../../secret", absent),
            (c"/etc/passwd", absent),
        ];
        for (path, expected) in cases {
            assert_eq!(expected, open(&resolving, path, Symlinks::Refuse), "{path:?}");
            assert_eq!(expected, open(&walking, path, Symlinks::Refuse), "{path:?} walked");
            assert_eq!(
                expected,
                open(&walking, path, Symlinks::Follow),
                "{path:?} walked: links are refused even then"
            );
        }
    }

    #[test]
    fn links_are_followed_beneath_the_root_only() {
        let place = TempFolder::new("links");
        let root = Root::open(&place.root()).unwrap();
        for (path, expected) in [
            (c"link", Ok(Kind::File)),
            (c"a-link/b", Ok(Kind::Folder)),
            (c"out", Err(Fault::Absent)),
            (c"up/secret", Err(Fault::Absent)),
        ] {
            assert_eq!(expected, open(&root, path, Symlinks::Follow), "{path:?}");
        }

        assert_eq!(Kind::Link, root.stat(&root.locate(c"link"), Symlinks::Refuse).unwrap().kind);
        assert_eq!(
            root.stat(&root.locate(c"a/b/file"), Symlinks::Refuse).unwrap(),
            root.stat(&root.locate(c"link"), Symlinks::Follow).unwrap()
        );
    }

    #[test]
    fn absolute_links_are_followed_beneath_the_root_only() {
        let place = TempFolder::new("absolute");
        let at = |name: &str| place.root().join(name);
        symlink(at("a/b/file"), at("absolute")).unwrap();
        symlink(at("a"), at("folder")).unwrap();
        symlink(place.root(), at("itself")).unwrap();
        symlink("folder/b/file", at("by-another")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        symlink(place.0.join("secret"), at("secret-link")).unwrap();
        symlink(at("../secret"), at("above")).unwrap();
        symlink("/proc/self/root/etc/passwd", at("magic")).unwrap();
        symlink(place.0.join("rootkit"), at("longer-name")).unwrap();
        fs::write(place.0.join("rootkit"), "secret").unwrap();
        let root = Root::open(&place.root()).unwrap();
        for (path, expected) in [
            (c"absolute", Ok(Kind::File)),
            (c"folder/b/file", Ok(Kind::File)),
            (c"folder", Ok(Kind::Folder)),
            (c"itself/itself/a/b/file", Ok(Kind::File)),
            (c"by-another", Ok(Kind::File)),
            (c"folder/missing", Err(Fault::Absent)),
            (c"loop", Err(Fault::Absent)),
            (c"secret-link", Err(Fault::Absent)),
            (c"above", Err(Fault::Absent)),
            (c"itself/../secret", Err(Fault::Absent)),
            (c"magic", Err(Fault::Absent)),
            (c"longer-name", Err(Fault::Absent)),
        ] {
            assert_eq!(expected, open(&root, path, Symlinks::Follow), "{path:?}");
            assert_eq!(Err(Fault::Absent), open(&root, path, Symlinks::Refuse), "{path:?} refused");
        }
    }

    #[test]
    fn a_folder_is_listed_with_what_its_names_stand_for() {
        let place = TempFolder::new("list");
        let root = Root::open(&place.root()).unwrap();
        let folder = root.open_beneath(c".", Symlinks::Refuse).unwrap();
        let mut found: Vec<_> = list(folder.as_fd(), 10)
            .unwrap()
            .into_iter()
            .map(|(name, meta)| (name.into_string().unwrap(), meta.kind))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("a", Kind::Folder),
            ("a-link", Kind::Link),
            ("link", Kind::Link),
            ("out", Kind::Link),
            ("up", Kind::Link),
        ];

        assert_eq!(expected.map(|(name, kind)| (name.to_owned(), kind))[..], found);
        assert_eq!(2, list(folder.as_fd(), 2).unwrap().len());
    }

    /// Only a readable regular file that reports its true length is sent by the kernel.
    #[test]
    fn what_the_kernel_may_send() {
        let place = TempFolder::new("sendable");
        let file = place.root().join("a/b/file");
        let bytes = |file: fs::File| sendable_bytes(file.as_fd());
        assert_eq!(Some(5), bytes(fs::File::open(&file).unwrap()));
        assert_eq!(
            None,
            bytes(fs::OpenOptions::new().append(true).open(&file).unwrap()),
            "the descriptor is write-only"
        );
        fs::write(&file, "").unwrap();
        for none in [file.as_path(), &place.root(), Path::new("/proc/self/stat"), Path::new("/dev/null")] {
            assert_eq!(None, bytes(fs::File::open(none).unwrap()), "{}", none.display());
        }
        // The kernel reports the length of a page for this file.
        let made_up = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
        if let Ok(file) = fs::File::open(made_up) {
            assert_eq!(None, bytes(file));
        }
    }

    #[test]
    fn a_change_moves_the_meta_and_a_new_root_is_noticed() {
        let place = TempFolder::new("meta");
        let mut root = Root::open(&place.root()).unwrap();
        let file = root.locate(c"a/b/file");
        let before = root.stat(&file, Symlinks::Refuse).unwrap();
        assert_eq!((5, Kind::File), (before.bytes, before.kind));
        fs::write(place.root().join("a/b/file"), "123456").unwrap();
        let after = root.stat(&file, Symlinks::Refuse).unwrap();
        assert_ne!(before, after);

        assert_eq!(HeldRoot::Same, root.follow());
        fs::rename(place.root(), place.0.join("old")).unwrap();
        assert_eq!(HeldRoot::Gone, root.follow());
        assert!(root.stat(&file, Symlinks::Refuse).is_err());
        assert_eq!(after, root.stat_held(&file, Symlinks::Refuse).unwrap(), "the old folder is still held");
        fs::create_dir(place.root()).unwrap();

        assert_eq!(HeldRoot::Replaced, root.follow());
        assert!(root.stat_held(&file, Symlinks::Refuse).is_err(), "the new folder is empty");
        fs::remove_dir(place.root()).unwrap();
        fs::write(place.root(), "a file").unwrap();
        assert_eq!(HeldRoot::Gone, root.follow());
    }

    #[test]
    fn a_root_may_come_later() {
        let place = TempFolder::new("later");
        let path = place.0.join("no/where");
        let [mut resolving, mut walking] = [Root::open(&path), Root::open_to_walk(&path)].map(Result::unwrap);
        for root in [&mut resolving, &mut walking] {
            assert_eq!(HeldRoot::Gone, root.follow());
            assert_eq!(Err(Fault::Absent), open(root, c"file", Symlinks::Follow));
            assert_eq!(Err(Fault::Absent), open(root, c".", Symlinks::Refuse));
        }
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("file"), "").unwrap();
        for root in [&mut resolving, &mut walking] {
            assert_eq!(HeldRoot::Replaced, root.follow());
            assert_eq!(Ok(Kind::File), open(root, c"file", Symlinks::Refuse));
        }
        assert!(Root::open(&path.join("file")).is_err(), "a file is no folder");
        assert!(Root::open(&path.join("file/x")).is_err());
    }
}
