//! What folders say of files that are run.

use std::sync::Arc;

use adyton_files::runs::{Runs, Way};

/// What the file of a folder says of programs in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRule {
    /// No file is run, whatever is said around the folder.
    Off,
    /// These are run, beside those of which that is said around the folder.
    On(Runs),
}

/// What counts in a folder that says this, beneath what counts around it.
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
