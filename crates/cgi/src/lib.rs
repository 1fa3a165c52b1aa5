//! What programs behind a server are told of a request, and how they answer: RFC 3875, without I/O.
//!
//! A script gets the variables of [`Variables`] and answers with the head that [`find_end`] and [`Head::parse`] read. `FastCGI`
//! and SCGI tell and answer the same; they only carry it otherwise.

#![forbid(unsafe_code)]

mod answer;
mod head;
mod unparsed;
mod variables;

pub use answer::{Answer, answer};
pub use head::{BadHead, FieldLine, HEAD_BYTES_MAX, Head, find_end};
pub use unparsed::{FIRST_LINE_BYTES_MAX, status_of};
pub use variables::{Facts, Variables};
