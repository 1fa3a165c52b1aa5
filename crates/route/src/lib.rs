//! Which site a host name stands for, and which routes of a site a path: tables that are compiled once, then only read.
//!
//! A host is found exactly, else by the longest wildcard, else it is the first site's. Of a path's routes the most
//! specific comes first: an exact one, then the longest prefix, then a suffix, then the prefix of everything; of two that
//! are equally specific the one that was given first.

#![forbid(unsafe_code)]

mod host;
mod path;

pub use host::{HostError, HostPattern, Hosts};
pub use path::{PathPattern, Routes};
