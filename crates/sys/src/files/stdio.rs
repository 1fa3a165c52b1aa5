//! The descriptors 0, 1 and 2, which keep their meaning even if an application closes them.
//!
//! All code that writes to standard error writes to whatever file has the number 2. If an application closes such a
//! descriptor, the next opened file gets its number, because the kernel gives the lowest free one. If that file were a
//! client's socket, the client would read what the application, the C library or a program writes to standard error.
//! Therefore the server keeps copies of its own with higher numbers ([`copy_of`]), and nothing that it opens for a
//! request keeps a number below 3 ([`above`]).

use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags};

/// The first number above the standard streams.
const FIRST_OTHER: RawFd = 3;

/// A standard stream of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

impl Standard {
    fn descriptor(self) -> BorrowedFd<'static> {
        match self {
            Self::Output => rustix::stdio::stdout(),
            Self::Error => rustix::stdio::stderr(),
        }
    }
}

/// Writes a text to standard output. It is no error if the reader is gone: `head`, for example, ends before it has read
/// everything.
///
/// # Errors
///
/// The text cannot be written, for example to a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(io::Error::new(error.kind(), format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Copies a stream to a descriptor above 2. Programs that this process starts do not inherit the copy.
///
/// # Errors
///
/// The stream is closed, or the process is out of descriptors.
pub fn copy_of(stream: Standard) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream.descriptor(), FIRST_OTHER)?)
}

/// Opens `/dev/null` at the number of each standard stream that is closed.
///
/// # Errors
///
/// `/dev/null` is missing, or the process is out of descriptors.
pub fn occupy() -> io::Result<()> {
    for number in 0..FIRST_OTHER {
        // SAFETY: only asks the kernel about the number; for a closed one the answer is EBADF.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            put_nothing_at(number)?;
        }
    }
    Ok(())
}

/// Moves a descriptor to a number above 2, unless its number is already above. A lower number belongs to a standard
/// stream that was closed: `/dev/null` is opened at that number, so that the next descriptor need not move.
///
/// # Errors
///
/// The process is out of descriptors.
#[inline]
pub fn above(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() >= FIRST_OTHER { Ok(fd) } else { move_up(fd) }
}

#[cold]
fn move_up(fd: OwnedFd) -> io::Result<OwnedFd> {
    let moved = rustix::io::fcntl_dupfd_cloexec(&fd, FIRST_OTHER)?;
    put_nothing_at(fd.as_raw_fd())?;
    // `/dev/null`, which has the number now, stays open for good.
    let _ = fd.into_raw_fd();
    Ok(moved)
}

/// Opens `/dev/null` at a number and replaces what was open there; programs that this process starts inherit it.
fn put_nothing_at(number: RawFd) -> io::Result<()> {
    let nothing = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    if nothing.as_raw_fd() == number {
        rustix::io::fcntl_setfd(&nothing, rustix::io::FdFlags::empty())?;
        // `/dev/null` already has the number, and stays open for good.
        let _ = nothing.into_raw_fd();
        return Ok(());
    }
    put_at(&nothing, number, 0)
}

/// Makes the descriptor `place` refer to `file`, in one step: a thread that writes to it writes to the old or the new
/// file.
///
/// # Errors
///
/// Errors of dup3(2).
pub fn replace(place: impl AsFd, file: impl AsFd) -> io::Result<()> {
    put_at(file, place.as_fd().as_raw_fd(), libc::O_CLOEXEC)
}

fn put_at(file: impl AsFd, number: RawFd, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: `number` belongs to a descriptor that the caller has or borrows, or is a standard stream's, which has no
    // owner; code that uses the number still finds an open descriptor there.
    match unsafe { libc::dup3(file.as_fd().as_raw_fd(), number, flags) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Puts `file` in the place of a stream if the stream is still the file `former`; an application may have replaced it.
/// Returns whether `file` now has that place.
///
/// # Errors
///
/// Errors of dup2(2).
pub fn replace_if_still(stream: Standard, former: impl AsFd, file: impl AsFd) -> io::Result<bool> {
    let is_still = is_same(stream.descriptor(), former);
    if is_still {
        put_at(file, stream.descriptor().as_raw_fd(), 0)?;
    }
    Ok(is_still)
}

/// Whether two descriptors refer to the same file.
pub fn is_same(one: impl AsFd, other: impl AsFd) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// Clears [`crate::processes::process::NO_WAIT`] of a file that was opened with it: programs expect that writing
/// blocks.
///
/// # Errors
///
/// Errors of fcntl(2).
pub fn let_wait(file: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    Ok(rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::{above, is_same, replace};

    /// A descriptor above 2 keeps its number. (The numbers up to 2 belong to the process that runs this test; tests
    /// outside this crate move these descriptors.)
    #[test]
    fn descriptors_above_stay() {
        let file = File::open("/dev/null").unwrap();
        let number = file.as_raw_fd();

        assert_eq!(number, above(file.into()).unwrap().as_raw_fd());
    }

    /// After the replacement, the number refers to the other file.
    #[test]
    fn replaced() {
        let place = File::open("/dev/null").unwrap();
        let other = File::open("/proc/self/exe").unwrap();
        let number = place.as_raw_fd();
        assert!(!is_same(&place, &other));

        replace(&place, &other).unwrap();

        assert!(is_same(&place, &other));
        assert_eq!(number, place.as_raw_fd());
    }
}
