//! Static files: a URL path in, an answer out.
//!
//! [`Folder`] serves a folder. [`path`] turns the path of a request into the name of a file, which the kernel opens
//! only beneath the root. A cache keeps small files together with their heads, and [`answer_file`] evaluates conditions
//! and ranges for any open file.
//!
//! [`programs`] finds files in a folder that are run and not sent; [`scripts`] finds files that Python loads.
//!
//! Absent on purpose: sockets. An answer consists of bytes and parts of open files; the server sends them.
//!
//! # How the cache knows that a file has changed
//!
//! An answer comes from the cache only if one fstatat(2) of the same absolute path finds the same device, inode,
//! length, mtime and ctime as before the content was read; the times are in nanoseconds, and `ctime` cannot be set
//! back. The check costs some 0.4 µs per request, and 0.05 µs for each folder above the root (the rest of the work
//! takes 0.04 µs); requests that arrived together share one check ([`Ask::fresh`]). It also notices that the root was
//! replaced, by renames or by a link that now leads elsewhere. Before a file that is not in the cache is opened, the
//! root is checked. While nothing is at its path, the former root still serves, from its descriptor. Two facts limit
//! the check:
//!
//! - Two changes within one tick of the file system's clock look alike. So a file is cached only if its ctime is older
//!   than such a tick (20 ms; 2 s if times have whole seconds).
//! - Writes through a shared mapping change the times when the kernel notices them, not with each byte.
//!
//! Two changes are noticed only by the next second's check, and so up to a second late: a new precompressed neighbour,
//! and a neighbour that is gone or changed, unless that neighbour is about to be sent. If a folder above a cached file
//! is replaced by a link and the path still leads to the same inode, nothing is noticed, but the content is still that
//! of the published file.

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
