//! One answer as it arrives, without I/O: where it ends, and whether it is right.

use adyton_http1::{BodyFraming, Oddities, Received, ReceivedBody, Refusal};

use crate::generator::random::Random;
use crate::plan::{Check, Statuses};

/// With [`Check::Sample`], one body in this many is compared byte by byte: that costs little, and a wrong body that
/// comes ten times a second is still seen within two seconds on average.
pub(crate) const SAMPLE: usize = 16;

/// The right answer to a request.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) statuses: Statuses,
    pub(crate) check: Check,
    /// The right body.
    pub(crate) body: Vec<u8>,
    /// Whether the answers have no body, whatever their heads say.
    pub(crate) to_head: bool,
    /// The Content-Length that an answer to HEAD must have, if it has one; `None` if any length is right.
    pub(crate) told_bytes: Option<u64>,
}

/// The judgement of a complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The answer is right in all that is checked.
    Right,
    /// The status is not one of the right ones; the body is of no interest then.
    WrongStatus,
    /// The status is right, but the body has a wrong length, or an answer to HEAD has a wrong Content-Length.
    WrongLength,
    /// Status and length are right, the bytes are not.
    WrongBytes,
}

/// A complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JudgedAnswer {
    pub(crate) judgement: Judgement,
    pub(crate) status: u16,
    /// Whether every byte of the body was compared.
    pub(crate) compared: bool,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    /// The length that the answer's Content-Length tells.
    pub(crate) told_bytes: Option<u64>,
    /// Whether the server takes further requests on this connection.
    pub(crate) keep_alive: bool,
    /// Interim answers (1xx) that came before this one.
    pub(crate) interim: u32,
    /// Violations of HTTP in the head that clients overlook.
    pub(crate) oddities: Oddities,
}

/// A wrong answer, as it is shown to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Looks {
    /// The head, of at most [`HEAD_BYTES_MAX`].
    pub(crate) head: Vec<u8>,
    /// The fault of the body, in words.
    pub(crate) body: String,
}

/// The largest number of bytes of a head that are shown.
pub(crate) const HEAD_BYTES_MAX: usize = 2048;

/// Bytes of a body that are shown where it differs from the right one.
const SHOWN_BYTES: usize = 24;

/// The part of an incomplete answer that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Came {
    /// Nothing, because there was no connection yet.
    NoConnection,
    /// Nothing, because the server has not taken the whole request.
    Unsent,
    /// Nothing, although the server has taken the whole request.
    Nothing,
    /// Interim answers.
    Interim,
    /// A part of the head.
    PartOfHead,
    /// The head.
    Head,
    /// The head and a part of the body.
    PartOfBody,
}

/// Reads the answers of one connection, in any pieces in which they come.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Bytes of a head that is not complete.
    held: Vec<u8>,
    body: Option<InBody>,
    /// The head of the answer under way, if the body came later: a wrong answer is shown with its head.
    head: Vec<u8>,
    /// Interim answers since the last complete answer.
    pub(crate) interim: u32,
    /// The last wrong answer as it is shown, until it is taken.
    pub(crate) looks: Option<Box<Looks>>,
    /// Chooses at random the bodies to compare, if not every body is compared.
    sample: Random,
}

#[derive(Debug)]
struct InBody {
    head: Received,
    reader: ReceivedBody,
    /// Whether the bytes of the body are compared.
    compared: bool,
    /// Offset of the first byte that differs from the right body, and the bytes from there; `None` if the body is not
    /// compared.
    differs: Option<(u64, Vec<u8>)>,
}

impl Reader {
    /// Makes a reader that draws from `seed` which bodies it compares.
    pub(crate) fn new(seed: u64) -> Self {
        let sample = Random::new(seed);
        Self { held: Vec::new(), body: None, head: Vec::new(), interim: 0, looks: None, sample }
    }

    /// Whether no byte of the next answer has come.
    pub(crate) fn is_between(&self) -> bool {
        self.held.is_empty() && self.body.is_none()
    }

