//! The meaning of `TARGET`: a module, a file of Python, or a folder of files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::nearest::nearest;

/// The target of `adyton serve`. Paths are as typed: relative ones are relative to `--chdir`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `package.module` or `package.module:attribute`, found by Python's import.
    Module {
        /// The dotted name.
        module: String,
        /// The dotted name inside it; `None`: whatever the module offers.
        attribute: Option<String>,
    },
    /// `hello.py` or `hello.py:attribute`; `.wsgi` too.
    File {
        /// The file, which exists.
        path: PathBuf,
        /// The dotted name inside it; `None`: whatever the file offers.
        attribute: Option<String>,
    },
    /// A folder of files.
    Folder(PathBuf),
    /// A folder of scripts, each of them an application. Only a route of a file of sites names such a folder.
    Scripts(Scripts),
}

/// A folder of scripts of Python, each of them an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scripts {
    /// The folder.
    pub folder: PathBuf,
    /// The script that answers for a folder.
    pub index: String,
    /// Whether symbolic links that stay in the folder are followed.
    pub follow_symlinks: bool,
    /// Patterns of the scripts that are loaded before a worker serves: paths in the folder, in which `*` stands for
    /// anything.
    pub preload: Vec<String>,
    /// Whether a folder has to say which of its files are scripts; if not, all of them are.
    pub is_asked_for: bool,
}

impl Target {
    /// Decides what `text` is, by its form and by what exists beneath `base`.
    ///
    /// A bare name may be a folder or a module. If there is a package or a file of that name, it is the module that
    /// Python would import, so that sources are not served by accident; `./name` is always the folder.
    ///
    /// # Errors
    ///
    /// One sentence that says what is missing or malformed.
    pub fn find(text: &str, base: &Path) -> Result<Target, String> {
        if text.is_empty() {
            return Err("the target is empty".to_owned());
        }
        if base.join(text).is_dir() && !is_importable(text, base) {
            return Ok(Target::Folder(text.into()));
        }
        let (place, attribute) = match text.split_once(':') {
            Some((place, attribute)) => (place, Some(checked(attribute, text)?)),
            None => (text, None),
        };
        let path = base.join(place);
        // `mysite.wsgi` is mostly a module; `hello.py` never is one.
        if is_dotted_name(place)
            && !has_extension(place, "py")
            && (!path.is_file() || is_importable(place, base))
        {
            return Ok(Target::Module { module: place.to_owned(), attribute });
        }
        if !path.is_file() {
            return Err(missing(place, base));
        }
        if has_extension(place, "py") || has_extension(place, "wsgi") {
            return Ok(Target::File { path: place.into(), attribute });
        }
        let message =
            format!("{place} is not a file of Python; to serve files as they are, give their folder");
        Err(message)
    }
}

impl Target {
    /// Returns the target that `text` names, judged by its form alone: another process looks for the
    /// application.
    pub(crate) fn unseen(text: &str) -> Target {
        let (place, attribute) = match text.split_once(':') {
            Some((place, attribute)) => (place, Some(attribute.to_owned())),
            None => (text, None),
        };
        if is_dotted_name(place) && !has_extension(place, "py") {
            Target::Module { module: place.to_owned(), attribute }
        } else {
            Target::File { path: place.into(), attribute }
        }
    }
}

/// Checks that an attribute is a dotted name inside a module, as Python would look it up.
fn checked(attribute: &str, text: &str) -> Result<String, String> {
    if is_dotted_name(attribute) {
        return Ok(attribute.to_owned());
    }
    let message = match attribute.strip_suffix("()") {
        Some(factory) if is_dotted_name(factory) => {
            format!("{text}: to call {factory} and serve what it returns, leave out () and add --factory")
        }
        _ => format!("{text}: behind the colon stands the name of the application, as in module:application"),
    };
    Err(message)
}

/// Returns the sentence about a path that does not exist, with the nearest name beside it.
fn missing(place: &str, base: &Path) -> String {
    if let Some(why) = barred(&base.join(place)) {
        return format!("{place} cannot be looked at: {why}");
    }
    let folder =
        if base == Path::new(".") { "the current folder".into() } else { base.display().to_string() };
    let hint = did_you_mean(Path::new(place), base);
    format!("there is no {place} in {folder}{hint}")
}

/// Returns the error if it cannot be known whether this path exists, because a folder above may not be
/// entered.
pub(crate) fn barred(path: &Path) -> Option<io::Error> {
    fs::metadata(path).err().filter(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns the end of a sentence about a missing path: its existing neighbour with the nearest name, if there is one.
pub(crate) fn did_you_mean(place: &Path, base: &Path) -> String {
    let near = nearest_path(place, base);
    near.map_or(String::new(), |near| format!("; did you mean {}?", near.display()))
}

/// Whether nothing exists at a path; a dangling link counts as nothing.
pub(crate) fn is_absent(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the sentence about a folder of a setting, relative to `base`, that does not exist.
pub(crate) fn missing_folder(name: &str, folder: &Path, base: &Path) -> String {
    if let Some(why) = barred(&base.join(folder)) {
        return format!("{name}: {} cannot be looked at: {why}", folder.display());
    }
    let hint = did_you_mean(folder, base);
    format!("{name}: there is no folder {}{hint}", folder.display())
}

/// Returns the sentence about a page that exists in none of the folders; `None` if it may exist.
pub(crate) fn look_for_page(name: &str, page: &str, folders: &[PathBuf]) -> Option<String> {
    let may_be_there = |folder: &PathBuf| folder.join(page).is_file() || is_absent(folder);
    if folders.is_empty() || folders.iter().any(may_be_there) {
        return None;
    }
    let hint = did_you_mean(Path::new(page), &folders[0]);
    Some(format!("{name}: there is no {page} in a folder that is served{hint}"))
}

fn nearest_path(place: &Path, base: &Path) -> Option<PathBuf> {
    let wanted = place.file_name()?.to_str()?;
    let folder = place.parent()?;
    let entries = fs::read_dir(base.join(folder)).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // The wanted path may exist and be the wrong thing, a file instead of a folder.
    names.retain(|name| name != wanted);
    Some(folder.join(nearest(wanted, names.iter().map(String::as_str))?))
}

fn has_extension(place: &str, wanted: &str) -> bool {
    Path::new(place).extension().is_some_and(|extension| extension == wanted)
}

/// Whether Python imports the name: it finds a regular package before a module, and both before a folder that is
/// neither.
fn is_importable(place: &str, base: &Path) -> bool {
    if !is_dotted_name(place) {
        return false;
    }
    let path = place.replace('.', "/");
    base.join(&path).join("__init__.py").is_file() || base.join(path + ".py").is_file()
}

fn is_dotted_name(text: &str) -> bool {
    text.split('.').all(|part| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}
