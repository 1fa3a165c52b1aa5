//! Limits of requests, and changes to requests and answers.

use std::path::PathBuf;

use super::files::field_value;
use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// Limits of requests, and changes to requests and answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Messages {
    /// Pages that replace the server's own, by status; relative to `chdir`. The last one for a status applies.
    pub error_pages: Vec<(u16, PathBuf)>,
    pub request_line_bytes_max: u64,
    pub header_field_bytes_max: u64,
    pub header_bytes_max: u64,
    pub header_fields_max: u64,
    pub body_bytes_max: u64,
    pub body_memory_max: u64,
    pub body_files_bytes_max: u64,
    pub temp_dir: PathBuf,
    pub underscore_headers: UnderscoreHeaders,
    pub merge_slashes: bool,
    /// The value of the `Server` field; `None`: the field is not sent.
    pub server_header: Option<String>,
}

impl<S: Has<Messages>> Section<S> for Messages {
    const HEADING: &'static str = "Requests and answers";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "request-line-bytes-max",
            kind: bytes(64, 64 << 10, |settings, number| settings.as_mut().request_line_bytes_max = number),
            default: "8k",
            example: "16k",
            help: "longest request line; a longer one is a 414",
            detail: "Method, target and version. nginx and Apache have 8 KiB too.",
            ..Self::ROW
        },
        Row {
            name: "header-field-bytes-max",
            kind: bytes(64, 64 << 10, |settings, number| settings.as_mut().header_field_bytes_max = number),
            default: "8k",
            example: "16k",
            help: "longest header field; a longer one is a 431",
            detail: "Name and value. Only cookies usually grow that long; nginx and Apache have 8 KiB too.",
            ..Self::ROW
        },
        Row {
            name: "header-bytes-max",
            kind: bytes(256, 1 << 20, |settings, number| settings.as_mut().header_bytes_max = number),
            default: "64k",
            example: "128k",
            help: "largest request head; a larger one is a 431",
            detail: "Request line and all fields. A client that sends a head slowly holds at most this much memory.",
            ..Self::ROW
        },
        Row {
            name: "header-fields-max",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 1,
                most: 256,
                set: |settings, number| settings.as_mut().header_fields_max = number,
            },
            default: "100",
            example: "200",
            help: "maximum number of header fields; then 431",
            detail: "Apache has 100 too; browsers send some 20.",
            ..Self::ROW
        },
        Row {
            name: "body-bytes-max",
            kind: bytes(0, 1 << 40, |settings, number| settings.as_mut().body_bytes_max = number),
            default: "100m",
            example: "1g",
            help: "largest request body; a larger one is a 413",
            detail: "nginx's limit is 1 MiB and Unit's is 8 MiB, which the first photo or video exceeds; Apache's is \
                     1 GiB, with which ten clients fill a small disk. A large body takes disk space, not memory. 0 \
                     refuses every body.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "body-memory-max",
            kind: bytes(0, 1 << 40, |settings, number| settings.as_mut().body_memory_max = number),
            default: "96m",
            example: "1g",
            help: "memory for all request bodies together",
            detail: "Each process has this much. A body for which no memory is left goes to a file without a name, \
                     which disappears with the request; the file costs up to four times as much CPU time. A body of \
                     more than 256 KiB waits first, as long as other bodies free memory. The first 16 KiB of each \
                     body are not counted. When an application has read a part of its body, the memory of that part \
                     is free for other bodies at once.",
            ..Self::ROW
        },
        Row {
            name: "body-files-bytes-max",
            kind: bytes(0, 1 << 50, |settings, number| settings.as_mut().body_files_bytes_max = number),
            default: "4g",
            example: "20g",
            help: "disk space for all large bodies together",
            detail: "A request whose body would need more gets a 503, so that clients who upload cannot fill the \
                     disk. Answers that clients take slowly may need some of this space, too \
                     (`--output-bytes-max`).",
            ..Self::ROW
        },
        Row {
            name: "temp-dir",
            kind: Kind::Path { shape: "DIR", set: |settings, path| settings.as_mut().temp_dir = path },
            default: "/tmp",
            example: "/var/tmp",
            ambient: Some("TMPDIR"),
            help: "folder for large bodies; $TMPDIR is honoured",
            detail: "If `/tmp` is in memory (tmpfs), a folder on disk such as `/var/tmp` is the better choice. A \
                     folder that is set here but cannot be written to is refused at the start. If the default `/tmp` \
                     cannot be written to, the server starts nevertheless, and reports that it refuses bodies that \
                     are too large for memory.",
            ..Self::ROW
        },
        Row {
            name: "error-pages",
            kind: Kind::Form {
                shape: "STATUS=FILE",
                set: |settings, text| error_page(text).map(|page| settings.as_mut().error_pages.push(page)),
            },
            example: "503=errors/busy.html",
            repeatable: true,
            scope: Scope::Site,
            help: "page of your own for a status",
            detail: "For errors that the server itself answers: no route, no password, a limit, an application that \
                     has failed. Answers of an application stay as they are, unless `intercept-errors` is on. For \
                     files that do not exist there is `static-404`. The media type follows from the file's name. The \
                     file is read when the server starts, and at a reload; it may have at most 1 MiB.",
            ..Self::ROW
        },
        Row {
            name: "underscore-headers",
            kind: Kind::Choice {
                words: &["drop", "refuse"],
                set: |settings, index| {
                    settings.as_mut().underscore_headers =
                        [UnderscoreHeaders::Drop, UnderscoreHeaders::Refuse][index];
                },
            },
            default: "drop",
            example: "refuse",
            help: "fields that have an underscore in their name",
            detail: "In a WSGI environ, `X_Forwarded_For` and `X-Forwarded-For` have the same name, so that a client \
                     could pass the one off as the other. `drop` leaves a field with an underscore out, `refuse` \
                     answers 400.",
            ..Self::ROW
        },
        Row {
            name: "merge-slashes",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().merge_slashes = on },
            default: "off",
            example: "on",
            help: "replace // in a path by one slash",
            detail: "Applies to the application's `SCRIPT_NAME` and `PATH_INFO`; `REQUEST_URI` stays as it was. \
                     Apache and nginx merge slashes, uWSGI and gunicorn do not.",
            ..Self::ROW
        },
        Row {
            name: "server-header",
            kind: Kind::Form {
                shape: "TEXT|off",
                set: |settings, text| {
                    settings.as_mut().server_header =
                        if text == "off" { None } else { Some(field_value(text)?) };
                    Ok(())
                },
            },
            default: "adyton",
            example: "off",
            help: "Server field of answers",
            detail: "The default names no version. An application that sets its own `Server` field keeps it.",
            ..Self::ROW
        },
    ];
}

/// The treatment of request header fields with an underscore in their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnderscoreHeaders {
    /// The field is left out.
    #[default]
    Drop,
    /// The request is answered 400.
    Refuse,
}

const fn bytes<S>(least: u64, most: u64, set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Bytes, least, most, set }
}

/// Reads a status that an error has, and the file of its page.
fn error_page(text: &str) -> Result<(u16, PathBuf), String> {
    let (status, file) = text.split_once('=').unwrap_or((text, ""));
    match status.parse() {
        Ok(status @ 400..=599) if !file.is_empty() => Ok((status, file.into())),
        _ => Err("write STATUS=FILE with a status from 400 to 599, as in 404=errors/404.html".to_owned()),
    }
}
