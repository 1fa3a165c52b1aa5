//! Targets, by their form and by the files on the disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use adyton_cli::{Command, Target, absent_folders};
use common::{refusal, run};

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder with these entries; folders end in a slash.
    fn with(name: &str, entries: &[&str]) -> Scratch {
        let root = std::env::temp_dir().join(format!("adyton-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for entry in entries {
            let path = root.join(entry);
            if entry.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        Scratch(root)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn site(name: &str) -> Scratch {
    Scratch::with(
        name,
        &[
            "hello.py",
            "site.wsgi",
            "index.html",
            "public/",
            "package/__init__.py",
            "package/wsgi.py",
            "package.wsgi",
            "both/",
            "both.py",
            "script",
            "script.py",
            "a/b/__init__.py",
            "dir.py/",
        ],
    )
}

#[test]
fn targets_are_told_apart() {
    let site = site("apart");
    let module = |module: &str, attribute: Option<&str>| Target::Module {
        module: module.to_owned(),
        attribute: attribute.map(str::to_owned),
    };
    let file = |path: &str, attribute: Option<&str>| Target::File {
        path: path.into(),
        attribute: attribute.map(str::to_owned),
    };
    let cases = [
        ("mysite.wsgi:application", module("mysite.wsgi", Some("application"))),
        ("mysite.wsgi:site.application", module("mysite.wsgi", Some("site.application"))),
        ("mysite", module("mysite", None)),
        ("naïve", module("naïve", None)),
        ("hello", module("hello", None)),
        ("hello.py", file("hello.py", None)),
        ("./hello.py:app", file("./hello.py", Some("app"))),
        ("site.wsgi", file("site.wsgi", None)),
        ("./site.wsgi:app", file("./site.wsgi", Some("app"))),
        ("package.wsgi:app", module("package.wsgi", Some("app"))),
        ("public", Target::Folder("public".into())),
        ("public/", Target::Folder("public/".into())),
        ("./public", Target::Folder("./public".into())),
        (".", Target::Folder(".".into())),
        ("package", module("package", None)),
        ("./package", Target::Folder("./package".into())),
        ("both", module("both", None)),
        ("script", module("script", None)),
        ("a.b:c", module("a.b", Some("c"))),
        ("dir.py", Target::Folder("dir.py".into())),
    ];
    for (text, expected) in cases {
        assert_eq!(Target::find(text, site.path()), Ok(expected), "{text}");
    }
}

#[test]
fn wrong_targets_get_a_sentence() {
    let site = site("wrong");
    let folder = site.path().display();
    let cases = [
        ("helo.py", format!("there is no helo.py in {folder}; did you mean hello.py?")),
        ("./pubilc", format!("there is no ./pubilc in {folder}; did you mean ./public?")),
        ("zzzzzz.py", format!("there is no zzzzzz.py in {folder}")),
        ("no/where", format!("there is no no/where in {folder}")),
        ("", "the target is empty".to_owned()),
        (
            "index.html",
            "index.html is not a file of Python; to serve files as they are, give their folder".to_owned(),
        ),
        (
            "hello:create_app()",
            "hello:create_app(): to call create_app and serve what it returns, leave out () and add --factory".to_owned(),
        ),
        (
            "hello.py:",
            "hello.py:: behind the colon stands the name of the application, as in module:application".to_owned(),
        ),
        (
            "hello:1",
            "hello:1: behind the colon stands the name of the application, as in module:application".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Err(expected), Target::find(text, site.path()), "{text}");
    }
}

#[test]
fn paths_are_relative_to_chdir_and_kept_as_typed() {
    let site = site("chdir");
    let chdir = site.path().to_str().unwrap();
    let words = ["check", "hello.py", "--chdir", chdir, "--static", "/files=public"];
    let Ok(Command::Check(settings)) = run(&words, &[]) else { panic!("must be found") };

    assert_eq!(settings.target.as_deref(), Some("hello.py"));
    assert_eq!(settings.located, Some(Target::File { path: "hello.py".into(), attribute: None }));
    assert_eq!(settings.files.statics[0].dir, PathBuf::from("public"));
}

#[test]
fn folders_are_looked_for_at_the_start() {
    let site = site("folders");
    let chdir = site.path().to_str().unwrap();
    let near = format!("chdir: there is no folder {chdir}x; did you mean {chdir}?");
    assert_eq!(refusal(&["--chdir", &format!("{chdir}x")], &[]), near);

    let cases: [(&[&str], &str); 5] = [
        (
            &["--static", "/a=public", "--static", "/b=a", "--static-404", "404.html"],
            "static-404: there is no 404.html in a folder that is served",
        ),
        (
            &["--static", "/a=.", "--static-fallback", "helo.py"],
            "static-fallback: there is no helo.py in a folder that is served; did you mean hello.py?",
        ),
        (
            &["--static", "/a=a", "--static", "/a/=both"],
            "static: /a/ is given two folders; each prefix has one",
        ),
        (&["--static", "/a=hello.py"], "static: there is no folder hello.py"),
        (&["--static", "/a=hello.py/x"], "static: there is no folder hello.py/x"),
    ];
    for (flags, expected) in cases {
        assert_eq!(refusal(&[flags, &["--chdir", chdir]].concat(), &[]), expected);
    }
    let failure = run(&["serve", "./public", "--static", "/=a", "--chdir", chdir], &[]).unwrap_err();
    assert_eq!(failure.message, "static: / is given two folders; ./public is there already");
}

#[test]
fn a_folder_that_is_to_be_served_may_come_later() {
    let site = site("later");
    let chdir = site.path().to_str().unwrap();
    std::os::unix::fs::symlink("nowhere", site.path().join("dangling")).unwrap();
    let flags =
        ["--static", "/a=pubic", "--static", "/b=a", "--static", "/c=no/where", "--static", "/=dangling"];
    let rest = ["--static-404", "404.html", "--chdir", chdir];
    let words = [&["serve"][..], &flags, &rest].concat();
    let Ok(Command::Serve(settings)) = run(&words, &[]) else { panic!("must be taken") };

    assert_eq!(
        absent_folders(&settings),
        [
            "static: there is no folder pubic yet, so everything below /a/ is a 404; did you mean public?",
            "static: there is no folder no/where yet, so everything below /c/ is a 404",
            "static: there is no folder dangling yet, so everything below / is a 404",
        ]
    );
}

#[test]
fn files_alone_can_be_served_but_not_checked() {
    assert!(matches!(run(&["serve", "--static", "/=."], &[]), Ok(Command::Serve(_))));
    assert!(run(&["check", "--static", "/=."], &[]).is_err());
}
