//! Settings that are right each by itself, but wrong together: rules that keep nobody out, keys that have no effect,
//! redirects that lead back.
//!
//! Settings that could open something, or can never work, are mistakes; settings that may be intended get a warning.
//!
//! | file | finds |
//! | --- | --- |
//! | `access`, `ways` | keys that keep nobody out, and ways around a guard |
//! | `published` | secret files in folders that are served |
//! | `answers` | answers that cannot be right, and keys without effect |
//! | `redirect_loops` | redirects of a file of sites that lead back to themselves |
//! | `folder_redirect_loops` | redirects that a folder has in a file of its own, and that lead back to themselves |
//!
//! A file may have other mistakes at the same time. A check that concludes something from a missing key asks
//! [`Settings::is_unread`] first: the key may be in the file, and only not have been understood.

mod access;
mod answers;
mod folder_redirect_loops;
mod published;
mod redirect_loops;
mod ways;

pub use access::mistakes_alone;
pub(crate) use access::mistakes_of_folder;
pub use folder_redirect_loops::folder_loops;

use crate::settings::said::Fault;
use crate::settings::typed::{Part, Settings, Sites};

/// Finds the faults that must be mended before anything of a file is served.
pub(crate) fn mistakes(sites: &Sites) -> Vec<Fault> {
    if sites.part != Part::Whole {
        // The process that has handed over the file has checked it.
        return Vec::new();
    }
    let mut all = access::mistakes(sites);
    all.extend(answers::mistakes(sites));
    all.extend(redirect_loops::mistakes(sites));
    all.extend(published::mistakes(sites));
    all.sort_by(Fault::order);
    all
}

/// Finds faults that deserve a warning, although the file is served.
pub fn warnings(settings: &Settings) -> Vec<Fault> {
    let Some(sites) = &settings.sites else { return Vec::new() };
    if sites.part != Part::Whole {
        return Vec::new();
    }
    let mut all = access::warnings(sites);
    all.extend(answers::warnings(sites));
    all.extend(ways::warnings(sites));
    all.extend(published::warnings(settings, sites));
    all.sort_by(Fault::order);
    all
}
