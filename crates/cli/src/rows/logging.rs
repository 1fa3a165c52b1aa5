//! Logs: where they go, and what is written to them.

use adyton_log::Level;
use adyton_log::sink::{Destination, SyslogAddress};

use crate::settings::bind::parse_port;
use crate::settings::row::{Has, Kind, Row, Scope, Section};
use crate::settings::units::Unit;

/// Logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Logging {
    pub log_queue_bytes_max: u64,
    /// Where the access log goes; `None`: there is none.
    pub access_log: Option<Destination>,
    pub access_log_format: AccessLogFormat,
    pub error_log: Destination,
    pub log_format: LogFormat,
    pub log_level: Level,
    pub capture_output: CaptureOutput,
    /// The header field that carries the request's identifier; `None`: no field does.
    pub request_id_header: Option<String>,
}

impl<S: Has<Logging>> Section<S> for Logging {
    const HEADING: &'static str = "Logging";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "access-log",
            kind: Kind::Form {
                shape: "FILE|-|syslog|off",
                set: |settings, text| {
                    settings.as_mut().access_log = match text {
                        "" => return Err("write the path of a file, -, syslog or off".to_owned()),
                        "off" => None,
                        text => Some(destination(text)?),
                    };
                    Ok(())
                },
            },
            default: "off",
            example: "-",
            help: "a line for each request; - is standard output",
            detail: "The default is `off`, because each line costs time and disk space, and because the addresses of \
                     clients are personal data. Lines are appended to the file, which the server never truncates or \
                     renames; SIGUSR1 makes it open the file again. `syslog` is `/dev/log`, `syslog:/path` another \
                     socket of this machine, and `syslog:HOST:PORT` another machine, by UDP.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "access-log-format",
            kind: Kind::Form {
                shape: "FORMAT",
                set: |settings, text| format(text).map(|format| settings.as_mut().access_log_format = format),
            },
            default: "combined",
            example: r#"%h %t "%r" %>s %b %D"#,
            help: "common, combined, json, or atoms like %h",
            detail: "`combined` is the format that most programs for logs expect; `json` is one object a line. The \
                     atoms are some of Apache's `LogFormat`: `%h` `%a` `%l` `%u` `%t` `%r` `%m` `%U` `%q` `%H` `%s` \
                     `%>s` `%b` `%B` `%D` `%T` `%P` `%{group}P` `%v` `%L` `%{Name}i` and `%%`; other atoms are \
                     refused.",
            scope: Scope::Site,
            ..Self::ROW
        },
        Row {
            name: "error-log",
            kind: Kind::Form {
                shape: "FILE|-|syslog",
                set: |settings, text| {
                    if matches!(text, "" | "off") {
                        return Err(
                            "write the path of a file (/dev/null takes everything), - or syslog".to_owned()
                        );
                    }
                    settings.as_mut().error_log = destination(text)?;
                    Ok(())
                },
            },
            default: "-",
            example: "error.log",
            help: "where messages go; - is standard error",
            detail: "The error log gets the server's own messages, each with a code (`docs/reference/messages.md`), \
                     the application's tracebacks, and text that the application prints. A file replaces standard \
                     error, so that it also gets the text that a crash prints. SIGUSR1 makes the server open the file \
                     again.",
            held: Some(|one, other| one.as_ref().error_log == other.as_ref().error_log),
            ..Self::ROW
        },
        Row {
            name: "log-queue-bytes-max",
            kind: Kind::Number {
                unit: Unit::Bytes,
                least: 64 << 10,
                most: 1 << 30,
                set: |settings, number| settings.as_mut().log_queue_bytes_max = number,
            },
            default: "1m",
            example: "8m",
            help: "memory of lines that wait for a log",
            detail: "Each process has this memory for each log, and keeps lines there while a disk hangs or the \
                     reader of a pipe is stopped. No request waits for a log: lines that come when this memory is \
                     full are lost. Lost lines are counted (`adyton_log_lines_lost_total`), and reported when the log \
                     takes lines again. 1 MiB is some 6,000 lines.",
            held: Some(|one, other| one.as_ref().log_queue_bytes_max == other.as_ref().log_queue_bytes_max),
            ..Self::ROW
        },
        Row {
            name: "log-format",
            kind: Kind::Choice {
                words: &["text", "json"],
                set: |settings, index| {
                    settings.as_mut().log_format = [LogFormat::Text, LogFormat::Json][index];
                },
            },
            default: "text",
            example: "json",
            help: "how messages are written",
            detail: "`json` is one object a line, for programs that collect logs; the access log has a format of its own.",
            ..Self::ROW
        },
        Row {
            name: "capture-output",
            kind: Kind::Choice {
                words: &["auto", "on", "off"],
                set: |settings, index| {
                    settings.as_mut().capture_output =
                        [CaptureOutput::Auto, CaptureOutput::On, CaptureOutput::Off][index];
                },
            },
            default: "auto",
            example: "off",
            help: "put what the application prints into the log",
            detail: "Each line that the application writes to `sys.stdout`, `sys.stderr` or `wsgi.errors` becomes an \
                     entry of the error log, with its worker and its request. `auto` leaves these streams alone on a \
                     terminal, where a debugger needs them, and in programs that call `adyton.serve()`.",
            ..Self::ROW
        },
        Row {
            name: "request-id-header",
            kind: Kind::Form {
                shape: "NAME",
                set: |settings, text| {
                    settings.as_mut().request_id_header = match text {
                        "" => None,
                        name if is_own(name) => {
                            return Err("the server needs that field for itself".to_owned());
                        }
                        name if is_token(name) => Some(name.to_owned()),
                        _ => return Err("write the name of a field, such as X-Request-ID".to_owned()),
                    };
                    Ok(())
                },
            },
            default: "",
            example: "X-Request-ID",
            help: "the field that carries a request's id",
            detail: "If a client or a proxy sends this field, its value is the request's id in all logs (up to 128 \
                     letters, digits and `-_.~+/=:@`); a request without the field gets an id of 16 digits. In both \
                     cases the application finds the id in the environ, or as `request.id`, and the client finds it \
                     in the answer.",
            ..Self::ROW
        },
        Row {
            name: "log-level",
            kind: Kind::Choice {
                words: &["debug", "info", "warning", "error"],
                set: |settings, index| {
                    settings.as_mut().log_level =
                        [Level::Debug, Level::Info, Level::Warning, Level::Error][index];
                },
            },
            default: "info",
            example: "warning",
            help: "the least serious message that is logged",
            detail: "The level applies to entries of the application's `logging`, too, but not to text that it \
                     prints. Entries that the application's own loggers leave out never reach the server: unless the \
                     application sets a level, Python leaves out entries below `warning`. `adyton log-level` changes \
                     the level while the server runs.",
            ..Self::ROW
        },
    ];
}

