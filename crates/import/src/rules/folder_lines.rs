//! Lines of a folder's file for which a file of sites has no key: they are returned separately.

use crate::model::Place;
use crate::rules::folder_handlers::FolderHandlers;

/// Lines of a folder's file that are returned separately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderLines {
    /// Lines that say which files are run; `None`: such lines are treated like all other directives.
    pub handlers: Option<FolderHandlers>,
    /// The `ErrorDocument` lines, at most one for a status.
    pub documents: Vec<ErrorDocument>,
    /// The `DirectoryIndex` lines together, if there are any.
    pub indexes: Option<Indexes>,
}

/// The lines `DirectoryIndex` of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexes {
    /// The last line.
    pub place: Place,
    /// The last directive, as written.
    pub text: String,
    /// All names, as written.
    pub names: Vec<String>,
}

/// A line `ErrorDocument`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorDocument {
    /// The line.
    pub place: Place,
    /// The directive, as written.
    pub text: String,
    /// The status, if it is the status of an error.
    pub status: Option<u16>,
    /// The answer for this status.
    pub document: Document,
}

/// The second word of an `ErrorDocument`, by the kinds that Apache distinguishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// The server's own page.
    Default,
    /// A path of the site, as written.
    Path(String),
    /// A text.
    Text(String),
    /// A URL that clients are sent to.
    Url,
    /// No second word, or a third one.
    Malformed,
}