    /// Tells in words how much of an incomplete answer has come; `None` if nothing has come.
    pub(crate) fn come(&self) -> Option<String> {
        if let Some(body) = &self.body {
            let bytes = body.reader.bytes();
            return Some(match body.head.framing {
                BodyFraming::Length(length) => format!("{bytes} of the {length} bytes of the body"),
                _ => format!("{bytes} bytes of the body"),
            });
        }
        (!self.held.is_empty()).then(|| format!("{} bytes of the head", self.held.len()))
    }

    /// Returns how much of an incomplete answer has come.
    pub(crate) fn came(&self) -> Came {
        match &self.body {
            Some(body) if body.reader.bytes() > 0 => Came::PartOfBody,
            Some(_) => Came::Head,
            None if !self.held.is_empty() => Came::PartOfHead,
            None if self.interim > 0 => Came::Interim,
            None => Came::Nothing,
        }
    }

    /// Forgets the bytes that have come, because the connection is a new one.
    pub(crate) fn reset(&mut self) {
        self.held.clear();
        (self.body, self.interim) = (None, 0);
    }

    /// Reads from the front of `input`; returns the number of bytes that it took, and the answer if they complete one.
    /// The caller goes on with the rest. `keep` gets each piece of the body.
    ///
    /// # Errors
    ///
    /// The answer breaks a rule of HTTP.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        expected: &Expected,
        keep: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, Option<JudgedAnswer>), Refusal> {
        let mut taken = 0;
        if self.body.is_none() {
            let Some((bytes, head)) = self.feed_head(input, expected.to_head)? else {
                return Ok((input.len(), None));
            };
            taken = bytes;
            if head.status < 200 {
                self.interim = self.interim.saturating_add(1);
                return Ok((taken, None));
            }
            let compared = match expected.check {
                Check::Body => true,
                Check::Sample => self.sample.below(SAMPLE) == 0,
                Check::Length | Check::Nothing => false,
            };
            let reader = ReceivedBody::new(head.framing);
            self.body = Some(InBody { head, reader, compared, differs: None });
        }
        let head = &input[..taken];
        let Some(body) = &mut self.body else { return Ok((taken, None)) };
        let (bytes, is_complete) = body.feed(&input[taken..], expected, keep)?;
        taken += bytes;
        if !is_complete {
            // The head of an answer that comes at once with its body, as most do, is never copied.
            self.head.extend_from_slice(&head[..head.len().min(HEAD_BYTES_MAX)]);
            return Ok((taken, None));
        }
        let answer = self.judged(head, expected);
        Ok((taken, answer))
    }

    /// Judges the answer that is whole now, and keeps a wrong one to be shown. `head` is the part of its head that has
    /// come with the last bytes.
    fn judged(&mut self, head: &[u8], expected: &Expected) -> Option<JudgedAnswer> {
        let body = self.body.take()?;
        let answer = JudgedAnswer { interim: std::mem::take(&mut self.interim), ..body.judge(expected) };
        if answer.judgement != Judgement::Right {
            self.head.extend_from_slice(head);
            self.head.truncate(HEAD_BYTES_MAX);
            let looks =
                Looks { head: std::mem::take(&mut self.head), body: body.wrong(expected, answer.judgement) };
            self.looks = Some(Box::new(looks));
        }
        self.head.clear();
        Some(answer)
    }

    /// Notes that the server has closed the connection; returns the answer whose body ends with the connection, if
    /// there is one.
    pub(crate) fn end(&mut self, expected: &Expected) -> Option<JudgedAnswer> {
        self.body.as_ref().filter(|body| body.reader.is_complete_at_close())?;
        self.judged(&[], expected)
    }

    fn feed_head(&mut self, input: &[u8], to_head: bool) -> Result<Option<(usize, Received)>, Refusal> {
        if self.held.is_empty() {
            if let Some(head) = Received::parse(input, to_head)? {
                return Ok(Some((head.bytes, head)));
            }
            self.held.extend_from_slice(input);
            return Ok(None);
        }
        let before = self.held.len();
        self.held.extend_from_slice(input);
        let Some(head) = Received::parse(&self.held, to_head)? else { return Ok(None) };
        // The rest of the head is in `input`.
        self.head.extend_from_slice(&self.held[..before.min(HEAD_BYTES_MAX)]);
        self.held.clear();
        Ok(Some((head.bytes - before, head)))
    }
}