/// How a line of the access log looks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum AccessLogFormat {
    /// The common log format.
    Common,
    /// `Common` with the referrer and the user agent.
    #[default]
    Combined,
    /// One JSON object a line.
    Json,
    /// Atoms in the notation of Apache's `LogFormat`, not yet read.
    Atoms(String),
}

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object each.
    Json,
}

/// Whether the application's standard streams go to the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CaptureOutput {
    /// Unless standard error is a terminal.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl AccessLogFormat {
    /// Returns the format in Apache's atoms; `None` for JSON.
    pub fn atoms(&self) -> Option<&str> {
        match self {
            AccessLogFormat::Common => Some(r#"%h %l %u %t "%r" %>s %b"#),
            AccessLogFormat::Combined => Some(r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#),
            AccessLogFormat::Json => None,
            AccessLogFormat::Atoms(atoms) => Some(atoms),
        }
    }
}

fn format(text: &str) -> Result<AccessLogFormat, String> {
    match text {
        "common" => Ok(AccessLogFormat::Common),
        "combined" => Ok(AccessLogFormat::Combined),
        "json" => Ok(AccessLogFormat::Json),
        atoms if atoms.contains('%') && !atoms.contains(char::is_control) => {
            Ok(AccessLogFormat::Atoms(atoms.to_owned()))
        }
        _ => Err("choose common, combined, json, or atoms such as %h %t \"%r\" %>s %b".to_owned()),
    }
}

/// Reads the destination of a log.
fn destination(text: &str) -> Result<Destination, String> {
    let Some(rest) = text.strip_prefix("syslog") else {
        return Ok(if text == "-" { Destination::Standard } else { Destination::File(text.into()) });
    };
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok(Destination::Syslog(SyslogAddress::Local("/dev/log".into()))),
        None => Ok(Destination::File(text.into())),
        Some(path) if path.starts_with('/') => Ok(Destination::Syslog(SyslogAddress::Local(path.into()))),
        Some(address) => match address.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && parse_port(port).is_ok_and(|port| port > 0) => {
                Ok(Destination::Syslog(SyslogAddress::Remote(address.to_owned())))
            }
            _ => Err("write syslog, syslog:/path/of/its/socket or syslog:HOST:PORT".to_owned()),
        },
    }
}

/// Whether the name is a token (RFC 9110 section 5.6.2).
fn is_token(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Whether a field describes the message itself.
fn is_own(name: &str) -> bool {
    const OWN: [&str; 12] = [
        "Connection",
        "Content-Length",
        "Content-Type",
        "Cookie",
        "Set-Cookie",
        "Authorization",
        "Date",
        "Host",
        "Location",
        "Server",
        "Transfer-Encoding",
        "Upgrade",
    ];
    OWN.iter().any(|own| own.eq_ignore_ascii_case(name))
}
