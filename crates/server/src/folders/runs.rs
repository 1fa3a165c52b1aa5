//! Rules of folders that say which files are run.

use std::sync::Arc;

use adyton_files::runs::{Runs, Way};
use adyton_files::scripts::Scripts;

use crate::app::App;

/// The rules that say which files of a folder are run, and by what: the rules of one folder, or of all folders on the
/// way to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRules {
    /// The rule that says which files are programs.
    pub programs: ProgramRule,
    /// The rule that says which Python files are pages. A file that is both is a page.
    pub pages: PageRule,
}

/// The rule of a folder about programs in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProgramRule {
    /// The folder has no rule: the rule around it counts, and if no folder above has one either, no file is run.
    #[default]
    AsAround,
    /// No file is run, whatever the rules around the folder say.
    Off,
    /// The files of these rules are run, besides the files that the rules around the folder name.
    On(Arc<Runs>),
}

/// The Python pages of the folders of a route.
pub(crate) struct Pages {
    /// The finder of the file that a path names.
    pub(crate) files: Scripts,
    /// All pages, as one application.
    pub(crate) app: Arc<dyn App>,
}

/// Rule about which Python files are pages, by the ends of their names; `None`: as around the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRule {
    /// Whether `.py` files are pages.
    pub py: Option<bool>,
    /// Whether `.wsgi` files are pages.
    pub wsgi: Option<bool>,
    /// Whether pages answer only in folders whose programs may run.
    pub asks_for_programs: bool,
}

impl RunRules {
    /// Returns the rules in a folder that says `own`, beneath the rules around it.
    #[must_use]
    pub(super) fn followed_by(self, own: &RunRules) -> RunRules {
        let programs = match (self.programs, &own.programs) {
            (outer, ProgramRule::AsAround) => outer,
            (ProgramRule::On(outer), ProgramRule::On(own)) => ProgramRule::On(Arc::new(outer.with(own))),
            (_, own) => own.clone(),
        };
        RunRules { programs, pages: self.pages.followed_by(own.pages) }
    }

    /// The programs, if any file is one.
    pub(crate) fn programs(&self) -> Option<&Arc<Runs>> {
        if let ProgramRule::On(runs) = &self.programs { Some(runs) } else { None }
    }

    /// Whether a file of this path is never sent, because it is a program.
    pub(crate) fn is_program(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        self.programs().is_some_and(|runs| runs.way(name) != Way::Sent)
    }

    /// Whether any file is a page.
    pub(crate) fn has_pages(&self) -> bool {
        self.pages.py == Some(true) || self.pages.wsgi == Some(true)
    }

    /// Whether a Python file of this name is a page.
    pub(crate) fn is_page(&self, file: &[u8]) -> bool {
        let of_end = if file.ends_with(b".wsgi") { self.pages.wsgi } else { self.pages.py };
        of_end == Some(true)
    }

    /// Whether pages answer.
    pub(crate) fn may_ask_pages(&self) -> bool {
        !self.pages.asks_for_programs || self.programs().is_some_and(|runs| runs.may_run())
    }
}

impl PageRule {
    /// Returns the rules in a folder that says `own`, beneath the rules around it.
    #[must_use]
    fn followed_by(self, own: PageRule) -> PageRule {
        let says = own.py.is_some() || own.wsgi.is_some();
        PageRule {
            py: own.py.or(self.py),
            wsgi: own.wsgi.or(self.wsgi),
            asks_for_programs: if says { own.asks_for_programs } else { self.asks_for_programs },
        }
    }
}
