//! Files that are run, as far as that is known when settings are read: none of them is a page for an error.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use adyton_cli::Settings;
use adyton_files::Sources;
use adyton_route::PathPattern;
use adyton_server::Folders;

use super::folders::speaking;

/// The ways of the files of a site.
pub(super) struct Ways {
    /// Files that its routes run.
    sources: Vec<Sources>,
    /// Folders that may have files run, without links in their paths.
    folders: Vec<(PathBuf, Folders)>,
}

impl Ways {
    /// The ways of files in a site whose routes run these, and have these folders of files, each with its settings.
    pub(super) fn of<'s>(
        sources: Vec<Sources>,
        folders: impl Iterator<Item = (PathBuf, &'s Settings)>,
    ) -> Ways {
        let everything = PathPattern::Prefix(Box::default());
        let opened =
            folders.filter(|(_, settings)| settings.lets_folders_run()).filter_map(|(place, settings)| {
                // A folder that is not there has no page.
                let place = settings.place(&place).canonicalize().ok()?;
                // Its mistakes are told where it is served.
                let folders = speaking((0, &place), &everything, (settings, &sources)).ok()??;
                Some((place, folders))
            });
        let folders = opened.collect();
        Ways { sources, folders }
    }

    /// Whether a file is run, and not sent.
    pub(super) fn run(&self, file: &Path) -> bool {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let Ok(resolved) = absolute.canonicalize() else { return false };
        let is_run = |(folder, rules): &(PathBuf, Folders)| {
            let beneath = resolved.strip_prefix(folder);
            beneath.is_ok_and(|path| rules.run_file(path.as_os_str().as_bytes()))
        };
        Sources::have(&self.sources, &absolute) || self.folders.iter().any(is_run)
    }
}
