//! The head of a script's answer, as field lines (RFC 3875 section 6.3).

use std::fmt;

use adyton_http::bytes::{find_forbidden_in_value, is_token, trim};

/// The longest head. Apache limits a line to 8 KiB, and nginx the head to 4 or 8 KiB; pages with many cookies need
/// more.
pub const HEAD_BYTES_MAX: usize = 64 << 10;

/// A field: its name, and its value without the blanks around it.
pub type FieldLine<'h> = (&'h [u8], &'h [u8]);

/// The fields of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<'h> {
    /// Fields for the client, in their order: all except `Status`.
    pub fields: Vec<FieldLine<'h>>,
    /// The value of `Status`.
    pub status: Option<&'h [u8]>,
    /// The value of `Location`, which is also among the fields.
    pub location: Option<&'h [u8]>,
}

/// The reason why a script's head cannot be understood. The script is at fault: the client gets a 500, and the log gets
/// a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadHead {
    /// The output has ended before the end of the head.
    Ended,
    /// The head has more than [`HEAD_BYTES_MAX`] bytes.
    TooLong,
    /// A line is not a field: it has no colon, or no name before the colon.
    NoField(String),
    /// The value of this field holds a control character.
    Value(String),
    /// The head has this field twice.
    Twice(&'static str),
    /// The head has neither `Content-Type` nor `Location` nor `Status`.
    Nothing,
    /// The status is not a number from 200 to 599.
    Status(String),
    /// The output should go to the client unparsed, but its first line does not begin with an HTTP version and a
    /// status.
    NoStatusLine(String),
}

impl fmt::Display for BadHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadHead::Ended => write!(
                f,
                "its output ended before the empty line after the fields; print Content-Type and an empty line first"
            ),
            BadHead::TooLong => write!(
                f,
                "its fields have more than {HEAD_BYTES_MAX} bytes; is the empty line after them missing?"
            ),
            BadHead::NoField(line) => {
                write!(f, "it printed {line:?} where a field is wanted, as Content-Type: text/html")
            }
            BadHead::Value(name) => {
                write!(f, "the value of the field {name} holds a control character; remove it")
            }
            BadHead::Twice(name) => write!(f, "it printed the field {name} twice; print it once"),
            BadHead::Nothing => write!(f, "it printed none of Content-Type, Location and Status"),
            BadHead::Status(value) => {
                write!(f, "the Status {value:?} does not begin with a number from 200 to 599")
            }
            BadHead::NoStatusLine(line) => {
                write!(f, "it printed {line:?} where a status line is wanted, as HTTP/1.1 200 OK")
            }
        }
    }
}

impl std::error::Error for BadHead {}

/// Finds the end of the head in the bytes that have come so far. Returns the length of its lines, once without and once
/// with the empty line after them. Bytes before `from` are not searched again, except for the end of a line.
///
/// Lines end in LF or in CRLF: RFC 3875 section 6.2 leaves the choice to the system, and scripts use both.
pub fn find_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    // An empty line at the very beginning is a head without fields.
    if let Some(length) = empty_line(bytes) {
        return Some((0, length));
    }
    let from = from.saturating_sub(2);
    memchr::memchr_iter(b'\n', bytes.get(from..)?).find_map(|at| {
        let lines = from + at + 1;
        empty_line(&bytes[lines..]).map(|length| (lines, lines + length))
    })
}

/// Returns the length of the empty line with which these bytes begin.
fn empty_line(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

impl<'h> Head<'h> {
    /// Reads the lines of a head, without the empty line.
    ///
    /// # Errors
    ///
    /// [`BadHead`].
    pub fn parse(lines: &'h [u8]) -> Result<Head<'h>, BadHead> {
        let mut head = Head { fields: Vec::new(), status: None, location: None };
        let mut has_type = false;
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let (name, value) = field(line)?;
            if name.eq_ignore_ascii_case(b"Status") {
                once(&mut head.status, value, "Status")?;
                continue;
            }
            if name.eq_ignore_ascii_case(b"Location") {
                once(&mut head.location, value, "Location")?;
            } else if name.eq_ignore_ascii_case(b"Content-Type") && std::mem::replace(&mut has_type, true) {
                return Err(BadHead::Twice("Content-Type"));
            }
            head.fields.push((name, value));
        }
        if has_type || head.status.is_some() || head.location.is_some() {
            Ok(head)
        } else {
            Err(BadHead::Nothing)
        }
    }

    /// Returns the fields for a client that gets this status. Like Apache, removes the media type and the length from a
    /// 204 and a 304, because `CGI.pm` prints a `Content-Type` with every status. From a 304, also removes other fields
    /// about the representation, unless they guide a cache, as `ETag` and `Last-Modified` do (RFC 9110 section 15.4.5).
    pub fn fields_for(&self, status: u16) -> impl Iterator<Item = FieldLine<'h>> {
        let absent: &[&str] = match status {
            204 => &["Content-Type", "Content-Length"],
            304 => &["Content-Type", "Content-Length", "Content-Encoding", "Content-Language"],
            _ => &[],
        };
        let is_sent = |name: &[u8]| !absent.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
        self.fields.iter().copied().filter(move |(name, _)| is_sent(name))
    }
}

