//! The text of `--help`: short as a table, long with every setting's whole text.

use std::fmt::Write as _;

use crate::bench;
use crate::command::orders::{ORDERS, Order};
use crate::rows::{ROWS, SettingRow};
use crate::settings::row::Row;
use crate::sites::{GROUP_ROWS, ROUTE_ROWS, SITE_ROWS};

/// Whether a terminal shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Letters only.
    Plain,
    /// With the escape sequences of ECMA-48 for bold.
    Ansi,
}

/// The column where the defaults begin in the short help; a longer flag has a line of its own.
const DEFAULT_COLUMN: usize = 39;

/// The column where the sentences begin in the short help.
const HELP_COLUMN: usize = DEFAULT_COLUMN + 15;

/// Width of long texts: the narrowest terminal that people use has this width.
const LINE_CHARS_MAX: usize = 80;

/// Returns the text of `adyton` and `adyton help`.
pub(super) fn overview(ink: Ink) -> String {
    let commands = [
        ("serve [TARGET] [SETTINGS]", "serve an application, a file of Python, or a folder"),
        ("check TARGET [SETTINGS]", "load the target, say what it is, serve nothing"),
        ("route FILE [METHOD] URL", "say which route of a file of sites answers, and why"),
        ("init [FOLDER]", "write a first file of sites for what a folder has in it"),
        ("import FILE", "make a file of sites of nginx's, Apache's, Unit's, uWSGI's or gunicorn's"),
        ("bench URL [OPTIONS]", "load a server, check every answer, and measure"),
        ("compare [SCENARIO]", "start every peer that is installed, and measure side by side"),
        ("tune TARGET", "find how many processes and threads an application wants"),
        ("help [COMMAND|SETTING|KEY]", "all about a command, a setting, or a key of a file of sites"),
        ("reference [bench|sites]", "print the reference of all settings, in Markdown"),
        ("schema", "print the JSON Schema of a file of sites, for editors"),
        ("--version", "print the version"),
    ];
    let mut out = format!("{}\n\n", ink.bold("Adyton: a web server with Python inside"));
    for (command, text) in commands {
        let _ = writeln!(out, "  adyton {command:<27} {text}");
    }
    let _ = writeln!(out, "\n{}", ink.bold("A server that runs"));
    for Order { name, about, help, .. } in ORDERS {
        let _ = writeln!(out, "  adyton {:<27} {help}", format!("{name} {about}").trim_end());
    }
    let _ = writeln!(out, "\n{}", ink.bold("Targets"));
    for (target, text) in TARGETS {
        let _ = writeln!(out, "  {target:<27} {text}");
    }
    out + "\nadyton serve -h lists the settings, adyton serve --help explains them.\n"
}

/// Returns the text of `-h`: a line for each setting.
pub(super) fn short(command: &str, ink: Ink) -> String {
    format!("{}\n", usage(command, ink))
        + &lines(ROWS, ink)
        + "\nEach setting has a variable, too: ADYTON_BIND for --bind. A flag takes precedence over its \
           variable.\n--help explains all of them, adyton help SETTING one.\n"
}

/// Returns the text of `adyton bench -h`.
pub(super) fn bench_short(ink: Ink) -> String {
    format!("{}\n", bench_usage(ink)) + &lines(bench::ROWS, ink) + "\n--help says more.\n"
}

/// Returns the text of `adyton bench --help`.
pub(super) fn bench_long(ink: Ink) -> String {
    let mut out = format!("{}\n\n", bench_usage(ink));
    for (url, text) in URLS {
        let _ = writeln!(out, "  {url:<27} {text}");
    }
    out + &entries(bench::ROWS, |row| entry(row, None, ink), ink)
}

/// Returns a line for each row, under the headings of their groups.
fn lines<S>(rows: &[Row<S>], ink: Ink) -> String {
    let (mut out, mut group) = (String::new(), "");
    for row in rows {
        if row.group != group {
            group = row.group;
            let _ = writeln!(out, "\n{}", ink.bold(group));
        }
        let _ = writeln!(out, "{}", line(row, ink));
    }
    out
}

