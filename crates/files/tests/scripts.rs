//! A path finds the script that it names, but never a script that clients may not run.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use adyton_files::scripts::{Scripts, Unnamed};

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, files: &[&str]) -> Place {
        let place = std::env::temp_dir().join(format!("adyton-scripts-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        let place = Place(place);
        for file in files {
            let path = place.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The result for a path: the file, and the rest of the path, which the script gets; or the reason why no script is
/// found.
#[derive(Debug, PartialEq)]
enum Found {
    File(String, String),
    Unslashed,
    Status(u16),
}

fn find(scripts: &Scripts, path: &str) -> Found {
    match scripts.find(path.as_bytes()) {
        Ok((named, _)) => {
            let rest = path.get(named.name_bytes..).unwrap_or_default();
            Found::File(String::from_utf8(named.file).unwrap(), rest.to_owned())
        }
        Err(Unnamed::Unslashed) => Found::Unslashed,
        Err(Unnamed::Absent(why)) => Found::Status(why.status),
    }
}

#[test]
fn files_on_the_way() {
    let names =
        ["a.py", "b.wsgi", "index.py", "sub/c.py", "sub/index.py", "deep/d.py/e.py", "plain", "_f.py"];
    let place = Place::new("way", &names.map(|name| format!("in/{name}")).each_ref().map(String::as_str));
    fs::write(place.0.join("outside.py"), "").unwrap();
    symlink(place.0.join("outside.py"), place.0.join("in/out.py")).unwrap();
    symlink("a.py", place.0.join("in/link.py")).unwrap();
    let refusing = Scripts::open(&place.0.join("in"), false, "index.py").unwrap();
    let following = Scripts::open(&place.0.join("in"), true, "index.py").unwrap();
    let file = |file: &str, rest: &str| Found::File(file.to_owned(), rest.to_owned());
    for (path, expected) in [
        ("/a.py", file("a.py", "")),
        ("/a.py/", file("a.py", "/")),
        ("/a.py/x/.y/../z.py", file("a.py", "/x/.y/../z.py")),
        ("/b.wsgi/x", file("b.wsgi", "/x")),
        ("/", file("index.py", "/")),
        ("", Found::Unslashed),
        ("/sub", Found::Unslashed),
        ("/sub/", file("sub/index.py", "/")),
        ("/sub/c.py", file("sub/c.py", "")),
        ("/sub/none.py", Found::Status(404)),
        ("/sub/x", Found::Status(404)),
        ("/deep", Found::Status(404)),
        ("/deep/", Found::Status(404)),
        ("/deep/d.py/e.py/x", file("deep/d.py/e.py", "/x")),
        ("/deep/d.py", Found::Status(404)),
        ("/plain", Found::Status(404)),
        ("/plain/a.py", Found::Status(404)),
        ("/_f.py", Found::Status(404)),
        ("/.py", Found::Status(404)),
        ("/a.PY", Found::Status(404)),
        ("/a.py.", Found::Status(404)),
        ("/a", Found::Status(404)),
        ("/../outside.py", Found::Status(404)),
        ("//a.py", Found::Status(404)),
        ("/out.py", Found::Status(404)),
        ("/a.py\0", Found::Status(400)),
        ("/a.py/\0", Found::Status(400)),
    ] {
        for scripts in [&refusing, &following] {
            assert_eq!(expected, find(scripts, path), "{path:?}");
            assert!(!path.contains('\0') || scripts.guess(path.as_bytes()).is_none());
            // A guess, which does not look at the disk, is right unless a folder has the name of a script.
            if let Some(guess) = scripts.guess(path.as_bytes())
                && let Found::File(found, _) = &expected
                && !path.starts_with("/deep")
            {
                assert_eq!(found.as_bytes(), guess.file, "{path:?}");
            }
        }
    }
    assert_eq!(Found::Status(404), find(&refusing, "/link.py"));
    assert_eq!(file("link.py", "/x"), find(&following, "/link.py/x"));
}

/// A version depends on the file itself and on the time of its last write, not on its permissions.
#[test]
fn versions() {
    let place = Place::new("versions", &["a.py"]);
    let scripts = Scripts::open(&place.0, false, "index.py").unwrap();
    let at = scripts.locate(b"a.py").unwrap();
    let (source, first) = scripts.read(b"a.py").unwrap();
    assert_eq!(b"a.py", &source[..]);
    assert_eq!(Some(first), scripts.stamp(&at));
    assert_eq!(first, scripts.find(b"/a.py").unwrap().1);

    let file = place.0.join("a.py");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(Some(first), scripts.stamp(&at));
    fs::write(place.0.join("b"), "a.py").unwrap();
    fs::rename(place.0.join("b"), &file).unwrap();
    assert_ne!(Some(first), scripts.stamp(&at));
    fs::remove_file(&file).unwrap();
    assert_eq!(None, scripts.stamp(&at));
    assert!(scripts.read(b"a.py").is_err());
}
