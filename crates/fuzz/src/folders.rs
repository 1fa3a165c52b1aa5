//! Invariants of every answer from a folder, whatever was asked for.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use adyton_files::{Ask, CacheRoom, FileAnswer, Folder, Options, Part};
use adyton_http::Identity;
use adyton_http1::{Head, Limits, Parsed};

use crate::text::{find, lines, number, split_once, trim};

/// Panics unless the request in `bytes` gets whole and honest answers, without content from outside the
/// folder.
pub(crate) fn check(bytes: &[u8]) {
    thread_local! {
        static SITES: RefCell<[Folder; 2]> = RefCell::new(open_sites());
    }
    let mut head = Head::new();
    if head.parse(bytes, &Limits::default()) != Ok(Parsed::Complete) {
        return;
    }
    SITES.with_borrow_mut(|sites| {
        for site in sites {
            // The first answer comes from the disk if the file is not in the cache; the second comes from the cache if
            // the file may be kept there.
            check_answer(site, &head, bytes);
            check_answer(site, &head, bytes);
        }
    });
}

fn check_answer(site: &mut Folder, head: &Head, bytes: &[u8]) {
    let mut out = Vec::new();
    let ask = Ask {
        request: head.of(bytes),
        prefix: b"",
        asked: head.asked(),
        identity: Identity {
            date: b"Fri, 20 Nov 2026 08:49:37 GMT",
            server: b"Server: adyton\r\n",
            lines: b"",
        },
        fresh: site.counts().hits + site.counts().loads,
        as_stored: false,
        names_others: false,
        indexes: None,
        is_absent: false,
        runs_page: None,
    };
    let (status, body_bytes, keep_alive, parts) = match site.answer(&ask, &mut out) {
        FileAnswer::Whole { status, body_bytes, keep_alive } => (status, body_bytes, keep_alive, Vec::new()),
        FileAnswer::Parts { status, body_bytes, keep_alive, parts } => {
            (status, body_bytes, keep_alive, parts)
        }
        FileAnswer::FallThrough | FileAnswer::Named(_) => {
            return assert!(out.is_empty(), "something was written");
        }
    };
    let head_bytes = find(&out, b"\r\n\r\n").expect("an end") + 4;
    let body = parts.iter().fold(out[head_bytes..].to_vec(), |body, part| [body, content(part)].concat());
    assert_eq!(body_bytes, body.len() as u64, "{}", crate::show(&out));
    assert_eq!(None, find(&body, SECRET), "from outside: {}", crate::show(&out));
    let lines = lines(&out[..head_bytes - 4]).expect("nothing that ends a line");
    assert!(lines[0].starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{}", crate::show(lines[0]));
    let fields: Vec<_> = lines[1..].iter().map(|line| split_once(line, b':').expect("a colon")).collect();
    let called = |name: &'static [u8]| {
        fields.iter().filter(move |field| field.0.eq_ignore_ascii_case(name)).map(|field| trim(field.1))
    };
    let length = called(b"content-length").next().and_then(number);
    assert!(head.asked().is_head || status == 304 || length == Some(body_bytes) || status == 204);
    assert_eq!(keep_alive, !called(b"connection").any(|value| value == b"close"));
    assert!(!head.asked().is_head || body.is_empty());
}

/// Returns the bytes of a part of a body.
fn content(part: &Part) -> Vec<u8> {
    match part {
        Part::Bytes(bytes) => bytes.clone(),
        Part::File { file, offset, bytes } => {
            let mut content = vec![0; usize::try_from(*bytes).expect("a small file")];
            let file = fs::File::from(file.try_clone().expect("one more descriptor"));
            file.read_exact_at(&mut content, *offset).expect("a part inside the file");
            content
        }
    }
}

/// Opens the same folder twice: as a plain site with listings, and with everything else switched on.
fn open_sites() -> [Folder; 2] {
    // All runs share one folder, so that no run leaves a folder of its own behind.
    let root = std::env::temp_dir().join("adyton-fuzz/site");
    make(&root).expect("room for a few small files");
    let plain = Options { listing: true, ..Options::new(&root) };
    let rich = Options {
        cache_control: Some("max-age=1".to_owned()),
        not_found_page: Some("404.html".to_owned()),
        spa_fallback: Some("index.html".to_owned()),
        fall_through: true,
        follow_symlinks: true,
        cache_room: CacheRoom::new(4096),
        ..Options::new(&root)
    };
    [plain, rich].map(|options| Folder::open(options).expect("the folder that was just made"))
}

fn make(root: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(root);
    fs::create_dir_all(root.join("d/e"))?;
    fs::write(root.join("../secret"), SECRET)?;
    fs::write(root.join(".env"), SECRET)?;
    fs::write(root.join("app.py"), SECRET)?;
    fs::write(root.join("big.bin"), vec![b'b'; 100_000])?;
    for name in
        ["index.html", "404.html", "a.txt", "a.txt.gz", "a.txt.br", "d/<&\">.css", "d/index.html", "empty"]
    {
        fs::write(root.join(name), name.repeat(usize::from(name != "empty")))?;
    }
    symlink("a.txt", root.join("inside"))?;
    symlink("../secret", root.join("outside"))?;
    symlink("/etc", root.join("etc"))
}

/// The content of every file that must not be served.
const SECRET: &[u8] = b"this is a secret";
