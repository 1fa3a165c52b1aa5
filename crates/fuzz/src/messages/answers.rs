//! A reference implementation of the response head: the fields of an application in one list, the head to be sent in
//! one string.

use adyton_http::{BodySize, Identity, ResponseHead, Version};
use adyton_http1::{Asked, BodyFraming, Framed, begin, finish};

use crate::text::{is_text, is_token, number, trim};

/// The response that an application and its server want to send.
#[derive(Debug)]
pub(crate) struct WantedResponse<'w> {
    asked: Asked,
    status: u16,
    reason: &'w [u8],
    fields: Vec<(&'w [u8], &'w [u8])>,
    body: BodySize,
}

const IDENTITY: Identity<'_> = Identity {
    date: b"Sun, 06 Nov 1994 08:49:37 GMT",
    server: b"Server: adyton\r\n",
    lines: b"X-Request-ID: 1\r\n",
};

/// Panics unless the server writes the head that `data` stands for like the reference, or refuses it like the
/// reference.
pub(crate) fn check(data: &[u8]) {
    let Some(wanted) = WantedResponse::read(data) else { return };
    let mut out = b"before".to_vec();
    let ours = write(&wanted, &mut out);
    let Some((expected, framed)) = naive(&wanted) else {
        let error = ours.expect_err("the reference refuses it");
        assert!(!error.chars().any(char::is_control) && !error.is_empty(), "for a log: {error:?}");
        return;
    };
    assert_eq!(Ok(framed), ours, "{wanted:?}");
    assert_eq!(crate::show(&expected), crate::show(&out[b"before".len()..]), "{wanted:?}");
    assert!(expected.ends_with(b"\r\n\r\n"));
    let lines = crate::text::lines(&expected[..expected.len() - 4]).expect("nothing that ends a line");
    assert!(!lines.contains(&&b""[..]), "an empty line would end the head");
}

impl<'w> WantedResponse<'w> {
    /// Reads status and flags, then the reason and the fields with 0xff between them.
    fn read(data: &'w [u8]) -> Option<WantedResponse<'w>> {
        let ([status, flags], rest) = data.split_first_chunk::<2>()?;
        let mut words = rest.split(|&byte| byte == 0xff);
        let reason = words.next()?;
        let words: Vec<_> = words.collect();
        let body = if flags & 8 == 0 { BodySize::Unknown } else { BodySize::Known((flags >> 4).into()) };
        Some(WantedResponse {
            asked: Asked {
                version: if flags & 1 == 0 { Version::Http11 } else { Version::Http10 },
                is_head: flags & 2 != 0,
                keep_alive: flags & 4 == 0,
            },
            status: u16::from(*status) * 4,
            reason,
            fields: words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
            body,
        })
    }
}

/// Writes half of the fields, pauses, and writes the others.
fn write(wanted: &WantedResponse<'_>, out: &mut Vec<u8>) -> Result<Framed, String> {
    let (before, behind) = wanted.fields.split_at(wanted.fields.len() / 2);
    let mut head = begin(out, wanted.status, wanted.reason).map_err(|e| e.to_string())?;
    for (name, value) in before {
        head.field(name, value).map_err(|error| error.to_string())?;
    }
    let facts = head.pause();
    let mut head = ResponseHead::resume(out, facts);
    for (name, value) in behind {
        head.field(name, value).map_err(|error| error.to_string())?;
    }
    Ok(finish(head, wanted.asked, &IDENTITY, wanted.body))
}

/// Returns the whole head, if no part of the wanted response is forbidden.
fn naive(wanted: &WantedResponse<'_>) -> Option<(Vec<u8>, Framed)> {
    if !(200..=999).contains(&wanted.status) || !wanted.reason.iter().all(|&byte| is_text(byte)) {
        return None;
    }
    let mut out = [format!("HTTP/1.1 {} ", wanted.status).as_bytes(), wanted.reason, b"\r\n"].concat();
    let (mut length, mut close, mut seen) = (None, false, Vec::new());
    for (name, value) in &wanted.fields {
        let value = trim(value);
        if !is_token(name) || !value.iter().all(|&byte| is_text(byte)) {
            return None;
        }
        let name_lower = name.to_ascii_lowercase();
        match name_lower.as_slice() {
            b"content-length" => {
                let number = number(value)?;
                if length.replace(number).is_some_and(|first| first != number) {
                    return None;
                }
            }
            b"connection" => {
                let mut options = value.split(|&byte| byte == b',');
                close |= options.any(|option| trim(option).eq_ignore_ascii_case(b"close"));
            }
            b"keep-alive" | b"proxy-connection" | b"te" | b"trailer" | b"transfer-encoding" | b"upgrade" => {}
            _ => out.extend_from_slice(&[name, &b": "[..], value, b"\r\n"].concat()),
        }
        seen.push(name_lower);
    }
    if !seen.contains(&b"date".to_vec()) {
        out.extend_from_slice(b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    }
    if !seen.contains(&b"server".to_vec()) {
        out.extend_from_slice(b"Server: adyton\r\n");
    }
    out.extend_from_slice(IDENTITY.lines);
    let (framing, line) = naive_framing(wanted, length);
    let keep_alive = wanted.asked.keep_alive && !close && framing != BodyFraming::UntilClose;
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(match (keep_alive, wanted.asked.version) {
        (false, _) => b"Connection: close\r\n\r\n",
        (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
        (true, Version::Http11) => b"\r\n",
    });
    Some((out, Framed { framing, keep_alive }))
}

/// Returns how the body is sent, and the line that says so.
fn naive_framing(wanted: &WantedResponse<'_>, stated: Option<u64>) -> (BodyFraming, String) {
    let own = if let BodySize::Known(bytes) = wanted.body { Some(bytes) } else { None };
    let line = |length: Option<u64>| length.map(|n| format!("Content-Length: {n}\r\n")).unwrap_or_default();
    match (wanted.status, stated.or(own)) {
        (204, _) => (BodyFraming::None, String::new()),
        (205, _) => (BodyFraming::None, line(Some(0))),
        (304, _) => (BodyFraming::None, line(stated)),
        (_, _) if wanted.asked.is_head => {
            (BodyFraming::None, line(stated.or(own.filter(|&bytes| bytes > 0))))
        }
        (_, Some(length)) => (BodyFraming::Length(length), line(Some(length))),
        (_, None) if wanted.asked.version == Version::Http11 => {
            (BodyFraming::Chunked, "Transfer-Encoding: chunked\r\n".to_owned())
        }
        (_, None) => (BodyFraming::UntilClose, String::new()),
    }
}
