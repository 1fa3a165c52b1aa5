//! The command line: which command, which target, which flags.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::builder::Str;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches};

use crate::bench::{self, Bench};
use crate::command::failure::Failure;
use crate::command::help::{self, Ink};
use crate::command::nearest::nearest;
use crate::command::orders::{ORDERS, Order};
use crate::projects::init::{FILE, first_file};
use crate::rows::{ROWS, SettingRow};
use crate::settings::reference::{bench_reference, reference, sites_reference};
use crate::settings::resolve::{Given, Handed, Source, resolve, unknown};
use crate::settings::row::{Kind, Row};
use crate::settings::typed::Settings;
use crate::sites::{Question, group_name, schema};

/// The version of the whole program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A command, with its settings or its options.
#[derive(Clone, Debug)]
pub enum Command {
    /// Serve until told to stop.
    Serve(Box<Settings>),
    /// Load the target, say what it is, and serve nothing.
    Check(Box<Settings>),
    /// Be a worker: its place, as the supervisor has written it, and the settings.
    Worker(String, Box<Settings>),
    /// Be the process that workers are forked from: the number of its line to the supervisor, and the settings.
    Prototype(String, Box<Settings>),
    /// Be the supervisor of a group: the text from the server's supervisor, and the settings.
    Group(String, Box<Settings>),
    /// Be a supervisor that goes on where another program has left off: the number of that program's note, or the word
    /// for a trial.
    Succeed(String, Box<Settings>),
    /// Load a server and measure.
    Bench(Box<Bench>),
    /// Compare servers: the words behind the command, which Python code of the package reads.
    Compare(Vec<String>),
    /// Find the best processes and threads for an application: the words behind the command, which Python code of the
    /// package reads.
    Tune(Vec<String>),
    /// Ask a server that runs, or give it an order.
    Client(Client),
    /// Say which route of a file of sites answers a request.
    Route(Question, Box<Settings>),
    /// Write a file that is not there yet: its path, and its text.
    Init(PathBuf, String),
    /// Make a file of sites of another server's configuration.
    Import(Import),
    /// Print this text to standard output and exit with 0.
    Done(String),
}

/// A configuration of another server, and where the file of sites goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The configuration.
    pub file: String,
    /// The server that the configuration is for, as typed; `None`: found out from the file.
    pub from: Option<String>,
    /// Where the file of sites goes; `None`: standard output.
    pub output: Option<String>,
    /// Whether an existing file may be overwritten.
    pub replace: bool,
    /// Whether restrictions may be lost: the routes that lose one then refuse everybody.
    pub accept_losses: bool,
}

/// An order to a running server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Name of the order, one of `ORDERS`.
    pub order: &'static str,
    /// Argument of the order: a log level, or a change of the number of workers.
    pub about: Option<String>,
    /// The control socket; `None`: it is looked for.
    pub control: Option<String>,
    /// Whether the answer is JSON, for programs.
    pub json: bool,
}

/// Reads the command line, without the program's name, and the environment.
///
/// `color` says whether help may use colours: standard output is a terminal, and the user has not forbidden colours.
/// `handed` is the text of the file of sites if a supervisor has read it.
///
/// # Errors
///
/// A sentence about the first thing that is wrong; for a file, a sentence about each mistake.
pub fn parse(
    args: &[String],
    environment: &[(String, String)],
    color: bool,
    handed: Option<Handed<'_>>,
) -> Result<Command, Failure> {
    let ink = if color { Ink::Ansi } else { Ink::Plain };
    let Some((command, rest)) = args.split_first() else {
        return Ok(Command::Done(help::overview(ink)));
    };
    match command.as_str() {
        "serve" => serve("serve", rest, environment, handed, ink, Command::Serve),
        "check" => serve("check", rest, environment, handed, ink, Command::Check),
        "worker" | "succeed" | "prototype" | "group" => inner(command, rest, environment, handed, ink),
        "route" => route(rest, environment, ink),
        "init" => init(rest, ink),
        "import" => import(rest, ink),
        "schema" => printed(rest, help::SCHEMA_USAGE, help::schema(ink), schema()),
        "bench" => bench(rest, ink),
        "compare" => Ok(Command::Compare(rest.to_vec())),
        "tune" => Ok(Command::Tune(rest.to_vec())),
        "help" | "-h" | "--help" => help_about(rest.first().map(String::as_str), ink),
        "reference" if rest == ["bench"] => Ok(Command::Done(bench_reference())),
        "reference" if rest == ["sites"] => Ok(Command::Done(sites_reference())),
        "reference" => printed(rest, help::REFERENCE_USAGE, help::printed_reference(ink), reference()),
        "-V" | "--version" => Ok(Command::Done(format!("adyton {VERSION}\n"))),
        other => match Order::find(other) {
            Some(order) => client(order, rest, ink),
            None => Err(unknown_command(other)),
        },
    }
}

