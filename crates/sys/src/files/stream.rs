//! Writes a log without waiting for a reader.
//!
//! A file takes everything, but a pipe, a socket or a terminal has a reader, which may have stopped reading.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::FileType;
use rustix::io::{Errno, IoSlice, ReadWriteFlags, pwritev2};

use crate::sockets::socket::{self, Until};

/// The most bytes that a pipe takes whole or not at all (`PIPE_BUF`, pipe(7)), so that lines of several processes do
/// not mix.
pub const WHOLE_BYTES_MAX: usize = 4096;

/// Makes `pwritev2` write at the present position, for streams that have no offsets.
const NO_OFFSET: u64 = u64::MAX;

/// Whether a reader has to read the written bytes before more can be written.
pub fn has_reader(fd: impl AsFd) -> bool {
    let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket | FileType::CharacterDevice))
}

/// Whether the descriptor is a pipe, named or unnamed.
pub fn is_fifo(fd: impl AsFd) -> bool {
    let kind = rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo))
}

/// The error of open(2) for a named pipe that nobody reads.
pub const NO_READER: i32 = libc::ENXIO;

/// Writes as many of the bytes as possible without waiting for the reader; returns their number.
///
/// # Errors
///
/// `WouldBlock` if not one byte can be written; else errors of write(2).
pub fn write_now(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    match pwritev2(&fd, &[IoSlice::new(bytes)], NO_OFFSET, ReadWriteFlags::NOWAIT) {
        // Terminals, and pipes before Linux 6.4, refuse the flag. A pipe that poll(2) calls writable takes
        // `WHOLE_BYTES_MAX` bytes without waiting, unless another process writes first.
        Err(Errno::OPNOTSUPP) if socket::wait(&fd, Until::Writable, 0)? => {
            Ok(rustix::io::write(&fd, &bytes[..bytes.len().min(WHOLE_BYTES_MAX)])?)
        }
        Err(Errno::OPNOTSUPP) => Err(io::ErrorKind::WouldBlock.into()),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

    use std::io::{ErrorKind, Read};
    use std::os::unix::net::UnixStream;

    use super::{WHOLE_BYTES_MAX, has_reader, write_now};

    /// Fills the pipe, and checks that the write does not wait and that a read makes room again.
    fn fill(writer: &impl std::os::fd::AsFd, mut reader: impl Read) {
        let page = [b'x'; WHOLE_BYTES_MAX];
        let mut written = 0;
        let error = loop {
            match write_now(writer, &page) {
                Ok(bytes) => written += bytes,
                Err(error) => break error,
            }
        };

        assert_eq!(ErrorKind::WouldBlock, error.kind());
        assert!(written >= 2 * WHOLE_BYTES_MAX);

        reader.read_exact(&mut vec![0; written]).unwrap();

        assert_eq!(WHOLE_BYTES_MAX, write_now(writer, &page).unwrap());
    }

    #[test]
    fn a_full_pipe_or_socket_is_not_waited_for() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert!(has_reader(&writer));
        fill(&writer, reader);
        let (reader, writer) = UnixStream::pair().unwrap();
        assert!(has_reader(&writer));
        fill(&writer, reader);
    }

    #[test]
    fn a_file_has_no_reader() {
        assert!(!has_reader(std::fs::File::open("/proc/self/exe").unwrap()));
    }

    #[test]
    fn a_pipe_without_a_reader_is_an_error() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);

        assert_eq!(ErrorKind::BrokenPipe, write_now(&writer, b"x").unwrap_err().kind());
    }
}
