//! A line in Apache's notation.

use std::io::Write;

use adyton_http::{Known, Method, Request};
use adyton_log::escape;
use adyton_log::request::RequestId;
use adyton_log::stamp::Stamp;

use super::client;
use super::record::Record;
use super::step::FormatStep;

/// Appends the line that `steps` make of `record`.
pub(super) fn write(out: &mut Vec<u8>, steps: &[FormatStep], record: &Record<'_>, stamp: &Stamp) {
    for step in steps {
        match step {
            FormatStep::Text(text) => out.extend_from_slice(text),
            FormatStep::Client => match record.peer {
                Some(peer) => client::write(out, peer),
                None => out.push(b'-'),
            },
            FormatStep::User => write_or_dash(out, record.user.map(str::as_bytes)),
            FormatStep::Site => write_or_dash(out, record.site.map(str::as_bytes)),
            FormatStep::Time => out.extend_from_slice(stamp.apache()),
            FormatStep::RequestLine => write_or_dash(out, request_line(record)),
            FormatStep::Method => write_or_dash(out, record.method()),
            FormatStep::Path => write_or_dash(out, record.path()),
            FormatStep::Query => {
                if let Some(query) = record.query() {
                    out.push(b'?');
                    escape::write_text(out, query);
                }
            }
            FormatStep::Protocol => write_or_dash(out, record.protocol()),
            FormatStep::Status => write_number(out, record.status.into()),
            FormatStep::BytesOrDash if record.body_bytes == 0 => out.push(b'-'),
            FormatStep::Bytes | FormatStep::BytesOrDash => write_number(out, record.body_bytes),
            FormatStep::Id => write_id(out, record.id),
            FormatStep::Microseconds => write_number(out, record.duration_us),
            FormatStep::Seconds => write_number(out, record.duration_us / 1_000_000),
            FormatStep::Field(known) => {
                let has = record.request.filter(|request| request.has(*known));
                write_values(out, has.into_iter().flat_map(|request| request.all(*known)));
            }
            FormatStep::OtherField(name) => write_values(out, other_fields(record, name)),
        }
    }
}

impl<'r> Record<'r> {
    /// The method as it was sent.
    pub(super) fn method(&self) -> Option<&'r [u8]> {
        self.request.map(Request::method_name)
    }

    /// The path as it was sent; `/` for a target in absolute-form that has no path.
    pub(super) fn path(&self) -> Option<&'r [u8]> {
        let request = self.request?;
        match request.path() {
            // The target of CONNECT is no path.
            b"" if request.method() == Method::Connect => None,
            b"" => Some(b"/"),
            path => Some(path),
        }
    }

    /// The query; empty if only a `?` was sent.
    pub(super) fn query(&self) -> Option<&'r [u8]> {
        let request = self.request?;
        let head = request.head();
        // A `?` that was sent lies between the path and the query.
        (head.path.end < head.query.start).then(|| request.query())
    }

    /// The version as it was sent; the server may speak an earlier one.
    pub(super) fn protocol(&self) -> Option<&'r [u8]> {
        let request = self.request?;
        let end = request.head().target.end as usize;
        request.bytes().get(end + 1..end + 1 + VERSION_BYTES)
    }
}

/// Returns the request line as it was sent; for a refused request, the beginning of its first line.
fn request_line<'r>(record: &Record<'r>) -> Option<&'r [u8]> {
    let Some(request) = record.request else {
        let start = &record.refused[..record.refused.len().min(REFUSED_BYTES_MAX)];
        let end = memchr::memchr2(b'\r', b'\n', start).unwrap_or(start.len());
        return Some(&start[..end]).filter(|line| !line.is_empty());
    };
    let head = request.head();
    request.bytes().get(head.method_span.start as usize..head.target.end as usize + 1 + VERSION_BYTES)
}

fn other_fields<'r>(record: &Record<'r>, name: &'r str) -> impl Iterator<Item = &'r [u8]> {
    let request = record.request.filter(|request| request.has(Known::Other));
    request.into_iter().flat_map(move |request| request.all_named(name.as_bytes()))
}

/// Appends the values of a field that may be repeated as one list (RFC 9110 section 5.3). A dash stands for an empty
/// list, too: a column must not vanish.
#[inline]
fn write_values<'r>(out: &mut Vec<u8>, values: impl Iterator<Item = &'r [u8]>) {
    let start = out.len();
    for value in values {
        if out.len() > start {
            out.extend_from_slice(b", ");
        }
        escape::write_text(out, value);
    }
    if out.len() == start {
        out.push(b'-');
    }
}

#[inline]
fn write_or_dash(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => escape::write_text(out, value),
        None => out.push(b'-'),
    }
}

/// Appends `number` in decimal.
#[inline]
pub(super) fn write_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends the request's id, which is always plain.
#[inline]
pub(super) fn write_id(out: &mut Vec<u8>, id: &RequestId) {
    // Writing into a vector cannot fail.
    let _ = write!(out, "{id}");
}

/// Length of `HTTP/1.1`: the parser takes one digit on each side of the dot.
const VERSION_BYTES: usize = 8;

/// Bytes logged of input that is no request: enough to recognise it.
const REFUSED_BYTES_MAX: usize = 256;
