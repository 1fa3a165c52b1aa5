//! Lines of a folder's file that say which files are run: they are returned separately.

/// Lines of a folder's file that say which files are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderHandlers {
    /// `Options` with or without `ExecCGI`.
    pub executes: Option<bool>,
    /// `SetHandler`: `None` without such a line, `Some(None)` for `SetHandler none`.
    pub all: Option<Option<Handler>>,
    /// `AddHandler` and `RemoveHandler`: ends of names in small letters, as `.pl`, in the order of the file.
    pub ends: Vec<(String, Handler)>,
    /// Lines with handlers that are not known here, each with its place.
    pub unknown: Vec<String>,
}

/// The treatment of files, as a handler of Apache names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// CGI scripts, which are run.
    Cgi,
    /// WSGI applications.
    Wsgi,
    /// Files that are sent.
    Default,
}

impl FolderHandlers {
    /// Whether there are no such lines.
    pub fn is_empty(&self) -> bool {
        *self == FolderHandlers::default()
    }
}
