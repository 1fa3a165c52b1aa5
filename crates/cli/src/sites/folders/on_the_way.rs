//! The files of settings in the folders on the way to a path, as they are on the disk now.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::settings::typed::{Settings, SiteAction, SiteRoute};
use crate::sites::folders::own::read_folder;
use crate::sites::folders::runs::FolderRuns;

/// Limit of a folder's file: a larger one is not read.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Returns lines about the files of settings that apply to a path beneath the path of a route of files, the outermost
/// first, and whether they have files run.
pub(crate) fn told(route: &SiteRoute, rest: &[u8]) -> Vec<String> {
    let SiteAction::Files(folder) = &route.action else { return Vec::new() };
    let settings = &route.settings;
    let top = settings.place(folder);
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    let ends = rest.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let levels = std::iter::once(0).chain(ends).chain(std::iter::once(rest.len()));
    let mut lines = Vec::new();
    let mut before = None;
    for level in levels.map(|end| &rest[..end]) {
        let is_folder = top.join(OsStr::from_bytes(level)).is_dir();
        if before.replace(level) == Some(level) || !is_folder {
            continue;
        }
        let is_there =
            |name: &String| top.join(OsStr::from_bytes(level)).join(name).symlink_metadata().is_ok();
        let own = Some(".adyton.toml".to_owned()).filter(|_| !settings.files.may_set.is_empty());
        let apache = settings.names_of_htaccess().into_iter().filter(|_| !settings.files.htaccess.is_empty());
        for name in own.into_iter().chain(apache.filter(is_there).take(1)) {
            let shown = Path::new(OsStr::from_bytes(level)).join(name);
            if let Some(what) = said(&top.join(&shown), settings) {
                // The dots of `files = "."` are left out.
                let shown: PathBuf = folder.join(&shown).components().collect();
                lines.push(format!("       as {} says{what}\n", shown.display()));
            }
        }
    }
    lines
}

/// Returns the line about a file of settings; `None` if there is no such file.
fn said(file: &Path, settings: &Settings) -> Option<String> {
    let meta = file.symlink_metadata().ok()?;
    if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        return Some(", which is wrong, so it is answered 500".to_owned());
    }
    if file.file_name().is_none_or(|name| name != ".adyton.toml") {
        return Some(String::new());
    }
    let text = std::fs::read_to_string(file).ok()?;
    let runs = match read_folder(file, &text, settings.files.may_set) {
        Ok(folder) => folder.runs,
        Err(_) => return Some(", which is wrong, so it is answered 500".to_owned()),
    };
    Some(shown(&runs))
}

/// Returns the settings about files that are run, or that answer for folders, as a folder writes them.
fn shown(runs: &FolderRuns) -> String {
    let FolderRuns { cgi, interpreters, scripts, index } = runs;
    let mut all = Vec::new();
    match cgi {
        Some(true) => all.push("programs are run".to_owned()),
        Some(false) => all.push("no program is run".to_owned()),
        None => {}
    }
    all.extend(interpreters.iter().map(|(end, program)| format!("*{end} is run by {}", program.display())));
    match scripts {
        Some(true) => all.push("Python files are pages".to_owned()),
        Some(false) => all.push("no Python file is a page".to_owned()),
        None => {}
    }
    match index.as_deref() {
        Some([]) => all.push("no file answers for a folder".to_owned()),
        Some(names) => all.push(format!("the first of {} answers for a folder", names.join(", "))),
        None => {}
    }
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}
