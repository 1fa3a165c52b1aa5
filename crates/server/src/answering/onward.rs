//! Targets to which an application or a script may send a request on, instead of answering it: a file, or another route
//! of its site.

use std::sync::Arc;

use adyton_http::{Known, Method, Request, Version};
use adyton_http1::{Head, Limits, Parsed};
use adyton_route::escaped;

use crate::answering::changes::Changes;
use crate::answering::met::Met;

/// Targets to which the application of a route may send requests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendsOn {
    /// To files beneath this folder, with the field `X-Sendfile`.
    pub files: Option<SentFolder>,
    /// To other routes of its site, with `X-Accel-Redirect`, or with `Location` and the status 200, as CGI scripts do
    /// (RFC 3875 section 6.2.2).
    pub routes: bool,
}

/// A folder whose files an application may have sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFolder {
    /// Its number among the folders of [`crate::Parts`].
    pub number: usize,
    /// The absolute paths by which the application may name it, without a slash at their ends.
    pub places: Vec<Box<[u8]>>,
}

/// A request on its way to the target that answers it in the place of an application or a script.
#[derive(Debug)]
pub(crate) struct Onward {
    /// The target to which the request is sent next; `None` once the request has reached it.
    pub(crate) to: Option<To>,
    /// The header lines of the application's answer that stay.
    pub(crate) kept: Vec<u8>,
    /// Changes that the application's route makes to its answers.
    pub(crate) changes: Arc<Changes>,
    /// Whether the new path is served as if the client had asked for it, as after a script's `Location` (RFC 3875
    /// section 6.2.2).
    pub(crate) is_plain: bool,
    /// How often the request was sent on; 0 if only its path was changed.
    pub(crate) times: u8,
    /// Its head as the client has sent it.
    pub(crate) head: Vec<u8>,
    /// How often a file of another path was named to answer the request.
    pub(crate) named: u8,
    /// Checks that the request has passed on its way to the target.
    pub(crate) met: Option<Met>,
}

/// Another target for a request.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) target: Vec<u8>,
    /// Checks that the request has passed, if a file of another path is to answer it; `None` if a rule of its site has
    /// changed its path.
    pub(crate) met: Option<Met>,
}

/// The target of a request that is sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// To a file of the folder with this number: an escaped path beneath it, with a slash in front.
    File(usize, Vec<u8>),
    /// To a path of its site, perhaps with a query.
    Path(Vec<u8>),
    /// To a target that is not allowed: a sentence that says why.
    Nowhere(String),
}

/// How often a request may be sent on (nginx has the same limit), and how often a file of another path may be named to
/// answer it. A request that reaches this limit goes round in a circle.
pub(crate) const TIMES_MAX: u8 = 10;

impl SendsOn {
    /// Reads the head of an answer. If the head sends the request on, returns the target, and the lines of the head
    /// that stay. `id_field` is the name of the server's own field.
    pub(crate) fn read(&self, head: &[u8], status: u16, id_field: &[u8]) -> Option<(To, Vec<u8>)> {
        let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).skip(1);
        let mut fields = lines.by_ref().take_while(|line| !line.is_empty()).filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        });
        let is = |name: &[u8], other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        let mut to = None;
        let mut kept = Vec::new();
        for (name, value) in fields.by_ref() {
            let found = match &self.files {
                Some(folder) if is(name, "X-Sendfile") => Some(folder.find(value)),
                _ if !self.routes => None,
                _ if is(name, "X-Accel-Redirect") => Some(path(value)),
                _ if status == 200 && is(name, "Location") && is_local(value) => Some(path(value)),
                _ => None,
            };
            let is_ours = found.is_some() || name.eq_ignore_ascii_case(id_field);
            to = to.or(found);
            let starts = |start: &str| name.get(..start.len()).is_some_and(|begin| is(begin, start));
            if !is_ours && !starts("X-Accel-") && !OF_THE_OTHER.iter().any(|other| is(name, other)) {
                kept.extend_from_slice(&[name, b": ", value, b"\r\n"].concat());
            }
        }
        to.map(|to| (to, kept))
    }
}