/// Returns the whole text of each row, under the headings of their groups.
fn entries<S>(rows: &[Row<S>], entry: impl Fn(&Row<S>) -> String, ink: Ink) -> String {
    let (mut out, mut group) = (String::new(), "");
    for row in rows {
        if row.group != group {
            group = row.group;
            let _ = write!(out, "\n{}\n", ink.bold(group));
        }
        let _ = write!(out, "\n{}", entry(row));
    }
    out
}

/// Returns the text of `--help`: every setting with its whole text.
pub(super) fn long(command: &str, ink: Ink) -> String {
    let mut out = format!("{}\n\n", usage(command, ink));
    for (target, text) in TARGETS {
        let _ = writeln!(out, "  {target:<27} {text}");
    }
    out + &entries(ROWS, |row| one(row, ink), ink)
}

/// Returns the text of `adyton help SETTING`.
pub(super) fn one(row: &SettingRow, ink: Ink) -> String {
    entry(row, Some(row.variable()), ink)
}

/// Returns the help of a key of a file of sites: a text for each table that has a key of this name.
pub(super) fn keys(name: &str, ink: Ink) -> Vec<String> {
    let of_group = GROUP_ROWS.iter().find(|row| row.name == name).map(|row| key("[groups.NAME]", row, ink));
    let of_site = SITE_ROWS.iter().find(|row| row.name == name).map(|row| key("[[sites]]", row, ink));
    let of_route =
        ROUTE_ROWS.iter().find(|row| row.name == name).map(|row| key("[[sites.routes]]", row, ink));
    [of_group, of_site, of_route].into_iter().flatten().collect()
}

/// Returns the help of an order: for `status`, the text of `adyton help status` and of `adyton status --help`.
pub(super) fn order(order: &Order, ink: Ink) -> String {
    let mut out = format!("{} {}\n\n", ink.bold("Usage:"), order.usage());
    for line in wrapped(&format!("{} {}", sentence(order.help), order.detail), LINE_CHARS_MAX - 2) {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(out, "\n{}", ink.bold("Options"));
    for (option, text) in ORDER_OPTIONS {
        let _ = writeln!(out, "  {option:<15} {text}");
    }
    out + &format!("\n{} {}\n", ink.bold("Example:"), order.example)
}

/// Usage of `adyton route`.
pub(super) const ROUTE_USAGE: &str = "adyton route FILE [METHOD] URL [--from ADDRESS] [-H FIELD]...";

/// Usage of `adyton init`.
pub(super) const INIT_USAGE: &str = "adyton init [FOLDER]";

/// Usage of `adyton schema`.
pub(super) const SCHEMA_USAGE: &str = "adyton schema";

/// Usage of `adyton reference`.
pub(super) const REFERENCE_USAGE: &str = "adyton reference [bench|sites]";

/// Returns the text of `adyton route --help`.
pub(super) fn route(ink: Ink) -> String {
    let what = "Says which site and which route of a file answer a request, which routes are passed over, and why. It \
                sends nothing, and loads no application. A path alone is looked up in the first site.";
    let options = &ROUTE_OPTIONS;
    SmallCommand {
        usage: ROUTE_USAGE,
        what,
        options,
        example: "adyton route site.toml http://shop.example/admin/",
    }
    .help(ink)
}

/// Returns the text of `adyton init --help`.
pub(super) fn init(ink: Ink) -> String {
    let what = "Writes site.toml, a first file of sites with comments, for what it finds in the folder: a Django \
                project, an application in a file such as wsgi.py or app.py, a folder of files. The folders of a \
                Django project's files are read from its settings; no code of the project is run. A site.toml that \
                exists is left alone.";
    let options = &ROUTE_OPTIONS[2..];
    SmallCommand { usage: INIT_USAGE, what, options, example: "adyton init ./mysite" }.help(ink)
}

/// Returns the text of `adyton schema --help`.
pub(crate) fn schema(ink: Ink) -> String {
    let what = "Prints the JSON Schema of a file of sites, with which editors complete and explain keys. The schema \
                is in docs/reference/sites.schema.json, too.";
    let options = &ROUTE_OPTIONS[2..];
    SmallCommand { usage: SCHEMA_USAGE, what, options, example: "adyton schema > sites.schema.json" }
        .help(ink)
}

/// Returns the text of `adyton reference --help`.
pub(super) fn printed_reference(ink: Ink) -> String {
    let what = "Prints all settings with their whole texts, in Markdown; with bench the options of adyton bench, with \
                sites the keys of a file of sites.";
    let options = &ROUTE_OPTIONS[2..];
    SmallCommand { usage: REFERENCE_USAGE, what, options, example: "adyton reference sites" }.help(ink)
}

/// A command that has few options.
struct SmallCommand<'a> {
    usage: &'a str,
    what: &'a str,
    options: &'a [(&'a str, &'a str)],
    example: &'a str,
}

