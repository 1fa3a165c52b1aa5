//! Changes to answers, whichever action of a route gives them.

use std::path::PathBuf;

use adyton_route::HeadEdits;

use crate::settings::row::{Has, Kind, Row, Scope, Section};

/// Changes to answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Answers {
    /// Names and values of header fields; of two with the same name the last applies.
    pub headers: Vec<(String, String)>,
    pub add_headers: Vec<(String, String)>,
    pub remove_headers: Vec<String>,
    pub cache_control: Option<String>,
    pub intercept_errors: bool,
    /// The folder beneath which applications may have files sent; relative to `chdir`.
    pub x_sendfile: Option<PathBuf>,
    pub internal_redirects: bool,
}

impl<S: Has<Answers>> Section<S> for Answers {
    const HEADING: &'static str = "Answers";
    const SCOPE: Scope = Scope::Route;

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "headers",
            kind: Kind::Form {
                shape: "NAME=VALUE",
                set: |settings, text| put_field(text).map(|field| settings.as_mut().headers.push(field)),
            },
            example: "X-Frame-Options=DENY",
            repeatable: true,
            help: "fields to put into answers",
            detail: "They replace fields of the same name in all answers, whatever the status. If a name is given \
                     twice, the last value applies. In a file of sites, fields of a site apply to its routes, too, \
                     except fields that the route names in `headers` or `remove-headers`.",
            ..Self::ROW
        },
        Row {
            name: "add-headers",
            kind: Kind::Form {
                shape: "NAME=VALUE",
                set: |settings, text| put_field(text).map(|field| settings.as_mut().add_headers.push(field)),
            },
            example: "Link=</style.css>; rel=preload",
            repeatable: true,
            help: "fields to add to answers",
            detail: "They are sent beside fields of the same name, in all answers, whatever their status.",
            ..Self::ROW
        },
        Row {
            name: "remove-headers",
            kind: Kind::Form {
                shape: "NAME",
                set: |settings, text| {
                    changed_field(text).map(|name| settings.as_mut().remove_headers.push(name))
                },
            },
            example: "X-Powered-By",
            repeatable: true,
            help: "fields to leave out of answers",
            detail: "Such a field is left out, whether the application or the server itself sets it. For `Server` \
                     there is `server-header`.",
            ..Self::ROW
        },
        Row {
            name: "cache-control",
            kind: Kind::Form {
                shape: "TEXT",
                set: |settings, text| {
                    if text.trim().is_empty() {
                        return Err("write the value of the field, as no-store or max-age=3600".to_owned());
                    }
                    put_field(&format!("Cache-Control={text}"))
                        .map(|(_, value)| settings.as_mut().cache_control = Some(value))
                },
            },
            example: "max-age=31536000, immutable",
            help: "Cache-Control field of answers",
            detail: "It replaces the application's own field. For files alone there is `static-cache-control`.",
            ..Self::ROW
        },
        Row {
            name: "intercept-errors",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().intercept_errors = on },
            default: "off",
            example: "on",
            help: "error-pages for errors of applications, too",
            detail: "Off, the application's answers stay as they are. On, if `error-pages` has a page for the status \
                     of such an answer, that page becomes its body. The fields of the answer stay, except fields \
                     about the body, such as `Content-Type` and `ETag`.",
            ..Self::ROW
        },
        Row {
            name: "x-sendfile",
            kind: Kind::Form {
                shape: "DIR",
                set: |settings, text| match text {
                    "" => Err("write off, or a folder".to_owned()),
                    "off" => {
                        settings.as_mut().x_sendfile = None;
                        Ok(())
                    }
                    folder => {
                        settings.as_mut().x_sendfile = Some(folder.into());
                        Ok(())
                    }
                },
            },
            default: "off",
            example: "/srv/shop/downloads",
            help: "folder of files that applications may send",
            detail: "If an answer has the field `X-Sendfile`, its body is the file that the field names, as if the \
                     client had asked for that file: ranges and conditions apply, and the kernel sends it. The path \
                     is absolute, or relative to this folder, and not escaped; it must lie beneath the folder. The \
                     application's fields stay, except fields about the body that the file has of its own, such as \
                     `ETag`; `X-Sendfile` itself never reaches a client. Files that `static` never serves are not \
                     sent, either.",
            ..Self::ROW
        },
        Row {
            name: "internal-redirects",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().internal_redirects = on },
            default: "off",
            example: "on",
            help: "let applications choose another route",
            detail: "If an application answers with `X-Accel-Redirect: /path`, or, as in CGI, with status 200 and \
                     `Location: /path`, the route of that path in the same site answers in its place, as for a GET \
                     without a body. At most ten such redirects may follow each other. The rules of that route apply \
                     to the request, too. The fields of the application's answer stay, as with `x-sendfile`.",
            ..Self::ROW
        },
    ];
}

/// Reads `NAME=VALUE`, a field that an answer may be given.
fn put_field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, or a table of them")?;
    HeadEdits::default().add(name, value)?;
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Reads the name of a field that may be taken out of an answer.
fn changed_field(name: &str) -> Result<String, String> {
    HeadEdits::default().remove(name)?;
    Ok(name.to_owned())
}
