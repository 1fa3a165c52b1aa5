//! The files of a Django project, found by reading its settings without running them.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A Django project in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Project {
    /// The package with `wsgi.py`.
    pub(super) package: String,
    /// The file of its settings, beneath the folder; `None` if none can be read.
    pub(super) settings: Option<PathBuf>,
    pub(super) statics: Place,
    pub(super) media: Place,
}

/// Where files of one kind are, and the path under which they are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) url: Said,
    pub(crate) root: Said,
}

/// The value of a name in the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Said {
    /// None: the name is not assigned.
    #[default]
    Nothing,
    /// This text, or this path.
    Text(String),
    /// An expression whose value is only known when it is run.
    Computed,
}

/// Limit of a source: no more of it is read.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Limit of settings files that are read one after the other, because each imports everything from the next.
const STARS_MAX: usize = 4;

/// Looks for a project in a folder.
pub(super) fn project(folder: &Path) -> Option<Project> {
    let manage = source(&folder.join("manage.py")).filter(|text| text.contains(VARIABLE))?;
    let entries = fs::read_dir(folder).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let package = names.into_iter().find(|name| folder.join(name).join("wsgi.py").is_file())?;
    let wsgi = source(&folder.join(&package).join("wsgi.py")).unwrap_or_default();
    // The server reads `wsgi.py`; `manage.py` is often for development.
    let module = named(&wsgi).or_else(|| named(&manage));
    let file = module.as_deref().and_then(|module| file_of(folder, module));
    let mut found = Project { package, settings: None, ..Project::default() };
    if let Some(file) = file {
        let mut names = Names::default();
        names.read(&file, STARS_MAX);
        let place = |url: &str, root: &str| Place { url: names.said(url), root: names.said(root) };
        (found.statics, found.media) = (place("STATIC_URL", "STATIC_ROOT"), place("MEDIA_URL", "MEDIA_ROOT"));
        found.settings = file.strip_prefix(folder).ok().map(Path::to_owned);
    }
    Some(found)
}

const VARIABLE: &str = "DJANGO_SETTINGS_MODULE";

/// Returns the module that a source names as the settings.
fn named(source: &str) -> Option<String> {
    let rest = source.split(VARIABLE).nth(1)?;
    let rest = rest.trim_start_matches(['"', '\'', ']', ' ', ',', '=', '\n', '\r', '\t', ')']);
    let end = rest.find(['"', '\''])?;
    let module = &rest[..end];
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!module.is_empty() && module.split('.').all(|part| !part.is_empty() && is_plain(part)))
        .then(|| module.to_owned())
}

/// Returns the file of a module, in this folder.
fn file_of(folder: &Path, module: &str) -> Option<PathBuf> {
    let place = module.split('.').fold(folder.to_owned(), |place, part| place.join(part));
    let candidates = [place.with_extension("py"), place.join("__init__.py")];
    candidates.into_iter().find(|file| file.is_file())
}

/// Returns the beginning of a source.
fn source(file: &Path) -> Option<String> {
    let bytes = fs::read(file).ok()?;
    Some(String::from_utf8_lossy(&bytes[..bytes.len().min(SOURCE_BYTES_MAX)]).into_owned())
}

/// Names that are assigned on the outermost level, each with its last value.
#[derive(Debug, Default)]
struct Names {
    all: Vec<(String, Value)>,
}

/// The value of an expression, as far as it is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    Path(PathBuf),
    Unknown,
}

impl Names {
    /// Reads a file, and the files from which it imports everything.
    fn read(&mut self, file: &Path, stars: usize) {
        let Some(text) = source(file) else { return };
        for statement in statements(&text) {
            let star = statement.strip_prefix("from .").and_then(|rest| rest.strip_suffix(" import *"));
            if let Some(module) = star.filter(|_| stars > 0) {
                let beside = file.parent().and_then(|folder| file_of(folder, module.trim()));
                if let Some(beside) = beside {
                    self.read(&beside, stars - 1);
                }
                continue;
            }
            let Some((name, expression)) = assignment(&statement) else { continue };
            let value = self.value(expression, file);
            self.all.push((name.to_owned(), value));
        }
    }

