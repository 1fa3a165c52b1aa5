//! The fuzz targets: each gives any bytes to the server's code, with the checks that hold for all bytes.

use adyton_http1::Limits;
use adyton_import::Kind;

use crate::messages::proxied::{check_fields, check_header};
use crate::messages::{
    answers, authorizations, caching, chunks, codings, heads, range_lists, received, rewrites, script_heads,
};
use crate::settings::{folder_files, imports, sites_files};
use crate::{access_lines, feed, file_names, folders, lines, passages};

/// A function that takes any bytes, and panics if a promise does not hold.
pub type Target = fn(&[u8]);

/// All targets, with the names of their folders in the corpus.
pub const ALL: &[(&str, Target)] = &[
    ("access_log", access_log),
    ("authorization", authorization),
    ("cache_control", cache_control),
    ("chunked", chunked),
    ("coded_head", coded_head),
    ("folder_file", folder_file),
    ("head", head),
    ("import_apache", import_apache),
    ("import_gunicorn", import_gunicorn),
    ("import_nginx", import_nginx),
    ("import_unit", import_unit),
    ("import_uwsgi", import_uwsgi),
    ("line", line),
    ("passage", passage),
    ("proxied", proxied),
    ("range", range),
    ("received", received),
    ("response", response),
    ("rewrite", rewrite),
    ("script_head", script_head),
    ("site", site),
    ("sites_file", sites_file),
    ("split", split),
    ("url_path", url_path),
];

/// Any bytes as a request, and as a format: one line in the access log, with nothing of the client's outside its
/// quotes.
pub fn access_log(data: &[u8]) {
    let Some((address, rest)) = data.split_first_chunk::<16>() else { return };
    access_lines::check(rest, None);
    access_lines::check(rest, Some((*address, 65535).into()));
    let mut halves = rest.splitn(2, |&byte| byte == 0xff);
    let (format, bytes) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    if let Ok(format) = str::from_utf8(format) {
        access_lines::check_format(format, bytes);
    }
}

/// Any bytes as `Authorization`, and as a file of users: nobody gets in, and mistakes are named.
pub fn authorization(data: &[u8]) {
    authorizations::check(data);
    if let Ok(text) = str::from_utf8(data) {
        authorizations::check_files(text);
    }
}

/// Any bytes as `Cache-Control`, and as the head of an answer that a cache may keep.
pub fn cache_control(data: &[u8]) {
    caching::check_control(data);
    caching::check_head(data);
}

/// Any bytes as a chunked body, also followed by bytes that may complete it: decoded to what the reference decodes.
pub fn chunked(data: &[u8]) {
    // A body that breaks off tests little.
    for end in [&b""[..], b"\r\n\r\n", b"\"\r\n\r\n"] {
        chunks::check(&[data, end].concat());
    }
}

/// Any bytes as fields of an answer that may be compressed, and as the `Accept-Encoding` of a client.
pub fn coded_head(data: &[u8]) {
    if let Some((chosen, rest)) = data.split_first_chunk::<2>() {
        codings::check_head(u16::from_le_bytes(*chosen), rest);
        codings::check_accepted(rest);
    }
}

/// Any bytes as a request head, also followed by bytes that may complete it: taken exactly when the reference takes it.
pub fn head(data: &[u8]) {
    let tight = Limits { line_bytes_max: 40, field_bytes_max: 30, head_bytes_max: 120, fields_max: 4 };
    for end in [&b""[..], b"\r\n\r\n", b" HTTP/1.0\r\n\r\n"] {
        let input = [data, end].concat();
        heads::check(&input, &Limits::default());
        heads::check(&input, &tight);
    }
}

/// Any bytes as a configuration of Apache: a sentence about a mistake, or a file of sites that is right.
pub fn import_apache(data: &[u8]) {
    imports::check(Kind::Apache, data);
}