impl InBody {
    /// Takes the bytes of the body from `input`; returns their number, and whether the body is complete.
    fn feed(
        &mut self,
        input: &[u8],
        expected: &Expected,
        keep: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, bool), Refusal> {
        let mut at = 0;
        while at < input.len() && !self.reader.is_complete() {
            let before = self.reader.bytes();
            let decoded = self.reader.read(&input[at..])?;
            let data = &input[at..][decoded.data];
            at += decoded.consumed;
            keep(data);
            self.compare(data, before, expected);
        }
        Ok((at, self.reader.is_complete()))
    }

    /// Compares a piece of the body, which begins at the byte `start`, with the right body.
    fn compare(&mut self, data: &[u8], start: u64, expected: &Expected) {
        if !self.compared || self.differs.is_some() {
            return;
        }
        let at = usize::try_from(start).unwrap_or(usize::MAX);
        let right = expected.body.get(at..).unwrap_or_default();
        if right.get(..data.len()) != Some(data) {
            let same = data.iter().zip(right).take_while(|(one, other)| one == other).count();
            let there = data[same..].iter().take(SHOWN_BYTES).copied().collect();
            self.differs = Some((start + same as u64, there));
        }
    }

    /// Tells in words what is wrong with the answer.
    fn wrong(&self, expected: &Expected, judgement: Judgement) -> String {
        let status = self.head.status;
        let length = match (expected.to_head, self.head.length, expected.told_bytes) {
            (true, Some(told), Some(right)) => {
                format!("its Content-Length is {told}, that of the first answer {right}")
            }
            _ => format!("its body has {} bytes, the right one {}", self.reader.bytes(), expected.body.len()),
        };
        let differs = self.differs.as_ref().map(|(at, there)| {
            let right = usize::try_from(*at).ok().and_then(|at| expected.body.get(at..)).unwrap_or_default();
            let right = &right[..right.len().min(SHOWN_BYTES)];
            format!("byte {at} is the first that differs: {} in the place of {}", shown(there), shown(right))
        });
        match (judgement, differs) {
            (Judgement::WrongStatus, _) => format!("status {status}"),
            (Judgement::WrongLength, Some(differs)) => format!("status {status}, {length}; {differs}"),
            (Judgement::WrongLength, None) => format!("status {status}, {length}"),
            (_, differs) => format!("status {status}, {}", differs.unwrap_or_default()),
        }
    }

    fn judge(&self, expected: &Expected) -> JudgedAnswer {
        let judgement = if !expected.statuses.have(self.head.status) {
            Judgement::WrongStatus
        } else if !self.has_length(expected) {
            Judgement::WrongLength
        } else if self.differs.is_some() {
            Judgement::WrongBytes
        } else {
            Judgement::Right
        };
        JudgedAnswer {
            judgement,
            status: self.head.status,
            compared: self.compared,
            head_bytes: self.head.bytes as u64,
            body_bytes: self.reader.bytes(),
            told_bytes: self.head.length,
            keep_alive: self.head.keep_alive,
            interim: 0,
            oddities: self.head.oddities,
        }
    }

    /// Whether the length is right, or is not checked. An answer to HEAD need not have a Content-Length (RFC 9110
    /// section 8.6).
    fn has_length(&self, expected: &Expected) -> bool {
        match expected.check {
            Check::Nothing => true,
            _ if expected.to_head => {
                self.head.length.zip(expected.told_bytes).is_none_or(|(told, right)| told == right)
            }
            Check::Body | Check::Sample | Check::Length => self.reader.bytes() == expected.body.len() as u64,
        }
    }
}

