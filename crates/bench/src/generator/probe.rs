//! The first requests, sent before anything is measured: their answers tell which answer is right, and what is odd in
//! it.

use std::os::fd::AsFd;

use adyton_sys::clock;
use adyton_sys::socket::{self, Until};
use sha2::{Digest, Sha256};

use crate::counting::answer::{Expected, HEAD_BYTES_MAX, JudgedAnswer, Judgement, Reader};
use crate::counting::counts::Sent;
use crate::failure::Failure;
use crate::generator::connection::Connection;
use crate::generator::learnt::Learnt;
use crate::plan::{Body, Check, Plan, Statuses, WeightedRequest};
use crate::report::reason::Reason;
use crate::target::url::Url;

/// Number of answers that must be alike: with fewer, an answer of a cache that is being filled could pass for the right
/// one.
const ASKED: usize = 3;

/// The largest body that is kept to compare others with.
const BODY_BYTES_MAX: usize = 256 << 20;

/// Advice for answers that differ: they are more often a fault than intended.
const LOOK_FIRST: &str = "look at some (--debug); if the difference is intended,";

/// Returns warnings from the heads of answers: a content coding that no request asked for, or an answer from a cache.
fn told_by(heads: &[Vec<u8>], plan: &Plan) -> Vec<Reason> {
    let has = |name: &str| plan.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let accepts_coding = has("Accept-Encoding");
    let mut told: Vec<Reason> = Vec::new();
    let texts = heads.iter().map(|head| String::from_utf8_lossy(head));
    for text in texts {
        for line in text.lines().take_while(|line| !line.is_empty()) {
            let Some((name, value)) = line.split_once(':') else { continue };
            let shown = line.escape_debug();
            let (gate, why) = match name.to_ascii_lowercase().as_str() {
                "content-encoding" if !accepts_coding && !value.trim().eq_ignore_ascii_case("identity") => (
                    "coding",
                    format!("answers have {shown}, which was not asked for: no Accept-Encoding is sent"),
                ),
                "age" | "x-cache" => (
                    "cache",
                    format!("answers have {shown}: a cache is in between, and may be what is measured"),
                ),
                _ => continue,
            };
            if !told.iter().any(|known| known.gate == gate) {
                told.push(Reason { gate, why });
            }
        }
    }
    told
}

/// Asks the server a few times for each of the plan's requests, and settles the right answers.
///
/// # Errors
///
/// A sentence: the server does not answer, its answer is not right, or its answers differ.
pub(crate) fn learn(plan: &Plan) -> Result<Vec<Learnt>, String> {
    plan.requested().into_iter().map(|wanted| learn_one(plan, wanted)).collect()
}

fn learn_one(plan: &Plan, wanted: WeightedRequest) -> Result<Learnt, String> {
    let (url, request) = (&wanted.url, plan.request(&wanted));
    let mut expected = anything(plan, &wanted);
    let mut raw = Vec::new();
    let (answer, body) = ask(plan, url, &request, &expected, &mut raw)?;
    if answer.judgement == Judgement::WrongStatus {
        return Err(format!(
            "{url} answers {}; if that is right, say --expect-status {}",
            answer.status, answer.status
        ));
    }
    let mut heads = vec![raw[..raw.len().min(HEAD_BYTES_MAX)].to_vec()];
    for _ in 1..ASKED {
        let mut raw = Vec::new();
        let (again, other) = ask(plan, url, &request, &expected, &mut raw)?;
        raw.truncate(HEAD_BYTES_MAX);
        heads.push(raw);
        if again.status != answer.status {
            return Err(format!("{url} answers {} and then {}", answer.status, again.status));
        }
        let is_as_long = body.len() == other.len() && answer.told_bytes == again.told_bytes;
        match plan.check {
            Check::Body | Check::Sample if body != other => {
                let hint = "say --check length, or --check nothing if the length differs, too";
                return Err(format!("the answers of {url} differ from one another: {LOOK_FIRST} {hint}"));
            }
            Check::Body | Check::Sample | Check::Length if !is_as_long => {
                return Err(format!(
                    "the answers of {url} differ in length: {LOOK_FIRST} say --check nothing"
                ));
            }
            _ => {}
        }
    }
    expected.body = right_body(plan, url, body)?;
    (expected.check, expected.told_bytes) = (plan.check, answer.told_bytes);
    if plan.statuses == Statuses::Successful {
        // The first answer may have any successful status; from then on only this status is right.
        expected.statuses = Statuses::Of(vec![answer.status]);
    }
    let warnings = told_by(&heads, plan);
    let requests = request.repeat(plan.pipeline as usize + 1);
    Ok(Learnt { request_bytes: request.len(), requests, expected, raw, answer, request: wanted, warnings })
}

/// Returns the expectation for a first answer, which may have any body.
fn anything(plan: &Plan, wanted: &WeightedRequest) -> Expected {
    Expected {
        statuses: plan.statuses.clone(),
        check: Check::Nothing,
        body: Vec::new(),
        to_head: wanted.is_head(),
        told_bytes: None,
    }
}