impl SmallCommand<'_> {
    /// Returns the text of its help.
    fn help(&self, ink: Ink) -> String {
        let mut out = format!("{} {}\n\n", ink.bold("Usage:"), self.usage);
        for line in wrapped(self.what, LINE_CHARS_MAX - 2) {
            let _ = writeln!(out, "  {line}");
        }
        let _ = writeln!(out, "\n{}", ink.bold("Options"));
        for (option, text) in self.options {
            let _ = writeln!(out, "  {option:<15} {text}");
        }
        out + &format!("\n{} {}\n", ink.bold("Example:"), self.example)
    }
}

const ROUTE_OPTIONS: [(&str, &str); 3] = [
    ("--from ADDRESS", "address of the client, or unix; 127.0.0.1 unless given"),
    ("-H FIELD", "field of the request, as in -H 'X-Beta: 1'; may be repeated"),
    ("-h, --help", "this text"),
];

/// Usage of `adyton import`.
pub(super) const IMPORT_USAGE: &str = "adyton import FILE [--from KIND] [--output FILE]";

/// Returns the text of `adyton import --help`.
pub(super) fn import(ink: Ink) -> String {
    let what = "Makes a file of sites from another server's configuration; beside each key stands the line that it \
                comes from. Lines that cannot be carried over are listed on standard error and at the top of the \
                file. If one of them is a restriction, nothing is written and the exit status is 1, unless the loss \
                is accepted: then the routes that it protected refuse everybody. Nothing is run and nothing is \
                served.";
    let mut out = format!("{} {IMPORT_USAGE}\n\n", ink.bold("Usage:"));
    for line in wrapped(what, LINE_CHARS_MAX - 2) {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(out, "\n{}", ink.bold("Options"));
    for (option, text) in IMPORT_OPTIONS {
        let _ = writeln!(out, "  {option:<17} {text}");
    }
    out + &format!("\n{} adyton import nginx.conf --output site.toml\n", ink.bold("Example:"))
}

const IMPORT_OPTIONS: [(&str, &str); 5] = [
    ("--from KIND", "nginx, unit, uwsgi, gunicorn or apache; else detected"),
    ("-o, --output FILE", "where the file goes; standard output unless given"),
    ("--replace", "overwrite a file that exists"),
    ("--accept-losses", "write the file although restrictions are lost"),
    ("-h, --help", "this text"),
];

/// Returns the whole text of a row, with its variable.
fn entry<S>(row: &Row<S>, variable: Option<String>, ink: Ink) -> String {
    let said = facts(row, "may be repeated", variable.map(|name| format!("variable {name}")));
    format!("  {}\n", flags(row, ink)) + &text(row, &said)
}

/// Returns the whole text of a key, with the table that it stands in.
fn key<S>(table: &str, row: &Row<S>, ink: Ink) -> String {
    let value = if row.is_switch() { "true|false".to_owned() } else { row.shape() };
    let said = facts(row, "one value or a list", Some(format!("stands in {table}")));
    let example = format!("      {} = {}\n", row.name, row.quoted());
    format!("  {} = {value}\n", ink.bold(row.name)) + &text(row, &said) + &example
}

/// Returns the purpose and the details of a row, with `said` as the last sentence.
fn text<S>(row: &Row<S>, said: &str) -> String {
    let mut out = String::new();
    for text in [&sentence(row.help), &row.detail.replace('`', ""), said] {
        for line in wrapped(text, LINE_CHARS_MAX - 6) {
            let _ = writeln!(out, "      {line}");
        }
    }
    out
}

const ORDER_OPTIONS: [(&str, &str); 2] = [
    ("--control PATH", "the server's control socket; needed if several run"),
    ("--json", "the whole answer as JSON, for programs"),
];

const URLS: [(&str, &str); 4] = [
    ("http://HOST:PORT/PATH?QUERY", "a server over TCP"),
    ("HOST:PORT/PATH?QUERY", "the same"),
    ("unix:SOCKET:/PATH?QUERY", "a server at a unix socket"),
    ("curl -H 'A: b' URL", "a command line of curl, behind all options"),
];

const TARGETS: [(&str, &str); 5] = [
    ("mysite.wsgi:application", "a module and the name of the application in it"),
    ("mysite.wsgi", "a module: its application, app or handler"),
    ("hello.py, hello.py:app", "a file of Python"),
    ("./public", "a folder: a static site"),
    ("site.toml", "a file of sites: hosts, routes, what answers"),
];

fn usage(command: &str, ink: Ink) -> String {
    let target = if command == "check" { "TARGET" } else { "[TARGET]" };
    format!("{} adyton {command} {target} [SETTINGS]", ink.bold("Usage:"))
}

fn bench_usage(ink: Ink) -> String {
    format!("{} adyton bench URL [OPTIONS]", ink.bold("Usage:"))
}

fn line<S>(row: &Row<S>, ink: Ink) -> String {
    let mut line = format!("  {}", flags(row, ink));
    // Escape sequences take no column, so the width of the plain text counts.
    let mut column = 2 + flags(row, Ink::Plain).chars().count();
    if column + 2 > DEFAULT_COLUMN {
        line.push('\n');
        column = 0;
    }
    let (gap, default) = (DEFAULT_COLUMN - column, row.default);
    let _ = write!(line, "{:gap$}{default:<width$}{}", "", row.help, width = HELP_COLUMN - DEFAULT_COLUMN);
    line
}

/// Returns `-b, --bind ADDRESS`, or the long flag alone, aligned with the other long ones.
fn flags<S>(row: &Row<S>, ink: Ink) -> String {
    let short =
        row.short.map_or("    ".to_owned(), |letter| format!("{}, ", ink.bold(&format!("-{letter}"))));
    let value = if row.is_switch() { "[=on|off]".to_owned() } else { format!(" {}", row.shape()) };
    format!("{short}{}{value}", ink.bold(&row.flag()))
}

/// Returns default, range, `repeatable` where it applies, and one more fact, in one sentence.
fn facts<S>(row: &Row<S>, repeatable: &str, more: Option<String>) -> String {
    let mut facts =
        if row.default.is_empty() { "No default".to_owned() } else { format!("Default {}", row.default) };
    if let Some(range) = row.range() {
        let _ = write!(facts, ", {range}");
    }
    if row.repeatable {
        let _ = write!(facts, "; {repeatable}");
    }
    if let Some(more) = more {
        let _ = write!(facts, "; {more}");
    }
    facts + "."
}

/// Returns the line of help as a sentence of its own.
pub(crate) fn sentence(help: &str) -> String {
    let mut letters = help.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Splits the text into lines of at most `chars_max`; a longer word has a line of its own.
pub(crate) fn wrapped(text: &str, chars_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= chars_max => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

impl Ink {
    fn bold(self, text: &str) -> String {
        match self {
            Ink::Plain => text.to_owned(),
            Ink::Ansi => format!("\x1b[1m{text}\x1b[0m"),
        }
    }
}