/// Reads a command that prints a text and takes no argument but a request for help.
fn printed(args: &[String], usage: &str, help: String, text: String) -> Result<Command, Failure> {
    match args {
        [] => Ok(Command::Done(text)),
        [word] if word == "-h" || word == "--help" => Ok(Command::Done(help)),
        [word, ..] => Err(Failure::usage(format!("{word} is not understood; the command is: {usage}"))),
    }
}

/// Reads the command line of a process that a supervisor starts, such as a worker or its own successor: a text of the
/// supervisor, then the user's words.
fn inner(
    command: &str,
    args: &[String],
    environment: &[(String, String)],
    handed: Option<Handed<'_>>,
    ink: Ink,
) -> Result<Command, Failure> {
    let usage = || Failure::usage(format!("only the supervisor starts adyton {command}; use adyton serve"));
    let Some((said, rest)) = args.split_first() else {
        return Err(usage());
    };
    let Some(("serve", rest)) = rest.split_first().map(|(word, rest)| (word.as_str(), rest)) else {
        return Err(usage());
    };
    match serve("serve", rest, environment, handed, ink, Command::Serve)? {
        Command::Serve(settings) if command == "worker" => Ok(Command::Worker(said.clone(), settings)),
        Command::Serve(settings) if command == "group" => Ok(Command::Group(said.clone(), settings)),
        Command::Serve(settings) if command == "prototype" => Ok(Command::Prototype(said.clone(), settings)),
        Command::Serve(settings) => Ok(Command::Succeed(said.clone(), settings)),
        other => Ok(other),
    }
}

/// Reads `adyton status --control PATH --json` and the other orders.
fn client(order: &'static Order, args: &[String], ink: Ink) -> Result<Command, Failure> {
    let wrong = |what: String| Failure::usage(format!("{what}; the command is: {}", order.usage()));
    let Order { name, about, .. } = *order;
    let mut client = Client { order: name, about: None, control: None, json: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-h" | "--help" => return Ok(Command::Done(help::order(order, ink))),
            "--json" => client.json = true,
            "--control" => {
                let path =
                    args.next().ok_or_else(|| wrong("--control needs the path of a socket".to_owned()))?;
                client.control = Some(path.clone());
            }
            other => match other.strip_prefix("--control=") {
                Some(path) => client.control = Some(path.to_owned()),
                None if !other.starts_with('-') && client.about.is_none() && !about.is_empty() => {
                    client.about = Some(other.to_owned());
                }
                None => return Err(wrong(format!("{other} is not understood"))),
            },
        }
    }
    let known: &[&str] = match name {
        "stop" => &["fast"],
        "workers" => &["more", "fewer"],
        "log-level" => &["debug", "info", "warning", "error"],
        _ => &[],
    };
    match client.about.as_deref() {
        Some(about) if name == "reload" => match group_name(about) {
            Ok(_) => Ok(Command::Client(client)),
            Err(why) => Err(wrong(format!("{about:?} is no name of a group: {why}"))),
        },
        Some(about) if !known.contains(&about) => Err(wrong(format!("{about} is not understood"))),
        None if !about.is_empty() && !about.starts_with('[') => {
            Err(wrong(format!("{name} needs an argument")))
        }
        _ => Ok(Command::Client(client)),
    }
}

