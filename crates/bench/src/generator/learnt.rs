//! A request with all that is learnt of it before the measurement: the bytes to send, and the right answer.

use crate::counting::answer::{Expected, HEAD_BYTES_MAX, JudgedAnswer, Looks};
use crate::counting::counts::FirstWrong;
use crate::plan::WeightedRequest;
use crate::report::reason::Reason;

/// A request with all that is learnt of it before the measurement.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) request: WeightedRequest,
    /// The length of one request.
    pub(crate) request_bytes: usize,
    /// The request repeated: once for each request that may be under way on a connection, and once more.
    pub(crate) requests: Vec<u8>,
    pub(crate) expected: Expected,
    /// The whole answer as the server has sent it, for the calibration.
    pub(crate) raw: Vec<u8>,
    /// The answer, as it was judged.
    pub(crate) answer: JudgedAnswer,
    /// Warnings for the user that come from the head of the answer.
    pub(crate) warnings: Vec<Reason>,
}

impl Learnt {
    /// Describes a wrong answer to this request.
    pub(crate) fn wrong(&self, looks: &Looks) -> FirstWrong {
        self.first_wrong(&looks.head, looks.body.clone())
    }

    /// Describes the bytes that came in the place of an answer.
    pub(crate) fn malformed(&self, bytes: &[u8], why: &str) -> FirstWrong {
        self.first_wrong(bytes, format!("malformed: {why}"))
    }

    fn first_wrong(&self, head: &[u8], why: String) -> FirstWrong {
        let lines = head[..head.len().min(HEAD_BYTES_MAX)].split(|byte| *byte == b'\n');
        let text = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).escape_ascii().to_string());
        let head = text.collect::<Vec<_>>().join("\n").trim_end().to_owned();
        FirstWrong { request: format!("{} {}", self.request.method, self.request.url), why, head }
    }
}