/// Fields that the target's answer sets itself; the application's fields of these names are dropped.
const OF_THE_OTHER: [&str; 14] = [
    "Accept-Ranges",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Range",
    "Date",
    "ETag",
    "Keep-Alive",
    "Last-Modified",
    "Server",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "X-Sendfile",
];

/// Whether a `Location` is a path, and not another host.
fn is_local(value: &[u8]) -> bool {
    value.first() == Some(&b'/') && !matches!(value.get(1), Some(b'/' | b'\\'))
}

fn path(value: &[u8]) -> To {
    if is_local(value) {
        To::Path(value.to_vec())
    } else {
        To::Nowhere(format!("{} is no path", value.escape_ascii()))
    }
}

impl SentFolder {
    /// Finds a file by its absolute path, or by a path that is relative to the folder.
    fn find(&self, value: &[u8]) -> To {
        let beneath = |place: &[u8]| value.strip_prefix(place).filter(|rest| rest.first() == Some(&b'/'));
        if let Some(rest) = self.places.iter().find_map(|place| beneath(place)) {
            return To::File(self.number, escaped(rest));
        }
        if value.is_empty() || value.starts_with(b"/") {
            let place = self.places.first().map(|place| place.escape_ascii().to_string()).unwrap_or_default();
            return To::Nowhere(format!("{} is not beneath {place}", value.escape_ascii()));
        }
        To::File(self.number, escaped(&[b"/", value].concat()))
    }
}

impl Onward {
    /// Makes the value for a request whose target was rewritten, without being sent on; `head` is the head as it was
    /// sent.
    pub(crate) fn rewritten(head: Vec<u8>) -> Onward {
        let (kept, changes) = (Vec::new(), Arc::default());
        Onward { to: None, kept, changes, is_plain: false, times: 0, head, named: 0, met: None }
    }

    /// Returns the request as the client has sent it.
    pub(crate) fn first<'h>(&'h self, head: &'h mut Head, limits: &Limits) -> Option<Request<'h>> {
        let is_whole = matches!(head.parse(&self.head, limits), Ok(Parsed::Complete));
        is_whole.then(|| head.of(&self.head))
    }

    /// Returns the request's next target; `head` is its head until now.
    pub(crate) fn depart(&mut self, head: &[u8]) -> Option<To> {
        if self.head.is_empty() {
            self.head = head.to_vec();
        }
        self.times += 1;
        self.met = None;
        let to = self.to.take();
        if self.times > TIMES_MAX {
            Some(To::Nowhere(format!("it was sent on {TIMES_MAX} times already")))
        } else {
            to
        }
    }

    /// Returns the changes of a route, and with them the lines of the application's answer that stay.
    pub(crate) fn changes_of(&self, changes: &Changes) -> Arc<Changes> {
        Arc::new(Changes { kept: self.kept.clone(), ..changes.clone() })
    }
}

/// Returns the head of a request for another target, without the fields about a body: the request has no body from here
/// on.
pub(crate) fn head_for(request: Request<'_>, target: &[u8]) -> Vec<u8> {
    const OF_BODIES: [&[u8]; 6] = [
        b"Content-Encoding",
        b"Content-Length",
        b"Content-Type",
        b"Expect",
        b"Trailer",
        b"Transfer-Encoding",
    ];

    let method: &[u8] = if request.method() == Method::Head { b"HEAD" } else { b"GET" };
    head_with(request, method, target, |name| !OF_BODIES.iter().any(|other| other.eq_ignore_ascii_case(name)))
}

/// Returns the head of a request for another target, with all its fields.
pub(crate) fn head_at(request: Request<'_>, target: &[u8]) -> Vec<u8> {
    head_with(request, request.method_name(), target, |_| true)
}

