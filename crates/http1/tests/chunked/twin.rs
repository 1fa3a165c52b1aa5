//! A simple reference implementation: reads RFC 9112 section 7.1 line by line, from a whole stream.

use crate::Outcome;

/// Checks that the reference gives the outcome `ours`. The decoder refuses a bad byte at once, the reference refuses it
/// only when it has the whole line.
pub(crate) fn assert_agrees(label: &str, stream: &[u8], ours: &Outcome) {
    let twin = naive(stream);
    if twin == Outcome::Incomplete && *ours == Outcome::Refused {
        assert_eq!(
            Outcome::Refused,
            naive(&[stream, b"\r\n"].concat()),
            "{label}, the twin at the line's end"
        );
    } else {
        assert_eq!(twin, *ours, "{label}, the twin");
    }
}

fn naive(stream: &[u8]) -> Outcome {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = line_at(stream, at) else { return Outcome::Incomplete };
        at += line.len() + 2;
        let Some(size) = naive_size(line) else { return Outcome::Refused };
        if size == 0 {
            return naive_trailers(stream, at, body);
        }
        let Some(data) = stream.get(at..at.saturating_add(size)) else { return Outcome::Incomplete };
        body.extend_from_slice(data);
        at += size;
        match stream.get(at..at + 2) {
            None => return Outcome::Incomplete,
            Some(b"\r\n") => at += 2,
            Some(_) => return Outcome::Refused,
        }
    }
}

fn line_at(stream: &[u8], at: usize) -> Option<&[u8]> {
    let rest = &stream[at..];
    rest.windows(2).position(|two| two == b"\r\n").map(|end| &rest[..end])
}

fn naive_size(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, mut extension) = line.split_at(digits);
    while let [b';', rest @ ..] = extension {
        let name = rest.iter().take_while(|byte| is_token_byte(**byte)).count();
        let value = match &rest[name..] {
            [b'=', b'"', quoted @ ..] => 2 + naive_quoted(quoted)?,
            [b'=', token @ ..] => match token.iter().take_while(|byte| is_token_byte(**byte)).count() {
                0 => return None,
                bytes => 1 + bytes,
            },
            _ => 0,
        };
        extension = &rest[name + value..];
        if name == 0 {
            return None;
        }
    }
    let is_size = (1..=16).contains(&digits) && extension.is_empty();
    is_size.then(|| usize::from_str_radix(str::from_utf8(size).unwrap(), 16).unwrap())
}

/// The length of a quoted string after its opening quote.
fn naive_quoted(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'"', ..] => Some(1),
        [b'\\', byte, rest @ ..] if is_text(*byte) => Some(2 + naive_quoted(rest)?),
        [byte, rest @ ..] if *byte != b'\\' && is_text(*byte) => Some(1 + naive_quoted(rest)?),
        _ => None,
    }
}

fn naive_trailers(stream: &[u8], mut at: usize, body: Vec<u8>) -> Outcome {
    const FORBIDDEN: [&str; 6] =
        ["host", "cookie", "authorization", "transfer-encoding", "if-unmodified-since", "content-length"];
    loop {
        let Some(line) = line_at(stream, at) else { return Outcome::Incomplete };
        at += line.len() + 2;
        if line.is_empty() {
            return Outcome::Body(body, at);
        }
        let mut halves = line.splitn(2, |&byte| byte == b':');
        let (name, value) = (halves.next().unwrap_or_default(), halves.next());
        let good_name = !name.is_empty() && name.iter().all(|&byte| is_token_byte(byte));
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let forbidden = FORBIDDEN.contains(&name.as_str()) || name.starts_with("content-");
        if !good_name || forbidden || !value.is_some_and(|value| value.iter().all(|&byte| is_text(byte))) {
            return Outcome::Refused;
        }
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
