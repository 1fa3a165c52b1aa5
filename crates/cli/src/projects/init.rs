//! `adyton init`: a first file of sites for the contents of a folder.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::command::failure::Failure;
use crate::command::help::wrapped;
use crate::projects::django::{self, Place, Project, Said};
use crate::settings::row::Scope;
use crate::sites::takes;

/// Name of the file.
pub(crate) const FILE: &str = "site.toml";

/// Files that usually hold an application, the likeliest first.
const MODULES: [&str; 6] = ["wsgi", "app", "application", "main", "server", "api"];

/// Names that applications usually have in them.
const NAMES: [&str; 3] = ["application", "app", "handler"];

/// Functions that usually make an application.
const FACTORIES: [&str; 2] = ["create_app", "make_app"];

/// Folders of files that are usually served beneath a path of their own: the folder, and the path.
const ASSETS: [(&str, &str); 4] =
    [("staticfiles", "/static/"), ("static", "/static/"), ("assets", "/assets/"), ("media", "/media/")];

/// Folders that usually hold a whole site of files.
const SITES: [&str; 7] = ["public", "dist", "build", "site", "_site", "www", "htdocs"];

/// Limit of a source: no more of it is read. Applications are made on the outermost level, mostly early.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// The contents of a folder that can be served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// The kind of the folder, for the file's first lines.
    what: String,
    /// The application, and whether it is named by a function that makes it.
    app: Option<(String, bool)>,
    /// Folders of files, and their paths.
    files: Vec<(String, String)>,
    /// Comments about files for which there is no route.
    notes: Vec<String>,
    /// Whether the file of sites lies in a folder that is served.
    shows_file: bool,
}

/// Returns the text of a first file of sites for a folder.
///
/// # Errors
///
/// The folder cannot be read.
pub(crate) fn first_file(folder: &Path) -> Result<String, Failure> {
    fs::read_dir(folder).map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    Ok(text(&look(folder)))
}

/// Looks for applications and files in a folder.
fn look(folder: &Path) -> Found {
    let assets = |folder: &Path| {
        let mut files: Vec<(String, String)> = Vec::new();
        for (name, path) in ASSETS {
            let is_new = files.iter().all(|(_, other)| other != path);
            if is_new && folder.join(name).is_dir() {
                files.push((name.to_owned(), path.to_owned()));
            }
        }
        files
    };
    if let Some(project) = django::project(folder) {
        return of_django(folder, &project, || assets(folder));
    }
    for module in MODULES {
        let source = source(&folder.join(format!("{module}.py")));
        if let Some((name, is_factory)) = source.as_deref().and_then(application) {
            let (what, app) =
                (format!("an application in {module}.py"), Some((format!("{module}:{name}"), is_factory)));
            return Found { what, app, files: assets(folder), ..Found::default() };
        }
    }
    let has_page = |name: &&str| folder.join(name).join("index.html").is_file();
    let site = SITES.into_iter().find(has_page);
    if site.is_some() || folder.join("index.html").is_file() {
        let place = site.unwrap_or(".");
        let what = format!("a site of files in {}", if place == "." { "this folder" } else { place });
        let files = vec![(place.to_owned(), "/".to_owned())];
        return Found { what, files, shows_file: place == ".", ..Found::default() };
    }
    Found { what: "nothing that it knows".to_owned(), ..Found::default() }
}

/// Returns the parts of a Django project that are served; `guess` finds folders that are usually served.
fn of_django(folder: &Path, project: &Project, guess: impl FnOnce() -> Vec<(String, String)>) -> Found {
    let app = Some((format!("{}.wsgi:application", project.package), false));
    let mut found = Found { what: "a Django project".to_owned(), app, ..Found::default() };
    let Some(settings) = &project.settings else {
        found.files = guess();
        found.notes.push(
            "The settings of the project were not found: compare the folders here with its STATIC_ROOT and MEDIA_ROOT, \
             and their paths with STATIC_URL and MEDIA_URL."
                .to_owned(),
        );
        return found;
    };
    let settings = settings.display().to_string();
    let kinds = [
        FileKind { name: "STATIC", place: &project.statics, usual: Some("static/") },
        FileKind { name: "MEDIA", place: &project.media, usual: None },
    ];
    for kind in kinds {
        match of_kind(folder, project, &kind, &settings) {
            Ok(Some(route)) => found.files.push(route),
            Ok(None) => {}
            Err(note) => found.notes.push(note),
        }
    }
    found
}

