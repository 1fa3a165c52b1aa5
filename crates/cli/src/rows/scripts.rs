//! CGI scripts: their limits, and their environment.

use std::path::PathBuf;

use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// CGI scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct CgiScripts {
    /// How long a script may be silent; 0: no limit.
    pub cgi_timeout_ms: u64,
    pub cgi_processes: u64,
    /// 0: no limit.
    pub cgi_memory_limit_bytes: u64,
    /// 0: no limit.
    pub cgi_user_processes_max: u64,
    /// Variables of scripts; `None`: the server's own value.
    pub cgi_environment: Vec<(String, Option<String>)>,
    /// Programs that folders may choose to run their scripts.
    pub cgi_interpreters: Vec<PathBuf>,
}

impl<S: Has<CgiScripts>> Section<S> for CgiScripts {
    const HEADING: &'static str = "CGI scripts";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "cgi-timeout",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 0,
                most: 24 * 60 * 60 * 1_000,
                set: |settings, ms| settings.as_mut().cgi_timeout_ms = ms,
            },
            default: "60s",
            example: "5m",
            help: "longest silence of a CGI script; 0: any",
            detail: "A script that has printed nothing for this time is ended with all processes of its group: its \
                     client gets a 504, or an answer that is cut. Waiting for a client that reads slowly does not \
                     count. Apache has the same default.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "cgi-processes",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 1,
                most: 4096,
                set: |settings, number| settings.as_mut().cgi_processes = number,
            },
            default: "64",
            example: "16",
            help: "CGI scripts that run at once, in each worker",
            detail: "Requests for further scripts wait, at most `--queue-limit` of them and at most for \
                     `--queue-timeout`; beyond that they are answered 503.",
            ..Self::ROW
        },
        Row {
            name: "cgi-memory-limit",
            kind: Kind::Number {
                unit: Unit::Bytes,
                least: 0,
                most: 1 << 50,
                set: |settings, bytes| settings.as_mut().cgi_memory_limit_bytes = bytes,
            },
            default: "0",
            example: "256m",
            help: "memory of each process of a CGI script; 0: any",
            detail: "`RLIMIT_AS` of setrlimit(2), which limits address space, also memory that is mapped and not \
                     used: set it above the memory that a script needs.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "cgi-user-processes-max",
            kind: Kind::Number {
                unit: Unit::Count,
                least: 0,
                most: 1 << 22,
                set: |settings, number| settings.as_mut().cgi_user_processes_max = number,
            },
            default: "0",
            example: "200",
            help: "processes of the user of CGI scripts; 0: any",
            detail: "`RLIMIT_NPROC` of setrlimit(2): a script cannot start a process or a thread while its user has \
                     this many, whichever program started them; the server's own threads count, too. For root the \
                     kernel has no such limit.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "cgi-environment",
            kind: Kind::Form {
                shape: "NAME[=VALUE]",
                set: |settings, text| variable(text).map(|pair| settings.as_mut().cgi_environment.push(pair)),
            },
            example: "LANG=C.UTF-8",
            repeatable: true,
            help: "further variable for CGI scripts",
            detail: "A name alone stands for the server's own variable. Scripts get no other variables of the \
                     server's environment; `PATH` is `/usr/local/bin:/usr/bin:/bin` unless it is named here.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "cgi-interpreters",
            kind: Kind::Form {
                shape: "PROGRAM",
                set: |settings, text| {
                    interpreter(text).map(|program| settings.as_mut().cgi_interpreters.push(program))
                },
            },
            example: "/usr/bin/perl",
            repeatable: true,
            help: "program that may run CGI scripts of folders",
            detail: "For folders with `may-set = [\"cgi\"]`: `cgi = { \"*.pl\" = \"/usr/bin/perl\" }` in an \
                     `.adyton.toml` applies only if the program is named here. Without this setting, folders can have \
                     executable files run, and no others.",
            scope: Scope::Route,
            ..Self::ROW
        },
    ];
}

fn interpreter(text: &str) -> Result<PathBuf, String> {
    if !text.starts_with('/') {
        return Err("write the absolute path of a program, as /usr/bin/perl".to_owned());
    }
    Ok(text.into())
}

fn variable(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_fine) {
        return Err("write NAME=VALUE, or NAME; a name has letters, digits and _".to_owned());
    }
    Ok((name.to_owned(), value.map(ToOwned::to_owned)))
}
