//! Paths of requests are turned into names of files: rule 43.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use adyton_files::path::{FilePath, PathError, is_published};
use support::{Random, TempFolder};

/// Shows UTF-8 as it is, and other bytes in hexadecimal digits.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("<{byte:x}>")));
    }
    text
}

/// The result of parsing a path: the relative path, with a slash at its end if it names a folder; or a status.
fn read(raw: &[u8]) -> Result<String, u16> {
    match FilePath::parse(raw) {
        Ok(path) => {
            let slash = if path.names_folder() && !path.relative().is_empty() { "/" } else { "" };
            Ok(shown(path.relative()) + slash)
        }
        Err(PathError::Malformed(_)) => Err(400),
        Err(PathError::Unpublished) => Err(404),
    }
}

#[test]
fn paths_are_decoded_once_and_brought_into_normal_form() {
    let cases: [(&str, Result<&str, u16>); 55] = [
        // Plain paths.
        ("", Ok("")),
        ("/", Ok("")),
        ("/a", Ok("a")),
        ("/a/", Ok("a/")),
        ("/a/b.html", Ok("a/b.html")),
        ("//a///b//", Ok("a/b/")),
        // Escapes are decoded once.
        ("/a%20b", Ok("a b")),
        ("/%61", Ok("a")),
        ("/%C3%A9", Ok("é")),
        ("/a%25b", Ok("a%b")),
        ("/%252e%252e/a", Ok("%2e%2e/a")),
        ("/a+b&c;d=e", Ok("a+b&c;d=e")),
        ("/%3f%23", Ok("?#")),
        ("/%", Err(400)),
        ("/%4", Err(400)),
        ("/%zz", Err(400)),
        ("/%4g", Err(400)),
        ("/%+1", Err(400)),
        ("/%u0041", Err(400)),
        // Dot segments.
        ("/.", Ok("")),
        ("/a/.", Ok("a/")),
        ("/a/..", Ok("")),
        ("/a/b/..", Ok("a/")),
        ("/a/./b/../c", Ok("a/c")),
        ("/a/%2e%2e/b", Ok("b")),
        ("/a/%2E./b", Ok("b")),
        ("/..", Err(400)),
        ("/../a", Err(400)),
        ("/%2e%2e/a", Err(400)),
        ("/.%2e/a", Err(400)),
        ("/a/../../b", Err(400)),
        ("/a/../b/../../c", Err(400)),
        ("//../a", Err(400)),
        ("/..a", Err(404)),
        ("/a..", Ok("a..")),
        // Escaped slashes, and bytes that no name should hold.
        ("/a%2Fb", Err(404)),
        ("/..%2f..%2fetc/passwd", Err(404)),
        ("/a\\b", Err(400)),
        ("/..\\..\\windows", Err(400)),
        ("/..%5c..%5cwindows", Err(404)),
        ("/a%5c..%5cwindows", Ok("a\\..\\windows")),
        ("/a%00", Err(400)),
        ("/a%00.html", Err(400)),
        ("/\n", Err(400)),
        ("/%0a", Ok("\n")),
        ("/a%0D%0AX: y", Ok("a\r\nX: y")),
        ("/a\x7f", Err(400)),
        ("/a%7f", Ok("a\x7f")),
        // Bytes that are not UTF-8 can be in a name, too; overlong forms of the dot and the slash are neither dot nor
        // slash.
        ("/%ff", Ok("<ff>")),
        ("/%c0%ae%c0%ae/a", Ok("<c0><ae><c0><ae>/a")),
        ("/%c0%af", Ok("<c0><af>")),
        ("/%C3/%A9", Ok("<c3>/<a9>")),
        // Names that the rules refuse are refused after decoding, but only if dot segments have not removed them.
        ("/a/%2egit/b", Err(404)),
        ("/.git/../a", Ok("a")),
        ("/app%2epy", Err(404)),
    ];
    for (raw, expected) in cases {
        assert_eq!(expected.map(str::to_owned), read(raw.as_bytes()), "{raw}");
    }
}