/// Shows bytes as text in quotes, with escapes, so that no byte controls a terminal.
pub(crate) fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() { "the end".to_owned() } else { format!("\"{}\"", bytes.escape_ascii()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

    use super::*;

    fn expected(check: Check) -> Expected {
        Expected {
            statuses: Statuses::Successful,
            check,
            body: b"hello".to_vec(),
            to_head: false,
            told_bytes: None,
        }
    }

    /// Feeds the text in pieces of each size; the outcomes must be the same. Returns them, and the bytes that were
    /// kept.
    fn feed(text: &[u8], expected: &Expected) -> (Vec<(Judgement, u16, u64)>, Vec<u8>) {
        let mut outcomes = Vec::new();
        for size in 1..=text.len() {
            let (mut reader, mut kept, mut found) = (Reader::new(1), Vec::new(), Vec::new());
            for mut piece in text.chunks(size) {
                while !piece.is_empty() {
                    let (taken, answer) =
                        reader.feed(piece, expected, &mut |data| kept.extend_from_slice(data)).unwrap();
                    piece = &piece[taken..];
                    found.extend(answer);
                }
            }
            found.extend(reader.end(expected));
            let found: Vec<_> = found.iter().map(|a| (a.judgement, a.status, a.body_bytes)).collect();
            outcomes.push((found, kept));
        }
        outcomes.dedup();
        assert_eq!(1, outcomes.len(), "{outcomes:?}");
        outcomes.remove(0)
    }

    const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

    #[test]
    fn right_answers() {
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
        let until_close = b"HTTP/1.1 200 OK\r\n\r\nhello";
        let interim = [b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n".as_slice(), RIGHT].concat();
        for text in [RIGHT, chunks, until_close, &interim] {
            let one = (vec![(Judgement::Right, 200, 5)], b"hello".to_vec());
            assert_eq!(one, feed(text, &expected(Check::Body)));
        }
        let (found, _) = feed(&RIGHT.repeat(3), &expected(Check::Body));
        assert_eq!(vec![(Judgement::Right, 200, 5); 3], found);
    }

    #[test]
    fn wrong_answers() {
        let cases: [(&[u8], Check, Judgement); 8] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo", Check::Body, Judgement::WrongBytes),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo", Check::Length, Judgement::Right),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", Check::Body, Judgement::WrongLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhall", Check::Body, Judgement::WrongLength),
            (b"HTTP/1.1 200 OK\r\n\r\nhell", Check::Body, Judgement::WrongLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", Check::Length, Judgement::WrongLength),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", Check::Nothing, Judgement::Right),
            (
                b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\nhello",
                Check::Body,
                Judgement::WrongStatus,
            ),
        ];
        for (text, check, judgement) in cases {
            let (found, _) = feed(text, &expected(check));
            assert_eq!(vec![judgement], found.iter().map(|answer| answer.0).collect::<Vec<_>>());
        }
    }

    /// A wrong answer is shown with its head, however the bytes come.
    #[test]
    fn looks() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let cases = [
            (head, "heLlo", "status 200, byte 2 is the first that differs: \"Llo\" in the place of \"llo\""),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
                "hell",
                "status 200, its body has 4 bytes, the right one 5",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
                "hello\r\n",
                "status 200, its body has 7 bytes, the right one 5; byte 5 is the first that differs: \"\\r\\n\" in the \
                 place of the end",
            ),
            ("HTTP/1.1 500 Oh\r\nContent-Length: 1\r\n\r\n", "x", "status 500"),
        ];
        for (head, body, why) in cases {
            let text = [head, body].concat();
            for size in 1..=text.len() {
                let mut reader = Reader::new(1);
                // The right answer before a wrong one leaves nothing behind.
                for mut piece in [RIGHT, text.as_bytes()].concat().chunks(size) {
                    while !piece.is_empty() {
                        let (taken, _) = reader.feed(piece, &expected(Check::Body), &mut |_| {}).unwrap();
                        piece = &piece[taken..];
                    }
                }
                let looks = reader.looks.unwrap();

                // Behind the byte that differs, only bytes that came with it are shown.
                let (found, expected) = (looks.body.split(": ").next(), why.split(": ").next());
                assert_eq!((head.as_bytes(), expected), (looks.head.as_slice(), found), "{size}");
                assert!(size < text.len() || looks.body == why, "{}", looks.body);
            }
        }
    }

    #[test]
    fn how_much_has_come() {
        let interim = b"HTTP/1.1 103 Early Hints\r\n\r\n".as_slice();
        let came = |text: &[u8]| {
            let (mut reader, mut rest) = (Reader::new(1), text);
            while !rest.is_empty() {
                let (taken, _) = reader.feed(rest, &expected(Check::Body), &mut |_| {}).unwrap();
                rest = &rest[taken..];
            }
            (reader.came(), reader.interim)
        };

        assert_eq!((Came::Nothing, 0), came(b""));
        assert_eq!((Came::Interim, 2), came(&interim.repeat(2)));
        assert_eq!((Came::PartOfHead, 1), came(&[interim, &RIGHT[..9]].concat()));
        assert_eq!((Came::Head, 0), came(&RIGHT[..RIGHT.len() - 5]));
        assert_eq!((Came::PartOfBody, 0), came(&RIGHT[..RIGHT.len() - 1]));
        assert_eq!((Came::Nothing, 0), came(&[interim, RIGHT].concat()));
    }

    /// An answer to HEAD may have the Content-Length of a body, although no body follows.
    #[test]
    fn answers_to_head() {
        let cases = [
            ("Content-Length: 5\r\n", Check::Body, Judgement::Right),
            ("Content-Length: 6\r\n", Check::Body, Judgement::WrongLength),
            ("Content-Length: 6\r\n", Check::Length, Judgement::WrongLength),
            ("Content-Length: 6\r\n", Check::Nothing, Judgement::Right),
            ("", Check::Body, Judgement::Right),
        ];
        for (field, check, judgement) in cases {
            let expected = Expected { to_head: true, told_bytes: Some(5), ..expected(check) };
            let (found, _) = feed(format!("HTTP/1.1 200 OK\r\n{field}\r\n").as_bytes(), &expected);
            assert_eq!(vec![(judgement, 200, 0)], found, "{field:?} {check:?}");
        }
    }

    #[test]
    fn what_has_come() {
        let come = |bytes: usize| {
            let mut reader = Reader::new(1);
            reader.feed(&RIGHT[..bytes], &expected(Check::Body), &mut |_| {}).unwrap();
            reader.come()
        };
        let length = RIGHT.len();

        assert_eq!(None, come(length));
        assert_eq!(Some("20 bytes of the head".to_owned()), come(20));
        assert_eq!(Some("0 of the 5 bytes of the body".to_owned()), come(length - 5));
        assert_eq!(Some("3 of the 5 bytes of the body".to_owned()), come(length - 2));
    }

    /// One body in sixteen is compared in a sample, and the length of every body.
    #[test]
    fn sample() {
        let (mut reader, expected) = (Reader::new(7), expected(Check::Sample));
        let mut judge = |text: &[u8]| {
            let (_, answer) = reader.feed(text, &expected, &mut |_| {}).unwrap();
            answer.map(|answer| (answer.judgement, answer.compared))
        };
        let wrong: Vec<_> =
            (0..1600).filter_map(|_| judge(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo")).collect();
        let short = (0..100).filter_map(|_| judge(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell"));

        assert!(short.into_iter().all(|(judgement, _)| judgement == Judgement::WrongLength));
        let compared = wrong.iter().filter(|(_, compared)| *compared).count();
        assert!((60..140).contains(&compared), "{compared}");
        let as_compared = |&(judgement, compared): &(Judgement, bool)| {
            judgement == if compared { Judgement::WrongBytes } else { Judgement::Right }
        };
        assert!(wrong.iter().all(as_compared));
    }

    /// A body that is cut short does not complete an answer.
    #[test]
    fn cut_short() {
        assert_eq!(0, feed(&RIGHT[..RIGHT.len() - 1], &expected(Check::Body)).0.len());
    }
}
