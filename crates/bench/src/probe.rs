//! The first answers, asked for before anything is measured: what is right, and what the server sends for it.

use std::os::fd::AsFd;

use adyton_sys::clock;
use adyton_sys::socket::{self, Until};
use sha2::{Digest, Sha256};

use crate::answer::{Answer, Expected, Judgement, Reader};
use crate::connection::Connection;
use crate::plan::{Body, Check, Plan};
use crate::tally::Sent;

/// Three answers must be alike: one from a cache that fills would else pass for the right one.
const ASKED: usize = 3;

/// The largest body that is kept to compare others with.
const BODY_BYTES_MAX: usize = 256 << 20;

/// What is known before the measurement.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) expected: Expected,
    /// The whole answer as the server has sent it, for the calibration.
    pub(crate) raw: Vec<u8>,
    /// What it is.
    pub(crate) answer: Answer,
}

/// Asks the server a few times, and settles what a right answer is.
///
/// # Errors
///
/// A sentence: the server does not answer, its answer is not right, or its answers differ.
pub(crate) fn learn(plan: &Plan, request: &[u8]) -> Result<Learnt, String> {
    let mut expected = anything(plan);
    let (answer, raw, body) = ask(plan, request, &expected)?;
    if answer.judgement == Judgement::WrongStatus {
        return Err(format!(
            "{} answers {}; if that is right, say --expect-status {}",
            plan.url, answer.status, answer.status
        ));
    }
    for _ in 1..ASKED {
        let (again, _, other) = ask(plan, request, &expected)?;
        if again.status != answer.status {
            return Err(format!("{} answers {} and then {}", plan.url, answer.status, again.status));
        }
        match plan.check {
            Check::Body if body != other => {
                let hint = "say --check length, or --check nothing if the length differs, too";
                return Err(format!("the answers of {} differ from one another: {hint}", plan.url));
            }
            Check::Length if body.len() != other.len() => {
                let hint = "say --check nothing if that is right";
                return Err(format!("the answers of {} differ in length: {hint}", plan.url));
            }
            _ => {}
        }
    }
    expected.body = right_body(plan, body)?;
    expected.check = plan.check;
    Ok(Learnt { expected, raw, answer })
}

/// What is right while nothing is known of the body.
fn anything(plan: &Plan) -> Expected {
    Expected {
        statuses: plan.statuses.clone(),
        check: Check::Nothing,
        body: Vec::new(),
        to_head: plan.is_head(),
    }
}

/// One request and its answer, byte for byte.
///
/// # Errors
///
/// A sentence: the server does not answer, or not as HTTP wants it.
pub fn exchange(plan: &Plan) -> Result<(Vec<u8>, Vec<u8>), String> {
    let request = plan.request();
    let expected = anything(plan);
    let (_, raw, _) = ask(plan, &request, &expected)?;
    Ok((request, raw))
}

/// The body that is right, which the server's must be.
fn right_body(plan: &Plan, body: Vec<u8>) -> Result<Vec<u8>, String> {
    let url = &plan.url;
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

/// One exchange over a connection of its own: the answer, all its bytes, and its body.
fn ask(plan: &Plan, request: &[u8], expected: &Expected) -> Result<(Answer, Vec<u8>, Vec<u8>), String> {
    let url = &plan.url;
    let failed = |error: std::io::Error| format!("{url}: {error}");
    let now_ns = clock::monotonic_ns();
    let mut connection = Connection::new();
    connection.open(&url.address, now_ns).map_err(failed)?;
    connection.queue(Sent { due_ns: now_ns, begun_ns: now_ns, counted: false }, request.len());
    let (mut reader, mut raw, mut body) = (Reader::default(), Vec::new(), Vec::new());
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
        let bytes = match socket::recv(socket.as_fd(), &mut buffer).map_err(failed)? {
            None if socket::wait(socket, Until::Readable, plan.timeout_ms).map_err(failed)? => continue,
            None => return Err(format!("{url} does not answer within {} ms", plan.timeout_ms)),
            Some(0) => {
                let answer = reader.end(expected);
                return answer
                    .map(|answer| (answer, raw, body))
                    .ok_or(format!("{url} ends without an answer"));
            }
            Some(bytes) => bytes,
        };
        let mut rest = &buffer[..bytes];
        while !rest.is_empty() {
            let fed = reader.feed(rest, expected, &mut |data| body.extend_from_slice(data));
            let (taken, answer) = fed.map_err(|refusal| format!("{url}: {}", refusal.reason))?;
            raw.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            if body.len() > BODY_BYTES_MAX {
                return Err(format!("{url}: the body is larger than {} MiB", BODY_BYTES_MAX >> 20));
            }
            if let Some(answer) = answer {
                return Ok((answer, raw, body));
            }
        }
    }
}
