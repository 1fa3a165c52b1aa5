//! The descriptors 0, 1 and 2: whatever has the number 2 is written to by all code that takes it for standard error.
//!
//! An application may close them. The next thing that is opened has such a number then, because the kernel gives the lowest
//! one that is free: were it a client's socket, that client would read what the application, the C library or a program that
//! it starts says on standard error. So the server keeps copies of its own above them ([`copy_of`]), and nothing that it
//! opens for a request stays there ([`above`]).

use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags};

/// The first number behind theirs.
const FIRST_OTHER: RawFd = 3;

/// A stream of the process.
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

/// Writes a text to standard output. A reader that has gone, as `| head`, has seen enough: that is no error.
///
/// # Errors
///
/// It cannot be written, as on a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(io::Error::new(error.kind(), format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// A copy, with a number above them and not for programs that are started.
///
/// # Errors
///
/// It is closed, or the process is out of descriptors.
pub fn copy_of(stream: Standard) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(stream.descriptor(), FIRST_OTHER)?)
}

/// Opens `/dev/null` in the place of each of them that is closed.
///
/// # Errors
///
/// There is no `/dev/null`, or the process is out of descriptors.
pub fn occupy() -> io::Result<()> {
    for number in 0..FIRST_OTHER {
        // SAFETY: only asks the kernel about the number; a closed one answers EBADF.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            put_nothing_at(number)?;
        }
    }
    Ok(())
}

/// The same descriptor, with a number above 2. Where it has one of these, that stream was closed, and `/dev/null` takes
/// its place: the next descriptor need not move.
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
    // What has the number now is open for good.
    let _ = fd.into_raw_fd();
    Ok(moved)
}

/// Has `/dev/null` at a number, for programs that are started as well, whatever was there.
fn put_nothing_at(number: RawFd) -> io::Result<()> {
    let nothing = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    if nothing.as_raw_fd() == number {
        rustix::io::fcntl_setfd(&nothing, rustix::io::FdFlags::empty())?;
        // As above.
        let _ = nothing.into_raw_fd();
        return Ok(());
    }
    put_at(&nothing, number, 0)
}

/// Has `file` at the number of `place`, too, in one step: a thread that writes there writes to one or to the other.
///
/// # Errors
///
/// As dup3(2).
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

/// Has `file` take the place of a stream, if that is still the file `former`: an application may have put something else
/// there. Says whether it has.
///
/// # Errors
///
/// As dup2(2).
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

/// Has a file wait again that was opened with [`crate::processes::process::NO_WAIT`]: programs that are started expect that of it.
///
/// # Errors
///
/// As fcntl(2).
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

    /// A descriptor above 2 stays what it is. (The lower ones are those of this test's process, and are tested from
    /// outside.)
    #[test]
    fn descriptors_above_stay() {
        let file = File::open("/dev/null").unwrap();
        let number = file.as_raw_fd();

        assert_eq!(number, above(file.into()).unwrap().as_raw_fd());
    }

    /// The same number stands for the other file afterwards.
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
