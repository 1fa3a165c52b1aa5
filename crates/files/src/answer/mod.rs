//! Answers that are made of files.
//!
//! | file | holds |
//! | --- | --- |
//! | `form` | a file ready to be sent |
//! | `send` | an open file, or content in memory, as an answer |
//! | `conditions`, `ranges` | whether a request gets the whole file, a part of it, 304 or 412 |
//! | `compressing` | which files are compressed |
//! | `listing` | the listing of a folder |
//! | `replies`, `pages` | answers that are not made of a file |
//! | `negotiate`, `types` | media types |

pub(crate) mod compressing;
pub(crate) mod conditions;
pub(crate) mod form;
pub(crate) mod listing;
pub(crate) mod negotiate;
pub(crate) mod pages;
pub mod ranges;
pub(crate) mod replies;
pub(crate) mod send;
pub(crate) mod types;
