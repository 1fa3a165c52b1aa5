//! Static files: a URL path in, an answer out.
//!
//! [`Folder`] serves a folder: [`path`] turns the path of a request into the name of a file, the kernel opens it
//! beneath the root and nowhere else, a cache keeps small files together with their heads, and [`answer_file`] does
//! conditions and ranges for any open file.
//!
//! [`programs`] finds files in a folder that are run and not shown, [`scripts`] those that Python loads.
//!
//! Absent on purpose: sockets. An answer is bytes and parts of open files; the server sends them.
//!
//! # How the cache knows that a file has changed
//!
//! An answer from the cache is given only after one fstatat(2) of the same absolute path found the same device, inode,
//! length, mtime and ctime, the times in nanoseconds, as before the content was read. `ctime` cannot be set back. That
//! costs some 0.4 µs per request, and 0.05 µs for each folder above the root (0.04 µs is the rest of the work), once
//! for all requests that arrived together ([`Ask::fresh`]). This also shows that the root was replaced, by renames or
//! by a link that now leads elsewhere; before a file that is not in the cache is opened, the root is checked. While
//! nothing is at its path, the former root serves on, from its descriptor. Two facts limit this:
//!
//! - Two changes within one tick of the file system's clock look alike. So a file is cached only
//!   when its ctime is older than such a tick (20 ms; 2 s where times have whole seconds).
//! - Writes through a shared mapping move the times when the kernel notices, not with each byte.
//!
//! Two changes are noticed only at the next second's check, and so up to a second late: a new precompressed neighbour,
//! and a neighbour that is gone or changed and is not the one about to be sent. A folder above a cached file that was
//! replaced by a link to the same inode is not noticed: the content is the one that was published.

#![forbid(unsafe_code)]

mod answer;
mod ask;
mod cache;
mod folder;
mod options;
pub mod path;
mod room;
mod run;

pub use answer::compressing::Compressing;
pub use answer::conditions::{Outcome, Validators, etag, evaluate, is_conditional, parse_date};
pub use answer::listing::NAMES_MAX;
pub use answer::negotiate::accepts_html;
pub use answer::pages::{ErrorPage, error_page, escape_html};
pub use answer::ranges;
pub use answer::send::answer_file;
pub use answer::types::mime_type;
pub use ask::{Ask, FileAnswer, Part, RunsFile};
pub use cache::Counts;
pub use folder::Folder;
pub use options::{INDEX, OPEN_FILES_MAX, Options};
pub use room::CacheRoom;
pub use run::programs;
pub use run::runs;
pub use run::scripts;
pub use run::sources::Sources;
