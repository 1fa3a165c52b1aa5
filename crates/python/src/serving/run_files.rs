//! The files that settings have run: none of them may be sent as an error page.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use adyton_cli::Settings;
use adyton_files::Sources;
use adyton_route::PathPattern;
use adyton_server::Folders;

use super::folders::{RouteFolder, speaking};

/// The files that a site runs.
pub(super) struct RunFiles {
    /// Files that the site's routes run.
    sources: Vec<Sources>,
    /// Folders that may have files run, without links in their paths.
    folders: Vec<(PathBuf, Folders)>,
}

impl RunFiles {
    /// The files that a site runs, by the files that its routes run and by its folders of files, each with its
    /// settings.
    pub(super) fn of<'s>(
        sources: Vec<Sources>,
        folders: impl Iterator<Item = (PathBuf, &'s Settings)>,
    ) -> RunFiles {
        let everything = PathPattern::Prefix(Box::default());
        let opened =
            folders.filter(|(_, settings)| settings.lets_folders_run()).filter_map(|(place, settings)| {
                // An absent folder has no page.
                let place = settings.place(&place).canonicalize().ok()?;
                let folder = RouteFolder { number: 0, place: &place, url: &everything, settings };
                // Serving the folder reports its mistakes.
                let folders = speaking(folder, &sources).ok()??;
                Some((place, folders))
            });
        let folders = opened.collect();
        RunFiles { sources, folders }
    }

    /// Whether a file is run, and not sent.
    pub(super) fn have(&self, file: &Path) -> bool {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let Ok(resolved) = absolute.canonicalize() else { return false };
        let is_run = |(folder, rules): &(PathBuf, Folders)| {
            let beneath = resolved.strip_prefix(folder);
            beneath.is_ok_and(|path| rules.run_file(path.as_os_str().as_bytes()))
        };
        Sources::have(&self.sources, &absolute) || self.folders.iter().any(is_run)
    }
}
