//! What is written down.

use super::{Kind, ROW, Row};
use crate::settings::{AccessLog, AccessLogFormat, LogLevel};

const GROUP: Row = Row { group: "Logging", ..ROW };

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "access-log",
        kind: Kind::Form {
            shape: "FILE|-|off",
            set: |settings, text| {
                settings.access_log = match text {
                    "" => return Err("write the path of a file, - or off".to_owned()),
                    "off" => AccessLog::Off,
                    "-" => AccessLog::Stdout,
                    path => AccessLog::File(path.into()),
                };
                Ok(())
            },
        },
        default: "off",
        example: "-",
        help: "one line for each request; - is the output",
        detail: "Off, because it costs time for each request and disk for ever, and because the addresses of \
                 clients are personal data. Lines are appended to a file, which is never cut or renamed here.",
        ..GROUP
    },
    Row {
        name: "access-log-format",
        kind: Kind::Form {
            shape: "FORMAT",
            set: |settings, text| format(text).map(|format| settings.access_log_format = format),
        },
        default: "combined",
        example: r#"%h %t "%r" %>s %b %D"#,
        help: "common, combined, json, or atoms like %h",
        detail: "Atoms are those of Apache's `LogFormat`. `combined` is what most programs that read logs expect; `json` is one object a line.",
        ..GROUP
    },
    Row {
        name: "log-level",
        kind: Kind::Choice {
            words: &["debug", "info", "warning", "error"],
            set: |settings, index| {
                settings.log_level =
                    [LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error][index];
            },
        },
        default: "info",
        example: "warning",
        help: "the least serious message that is logged",
        detail: "The server's own messages and the application's tracebacks go to standard error.",
        ..GROUP
    },
];

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
