//! The outcome of a command: its exit status, its error, and JSON where it is wanted.

/// The figures are good, and no condition has failed.
pub(super) const GOOD: u8 = 0;
/// The run is invalid, a condition of `--fail-if` holds, or the server does not answer.
pub(super) const BAD: u8 = 1;
/// The command line is wrong.
pub(super) const USAGE: u8 = 2;

/// An error message, and the exit status.
pub(super) type Wrong = (String, u8);

/// The JSON, or the reason why it could not be written.
pub(super) fn json(written: serde_json::Result<String>) -> String {
    written.map_or_else(|error| format!("{{\"error\": \"{error}\"}}\n"), |json| json + "\n")
}
