//! Help and reference mention everything, and the committed page equals the one that is made of the rows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

mod common;

use std::path::Path;

use adyton_cli::{Command, ROWS, parse, reference};
use common::{printed, run};

#[test]
fn every_row_is_in_every_help() {
    for words in [["serve", "-h"], ["check", "-h"], ["serve", "--help"], ["help", "check"]] {
        let text = printed(&words);
        for row in ROWS {
            let is_flag = |word: &str| word.split(['[', ' ']).next() == Some(&row.flag());
            assert!(text.split_whitespace().any(is_flag), "{words:?}: {}", row.name);
            assert!(text.contains(row.group), "{words:?}: {}", row.group);
            assert!(
                text.to_lowercase().contains(&row.help.to_lowercase()) || words[1] != "-h",
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn the_short_help_is_aligned_and_fits() {
    let text = printed(&["serve", "-h"]);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for row in ROWS {
        let line = text.lines().find(|line| line.ends_with(row.help)).unwrap();
        assert_eq!(line.chars().count() - row.help.chars().count(), 54, "{line}");
    }
}

#[test]
fn the_long_help_fits_a_narrow_terminal() {
    for line in printed(&["serve", "--help"]).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn one_setting_can_be_asked_about() {
    let expected = "      --linger-timeout TIME\n      How long to read on after the last answer.\n";
    let text = printed(&["help", "linger-timeout"]);

    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("      Default 2s, from 0 to 24h; variable ADYTON_LINGER_TIMEOUT.\n"), "{text}");
    assert_eq!(text, printed(&["help", "--linger-timeout"]));
}

/// A key of a file of sites has a help for each table that has the key, behind the help of a setting of the same name.
#[test]
fn one_key_can_be_asked_about() {
    let text = printed(&["help", "idle-timeout"]);
    let expected = "  idle-timeout = TIME\n      How long the processes of an idle group stay.\n";
    assert!(text.starts_with(expected), "{text}");
    let expected =
        "      Default 5m, from 1s to 168h; stands in [groups.NAME].\n      idle-timeout = \"30m\"\n";
    assert!(text.ends_with(expected), "{text}");

    for (key, lines) in [
        ("python", &["  python = FILE", "stands in [groups.NAME]."][..]),
        ("default", &["  default = true|false", "Default off; stands in [groups.NAME].", "default = true"]),
        ("chdir", &["--chdir DIR", "variable ADYTON_CHDIR.", "  chdir = DIR", "stands in [groups.NAME]."]),
        ("hosts", &["  hosts = HOST", "No default; one value or a list; stands in [[sites]]."]),
        ("group", &["--group ", "  group = NAME", "[[sites]].", "  group = NAME", "[[sites.routes]]."]),
        ("path", &["  path = PATH", "Default /; one value or a list; stands in [[sites.routes]]."]),
    ] {
        let text = printed(&["help", key]);
        let mut rest = text.as_str();
        for line in lines {
            let at = rest.find(line).unwrap_or_else(|| panic!("{key}: no {line:?} in {rest}"));
            rest = &rest[at + line.len()..];
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    assert_eq!(printed(&["help", "--chdir"]), text_of_setting(&printed(&["help", "chdir"])));
    assert!(run(&["help", "--python"], &[]).unwrap_err().message.starts_with("--python is not a setting"));
}

/// Returns the first of several texts.
fn text_of_setting(text: &str) -> String {
    text.split("\n\n").next().map(|first| format!("{first}\n")).unwrap()
}

#[test]
fn each_order_is_explained() {
    for order in ["status", "top", "reload", "stop", "workers", "log-level", "dump"] {
        let text = printed(&[order, "--help"]);

        assert!(text.starts_with(&format!("Usage: adyton {order} ")), "{text}");
        assert!(text.contains("  --control PATH  the server's control socket"), "{text}");
        let example = text.lines().last().unwrap();
        assert!(example.starts_with("Example: ") && example.contains(&format!("adyton {order}")), "{text}");
        assert!(text.lines().count() > 8 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text, printed(&[order, "-h"]));
        let setting = ["reload", "log-level"].contains(&order).then(|| format!("--{order}"));
        let both = setting.map(|setting| format!("{text}\n{}", printed(&["help", &setting])));
        assert_eq!(both.unwrap_or(text), printed(&["help", order]));
    }
}

/// Each command that the overview names has a help, by both ways to ask for it.
#[test]
fn each_command_is_explained() {
    let overview = printed(&["help"]);
    for command in ["serve", "check", "bench", "route", "init", "import", "schema", "reference"] {
        let text = printed(&["help", command]);

        assert!(overview.contains(&format!("  adyton {command} ")), "{overview}");
        assert!(text.starts_with(&format!("Usage: adyton {command}")), "{text}");
        assert_eq!(text, printed(&[command, "--help"]));
    }
    let wrong = run(&["schema", "now"], &[]).unwrap_err();

    assert_eq!("now is not understood; the command is: adyton schema", wrong.message);
}

/// A request that no client could send is refused with a message.
#[test]
fn requests_that_are_none() {
    for (words, said) in [
        (
            &["GET", "foo"][..],
            "\"foo\" is no URL: write http://shop.example/path, or a path that begins with a slash, ",
        ),
        (&["/a", "GET"], "\"/a\" is no method: write one as GET or PURGE; it stands in front of the URL"),
        (&["get", "/a"], "\"get\" is no method: they are in capitals; write GET"),
        (&["G T", "/a"], "\"G T\" is no method: write one as GET or PURGE"),
        (&["", "/a"], "\"\" is no method: write one as GET or PURGE"),
        (&[""], "\"\" is no URL: write http://shop.example/path, "),
        (&["/a b"], "\"/a b\" is no URL: blanks and control characters are written as %20"),
        (&["/a#b"], "\"/a#b\" has a part behind #, which clients keep for themselves; leave it out"),
        (&["ftp://a/"], "\"ftp://a/\" is no URL of http or https, but of ftp"),
        (&["http:///a"], "\"http:///a\" is no URL: behind :// stands the name of a host, as in "),
        (&["http://me@a/"], "\"http://me@a/\" is no URL: behind :// stands the name of a host, as in "),
        (&["-H", "X", "/a"], "-H \"X\": write a field as 'X-Beta: 1'"),
    ] {
        let words: Vec<&str> = ["route", "site.toml"].iter().chain(words).copied().collect();
        let failure = run(&words, &[]).unwrap_err();

        assert!(failure.message.starts_with(said), "{words:?}: {failure}");
        assert_eq!(2, failure.status);
    }
}

#[test]
fn what_python_does_explains_itself() {
    let helps = |words: &Vec<String>| words == &["--help"];

    assert!(matches!(run(&["help", "compare"], &[]), Ok(Command::Compare(words)) if helps(&words)));
    assert!(matches!(run(&["help", "tune"], &[]), Ok(Command::Tune(words)) if helps(&words)));
}

#[test]
fn colours_only_surround() {
    let words = ["serve".to_owned(), "--help".to_owned()];
    let Ok(Command::Done(text)) = parse(&words, &[], true, None) else { panic!("must be help") };

    assert!(text.contains("\x1b[1m--bind\x1b[0m ADDRESS"), "{text}");
    assert_eq!(text.replace("\x1b[1m", "").replace("\x1b[0m", ""), printed(&["serve", "--help"]));
}

#[test]
fn help_version_and_reference_print() {
    assert_eq!(printed(&[]), printed(&["--help"]));
    assert_eq!(printed(&["-h"]), printed(&["help"]));
    assert_eq!(printed(&["--version"]), format!("adyton {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(printed(&["-V"]), printed(&["--version"]));
    assert_eq!(printed(&["reference"]), reference());
}

#[test]
fn the_committed_reference_is_that_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/settings.md");
    let committed = std::fs::read_to_string(path).unwrap();

    assert!(
        committed == reference(),
        "make it anew: cargo run -p adyton-cli --example reference > docs/reference/settings.md"
    );
}

#[test]
fn the_reference_names_everything() {
    let page = reference();
    for row in ROWS {
        for part in [row.variable(), row.keyword(), row.detail.to_owned(), row.flag()] {
            assert!(page.contains(&part), "{}: {part}", row.name);
        }
    }
}
