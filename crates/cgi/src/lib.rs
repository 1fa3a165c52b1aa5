//! CGI without I/O (RFC 3875): the variables that describe a request to a program, and the program's answer.
//!
//! A script gets the variables of [`Variables`] and answers with the head that [`find_end`] and [`Head::parse`] read.
//! `FastCGI` and SCGI carry the same variables and answers in another format.

#![forbid(unsafe_code)]

mod answer;
mod head;
mod unparsed;
mod variables;

pub use answer::{Answer, answer};
pub use head::{BadHead, FieldLine, HEAD_BYTES_MAX, Head, find_end};
pub use unparsed::{FIRST_LINE_BYTES_MAX, status_of};
pub use variables::{Facts, Variables};
