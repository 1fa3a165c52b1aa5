//! Properties of every row, whatever its setting.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at its first surprise"
)]

mod common;

use std::collections::{BTreeMap, HashSet};

use adyton_cli::{Kind, ROWS, SettingRow, Settings};
use common::{keywords, refusal, serve};

#[test]
fn names_and_texts_are_in_order() {
    let mut names = HashSet::new();
    let mut letters = HashSet::new();
    for row in ROWS {
        let name = row.name;
        assert!(names.insert(name), "{name} is there twice");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
        assert!(row.short.is_none_or(|letter| letter != 'h' && letters.insert(letter)), "{name}: short");
        assert!(!row.help.is_empty() && !row.help.ends_with('.'), "{name}: help");
        assert!(row.detail.ends_with('.'), "{name}: detail");
        assert!(!row.group.is_empty() && !row.example.is_empty(), "{name}");
    }
}

#[test]
fn rows_of_a_group_stand_together() {
    let mut groups: Vec<&str> = ROWS.iter().map(|row| row.group).collect();
    groups.dedup();
    let different: HashSet<&str> = groups.iter().copied().collect();

    assert_eq!(groups.len(), different.len());
}

#[test]
fn every_default_passes_its_own_check() {
    for row in ROWS.iter().filter(|row| !row.default.is_empty()) {
        let mut settings = defaults();
        assert_eq!(row.apply(&mut settings, row.default), Ok(()), "{}", row.name);
        // The value of a repeatable setting has been added to the values that were there.
        assert!(row.repeatable || settings == defaults(), "{}", row.name);
    }
}

#[test]
fn flag_variable_and_keyword_are_the_same_setting() {
    for row in ROWS {
        let example = row.example;
        let by_flag = with_flag(row);
        let joined = serve(&[&format!("{}={example}", row.flag())], &[]).unwrap();
        let by_variable = serve(&[], &[(&row.variable(), example)]).unwrap();
        let by_keyword = keywords(&[(&row.keyword(), &[example])], &[]).unwrap();

        assert_eq!(by_flag, joined, "{}", row.name);
        assert_eq!(by_flag, by_variable, "{}", row.name);
        let by_flag = Settings { target: None, located: None, ..by_flag };
        assert_eq!(by_flag, by_keyword, "{}", row.name);
    }
}

#[test]
fn short_flags_are_the_long_ones() {
    for (letter, row) in ROWS.iter().filter_map(|row| Some((row.short?, row))) {
        let short = serve(&[&format!("-{letter}"), row.example], &[]).unwrap();
        let attached = serve(&[&format!("-{letter}{}", row.example)], &[]).unwrap();

        assert_eq!(short, with_flag(row));
        assert_eq!(attached, with_flag(row));
    }
}

/// Each row changes its own field: a setter that was copied and not changed would fail here.
#[test]
fn every_row_changes_the_field_of_its_name_and_no_other() {
    let before = fields(&defaults());
    for row in ROWS {
        let after = fields(&with_flag(row));
        let changed: Vec<&String> = before.keys().filter(|name| before[*name] != after[*name]).collect();
        match row.name {
            "host" | "port" => assert_eq!(changed, ["bind", row.name]),
            name => {
                assert_eq!(changed.len(), 1, "{name}: {changed:?}");
                assert!(changed[0].starts_with(&row.keyword()), "{name}: {changed:?}");
            }
        }
    }
}

#[test]
fn ranges_include_their_ends_and_nothing_more() {
    for row in ROWS {
        let Kind::Number { unit, least, most, .. } = row.kind else { continue };
        let apply = |number: u64| row.apply(&mut defaults(), &unit.show(number));
        assert_eq!(apply(least), Ok(()), "{}", row.name);
        assert_eq!(apply(most), Ok(()), "{}", row.name);
        assert!(apply(most + 1).unwrap_err().starts_with("out of range, which is from "), "{}", row.name);
        if least > 0 {
            assert!(apply(least - 1).is_err(), "{}", row.name);
        }
    }
}

#[test]
fn every_word_of_a_choice_is_another_value() {
    for row in ROWS {
        let Kind::Choice { words, .. } = row.kind else { continue };
        let results: Vec<String> =
            words.iter().map(|word| format!("{:?}", serve(&[&row.flag(), word], &[]).unwrap())).collect();
        let different: HashSet<&String> = results.iter().collect();

        assert_eq!(different.len(), words.len(), "{}", row.name);
        assert!(refusal(&[&row.flag(), "nothing"], &[]).contains(words[0]), "{}", row.name);
    }
}

#[test]
fn nothing_accepts_a_nul() {
    for row in ROWS {
        assert!(row.apply(&mut defaults(), "a\0b").is_err(), "{}", row.name);
    }
}

fn defaults() -> Settings {
    serve(&[], &[]).unwrap()
}

fn with_flag(row: &SettingRow) -> Settings {
    if row.is_switch() {
        return serve(&[&format!("{}={}", row.flag(), row.example)], &[]).unwrap();
    }
    serve(&[&row.flag(), row.example], &[]).unwrap()
}

/// Returns the fields of the settings with their values in text, cut out of the indented debug output.
fn fields(settings: &Settings) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut name = String::new();
    for line in format!("{settings:#?}").lines() {
        let in_section = line.strip_prefix("    ").map(|rest| rest.strip_prefix("    ").unwrap_or(rest));
        let field = in_section.filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
        let value = match field.and_then(|rest| rest.split_once(": ")) {
            Some((field, value)) => {
                field.clone_into(&mut name);
                value
            }
            None => line,
        };
        fields.entry(name.clone()).or_insert_with(String::new).push_str(value);
    }
    fields
}