/// Any bytes as a configuration of gunicorn: a sentence about a mistake, or a file of sites that is right.
pub fn import_gunicorn(data: &[u8]) {
    imports::check(Kind::Gunicorn, data);
}

/// Any bytes as a configuration of nginx: a sentence about a mistake, or a file of sites that is right.
pub fn import_nginx(data: &[u8]) {
    imports::check(Kind::Nginx, data);
}

/// Any bytes as a configuration of NGINX Unit: a sentence about a mistake, or a file of sites that is right.
pub fn import_unit(data: &[u8]) {
    imports::check(Kind::Unit, data);
}

/// Any bytes as a configuration of uWSGI: a sentence about a mistake, or a file of sites that is right.
pub fn import_uwsgi(data: &[u8]) {
    imports::check(Kind::Uwsgi, data);
}

/// Any bytes as the stream of a worker to its supervisor: the messages of its lines, however they are cut.
pub fn line(data: &[u8]) {
    if let Some((sizes, stream)) = data.split_first_chunk::<4>() {
        lines::check(*sizes, stream);
    }
}

/// Any bytes as a message between door and group, with any descriptors: one connection or none, and no descriptor stays
/// open.
pub fn passage(data: &[u8]) {
    if let Some((chosen, message)) = data.split_first_chunk::<4>() {
        passages::check(*chosen, message);
    }
}

/// Any bytes as a header of the PROXY protocol and as fields of a request: trusted proxies are believed,
/// and nobody else.
pub fn proxied(data: &[u8]) {
    check_header(data);
    check_fields(data, &["Forwarded"]);
    check_fields(data, &["X-Forwarded-For"]);
    check_fields(
        data,
        &[
            "X-Real-IP",
            "X-Forwarded-SSL",
            "Forwarded",
            "X-Forwarded-Port",
            "X-Script-Name",
            "X-Forwarded-Server",
        ],
    );
}

/// Any bytes as a `Range` field, for a small file and for one of any length: the ranges that the reference finds.
pub fn range(data: &[u8]) {
    if let Some((bytes, value)) = data.split_first_chunk::<8>() {
        range_lists::check(value, bytes[0].into());
        range_lists::check(value, u64::from_le_bytes(*bytes));
    }
}

/// Any bytes as the head of an answer: reading a part of it never contradicts reading all of it.
pub fn received(data: &[u8]) {
    // Most bytes are not a status line, and such bytes test little.
    for begin in [&b""[..], b"HTTP/1.1 200 OK\r\n"] {
        let head = [begin, data].concat();
        received::check(&head, false);
        received::check(&head, true);
    }
}

/// Any bytes as the fields of an application: the answer has only lines that the application may write.
pub fn response(data: &[u8]) {
    answers::check(data);
}

/// Any bytes as a path that a site's rules change: the result is one path, decoded to what the rule has made.
pub fn rewrite(data: &[u8]) {
    rewrites::check(data);
}

/// Any bytes as the output of a script: the head is found wherever it is cut, and no field has a line break, behind
/// which another field could stand.
pub fn script_head(data: &[u8]) {
    script_heads::check(data);
}

/// Any bytes as the file of a folder's settings: sentences about mistakes, or no more settings than the file may have.
pub fn folder_file(data: &[u8]) {
    folder_files::check(data);
}

/// Any bytes as a request to a folder of files: a whole and honest answer, with nothing from outside the folder.
pub fn site(data: &[u8]) {
    folders::check(data);
}

/// Any bytes as a file of sites: sentences about mistakes, or a router that finds the right routes.
pub fn sites_file(data: &[u8]) {
    sites_files::check(data);
}

/// Any bytes as a stream of requests: read in pieces of any sizes as in one.
pub fn split(data: &[u8]) {
    if let Some((sizes, stream)) = data.split_first_chunk::<4>() {
        feed::check(stream, sizes, &Limits::default());
    }
}

/// Any bytes as a path: decoded once, and never the name of anything outside the root.
pub fn url_path(data: &[u8]) {
    file_names::check(data);
}
