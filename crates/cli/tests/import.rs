//! `adyton import` on the command line, and which keys of a file of sites take which values.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at its first surprise")]

mod common;

use adyton_cli::{Command, Import, Scope, takes};
use common::{printed, run};

#[test]
fn words_are_read() {
    let order = Import {
        file: "a.conf".to_owned(),
        from: Some("nginx".to_owned()),
        output: Some("site.toml".to_owned()),
        replace: true,
        accept_losses: true,
    };
    for words in [
        ["import", "a.conf", "--from", "nginx", "--output", "site.toml", "--replace", "--accept-losses"]
            .as_slice(),
        &["import", "--accept-losses", "-o", "site.toml", "--replace", "--from=nginx", "a.conf"],
    ] {
        assert!(matches!(run(words, &[]), Ok(Command::Import(found)) if found == order), "{words:?}");
    }
}

#[test]
fn mistakes_are_told() {
    let cases: [(&[&str], &str); 4] = [
        (&["import"], "the file is missing"),
        (&["import", "a", "b"], "b is one argument too many"),
        (&["import", "a", "--from"], "--from needs a value"),
        (&["import", "a", "--fast"], "--fast is not understood"),
    ];
    for (words, expected) in cases {
        let failure = run(words, &[]).unwrap_err();
        let usage = "adyton import FILE [--from KIND] [--output FILE]";

        assert_eq!((2, format!("{expected}; the command is: {usage}")), (failure.status, failure.message));
    }
}

#[test]
fn the_help_fits_a_terminal() {
    let text = printed(&["import", "--help"]);

    assert_eq!(text, printed(&["help", "import"]));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn keys_and_their_values() {
    for (scope, name, value) in [
        (Scope::Server, "processes", "4"),
        (Scope::Site, "hosts", "*.a.example"),
        (Scope::Site, "access-log", "off"),
        (Scope::Route, "path", "*.php"),
        (Scope::Route, "allow", "10.0.0.0/8"),
        (Scope::Route, "static-listing", "on"),
    ] {
        assert_eq!(Ok(()), takes(scope, name, value), "{name} = {value}");
    }
    for (scope, name, value) in [
        (Scope::Server, "hosts", "a.example"),
        (Scope::Server, "static", "/a=b"),
        (Scope::Site, "processes", "4"),
        (Scope::Route, "access-log", "off"),
        (Scope::Route, "path", "/a/../b"),
        (Scope::Route, "allow", "10.0.0.1/8"),
    ] {
        assert!(takes(scope, name, value).is_err(), "{name} = {value}");
    }
}