fn serve(
    command: &'static str,
    args: &[String],
    environment: &[(String, String)],
    handed: Option<Handed<'_>>,
    ink: Ink,
    done: fn(Box<Settings>) -> Command,
) -> Result<Command, Failure> {
    let matches =
        grammar(command, ROWS).try_get_matches_from(args).map_err(|error| refusal(command, args, &error))?;
    if matches.get_flag(LONG_HELP) {
        return Ok(Command::Done(help::long(command, ink)));
    }
    if matches.get_flag(SHORT_HELP) {
        return Ok(Command::Done(help::short(command, ink)));
    }
    let target = matches.get_one::<String>(TARGET).map(String::as_str);
    let settings = resolve(given(&matches), target, environment, handed)?;
    if target.is_none() && (command == "check" || settings.files.statics.is_empty()) {
        let message = format!(
            "nothing to {command}: give a target, such as mysite.wsgi:application, hello.py or ./public"
        );
        return Err(Failure::usage(message));
    }
    Ok(done(Box::new(settings)))
}

/// Reads `adyton init ./mysite`.
fn init(args: &[String], ink: Ink) -> Result<Command, Failure> {
    let folder = match args {
        [] => PathBuf::from("."),
        [word] if word == "-h" || word == "--help" => return Ok(Command::Done(help::init(ink))),
        [folder] if !folder.starts_with('-') => PathBuf::from(folder),
        _ => return Err(Failure::usage(format!("the command is: {}", help::INIT_USAGE))),
    };
    let text = first_file(&folder)?;
    Ok(Command::Init(if args.is_empty() { FILE.into() } else { folder.join(FILE) }, text))
}

/// Reads `adyton route site.toml GET http://shop.example/admin/ --from 10.0.0.1 -H 'X-Beta: 1'`.
fn route(args: &[String], environment: &[(String, String)], ink: Ink) -> Result<Command, Failure> {
    let usage = || Failure::usage(format!("the command is: {}", help::ROUTE_USAGE));
    let mut words: Vec<&str> = Vec::new();
    let client = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut question = Question { method: "GET".to_owned(), url: String::new(), fields: Vec::new(), client };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-h" | "--help" => return Ok(Command::Done(help::route(ink))),
            "-H" | "--header" => question.fields.push(args.next().ok_or_else(usage)?.clone()),
            "--from" => {
                let text = args.next().ok_or_else(usage)?;
                let address = if text == "unix" { Ok(None) } else { text.parse().map(Some) };
                question.client = address
                    .map_err(|_| Failure::usage(format!("--from {text}: write an address, or unix")))?;
            }
            word if word.starts_with('-') => return Err(usage()),
            word => words.push(word),
        }
    }
    let file = match words[..] {
        [file, url] => {
            url.clone_into(&mut question.url);
            file
        }
        [file, method, url] => {
            method.clone_into(&mut question.method);
            url.clone_into(&mut question.url);
            file
        }
        _ => return Err(usage()),
    };
    question.check().map_err(Failure::usage)?;
    let settings = resolve(Given::new(Source::Flag), Some(file), environment, None)?;
    if settings.sites.is_none() {
        return Err(Failure::usage(format!("{file} is no file of sites, as site.toml")));
    }
    Ok(Command::Route(question, Box::new(settings)))
}

/// Reads `adyton import nginx.conf --from nginx --output site.toml`.
fn import(args: &[String], ink: Ink) -> Result<Command, Failure> {
    let usage = |what: String| Failure::usage(format!("{what}; the command is: {}", help::IMPORT_USAGE));
    let mut import = Import::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let (name, value) =
            arg.split_once('=').map_or((arg.as_str(), None), |(name, value)| (name, Some(value)));
        match name {
            "-h" | "--help" => return Ok(Command::Done(help::import(ink))),
            "--accept-losses" => import.accept_losses = true,
            "--replace" => import.replace = true,
            "--from" | "-o" | "--output" => {
                let value = value.map(str::to_owned).or_else(|| args.next().cloned());
                let place = if name == "--from" { &mut import.from } else { &mut import.output };
                *place = Some(value.ok_or_else(|| usage(format!("{name} needs a value")))?);
            }
            _ if arg.starts_with('-') && arg.len() > 1 => {
                return Err(usage(format!("{arg} is not understood")));
            }
            _ if import.file.is_empty() => import.file.clone_from(arg),
            _ => return Err(usage(format!("{arg} is one argument too many"))),
        }
    }
    if import.file.is_empty() {
        return Err(usage("the file is missing".to_owned()));
    }
    Ok(Command::Import(import))
}

