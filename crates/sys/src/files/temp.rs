//! Temporary files without a name: no other process can open such a file by a path, and it is gone when it is closed.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::files::stdio;

/// Makes a file in memory, without a name (memfd).
///
/// # Errors
///
/// The process is out of memory or descriptors.
pub fn in_memory() -> io::Result<File> {
    Ok(memfd_create("adyton", MemfdFlags::CLOEXEC)?.into())
}

/// Makes a file in memory that holds `bytes`, which no process can change any more (`F_SEAL_WRITE`, fcntl(2)).
///
/// # Errors
///
/// The process is out of memory or descriptors.
pub fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let made = memfd_create("adyton", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(stdio::above(made)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

/// Makes a file in `folder` that has no name (`O_TMPFILE`, open(2)). If the file system has no such files, makes a file
/// with a name and removes the name at once.
///
/// # Errors
///
/// The folder does not exist, cannot be written, or is full.
pub fn unlinked(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::TMPFILE | OFlags::EXCL;
    match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => Ok(stdio::above(fd)?.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => named_then_removed(folder),
        Err(error) => Err(error.into()),
    }
}

fn named_then_removed(folder: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL;
    for attempt in 0..u32::MAX {
        let path = folder.join(format!(".adyton-{}-{attempt}", std::process::id()));
        match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => {
                std::fs::remove_file(&path)?;
                return Ok(stdio::above(fd)?.into());
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