/// A request and the bytes that have come for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The bytes of the request.
    pub request: Vec<u8>,
    /// The bytes that have come of an answer.
    pub answer: Vec<u8>,
    /// Why the bytes are no whole answer, in a sentence; `None` if they are one.
    pub fault: Option<String>,
}

/// Sends each of the plan's requests once, each when the iterator is asked for it.
///
/// # Errors
///
/// The plan contradicts itself.
pub fn exchanges(plan: &Plan) -> Result<impl Iterator<Item = Exchange>, Failure> {
    plan.check().map_err(Failure::Plan)?;
    Ok(plan.requested().into_iter().map(|wanted| {
        let (request, mut answer) = (plan.request(&wanted), Vec::new());
        let fault = ask(plan, &wanted.url, &request, &anything(plan, &wanted), &mut answer).err();
        Exchange { request, answer, fault }
    }))
}

/// Returns the right body, which is the server's if it matches the plan.
fn right_body(plan: &Plan, url: &Url, body: Vec<u8>) -> Result<Vec<u8>, String> {
    match &plan.expected {
        Body::First => {}
        Body::Bytes(bytes) if **bytes == *body => {}
        Body::Bytes(bytes) => {
            return Err(format!(
                "the body of {url} is not the expected one: it has {} bytes, not {}, or differs in them",
                body.len(),
                bytes.len()
            ));
        }
        Body::Sha256(hash) => {
            let found: [u8; 32] = Sha256::digest(&body).into();
            if found != *hash {
                return Err(format!("the body of {url} has another SHA-256: {}", hex(&found)));
            }
        }
    }
    Ok(body)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Makes one exchange over a connection of its own, and returns the answer and its body. All bytes that come are put in
/// `raw`, even if they are no answer.
pub(crate) fn ask(
    plan: &Plan,
    url: &Url,
    request: &[u8],
    expected: &Expected,
    raw: &mut Vec<u8>,
) -> Result<(JudgedAnswer, Vec<u8>), String> {
    let failed = |error: std::io::Error| format!("{url}: {error}");
    let now_ns = clock::monotonic_ns();
    let mut connection = Connection::new(0);
    connection.open(&url.address, now_ns).map_err(failed)?;
    connection.queue(Sent { due_ns: now_ns, begun_ns: now_ns, which: 0, counted: false }, request.len());
    let (mut reader, mut body) = (Reader::new(0), Vec::new());
    let mut buffer = vec![0; 64 << 10];
    let patience = |until| {
        let Some(socket) = &connection.socket else { return Ok(true) };
        socket::wait(socket, until, plan.timeout_ms)
    };
    if !patience(Until::Writable).map_err(failed)? {
        return Err(format!("{url} takes no connection within {} ms", plan.timeout_ms));
    }
    if let Some(error) = connection.socket.as_ref().and_then(socket::pending_error) {
        return Err(format!("{url}: {error}"));
    }
    loop {
        connection.send(request, request.len()).map_err(failed)?;
        let Some(socket) = &connection.socket else { return Err(format!("{url}: closed")) };
        // The kernel does not take all of a large body at once.
        let until = if connection.is_unsent(request.len()) { Until::Either } else { Until::Readable };
        let bytes = match socket::recv(socket.as_fd(), &mut buffer).map_err(failed)? {
            None if socket::wait(socket, until, plan.timeout_ms).map_err(failed)? => continue,
            None => return Err(not_whole(&reader, url, Some(plan.timeout_ms))),
            Some(0) => {
                let answer = reader.end(expected);
                return answer.map(|answer| (answer, body)).ok_or_else(|| not_whole(&reader, url, None));
            }
            Some(bytes) => bytes,
        };
        let mut rest = &buffer[..bytes];
        while !rest.is_empty() {
            let fed = reader.feed(rest, expected, &mut |data| body.extend_from_slice(data));
            let (taken, answer) = fed.map_err(|refusal| {
                raw.extend_from_slice(rest);
                format!("{url}: {}", refusal.reason)
            })?;
            raw.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            if body.len() > BODY_BYTES_MAX {
                return Err(format!("{url}: the body is larger than {} MiB", BODY_BYTES_MAX >> 20));
            }
            if let Some(answer) = answer {
                return Ok((answer, body));
            }
        }
    }
}

/// Tells how much of an answer came before the time was over, or before the connection ended.
fn not_whole(reader: &Reader, url: &Url, timeout_ms: Option<u64>) -> String {
    match (timeout_ms, reader.come()) {
        (None, None) => format!("{url} ends the connection without an answer"),
        (None, Some(come)) => format!("{url} ends the connection after {come}"),
        (Some(ms), None) => format!("{url} does not answer within {ms} ms"),
        (Some(ms), Some(come)) => format!("{url} sends {come}, and no more within {ms} ms"),
    }
}
