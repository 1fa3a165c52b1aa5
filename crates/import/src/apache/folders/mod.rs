//! `.htaccess`: directives of folders for themselves.
//!
//! | file | holds |
//! | --- | --- |
//! | `htaccess` | the files that count, and their limits |
//! | `context` | directives that may stand in them |
//! | `handlers`, `indexes`, `documents` | files that are run, indexes, pages for errors |

mod context;
mod documents;
mod handlers;
mod htaccess;
mod indexes;
