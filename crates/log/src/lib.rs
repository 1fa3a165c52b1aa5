//! The logs: the error log, the request that a line belongs to, and the outputs that lines go to.
//!
//! An entry is one call of write(2), so that the entries of several processes stay apart. It may have several lines. In
//! a process that serves requests, each log is written by a thread of its own (`journal.rs`).

#![forbid(unsafe_code)]

mod entry;
mod error_log;
pub mod escape;
mod files;
mod journal;
mod level;
pub mod messages;
mod original_stderr;
mod output;
pub mod request;
mod request_id;
mod settings;
pub mod sink;
pub mod stamp;

pub use crate::entry::Stream;
pub use crate::error_log::{
    announce, begin_queue, complain, end_queue, entries_lost, leave_in, open, put_left, put_plain, relay,
    reopen, reopen_then, settle, tell_onlooker, write, write_about,
};
pub use crate::files::make_for;
pub use crate::journal::{Counter, END_PATIENCE, EntryStore, Journal};
pub use crate::level::Level;
pub use crate::messages::Message;
pub use crate::output::{end_lines, put_out};
pub use crate::settings::{group, is_json, set_group, set_json, set_level, set_worker, wants};