    fn find(&self, name: &str) -> Option<&Value> {
        self.all.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn said(&self, name: &str) -> Said {
        match self.find(name) {
            None => Said::Nothing,
            Some(Value::Text(text)) => Said::Text(text.clone()),
            Some(Value::Path(path)) => Said::Text(path.display().to_string()),
            Some(Value::Unknown) => Said::Computed,
        }
    }

    /// Evaluates an expression of a file: texts, paths of them, and the usual forms of `BASE_DIR`.
    fn value(&self, expression: &str, file: &Path) -> Value {
        let expression = expression.trim();
        if let Some(text) = literal(expression) {
            return Value::Text(text);
        }
        if let Some(parents) = own_folder(expression) {
            let place = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            return place
                .ancestors()
                .nth(parents)
                .map_or(Value::Unknown, |path| Value::Path(path.to_owned()));
        }
        if let Some(inside) =
            call(expression, &["str", "Path", "pathlib.Path", "os.fspath", "os.path.abspath"])
        {
            return self.value(inside, file);
        }
        if let Some(inside) = call(expression, &["os.path.join", "path.join", "join"]) {
            return self.joined(&split(inside, ','), file);
        }
        let parts = split(expression, '/');
        if parts.len() > 1 {
            return self.joined(&parts, file);
        }
        self.find(expression).cloned().unwrap_or(Value::Unknown)
    }

    fn joined(&self, parts: &[&str], file: &Path) -> Value {
        let mut place = PathBuf::new();
        for part in parts.iter().filter(|part| !part.trim().is_empty()) {
            match self.value(part, file) {
                Value::Text(text) => place.push(text),
                Value::Path(path) => place.push(path),
                Value::Unknown => return Value::Unknown,
            }
        }
        Value::Path(place)
    }
}

/// Returns the statements of the outermost level, each on one line, without comments and texts of several lines.
fn statements(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut depth, mut is_text) = (0_i32, false);
    for line in text.lines() {
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        let was_text = is_text;
        is_text ^= quotes % 2 == 1;
        if was_text || is_text {
            continue;
        }
        let (code, brackets) = code_of(line);
        let is_inside = depth > 0;
        depth = (depth + brackets).max(0);
        match all.last_mut() {
            Some(before) if is_inside => before.push_str(code.trim()),
            _ if code.starts_with([' ', '\t']) || code.trim().is_empty() => {}
            _ => all.push(code.trim_end().to_owned()),
        }
    }
    all
}

/// Returns a line without its comment, and how many more brackets it opens than it closes.
fn code_of(line: &str) -> (&str, i32) {
    let (mut quote, mut brackets) = (None, 0);
    for (at, sign) in line.char_indices() {
        match (quote, sign) {
            (None, '#') => return (&line[..at], brackets),
            (None, '"' | '\'') => quote = Some(sign),
            (None, '(' | '[' | '{') => brackets += 1,
            (None, ')' | ']' | '}') => brackets -= 1,
            (Some(open), _) if open == sign => quote = None,
            _ => {}
        }
    }
    (line, brackets)
}

/// Splits `NAME = EXPRESSION`, perhaps with a type.
fn assignment(statement: &str) -> Option<(&str, &str)> {
    let (target, expression) = statement.split_once('=')?;
    let name = target.split(':').next().unwrap_or_default().trim();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !expression.starts_with('=')).then_some((name, expression))
}

/// Returns the text of a string literal.
fn literal(expression: &str) -> Option<String> {
    let quote = expression.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
    let inside = expression.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inside.contains([quote, '\\', '{'])).then(|| inside.to_owned())
}

/// Takes a path that is written with `__file__`, as `BASE_DIR` is in most projects, and returns how many levels it lies
/// above that file; 0 is the file itself.
fn own_folder(expression: &str) -> Option<usize> {
    let rest: String = expression.chars().filter(|sign| !sign.is_whitespace()).collect();
    if !rest.contains("__file__") {
        return None;
    }
    let (mut rest, mut parents) = (rest, 0);
    for (name, count) in [("os.path.dirname(", 1), ("dirname(", 1)] {
        parents += count * rest.matches(name).count();
        rest = rest.replace(name, "(");
    }
    parents += rest.matches(".parent").count() - rest.matches(".parents[").count();
    if let Some(number) = rest.split(".parents[").nth(1).and_then(|rest| rest.split(']').next()) {
        let number: usize = number.parse().ok()?;
        parents += number + 1;
        rest = rest.replace(&format!(".parents[{number}]"), "");
    }
    for known in [
        "os.path.abspath",
        "os.path.realpath",
        "abspath",
        "realpath",
        "pathlib.Path",
        "Path",
        ".resolve()",
        ".absolute()",
        ".parent",
        "str",
        "__file__",
    ] {
        rest = rest.replace(known, "");
    }
    rest.chars().all(|sign| matches!(sign, '(' | ')')).then_some(parents)
}

