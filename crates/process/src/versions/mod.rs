//! Versions of the application and of the server, and how one takes the place of another.
//!
//! | file | holds |
//! | --- | --- |
//! | `reloads` | the wanted version of the application, and the last version that has served |
//! | `editions` | the text of a file of sites, as a version was begun with it; `settings/waiting` of `cli` compares settings |
//! | `watched_files` | files whose change causes a reload |
//! | `succession`, `note` | another program that takes the place of this one, and the state that is left to it |
//! | `stopping` | the end of the server |

pub(crate) mod editions;
pub(crate) mod note;
pub(crate) mod reloads;
pub(crate) mod stopping;
pub(crate) mod succession;
pub(crate) mod watched_files;
