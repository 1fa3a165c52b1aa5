//! Changes that a route makes to its answers, once their heads are written.

use adyton_route::HeadEdits;

use crate::answering::onward::SendsOn;
use crate::site::terms::StatusPage;

/// Changes that a route makes to its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Edits of the header fields of all its answers.
    pub edits: HeadEdits,
    /// Whether an answer of the route's application is replaced by the site's error page for the answer's status.
    pub replaces_errors: bool,
    /// Targets to which its application may send requests on.
    pub sends_on: Option<SendsOn>,
    /// Header lines of an application that has sent the request on: they are put into the answer of the target.
    pub kept: Vec<u8>,
}

impl Changes {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// Changes the head that begins at `start` of `out`; a body may follow it.
    pub(crate) fn apply(&self, out: &mut Vec<u8>, start: usize) {
        if !self.kept.is_empty() {
            keep(out, start, &self.kept);
        }
        if !self.edits.is_empty() {
            self.edits.apply(out, start);
        }
    }
}

/// Puts lines into the head that begins at `start` of `out`; they replace lines of equal names. Lines about a body are
/// put there only if they were written for the body behind this head.
fn keep(out: &mut Vec<u8>, start: usize, kept: &[u8]) {
    let Some(end) = memchr::memmem::find(&out[start..], b"\r\n\r\n").map(|at| start + at + 2) else { return };
    let own = &out[start..end];
    let is_whole = own.get(9..12).is_some_and(|status| matches!(status, b"200" | b"206"));
    let is_multipart = memchr::memmem::find(own, b"multipart/byteranges").is_some();
    let counts = |line: &&[u8]| {
        let name = name_of(line);
        if name.eq_ignore_ascii_case(b"Content-Type") {
            return is_whole && !is_multipart;
        }
        is_whole || !is_about_content(line)
    };
    let lines: Vec<&[u8]> = kept.split_inclusive(|&byte| byte == b'\n').filter(counts).collect();
    let is_replaced = |line: &[u8]| {
        let name = name_of(line);
        !name.eq_ignore_ascii_case(b"Set-Cookie")
            && lines.iter().any(|kept| name_of(kept).eq_ignore_ascii_case(name))
    };
    let own = own.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_replaced(line));
    let head: Vec<u8> = own.chain(lines.iter().copied()).flatten().copied().collect();
    out.splice(start..end, head);
}

fn name_of(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b':').next().unwrap_or_default()
}

/// Puts `page` in the place of the body that is announced by the head at `start` of `out`. Fields about that body are
/// left out (RFC 9110 section 8); other fields, such as `Set-Cookie` and `Retry-After`, stay. `is_head`: the client
/// wants no body.
pub(crate) fn stand_in(out: &mut Vec<u8>, start: usize, page: &StatusPage, is_head: bool) {
    let lines = out[start..].split_inclusive(|&byte| byte == b'\n').take_while(|line| *line != b"\r\n");
    let mut head: Vec<u8> = Vec::with_capacity(out.len() - start);
    for line in lines.filter(|line| !is_about_content(line)) {
        head.extend_from_slice(line);
    }
    let (media, length) = (&page.content_type, page.body.len());
    head.extend_from_slice(format!("Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n").as_bytes());
    if !is_head {
        head.extend_from_slice(&page.body);
    }
    out.truncate(start);
    out.append(&mut head);
}

/// Whether this line of a head says something about the body behind it.
fn is_about_content(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] =
        [b"Accept-Ranges", b"ETag", b"Last-Modified", b"Trailer", b"Transfer-Encoding", b"Digest"];
    let name = name_of(line);
    let begins =
        |start: &[u8]| name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    // A security policy limits what a page may load, and says nothing about its content.
    begins(b"Content-") && !begins(b"Content-Security-Policy")
        || NAMES.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::{Changes, stand_in};
    use crate::site::terms::StatusPage;

    #[test]
    fn lines_that_stay() {
        let kept = b"Content-Type: a/b\r\nContent-Disposition: attachment\r\nSet-Cookie: a\r\nCache-Control: no-store\r\n";
        let changes = Changes { kept: kept.to_vec(), ..Changes::default() };
        let tail = "Set-Cookie: a\r\nCache-Control: no-store\r\n\r\nbody";
        for (head, expected) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: public\r\nSet-Cookie: b\r\n",
                "HTTP/1.1 200 OK\r\nSet-Cookie: b\r\nContent-Type: a/b\r\nContent-Disposition: attachment\r\n",
            ),
            (
                "HTTP/1.1 206 P\r\nContent-Type: multipart/byteranges; boundary=a\r\n",
                "HTTP/1.1 206 P\r\nContent-Type: multipart/byteranges; boundary=a\r\nContent-Disposition: attachment\r\n",
            ),
            (
                "HTTP/1.1 404 N\r\nContent-Type: text/html\r\n",
                "HTTP/1.1 404 N\r\nContent-Type: text/html\r\n",
            ),
        ] {
            let mut out = format!("before{head}\r\nbody").into_bytes();
            changes.apply(&mut out, "before".len());

            assert_eq!(format!("before{expected}{tail}"), String::from_utf8_lossy(&out));
        }
    }

    #[test]
    fn what_is_about_the_content_is_left_out() {
        let page = StatusPage { status: 404, content_type: "text/html".into(), body: b"<p>who?"[..].into() };
        let head = "beforeHTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\
                    content-encoding: gzip\r\nContent-Security-Policy: none\r\n\
                    Content-Security-Policy-Report-Only: a\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\
                    Connection: close\r\n\r\n";
        for (is_head, body) in [(false, "<p>who?"), (true, "")] {
            let mut out = head.as_bytes().to_vec();
            stand_in(&mut out, "before".len(), &page, is_head);

            assert_eq!(
                format!(
                    "beforeHTTP/1.1 404 Not Found\r\nSet-Cookie: a=b\r\nContent-Security-Policy: none\r\n\
                     Content-Security-Policy-Report-Only: a\r\nConnection: close\r\nContent-Type: text/html\r\n\
                     Content-Length: 7\r\n\r\n{body}"
                ),
                String::from_utf8_lossy(&out)
            );
        }
    }
}
