//! The answer that a script's head asks for: a document, or a redirect (RFC 3875 section 6.2).

use crate::head::{BadHead, Head, shown};

/// The kind of answer that a script's head asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<'h> {
    /// A head for the client with this status and reason; the reason is empty if the script gives none. The body
    /// follows.
    Document {
        /// The status code, from 200 to 599.
        status: u16,
        /// The reason phrase, as the script wrote it after the number.
        reason: &'h [u8],
    },
    /// A redirect inside this server: the server answers with the result of a GET for this path and query (section
    /// 6.2.2). The path begins with a slash.
    LocalRedirect(&'h [u8]),
}

/// Returns the answer that a head asks for. If `Location` is not a path of this server, the client is redirected to it,
/// with 302 unless the script gives another status (sections 6.2.3 and 6.2.4).
///
/// # Errors
///
/// [`BadHead::Status`].
pub fn answer<'h>(head: &Head<'h>) -> Result<Answer<'h>, BadHead> {
    match (head.status, head.location) {
        (Some(status), _) => {
            let (number, reason) = status.split_at(status.len().min(3));
            let reason = match reason {
                [] => reason,
                [b' ', reason @ ..] => reason,
                _ => return Err(BadHead::Status(shown(status))),
            };
            let number =
                std::str::from_utf8(number).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
            match number.and_then(|text| text.parse().ok()) {
                Some(status @ 200..=599) => Ok(Answer::Document { status, reason }),
                _ => Err(BadHead::Status(shown(status))),
            }
        }
        (None, Some(path @ [b'/', ..])) => Ok(Answer::LocalRedirect(path)),
        (None, Some(_)) => Ok(Answer::Document { status: 302, reason: b"" }),
        (None, None) => Ok(Answer::Document { status: 200, reason: b"" }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer};
    use crate::head::{BadHead, Head};

    #[test]
    fn answers() {
        let document =
            |status, reason: &'static str| Ok(Answer::Document { status, reason: reason.as_bytes() });
        let bad = |text: &str| Err(BadHead::Status(text.to_owned()));
        for (text, expected) in [
            ("Content-Type: a/b\n", document(200, "")),
            ("Status: 404 Not here\n", document(404, "Not here")),
            ("Status: 204\n", document(204, "")),
            ("Location: http://a.example/\n", document(302, "")),
            ("Location: elsewhere\n", document(302, "")),
            ("Location: /a\nStatus: 301 Moved\n", document(301, "Moved")),
            ("Location: /a?b=c\n", Ok(Answer::LocalRedirect(b"/a?b=c"))),
            ("Status: 20\n", bad("20")),
            ("Status: 2000\n", bad("2000")),
            ("Status: 100 Continue\n", bad("100 Continue")),
            ("Status: 600\n", bad("600")),
            ("Status: OK\n", bad("OK")),
            ("Status: \u{b2}00\n", bad("\u{b2}00")),
            ("Status:\n", bad("")),
        ] {
            let found = Head::parse(text.as_bytes()).and_then(|head| match answer(&head)? {
                Answer::Document { status, reason } => Ok((Some(status), reason.to_vec())),
                Answer::LocalRedirect(path) => Ok((None, path.to_vec())),
            });
            let expected = expected.map(|answer| match answer {
                Answer::Document { status, reason } => (Some(status), reason.to_vec()),
                Answer::LocalRedirect(path) => (None, path.to_vec()),
            });

            assert_eq!(expected, found, "{text:?}");
        }
    }
}