fn head_with(request: Request<'_>, method: &[u8], target: &[u8], has: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let version: &[u8] =
        if request.version() == Version::Http10 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" };
    let mut head = [method, b" ", target, version].concat();
    // The old target may have been in absolute-form, and no `Host` field may name its host.
    if let Some(host) = request.host().filter(|_| !request.has(Known::Host)) {
        head.extend_from_slice(&[b"Host: ", host, b"\r\n"].concat());
    }
    for field in request.fields() {
        let name = request.name(field);
        if has(name) {
            head.extend_from_slice(&[name, b": ", request.value(field), b"\r\n"].concat());
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use adyton_http1::{Head, Limits, Parsed};

    use super::{SendsOn, SentFolder, To, head_for};

    fn sends() -> SendsOn {
        let places = vec![b"/srv/files"[..].into(), b"/data/files"[..].into()];
        SendsOn { files: Some(SentFolder { number: 3, places }), routes: true }
    }

    fn read(sends: &SendsOn, status: u16, lines: &str) -> Option<(To, String)> {
        let head = format!("HTTP/1.1 {status} Words\r\n{lines}Date: now\r\n\r\nX-Sendfile: body");
        let (to, kept) = sends.read(head.as_bytes(), status, b"X-Request-ID")?;
        Some((to, String::from_utf8(kept).ok()?))
    }

    #[test]
    fn places() {
        let file = |path: &str| Some(To::File(3, path.as_bytes().to_vec()));
        let path = |path: &str| Some(To::Path(path.as_bytes().to_vec()));
        let nowhere = |words: &str| Some(To::Nowhere(words.to_owned()));
        for (status, lines, expected) in [
            (200, "X-Sendfile: /srv/files/a b.pdf\r\n", file("/a%20b.pdf")),
            (403, "x-sendfile: /data/files/a/../%2e\r\n", file("/a/../%252e")),
            (200, "X-Sendfile: sub/a\r\n", file("/sub/a")),
            (
                200,
                "X-Sendfile: /srv/filesystem/a\r\n",
                nowhere("/srv/filesystem/a is not beneath /srv/files"),
            ),
            (200, "X-Sendfile: /srv/files\r\n", nowhere("/srv/files is not beneath /srv/files")),
            (200, "X-Sendfile:\r\n", nowhere(" is not beneath /srv/files")),
            (404, "X-Accel-Redirect: /kept/a?b\r\n", path("/kept/a?b")),
            (200, "X-Accel-Redirect: https://a.example/\r\n", nowhere("https://a.example/ is no path")),
            (200, "X-Accel-Redirect: //a.example/\r\n", nowhere("//a.example/ is no path")),
            (200, "Location: /a\r\n", path("/a")),
            (302, "Location: /a\r\n", None),
            (200, "Location: //a.example\r\n", None),
            (200, "Location: https://a.example/\r\n", None),
            (200, "Content-Type: text/plain\r\n", None),
        ] {
            assert_eq!(expected, read(&sends(), status, lines).map(|(to, _)| to), "{lines}");
        }
        for lines in ["X-Sendfile: /srv/files/a\r\n", "X-Accel-Redirect: /a\r\n"] {
            assert_eq!(None, read(&SendsOn::default(), 200, lines), "{lines}");
        }
    }

    #[test]
    fn fields_that_stay() {
        let lines = "Content-Type: a/b\r\nContent-Length: 0\r\nX-Accel-Redirect: /a\r\nSet-Cookie: a=b\r\n\
                     X-Accel-Buffering: no\r\nSet-Cookie: c=d\r\nX-Request-ID: 5\r\nETag: \"x\"\r\n";

        assert_eq!(
            Some("Content-Type: a/b\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n".to_owned()),
            read(&sends(), 200, lines).map(|(_, kept)| kept)
        );
    }

    /// A request keeps the host of its first target, wherever it is sent on.
    #[test]
    fn heads() {
        for (sent, expected) in [
            (
                "POST http://a.example/x HTTP/1.1\r\nHost: b.example\r\nContent-Length: 2\r\nRange: bytes=0-1\r\n\r\n",
                "GET /y HTTP/1.1\r\nHost: a.example\r\nRange: bytes=0-1\r\n\r\n",
            ),
            ("GET http://a.example/x HTTP/1.0\r\n\r\n", "GET /y HTTP/1.0\r\nHost: a.example\r\n\r\n"),
        ] {
            let mut head = Head::new();
            assert_eq!(Ok(Parsed::Complete), head.parse(sent.as_bytes(), &Limits::default()));

            assert_eq!(
                expected,
                String::from_utf8_lossy(&head_for(head.of(sent.as_bytes()), b"/y")),
                "{sent}"
            );
        }
    }
}
