//! A path finds the program that it names, but never a program that clients may not run.

#![allow(clippy::unwrap_used, reason = "a failure here is the test's result")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use adyton_files::programs::Programs;

/// A folder that is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let place = std::env::temp_dir().join(format!("adyton-programs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("bin/sub/.git")).unwrap();
        Place(place)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Finds a program; returns its path relative to `place` and the rest of the path, or the status.
fn find(programs: &Programs, place: &Path, path: &str) -> Result<(String, String), u16> {
    let found = programs.find(path.as_bytes()).map_err(|missing| missing.status)?;
    let program = PathBuf::from(String::from_utf8(found.path).unwrap());
    let relative = program.strip_prefix(place).unwrap().to_string_lossy().into_owned();
    Ok((relative, path[found.name_bytes..].to_owned()))
}

#[test]
fn files_on_the_way() {
    let place = Place::new("way");
    for (name, mode) in [
        ("bin/a.sh", 0o755),
        ("bin/plain", 0o644),
        ("bin/a.sh~", 0o755),
        ("bin/page.py", 0o755),
        ("bin/.hidden", 0o755),
        ("bin/sub/b", 0o755),
        ("bin/sub/.git/hook", 0o755),
        ("outside", 0o755),
    ] {
        place.file(name, mode);
    }
    symlink(place.0.join("outside"), place.0.join("bin/out")).unwrap();
    symlink("a.sh", place.0.join("bin/link")).unwrap();
    symlink("/", place.0.join("bin/top")).unwrap();
    let programs = Programs::open(&place.0.join("bin"), false, Vec::new()).unwrap();
    let following = Programs::open(&place.0.join("bin"), true, Vec::new()).unwrap();
    let found = |name: &str, rest: &str| Ok((name.to_owned(), rest.to_owned()));
    for (path, expected) in [
        ("/a.sh", found("bin/a.sh", "")),
        ("/a.sh/", found("bin/a.sh", "/")),
        ("/a.sh/x/.y/z~", found("bin/a.sh", "/x/.y/z~")),
        ("/sub/b/c", found("bin/sub/b", "/c")),
        ("/page.py", found("bin/page.py", "")),
        ("/plain", Err(403)),
        ("/plain/x", Err(403)),
        ("/a.sh~", Err(404)),
        ("/.hidden", Err(404)),
        ("/sub", Err(404)),
        ("/sub/", Err(404)),
        ("/sub/.git/hook", Err(404)),
        ("/sub/../a.sh", Err(404)),
        ("/../outside", Err(404)),
        ("/./a.sh", Err(404)),
        ("//a.sh", Err(404)),
        ("/A.SH", Err(404)),
        ("/a.sh ", Err(404)),
        ("/a.sh.", Err(404)),
        ("", Err(404)),
        ("/", Err(404)),
        ("/a.sh\0", Err(400)),
        ("/out", Err(404)),
        ("/top/bin/sh", Err(404)),
        ("/bin/sh", Err(404)),
    ] {
        assert_eq!(expected, find(&programs, &place.0, path), "{path:?}");
        assert_eq!(expected, find(&following, &place.0, path), "{path:?}, following links");
    }
    assert_eq!(Err(404), find(&programs, &place.0, "/link"));
    assert_eq!(found("bin/link", "/x"), find(&following, &place.0, "/link/x"));
}

#[test]
fn interpreters_by_the_end_of_the_name() {
    let place = Place::new("ends");
    place.file("bin/a.pl", 0o644);
    place.file("bin/b.sh", 0o755);
    let interpreters = vec![(b".pl".to_vec(), "/usr/bin/perl".into())];
    let programs = Programs::open(&place.0.join("bin"), false, interpreters).unwrap();

    let found = programs.find(b"/a.pl/x").unwrap();
    assert_eq!(Some(PathBuf::from("/usr/bin/perl")), found.interpreter);
    assert_eq!(5, found.name_bytes);
    assert_eq!(
        Err(403),
        find(&programs, &place.0, "/b.sh"),
        "an executable file without a listed ending is not run"
    );
}

/// A deployment may put another folder at the path, or make the folder after the start.
#[test]
fn another_folder() {
    let place = Place::new("another");
    let later = place.0.join("later");
    let programs = Programs::open(&later, false, Vec::new()).unwrap();
    assert_eq!(Err(404), find(&programs, &place.0, "/a"));
    fs::create_dir(&later).unwrap();
    place.file("later/a", 0o755);

    assert_eq!(Ok(("later/a".to_owned(), String::new())), find(&programs, &place.0, "/a"));
}
