//! Invariants of every line in the access log, whatever a client sent.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use adyton_http1::{Head, Limits, Parsed};
use adyton_log::request::RequestIds;
use adyton_log::sink::Destination;
use adyton_server::{AccessLog, Record};

/// Panics unless each format makes one whole line of `bytes`, whether they are a request or not.
pub(crate) fn check(bytes: &[u8], peer: Option<SocketAddr>) {
    let mut head = Head::new();
    let parsed = head.parse(bytes, &Limits::default());
    // The ID and the trace that a client gives its request are any bytes, too.
    let id = RequestIds::new(7).next(Some(bytes), Some(bytes));
    let record = Record {
        peer,
        request: (parsed == Ok(Parsed::Complete)).then(|| head.of(bytes)),
        refused: bytes,
        site: std::str::from_utf8(bytes).ok(),
        user: std::str::from_utf8(bytes).ok(),
        status: 200,
        body_bytes: bytes.len() as u64,
        duration_us: 17,
        id: &id,
    };
    for (format, quotes) in [("common", 2), ("combined", 6), (ATOMS, 0)] {
        let line = line_of(&record, format);
        let line = one_line(&line);
        assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{line}");
        assert_eq!(quotes, dissect(line).quotes, "{line}");
    }
    check_json(one_line(&line_of(&record, "json")));
}

/// Panics if a format is accepted with which no log can be opened or written.
pub(crate) fn check_format(format: &str, bytes: &[u8]) {
    match AccessLog::check_format(format) {
        Ok(()) => {
            let id = RequestIds::new(7).next(None, None);
            let record = Record {
                peer: None,
                request: None,
                refused: bytes,
                site: None,
                user: None,
                status: 400,
                body_bytes: 0,
                duration_us: 0,
                id: &id,
            };
            assert!(line_of(&record, format).ends_with(b"\n"), "{format}");
        }
        Err(sentence) => assert!(!sentence.chars().any(char::is_control), "{sentence:?}"),
    }
}

/// A format of atoms without quotes around them.
const ATOMS: &str = "%a %t %m %U %q %H %s %b %B %D %T %P %L %{Host}i %{X-Other}i %%";

/// Room for one line of any length that the parser lets through.
const QUEUE_BYTES_MAX: usize = 1 << 20;

/// Time within which the writing thread gets a CPU, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the line of a record. The log is a file without a name, so that no file is left behind.
fn line_of(record: &Record<'_>, format: &str) -> Vec<u8> {
    thread_local! {
        static FILE: File = open_unnamed();
    }
    FILE.with(|mut file| {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut log = AccessLog::open(&Destination::File(path.into()), format, QUEUE_BYTES_MAX)
            .expect("a format that was checked");
        log.record(record);
        log.settle(PATIENCE);
        drop(log);
        let mut line = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut line)).expect("a file of our own");
        file.set_len(0).expect("a file of our own");
        line
    })
}

fn open_unnamed() -> File {
    // The file is in memory: some file systems write a file that is truncated and closed to the disk at once.
    let path = format!("/dev/shm/adyton-fuzz-{}", std::process::id());
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    fs::remove_file(&path).expect("the file that was just made");
    file.expect("room in memory for files")
}

/// Returns the text before the only line end.
fn one_line(line: &[u8]) -> &str {
    let text = str::from_utf8(line).expect("UTF-8").strip_suffix('\n').expect("an end");
    assert!(!text.contains(char::is_control), "{text:?}");
    text
}

/// The parts of a line.
#[derive(Default)]
struct Anatomy {
    outside_quotes: String,
    quotes: usize,
    /// Characters behind a backslash.
    escaped: String,
}

fn dissect(line: &str) -> Anatomy {
    let (mut anatomy, mut characters) = (Anatomy::default(), line.chars());
    while let Some(character) = characters.next() {
        match character {
            '\\' => anatomy.escaped.extend(characters.next()),
            '"' => anatomy.quotes += 1,
            _ if anatomy.quotes.is_multiple_of(2) => anatomy.outside_quotes.push(character),
            _ => {}
        }
    }
    anatomy
}

/// Panics unless a line has the members of every line: strings or `null`, and numbers.
fn check_json(line: &str) {
    let anatomy = dissect(line);
    let skeleton = anatomy.outside_quotes.replace("null", "").replace(|c: char| c.is_ascii_digit(), "");
    assert_eq!("{:,:,:,:,:,:,:,:,:,:,:,:,:,:,:,:,:}", skeleton, "{line}");
    assert!(
        anatomy.quotes.is_multiple_of(2) && anatomy.escaped.chars().all(|c| "u\"\\".contains(c)),
        "{line}"
    );
}
