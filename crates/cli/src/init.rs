//! `adyton init`: a first file of sites for what a folder has in it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// What the file is called.
pub(crate) const FILE: &str = "site.toml";

/// Files that usually hold an application, the likeliest first.
const MODULES: [&str; 6] = ["wsgi", "app", "application", "main", "server", "api"];

/// Names that applications usually have in them.
const NAMES: [&str; 3] = ["application", "app", "handler"];

/// Functions that usually make one.
const FACTORIES: [&str; 2] = ["create_app", "make_app"];

/// Folders of files that are usually served beneath a path of their own: the folder, and the path.
const ASSETS: [(&str, &str); 4] =
    [("staticfiles", "/static/"), ("static", "/static/"), ("assets", "/assets/"), ("media", "/media/")];

/// Folders that usually hold a whole site of files.
const SITES: [&str; 7] = ["public", "dist", "build", "site", "_site", "www", "htdocs"];

/// No source is read further than this: what makes an application stands on the outermost level, mostly early.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// What a folder has that can be served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// What it seems to be, for the file's first lines.
    what: String,
    /// The application, and whether it is made by calling what is named.
    app: Option<(String, bool)>,
    /// Folders of files, and their paths.
    files: Vec<(String, String)>,
    /// Whether the file of sites lies in what is served.
    shows_file: bool,
}

/// The text of a first file of sites for a folder.
///
/// # Errors
///
/// The folder cannot be read.
pub(crate) fn first_file(folder: &Path) -> Result<String, Failure> {
    fs::read_dir(folder).map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    Ok(text(&look(folder)))
}

/// Looks what there is.
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
    if let Some(project) = django(folder) {
        let (what, app) =
            ("a Django project".to_owned(), Some((format!("{project}.wsgi:application"), false)));
        return Found { what, app, files: assets(folder), shows_file: false };
    }
    for module in MODULES {
        let source = source(&folder.join(format!("{module}.py")));
        if let Some((name, is_factory)) = source.as_deref().and_then(application) {
            let (what, app) =
                (format!("an application in {module}.py"), Some((format!("{module}:{name}"), is_factory)));
            return Found { what, app, files: assets(folder), shows_file: false };
        }
    }
    let has_page = |name: &&str| folder.join(name).join("index.html").is_file();
    let site = SITES.into_iter().find(has_page);
    if site.is_some() || folder.join("index.html").is_file() {
        let place = site.unwrap_or(".");
        let what = format!("a site of files in {}", if place == "." { "this folder" } else { place });
        let files = vec![(place.to_owned(), "/".to_owned())];
        return Found { what, app: None, files, shows_file: place == "." };
    }
    Found { what: "nothing that it knows".to_owned(), ..Found::default() }
}

/// The package of a Django project.
fn django(folder: &Path) -> Option<String> {
    source(&folder.join("manage.py")).filter(|text| text.contains("DJANGO_SETTINGS_MODULE"))?;
    let entries = fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter().find(|name| folder.join(name).join("wsgi.py").is_file())
}

/// The beginning of a source.
fn source(file: &Path) -> Option<String> {
    let bytes = fs::read(file).ok()?;
    Some(String::from_utf8_lossy(&bytes[..bytes.len().min(SOURCE_BYTES_MAX)]).into_owned())
}

/// The name of the application that a source makes on its outermost level, and whether that is a function which makes it.
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

/// The file, with a comment for each thing that one may want to change.
fn text(found: &Found) -> String {
    let mut text = format!("# A file of sites, made by `adyton init`, which has found {}.\n#\n", found.what);
    text.push_str(HEAD);
    if let Some((app, is_factory)) = &found.app {
        let _ = write!(
            text,
            "\n# The application, for all paths that no other route has.\n[[sites.routes]]\napp = {app:?}\n"
        );
        if *is_factory {
            text.push_str("factory = true  # it is called, and returns the application\n");
        }
    }
    for (folder, path) in &found.files {
        let _ = write!(
            text,
            "\n# Files, which the server answers without the application.\n[[sites.routes]]\npath = {path:?}\nfiles = {folder:?}\n"
        );
        text.push_str(CACHE);
    }
    if found.shows_file {
        let _ = write!(
            text,
            "\n# This file lies in the folder that is served, and is nobody's business.\n[[sites.routes]]\npath = \"/{FILE}\"\nrespond = 404\n"
        );
    }
    if found.app.is_none() && found.files.is_empty() {
        text.push_str(EMPTY);
    }
    text.push_str(MORE);
    text
}

const HEAD: &str = r#"#   adyton check site.toml               all that is wrong with it, or what it says
#   adyton route site.toml GET /a        which route answers, and why
#   adyton serve site.toml

[server]
bind = ["127.0.0.1:8000"]                # "0.0.0.0:80": for everybody
# processes = 4                          # one for each core, and some
# threads = 8                            # calls of the application at once, in each process
# user = "www-data"                      # that the workers become, if the server is started by root
# access-log = "access.log"

[[sites]]
# hosts = ["example.org", "*.example.org"]   # other sites follow as [[sites]] with hosts of their own
"#;

const CACHE: &str = "# cache-control = \"max-age=3600\"\n";

const EMPTY: &str = r#"
# There is neither a Django project, nor an application in wsgi.py or app.py, nor a folder with an index.html.
# Until you say what is to be served, this is:
[[sites.routes]]
respond = 200
body = "Adyton is here.\n"
"#;

const MORE: &str = r#"
# A folder for those who have a password (`htpasswd -B -c .htpasswd NAME` makes the file, which is never served):
# [[sites.routes]]
# path = "/private/"
# files = "private"
# auth = "basic:.htpasswd"

# Another place:
# [[sites.routes]]
# path = "/old/"
# redirect = "/new{rest}{query}"
"#;

#[cfg(test)]
mod tests {
    use super::application;

    /// What is on the outermost level and has a usual name, names before factories.
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
}
