//! Pipes to and from programs: pipe(7).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::files::stdio;

/// Usual capacity of a new pipe, and so the most bytes that [`filled`] can put into one.
pub const BYTES_USUAL: usize = 64 << 10;

/// Makes a pipe: returns the end to read, which never blocks, and the end that a program writes to, which may block.
///
/// # Errors
///
/// The process is out of descriptors.
pub fn from_program() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pair()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok((reader, writer))
}

/// Makes a pipe: returns the end to read, which may block, and the end that signal handlers write to, which never
/// blocks.
///
/// # Errors
///
/// The process is out of descriptors.
pub fn from_signals() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pair()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    Ok((reader, writer))
}

/// Makes a pipe that holds these bytes and then ends, and returns its end to read; `None` if the pipe does not take all
/// of the bytes.
///
/// # Errors
///
/// The process is out of descriptors.
pub fn filled(bytes: &[u8]) -> io::Result<Option<OwnedFd>> {
    let (reader, writer) = pair()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    match rustix::io::write(&writer, bytes) {
        Ok(written) if written == bytes.len() => Ok(Some(reader)),
        Ok(_) | Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Capacity of a [`Channel`], if the user may hold so many bytes in pipes (pipe(7), `pipe-user-pages-soft`).
const CHANNEL_BYTES: usize = 256 << 10;

/// A pipe through which bytes go from a socket to a file without passing through this process (splice(2)).
#[derive(Debug)]
pub struct Channel {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Channel {
    /// Makes an empty channel.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pair()?;
        // If the kernel refuses the larger capacity, the channel is slower but still correct.
        let _ = fcntl_setpipe_size(&writer, CHANNEL_BYTES);
        Ok(Self { reader, writer })
    }

    /// Moves up to `bytes` bytes that have arrived at a non-blocking socket into the channel; returns 0 at the peer's
    /// end, and `None` if nothing has arrived.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub fn take_from(&self, socket: impl AsFd, bytes: usize) -> io::Result<Option<usize>> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        match splice(socket, None, &self.writer, None, bytes, flags) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the `bytes` in the channel to a file, at the file's position.
    ///
    /// # Errors
    ///
    /// The file cannot be written; some of the bytes may then still be in the channel.
    pub fn give_to(&self, file: impl AsFd, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            match splice(&self.reader, None, &file, None, left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(given) => left -= given,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((stdio::above(reader)?, stdio::above(writer)?))
}

/// Reads the bytes that have come and returns their number; 0 at the end, and `None` while there are none.
///
/// # Errors
///
/// Errors of read(2).
pub fn read_now(pipe: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::io::read(pipe, buffer) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the same file again, at its beginning and only for reading.
///
/// # Errors
///
/// `/proc` is missing, or the process is out of descriptors.
pub fn reread(file: impl AsFd) -> io::Result<OwnedFd> {
    let place = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    stdio::above(rustix::fs::open(place, flags, Mode::empty())?)
}

/// Opens a file that has no bytes, to read from.
///
/// # Errors
///
/// `/dev/null` is missing, or the process is out of descriptors.
pub fn nothing() -> io::Result<OwnedFd> {
    stdio::above(File::open("/dev/null")?.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{self, Read, Write};

    use super::{BYTES_USUAL, filled, from_program, read_now, reread};

    #[test]
    fn what_is_in_a_pipe() -> io::Result<()> {
        let mut text = String::new();
        let reader = filled(b"body")?.ok_or(io::ErrorKind::WouldBlock)?;
        File::from(reader).read_to_string(&mut text)?;

        assert_eq!("body", text);
        assert!(filled(&[0; 4096])?.is_some());
        assert!(filled(&vec![0; 16 * BYTES_USUAL + 1])?.is_none());
        Ok(())
    }

    #[test]
    fn what_a_program_writes() -> io::Result<()> {
        let (reader, writer) = from_program()?;
        let mut buffer = [0; 9];
        assert_eq!(None, read_now(&reader, &mut buffer)?);
        File::from(writer).write_all(b"abc")?;

        assert_eq!(Some(3), read_now(&reader, &mut buffer)?);
        assert_eq!(Some(0), read_now(&reader, &mut buffer)?);
        Ok(())
    }

    /// A program that gets a body to read cannot change the server's file.
    #[test]
    fn what_is_read_again() -> io::Result<()> {
        let mut file = crate::files::temp::unlinked(&std::env::temp_dir())?;
        file.write_all(b"body")?;
        let mut again = File::from(reread(&file)?);
        let mut text = String::new();
        again.read_to_string(&mut text)?;

        assert_eq!("body", text);
        assert!(again.write_all(b"x").is_err());
        Ok(())
    }
}
