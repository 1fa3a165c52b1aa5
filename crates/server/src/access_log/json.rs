//! A line as one JSON object, RFC 8259: always the same members, `null` where there is nothing.

use adyton_http::{Known, Request};
use adyton_log::escape;
use adyton_log::stamp::Stamp;

use super::client;
use super::line::{write_id, write_number};
use super::record::Record;

/// Appends the line for `record`.
pub(super) fn write(out: &mut Vec<u8>, record: &Record<'_>, stamp: &Stamp) {
    let field = |known| record.request.and_then(|request| request.first(known));
    let host = record.request.and_then(Request::host);
    out.extend_from_slice(br#"{"time":""#);
    out.extend_from_slice(stamp.rfc3339());
    out.extend_from_slice(br#"","client":"#);
    match record.peer {
        Some(peer) => {
            out.push(b'"');
            client::write(out, peer);
            out.push(b'"');
        }
        None => out.extend_from_slice(b"null"),
    }
    write_string(out, br#","user":"#, record.user.map(str::as_bytes));
    write_string(out, br#","host":"#, host);
    write_string(out, br#","method":"#, record.method());
    write_string(out, br#","path":"#, record.path());
    write_string(out, br#","query":"#, record.query());
    write_string(out, br#","protocol":"#, record.protocol());
    out.extend_from_slice(br#","status":"#);
    write_number(out, record.status.into());
    out.extend_from_slice(br#","bytes":"#);
    write_number(out, record.body_bytes);
    out.extend_from_slice(br#","duration_us":"#);
    write_number(out, record.duration_us);
    write_string(out, br#","referer":"#, field(Known::Referer));
    write_string(out, br#","user_agent":"#, field(Known::UserAgent));
    out.extend_from_slice(br#","request_id":""#);
    write_id(out, record.id);
    out.push(b'"');
    write_string(out, br#","trace_id":"#, record.id.trace().map(str::as_bytes));
    write_string(out, br#","site":"#, record.site.map(str::as_bytes));
    write_string(out, br#","group":"#, adyton_log::group().map(str::as_bytes));
    out.extend_from_slice(b"}\n");
}

#[inline]
fn write_string(out: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    out.extend_from_slice(key);
    match value {
        Some(value) => escape::write_json(out, value),
        None => out.extend_from_slice(b"null"),
    }
}