/// Files of a Django project that the server sends.
struct FileKind<'p> {
    /// The beginning of the names of its settings.
    name: &'static str,
    /// The values of these settings.
    place: &'p Place,
    /// The URL if the settings name none.
    usual: Option<&'static str>,
}

/// Returns the folder and the path of files of one kind; `None` if the project has no such files.
///
/// # Errors
///
/// A sentence that says why no route is made for them.
fn of_kind(
    folder: &Path,
    project: &Project,
    kind: &FileKind<'_>,
    settings: &str,
) -> Result<Option<(String, String)>, String> {
    let FileKind { name: kind, place, usual } = *kind;
    let url = match (&place.url, usual) {
        (Said::Text(url), _) if url.contains("//") => return Ok(None),
        (Said::Text(url), _) if !url.is_empty() => url.as_str(),
        (Said::Computed, _) => "",
        (Said::Nothing | Said::Text(_), Some(usual)) => usual,
        (Said::Nothing | Said::Text(_), None) => return Ok(None),
    };
    let path = format!("/{}/", url.trim_matches('/'));
    let is_path = !url.is_empty() && path != "//" && takes(Scope::Route, "path", &path).is_ok();
    let root = match &place.root {
        Said::Text(root) if !root.is_empty() => root,
        Said::Computed => {
            return Err(format!("{kind}_ROOT is computed in {settings}, which was not run: {ADD}"));
        }
        Said::Nothing | Said::Text(_) if kind == "STATIC" => {
            return Err(format!(
                "{settings} sets no STATIC_ROOT: set it, have `python manage.py collectstatic` put the files there, and {ADD}"
            ));
        }
        Said::Nothing | Said::Text(_) => return Ok(None),
    };
    if django::holds_project(Path::new(root), folder, &project.package) {
        return Err(format!(
            "{kind}_ROOT in {settings} is {root}, where the project itself lies: choose a folder that has nothing else, and {ADD}"
        ));
    }
    if !is_path {
        return Err(format!("{kind}_URL in {settings} was not understood: {ADD}"));
    }
    let base = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let root = Path::new(root);
    let shown = root.strip_prefix(&base).unwrap_or(root).display().to_string();
    Ok(Some((shown, path)))
}

const ADD: &str = "add a route with path and files";

/// Returns the beginning of a source.
fn source(file: &Path) -> Option<String> {
    let bytes = fs::read(file).ok()?;
    Some(String::from_utf8_lossy(&bytes[..bytes.len().min(SOURCE_BYTES_MAX)]).into_owned())
}

/// Returns the name of the application in a source, assigned on the outermost level, and whether it is the name of a
/// function that makes the application.
fn application(source: &str) -> Option<(&'static str, bool)> {
    let begins = |name: &str, forms: &[&str]| {
        let is_one = |line: &str| {
            forms.iter().any(|form| {
                let rest = line.strip_prefix(form).and_then(|rest| rest.strip_prefix(name));
                let rest = rest.map(str::trim_start);
                rest.is_some_and(|rest| rest.starts_with(['=', '(', ':']) && !rest.starts_with("=="))
            })
        };
        source.lines().any(is_one)
    };
    let named = NAMES.into_iter().find(|name| begins(name, &["", "def ", "class "]));
    let made = || FACTORIES.into_iter().find(|name| begins(name, &["def "]));
    named.map(|name| (name, false)).or_else(|| made().map(|name| (name, true)))
}

