//! Answers that need no file: to other methods than GET and HEAD, for folders, and for errors.

use adyton_http::{BodySize, Known, Method};
use adyton_http1 as http1;

use crate::answer::conditions::Validators;
use crate::answer::negotiate::accepts_html;
use crate::answer::pages::error_page;
use crate::answer::send::{Content, Representation, whole};
use crate::path::{FilePath, escape};
use crate::{Ask, FileAnswer};

/// Methods that a folder of files allows.
const ALLOW: &[u8] = b"GET, HEAD, OPTIONS";

/// Answers a request whose method reads no file, and names the methods that do.
pub(crate) fn other_method(ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
    let (status, detail) = match ask.request.method() {
        Method::Options => return allow(ask, out),
        // RFC 9110 section 9.1: an unknown method is answered 501, a known method that files do not allow 405.
        Method::Other => (501, "The server does not know this method."),
        _ => (405, "Files can only be read."),
    };
    error_page(out, ask.asked, &ask.identity, status, detail, &[(b"Allow", ALLOW)])
}

/// Redirects (301) to the folder's path with the missing slash, and keeps the query.
///
/// The target is made from the path in normal form. It begins with exactly one slash, so that `//host` cannot become
/// the name of another server.
pub(crate) fn redirect(path: &FilePath, ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
    let raw = ask.request.path();
    let prefix = String::from_utf8_lossy(raw.get(..ask.prefix.len()).unwrap_or_default());
    let prefix = prefix.trim_start_matches(['/', '\\']);
    let relative = escape(path.relative()).to_string();
    let mut location = String::from("/");
    for part in [prefix, &relative] {
        if !part.is_empty() {
            location.push_str(part.trim_matches('/'));
            location.push('/');
        }
    }
    let query = String::from_utf8_lossy(ask.request.query());
    if !query.is_empty() {
        location.push('?');
        location.push_str(&query);
    }
    let fields = [(&b"Location"[..], location.as_bytes())];
    let detail = "This is a folder: its address ends with a slash.";
    error_page(out, ask.asked, &ask.identity, 301, detail, &fields)
}

/// Answers with a page that is made for this request; caches must revalidate it.
pub(crate) fn page(ask: &Ask<'_>, page: &[u8], out: &mut Vec<u8>) -> FileAnswer {
    let start = out.len();
    let form = Representation {
        content: Content::Memory(page),
        content_type: b"text/html; charset=utf-8",
        validators: Validators { etag: b"", modified_s: None },
        fields: &[(b"Cache-Control", b"no-cache")],
    };
    whole(ask, &form, 200, out).unwrap_or_else(|_| {
        out.truncate(start);
        broken(ask, out)
    })
}

/// Answers for a file that cannot be read, or whose head cannot be written.
pub(crate) fn broken(ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
    error_page(out, ask.asked, &ask.identity, 500, "The file could not be read.", &[])
}

/// Whether a browser navigates to a page: the request accepts HTML, and the path does not look like a file.
pub(crate) fn is_navigation(ask: &Ask<'_>) -> bool {
    let raw = ask.request.path();
    let path = FilePath::parse(raw.get(ask.prefix.len()..).unwrap_or_default());
    let accept = ask.request.all(Known::Accept);
    let accept: Vec<&[u8]> = accept.collect();
    path.is_ok_and(|path| !path.has_extension()) && accepts_html(&accept)
}

fn allow(ask: &Ask<'_>, out: &mut Vec<u8>) -> FileAnswer {
    let start = out.len();
    let head = http1::begin(out, 204, b"No Content").and_then(|mut head| {
        head.field(b"Allow", ALLOW)?;
        Ok(http1::finish(head, ask.asked, &ask.identity, BodySize::Known(0)))
    });
    if let Ok(framed) = head {
        FileAnswer::Whole { status: 204, body_bytes: 0, keep_alive: framed.keep_alive }
    } else {
        out.truncate(start);
        broken(ask, out)
    }
}