/// Reads one line. A line that begins with a blank would continue the line before it (obs-fold, RFC 9112 section 5.2);
/// here it is refused, because it is not a field.
fn field(line: &[u8]) -> Result<FieldLine<'_>, BadHead> {
    let colon = memchr::memchr(b':', line).ok_or_else(|| BadHead::NoField(shown(line)))?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if !is_token(name) {
        return Err(BadHead::NoField(shown(line)));
    }
    match find_forbidden_in_value(value, 0) {
        Some(_) => Err(BadHead::Value(shown(name))),
        None => Ok((name, trim(value))),
    }
}

fn once<'h>(place: &mut Option<&'h [u8]>, value: &'h [u8], name: &'static str) -> Result<(), BadHead> {
    match place.replace(value) {
        Some(_) => Err(BadHead::Twice(name)),
        None => Ok(()),
    }
}

/// Returns the beginning of a script's output as readable text.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]).into_owned()
}

/// Bytes of output that are shown in a message: enough to recognise a line.
const SHOWN_BYTES_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::{BadHead, Head, find_end};

    /// The end is found however the bytes are cut into pieces, and with both kinds of line ends.
    #[test]
    fn ends() {
        for (text, expected) in [
            ("A: 1\n\nbody", Some((5, 6))),
            ("A: 1\r\n\r\nbody", Some((6, 8))),
            ("A: 1\nB: 2\r\n\nbody\n\n", Some((11, 12))),
            ("\nbody", Some((0, 1))),
            ("\r\nbody", Some((0, 2))),
            ("A: 1\n", None),
            ("A: 1\r\n\r", None),
            ("", None),
        ] {
            assert_eq!(expected, find_end(text.as_bytes(), 0), "{text:?}");
            let in_pieces = (0..=text.len())
                .find_map(|filled| find_end(&text.as_bytes()[..filled], filled.saturating_sub(1)));
            assert_eq!(expected, in_pieces, "{text:?} byte by byte");
        }
    }

    #[test]
    fn fields() {
        let head = Head::parse(b"status: 404 Not here\r\nContent-Type:text/plain \nX-A: b: c\n");
        let fields = vec![(&b"Content-Type"[..], &b"text/plain"[..]), (b"X-A", b"b: c")];

        assert_eq!(Ok(Head { fields, status: Some(b"404 Not here"), location: None }), head);
    }

    #[test]
    fn fields_of_a_status() {
        let all = ["Content-Type", "content-length", "Content-Encoding", "CONTENT-LANGUAGE", "ETag", "X-A"];
        let lines = all.join(": 1\n") + ": 1\n";
        for (status, expected) in [(200, &all[..]), (204, &all[2..]), (205, &all[..]), (304, &all[4..])] {
            let head = Head::parse(lines.as_bytes());
            let names = head.iter().flat_map(|head| head.fields_for(status)).map(|(name, _)| name);

            assert!(expected.iter().map(|name| name.as_bytes()).eq(names), "{status}");
        }
    }

    #[test]
    fn what_is_no_head() {
        let no_field = |line: &str| BadHead::NoField(line.to_owned());
        for (text, expected) in [
            ("", BadHead::Nothing),
            ("X-A: 1\n", BadHead::Nothing),
            ("hello\n", no_field("hello")),
            (": x\n", no_field(": x")),
            ("A B: x\n", no_field("A B: x")),
            ("A : x\n", no_field("A : x")),
            ("Content-Type: a\n continued: b\n", no_field(" continued: b")),
            ("A: x\0y\n", BadHead::Value("A".to_owned())),
            ("A: x\ry\n", BadHead::Value("A".to_owned())),
            ("Location: /a\nLocation: /b\n", BadHead::Twice("Location")),
            ("Status: 200\nStatus: 200\n", BadHead::Twice("Status")),
            ("Content-Type: a\nContent-type: a\n", BadHead::Twice("Content-Type")),
        ] {
            assert_eq!(Err(expected), Head::parse(text.as_bytes()), "{text:?}");
        }
    }
}
