//! The application that is served, and its environment.

use std::path::PathBuf;

use crate::settings::row::{Has, Kind, Row, Scope, Section};

/// The application, and its environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field's documentation is the help of the row with its name")]
pub struct Application {
    pub interface: Interface,
    pub factory: bool,
    pub chdir: Option<PathBuf>,
    pub python_path: Vec<PathBuf>,
    pub env: Vec<(String, String)>,
}

impl<S: Has<Application>> Section<S> for Application {
    const HEADING: &'static str = "Application";

    const ROWS: &'static [Row<S>] = &[
        Row {
            name: "interface",
            kind: Kind::Choice {
                words: &["auto", "wsgi", "handler"],
                set: |settings, index| {
                    settings.as_mut().interface =
                        [Interface::Auto, Interface::Wsgi, Interface::Handler][index];
                },
            },
            default: "auto",
            example: "wsgi",
            help: "how the application is called",
            detail: "`wsgi` calls `application(environ, start_response)` as in PEP 3333, `handler` calls \
                     `handler(request)`; `auto` detects which of them the target is.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "factory",
            kind: Kind::Switch { set: |settings, on| settings.as_mut().factory = on },
            default: "off",
            example: "on",
            help: "call the target, and serve its result",
            detail: "For applications that are made by a function without arguments, as `create_app` in Flask.",
            scope: Scope::Route,
            ..Self::ROW
        },
        Row {
            name: "chdir",
            kind: Kind::Path {
                shape: "DIR",
                // The path is made absolute here: a process may be in another folder by the time that it changes to
                // this one.
                set: |settings, path| {
                    settings.as_mut().chdir = Some(std::path::absolute(&path).unwrap_or(path));
                },
            },
            example: "/",
            help: "folder that the server changes to at its start",
            detail: "The server changes to it before anything is imported or opened: every other relative path, the \
                     target included, is relative to it.",
            ..Self::ROW
        },
        Row {
            name: "python-path",
            kind: Kind::Path { shape: "DIR", set: |settings, path| settings.as_mut().python_path.push(path) },
            example: "lib",
            repeatable: true,
            help: "folder to import from, before all others",
            detail: "The folder is put in front of `sys.path`; several folders are put there in the order given. The \
                     current folder and the folder of a `file.py` target are always in `sys.path`.",
            ..Self::ROW
        },
        Row {
            name: "env",
            short: Some('e'),
            kind: Kind::Form {
                shape: "NAME=VALUE",
                set: |settings, text| variable(text).map(|pair| settings.as_mut().env.push(pair)),
            },
            example: "DJANGO_SETTINGS_MODULE=mysite.settings",
            repeatable: true,
            help: "variable for the application's environment",
            detail: "Set in `os.environ` before the application is imported; it replaces a variable of the same name.",
            ..Self::ROW
        },
    ];
}

/// The kind of the target's application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Interface {
    /// Detected when the application is loaded.
    #[default]
    Auto,
    /// PEP 3333.
    Wsgi,
    /// `handler(request)`.
    Handler,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}