/// Reads `adyton bench http://127.0.0.1:8000/ -c 64 -d 10s`.
fn bench(args: &[String], ink: Ink) -> Result<Command, Failure> {
    let rows = bench::ROWS;
    // The words behind `curl` are a command line of curl, unless `curl` is the value of an option.
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|before| takes_value(&args[before], rows));
    let curl = (0..args.len()).find(|at| args[*at] == "curl" && !is_value(*at));
    let (args, curl) = curl.map_or((args, None), |at| (&args[..at], Some(&args[at + 1..])));
    let matches = grammar("bench", rows).try_get_matches_from(args).map_err(|error| bench_refusal(&error))?;
    if matches.get_flag(LONG_HELP) {
        return Ok(Command::Done(help::bench_long(ink)));
    }
    if matches.get_flag(SHORT_HELP) {
        return Ok(Command::Done(help::bench_short(ink)));
    }
    let mut bench = Bench::default();
    for row in rows {
        let mut values = values_of(&matches, row);
        if values.is_empty() && !row.default.is_empty() {
            values.push(row.default);
        }
        for value in values {
            let applied = row.apply(&mut bench, value);
            applied.map_err(|why| Failure::usage(format!("{} {value}: {why}", row.flag())))?;
        }
    }
    if bench.requests > 0 && matches.contains_id("duration") {
        let why = "--duration and --requests both say when the measurement ends: leave one of them out";
        return Err(Failure::usage(why.to_owned()));
    }
    let url = matches.get_one::<String>(TARGET);
    if let (Some(_), Some(url)) = (curl, url) {
        return Err(Failure::usage(format!(
            "{url} stands in front of curl, whose command line has a URL of its own: leave one of them out"
        )));
    }
    if let Some(curl) = curl {
        let read = bench::curl::read(bench, curl).map_err(Failure::usage)?;
        return Ok(Command::Bench(Box::new(read)));
    }
    let missing = || Failure::usage("nothing to load: give a URL, such as http://127.0.0.1:8000/".to_owned());
    bench.url.clone_from(url.ok_or_else(missing)?);
    Ok(Command::Bench(Box::new(bench)))
}

/// Whether the word is an option whose value is the next word.
fn takes_value<S>(word: &str, rows: &[Row<S>]) -> bool {
    let is_meant = |row: &Row<S>| match word.strip_prefix("--") {
        Some(name) => name == row.name,
        None => word
            .strip_prefix('-')
            .is_some_and(|letter| row.short.is_some_and(|short| letter.chars().eq([short]))),
    };
    rows.iter().any(|row| !matches!(row.kind, Kind::Switch { .. }) && is_meant(row))
}

/// Returns our sentence for an error of the parser.
fn bench_refusal(error: &clap::Error) -> Failure {
    let unknown = |name: &str| {
        let near = nearest(name.trim_start_matches('-'), bench::ROWS.iter().map(|row| row.name));
        let hint = near
            .map_or("adyton bench -h lists them all".to_owned(), |near| format!("did you mean --{near}?"));
        Failure::usage(format!("{name} is not an option of adyton bench; {hint}"))
    };
    let surplus = |argument: &str| {
        Failure::usage(format!("{argument} is one argument too many: adyton bench takes one URL"))
    };
    refused(bench::ROWS, error, unknown, surplus)
}

// Ids of arguments that are not settings; no row has such an id as its name.
const TARGET: &str = "TARGET";
const SHORT_HELP: &str = "-h";
const LONG_HELP: &str = "--help";

/// Makes the parser of the flags from the rows; it prints no help, because ours comes from the rows, too.
fn grammar<S>(command: &'static str, rows: &'static [Row<S>]) -> clap::Command {
    let flags = rows.iter().map(|row| {
        let flag = Arg::new(row.name).long(row.name).action(ArgAction::Append);
        let flag = if let Some(letter) = row.short { flag.short(letter) } else { flag };
        match row.kind {
            // `--factory hello.py` must not take the target for the value.
            Kind::Switch { .. } => {
                flag.num_args(0..=1).require_equals(true).default_missing_value(Str::from("on"))
            }
            _ => flag,
        }
    });
    clap::Command::new(command)
        .no_binary_name(true)
        .disable_help_flag(true)
        .args(flags)
        .arg(Arg::new(TARGET))
        .arg(Arg::new(SHORT_HELP).short('h').action(ArgAction::SetTrue))
        .arg(Arg::new(LONG_HELP).long("help").action(ArgAction::SetTrue))
}

