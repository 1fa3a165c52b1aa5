//! Files whose change causes a reload: a file that the user names (`--touch-reload`), and in development the files that
//! the application was imported from (`--reload`), with the Python files beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::lines::message::Source;

/// The most neighbouring files that are watched: a folder of data may hold any number of files.
const NEIGHBOURS_MAX: usize = 2_000;

/// The most files that are watched: an application with all its imports has some thousands of them.
const FILES_MAX: usize = 20_000;

/// The watched files, with the time of their last change.
#[derive(Debug, Default)]
pub(crate) struct WatchedFiles {
    /// The time of each file's last change; `None` if the file does not exist.
    changed: BTreeMap<PathBuf, Option<SystemTime>>,
    /// The folders whose Python files are looked at, too: a module that is added there may be imported then.
    folders: Vec<PathBuf>,
}

impl WatchedFiles {
    /// Looks at one more file from now on.
    pub(crate) fn add(&mut self, file: &Path) {
        self.add_as_of(file, None);
    }

    /// Looks at one more file. If it was changed after `since`, a worker has an earlier version of it.
    fn add_as_of(&mut self, file: &Path, since: Option<SystemTime>) {
        if self.changed.len() < FILES_MAX && !self.changed.contains_key(file) {
            self.changed.insert(file.to_owned(), since.or_else(|| modified(file)));
        }
    }

    /// Whether there is anything to look at.
    pub(crate) fn sees_files(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Looks at the files of an application, and at the Python files beside them.
    pub(crate) fn add_sources(&mut self, sources: &[Source]) {
        for Source { path: file, modified_ns } in sources {
            self.add_as_of(file, modified_ns.map(|ns| SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)));
            if self.changed.len() < FILES_MAX
                && let Some(folder) = file.parent()
                && !self.folders.iter().any(|known| known == folder)
            {
                self.folders.push(folder.to_owned());
                self.add_neighbours(folder);
            }
        }
    }

    fn add_neighbours(&mut self, folder: &Path) -> Option<PathBuf> {
        let mut found = None;
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(NEIGHBOURS_MAX);
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_some_and(|end| end == "py") && !self.changed.contains_key(&path) {
                self.add(&path);
                found = self.changed.contains_key(&path).then_some(path).or(found);
            }
        }
        found
    }

    /// Returns a file that has changed since the last look, was added or removed.
    pub(crate) fn look(&mut self) -> Option<PathBuf> {
        let mut found = None;
        for (file, before) in &mut self.changed {
            let now = modified(file);
            if *before != now {
                *before = now;
                found = Some(file.clone());
            }
        }
        for folder in std::mem::take(&mut self.folders) {
            found = self.add_neighbours(&folder).or(found);
            self.folders.push(folder);
        }
        found
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|data| data.modified()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::time::{Duration, SystemTime};

    use super::{FILES_MAX, Source, WatchedFiles};

    /// The number of watched files is limited.
    #[test]
    fn not_without_end() {
        let mut watched_files = WatchedFiles::default();
        for number in 0..=FILES_MAX {
            watched_files.add(&std::path::PathBuf::from(format!("/nowhere/at/all/{number}.py")));
        }

        assert_eq!(FILES_MAX, watched_files.changed.len());
    }

    /// A change, an addition and a removal are each noticed once, and a change since the import, too.
    #[test]
    fn noticed_once() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("adyton-watch-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let (one, other) = (folder.join("one.py"), folder.join("other.py"));
        fs::write(&one, "1")?;
        let mut watched_files = WatchedFiles::default();
        watched_files.add_sources(&[Source { path: one.clone(), modified_ns: None }]);

        assert_eq!(None, watched_files.look());

        fs::File::options()
            .write(true)
            .open(&one)?
            .set_modified(SystemTime::now() + Duration::from_secs(5))?;

        assert_eq!(Some(one.clone()), watched_files.look());
        assert_eq!(None, watched_files.look());

        fs::write(&other, "2")?;

        assert_eq!(Some(other.clone()), watched_files.look());
        assert_eq!(None, watched_files.look());

        fs::remove_file(&other)?;

        assert_eq!(Some(other), watched_files.look());

        let late = folder.join("late.py");
        fs::write(&late, "3")?;
        let mut watched_files = WatchedFiles::default();
        watched_files.add_sources(&[Source { path: late.clone(), modified_ns: Some(1) }]);

        assert_eq!(Some(late), watched_files.look());
        assert_eq!(None, watched_files.look());
        fs::remove_dir_all(&folder)
    }
}