/// Returns the text of the file, with a comment for each part that a user may want to change.
fn text(found: &Found) -> String {
    let mut text = format!("# A file of sites, made by `adyton init`, which has found {}.\n#\n", found.what);
    text.push_str(HEAD);
    if let Some((app, is_factory)) = &found.app {
        let _ = write!(
            text,
            "\n# The application, for all paths that no other route has.\n[[sites.routes]]\napp = {app:?}\n"
        );
        if *is_factory {
            text.push_str("factory = true  # the name is that of a function that returns the application\n");
        }
    }
    for (folder, path) in &found.files {
        let _ = write!(
            text,
            "\n# Files, which the server answers without the application.\n[[sites.routes]]\npath = {path:?}\nfiles = {folder:?}\n"
        );
        text.push_str(CACHE);
    }
    for note in &found.notes {
        text.push('\n');
        for line in wrapped(note, NOTE_CHARS_MAX) {
            let _ = writeln!(text, "# {line}");
        }
    }
    if found.shows_file {
        let _ = write!(
            text,
            "\n# This file lies in the folder that is served, and clients must not get it.\n[[sites.routes]]\npath = \"/{FILE}\"\nrespond = 404\n"
        );
    }
    if found.app.is_none() && found.files.is_empty() {
        text.push_str(EMPTY);
    }
    text.push_str(MORE);
    text
}

const HEAD: &str = r#"#   adyton check site.toml               every mistake in this file, or its sites and routes
#   adyton route site.toml GET /a        which route answers, and why
#   adyton serve site.toml

[server]
bind = ["127.0.0.1:8000"]                # "0.0.0.0:80": for clients on other machines, too
# processes = 4                          # worker processes; by default one for each CPU
# threads = 8                            # requests in the application at once, in each process
# user = "www-data"                      # user that the workers become if root starts the server
# access-log = "-"                       # a line for each request; a file must not lie in a folder that is served

[[sites]]
# hosts = ["example.org", "*.example.org"]   # other sites follow as [[sites]] with hosts of their own
"#;

/// Width of comments in the file that is made.
const NOTE_CHARS_MAX: usize = 98;

const CACHE: &str = "# cache-control = \"max-age=3600\"\n";

const EMPTY: &str = r#"
# There is neither a Django project, nor an application in wsgi.py or app.py, nor a folder with an index.html.
# Until you add a route for your application or your files, this text is served:
[[sites.routes]]
respond = 200
body = "Adyton is here.\n"
"#;

const MORE: &str = r#"
# A folder for clients that have a password (`htpasswd -B -c .htpasswd NAME` makes the file, which is never served):
# [[sites.routes]]
# path = "/private/"
# files = "private"
# auth = "basic:.htpasswd"

# Paths that have moved:
# [[sites.routes]]
# path = "/old/"
# redirect = "/new{rest}{query}"
"#;

#[cfg(test)]
mod tests {
    use super::{HEAD, MORE, application};

    /// Assignments on the outermost level with a usual name are found, names before factories.
    #[test]
    fn applications() {
        for (source, expected) in [
            ("application = get_wsgi_application()\n", Some(("application", false))),
            ("app: Flask = Flask(__name__)\n", Some(("app", false))),
            ("def application(environ, start_response):\n", Some(("application", false))),
            ("class app(App):\n", Some(("app", false))),
            ("def handler(request):\n", Some(("handler", false))),
            ("def create_app():\n    app = Flask()\n", Some(("create_app", true))),
            ("def create_app():\n    pass\napp = create_app()\n", Some(("app", false))),
            ("    app = 1\n", None),
            ("app == 1\n", None),
            ("application_name = 1\n", None),
            ("import app\n", None),
            ("", None),
        ] {
            assert_eq!(expected, application(source), "{source}");
        }
    }

    /// Each key of the examples in comments has a line of its own, which works when its mark is taken away.
    #[test]
    fn examples() {
        let is_example = |text: &str, line: &str| text.lines().any(|other| other.starts_with(line));
        for line in ["# processes = ", "# threads = ", "# user = ", "# access-log = ", "# hosts = "] {
            assert!(is_example(HEAD, line), "{line}");
        }
        for line in ["# [[sites.routes]]", "# path = ", "# files = ", "# auth = ", "# redirect = "] {
            assert!(is_example(MORE, line), "{line}");
        }
    }
}