/// Returns the values by row.
fn given(matches: &ArgMatches) -> Given<'_> {
    let mut given = Given::new(Source::Flag);
    for (index, row) in ROWS.iter().enumerate() {
        given.values[index] = values_of(matches, row);
    }
    given
}

/// Returns the values of a row. If a flag that is not repeatable is given twice, the last value applies, so that a user
/// can overrule a script.
fn values_of<'m, S>(matches: &'m ArgMatches, row: &Row<S>) -> Vec<&'m str> {
    let mut values: Vec<&str> =
        matches.get_many::<String>(row.name).into_iter().flatten().map(String::as_str).collect();
    if !row.repeatable && values.len() > 1 {
        values.drain(..values.len() - 1);
    }
    values
}

/// Returns our sentence for an error of the parser.
fn refusal(command: &str, args: &[String], error: &clap::Error) -> Failure {
    let surplus = |argument: &str| {
        let is_switch_value = |arg: &String| arg == "on" || arg == "off";
        let hint =
            if args.iter().any(is_switch_value) { ", and a switch its value as in --factory=on" } else { "" };
        Failure::usage(format!(
            "{argument} is one argument too many: adyton {command} takes one target{hint}"
        ))
    };
    refused(ROWS, error, |name| unknown(Source::Flag, name), surplus)
}

/// Distinguishes a flag that no row has from a surplus argument and from a missing value.
fn refused<S>(
    rows: &[Row<S>],
    error: &clap::Error,
    unknown: impl Fn(&str) -> Failure,
    surplus: impl Fn(&str) -> Failure,
) -> Failure {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return Failure::usage(plain(error));
    };
    // The parser names known arguments with a placeholder for their value: `--port <port>`.
    let name = argument.split([' ', '=', '[']).next().unwrap_or(argument);
    match error.kind() {
        ErrorKind::UnknownArgument if name.starts_with('-') => unknown(name),
        ErrorKind::UnknownArgument => surplus(argument),
        ErrorKind::InvalidValue => {
            let example = rows.iter().find(|row| row.flag() == name).map_or("", |row| row.example);
            Failure::usage(format!("{name} needs a value, as in {name} {example}"))
        }
        _ => Failure::usage(plain(error)),
    }
}

/// Returns the first line of the parser's own message, for errors that our grammar should not be able to cause.
fn plain(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn help_about(topic: Option<&str>, ink: Ink) -> Result<Command, Failure> {
    let text = match topic {
        None | Some("help" | "version" | "--version") => help::overview(ink),
        Some("route") => help::route(ink),
        Some("init") => help::init(ink),
        Some("schema") => help::schema(ink),
        Some("reference") => help::printed_reference(ink),
        Some("serve") => help::long("serve", ink),
        Some("check") => help::long("check", ink),
        Some("bench") => help::bench_long(ink),
        Some("import") => help::import(ink),
        Some("compare") => return Ok(Command::Compare(vec!["--help".to_owned()])),
        Some("tune") => return Ok(Command::Tune(vec!["--help".to_owned()])),
        Some(topic) => about_one(topic, ink).ok_or_else(|| unknown(Source::Flag, topic))?,
    };
    Ok(Command::Done(text))
}

/// Returns the help of an order, a setting, and keys of a file of sites. A name may be several of these: `adyton
/// reload` and `--reload`; `chdir` of the server and of a group. With hyphens in front, a name stands for the setting
/// alone.
fn about_one(topic: &str, ink: Ink) -> Option<String> {
    let order = Order::find(topic).map(|order| help::order(order, ink));
    let setting = SettingRow::find(topic.trim_start_matches('-')).map(|row| help::one(row, ink));
    let texts: Vec<String> = order.into_iter().chain(setting).chain(help::keys(topic, ink)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn unknown_command(wrong: &str) -> Failure {
    let own = [
        "serve",
        "check",
        "route",
        "init",
        "import",
        "schema",
        "bench",
        "compare",
        "tune",
        "help",
        "reference",
        "--version",
        "--help",
    ];
    let near = nearest(wrong, own.into_iter().chain(ORDERS.iter().map(|order| order.name)));
    let hint = match near {
        Some(command) => format!("adyton {command}"),
        None => format!("adyton serve {wrong}"),
    };
    Failure::usage(format!("{wrong} is not a command; did you mean {hint}?"))
}
