//! `.htaccess`: directives of folders for themselves.
//!
//! | file | holds |
//! | --- | --- |
//! | `htaccess` | the files that count, and their limits |
//! | `context` | directives that may stand in them |
//! | `handlers`, `indexes`, `documents` | files that are run, indexes, pages for errors |

pub(crate) mod context;
pub(crate) mod documents;
pub(crate) mod handlers;
pub(crate) mod htaccess;
pub(crate) mod indexes;
