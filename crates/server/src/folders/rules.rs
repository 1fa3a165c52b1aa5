//! What the file of a folder says, and what reads it.

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
    /// Their names: the first that is there is read, and no other.
    pub names: Vec<String>,
}

/// A file of settings in a folder.
pub struct FolderFile<'f> {
    /// Its language.
    pub form: Form,
    /// Its name.
    pub name: &'f str,
    /// The folder that it stands in.
    pub folder: &'f Path,
    /// The folder of the route, which that one is or is beneath.
    pub root: &'f Path,
    /// The path of the folder for clients, decoded, without a slash at its end.
    pub url: &'f [u8],
    /// What it says.
    pub text: &'f str,
}

/// What reads the files of folders. It is asked by the loop, which waits for it.
pub trait FolderReader: Send + Sync + 'static {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// What is wrong in it, for the log: a sentence for each mistake, with its place.
    fn read(&self, file: &FolderFile<'_>) -> Result<FolderRules, Vec<String>>;
}

/// What a folder says.
#[derive(Clone, Default)]
pub struct FolderRules {
    /// Which clients are let in there, if not all that are let in around it.
    pub admission: Option<Box<Admission>>,
    /// Who they have to be, beside what is asked around it.
    pub guard: Option<Arc<Guard>>,
    /// What is changed in answers.
    pub edits: HeadEdits,
    /// Pages for errors.
    pub pages: Vec<FolderPage>,
    /// Statuses for which pages of the folders around it do not count.
    pub without_pages_for: Vec<u16>,
    /// Paths beneath the folder that no file answers.
    pub answers: Vec<(PathPattern, FolderAnswer)>,
    /// Which of its files are run, and by what.
    pub runs: RunRules,
    /// Names of files that answer for the folder and for those inside, the first one that is there, if the folder says that.
    pub indexes: Option<Arc<[Box<[u8]>]>>,
    /// Other files that were read: if they change, so does this.
    pub others: Vec<PathBuf>,
    /// Redirects that lead back to themselves, for the log: a sentence for each, with its place.
    pub loops: Vec<String>,
}

/// A page of a folder for an error.
#[derive(Clone)]
pub struct FolderPage {
    /// The page, read.
    pub page: StatusPage,
    /// The path of its file beneath the folder; nothing, if it has none.
    pub path: Option<Box<[u8]>>,
}

/// What answers in the place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderAnswer {
    /// Another place, with the status of the redirect.
    Redirect(u16, Location),
    /// The server's page for a status.
    Status(u16),
}
