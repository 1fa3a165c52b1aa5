//! References for the fuzz targets: simple implementations that follow the rules line by line, and checks of the
//! output.
//!
//! Each of `targets` hands any bytes to the server's code and to one of the references, and panics if the two differ.
//! `fuzz/` searches for such bytes with libFuzzer, for any time; the test of this crate takes inputs of the corpus
//! there and changes them, in the same way in each run.

#![forbid(unsafe_code)]

mod access_lines;
mod feed;
mod file_names;
mod folders;
mod lines;
mod messages;
mod passages;
mod settings;
pub mod targets;
mod text;

/// Shows bytes in the message of a panic.
fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
