//! A folder to serve, and a client that requests files from it and reads whole answers, parts of files included.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use adyton_files::{Ask, FileAnswer, Folder, Options, Part};
use adyton_http::Identity;
use adyton_http1::{Head, Limits, Parsed};

/// A folder of the test's own, removed at the end.
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes a folder with files in it, each given by its path and its content.
    pub(crate) fn with(files: &[(&str, &str)]) -> TempFolder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("adyton-files-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("site")).unwrap();
        let folder = TempFolder(path);
        for (path, content) in files {
            folder.write(path, content);
        }
        folder
    }

    /// The served folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("site")
    }

    /// A path beside the served folder.
    pub(crate) fn outside(&self) -> PathBuf {
        self.0.clone()
    }

    /// A path in the served folder.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Sets the modification time, seconds and nanoseconds since 1970.
    pub(crate) fn set_modified(&self, path: &str, seconds: u64, nanoseconds: u32) {
        let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        let file = File::options().write(true).open(self.path(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }

    /// A client of a site with the default options.
    pub(crate) fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    /// A client of a site with other options.
    pub(crate) fn client_with(&self, change: impl FnOnce(&mut Options)) -> Client {
        let mut options = Options::new(self.root());
        change(&mut options);
        Client::new(Folder::open(options).unwrap())
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A client, which calls a folder as the server does.
pub(crate) struct Client {
    pub(crate) site: Folder,
    pub(crate) prefix: &'static str,
    /// The answer's `Date`.
    pub(crate) date: String,
    /// The number of the batch; counted up before each request, unless the requests are to arrive together.
    pub(crate) fresh: u64,
    pub(crate) arrive_together: bool,
    /// Whether files that stand in for the requested path are only named, and not sent.
    pub(crate) names_others: bool,
    /// Names of files that answer for their folder.
    pub(crate) indexes: Option<&'static [Box<[u8]>]>,
    /// Whether the caller has found nothing at the path.
    pub(crate) is_absent: bool,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
    pub(crate) fell_through: bool,
    pub(crate) has_parts: bool,
}

impl Client {
    pub(crate) fn new(site: Folder) -> Client {
        let date = httpdate::fmt_http_date(SystemTime::now());
        Client {
            site,
            prefix: "",
            date,
            fresh: 0,
            arrive_together: false,
            names_others: false,
            indexes: None,
            is_absent: false,
        }
    }

    /// Advances the wall clock of the answers.
    pub(crate) fn pass_seconds(&mut self, seconds: u64) {
        let now = httpdate::parse_http_date(&self.date).unwrap();
        self.date = httpdate::fmt_http_date(now + Duration::from_secs(seconds));
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask(&format!("GET {path} HTTP/1.1\r\n"))
    }

    /// GET with one more field line.
    pub(crate) fn get_with(&mut self, path: &str, line: &str) -> Reply {
        self.ask(&format!("GET {path} HTTP/1.1\r\n{line}\r\n"))
    }

    /// Sends a request line and field lines, each with its CRLF; `Host` is added.
    pub(crate) fn ask(&mut self, request: &str) -> Reply {
        let request = format!("{request}Host: example\r\n\r\n");
        let mut head = Head::new();
        match head.parse(request.as_bytes(), &Limits::default()) {
            Ok(Parsed::Complete) => {}
            other => panic!("{other:?}: {request:?}"),
        }
        if !self.arrive_together {
            self.fresh += 1;
        }
        let date: [u8; 29] = self.date.as_bytes().try_into().unwrap();
        let identity = Identity { date: &date, server: b"Server: Adyton\r\n", lines: b"" };
        let (asked, fresh) = (head.asked(), self.fresh);
        let ask = Ask {
            request: head.of(request.as_bytes()),
            prefix: self.prefix.as_bytes(),
            asked,
            identity,
            fresh,
            as_stored: false,
            names_others: self.names_others,
            indexes: self.indexes,
            is_absent: self.is_absent,
            runs_page: None,
        };
        // Bytes of an earlier answer stand before this one, as with pipelined requests.
        let mut out = b"before".to_vec();
        let answer = self.site.answer(&ask, &mut out);
        assert!(out.starts_with(b"before"), "{request}");
        let reply = Reply::read(&out[6..], answer);
        reply.check(&request, &self.date);
        reply
    }

    /// Requests a file until it is old enough to be cached and answers come from the cache.
    pub(crate) fn warm(&mut self, path: &str) {
        let end = Instant::now() + Duration::from_secs(10);
        let hits = self.site.counts().hits;
        while self.site.counts().hits == hits {
            assert!(Instant::now() < end, "{path} is never cached: {:?}", self.site.counts());
            assert_eq!(200, self.get(path).status, "{path}");
        }
    }
}

impl Reply {
    fn read(out: &[u8], answer: FileAnswer) -> Reply {
        let (status, body_bytes, keep_alive, parts) = match answer {
            FileAnswer::Whole { status, body_bytes, keep_alive } => (status, body_bytes, keep_alive, vec![]),
            FileAnswer::Parts { status, body_bytes, keep_alive, parts } => {
                (status, body_bytes, keep_alive, parts)
            }
            unwritten @ (FileAnswer::FallThrough | FileAnswer::Named(_)) => {
                assert_eq!(b"", out);
                let fell_through = matches!(unwritten, FileAnswer::FallThrough);
                // For such answers, the name of the file is returned as the body.
                let body = if let FileAnswer::Named(name) = unwritten { name } else { Vec::new() };
                let (head, keep_alive, has_parts) = (String::new(), true, false);
                return Reply { status: 0, head, body, keep_alive, fell_through, has_parts };
            }
        };
        let end = memchr::memmem::find(out, b"\r\n\r\n").expect("an end of the head") + 4;
        let head = String::from_utf8(out[..end].to_vec()).unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        let mut body = out[end..].to_vec();
        let has_parts = !parts.is_empty();
        for part in parts {
            match part {
                Part::Bytes(bytes) => body.extend(bytes),
                Part::File { file, offset, bytes } => {
                    let file = File::from(file.try_clone().unwrap());
                    let start = body.len();
                    body.resize(start + usize::try_from(bytes).unwrap(), 0);
                    file.read_exact_at(&mut body[start..], offset).unwrap();
                }
            }
        }
        assert_eq!(body_bytes, body.len() as u64, "{head}");
        Reply { status, head, body, keep_alive, fell_through: false, has_parts }
    }

    /// Checks the properties of every answer.
    fn check(&self, request: &str, date: &str) {
        if self.status == 0 {
            // Nothing was written for this answer.
            return;
        }
        assert_eq!(Some(date), self.field("date"), "{}", self.head);
        assert_eq!(Some("Adyton"), self.field("server"), "{}", self.head);
        let length = self.field("content-length").map(|length| length.parse::<usize>().unwrap());
        match self.status {
            204 | 304 => assert_eq!((None, 0), (length, self.body.len()), "{}", self.head),
            _ if request.starts_with("HEAD ") => assert!(length.is_some() && self.body.is_empty()),
            _ => assert_eq!(Some(self.body.len()), length, "{}", self.head),
        }
    }

    /// The value of a field that occurs at most once.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().skip(1).filter_map(|line| {
            let (field, value) = line.split_once(": ")?;
            field.eq_ignore_ascii_case(name).then_some(value)
        });
        let value = values.next();
        assert_eq!(None, values.next(), "{name} twice in {}", self.head);
        value
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Status and body, for cases in tables.
    pub(crate) fn brief(&self) -> (u16, &str) {
        (self.status, self.text())
    }
}

/// A generator of pseudo-random numbers, which are the same in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // Xorshift64 (Marsaglia 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Makes a FIFO.
pub(crate) fn make_fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}
