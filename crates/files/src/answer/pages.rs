//! Pages that the server writes itself: errors and redirects, small, plain and escaped.

use adyton_http::{BadResponse, BodySize, Identity, reason_phrase};
use adyton_http1::{self as http1, Asked, Framed};

use crate::FileAnswer;

/// The beginning of every page, up to its title. Pages have no script, load nothing, and can be light or dark.
pub(crate) const PAGE_START: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n";

/// Media type of every page.
const HTML: &[u8] = b"text/html; charset=utf-8";

/// A small HTML page with a status and one sentence, made once and sent for many requests.
#[derive(Debug)]
pub struct ErrorPage {
    status: u16,
    text: String,
}

impl ErrorPage {
    /// Makes a page. `detail` is escaped here, so it may hold bytes from the client; if it is empty, the page has no
    /// such sentence. A status that allows no body gets none; a status that is not valid becomes 500.
    pub fn new(status: u16, detail: &str) -> Self {
        let status = if matches!(status, 200..=999) { status } else { 500 };
        // Statuses without a body: RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5.
        let has_body = !matches!(status, 204 | 205 | 304);
        Self { status, text: if has_body { page(status, detail) } else { String::new() } }
    }

    /// Writes a whole answer with the page.
    ///
    /// `fields` come from the server (`Allow`, `Location`, `Retry-After`). A field that cannot be sent is left out, so
    /// that the error is still answered.
    pub fn write(
        &self,
        out: &mut Vec<u8>,
        asked: Asked,
        identity: &Identity<'_>,
        fields: &[(&[u8], &[u8])],
    ) -> FileAnswer {
        let (status, start) = (self.status, out.len());
        let head = Head { status, fields, body_bytes: self.text.len() };
        let Ok(framed) = write_head(out, asked, identity, &head) else {
            // This branch is never reached: a status of three digits and our own phrase are always accepted.
            out.truncate(start);
            return FileAnswer::Whole { status, body_bytes: 0, keep_alive: false };
        };
        let body_bytes = if asked.is_head { 0 } else { self.text.len() };
        out.extend_from_slice(&self.text.as_bytes()[..body_bytes]);
        FileAnswer::Whole { status, body_bytes: body_bytes as u64, keep_alive: framed.keep_alive }
    }
}

/// Writes a whole answer with an [`ErrorPage`] that is made for this answer alone.
pub fn error_page(
    out: &mut Vec<u8>,
    asked: Asked,
    identity: &Identity<'_>,
    status: u16,
    detail: &str,
    fields: &[(&[u8], &[u8])],
) -> FileAnswer {
    ErrorPage::new(status, detail).write(out, asked, identity, fields)
}

/// Returns the text with `&`, `<`, `>` and both quotes as entities, for HTML text and quoted attributes.
pub fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

struct Head<'a> {
    status: u16,
    fields: &'a [(&'a [u8], &'a [u8])],
    body_bytes: usize,
}

fn write_head(
    out: &mut Vec<u8>,
    asked: Asked,
    identity: &Identity<'_>,
    head: &Head<'_>,
) -> Result<Framed, BadResponse> {
    let reason = reason_phrase(head.status).as_bytes();
    let mut response = http1::begin(out, head.status, reason)?;
    if head.body_bytes > 0 {
        response.field(b"Content-Type", HTML)?;
    }
    for (name, value) in head.fields {
        let sent = response.field(name, value);
        debug_assert!(sent.is_ok(), "a field of the server's own cannot be sent");
    }
    Ok(http1::finish(response, asked, identity, BodySize::Known(head.body_bytes as u64)))
}

fn page(status: u16, detail: &str) -> String {
    let reason = reason_phrase(status);
    let title = if reason.is_empty() { status.to_string() } else { format!("{status} {reason}") };
    let detail = if detail.is_empty() { String::new() } else { format!("<p>{}</p>\n", escape_html(detail)) };
    format!(
        "{PAGE_START}<title>{title}</title>\n\
         <style>body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 40rem; padding: 0 1rem }}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n{detail}</body>\n</html>\n"
    )
}