/// Returns the arguments of a call of one of these functions.
fn call<'e>(expression: &'e str, names: &[&str]) -> Option<&'e str> {
    let inside =
        names.iter().find_map(|name| expression.strip_prefix(name)?.trim_start().strip_prefix('('))?;
    let inside = inside.strip_suffix(')')?;
    // The last bracket has to be the one that ends the call.
    let mut depth = 0_i32;
    for sign in inside.chars() {
        depth += i32::from(sign == '(') - i32::from(sign == ')');
        if depth < 0 {
            return None;
        }
    }
    Some(inside)
}

/// Splits at signs that stand in no brackets and no quotes.
fn split(expression: &str, between: char) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, sign) in expression.char_indices() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '"' | '\'') => quote = Some(sign),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) if sign == between && depth == 0 => {
                parts.push(&expression[from..at]);
                from = at + sign.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&expression[from..]);
    parts
}

/// Whether a folder holds files that are not for everybody, because it is the project itself or a folder
/// around it.
pub(super) fn holds_project(root: &Path, folder: &Path, package: &str) -> bool {
    let absolute =
        |path: &Path| std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| plain(&path));
    let (root, folder) = (absolute(&folder.join(root)), absolute(folder));
    folder.starts_with(&root) || folder.join(package).starts_with(&root)
}

/// Returns a path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Names, Path, Said, Value, holds_project, named, statements};

    #[test]
    fn modules() {
        for (text, expected) in [
            ("os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')", Some("shop.settings")),
            ("os.environ[\"DJANGO_SETTINGS_MODULE\"] = \"a.b.c\"", Some("a.b.c")),
            ("os.environ.setdefault(\"DJANGO_SETTINGS_MODULE\",\n    \"shop\")", Some("shop")),
            ("os.environ.setdefault('DJANGO_SETTINGS_MODULE', name)", None),
            ("os.environ.setdefault('DJANGO_SETTINGS_MODULE', '../x')", None),
            ("", None),
        ] {
            assert_eq!(expected.map(str::to_owned), named(text), "{text}");
        }
    }

    /// Usual expressions are understood. An expression that would have to be run is reported as computed, and a name
    /// that is not assigned as absent.
    #[test]
    fn expressions() {
        let file = Path::new("/srv/shop/shop/settings.py");
        let path = |text: &str| Said::Text(text.to_owned());
        for (text, expected) in [
            (
                "BASE_DIR = Path(__file__).resolve().parent.parent\nX = BASE_DIR / 'static'",
                path("/srv/shop/static"),
            ),
            ("X = Path(__file__).resolve().parents[1] / \"a\" / 'b'", path("/srv/shop/a/b")),
            ("B = pathlib.Path(__file__).resolve().parents[1]\nX = B / \"a\" / 'b'", path("/srv/shop/a/b")),
            (
                "B = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\nX = os.path.join(B, 'a', 'b')",
                path("/srv/shop/a/b"),
            ),
            ("B = dirname(abspath(__file__))\nX = str(Path(B) / 'a')", path("/srv/shop/shop/a")),
            ("X = '/var/www/static'  # here", path("/var/www/static")),
            ("X = (\n    'a'\n)", Said::Computed),
            ("X = os.path.join(\n    '/srv',\n    'a',\n)", path("/srv/a")),
            ("X: str = 'a#b'", path("a#b")),
            ("X = 'a'\nX = env('X')", Said::Computed),
            ("X = f'{B}/a'", Said::Computed),
            ("if DEBUG:\n    X = 'a'", Said::Nothing),
            ("Y = 'a'", Said::Nothing),
        ] {
            let mut names = Names::default();
            for statement in statements(text) {
                if let Some((name, expression)) = super::assignment(&statement) {
                    let value = names.value(expression, file);
                    names.all.push((name.to_owned(), value));
                }
            }

            assert_eq!(expected, names.said("X"), "{text}");
        }
        assert_eq!(Value::Unknown, Names::default().value("env('X') / 'a'", file));
    }

    #[test]
    fn the_project_is_not_served() {
        let folder = Path::new("/srv/shop");
        for (root, holds) in [
            ("/srv/shop/static", false),
            ("/srv/shop/shop", true),
            ("/srv/shop", true),
            ("/srv/shop/static/..", true),
            ("/srv", true),
            ("/", true),
            ("", true),
            ("static", false),
            ("/var/www/shop", false),
        ] {
            assert_eq!(holds, holds_project(Path::new(root), folder, "shop"), "{root}");
        }
    }
}
