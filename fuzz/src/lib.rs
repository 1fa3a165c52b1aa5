//! What the fuzz targets compare with: slow twins that follow the rules line by line, and checks of what was written.
//!
//! A target is ten lines in `targets/`: it hands any bytes to the server's code and to one of these, and
//! panics when they differ. `run` builds all targets and runs them, `grow` adds to the stored corpus.

#![forbid(unsafe_code)]

pub mod access_lines;
pub mod answers;
pub mod authorizations;
pub mod chunks;
pub mod feed;
pub mod file_names;
pub mod folders;
pub mod heads;
pub mod imports;
pub mod proxied;
pub mod range_lists;
pub mod received;
pub mod sites_files;
mod text;

/// Shows bytes in the message of a panic.
pub fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}
