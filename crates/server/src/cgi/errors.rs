//! The standard error of a script: its lines go to the error log.

use adyton_log::request::RequestId;
use adyton_log::{self as log, messages};

/// Longer lines are cut into pieces.
const LINE_BYTES_MAX: usize = 4 << 10;

/// The beginning of a line whose end has not come.
#[derive(Default)]
pub(crate) struct PartialLine {
    begun: Vec<u8>,
}

impl PartialLine {
    /// Logs the lines that have come.
    pub(crate) fn take(&mut self, bytes: &[u8], name: &str, id: &RequestId) {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            for piece in line.chunks(LINE_BYTES_MAX) {
                self.begun.extend_from_slice(piece);
                if self.begun.ends_with(b"\n") || self.begun.len() >= LINE_BYTES_MAX {
                    self.end(name, id);
                }
            }
        }
    }

    /// Logs the part of a line that has come, as if the line had ended.
    pub(crate) fn end(&mut self, name: &str, id: &RequestId) {
        let line = std::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() {
            log::write_about(Some(id), &messages::SCRIPT_SAYS, format_args!("{name}: {text}"));
        }
    }
}
