//! Rules of folders that say which files are run.

use std::sync::Arc;

use adyton_files::runs::{Runs, Way};
use adyton_files::scripts::Scripts;

use crate::app::App;

/// The rule of a folder's file about programs in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRule {
    /// No file is run, whatever is said around the folder.
    Off,
    /// These are run, beside those of which that is said around the folder.
    On(Runs),
}

/// The Python pages of the folders of a route.
pub(crate) struct Pages {
    /// Which file a path names.
    pub(crate) files: Scripts,
    /// All of them, as one application.
    pub(crate) app: Arc<dyn App>,
}

/// Which Python files are pages, by the ends of their names; nothing: as around the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRule {
    /// `.py`.
    pub py: Option<bool>,
    /// `.wsgi`.
    pub wsgi: Option<bool>,
    /// Whether they answer only where programs may run.
    pub asks_for_programs: bool,
}

impl PageRule {
    /// The rules in a folder that says `own`, beneath the rules around it.
    #[must_use]
    pub(super) fn followed_by(self, own: PageRule) -> PageRule {
        let says = own.py.is_some() || own.wsgi.is_some();
        PageRule {
            py: own.py.or(self.py),
            wsgi: own.wsgi.or(self.wsgi),
            asks_for_programs: if says { own.asks_for_programs } else { self.asks_for_programs },
        }
    }

    /// Whether any file is a page.
    pub(crate) fn has_any(self) -> bool {
        self.py == Some(true) || self.wsgi == Some(true)
    }

    /// Whether a Python file of this name is one.
    pub(crate) fn has(self, file: &[u8]) -> bool {
        let of_end = if file.ends_with(b".wsgi") { self.wsgi } else { self.py };
        of_end == Some(true)
    }
}

/// The rules in a folder that says `own`, beneath the rules around it.
pub(super) fn followed_by(outer: Option<Arc<Runs>>, own: &RunRule) -> Option<Arc<Runs>> {
    match (outer, own) {
        (_, RunRule::Off) => None,
        (Some(outer), RunRule::On(own)) => Some(Arc::new(outer.with(own))),
        (None, RunRule::On(own)) => Some(Arc::new(own.clone())),
    }
}

/// Whether a file of this name is never sent.
pub(crate) fn is_run(runs: &Runs, name: &[u8]) -> bool {
    runs.way(name) != Way::Sent
}
