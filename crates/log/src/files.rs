//! The files of logs: how they are opened, for which user, and the original standard output.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use adyton_sys::stdio::Standard;
use adyton_sys::user::Identity;
use adyton_sys::{process, stdio, stream};

/// Files of logs that another user must be able to open, and that user.
static OTHERS: OnceLock<(Identity, Vec<PathBuf>)> = OnceLock::new();
/// The standard output at the time when the logs were opened, whatever the application does to descriptor 1.
static STDOUT: OnceLock<Arc<File>> = OnceLock::new();

/// Sets a file at the first call; a later call puts another file in its place, under the same descriptor.
pub(crate) fn set_file(place: &OnceLock<Arc<File>>, file: File) -> io::Result<()> {
    if let Some(own) = place.get() {
        return stdio::replace(&**own, file);
    }
    // No other thread opens a log at the same time.
    let _ = place.set(Arc::new(file));
    Ok(())
}

/// Keeps the present standard output.
///
/// # Errors
///
/// The errors of dup(2).
pub(crate) fn keep_stdout() -> io::Result<()> {
    set_file(&STDOUT, File::from(stdio::copy_of(Standard::Output)?))
}

/// Returns the standard output at the time when the logs were opened.
pub(crate) fn stdout() -> io::Result<Arc<File>> {
    match STDOUT.get() {
        Some(own) => Ok(Arc::clone(own)),
        None => Ok(Arc::new(File::from(stdio::copy_of(Standard::Output)?))),
    }
}

/// Makes these files of logs for another user, now and whenever they are opened again, so that processes of that user
/// can open them. Called by a supervisor that is root.
///
/// # Errors
///
/// A file cannot be opened.
pub fn make_for(identity: Identity, files: Vec<PathBuf>) -> io::Result<()> {
    // No other thread makes files at the same time.
    let (identity, files) = OTHERS.get_or_init(|| (identity, files));
    files.iter().try_for_each(|path| open_file_for(path, identity).map(|_| ()))
}

/// Opens the file of a log.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    match OTHERS.get() {
        Some((identity, _)) => open_file_for(path, identity),
        None => open_with(path, 0),
    }
}

/// Opens the files of another user again, so that they exist; returns the path of each and the result.
pub(crate) fn open_for_others() -> impl Iterator<Item = (&'static Path, io::Result<()>)> {
    let files = OTHERS.get().map_or(&[][..], |(_, files)| files);
    files.iter().map(|path| (path.as_path(), open_file(path).map(|_| ())))
}

/// Opens a log file to append to. A new file can be written only by its owner, and read only by its owner and its
/// group: addresses of clients are personal data. A pipe is opened even if it has no reader yet: the data waits in the
/// pipe for one.
///
/// # Errors
///
/// The errors of open(2).
fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let open = |reads: bool| {
        let mut options = OpenOptions::new();
        options.append(true).create(true).read(reads).mode(FILE_MODE);
        options.custom_flags(flags | process::NO_WAIT).open(path)
    };
    let file = match open(false) {
        // A process that has both ends of a pipe need not wait for a reader (fifo(7)), nor open the pipe again for the
        // next reader.
        Ok(file) if stream::is_fifo(&file) => open(true).unwrap_or(file),
        Err(error) if error.raw_os_error() == Some(stream::NO_READER) => open(true)?,
        opened => opened?,
    };
    let file = File::from(stdio::above(file.into())?);
    stdio::let_wait(&file)?;
    Ok(file)
}

/// Opens a file as root on behalf of another user, who becomes its owner. In a folder of that user, a symbolic link
/// could lead root anywhere, so links are not followed.
///
/// # Errors
///
/// The errors of open(2) and fchown(2).
fn open_file_for(path: &Path, identity: &Identity) -> io::Result<File> {
    if path.starts_with("/dev") {
        // Devices are not given away, and `/dev/stderr` is a link.
        return open_with(path, 0);
    }
    let file = open_with(path, process::NO_FOLLOW)?;
    identity.own(&file)?;
    Ok(file)
}

/// Mode of a log file: its owner, and a group that reads logs.
const FILE_MODE: u32 = 0o640;
