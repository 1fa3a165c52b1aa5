//! The descriptors 0, 1 and 2: all code that writes to standard error writes to whatever has the number 2.
//!
//! An application may close them. Then the next opened descriptor gets such a number, because the kernel gives the
//! lowest one that is free: were it a client's socket, that client would read what the application, the C library or a
//! program writes to standard error. Therefore the server keeps copies of its own with higher numbers ([`copy_of`]),
//! and nothing that it opens for a request keeps a number below 3 ([`above`]).

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

/// Writes a text to standard output. A reader that has gone, such as `| head`, is no error: it has seen enough.
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

/// Copies a stream to a descriptor above 2, which programs do not inherit.
///
/// # Errors
///
/// The stream is closed, or the process is out of descriptors.
pub fn copy_of(stream: Standard) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream.descriptor(), FIRST_OTHER)?)
}

/// Opens `/dev/null` in the place of each standard stream that is closed.
///
/// # Errors
///
/// `/dev/null` is missing, or the process is out of descriptors.
pub fn occupy() -> io::Result<()> {
    for number in 0..FIRST_OTHER {
        // SAFETY: only asks the kernel about the number; a closed one answers EBADF.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            put_nothing_at(number)?;
        }
    }
    Ok(())
}

/// Moves a descriptor to a number above 2, unless it has one. A lower number belongs to a standard stream that was
/// closed; `/dev/null` takes that place, so that the next descriptor need not move.
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
    // The file that has the number now stays open for good.
    let _ = fd.into_raw_fd();
    Ok(moved)
}

/// Opens `/dev/null` at a number, for programs as well, whatever was there.
fn put_nothing_at(number: RawFd) -> io::Result<()> {
    let nothing = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    if nothing.as_raw_fd() == number {
        rustix::io::fcntl_setfd(&nothing, rustix::io::FdFlags::empty())?;
        // The file that has the number now stays open for good.
        let _ = nothing.into_raw_fd();
        return Ok(());
    }
    put_at(&nothing, number, 0)
}

/// Puts `file` at the number of `place`, too, in one step: a thread that writes there writes to one or to the other.
///
/// # Errors
///
/// Errors of dup3(2).
pub fn replace(place: impl AsFd, file: impl AsFd) -> io::Result<()> {
    put_at(file, place.as_fd().as_raw_fd(), libc::O_CLOEXEC)
}

fn put_at(file: impl AsFd, number: RawFd, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: `number` belongs to a descriptor that the caller has or borrows, or is a standard stream's, which has no
    // owner; code that uses it goes on with an open one.
    match unsafe { libc::dup3(file.as_fd().as_raw_fd(), number, flags) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Puts `file` in the place of a stream, if that is still the file `former`: an application may have put something else
/// there. Returns whether it has replaced the stream.
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

/// Whether two descriptors are of the same file.
pub fn is_same(one: impl AsFd, other: impl AsFd) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// Clears [`crate::processes::process::NO_WAIT`] of a file that was opened with it: programs expect a file that waits.
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

    /// A descriptor above 2 keeps its number. (The lower ones are those of this test's process, and are tested from
    /// outside.)
    #[test]
    fn descriptors_above_stay() {
        let file = File::open("/dev/null").unwrap();
        let number = file.as_raw_fd();

        assert_eq!(number, above(file.into()).unwrap().as_raw_fd());
    }

    /// The number stands for the other file after the replacement.
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
