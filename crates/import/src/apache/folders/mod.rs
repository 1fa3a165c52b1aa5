//! `.htaccess`: directives of folders for themselves.
//!
//! | file | holds |
//! | --- | --- |
//! | `htaccess` | the files that count, and their limits; `section` makes keys of their lines |
//! | `context` | the directives that may stand in them |
//! | `handlers`, `indexes`, `documents` | files that are run, indexes, pages for errors |

pub(super) mod context;
pub(super) mod documents;
pub(super) mod handlers;
pub(super) mod htaccess;
pub(super) mod indexes;
