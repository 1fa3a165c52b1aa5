//! CGI scripts: how long, how many, how much, and in which environment.

use crate::settings::row::{Kind, Row, Scope};
use crate::settings::typed::Settings;
use crate::settings::units::Unit;

const GROUP: Row = Row { group: "CGI scripts", ..Row::EMPTY };

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "cgi-timeout",
        kind: Kind::Number {
            unit: Unit::Duration,
            least: 0,
            most: 24 * 60 * 60 * 1_000,
            set: |settings, ms| settings.cgi_timeout_ms = ms,
        },
        default: "60s",
        example: "5m",
        help: "longest silence of a CGI script; 0: any",
        detail: "A script that has printed nothing for so long is ended with all processes of its group: its client gets 504, or an \
                 answer that is cut. To wait for a client that reads slowly does not count. Apache waits as long.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "cgi-processes",
        kind: Kind::Number {
            unit: Unit::Count,
            least: 1,
            most: 4096,
            set: |settings, number| settings.cgi_processes = number,
        },
        default: "64",
        example: "16",
        help: "CGI scripts that run at once, in each worker",
        detail: "Requests for more wait their turn, as many as `--queue-limit` and as long as `--queue-timeout` says; then they are \
                 answered 503.",
        ..GROUP
    },
    Row {
        name: "cgi-memory-limit",
        kind: Kind::Number {
            unit: Unit::Bytes,
            least: 0,
            most: 1 << 50,
            set: |settings, bytes| settings.cgi_memory_limit_bytes = bytes,
        },
        default: "0",
        example: "256m",
        help: "memory of each process of a CGI script; 0: any",
        detail: "`RLIMIT_AS` of setrlimit(2), which counts addresses, and with them what is mapped and not used: leave room above what a \
                 script really needs.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "cgi-user-processes-max",
        kind: Kind::Number {
            unit: Unit::Count,
            least: 0,
            most: 1 << 22,
            set: |settings, number| settings.cgi_user_processes_max = number,
        },
        default: "0",
        example: "200",
        help: "processes of the user of CGI scripts; 0: any",
        detail: "`RLIMIT_NPROC` of setrlimit(2): a script starts no further process or thread while its user has so many, whoever started them, \
                 the server's own threads among them. The kernel does not count for root.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "cgi-environment",
        kind: Kind::Form { shape: "NAME[=VALUE]", set: variable },
        example: "LANG=C.UTF-8",
        repeatable: true,
        help: "variable for CGI scripts, beside a request's",
        detail: "With a name alone, the one that the server has. Scripts get nothing else of the server's environment; `PATH` is \
                 `/usr/local/bin:/usr/bin:/bin` unless it is named here.",
        scope: Scope::Route,
        ..GROUP
    },
    Row {
        name: "cgi-interpreters",
        kind: Kind::Form { shape: "PROGRAM", set: interpreter },
        example: "/usr/bin/perl",
        repeatable: true,
        help: "program that may run CGI scripts of folders",
        detail: "For folders with `may-set = [\"cgi\"]`: `cgi = { \"*.pl\" = \"/usr/bin/perl\" }` in an `.adyton.toml` counts only if the \
                 program is named here. Without it, a folder has programs run that are executable, and no others.",
        scope: Scope::Route,
        ..GROUP
    },
];

fn interpreter(settings: &mut Settings, text: &str) -> Result<(), String> {
    if !text.starts_with('/') {
        return Err("write the path of a program from the top, as /usr/bin/perl".to_owned());
    }
    settings.cgi_interpreters.push(text.into());
    Ok(())
}

fn variable(settings: &mut Settings, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_fine) {
        return Err("write NAME=VALUE, or NAME; a name has letters, digits and _".to_owned());
    }
    settings.cgi_environment.push((name.to_owned(), value.map(ToOwned::to_owned)));
    Ok(())
}
