//! `adyton import`: reads a configuration and what it includes from the disk, and writes the file of sites.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use adyton_cli::Import;
use adyton_import::{Found, Kind, Loss, import as import_text, matches};
use adyton_sys::stdio;

/// The largest file that is read: a larger one is no configuration.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The largest number of paths that a pattern may match at any of its components.
const PATHS_MAX: usize = 100_000;

/// Runs the command. The exit status is 2 if the file is no configuration that can be read, and 1 if nothing is written
/// for another reason, such as restrictions that would be lost.
pub(crate) fn import(order: &Import) -> u8 {
    match make(order) {
        Ok(status) => status,
        Err((why, status)) => {
            eprintln!("adyton import: {why}");
            status
        }
    }
}

fn make(order: &Import) -> Result<u8, (String, u8)> {
    let file = Path::new(&order.file);
    let text = read(file).map_err(|why| (format!("{}: {why}", order.file), 2))?;
    let kind = kind(order, &text).map_err(|why| (why, 2))?;
    if let Some(output) =
        order.output.as_deref().filter(|output| !order.replace && Path::new(output).exists())
    {
        return Err((format!("{output} is there already; --replace writes over it"), 1));
    }
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut include = |pattern: &str| find(&folder, pattern);
    let made =
        import_text(kind, &order.file, &text, &mut include).map_err(|mistake| (mistake.to_string(), 2))?;
    tell(&made.losses);
    if made.opens() && !order.accept_losses {
        let why = "restrictions would be lost, so nothing was written; with --accept-losses their routes refuse everybody";
        return Err((why.to_owned(), 1));
    }
    match &order.output {
        None => stdio::print(&made.text).map_err(|error| (error.to_string(), 1))?,
        Some(output) => write(Path::new(output), order.replace, &made.text)
            .map_err(|error| (format!("{output}: {error}"), 1))?,
    }
    Ok(0)
}

fn kind(order: &Import, text: &str) -> Result<Kind, String> {
    match &order.from {
        Some(name) => Kind::named(name).ok_or_else(|| format!("--from {name}: choose {}", Kind::names())),
        None => Kind::detect(&order.file, text).ok_or_else(|| {
            format!(
                "{}: it cannot be told which server this configuration is for; say --from {}",
                order.file,
                Kind::names()
            )
        }),
    }
}

fn tell(losses: &[Loss]) {
    for loss in losses {
        let mark = if loss.opens { "restriction lost: " } else { "" };
        eprintln!("adyton import: {mark}{loss}");
    }
}

/// Writes a new file. Without `replace`, a file that appears meanwhile is kept.
fn write(path: &Path, replace: bool, text: &str) -> std::io::Result<()> {
    if replace {
        return fs::write(path, text);
    }
    fs::File::create_new(path)?.write_all(text.as_bytes())
}

fn read(path: &Path) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("this is no file".to_owned());
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(format!("a configuration has at most {} MiB", FILE_BYTES_MAX >> 20));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    // Bytes that are not UTF-8 are mostly in a comment.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files of a pattern, in the order of their names. As in Apache, a folder stands for all its files, and `**` for
/// folders at any depth.
fn find(folder: &Path, pattern: &str) -> Result<Vec<Found>, String> {
    let mut paths = vec![PathBuf::new()];
    for part in folder.join(pattern).components() {
        let name = part.as_os_str().to_string_lossy();
        let is_pattern = matches!(part, Component::Normal(_)) && name.contains(['*', '?', '[']);
        if paths.len() > PATHS_MAX {
            return Err(format!("there are more than {PATHS_MAX} places to look at"));
        }
        paths = if name == "**" {
            beneath(paths)?
        } else if is_pattern {
            paths.iter().flat_map(|path| entries(path, &name)).collect()
        } else {
            paths.into_iter().map(|path| path.join(part)).collect()
        };
    }
    let mut found = Vec::new();
    for path in paths.into_iter().filter(|path| path.exists()) {
        let inside = if path.is_dir() { entries(&path, "*") } else { vec![path] };
        for file in inside.into_iter().filter(|file| file.is_file()) {
            let text = read(&file).map_err(|why| format!("{}: {why}", file.display()))?;
            found.push(Found { name: file.display().to_string(), text });
        }
    }
    Ok(found)
}

/// Returns `folders`, and all folders in them at any depth. Folders whose names begin with a dot are left out, because
/// they are never served, except `.well-known`.
///
/// # Errors
///
/// There are more folders than anybody means to serve, or a symbolic link leads to a folder that contains the link, so
/// that the search would not end.
fn beneath(folders: Vec<PathBuf>) -> Result<Vec<PathBuf>, String> {
    let mut found = folders;
    let mut at = 0;
    while let Some(folder) = found.get(at).cloned() {
        at += 1;
        let inside = entries(&folder, "*").into_iter().chain([folder.join(".well-known")]);
        for path in inside.filter(|path| path.is_dir()) {
            if path.is_symlink() && leads_back(&path, &folder) {
                return Err(format!("{} is a link to a folder around it", path.display()));
            }
            found.push(path);
        }
        if found.len() > PATHS_MAX {
            return Err(format!("there are more than {PATHS_MAX} folders to look at"));
        }
    }
    Ok(found)
}

/// Whether a symbolic link in a folder leads to that folder, or to a folder that contains it.
fn leads_back(link: &Path, folder: &Path) -> bool {
    let (Ok(target), Ok(folder)) = (link.canonicalize(), folder.canonicalize()) else { return true };
    folder.starts_with(target)
}

fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let all = fs::read_dir(shown).into_iter().flatten().flatten();
    let names = all.filter_map(|entry| entry.file_name().into_string().ok());
    let mut fitting: Vec<PathBuf> =
        names.filter(|name| matches(pattern, name)).map(|name| folder.join(name)).collect();
    fitting.sort();
    fitting
}
