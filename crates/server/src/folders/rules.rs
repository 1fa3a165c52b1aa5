//! The rules in the file of a folder, and the reader of such files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adyton_route::{Admission, HeadEdits, Location, PathPattern};

use super::runs::RunRules;
use crate::guard::Guard;
use crate::site::terms::StatusPage;

/// The languages in which a folder says how it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The language of `.adyton.toml`.
    Own,
    /// The language of `.htaccess`.
    Htaccess,
}

/// The files of a folder that are read in one language.
#[derive(Clone, Debug)]
pub struct FormFiles {
    /// The language.
    pub form: Form,
    /// The names of the files: the first one that exists is read, and no other.
    pub names: Vec<String>,
}

/// A file of settings in a folder.
pub struct FolderFile<'f> {
    /// Its language.
    pub form: Form,
    /// Its name.
    pub name: &'f str,
    /// The folder that the file stands in.
    pub folder: &'f Path,
    /// The folder of the route: `folder` itself, or one above it.
    pub root: &'f Path,
    /// The path of the folder for clients, decoded, without a slash at its end.
    pub url: &'f [u8],
    /// The text of the file.
    pub text: &'f str,
}

/// A reader of the files of folders. The loop calls it, and waits for it.
pub trait FolderReader: Send + Sync + 'static {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file is wrong: a sentence for the log about each mistake, with its place.
    fn read(&self, file: &FolderFile<'_>) -> Result<FolderRules, Vec<String>>;
}

/// The rules of a folder.
#[derive(Clone, Default)]
pub struct FolderRules {
    /// The clients that are let in; `None`: all clients that the rules around the folder let in.
    pub admission: Option<Box<Admission>>,
    /// The guard that clients have to pass, besides the guards around the folder.
    pub guard: Option<Arc<Guard>>,
    /// Changes to the head of answers.
    pub edits: HeadEdits,
    /// Error pages.
    pub pages: Vec<FolderPage>,
    /// Statuses for which the error pages of the folders around this folder do not count.
    pub without_pages_for: Vec<u16>,
    /// Paths beneath the folder that no file answers.
    pub answers: Vec<(PathPattern, FolderAnswer)>,
    /// The rules that say which of its files are run, and by what.
    pub runs: RunRules,
    /// Names of files that answer for the folder and for the folders inside it, if the folder sets such names; the
    /// first file that exists answers.
    pub indexes: Option<Arc<[Box<[u8]>]>>,
    /// Other files that were read: if they change, so do these rules.
    pub others: Vec<PathBuf>,
    /// Redirects that lead back to themselves, for the log: a sentence for each, with its place.
    pub loops: Vec<String>,
}

/// An error page of a folder.
#[derive(Clone)]
pub struct FolderPage {
    /// The page, read.
    pub page: StatusPage,
    /// The path of its file beneath the folder; `None` if the page has no file.
    pub path: Option<Box<[u8]>>,
}

/// An answer in place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderAnswer {
    /// Another place, with the status of the redirect.
    Redirect(u16, Location),
    /// The server's page for a status.
    Status(u16),
}
