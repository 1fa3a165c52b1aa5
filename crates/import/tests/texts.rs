//! Sentences of importers are true: each key that they name is a row, and nothing is promised for later.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use adyton_cli::{Scope, sites_reference, takes};

/// Words with a hyphen that are no keys: of uWSGI, of a value, of the language.
const WORDS: [&str; 4] = ["free-threaded", "manage-script-name", "max-age", "wsgi-file"];

/// Whether a table of a file of sites has a key.
fn is_key(name: &str) -> bool {
    let no_row = Err("this table cannot have it".to_owned());
    [Scope::Server, Scope::Site, Scope::Route].iter().any(|scope| takes(*scope, name, "1") != no_row)
        // Keys of groups alone.
        || sites_reference().contains(&format!("\n### `{name}`\n"))
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, all);
        } else {
            all.push(entry);
        }
    }
}

/// Returns the texts of a source before its tests, with quotes in the place of their escapes.
fn texts(source: &str) -> Vec<String> {
    let mut all = Vec::new();
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let line = line.replace("\\\"", "\u{1}").replace("'\"'", "");
        all.extend(line.split('"').skip(1).step_by(2).map(|text| text.replace('\u{1}', "\"")));
    }
    all
}

/// Returns all sentences of the importers.
fn sentences() -> Vec<String> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let all = files.iter().flat_map(|file| texts(&fs::read_to_string(file).unwrap()));
    let all: Vec<String> =
        all.filter(|text| text.split_whitespace().count() > 2 && !text.contains("\\n")).collect();
    assert!(all.len() > 200, "sentences are missing");
    all
}

/// Returns the keys of `key = value` in a text, and words that only keys have.
fn keys(text: &str) -> Vec<String> {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let behind = &rest[at..];
        let end = behind.find(|sign: char| !is_part(sign)).unwrap_or(behind.len());
        let word = &behind[..end];
        let before = rest[..at].chars().next_back();
        let is_plain = word.chars().all(|sign| sign.is_ascii_lowercase() || sign == '-')
            && word.chars().all(|sign| sign != '_')
            && !word.starts_with('-')
            && !word.ends_with('-');
        let is_said = behind[end..].starts_with(" = ");
        let is_alone = !before.is_some_and(|sign| "/.\"{%$:<".contains(sign))
            && !behind[end..].starts_with(['=', '/', '.', '(']);
        if is_plain && (is_said || word.contains('-') && is_alone && !WORDS.contains(&word)) {
            all.push(word.to_owned());
        }
        rest = &behind[end..];
    }
    all
}

#[test]
fn keys_of_a_text() {
    let found =
        keys("write rate-limit = \"10/s\", or env; a free-threaded /a-b/ has --x-y, request-timeout too");

    assert_eq!(["rate-limit", "request-timeout"].as_slice(), found);
    assert!(is_key("python") && is_key("allow") && is_key("hosts") && !is_key("gateway"));
}

#[test]
fn each_key_is_a_row() {
    let mut wrong = Vec::new();
    for text in sentences() {
        let strange = keys(&text).into_iter().filter(|key| !is_key(key));
        wrong.extend(strange.map(|key| format!("{key}: {text}")));
    }

    assert_eq!(Vec::<String>::new(), wrong);
}

/// Sentences do not promise features, and do not call missing what exists.
#[test]
fn nothing_is_promised() {
    let promises = [
        " yet",
        "not supported",
        "not implemented",
        "not understood",
        "paths are not rewritten",
        "same user here",
    ];
    let is_one = |text: &&String| promises.iter().any(|words| text.contains(words));
    let wrong: Vec<String> = sentences().iter().filter(is_one).cloned().collect();

    assert_eq!(Vec::<String>::new(), wrong);
}

/// The words in the columns `here` of the guide are keys, too.
#[test]
fn keys_of_the_guide() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for server in ["apache", "nginx", "unit"] {
        let page = fs::read_to_string(docs.join(format!("coming-from-{server}.md"))).unwrap();
        for line in page.lines().filter(|line| line.starts_with("| ")) {
            let line = line.replace("\\|", "/");
            let here = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
            for said in here.split('`').skip(1).step_by(2) {
                let key = said.split(" = ").next().unwrap_or_default();
                let is_word =
                    !key.is_empty() && key.chars().all(|sign| sign.is_ascii_lowercase() || sign == '-');
                if is_word && !matches!(said, "adyton reload") {
                    count += 1;
                    assert!(is_key(key), "coming-from-{server}.md: {key}");
                }
            }
        }
        for promise in ["not there yet", "for the time being", "not supported"] {
            assert!(!page.contains(promise), "coming-from-{server}.md: {promise}");
        }
    }

    assert!(count > 40, "{count}");
}
