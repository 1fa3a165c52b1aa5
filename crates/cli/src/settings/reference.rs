//! The reference page of all settings, in Markdown.

use std::fmt::Write as _;

use crate::bench;
use crate::command::help::sentence;
use crate::rows::{ROWS, SettingRow};
use crate::settings::may_set::MaySet;
use crate::settings::row::{Row, Scope};
use crate::sites::{FOLDER_ROWS, GROUP_ROWS, REDIRECT_ROWS, ROUTE_ROWS, SITE_ROWS, is_of, is_of_group};

const INTRODUCTION: &str = "\
# Settings

<!-- Made by `adyton reference` from the rows in crates/cli/src/rows: change those, not this page. -->

Every setting has one name in three spellings: `--keep-alive-timeout` on the command line,
`ADYTON_KEEP_ALIVE_TIMEOUT` in the environment, and `keep_alive_timeout` as a keyword of `adyton.serve()`.
A flag or a keyword takes precedence over the variable, and the variable over the default.
An empty variable counts as absent. A variable that begins with `ADYTON_` but names no setting is an error,
except the variables that Kubernetes sets for a service called `adyton`.

How values are written:

| value | written |
| --- | --- |
| `BYTES` | `65536`, `64k`, `1.5m`, `1g`; in powers of 1024 |
| `TIME` | `500ms`, `30s`, `2m`, `1h`; a number alone is seconds |
| `RATE` | bytes per second: `500`, `2k`, `2k/s` |
| `N` | a whole number |
| `on\\|off` | also `true` and `false`, `yes` and `no`, `1` and `0`; the flag alone is `on`, else `--factory=off` |

If a setting may be repeated, its variable holds the values, separated by commas.
Relative paths are relative to `--chdir`.
";

/// Returns the whole of `docs/reference/settings.md`.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    write_groups(&mut page, ROWS, write_row);
    page
}

const BENCH_INTRODUCTION: &str = "\
# adyton bench

<!-- Made by `adyton reference bench` from the rows in crates/cli/src/bench/rows.rs: change those, not this page. -->

`adyton bench URL [OPTIONS]` loads a server, checks every answer, and measures.
[Measuring](../bench.md) explains how it does that, and what its figures mean.
`BYTES`, `TIME` and `N` are written as [in settings](settings.md).
";

/// Returns the whole of `docs/reference/bench.md`.
pub fn bench_reference() -> String {
    let mut page = BENCH_INTRODUCTION.to_owned();
    write_groups(&mut page, bench::ROWS, |page, row| {
        write_entry(page, row);
        let _ = writeln!(page, "- example: `{}{}`", row.flag(), example(row));
    });
    page
}

const SITES_INTRODUCTION: &str = "\
# The file of sites

<!-- Made by `adyton reference sites` from the rows in crates/cli/src: change those, not this page. -->

`adyton serve site.toml` serves the sites of a file; [Several sites on one machine](../sites.md) describes how to write one.
The file has a table `[server]`, tables `[groups.NAME]`, tables `[[sites]]`, and in each site tables `[[sites.routes]]`. Lists are written
`[\"a\", \"b\"]`, and `NAME=VALUE` may be written as a table: `{ NAME = \"VALUE\" }`. An unknown key is a mistake.
`adyton schema` prints the JSON Schema of the file, for editors.

## [server]

All [settings](settings.md) except `static`. A flag or a variable takes precedence over the file.
";

/// Returns the whole of `docs/reference/sites.md`.
pub fn sites_reference() -> String {
    let mut page = SITES_INTRODUCTION.to_owned();
    write_groups(&mut page, GROUP_ROWS, write_key);
    write_settings(&mut page, is_of_group, "group");
    write_groups(&mut page, SITE_ROWS, write_key);
    write_settings(&mut page, |row| is_of(row, Scope::Site), "site");
    write_groups(&mut page, ROUTE_ROWS, write_key);
    write_settings(&mut page, |row| is_of(row, Scope::Route), "route");
    write_folders(&mut page);
    page
}

/// Writes the keys of an `.adyton.toml`.
fn write_folders(page: &mut String) {
    page.push_str(FOLDERS_INTRODUCTION);
    for (word, keys) in MaySet::words() {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let _ = writeln!(page, "| `{word}` | {} |", keys.join(", "));
    }
    write_groups(page, FOLDER_ROWS, write_key);
    write_groups(page, REDIRECT_ROWS, write_key);
}

const FOLDERS_INTRODUCTION: &str = "
## Folders

An `.adyton.toml` in a folder may have the keys whose word is in `may-set` of the route; these keys apply to the folder and everything beneath it.
[Let a folder say how it is served](../folders.md) describes how to write one. Keys that are [settings](settings.md) are written as in a route, `redirects` are
tables `[[redirects]]`, and the other keys are described below. The JSON Schema of such a file is `#/$defs/folder` in the schema of the file of sites.

| word in `may-set` | keys |
| --- | --- |
";

fn write_key<S>(page: &mut String, row: &Row<S>) {
    let _ = write!(page, "\n### `{}`\n\n", row.name);
    write_text(page, row, "one value or a list");
    let _ = writeln!(page, "- example: `{} = {}`", row.name, row.quoted());
}

/// Writes the names of the settings that may differ in a table.
fn write_settings(page: &mut String, has: impl Fn(&SettingRow) -> bool, table: &str) {
    let names: Vec<String> =
        ROWS.iter().filter(|row| has(row)).map(|row| format!("`{}`", row.name)).collect();
    let _ = write!(
        page,
        "\n## Settings of a {table}\n\nThese [settings](settings.md) may stand in a {table}, too, and apply to it alone: {}.\n",
        names.join(", ")
    );
}

/// Writes each row, under the headings of their groups.
fn write_groups<S>(page: &mut String, rows: &[Row<S>], write: impl Fn(&mut String, &Row<S>)) {
    let mut group = "";
    for row in rows {
        if row.group != group {
            group = row.group;
            let _ = write!(page, "\n## {group}\n");
        }
        write(page, row);
    }
}

fn write_row(page: &mut String, row: &SettingRow) {
    write_entry(page, row);
    let _ = writeln!(page, "- variable: `{}`; keyword: `{}`", row.variable(), row.keyword());
    let _ = writeln!(page, "- example: `{}{}`", row.flag(), example(row));
}

/// Writes heading, text and default of a row.
fn write_entry<S>(page: &mut String, row: &Row<S>) {
    let short = row.short.map_or(String::new(), |letter| format!("`-{letter}`, "));
    let value = if row.is_switch() { "[=on|off]".to_owned() } else { format!(" {}", row.shape()) };
    let _ = write!(page, "\n### {short}`{}{value}`\n\n", row.flag());
    write_text(page, row, "may be repeated");
}

/// Writes text and default of a row; `repeatable` says how several values are given.
fn write_text<S>(page: &mut String, row: &Row<S>, repeatable: &str) {
    let _ = write!(page, "{} {}\n\n", sentence(row.help), row.detail);
    let default = if row.default.is_empty() { "none".to_owned() } else { format!("`{}`", row.default) };
    let range = row.range().map_or(String::new(), |range| format!("; {range}"));
    let repeatable = if row.repeatable { format!("; {repeatable}") } else { String::new() };
    let _ = writeln!(page, "- default: {default}{range}{repeatable}");
}

/// Returns the example as a shell takes it.
fn example<S>(row: &Row<S>) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,".contains(letter);
    match row.example {
        value if row.is_switch() => format!("={value}"),
        value if value.chars().all(is_plain) => format!(" {value}"),
        value => format!(" '{value}'"),
    }
}