#[test]
fn names_that_are_published() {
    for name in
        ["a", "a.html", "py", "a.pyx.txt", "swp", "git", "a~b", "a.original", "cvs.txt", "bakery", "c#", "#1"]
    {
        assert!(is_published(name.as_bytes()), "{name}");
    }
    for name in [
        "", ".", "..", ".a", "a.py", "a.Pyc", "a.wsgi", "~", "a~", "a.SWP", "CVS", "cvs", "_darcs", "a.rej",
        "#a#",
    ] {
        assert!(!is_published(name.as_bytes()), "{name}");
    }
}

/// A reference implementation of `FilePath::parse`: a stack of whole segments.
fn naive(raw: &str) -> Result<String, u16> {
    let mut stack: Vec<&str> = Vec::new();
    let segments: Vec<&str> = raw.split('/').collect();
    for segment in &segments {
        match *segment {
            "" | "." => {}
            ".." if stack.is_empty() => return Err(400),
            ".." => drop(stack.pop()),
            name => stack.push(name),
        }
    }
    if stack.iter().any(|name| name.starts_with('.') || name.ends_with('~')) {
        return Err(404);
    }
    let is_folder = matches!(*segments.last().unwrap(), "" | "." | "..") && !stack.is_empty();
    Ok(stack.join("/") + if is_folder { "/" } else { "" })
}

#[test]
fn normal_form_agrees_with_a_naive_twin() {
    let mut random = Random(7);
    for _ in 0..50_000 {
        let pieces = ["/", "/", "/", ".", "..", "a", "bc", "a~"];
        let count = random.below(12);
        let path: String = (0..count).map(|_| pieces[usize::try_from(random.below(8)).unwrap()]).collect();
        let raw = format!("/{path}");

        assert_eq!(naive(&raw), read(raw.as_bytes()), "{raw}");
        // Escaping any byte but the slash changes nothing.
        let escaped: String = raw
            .chars()
            .map(|character| match character {
                '/' => "/".to_owned(),
                other if random.below(2) == 0 => format!("%{:02x}", u32::from(other)),
                other => other.to_string(),
            })
            .collect();

        assert_eq!(naive(&raw), read(escaped.as_bytes()), "{escaped}");
    }
}

#[test]
fn generated_bytes_never_make_a_name_that_breaks_the_invariant() {
    let mut random = Random(99);
    for _ in 0..50_000 {
        let alphabet = b"/./.%20e5cfab%\x00\\\xc0\xff~";
        let count = random.below(24);
        let byte =
            |random: &mut Random| alphabet[usize::try_from(random.below(alphabet.len() as u64)).unwrap()];
        let raw: Vec<u8> = (0..count).map(|_| byte(&mut random)).collect();
        let Ok(path) = FilePath::parse(&raw) else { continue };
        let relative = shown(path.relative());
        let is_fine = |name: &str| !name.starts_with('.') && !name.contains('\0') && !name.is_empty();

        assert!(relative.is_empty() || relative.split('/').all(is_fine), "{raw:?}: {relative:?}");
    }
}

#[test]
fn files_are_found_under_every_spelling_of_their_name() {
    let folder = TempFolder::with(&[("a b/é%20.txt", "content"), ("..a.txt", "hidden")]);
    let mut client = folder.client();
    for path in ["/a%20b/%C3%A9%2520.txt", "/%61%20b/./%c3%a9%2520%2etxt", "//a%20b//%C3%A9%2520.txt"] {
        for _ in 0..3 {
            assert_eq!((200, "content"), client.get(path).brief(), "{path}");
        }
    }
    // The raw path equals the name of one file, but its decoded form is the name of another.
    folder.write("x%20y", "escaped");
    folder.write("x y", "blank");
    folder.write("later.txt", "");
    client.warm("/later.txt");
    for _ in 0..3 {
        assert_eq!((200, "escaped"), client.get("/x%2520y").brief());
        assert_eq!((200, "blank"), client.get("/x%20y").brief());
    }
    for path in ["/a%00", "/%2e%2e/x", "/a\\b", "/%zz"] {
        assert_eq!(400, client.get(path).status, "{path}");
    }
    for path in ["/..a.txt", "/%ff", "/x%2fy", "/%252e%252e/x"] {
        assert_eq!(404, client.get(path).status, "{path}");
    }
    assert_eq!(404, client.get(&format!("/{}", "n".repeat(300))).status, "the name is too long");
    assert_eq!(404, client.get(&format!("/{}", "n/".repeat(3000))).status, "the path is too long");
}
