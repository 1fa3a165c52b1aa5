//! Whole lines and their way into a file, as a loop would make them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is the test's result")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use adyton_http1::{Head, Limits, Parsed};
use adyton_log::request::{RequestId, RequestIds};

use super::*;

/// The writing thread gets a CPU within this time, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A path of its own for each test, removed at the end.
struct TempPath(PathBuf);

impl TempPath {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("adyton-access-log-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }

    fn open(&self, format: &str) -> AccessLog {
        AccessLog::open(&Destination::File(self.0.clone()), format, QUEUE_BYTES_MAX).unwrap()
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Queue limit that none of these tests reaches.
const QUEUE_BYTES_MAX: usize = 1 << 20;

static ID: LazyLock<RequestId> =
    LazyLock::new(|| RequestIds::new(0).next(Some(b"id-1"), Some(TRACE.as_bytes())));

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn parsed(request: &[u8]) -> Head {
    let mut head = Head::new();
    assert_eq!(Ok(Parsed::Complete), head.parse(request, &Limits::default()));
    head
}

fn record<'r>(head: Option<&'r Head>, bytes: &'r [u8]) -> Record<'r> {
    let request = head.map(|head| head.of(bytes));
    let peer = Some("192.0.2.7:4711".parse().unwrap());
    Record {
        peer,
        request,
        refused: bytes,
        user: None,
        site: None,
        status: 200,
        body_bytes: 12,
        duration_us: 2_345_678,
        id: &ID,
    }
}

/// The line of `format` for `record`, without its end, at 10:55:52 on 20 November 2026.
fn line(format: &str, record: &Record<'_>) -> String {
    let stamp = Stamp::at(1_795_172_152);
    let mut out = Vec::new();
    Format::read(format).unwrap().write(&mut out, record, &stamp);
    String::from_utf8(out).unwrap().strip_suffix('\n').unwrap().to_owned()
}

const GET: &[u8] =
    b"GET /a%20b?c=d&e=\"f\\ HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.0 (\"x\")\r\n\
    X-Forwarded-For: 10.0.0.1\r\nx-forwarded-for: 10.0.0.2\r\nX-Odd_Name: \xe9\tz\r\nX-Empty:\r\n\r\n";

#[test]
fn each_atom_says_its_part() {
    let head = parsed(GET);
    let get = record(Some(&head), GET);
    let pid = std::process::id().to_string();
    for (format, expected) in [
        ("%h", "192.0.2.7"),
        ("%a", "192.0.2.7"),
        ("%l %u", "- -"),
        ("%t", "[20/Nov/2026:10:55:52 +0000]"),
        ("%r", r#"GET /a%20b?c=d&e=\"f\\ HTTP/1.1"#),
        ("%m", "GET"),
        ("%U", "/a%20b"),
        ("%q", r#"?c=d&e=\"f\\"#),
        ("%H", "HTTP/1.1"),
        ("%s", "200"),
        ("%>s", "200"),
        ("%b %B", "12 12"),
        ("%D", "2345678"),
        ("%T", "2"),
        ("%P", &pid),
        ("%L", "id-1"),
        ("%{Host}i", "example.org"),
        ("%{user-agent}i", r#"curl/8.0 (\"x\")"#),
        ("%{X-Forwarded-For}i", "10.0.0.1, 10.0.0.2"),
        ("%{x-odd_name}i", r"\xe9\tz"),
        ("%{X-Empty}i", "-"),
        ("%{Referer}i %{X-Odd}i", "- -"),
        (r"%%%h\t%s", "%192.0.2.7\t200"),
    ] {
        assert_eq!(expected, line(format, &get), "{format}");
    }
}

#[test]
fn targets_of_all_forms_are_told_apart() {
    for (request, expected) in [
        ("GET / HTTP/1.1", "GET|/||HTTP/1.1"),
        ("GET /? HTTP/1.1", "GET|/|?|HTTP/1.1"),
        ("GET /?a?b HTTP/1.2", "GET|/|?a?b|HTTP/1.2"),
        ("GET http://h?a HTTP/1.1", "GET|/|?a|HTTP/1.1"),
        ("GET http://h HTTP/1.0", "GET|/||HTTP/1.0"),
        ("OPTIONS * HTTP/1.1", "OPTIONS|*||HTTP/1.1"),
        ("CONNECT h:1 HTTP/1.1", "CONNECT|-||HTTP/1.1"),
        ("PURGE /x HTTP/1.1", "PURGE|/x||HTTP/1.1"),
    ] {
        let host = if request.contains("CONNECT") { "h:1" } else { "h" };
        let bytes = format!("\r\n{request}\r\nHost: {host}\r\n\r\nbody");
        let head = parsed(bytes.as_bytes());
        let record = record(Some(&head), bytes.as_bytes());

        assert_eq!(expected, line("%m|%U|%q|%H", &record), "{request}");
        assert_eq!(request, line("%r", &record));
    }
}

#[test]
fn the_named_formats_are_the_usual_ones() {
    let head = parsed(GET);
    let get = Record { user: Some("ann"), site: Some("shop.example"), ..record(Some(&head), GET) };
    let common = r#"192.0.2.7 - ann [20/Nov/2026:10:55:52 +0000] "GET /a%20b?c=d&e=\"f\\ HTTP/1.1" 200 12"#;

    assert_eq!(common, line("common", &get));
    assert_eq!("shop.example -", line("%v %{group}P", &get));
    assert_eq!("- -", line("%v %{group}P", &record(Some(&head), GET)));
    assert_eq!(format!(r#"{common} "-" "curl/8.0 (\"x\")""#), line("combined", &get));
    assert_eq!(
        concat!(
            r#"{"time":"2026-11-20T10:55:52Z","client":"192.0.2.7","user":"ann","host":"example.org","method":"GET","#,
            r#""path":"/a%20b","query":"c=d&e=\"f\\","protocol":"HTTP/1.1","status":200,"bytes":12,"#,
            r#""duration_us":2345678,"referer":null,"user_agent":"curl/8.0 (\"x\")","request_id":"id-1","trace_id":"0af7651916cd43dd8448eb211c80319c","site":"shop.example","group":null}"#
        ),
        line("json", &get)
    );
}

#[test]
fn a_refused_request_leaves_a_trace() {
    let long = [b'x'; 5000];
    let expected_long = "x".repeat(256);
    for (bytes, expected) in [
        (&b""[..], "-"),
        (b"\r\n", "-"),
        (b"\x16\x03\x01\x02", r"\x16\x03\x01\x02"),
        (b"get  / HTTP/1.1\r\nCookie: secret\r\n\r\n", "get  / HTTP/1.1"),
        (&long, &expected_long),
    ] {
        let refused = Record { status: 400, body_bytes: 0, peer: None, ..record(None, bytes) };

        assert_eq!(format!("- {expected} 400 -"), line("%h %r %s %b", &refused));
        assert_eq!("- -  - -", line("%m %U %q %H %{Host}i", &refused));
    }
    assert_eq!(
        concat!(
            r#"{"time":"2026-11-20T10:55:52Z","client":null,"user":null,"host":null,"method":null,"path":null,"#,
            r#""query":null,"protocol":null,"status":200,"bytes":12,"duration_us":2345678,"#,
            r#""referer":null,"user_agent":null,"request_id":"id-1","trace_id":"0af7651916cd43dd8448eb211c80319c","site":null,"group":null}"#
        ),
        line("json", &Record { peer: None, ..record(None, b"\x16") })
    );
}

#[test]
fn lines_wait_half_a_second_and_no_longer() {
    let path = TempPath::new("wait");
    let mut log = path.open("%s");

    assert_eq!(None, log.tick(0));
    log.record(&record(None, b""));
    assert_eq!(Some(500), log.tick(10_000));
    log.record(&record(None, b""));
    assert_eq!(Some(1), log.tick(10_499));
    assert_eq!("", path.text());
    assert_eq!(None, log.tick(10_500));
    log.journal.settle(PATIENCE);
    assert_eq!("200\n200\n", path.text());
    assert_eq!(None, log.tick(10_501));

    log.record(&record(None, b""));
    assert_eq!(Some(500), log.tick(20_000));
    assert_eq!(None, log.tick(u64::MAX));
    log.journal.settle(PATIENCE);
    assert_eq!("200\n200\n200\n", path.text());
}

#[test]
fn a_full_buffer_is_written_at_once() {
    let path = TempPath::new("full");
    let mut log = path.open("%s");
    let lines = HELD_BYTES_MAX / "200\n".len();
    for _ in 1..lines {
        log.record(&record(None, b""));
    }

    assert_eq!("", path.text());
    log.record(&record(None, b""));
    log.journal.settle(PATIENCE);
    assert_eq!("200\n".repeat(lines), path.text());
    assert_eq!(None, log.tick(0));
}

#[test]
fn a_huge_line_leaves_no_huge_buffer() {
    let path = TempPath::new("huge");
    let mut log = path.open(&"%{User-Agent}i".repeat(50));
    let request = [b"GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: ", &[0xff; 7000][..], b"\r\n\r\n"].concat();
    let head = parsed(&request);
    log.record(&record(Some(&head), &request));
    log.journal.settle(PATIENCE);

    assert_eq!(50 * 7000 * r"\xff".len() + 1, path.text().len());
    for _ in 0..2 {
        assert!(log.held.capacity() <= LINES_BYTES_MAX, "{}", log.held.capacity());
        // The log's thread gives the buffer of the huge line back.
        log.record(&record(None, b""));
        log.flush();
    }
}

#[test]
fn a_log_is_appended_to_and_written_when_closed() {
    let path = TempPath::new("append");
    for _ in 0..2 {
        path.open("%s").record(&record(None, b""));
    }
    let mode = fs::metadata(&path.0).unwrap().permissions().mode() & 0o777;

    assert_eq!("200\n200\n", path.text());
    assert_eq!(0, mode & !0o640, "{mode:o}");
}

#[test]
fn a_log_that_cannot_be_opened_says_why() {
    let missing = TempPath::new("missing").0.join("access.log");
    let start = format!("cannot open the access log {}: No such file", missing.display());
    let missing = Destination::File(missing);
    let error = AccessLog::open(&missing, "common", QUEUE_BYTES_MAX).err().unwrap();

    assert!(error.to_string().starts_with(&start));
    assert!(std::error::Error::source(&error).is_some());

    let error = AccessLog::open(&missing, "%O", QUEUE_BYTES_MAX).err().unwrap();

    assert_eq!(AccessLog::check_format("%O").unwrap_err(), error.to_string());
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn standard_output_is_a_log() {
    assert!(AccessLog::open(&Destination::Standard, "json", QUEUE_BYTES_MAX).is_ok());
}

/// A full disk does not stop the server, and the buffer does not grow; each lost line is counted where other processes
/// see it.
#[test]
fn lines_are_lost_when_nothing_takes_them() {
    let board =
        std::sync::Arc::new(adyton_sys::board::Board::new(crate::board::crash_record::CELLS + 1).unwrap());
    let pages = LinePages::new(std::sync::Arc::clone(&board), 1);
    let counter = Counter::new(std::sync::Arc::clone(&board), 0);
    let mut log = AccessLog::open(&Destination::File("/dev/full".into()), "common", QUEUE_BYTES_MAX).unwrap();
    log.leave_on(&pages, counter);
    for _ in 0..10_000 {
        log.record(&record(None, b""));
    }
    log.settle(adyton_log::END_PATIENCE);

    assert!(log.held.is_empty() && log.held.capacity() <= LINES_BYTES_MAX);
    assert_eq!(None, log.tick(0));
    assert_eq!(10_000, log.journal.lost());
    assert_eq!(10_000, board.cells()[0].load(std::sync::atomic::Ordering::Relaxed));
    assert!(crate::board::crash_record::lines(&board.cells()[1..]).is_empty());
}

/// If the next plan has the log, too, the log's unwritten lines stay on the board.
#[test]
fn lines_stay_noted() {
    let board =
        std::sync::Arc::new(adyton_sys::board::Board::new(crate::board::crash_record::CELLS + 1).unwrap());
    let pages = || LinePages::new(std::sync::Arc::clone(&board), 1);
    let counter = || Counter::new(std::sync::Arc::clone(&board), 0);
    let mut log = AccessLog::open(&Destination::File("/dev/null".into()), "%s", QUEUE_BYTES_MAX).unwrap();
    log.leave_on(&pages(), counter());
    log.record(&record(None, b""));
    log.leave_on(&pages(), counter());

    let key = Destination::File("/dev/null".into()).key();
    assert_eq!(
        BTreeMap::from([(key, b"200\n".to_vec())]),
        crate::board::crash_record::lines(&board.cells()[1..])
    );
}
