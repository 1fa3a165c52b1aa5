//! Where the lines go: a file or standard output, either of which may fail without stopping the server.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use adyton_sys::clock;

use crate::log::{self, Level};

/// An open file, pipe or terminal.
pub(super) struct Sink {
    file: File,
    /// Whether the last write that got through ended inside a line.
    is_cut: bool,
    /// When a failure was told last, on the monotonic clock.
    told_ms: Option<u64>,
}

impl Sink {
    /// # Errors
    ///
    /// Those of open(2), and of dup(2) for standard output.
    pub(super) fn open(target: &str) -> io::Result<Self> {
        let file = if target == "-" {
            // A descriptor of our own goes around the standard library's buffer, and its lock.
            File::from(io::stdout().as_fd().try_clone_to_owned()?)
        } else {
            OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(target)?
        };
        Ok(Self::of(file))
    }

    pub(super) fn of(file: File) -> Self {
        Self { file, is_cut: false, told_ms: None }
    }

    /// Writes whole lines, usually by one write(2), which `O_APPEND` keeps apart from those of others.
    ///
    /// What a full disk or a closed pipe does not take is lost: to keep it would only move the limit.
    pub(super) fn write(&mut self, lines: &[u8]) {
        let Err(error) = self.try_write(lines) else { return };
        if self.may_tell(clock::monotonic_ms()) {
            log::write(
                Level::Error,
                format_args!("the access log cannot be written, and lines are lost: {error}"),
            );
        }
    }

    fn try_write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_cut {
            // What comes now is not the rest of the line that a failure has cut.
            self.write_all(b"\n")?;
        }
        self.write_all(lines)
    }

    /// `Write::write_all` does not say how far it came.
    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.is_cut = !bytes[..written].ends_with(b"\n");
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether a failure may be told: the error log is not to be flooded, least of all on the same disk.
    fn may_tell(&mut self, now_ms: u64) -> bool {
        let may = self.told_ms.is_none_or(|told_ms| now_ms.saturating_sub(told_ms) >= TELL_EVERY_MS);
        if may {
            self.told_ms = Some(now_ms);
        }
        may
    }
}

/// For the owner and a group that reads logs: addresses of clients are personal data.
const FILE_MODE: u32 = 0o640;

/// How often a failure is told.
const TELL_EVERY_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;

    use super::*;

    fn piped() -> (PipeReader, Sink) {
        let (reader, writer) = io::pipe().unwrap();
        (reader, Sink::of(File::from(OwnedFd::from(writer))))
    }

    #[test]
    fn a_cut_line_is_ended_before_the_next() {
        let (mut reader, mut sink) = piped();
        sink.write(b"whole\n");
        // As a disk that is full takes part of a line.
        sink.write_all(b"part of a li").unwrap();
        sink.write(b"next\n");
        sink.write(b"after\n");
        drop(sink);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();

        assert_eq!("whole\npart of a li\nnext\nafter\n", text);
    }

    #[test]
    fn a_failure_is_told_once_a_minute() {
        let (reader, mut sink) = piped();
        drop(reader);

        assert_eq!(ErrorKind::BrokenPipe, sink.try_write(b"lost\n").unwrap_err().kind());
        for (now_ms, expected) in [(5, true), (6, false), (60_004, false), (60_005, true), (60_006, false)] {
            assert_eq!(expected, sink.may_tell(now_ms), "{now_ms}");
        }
    }
}
