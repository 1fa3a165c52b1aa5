//! One question at a control socket, and its answer.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::view::status::Status;

/// How long an order may take: a reload waits until the new workers serve.
const PATIENCE: Duration = Duration::from_secs(16 * 60);

/// Bytes of an answer at most: more than a thousand workers with all their stacks.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Sends one request and takes the whole answer. A refusal is an error, and so is an answer that does not fit the
/// question: otherwise a script could take a reload for done, and go on deploying.
pub(crate) fn ask(path: &Path, method: &str, target: &str) -> Result<Value, String> {
    match fetch(path, method, target)? {
        (400.., value) => Err(harmless(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))),
        (_, value) if answers(target, &value) => Ok(value),
        _ => Err(not_adyton(path)),
    }
}

/// Sends one request and returns the status and the body of the answer.
fn fetch(path: &Path, method: &str, target: &str) -> Result<(u16, Value), String> {
    let exchange = || -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: adyton\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer =
        exchange().map_err(|error| format!("the server at {} does not answer: {error}", path.display()))?;
    let (status, length, body) = apart(&answer).ok_or_else(|| not_adyton(path))?;
    if body.len() < length {
        return Err(format!("the server at {} has ended in the middle of its answer", path.display()));
    }
    let value = serde_json::from_slice(body).map_err(|_| not_adyton(path))?;
    Ok((status, value))
}

/// Takes an HTTP response apart: its status, the length that its body should have, and the part of the body that is
/// there.
fn apart(answer: &[u8]) -> Option<(u16, usize, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, length) = fields.find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"))?;
    Some((status, length.trim().parse().ok()?, &answer[end + 4..]))
}

/// Whether `value` is an answer to the question at `target`.
fn answers(target: &str, value: &Value) -> bool {
    match target.split('?').next().unwrap_or_default() {
        "/status" => value["workers"].is_array(),
        "/dump" | "/running" => value.is_array(),
        "/reload" => value["generation"].is_number() || value["group"].is_string(),
        "/more" | "/fewer" => value["processes"].is_number(),
        "/log-level" => value["log_level"].is_string(),
        _ => value.is_string(),
    }
}

/// Reads the server's status out of an answer.
pub(crate) fn status(path: &Path, answer: Value) -> Result<Status, String> {
    serde_json::from_value(answer).map_err(|_| not_adyton(path))
}

fn not_adyton(path: &Path) -> String {
    format!("the program that answers at {} is not Adyton", path.display())
}

/// Escapes control characters: the sentence may come from another program, and must not control this terminal.
fn harmless(sentence: &str) -> String {
    let escape = |letter: char| {
        if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
    };
    sentence.chars().map(escape).collect()
}
