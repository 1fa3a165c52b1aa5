//! Reasons why a request has no answer, or a wrong one.

use std::fmt;
use std::io;

use crate::counting::answer::Came;

/// The reason why a request has no answer, or an answer whose body is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Connecting or sending failed, as the kernel says.
    Kernel(io::ErrorKind),
    /// The connection ended before any byte of the answer came.
    EndedBefore,
    /// A kept connection ended before any byte of the next answer came: earlier answers had come over it, and the last
    /// of them did not announce the end.
    EndedKept,
    /// The connection ended within the answer.
    CutShort,
    /// The body is not as long as the right one.
    WrongLength,
    /// The body is as long as the right one, and differs from it.
    WrongBytes,
    /// The answer breaks a rule of HTTP.
    Malformed(&'static str),
    /// Bytes came that were not asked for.
    Unasked,
    /// The listen queue of a unix socket is full.
    QueueFull,
    /// No whole answer came within the time that the user allows; the value tells which part had come.
    TimedOut(Came),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(io::ErrorKind::ConnectionRefused) => f.write_str("connection refused"),
            Self::Kernel(io::ErrorKind::ConnectionReset) => f.write_str("connection reset"),
            Self::Kernel(io::ErrorKind::BrokenPipe) => f.write_str("connection closed while sending"),
            Self::Kernel(io::ErrorKind::NotFound) => f.write_str("there is no such socket"),
            Self::Kernel(kind) => write!(f, "{kind}"),
            Self::EndedBefore => f.write_str("connection closed without an answer"),
            Self::CutShort => f.write_str("answer cut short"),
            Self::WrongLength => f.write_str("wrong length"),
            Self::WrongBytes => f.write_str("wrong bytes"),
            Self::Malformed(reason) => write!(f, "malformed answer: {}", reason.trim_end_matches('.')),
            Self::Unasked => f.write_str("more came than was asked for"),
            Self::QueueFull => f.write_str("the listen queue is full"),
            Self::EndedKept => f.write_str("kept connection closed without notice"),
            Self::TimedOut(came) => f.write_str(match came {
                Came::NoConnection => "timed out: no connection was made",
                Came::Unsent => "timed out: the server did not take the whole request",
                Came::Nothing => "timed out: nothing came",
                Came::Interim => "timed out: interim answers only",
                Came::PartOfHead => "timed out: a part of the head only",
                Came::Head => "timed out: the head only, nothing of the body",
                Came::PartOfBody => "timed out: a part of the body only",
            }),
        }
    }
}
