//! Which answers are compressed on their way, and how.

use adyton_compress::{CODINGS, Coding};

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// Answers that are compressed on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Compression {
    pub compress: Compress,
    pub compress_bytes_min: u64,
    pub compress_file_bytes_max: u64,
    pub compress_cookies: bool,
    pub compress_memory_max: u64,
}

impl<S: Has<Compression>> Section<S> for Compression {
    const HEADING: &'static str = "Compression";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "compress",
            kind: Kind::Form {
                shape: "CODING,CODING",
                set: |settings, text| compress(text).map(|compress| settings.as_mut().compress = compress),
            },
            default: "off",
            example: "br,gzip",
            scope: Scope::Route,
            help: "compress answers for clients that accept it",
            detail: "`on`, `off`, or some of the codings `br`, `zstd` and `gzip`, separated by commas. If a client \
                     accepts several equally, the first is used. With `on`, the order for answers of applications is \
                     `zstd`, `br`, `gzip` (the quickest first), and for static files, which are compressed once and \
                     kept, `br`, `zstd`, `gzip` (the smallest result first). Only types that become smaller are \
                     compressed (text, JSON, JavaScript, XML, SVG, WebAssembly, but no event streams), unless the \
                     answer has a `Content-Encoding`, a `Set-Cookie`, `Cache-Control: no-transform` or a digest, or \
                     is a part (206). Each piece that an application yields is sent at once. Such answers have `Vary: \
                     Accept-Encoding` and a weak ETag; files have a separate ETag for each coding. The default is \
                     `off`: if a page holds a secret and also repeats text that others send, the length of the \
                     compressed page can betray the secret (BREACH).",
            ..Self::ROW
        },
        Row {
            name: "compress-bytes-min",
            kind: bytes(1 << 30, |settings, number| settings.as_mut().compress_bytes_min = number),
            default: "1k",
            example: "256",
            scope: Scope::Route,
            help: "shortest answer that is compressed",
            detail: "Applies to answers whose length is known. If an answer fits into one packet, compression does \
                     not make it arrive sooner.",
            ..Self::ROW
        },
        Row {
            name: "compress-file-bytes-max",
            kind: bytes(1 << 30, |settings, number| settings.as_mut().compress_file_bytes_max = number),
            default: "512k",
            example: "64k",
            scope: Scope::Route,
            help: "longest file that is compressed",
            detail: "A file is compressed when a client first asks for that coding. Other requests of the process wait \
                     meanwhile: 8 to 25 ms for 512 KiB. The result is kept in the cache of static files until the file \
                     changes; files for which there is no room are sent as they are. Longer files are best compressed \
                     beforehand, with a `.br`, `.zst` or `.gz` beside them.",
            ..Self::ROW
        },
        Row {
            name: "compress-cookies",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().compress_cookies = on },
            default: "off",
            example: "on",
            scope: Scope::Route,
            help: "compress answers that set a cookie, too",
            detail: "Such an answer is for one user, and probably has secrets of that user. Switch it on if pages do \
                     not repeat text that a link or a form of another site can put into a request.",
            ..Self::ROW
        },
        Row {
            name: "compress-memory-max",
            kind: bytes(1 << 40, |settings, number| settings.as_mut().compress_memory_max = number),
            default: "64m",
            example: "256m",
            help: "memory of all compressors of a process",
            detail: "A compressor takes from 0.5 to 4 MiB while its answer lasts. When this memory is used up, answers \
                     are sent as they are.",
            ..Self::ROW
        },
    ];
}

/// Which codings answers are compressed with.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Compress {
    /// None.
    #[default]
    Off,
    /// All, in the order that is best for the content.
    On,
    /// Some codings; if a client accepts several equally, the first of these is used.
    Only(Vec<Coding>),
}

const fn bytes<S>(most: u64, set: fn(&mut S, u64)) -> Kind<S> {
    Kind::Number { unit: Unit::Bytes, least: 0, most, set }
}

fn compress(text: &str) -> Result<Compress, String> {
    match text {
        "on" => return Ok(Compress::On),
        "off" => return Ok(Compress::Off),
        _ => {}
    }
    let mut codings: Vec<Coding> = Vec::new();
    for name in text.split(',').map(str::trim) {
        let coding = CODINGS.into_iter().find(|coding| coding.token() == name);
        match coding {
            Some(coding) if !codings.contains(&coding) => codings.push(coding),
            _ => return Err("write on, off, or some of br, zstd and gzip, each once".to_owned()),
        }
    }
    Ok(Compress::Only(codings))
}
