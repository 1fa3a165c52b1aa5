//! Who may use what is served: names and passwords.

use crate::row::{Kind, Row, Scope};
use crate::rows::files::field_value;
use crate::settings::Auth;

const GROUP: Row = Row { group: "Access", scope: Scope::Route, ..Row::EMPTY };

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "auth",
        kind: Kind::Form {
            shape: "SCHEME:FILE",
            set: |settings, text| auth(text).map(|auth| settings.auth = auth),
        },
        default: "off",
        example: "basic:staff.htpasswd",
        help: "ask clients for a name and a password",
        detail: "`basic:FILE` with the passwords of a file that `htpasswd` has made (`htpasswd -B -c FILE NAME`: bcrypt; argon2, \
                 crypt with SHA-512 or SHA-256, APR1 and, though weak, SHA-1, are read, too). `digest:FILE` with those of \
                 `htdigest` (MD5 or SHA-256, RFC 7616). `off` asks for none. A file that changes counts within a second. \
                 Others are answered 401; after ten wrong passwords an address waits, longer each time (429). The application \
                 finds the name in `REMOTE_USER`, and does not see `Authorization`. Passwords travel readably with `basic`: \
                 something in front of the server has to encrypt the connection.",
        ..GROUP
    },
    Row {
        name: "auth-realm",
        kind: Kind::Form {
            shape: "TEXT",
            set: |settings, text| field_value(text).map(|realm| settings.auth_realm = realm),
        },
        default: "protected",
        example: "Staff",
        help: "what the password is for",
        detail: "Browsers show it. With `digest` it is the realm that the file was made for.",
        ..GROUP
    },
    Row {
        name: "auth-users",
        kind: Kind::Form {
            shape: "NAMES",
            set: |settings, text| names(text).map(|names| settings.auth_users = names),
        },
        example: "ann,bob",
        help: "users of the file that are let in",
        detail: "Names with commas between them. Without this and `auth-groups` all are, with both those that either names.",
        ..GROUP
    },
    Row {
        name: "auth-groups",
        kind: Kind::Form {
            shape: "NAMES",
            set: |settings, text| names(text).map(|names| settings.auth_groups = names),
        },
        example: "editors",
        help: "groups whose members are let in",
        detail: "Names with commas between them, of groups in `auth-group-file`.",
        ..GROUP
    },
    Row {
        name: "auth-group-file",
        kind: Kind::Path { shape: "FILE", set: |settings, path| settings.auth_group_file = Some(path) },
        example: "staff.groups",
        help: "file that says who is in which group",
        detail: "A line for each group, as Apache's `AuthGroupFile` has them: `editors: ann bob`.",
        ..GROUP
    },
];

fn auth(text: &str) -> Result<Option<Auth>, String> {
    match text.split_once(':') {
        None if text == "off" => Ok(None),
        Some(("basic", file)) if !file.is_empty() => Ok(Some(Auth::Basic(file.into()))),
        Some(("digest", file)) if !file.is_empty() => Ok(Some(Auth::Digest(file.into()))),
        _ => Err("write off, basic:FILE or digest:FILE".to_owned()),
    }
}

fn names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        Err("write names with commas between them".to_owned())
    } else {
        Ok(names)
    }
}
